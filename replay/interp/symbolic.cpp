#include "replay/interp/symbolic.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "core/expr/text.h"
#include "replay/interp/autocast.h"
#include "replay/interp/binding.h"
#include "replay/interp/blame.h"
#include "replay/interp/compare.h"
#include "replay/interp/run.h"

namespace assay {
namespace {

/// The claim with what it does not state taken from the rule, where there is one.
auto completed(const Claim& claim, const FakeTensor* ruled) -> TensorMeta {
  auto meta = *claim.tensor();
  if (!ruled || ruled->meta.rank() != meta.rank()) return meta;
  if (!claim.stated.strides) meta.strides = ruled->meta.strides;
  if (!claim.stated.offset) meta.offset = ruled->meta.offset;
  if (!claim.stated.device) meta.device = ruled->meta.device;
  return meta;
}

/// Claims as fake tensors, keeping the storage ids the rules made so that aliasing is known.
auto claimed_datum(const Claim& claim, const Datum* ruled, ShapeContext& context) -> Datum {
  if (const auto* scalar = claim.scalar()) return {*scalar};
  if (claim.tensor()) {
    const auto* fake = ruled ? ruled->fake() : nullptr;
    return {FakeTensor{completed(claim, fake), fake ? fake->storage : context.fresh_storage()}};
  }
  if (const auto* items = claim.items()) {
    const auto* list = ruled ? ruled->list() : nullptr;
    DatumList data;
    for (std::size_t i = 0; i < items->size(); ++i)
      data.push_back(
          claimed_datum((*items)[i], list && i < list->size() ? &(*list)[i] : nullptr, context));
    return {std::move(data)};
  }
  return ruled ? *ruled : Datum{};
}

auto to_text(const Datum& datum) -> std::string {
  const auto* list = datum.list();
  if (!list) {
    const auto* fake = datum.fake();
    const bool starts_later = fake && !fake->meta.offset.is_int(0);
    return to_string(datum) +
           (starts_later ? " offset " + print_expr(fake->meta.offset) : std::string());
  }
  std::string text = "(";
  for (const auto& item : *list) text += (text.size() > 1 ? ", " : "") + to_text(item);
  return text + ")";
}

struct ExprPair {
  Expr claim, rule;
  std::string_view what;
  FindingKind kind = FindingKind::wrong_size;  ///< of a difference at all sizes
  std::size_t leaf = 0;                        ///< index into Comparison::leaves_
  Expr irrelevant = Expr::boolean(false);      ///< where the pair may differ
};

/// Pairs of expressions that must agree, or nothing if the shapes of the values differ.
class Comparison {
 public:
  /// Offsets in these storages are not compared.
  explicit Comparison(std::set<int> private_storages) : private_(std::move(private_storages)) {}

  void add(const Claim& claim, const Datum& rule, const std::string& leaf = "") {
    if (claim.empty()) return;
    if (const auto* items = claim.items()) return add_items(*items, rule, leaf);
    if (const auto* scalar = claim.scalar()) {
      leaves_.push_back({leaf, print_expr(*scalar), to_text(rule)});
      if (!rule.scalar()) return contradict(FindingKind::wrong_structure, "a number", "none");
      return add_pair({*scalar, *rule.scalar(), "value", FindingKind::wrong_scalar});
    }
    const auto& meta = *claim.tensor();
    const auto* fake = rule.fake();
    leaves_.push_back({leaf, to_text({FakeTensor{completed(claim, fake), -1}}), to_text(rule)});
    if (!fake) return contradict(FindingKind::wrong_structure, "a tensor", "none");
    if (fake->meta.dtype != meta.dtype)
      return contradict(FindingKind::wrong_dtype, name(meta.dtype), name(fake->meta.dtype));
    if (claim.stated.device && !same_device(meta.device, fake->meta.device))
      contradict(FindingKind::wrong_device, to_string(meta.device), to_string(fake->meta.device));
    if (fake->meta.rank() != meta.rank())
      return contradict(FindingKind::wrong_rank, std::to_string(meta.rank()),
                        std::to_string(fake->meta.rank()));
    for (std::size_t i = 0; i < meta.sizes.size(); ++i)
      add_pair({meta.sizes[i], fake->meta.sizes[i], "size", FindingKind::wrong_size});
    for (std::size_t i = 0; i < meta.sizes.size() && claim.stated.strides; ++i)
      add_stride(meta, i, fake->meta.strides[i]);
    if (claim.stated.offset && !private_.contains(fake->storage))
      add_pair({meta.offset, fake->meta.offset, "offset", FindingKind::wrong_offset});
  }

