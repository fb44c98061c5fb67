#include "replay/interp/run.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "core/base/check.h"
#include "core/expr/text.h"
#include "core/graph/targets.h"
#include "replay/interp/admitted.h"
#include "replay/interp/autocast.h"
#include "replay/interp/binding.h"
#include "replay/interp/drawn.h"
#include "replay/interp/higher_order.h"
#include "replay/interp/python_call.h"
#include "replay/interp/rule_probe.h"
#include "replay/interp/stand_in.h"
#include "replay/interp/user_kernel_call.h"
#include "replay/interp/vmap.h"

namespace assay {
namespace {

using Lookup = std::function<const Datum*(NodeId)>;

struct ArgConverter {
  const Lookup& lookup;

  auto operator()(NoneArg) const -> Result<Datum> { return Datum{}; }
  auto operator()(NodeId id) const -> Result<Datum> {
    const auto* value = lookup(id);
    if (!value) return bad_input("operand {} has no value", id.value);
    return *value;
  }
  auto operator()(const Expr& e) const -> Result<Datum> { return Datum{e}; }
  auto operator()(const std::complex<double>& z) const -> Result<Datum> { return Datum{z}; }
  auto operator()(const std::string& text) const -> Result<Datum> { return Datum{text}; }
  auto operator()(DType dtype) const -> Result<Datum> { return Datum{dtype}; }
  auto operator()(const Device& device) const -> Result<Datum> { return Datum{device}; }
  auto operator()(Layout layout) const -> Result<Datum> { return Datum{layout}; }
  auto operator()(MemoryFormat format) const -> Result<Datum> { return Datum{format}; }
  auto operator()(const SequenceArg& sequence) const -> Result<Datum> {
    DatumList items;
    items.reserve(sequence.items.size());
    for (const auto& item : sequence.items) {
      ASSAY_TRY(auto datum, to_datum(item, lookup));
      items.push_back(std::move(datum));
    }
    return Datum{std::move(items)};
  }
  auto operator()(const SliceArg&) const -> Result<Datum> {
    return unsupported("slices as operator arguments are not supported");
  }
  auto operator()(const DictArg&) const -> Result<Datum> {
    return unsupported("dictionaries as operator arguments are not supported");
  }
  auto operator()(const RawArg& raw) const -> Result<Datum> {
    return unsupported("argument `{}` is Python text that is not interpreted", raw.text);
  }
};

auto get_item(const std::vector<Datum>& args) -> Result<Datum> {
  const auto* items = args.size() == 2 ? args[0].list() : nullptr;
  const auto index =
      args.size() == 2 && args[1].scalar() ? args[1].scalar()->as_int() : std::nullopt;
  if (!items || !index) return unsupported("getitem works on tuples with a constant index");
  const auto count = std::ssize(*items);
  const auto at = *index < 0 ? *index + count : *index;
  if (at < 0 || at >= count)
    return bad_input("index {} is out of range for a tuple of {}", *index, count);
  return (*items)[static_cast<std::size_t>(at)];
}

/// One pass over a tensor.
void add_statistics(const Tensor& tensor, ObservedTensor& seen) {
  const auto add = [&seen](double value, double magnitude) {
    seen.sum += value;
    seen.abs_sum += magnitude;
    seen.has_nan = seen.has_nan || std::isnan(magnitude);
    seen.has_infinity = seen.has_infinity || std::isinf(magnitude);
  };
  if (is_complex(tensor.dtype())) {
    for (const auto& z : to_vector<Complex>(tensor)) add(z.real(), std::abs(z));
  } else {
    for (const double x : to_vector<double>(tensor)) add(x, std::fabs(x));
  }
}

auto mentions_data(const ShapeEnv& env, const Claim& claim) -> bool {
  const auto is_from_data = [&](const Expr& e) {
    return std::ranges::any_of(e.symbols(), [&](const Expr& symbol) {
      const auto* known = env.find(symbol);
      return known &&
             (known->kind == SymbolKind::unbacked || known->kind == SymbolKind::unbacked_float);
    });
  };
  if (const auto* items = claim.items())
    return std::ranges::any_of(*items, [&](const Claim& c) { return mentions_data(env, c); });
  if (const auto* meta = claim.tensor()) return std::ranges::any_of(meta->sizes, is_from_data);
  return claim.scalar() && is_from_data(*claim.scalar());
}

/// Does a call take sizes, numbers or branches from contents, or may it, since nobody knows it?
auto reads_contents(const Graph& graph, const OpTable& table) -> bool {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (node.kind != NodeKind::call_function && node.kind != NodeKind::call_method) return false;
    if (mentions_data(graph.env, node.claim)) return true;
    const auto* row = table.find(node.target);
    if (row) return row->measure != nullptr;
    return is_higher_order(node.target) ||
           (node.target != "operator.getitem" && is_python_call(node.kind, node.target));
  });
}

