#include "minifier/edits/program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_set>

#include "core/expr/text.h"
#include "core/graph/text.h"
#include "minifier/edits/patches.h"
#include "replay/interp/run.h"

namespace assay {
namespace {

auto is_call(const Node& node) -> bool {
  return node.kind == NodeKind::call_function || node.kind == NodeKind::call_method ||
         node.kind == NodeKind::call_module;
}

class Hash {
 public:
  void add(std::uint64_t value) {
    state_ ^= value + 0x9e3779b97f4a7c15ULL + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccdULL;
    state_ ^= state_ >> 32;
  }
  void add(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    add(h);
  }
  void add(const Ints& values) {
    for (const auto value : values) add(static_cast<std::uint64_t>(value));
    add(values.size());
  }
  void add(const RealMeta& meta) {
    add(static_cast<std::uint64_t>(meta.dtype));
    add(meta.sizes);
    add(meta.strides);
    add(static_cast<std::uint64_t>(meta.offset));
  }
  [[nodiscard]] auto value() const -> std::uint64_t { return state_; }

 private:
  std::uint64_t state_ = 0x6d696e6966696572ULL;
};

void add_storage(Hash& hash, const StorageData& data) {
  hash.add(static_cast<std::uint64_t>(data.size_bytes));
  if (const auto* fill = std::get_if<Fill>(&data.content)) {
    hash.add(fill->seed);
    hash.add(static_cast<std::uint64_t>(data.fill_dtype.value_or(DType::float32)));
    hash.add(fmt::format("{} {}", fill->lo, fill->hi));
  } else if (const auto* bytes =
                 std::get_if<std::shared_ptr<const std::vector<std::byte>>>(&data.content)) {
    hash.add(std::string_view(reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()));
  }
}

/// The value of an output node as a list; a single value counts as a list of one.
auto returned(const Node& output) -> ArgList {
  if (output.args.empty()) return {};
  const auto* sequence = std::get_if<SequenceArg>(&output.args[0].value);
  return sequence ? sequence->items : ArgList{output.args[0]};
}

using Names = std::set<std::string, std::less<>>;

void use(Names& used, const Expr& e) {
  for (const auto& symbol : e.symbols()) used.emplace(symbol.name());
}

auto mentions(const Names& used, const Expr& e) -> bool {
  const auto symbols = e.symbols();
  return std::ranges::any_of(symbols, [&](const Expr& s) { return used.contains(s.name()); });
}

/// Symbols of claims, arguments and inputs, and those that a guard ties to them.
auto used_symbols(const Capture& capture) -> Names {
  Names used;
  const auto add = [&](const Expr& e) { use(used, e); };
  for (const auto& node : capture.graph.nodes) {
    visit_exprs(node.claim, add);
    for (const auto& arg : node.args) visit_exprs(arg, add);
    for (const auto& [key, arg] : node.kwargs) visit_exprs(arg, add);
  }
  for (const auto& input : capture.inputs)
    if (const auto* symbolic = std::get_if<SymbolicInput>(&input);
        symbolic && symbolic->storage_bytes)
      add(*symbolic->storage_bytes);
  for (std::size_t before = 0; before != used.size();) {
    before = used.size();
    for (const auto& guard : capture.graph.env.guards())
      if (mentions(used, guard.condition)) add(guard.condition);
  }
  return used;
}

}  // namespace

void visit_exprs(const Claim& claim, const std::function<void(const Expr&)>& f) {
  if (const auto* scalar = claim.scalar()) f(*scalar);
  if (const auto* items = claim.items())
    for (const auto& item : *items) visit_exprs(item, f);
  const auto* meta = claim.tensor();
  if (!meta) return;
  for (const auto* dims : {&meta->sizes, &meta->strides})
    for (const auto& e : *dims) f(e);
  f(meta->offset);
}

void visit_exprs(const Arg& arg, const std::function<void(const Expr&)>& f) {
  if (const auto* e = std::get_if<Expr>(&arg.value)) f(*e);
  if (const auto* sequence = std::get_if<SequenceArg>(&arg.value))
    for (const auto& item : sequence->items) visit_exprs(item, f);
  if (const auto* slice = std::get_if<SliceArg>(&arg.value))
    for (const auto& part : slice->parts) visit_exprs(part, f);
  if (const auto* dict = std::get_if<DictArg>(&arg.value))
    for (const auto& [key, item] : dict->items) visit_exprs(item, f);
}

auto content_hash_of(const Capture& capture) -> std::uint64_t {
  Hash hash;
  hash.add(print_graph(capture.graph, {.header = true, .origins = false}));
  for (const auto& storage : capture.storages) add_storage(hash, storage);
  for (const auto& input : capture.inputs) {
    hash.add(input.index());
    if (const auto* scalar = std::get_if<Expr>(&input)) hash.add(print_expr(*scalar));
    if (const auto* tensor = std::get_if<RecordedTensor>(&input)) {
      hash.add(static_cast<std::uint64_t>(tensor->storage));
      hash.add(tensor->meta);
    }
    if (const auto* symbolic = std::get_if<SymbolicInput>(&input);
        symbolic && symbolic->storage_bytes)
      hash.add(print_expr(*symbolic->storage_bytes));
  }
  for (const auto& [name, tensor] : capture.attributes) {
    hash.add(name);
    hash.add(tensor.meta);
  }
  return hash.value();
}

void drop_unused_symbols(Capture& capture) {
  const auto used = used_symbols(capture);
  const auto& old = capture.graph.env;
  if (std::ranges::all_of(old.symbols(), [&](const Symbol& s) { return used.contains(s.name); }))
    return;
  ShapeEnv env = old;
  env.rollback({});
  for (const auto& symbol : old.symbols()) {
    if (!used.contains(symbol.name) || !env.add_symbol(symbol.name)) continue;
    env.set_range(symbol.expr, symbol.range);
    if (symbol.hint) env.set_hint(symbol.expr, *symbol.hint);
    for (const auto& source : symbol.sources) env.add_source(symbol.expr, source);
  }
  for (const auto& guard : old.guards())
    if (mentions(used, guard.condition)) env.add_guard(guard);
  for (const auto& [symbol, by] : old.replacements())
    if (used.contains(symbol.name())) env.add_replacement(symbol, by);
  capture.graph.env = std::move(env);
}

Program::Program(Capture capture, const OpTable& table, std::int64_t memory_bytes)
    : capture_(std::move(capture)), table_(&table), memory_bytes_(memory_bytes) {
  index();
  content_hash_ = content_hash_of(capture_);
}

void Program::record_once() const {
  if (recorded_) return;
  recorded_ = true;
  record();
}

auto Program::position(NodeId id) const -> int {
  const auto at = static_cast<std::size_t>(id.value);
  return id.value >= 0 && at < by_id_.size() ? by_id_[at] : -1;
}

void Program::index() {
  const auto& nodes = graph().nodes;
  by_id_.assign(static_cast<std::size_t>(std::max(graph().next_id, 0)), -1);
  operands_.resize(nodes.size());
  live_.assign(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    by_id_[static_cast<std::size_t>(nodes[i].id.value)] = static_cast<int>(i);
    if (is_call(nodes[i])) calls_.push_back(static_cast<int>(i));
    for (const auto id : assay::operands(nodes[i])) {
      const int at = position(id);
      if (at >= 0 && std::ranges::find(operands_[i], at) == operands_[i].end())
        operands_[i].push_back(at);
    }
  }
  for (auto i = nodes.size(); i-- > 0;) {
    if (nodes[i].kind == NodeKind::output) live_[i] = true;
    if (!live_[i]) continue;
    for (const int at : operands_[i]) live_[static_cast<std::size_t>(at)] = true;
  }
}

void Program::record() const {
  values_.resize(graph().nodes.size());
  const auto inputs = recorded_inputs(capture_);
  if (!inputs) return;
  // In-place operators change what was seen before: then every value is copied when it is made.
  const bool mutates = std::ranges::any_of(calls_, [&](int at) {
    const auto* row = table_->find(graph().nodes[static_cast<std::size_t>(at)].target);
    return row && row->schema.is_mutating();
  });
  std::map<const Storage*, int> known;
  std::vector<std::shared_ptr<Storage>> alive;
  std::int64_t total = 0;
  const auto remember = [&](const Tensor& tensor) -> RecordedTensor {
    const auto* key = tensor.storage.get();
    const auto [entry, is_new] = known.try_emplace(key, static_cast<int>(value_storages_.size()));
    if (is_new || mutates) {
      entry->second = static_cast<int>(value_storages_.size());
      alive.push_back(tensor.storage);
      StorageData data;
      data.size_bytes = tensor.storage->size_bytes();
      total += data.size_bytes;
      if (total <= memory_bytes_) {
        const auto bytes = tensor.storage->bytes();
        data.content = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
      }
      value_storages_.push_back(std::move(data));
    }
    auto meta = tensor.meta;
    meta.storage_bytes = tensor.storage->size_bytes();
    return {entry->second, meta};
  };
  RunOptions options;
  options.recorded = &capture_.observed;
  options.tap = [&](std::size_t at, const Datum& value) {
    if (!is_call(graph().nodes[at])) return;
    if (const auto* tensor = value.real()) values_[at] = remember(*tensor);
    if (const auto* scalar = value.scalar()) values_[at] = *scalar;
  };
  (void)run_graph(graph(), *inputs, *table_, options);
}

auto Program::sizes() const -> const Binding& {
  if (!sizes_) sizes_ = sizes_of(capture_, *table_);
  return *sizes_;
}

auto Program::everything() const -> Selection {
  auto selection = nothing();
  for (const int at : calls_) selection.keep[static_cast<std::size_t>(at)] = true;
  return selection;
}

auto Program::nothing() const -> Selection {
  return {std::vector<bool>(graph().nodes.size(), false)};
}

void Program::repair(Selection& selection) const {
  const auto& nodes = graph().nodes;
  for (auto i = nodes.size(); i-- > 0;) {
    if (!selection.keep[i]) continue;
    for (const int at : operands_[i]) {
      const auto& operand = nodes[static_cast<std::size_t>(at)];
      if (!is_call(operand) || operand.claim.tensor() || operand.claim.scalar()) continue;
      // Only tensors and scalars can be inputs; without a claim the recorded value tells.
      if (operand.claim.empty()) record_once();
      if (operand.claim.items() || values_[static_cast<std::size_t>(at)].index() == 0)
        selection.keep[static_cast<std::size_t>(at)] = true;
    }
  }
}

auto Program::kept_calls(const Selection& selection) const -> int {
  return static_cast<int>(std::ranges::count(selection.keep, true));
}

/// Builds one cut capture.
class Program::Cutter {
 public:
  Cutter(const Program& program, const Selection& selection)
      : program_(program), selection_(selection), nodes_(program.graph().nodes) {}

