#include "replay/runner/storage_bounds.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "compiler/prove/fits.h"
#include "core/expr/text.h"
#include "replay/interp/symbolic.h"

namespace assay {
namespace {

struct StorageFacts {
  Expr bytes;
  NodeId owner;
};

/// Bytes from the start of the storage to the end of a view that is not empty.
auto extent_bytes(const TensorMeta& meta) -> Expr {
  return required_elems(meta) * size_bytes(meta.dtype);
}

auto is_empty(const TensorMeta& meta) -> Expr {
  std::vector<Expr> cases{Expr::boolean(false)};
  for (const Expr& size : meta.sizes) cases.push_back(eq(size, 0));
  return make(ExprOp::logic_or, cases);
}

/// Sufficient for the indices of a layout to be told apart: in some order of the dimensions, each
/// stride is larger than everything below it reaches. The order is that of the hints.
auto nests(const TensorMeta& meta, const Binding& sizes) -> Expr {
  std::vector<std::size_t> order(meta.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, {}, [&](std::size_t i) { return evaluate_int(meta.strides[i], sizes).value_or(0); });
  std::vector<Expr> parts{Expr::boolean(true)};
  Expr reach = 0;
  for (const auto i : order) {
    parts.push_back(logic_or(le(meta.sizes[i], 1), lt(reach, meta.strides[i])));
    reach = reach + (meta.sizes[i] - 1) * meta.strides[i];
  }
  return make(ExprOp::logic_and, parts);
}

class Checker {
 public:
  Checker(const Capture& capture, const OpTable& table, GuardSet& guards)
      : graph_(capture.graph), capture_(capture), table_(table), guards_(guards) {}

  auto run() -> BoundsReport {
    const auto symbolic = run_symbolic(graph_, table_);
    for (const auto& one : symbolic.contradicted) contradicted_.insert(one.node);
    std::size_t input = 0;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      const auto& result = symbolic.nodes[i];
      if (node.kind == NodeKind::placeholder) {
        const auto* recorded = input < capture_.inputs.size() ? &capture_.inputs[input] : nullptr;
        input_storage(node, result.value, recorded);
        ++input;
      } else if (node.kind == NodeKind::call_function) {
        check_written(node);
        check(node, result.value, result.ruled, "");
        if (const auto* size = result.value.scalar()) remember_size(node, *size);
      }
      remember(node, result.value);
    }
    for (const auto& [node, size] : sizes_) check_fits(node, size);
    return std::move(report_);
  }

 private:
  void input_storage(const Node& node, const Datum& value, const InputValue* recorded) {
    const auto* fake = value.fake();
    if (!fake) return;
    Expr bytes = extent_bytes(fake->meta);
    if (const auto* symbolic = recorded ? std::get_if<SymbolicInput>(recorded) : nullptr;
        symbolic && symbolic->storage_bytes)
      bytes = *symbolic->storage_bytes;
    const auto* real = recorded ? std::get_if<RecordedTensor>(recorded) : nullptr;
    if (real && bytes.is_const())
      bytes = std::max(real->meta.storage_bytes, bytes.as_int().value_or(0));
    storages_[fake->storage] = {bytes, node.id};
    check(node, value, {}, "");
  }

  void remember(const Node& node, const Datum& value) {
    if (value.fake()) values_[node.id] = *value.fake();
  }

  void remember_size(const Node& node, const Expr& size) {
    const auto is_it = [&](const auto& known) { return known.second == size; };
    if (size.is_const() || size.op() == ExprOp::symbol || size.type() != ExprType::integer ||
        std::ranges::any_of(sizes_, is_it))
      return;
    sizes_.emplace_back(node.id, size);
  }

  /// A storage exists only if its bytes fit 64 bits, so a size that is no larger fits too. By
  /// structure only: what no storage is seen to bound is listed, so nothing is lost.
  void check_fits(NodeId node, const Expr& size) {
    BoundCheck check{.node = node,
                     .leaf = "",
                     .kind = BoundKind::int64,
                     .condition = le(size, std::numeric_limits<std::int64_t>::max()),
                     .answer = Proved{Tier::interval, {}},
                     .needed_bytes = 0,
                     .storage_bytes = 0,
                     .owner = {},
                     .layout = ""};
    const auto range = interval_of(size, graph_.env.ranges());
    if (!range.high.as_int() || !range.low.as_int()) {
      auto bound = bounding_storage(size);
      if (!bound) return report_.taken_to_fit.emplace_back(node, size), void();
      check.condition = le(size, bound->first.bytes);
      check.owner = bound->first.owner;
      check.answer = std::move(bound->second);
    }
    report_.checks.push_back(std::move(check));
  }