/// Numbers that do not depend on how a tensor lies in memory.
auto asks_sizes_only(std::string_view target) -> bool {
  return target == "aten.sym_size.int" || target == "aten.sym_numel.default";
}

class GraphRunner {
 public:
  GraphRunner(const Graph& graph, const RunInputs& inputs, const OpTable& table,
              const RunOptions& options)
      : graph_(graph),
        inputs_(inputs),
        options_(options),
        domain_(options.rules && !reads_contents(graph, table) ? *options.rules : table,
                options.random),
        casts_(graph),
        vmaps_(graph),
        probe_(graph, table),
        values_(static_cast<std::size_t>(std::max(graph.next_id, 0))),
        index_(values_.size(), -1) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto id = static_cast<std::size_t>(graph.nodes[i].id.value);
      ASSAY_CHECK(id < index_.size(), "node id {} beyond next_id {}", id, index_.size());
      index_[id] = static_cast<int>(i);
    }
    find_last_uses();
    domain_.set_launcher(options.launch);
    if (options.observer) domain_.set_observer(options.observer);
  }

  auto run() -> GraphRun {
    result_.nodes.resize(graph_.nodes.size());
    const auto before = watched_bytes();
    run_between(0, graph_.nodes.size());
    for (const auto& [name, bytes] : watched_bytes())
      if (bytes != before.at(name)) add_mutated(name);
    return std::move(result_);
  }

 private:
  [[nodiscard]] auto watched_bytes() const -> std::map<std::string, std::vector<std::byte>> {
    std::map<std::string, std::vector<std::byte>> bytes;
    std::size_t input = 0;
    for (const auto& node : graph_.nodes) {
      if (node.kind != NodeKind::placeholder || input >= inputs_.values.size()) continue;
      const auto* tensor = inputs_.values[input++].real();
      if (!tensor || std::ranges::find(options_.watched, node.name) == options_.watched.end())
        continue;
      const auto all = tensor->storage->bytes();
      bytes[node.name].assign(all.begin(), all.end());
    }
    return bytes;
  }

  void add_mutated(const std::string& name) {
    if (std::ranges::find(result_.mutated, name) == result_.mutated.end())
      result_.mutated.push_back(name);
  }

  void run_between(std::size_t begin, std::size_t end) {
    for (auto i = begin; i < end; ++i) {
      if (const auto end_of_vmap = vmaps_.end_of(i)) i = run_slices(i, *end_of_vmap);
      run_at(i);
      for (const auto id : dies_after_[i]) values_[static_cast<std::size_t>(id)] = {};
      if (options_.progress) options_.progress(i + 1, graph_.nodes.size());
    }
  }

  /// What a vmap runs over, once for each slice. The position where it ends, or where it begins if
  /// nobody knows how many slices it has.
  auto run_slices(std::size_t begin, std::size_t end) -> std::size_t {
    const Lookup lookup = [this](NodeId id) {
      return &values_[static_cast<std::size_t>(id.value)];
    };
    const auto size = vmap_size(graph_.nodes[begin], lookup);
    if (!size || *size <= 0) return begin;
    run_at(begin);
    const auto results = vmaps_.results(begin);
    std::vector<DatumList> parts(results.size());
    for (std::int64_t slice = 0; slice < *size; ++slice) {
      slices_.push_back(slice);
      run_between(begin + 1, end);
      slices_.pop_back();
      for (std::size_t k = 0; k < results.size(); ++k)
        if (result_.nodes[results[k]].status == NodeStatus::ran)
          parts[k].push_back(values_[static_cast<std::size_t>(graph_.nodes[results[k]].id.value)]);
    }
    known_ = bind_symbols(graph_, result_).values;
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (std::ssize(parts[k]) != *size) continue;
      const auto& node = graph_.nodes[results[k]];
      if (auto all = put_together(node, std::move(parts[k]), known_, domain_, lookup))
        keep(results[k], *std::move(all));
    }
    return end;
  }

  void find_last_uses() {
    dies_after_.resize(graph_.nodes.size());
    std::vector<int> last(values_.size(), -1);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const auto id : operands(graph_.nodes[i]))
        if (id.value >= 0 && static_cast<std::size_t>(id.value) < last.size())
          last[static_cast<std::size_t>(id.value)] = static_cast<int>(vmaps_.last_use(
              static_cast<std::size_t>(index_[static_cast<std::size_t>(id.value)]), i));
    for (std::size_t id = 0; id < last.size(); ++id)
      if (last[id] >= 0)
        dies_after_[static_cast<std::size_t>(last[id])].push_back(static_cast<int>(id));
  }

  /// Operands that stop this node from running; collects what flows in with the others.
  auto blocked(const Node& node, NodeRun& record) const -> bool {
    for (const auto id : operands(node)) {
      const auto at = static_cast<std::size_t>(id.value);
      if (id.value < 0 || at >= index_.size() || index_[at] < 0) return true;
      const auto& operand = result_.nodes[static_cast<std::size_t>(index_[at])];
      if (!operand.has_value) return true;
      record.randomness = std::max(record.randomness, operand.randomness);
      record.made_up.values |= operand.made_up.values || operand.made_up.sizes;
      record.made_up.sizes |= operand.made_up.sizes;
      record.made_up.strides |= operand.made_up.strides;
      record.made_up.storage |= operand.made_up.storage;
    }
    return false;
  }

  void run_at(std::size_t i) {
    const auto& node = graph_.nodes[i];
    auto& record = result_.nodes[i];
    if (blocked(node, record)) {
      record.status = NodeStatus::skipped;
      record.message = "an operand has no value";
      stand_in(i);
      return;
    }
    auto value = evaluate_node(node, record);
    if (!value) {
      record.status =
          value.error().code == ErrorCode::unsupported ? NodeStatus::unchecked : NodeStatus::failed;
      record.message = value.error().message;
      record.refused = record.status == NodeStatus::failed;
      record.refused_on = record.made_up;  // what stands in has its own
      stand_in(i);
      return;
    }
    record.status = NodeStatus::ran;
    if (node.kind == NodeKind::call_function || node.kind == NodeKind::call_method) {
      note_data_dependence(node, record);
      if (record.made_up.sizes) choose_scalar(node, *value);
      if (!record.is_view) record.made_up.storage = false;
      if (asks_sizes_only(node.target)) record.made_up.strides = false;
      adopt_recorded(node, *value);
    }
    keep(i, *std::move(value));
  }

  void keep(std::size_t i, Datum value) {
    const auto& node = graph_.nodes[i];
    auto& record = result_.nodes[i];
    record.value = observe(value);
    record.has_value = true;
    if (const auto* recorded = recording_of(node)) stand_ins_.learn(*recorded, value);
    stand_ins_.learn(node.claim, value);
    if (options_.tap && record.status == NodeStatus::ran && slices_.empty()) options_.tap(i, value);
    values_[static_cast<std::size_t>(node.id.value)] = std::move(value);
  }

  [[nodiscard]] auto recording_of(const Node& node) const -> const Observation* {
    if (!options_.recorded) return nullptr;
    const auto found = options_.recorded->find(node.id);
    return found == options_.recorded->end() ? nullptr : &found->second;
  }

  /// What eager execution recorded takes the place of a value that Assay cannot compute; else the
  /// claim does, so that the nodes behind are judged by operands that are as claimed.
  void stand_in(std::size_t i) {
    const auto& node = graph_.nodes[i];
    auto& record = result_.nodes[i];
    if (node.kind == NodeKind::output || !options_.stand_ins) return;
    std::optional<Datum> value;
    if (const auto* recorded = recording_of(node)) value = stand_ins_.from_recording(*recorded);
    if (value && node.kind == NodeKind::call_function) {
      record.status = NodeStatus::recorded;
      record.made_up = {.values = true};
    } else if (!value && !node.claim.empty()) {
      value = stand_ins_.from_claim(node.claim, known_);
      if (!value) {  // symbols that came up since
        known_ = bind_symbols(graph_, result_).values;
        value = stand_ins_.from_claim(node.claim, known_);
      }
      record.made_up = {.values = true, .strides = !node.claim.stated.strides, .storage = true};
    }
    if (!value) return;
    if (node.kind == NodeKind::get_attr) record.status = NodeStatus::ran;  // an input like others
    keep(i, *std::move(value));
  }

  /// Sizes and numbers that are read from made-up contents are made up themselves.
  void note_data_dependence(const Node& node, NodeRun& record) const {
    if (!record.made_up.values || record.made_up.sizes) return;
    const auto* row = domain_.find(node.target);
    if (row && !row->measure && !row->decomposition) return;
    const auto probed = probe_.run(node, [this](NodeId id) {
      return fake_of(
          result_.nodes[static_cast<std::size_t>(index_[static_cast<std::size_t>(id.value)])]
              .value);
    });
    record.made_up.sizes = probed && probed->depends_on_data;
  }

  /// A number read from made-up contents may be any that the program admits; take one of those.
  void choose_scalar(const Node& node, Datum& value) const {
    const auto* claim = node.claim.scalar();
    if (!claim || claim->op() != ExprOp::symbol || !value.scalar()) return;
    const auto known = bind_symbols(graph_, result_).values;
    if (const auto chosen = admitted_value(graph_, *claim, *value.scalar(), known))
      value = {*chosen};
  }

  auto evaluate_node(const Node& node, NodeRun& record) -> Result<Datum> {
    const Lookup lookup = [this](NodeId id) {
      return &values_[static_cast<std::size_t>(id.value)];
    };
    switch (node.kind) {
      case NodeKind::placeholder:
        if (next_input_ >= inputs_.values.size()) return bad_input("no value for this input");
        if (const auto& defect = inputs_.defects[next_input_]; !defect.empty()) {
          ++next_input_;
          return bad_input("{}", defect);
        }
        if (next_input_ < inputs_.unknown.size() && !inputs_.unknown[next_input_].empty())
          return unsupported("{}", inputs_.unknown[next_input_++]);
        record.made_up = inputs_.made_up[next_input_];
        return inputs_.values[next_input_++];
      case NodeKind::get_attr: {
        if (graph_.child(node.target)) return Datum{};  // body of a higher-order operator
        const auto found = inputs_.attributes.find(node.target);
        if (found == inputs_.attributes.end())
          return unsupported("the value of attribute {} is not in the capture", node.target);
        return found->second;
      }
      case NodeKind::output:
        return to_datum(node.args.at(0), lookup);
      case NodeKind::call_function: {
        record.randomness =
            std::max(record.randomness, drawn(graph_, node, domain_, options_.random != nullptr));
        if (const auto* row = domain_.find(node.target)) {
          record.is_view = !row->schema.returns.empty() && row->schema.returns[0].alias != 0;
          if (row->schema.is_mutating()) note_mutation(*row, node);
          record.made_up.values |= row->inferred != nullptr;  // a layout, no contents
        } else if (const auto written = written_operand(node)) {
          note_written(*written);
        }
        return run_drawing(node, record, lookup);
      }
      case NodeKind::call_method:
        if (const auto written = written_operand(node)) note_written(*written);
        return run_drawing(node, record, lookup);
      case NodeKind::call_module:
        if (is_input_guards(node)) return Datum{};
        return unsupported("{} is not an operator call", node.target);
    }
    return unsupported("unknown node kind");
  }

  /// Functions of Python draw where the operators do that they choose.
  auto run_drawing(const Node& node, NodeRun& record, const Lookup& lookup) -> Result<Datum> {
    if (!slices_.empty())
      if (auto slice = run_vmap_node(node, domain_, slices_.back(), lookup))
        return *std::move(slice);
    if (is_user_kernel_call(node.target)) return launch(node, record, lookup);
    (void)domain_.take_drawn();
    auto result = casts_.run(at_sizes(node), domain_, lookup);
    record.randomness = std::max(record.randomness, domain_.take_drawn());
    return result;
  }

  /// What a kernel writes whatever was there is nobody's own any more.
  auto launch(const Node& node, NodeRun& record, const Lookup& lookup) -> Result<Datum> {
    const auto record_of = [&](NodeId id) -> NodeRun& {
      return result_.nodes[static_cast<std::size_t>(index_[static_cast<std::size_t>(id.value)])];
    };
    const auto is_open = [&](NodeId id) {
      return record_of(id).randomness == Randomness::numbers && lookup(id)->real() != nullptr;
    };
    ASSAY_TRY(auto run, run_user_kernel_call(graph_, node, domain_, lookup, is_open));
    auto all = operands(node);
    const auto open = std::ranges::partition(all, [&](NodeId id) { return !is_open(id); });
    if (!run.rests_on_open) record.randomness = Randomness::none;
    for (const auto id : std::ranges::subrange(all.begin(), open.begin()))
      record.randomness = std::max(record.randomness, record_of(id).randomness);
    if (run.result.list() != nullptr) return std::move(run.result);
    for (const auto id : all) {  // any of them may have been written
      const bool is_written = !run.rests_on_open && std::ranges::count(open, id) > 0;
      const auto* written = lookup(id)->real();
      for (const auto& other : graph_.nodes)
        if (const auto* tensor = values_[static_cast<std::size_t>(other.id.value)].real();
            tensor != nullptr && written != nullptr && tensor->storage == written->storage) {
          auto& randomness = record_of(other.id).randomness;
          randomness = is_written ? record.randomness : std::max(randomness, record.randomness);
        }
    }
    return std::move(run.result);
  }

  /// Arguments may name sizes ("[s1]"), which values seen so far tell.
  auto at_sizes(const Node& node) -> const Node& {
    const std::function<bool(const Arg&)> names_sizes = [&](const Arg& arg) {
      if (const auto* e = std::get_if<Expr>(&arg.value)) return !e->symbols().empty();
      const auto* sequence = std::get_if<SequenceArg>(&arg.value);
      return sequence != nullptr && std::ranges::any_of(sequence->items, names_sizes);
    };
    if (std::ranges::none_of(node.args, names_sizes) &&
        std::ranges::none_of(node.kwargs, [&](const auto& one) { return names_sizes(one.second); }))
      return node;
    auto& made = sized_ = node;
    const std::function<void(Arg&)> replace = [&](Arg& arg) {
      if (!names_sizes(arg)) return;
      if (auto* e = std::get_if<Expr>(&arg.value)) {
        if (substitute(*e, known_) == *e) known_ = bind_symbols(graph_, result_).values;
        *e = substitute(*e, known_);
      } else {
        for (auto& item : std::get<SequenceArg>(arg.value).items) replace(item);
      }
    };
    for (auto& arg : made.args) replace(arg);
    for (auto& [key, arg] : made.kwargs) replace(arg);
    return made;
  }

  /// Remembers placeholders whose storage an in-place operator writes.
  void note_mutation(const OpRow& row, const Node& node) {
    for (std::size_t i = 0; i < row.schema.params.size() && i < node.args.size(); ++i) {
      const auto* id = std::get_if<NodeId>(&node.args[i].value);
      if (row.schema.params[i].written && id) note_written(*id);
    }
  }
  /// Remembers placeholders that share the storage of this value.
  void note_written(NodeId id) {
    const auto* tensor = values_[static_cast<std::size_t>(id.value)].real();
    if (!tensor) return;
    std::size_t input = 0;
    for (const auto& candidate : graph_.nodes) {
      if (candidate.kind != NodeKind::placeholder) continue;
      const auto* original = input < inputs_.values.size() ? inputs_.values[input].real() : nullptr;
      ++input;
      if (original && original->storage == tensor->storage) add_mutated(candidate.name);
    }
  }

  /// Where the recorded layout of a fresh result differs from ours, continue with the recorded one.
  void adopt_recorded(const Node& node, Datum& value) const {
    const auto* seen = recording_of(node);
    if (!seen) return;
    auto* tensor = std::get_if<Tensor>(&value.value);
    const auto& recorded = seen->tensor;
    if (!tensor || !recorded || recorded->sizes != tensor->sizes() ||
        recorded->dtype != tensor->dtype() || recorded->strides == tensor->strides())
      return;
    for (const auto& other : values_)
      if (other.real() && other.real()->storage == tensor->storage)
        return;  // a view: keep aliasing
    auto moved =
        Tensor::allocate(recorded->dtype, recorded->sizes, recorded->strides, tensor->meta.device);
    if (!moved) return;
    copy_elems(*tensor, *moved);
    *tensor = *std::move(moved);
  }

  auto storage_id(const Storage* storage) -> int {
    return ids_.try_emplace(storage, static_cast<int>(ids_.size())).first->second;
  }

  auto observe(const Datum& value) -> ObservedValue {
    ObservedValue seen;
    if (const auto* tensor = value.real()) {
      seen.tensor =
          ObservedTensor{.meta = tensor->meta, .storage = storage_id(tensor->storage.get())};
      seen.tensor->meta.storage_bytes = tensor->storage->size_bytes();
      kept_.insert(tensor->storage);
      if (options_.statistics) add_statistics(*tensor, *seen.tensor);
    } else if (const auto* list = value.list()) {
      seen.is_tuple = true;
      for (const auto& item : *list) seen.items.push_back(observe(item));
    } else if (value.scalar()) {
      seen.scalar = *value.scalar();
    }
    return seen;
  }

  const Graph& graph_;
  const RunInputs& inputs_;
  const RunOptions& options_;
  RealDomain domain_;
  AutocastScopes casts_;
  VmapRegions vmaps_;
  std::vector<std::int64_t> slices_;  ///< that runs, of each vmap that the node stands in
  RuleProbe probe_;
  StandIns stand_ins_;
  Binding known_;              ///< of the symbols, for stand-ins
  std::vector<Datum> values_;  ///< by node id
  Node sized_;                 ///< the node that runs, where its arguments name sizes
  std::vector<int> index_;     ///< node id -> position
  std::vector<std::vector<int>> dies_after_;
  std::unordered_map<const Storage*, int> ids_;
  /// Addresses identify storages, so none may be reused while the run goes on. A weak owner keeps
  /// the Storage object's block (make_shared) alive but not the bytes it owns.
  std::set<std::weak_ptr<Storage>, std::owner_less<>> kept_;
  std::size_t next_input_ = 0;
  GraphRun result_;
};

}  // namespace