  /// Conditions under which claim and rule say the same, nothing where they do so anyway; and
  /// differences without condition.
  void conclude(const Node& node, SymbolicRun& run) const {
    auto contradicted = contradicted_;
    for (const auto& pair : pairs_) {
      if (pair.claim == pair.rule || pair.claim.type() == ExprType::real) continue;
      const auto same = logic_or(pair.irrelevant, eq(pair.claim, pair.rule));
      if (!same.is_valid() || same.as_bool() == true) continue;
      if (same.as_bool() == false)
        contradicted.push_back(
            {pair.leaf, pair.kind, print_expr(pair.claim), print_expr(pair.rule)});
      else
        run.claims.push_back({same,
                              fmt::format("{}: claimed {} {}, the rule says {}", node.target,
                                          pair.what, print_expr(pair.claim), print_expr(pair.rule)),
                              node.id.value, false});
    }
    std::ranges::stable_sort(contradicted, {}, &Conflict::leaf);
    for (std::size_t i = 0; i < contradicted.size(); ++i) {
      const auto& one = contradicted[i];
      if (i > 0 && contradicted[i - 1].leaf == one.leaf) continue;
      const auto& leaf = leaves_[one.leaf];
      run.contradicted.push_back(
          {node.id, leaf.name, one.kind, leaf.claimed, leaf.ruled, one.claimed, one.ruled});
    }
  }

  [[nodiscard]] auto judge(const ShapeEnv& env, const std::vector<Binding>& samples,
                           SymbolicNode& node) const -> ClaimVerdict {
    if (structure_differs_) return ClaimVerdict::differs;
    bool sampled = false;
    for (const auto& pair : pairs_) {
      if (pair.claim == pair.rule) continue;
      const auto claim = substitute(pair.claim, env.replacements());
      const auto rule = substitute(pair.rule, env.replacements());
      if (claim == rule) continue;
      sampled = true;
      if (differ(claim, rule, samples, node.witness)) return ClaimVerdict::differs;
    }
    for (const auto& pair : insignificant_)
      if (pair.claim != pair.rule) node.leaf_insignificant = true;
    return sampled ? ClaimVerdict::equal_sampled : ClaimVerdict::equal;
  }

 private:
  struct Leaf {
    std::string name, claimed, ruled;
  };
  struct Conflict {
    std::size_t leaf;
    FindingKind kind;
    std::string claimed, ruled;
  };

  void add_items(const std::vector<Claim>& items, const Datum& rule, const std::string& leaf) {
    const auto* list = rule.list();
    if (list && list->size() == items.size()) {
      for (std::size_t i = 0; i < items.size(); ++i)
        add(items[i], (*list)[i], fmt::format("{}[{}]", leaf, i));
      return;
    }
    const auto results = [](std::size_t count) { return fmt::format("{} results", count); };
    leaves_.push_back({leaf, results(items.size()), to_text(rule)});
    contradict(FindingKind::wrong_structure, results(items.size()),
               list ? results(list->size()) : "one result");
  }

  void contradict(FindingKind kind, std::string_view claimed, std::string_view ruled) {
    structure_differs_ = structure_differs_ || kind != FindingKind::wrong_device;
    contradicted_.push_back({leaves_.size() - 1, kind, std::string(claimed), std::string(ruled)});
  }

  void add_pair(ExprPair pair) {
    pair.leaf = leaves_.size() - 1;
    pairs_.push_back(std::move(pair));
  }

  void add_stride(const TensorMeta& meta, std::size_t dim, const Expr& rule) {
    const bool insignificant =
        meta.sizes[dim].is_int(1) ||
        std::ranges::any_of(meta.sizes, [](const Expr& s) { return s.is_int(0); });
    std::vector<Expr> cases{eq(meta.sizes[dim], 1)};
    for (const Expr& size : meta.sizes) cases.push_back(eq(size, 0));
    (insignificant ? insignificant_ : pairs_)
        .push_back({meta.strides[dim], rule, "stride", FindingKind::wrong_stride,
                    leaves_.size() - 1, make(ExprOp::logic_or, cases)});
  }