  auto run() -> Capture {
    needed_.assign(nodes_.size(), false);
    used_.assign(nodes_.size(), false);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!selection_.keep[i]) continue;
      needed_[i] = true;
      for (const int at : program_.operands(static_cast<int>(i))) {
        needed_[static_cast<std::size_t>(at)] = true;
        used_[static_cast<std::size_t>(at)] = true;
      }
    }
    copy_frame();
    add_inputs();
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (needed_[i] && (selection_.keep[i] || nodes_[i].kind == NodeKind::get_attr))
        add_node(nodes_[i]);
    add_output();
    drop_unused_symbols(out_);
    give_symbols(out_, program_.capture(), [&] { return program_.sizes(); });
    return std::move(out_);
  }

 private:
  void copy_frame() {
    const auto& from = program_.capture();
    out_.source_path = from.source_path;
    out_.format = from.format;
    out_.kind = from.kind;
    out_.environment = from.environment;
    out_.operator_cases = from.operator_cases;
    out_.graph.class_name = from.graph.class_name;
    out_.graph.env = from.graph.env;
    out_.graph.next_id = from.graph.next_id;
  }

  void add_node(const Node& node) {
    if (node.kind == NodeKind::get_attr) {
      const auto& from = program_.capture();
      if (const auto found = from.attributes.find(node.target); found != from.attributes.end())
        out_.attributes.emplace(node.target, moved(found->second, from.storages, file_storages_));
      if (const auto* child = program_.graph().child(node.target);
          child && !out_.graph.child(node.target))
        out_.graph.children.emplace_back(node.target, *child);
    }
    out_.graph.add(node);
    keep_observation(node.id);
  }

  void keep_observation(NodeId id) {
    const auto& observed = program_.capture().observed;
    if (const auto found = observed.find(id); found != observed.end())
      out_.observed.emplace(id, found->second);
  }

  void add_inputs() {
    std::size_t input = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].kind != NodeKind::placeholder) continue;
      const auto at = input++;
      if (!needed_[i]) continue;
      const auto& from = program_.capture();
      out_.graph.add(nodes_[i]);
      keep_observation(nodes_[i].id);
      out_.inputs.push_back(at < from.inputs.size()
                                ? moved(from.inputs[at], from.storages, file_storages_)
                                : InputValue{});
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!needed_[i] || selection_.keep[i] || !is_call(nodes_[i])) continue;
      Node node;
      node.id = nodes_[i].id;
      node.kind = NodeKind::placeholder;
      node.name = nodes_[i].name;
      node.target = nodes_[i].name;
      node.claim = nodes_[i].claim;
      node.origin = nodes_[i].origin;
      out_.graph.add(std::move(node));
      keep_observation(nodes_[i].id);
      out_.inputs.push_back(moved(program_.values_[i], program_.value_storages_, value_storages_));
    }
  }

  /// Kept calls that were returned, in their order, then those that lost their last user.
  void add_output() {
    Node output;
    output.kind = NodeKind::output;
    output.name = "output";
    SequenceArg items{.items = {}, .is_tuple = true};
    std::vector<bool> is_returned(nodes_.size(), false);
    if (const auto* old = program_.graph().output()) {
      output.id = old->id;
      output.name = old->name;
      for (const auto& item : returned(*old)) {
        const auto* id = std::get_if<NodeId>(&item.value);
        const int at = id ? program_.position(*id) : -1;
        if (at < 0 || !selection_.keep[static_cast<std::size_t>(at)]) continue;
        items.items.push_back(item);
        is_returned[static_cast<std::size_t>(at)] = true;
      }
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (selection_.keep[i] && !used_[i] && !is_returned[i] &&
          program_.is_live(static_cast<int>(i)))
        items.items.push_back(Arg{nodes_[i].id});
    output.args.push_back(Arg{std::move(items)});
    out_.graph.add(std::move(output));
  }

  /// The value with its storage copied over (once) from `from`.
  auto moved(const RecordedTensor& tensor, const std::vector<StorageData>& from,
             std::map<int, int>& done) -> RecordedTensor {
    auto copy = tensor;
    if (tensor.storage < 0 || static_cast<std::size_t>(tensor.storage) >= from.size()) return copy;
    const auto [entry, is_new] =
        done.try_emplace(tensor.storage, static_cast<int>(out_.storages.size()));
    if (is_new) out_.storages.push_back(from[static_cast<std::size_t>(tensor.storage)]);
    copy.storage = entry->second;
    return copy;
  }
  auto moved(const InputValue& value, const std::vector<StorageData>& from,
             std::map<int, int>& done) -> InputValue {
    if (const auto* tensor = std::get_if<RecordedTensor>(&value)) return moved(*tensor, from, done);
    return value;
  }

  const Program& program_;
  const Selection& selection_;
  const std::vector<Node>& nodes_;
  std::vector<bool> needed_, used_;
  std::map<int, int> file_storages_, value_storages_;
  Capture out_;
};

auto Program::cut(const Selection& selection) const -> Capture {
  record_once();
  return Cutter(*this, selection).run();
}

}  // namespace assay