  auto bounding_storage(const Expr& size) -> std::optional<std::pair<StorageFacts, Answer>> {
    constexpr std::size_t kCandidates = 12, kUnderGuards = 3;
    const auto candidates = candidates_for(size, kCandidates);
    const Expr plain = graph_.env.replaced(size);
    for (const auto& storage : candidates)
      if (fits_below(plain, graph_.env.replaced(storage.bytes), graph_.env.ranges()))
        return std::pair{storage, Answer{Proved{Tier::corner, {}}}};
    for (std::size_t i = 0; i < std::min(candidates.size(), kUnderGuards); ++i) {
      auto answer = guards_.implies(le(size, candidates[i].bytes), Effort::structure);
      if (std::holds_alternative<Proved>(answer)) return std::pair{candidates[i], answer};
    }
    return std::nullopt;
  }

  /// Storages with the same symbols that are not smaller at the recorded sizes, largest first,
  /// each size once.
  auto candidates_for(const Expr& size, std::size_t most) const -> std::vector<StorageFacts> {
    std::vector<std::pair<std::int64_t, StorageFacts>> found;
    const auto need = evaluate_int(size, recorded_);
    const auto wanted = size.symbols();
    for (const auto& [id, storage] : storages_) {
      const auto have = evaluate_int(storage.bytes, recorded_);
      const auto is_same = [&](const auto& known) { return known.second.bytes == storage.bytes; };
      if (!need || !have || *need > *have || std::ranges::any_of(found, is_same)) continue;
      const auto among = storage.bytes.symbols();
      if (std::ranges::includes(among, wanted, {}, &Expr::name, &Expr::name))
        found.emplace_back(*have, storage);
    }
    std::ranges::stable_sort(found, std::ranges::greater{}, [](const auto& f) { return f.first; });
    std::vector<StorageFacts> result;
    for (std::size_t i = 0; i < std::min(found.size(), most); ++i)
      result.push_back(found[i].second);
    return result;
  }

  /// Every tensor of a node's value against the storage that the rule gives it.
  void check(const Node& node, const Datum& value, const Datum& ruled, const std::string& leaf) {
    if (const auto* list = value.list()) {
      const auto* rules = ruled.list();
      for (std::size_t i = 0; i < list->size(); ++i)
        check(node, (*list)[i], rules && i < rules->size() ? (*rules)[i] : Datum{},
              fmt::format("{}[{}]", leaf, i));
      return;
    }
    const auto* fake = value.fake();
    if (!fake) return;
    if (const auto* rule = ruled.fake();
        rule && !storages_.contains(rule->storage) && allocates(node))
      storages_[rule->storage] = {extent_bytes(rule->meta), node.id};  // a new allocation
    if (contradicted_.contains(node.id)) return;                       // one lie is one finding
    const auto storage = storages_.find(fake->storage);
    if (storage == storages_.end()) {
      if (node.kind != NodeKind::placeholder) ++report_.without_rule;
      return;
    }
    const Expr bytes = extent_bytes(fake->meta);
    const Expr empty = is_empty(fake->meta);
    BoundCheck blank{.node = node.id,
                     .leaf = leaf,
                     .kind = BoundKind::extent,
                     .condition = {},
                     .answer = Unknown{},
                     .needed_bytes = bytes,
                     .storage_bytes = storage->second.bytes,
                     .owner = storage->second.owner,
                     .layout = to_string(fake->meta)};
    ask(blank, logic_or(empty, le(bytes, storage->second.bytes)));
    blank.kind = BoundKind::offset;
    if (!fake->meta.offset.is_int(0)) ask(blank, le(0, fake->meta.offset));
  }

  /// Operands that the call writes: an in-place operator must find each element once.
  void check_written(const Node& node) {
    const auto* row = table_.find(node.target);
    if (!row || !row->schema.is_mutating()) return;
    const auto count = std::min(node.args.size(), row->schema.params.size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto* id = std::get_if<NodeId>(&node.args[i].value);
      const auto fake = id ? values_.find(*id) : values_.end();
      if (!row->schema.params[i].written || fake == values_.end()) continue;
      const auto& meta = fake->second.meta;
      BoundCheck blank{.node = node.id,
                       .leaf = "",
                       .kind = BoundKind::overlap,
                       .condition = {},
                       .answer = Unknown{},
                       .needed_bytes = 0,
                       .storage_bytes = 0,
                       .owner = *id,
                       .layout = to_string(meta)};
      ask(blank, logic_or(is_empty(meta), nests(meta, completed(graph_.env, {}))), &meta);
    }
  }

  /// Results of views, and items taken of them, live in storages that others made.
  [[nodiscard]] auto allocates(const Node& node) const -> bool {
    const auto* row = table_.find(node.target);
    return row && !row->schema.returns.empty() && row->schema.returns.front().alias == 0;
  }

  /// The condition for the sizes that data can have: a rule's own symbols are not negative.
  [[nodiscard]] auto for_sizes(Expr condition) const -> Expr {
    for (const auto& symbol : condition.symbols())
      if (symbol.type() == ExprType::integer && !graph_.env.find(symbol))
        condition = logic_or(lt(symbol, 0), condition);
    return condition;
  }