  static auto differ(const Expr& claim, const Expr& rule, const std::vector<Binding>& samples,
                     std::string& witness) -> bool {
    auto symbols = claim.symbols();
    for (const auto& symbol : rule.symbols())
      if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
    for (const auto& sample : samples) {
      const auto a = evaluate(claim, sample);
      const auto b = evaluate(rule, sample);
      if (a && b && *a == *b) continue;
      witness = fmt::format("{}: {} against {}", to_string(sample, symbols),
                            a ? print_expr(*a) : a.error().message,
                            b ? print_expr(*b) : b.error().message);
      return true;
    }
    return false;
  }

  std::set<int> private_;
  std::vector<ExprPair> pairs_;
  std::vector<ExprPair> insignificant_;
  std::vector<Leaf> leaves_;
  std::vector<Conflict> contradicted_;  ///< in whatever the sizes are
  bool structure_differs_ = false;
};

/// Symbols the rules made up for data-dependent sizes, and those the claim uses for them.
void collect_ties(const Claim& claim, const Datum& rule, const std::vector<Expr>& made,
                  std::unordered_map<Expr, Expr>& ties) {
  const auto tie = [&](const Expr& own, const Expr& claimed) {
    if (std::ranges::find(made, own) != made.end()) ties.try_emplace(own, claimed);
  };
  if (claim.scalar() && rule.scalar()) return tie(*rule.scalar(), *claim.scalar());
  if (const auto* items = claim.items(); items && rule.list()) {
    for (std::size_t i = 0; i < std::min(items->size(), rule.list()->size()); ++i)
      collect_ties((*items)[i], (*rule.list())[i], made, ties);
    return;
  }
  const auto* meta = claim.tensor();
  const auto* fake = rule.fake();
  if (!meta || !fake || meta->rank() != fake->meta.rank()) return;
  for (std::size_t i = 0; i < meta->sizes.size(); ++i) tie(fake->meta.sizes[i], meta->sizes[i]);
}

void tie_symbols(const std::unordered_map<Expr, Expr>& ties, Datum& rule) {
  if (auto* scalar = std::get_if<Expr>(&rule.value)) *scalar = substitute(*scalar, ties);
  if (auto* list = std::get_if<DatumList>(&rule.value))
    for (auto& item : *list) tie_symbols(ties, item);
  if (auto* fake = std::get_if<FakeTensor>(&rule.value))
    for (auto* dims : {&fake->meta.sizes, &fake->meta.strides})
      for (auto& e : *dims) e = substitute(e, ties);
}

/// Ties symbols the rules made up for data-dependent sizes to the symbols the claim uses for them.
auto tie_made_symbols(const Claim& claim, Datum rule, const std::vector<Expr>& made) -> Datum {
  if (made.empty()) return rule;
  if (const auto* scalar = claim.scalar(); scalar && rule.scalar()) return Datum{*scalar};
  std::unordered_map<Expr, Expr> ties;
  collect_ties(claim, rule, made, ties);
  tie_symbols(ties, rule);
  return rule;
}

class SymbolicRunner {
 public:
  SymbolicRunner(const Graph& graph, const OpTable& table, const SymbolicOptions& options)
      : graph_(graph),
        context_(graph.env),
        domain_(table, context_),
        casts_(graph),
        values_(static_cast<std::size_t>(std::max(graph.next_id, 0))),
        options_(options) {}

  auto run() -> SymbolicRun {
    SymbolicRun result;
    result.nodes.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      auto& value = values_[static_cast<std::size_t>(node.id.value)];
      if (node.kind == NodeKind::call_function || node.kind == NodeKind::call_method)
        value = judge(node, result.nodes[i]);
      else if (node.kind != NodeKind::output)
        value = claimed_datum(node.claim, nullptr, context_);
      result.nodes[i].value = value;
    }
    result.obligations = context_.obligations();
    result.requirements = context_.requirements();
    result.claims = std::move(claims_.claims);
    result.contradicted = std::move(claims_.contradicted);
    return result;
  }