auto to_datum(const Arg& arg, const Lookup& lookup) -> Result<Datum> {
  return std::visit(ArgConverter{lookup}, arg.value);
}

namespace {
auto positional(const Node& node, const Lookup& lookup) -> Result<DatumList> {
  DatumList args;
  args.reserve(node.args.size());
  for (const auto& arg : node.args) {
    ASSAY_TRY(auto datum, to_datum(arg, lookup));
    args.push_back(std::move(datum));
  }
  return args;
}
}  // namespace

auto bound_arguments(const Node& node, const OpRow& row, const Lookup& lookup)
    -> Result<DatumList> {
  ASSAY_TRY(auto args, positional(node, lookup));
  std::vector<std::pair<std::string, Datum>> keywords;
  for (const auto& [key, arg] : node.kwargs) {
    ASSAY_TRY(auto datum, to_datum(arg, lookup));
    keywords.emplace_back(key, std::move(datum));
  }
  return bind_arguments(row.schema, std::move(args), std::move(keywords));
}

auto run_node(const Graph& graph, const Node& node, Domain& domain, const Lookup& lookup)
    -> Result<Datum> {
  if (auto value = run_higher_order(graph, node, domain, lookup)) return *std::move(value);
  if (auto value = run_python_call(node, domain, lookup)) return *std::move(value);
  if (is_user_kernel_call(node.target)) {
    ASSAY_TRY(auto run, run_user_kernel_call(graph, node, domain, lookup));
    return std::move(run.result);
  }
  const auto* row = domain.find(node.target);
  if (!row && node.target != "operator.getitem")
    return unsupported("no row for operator {}", node.target);
  if (!row) {
    ASSAY_TRY(auto args, positional(node, lookup));
    if (const auto at = result_of_user_kernel(graph, node)) args[1] = {Expr(std::int64_t(*at))};
    return get_item(args);
  }
  ASSAY_TRY(auto bound, bound_arguments(node, *row, lookup));
  return domain.run(*row, std::move(bound));
}

auto can_run(std::string_view target, const OpTable& table) -> bool {
  return target == "operator.getitem" || is_higher_order(target) || table.find(target);
}

auto rules_of(const OpTable& table) -> OpTable {
  OpTable rules;
  for (const auto& row : table.rows()) {
    auto rule = *row;
    rule.kernel = nullptr;
    rules.add(std::move(rule));
  }
  return rules;
}

auto run_graph(const Graph& graph, const RunInputs& inputs, const OpTable& table,
               const RunOptions& options) -> GraphRun {
  return GraphRunner(graph, inputs, table, options).run();
}

}  // namespace assay