  void ask(BoundCheck check, const Expr& asked, const TensorMeta* written = nullptr) {
    const auto condition = for_sizes(asked);
    check.condition = condition;
    check.answer = guards_.implies(condition);
    if (const auto* proved = std::get_if<Proved>(&check.answer); proved && !proved->needed.empty())
      report_.facts.push_back(
          {condition, std::string(name(check.kind)), proved->tier, proved->needed});
    if (const auto* refuted = std::get_if<Refuted>(&check.answer))
      check.answer = confirmed(check, refuted->tier, written);
    report_.checks.push_back(std::move(check));
  }

  /// The smallest refuting sizes that a caller can pass and, of a written tensor, that overlap.
  auto confirmed(const BoundCheck& check, Tier tier, const TensorMeta* written) -> Answer {
    constexpr std::size_t kWitnesses = 32;
    for (const auto& witness : guards_.violations(check.condition, kWitnesses)) {
      auto sizes = smallest(check, witness);
      if (!admits(graph_, sizes)) sizes = completed(graph_.env, witness);
      if (admits(graph_, sizes) && (!written || overlaps(*written, sizes)))
        return Refuted{tier, std::move(sizes)};
    }
    return Unknown{tier, written
                             ? "the dimensions do not nest, but do not overlap at the sizes tried"
                             : "refuted only at sizes that no input has"};
  }

  /// Sizes that the condition does not mention, since it fails for all of them, at their low ends.
  auto smallest(const BoundCheck& check, Binding witness) const -> Binding {
    for (const auto& bytes : {check.needed_bytes, check.storage_bytes})
      for (const Expr& symbol : bytes.symbols())
        if (const auto low = interval_of(symbol, graph_.env.ranges()).low.as_int())
          witness.try_emplace(symbol, Expr(*low));
    return completed(graph_.env, witness);
  }

  static auto overlaps(const TensorMeta& meta, const Binding& sizes) -> bool {
    RealMeta real{.dtype = meta.dtype, .sizes = {}, .strides = {}, .device = {}};
    for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
      real.sizes.push_back(evaluate_int(meta.sizes[i], sizes).value_or(1));
      real.strides.push_back(evaluate_int(meta.strides[i], sizes).value_or(0));
    }
    return has_internal_overlap(real);
  }

  const Graph& graph_;
  const Capture& capture_;
  const OpTable& table_;
  GuardSet& guards_;
  BoundsReport report_;
  Binding recorded_ = completed(graph_.env, {});
  std::map<int, StorageFacts> storages_;
  std::vector<std::pair<NodeId, Expr>> sizes_;  ///< calculated ones, each once
  std::map<NodeId, FakeTensor> values_;
  std::set<NodeId> contradicted_;  ///< whose claims the rule contradicts
};

/// A text does not tell the guards under which its claims hold. Sizes at which a claim is not what
/// its rule gives, or at which a rule takes another branch, were excluded by one of them: what only
/// breaks there is not refuted.
void leave_open_what_guards_may_exclude(const Capture& capture, const OpTable& table,
                                        BoundsReport& report) {
  const auto is_refuted = [](const BoundCheck& check) {
    return std::holds_alternative<Refuted>(check.answer);
  };
  if (std::ranges::none_of(report.checks, is_refuted)) return;
  auto env = capture.graph.env;
  const auto from_data = [&](const Expr& symbol) {  // of these nothing is guarded, but asserted
    const auto* known = env.find(symbol);
    return known &&
           (known->kind == SymbolKind::unbacked || known->kind == SymbolKind::unbacked_float);
  };
  const auto run = run_symbolic(capture.graph, table);
  for (const auto* relied_on : {&run.claims, &run.obligations})
    for (const auto& one : *relied_on)
      if (one.condition.is_valid() && std::ranges::none_of(one.condition.symbols(), from_data))
        env.add_guard({.condition = one.condition, .text = one.why, .where = {}});
  GuardSet supposed(env, {.prover = {}, .symbols = false});
  for (auto& check : report.checks) {
    if (!is_refuted(check)) continue;
    const auto answer = supposed.implies(check.condition);
    if (std::holds_alternative<Refuted>(answer)) continue;
    check.answer = Unknown{.tier = Tier::search,
                           .reason =
                               "the guards are not recorded: a claim on the way holds only at "
                               "sizes at which this holds too"};
  }
}

}  // namespace

auto name(BoundKind kind) -> std::string_view {
  constexpr auto kNames = std::to_array<std::string_view>({"extent", "offset", "overlap", "int64"});
  return kNames[static_cast<std::size_t>(kind)];
}

auto check_bounds(const Capture& capture, const OpTable& table, GuardSet& guards) -> BoundsReport {
  auto report = Checker(capture, table, guards).run();
  if (!capture.guards_recorded && capture.graph.env.guards().empty())
    leave_open_what_guards_may_exclude(capture, table, report);
  return report;
}

}  // namespace assay