 private:
  auto judge(const Node& node, SymbolicNode& verdict) -> Datum {
    context_.set_node(node.id.value, node.target);
    const auto lookup = [this](NodeId id) { return &values_[static_cast<std::size_t>(id.value)]; };
    const auto made_before = context_.made_symbols().size();
    auto rule = casts_.run(node, domain_, lookup);
    if (!rule) {
      const bool no_rule = rule.error().code == ErrorCode::unsupported;
      verdict.verdict = no_rule ? ClaimVerdict::no_rule : ClaimVerdict::fails;
      verdict.rule = rule.error().message;
      return claimed_datum(node.claim, nullptr, context_);
    }
    const auto& made = context_.made_symbols();
    const bool has_made = made.size() > made_before;
    auto tied = tie_made_symbols(
        node.claim.empty() && has_made ? claim_of_items(node) : node.claim, *std::move(rule),
        {made.begin() + static_cast<std::ptrdiff_t>(made_before), made.end()});
    verdict.ruled = tied;
    if (node.claim.empty()) {
      verdict.verdict = ClaimVerdict::no_claim;
      return tied;
    }
    Comparison comparison(private_storages(node, tied));
    comparison.add(node.claim, tied);
    comparison.conclude(node, claims_);
    verdict.verdict = comparison.judge(graph_.env, samples(), verdict);
    if (verdict.verdict == ClaimVerdict::differs || verdict.leaf_insignificant)
      verdict.rule = to_text(tied);
    return claimed_datum(node.claim, &tied, context_);
  }

  /// Storages that the call made and whose offset nobody reads: where the result begins in one is
  /// nobody's business.
  auto private_storages(const Node& node, const Datum& result) const -> std::set<int> {
    std::set<int> made;
    const auto* fake = result.fake();
    const auto* claim = node.claim.tensor();
    if (!fake || !claim || claim->offset == fake->meta.offset) return made;
    const auto shares = [&](NodeId id) {
      const auto* operand = values_[static_cast<std::size_t>(id.value)].fake();
      return operand && operand->storage == fake->storage;
    };
    const auto reads = [&](const Node& user) {
      return reads_offset(user) && std::ranges::count(operands(user), node.id) > 0;
    };
    if (std::ranges::none_of(operands(node), shares) && std::ranges::none_of(graph_.nodes, reads))
      made.insert(fake->storage);
    return made;
  }

  /// Printed graphs claim nothing of a call with several results, only of the items taken of it.
  auto claim_of_items(const Node& node) const -> Claim {
    std::vector<Claim> items;
    for (const auto& user : graph_.nodes) {
      if (user.target != "operator.getitem" || user.args.size() != 2) continue;
      const auto* from = std::get_if<NodeId>(&user.args[0].value);
      const auto* at = std::get_if<Expr>(&user.args[1].value);
      const auto index = at ? at->as_int().value_or(-1) : -1;
      if (!from || *from != node.id || index < 0) continue;
      constexpr std::int64_t kMostItems = 64;
      if (index >= kMostItems) continue;
      items.resize(std::max(items.size(), static_cast<std::size_t>(index) + 1));
      items[static_cast<std::size_t>(index)] = user.claim;
    }
    return {.value = std::move(items)};
  }

  /// Sampling guards costs time; most graphs never need it.
  auto samples() -> const std::vector<Binding>& {
    if (!samples_) samples_ = sample_bindings(graph_.env, options_.samples, options_.seed);
    return *samples_;
  }

  const Graph& graph_;
  ShapeContext context_;
  FakeDomain domain_;
  AutocastScopes casts_;
  std::vector<Datum> values_;
  const SymbolicOptions& options_;
  std::optional<std::vector<Binding>> samples_;
  SymbolicRun claims_;  ///< what was concluded about claims so far
};

/// The rule's layout or number in the place of the claim's, where both are of one kind.
void renew_claim(Claim& claim, const Datum& rule) {
  if (auto* meta = std::get_if<TensorMeta>(&claim.value); meta && rule.fake()) {
    const bool requires_grad = meta->requires_grad;
    *meta = rule.fake()->meta;
    meta->requires_grad = requires_grad;
  } else if (auto* scalar = std::get_if<Expr>(&claim.value); scalar && rule.scalar()) {
    *scalar = *rule.scalar();
  } else if (auto* items = std::get_if<std::vector<Claim>>(&claim.value); items && rule.list()) {
    for (std::size_t i = 0; i < std::min(items->size(), rule.list()->size()); ++i)
      renew_claim((*items)[i], (*rule.list())[i]);
  }
}

/// A random admitted value: small ones often, the range's ends sometimes.
auto random_value(const Symbol& symbol, std::mt19937_64& random) -> Expr {
  if (symbol.kind == SymbolKind::backed_float || symbol.kind == SymbolKind::unbacked_float)
    return symbol.range.low.is_const() ? symbol.range.low : symbol.hint.value_or(Expr::real(1.5));
  const auto low =
      symbol.range.low.as_int().value_or(symbol.kind == SymbolKind::unbacked ? 0 : -64);
  const auto high = symbol.range.high.as_int().value_or(INT64_MAX);
  const auto hint = symbol.hint ? symbol.hint->as_int().value_or(low) : low;
  const auto near = std::uniform_int_distribution<std::int64_t>(0, 3)(random);
  const auto reach = near == 0 ? 3 : near == 1 ? 24 : near == 2 ? 200 : 2048;
  const auto top = high > low + reach ? low + reach : high;
  if (near == 3 && hint >= low && hint <= high)
    return std::clamp(hint * std::uniform_int_distribution<std::int64_t>(1, 5)(random), low, high);
  return std::uniform_int_distribution<std::int64_t>(low, top)(random);
}

/// Moves one symbol of every equality guard so that it holds, where it can be solved for: random
/// values alone almost never meet an equality.
void repair_equalities(const ShapeEnv& env, Binding& binding, std::mt19937_64& random) {
  for (const auto& guard : env.guards()) {
    if (guard.condition.op() != ExprOp::eq) continue;
    const auto value = evaluate(guard.condition, binding);
    if (!value || value->as_bool().value_or(true)) continue;
    auto symbols = guard.condition.symbols();
    std::ranges::shuffle(symbols, random);
    for (const auto& symbol : symbols) {
      std::unordered_map<Expr, Expr> others(binding.begin(), binding.end());
      others.erase(symbol);
      const auto sides = guard.condition.args();
      const auto difference = substitute(sides[0] - sides[1], others);
      const auto solved = solve_for(difference, symbol, 0);
      const auto* known = env.find(symbol);
      if (!solved || (known && !known->range.contains(Expr(*solved)))) continue;
      binding[symbol] = *solved;
      break;
    }
  }
}

auto satisfies_guards(const ShapeEnv& env, const Binding& binding) -> bool {
  return std::ranges::all_of(env.guards(), [&](const Guard& guard) {
    const auto value = evaluate(guard.condition, binding);
    return !value || value->as_bool().value_or(true);  // guards that cannot be read do not exclude
  });
}

}  // namespace

auto sample_bindings(const ShapeEnv& env, int count, std::uint64_t seed) -> std::vector<Binding> {
  std::vector<Binding> samples;
  std::mt19937_64 random(seed);
  const auto complete = [&](Binding binding) {
    for (const auto& [symbol, by] : env.replacements())
      if (const auto value = evaluate(by, binding)) binding[symbol] = *value;
    return binding;
  };
  Binding hints = env.hints();
  for (const auto& symbol : env.symbols())
    if (!hints.contains(symbol.expr)) hints[symbol.expr] = random_value(symbol, random);
  samples.push_back(complete(std::move(hints)));
  const int attempts = count * 20;
  for (int i = 0; i < attempts && std::ssize(samples) < count; ++i) {
    // Half of the attempts change a few symbols only: tight guards survive that more often.
    Binding binding = samples.front();
    for (const auto& symbol : env.symbols())
      if (i % 2 == 0 || std::uniform_int_distribution<int>(0, 3)(random) == 0)
        binding[symbol.expr] = random_value(symbol, random);
    repair_equalities(env, binding, random);
    binding = complete(std::move(binding));
    if (satisfies_guards(env, binding)) samples.push_back(std::move(binding));
  }
  return samples;
}

void renew_claims(Graph& graph, const OpTable& table, const std::function<bool(NodeId)>& renew) {
  ShapeContext context(graph.env);
  FakeDomain domain(table, context);
  std::map<NodeId, Datum> values;
  const auto lookup = [&](NodeId id) { return &values[id]; };
  for (auto& node : graph.nodes) {
    if (node.kind == NodeKind::output) continue;
    const Datum* said = nullptr;
    Result<Datum> rule = Datum{};
    if (node.kind == NodeKind::call_function) {
      context.set_node(node.id.value, node.target);
      rule = run_node(graph, node, domain, lookup);
      if (rule) said = &*rule;
      if (rule && renew(node.id)) renew_claim(node.claim, *rule);
    }
    values[node.id] = claimed_datum(node.claim, said, context);
  }
}

auto run_symbolic(const Graph& graph, const OpTable& table, const SymbolicOptions& options)
    -> SymbolicRun {
  return SymbolicRunner(graph, table, options).run();
}

}  // namespace assay
