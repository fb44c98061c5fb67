#include "replay/runner/stage_blame.h"

#include <algorithm>
#include <set>

#include "core/graph/text.h"

namespace assay {
namespace {

/// Values of nodes by position, as they were before anything wrote on them.
auto values_of(const Stage& stage, const StageContext& context) -> std::vector<Datum> {
  std::vector<Datum> values(stage.graph->graph.nodes.size());
  StageTaps taps;
  taps.node = [&](std::size_t i, const Datum& value) {
    if (const auto* list = value.list()) {
      DatumList items;
      for (const auto& item : *list) items.push_back(DatumCopier()(item));
      values[i] = {std::move(items)};
    } else {
      values[i] = DatumCopier()(value);
    }
  };
  (void)run_stage(stage, context.inputs, context.attributes, context.table, taps);
  return values;
}

auto agrees(const Datum& expected, const Datum& actual) -> bool {
  if (const auto *a = expected.list(), *b = actual.list(); a != nullptr && b != nullptr)
    return a->size() == b->size() && std::ranges::equal(*a, *b, agrees);
  if (expected.is_none() || actual.is_none()) return true;
  return compare_values(expected, actual, false, {}).message.empty();
}

/// The same elements in row-major order, whatever the sizes.
auto flat(const Tensor& tensor) -> Datum {
  auto copy = Tensor::contiguous(tensor.dtype(), {tensor.numel()});
  if (!copy) return {};
  Tensor shaped = *copy;
  shaped.meta.sizes = tensor.sizes();
  std::int64_t stride = 1;
  shaped.meta.strides.resize(tensor.sizes().size());
  for (std::size_t d = tensor.sizes().size(); d-- > 0; stride *= tensor.sizes()[d])
    shaped.meta.strides[d] = stride;
  copy_elems(tensor, shaped);
  return {*std::move(copy)};
}

/// In the order of memory, if every element of the extent is one of the tensor.
auto in_memory(const Tensor& tensor) -> Datum {
  const auto view = tensor.view(tensor.dtype(), {tensor.numel()}, {1}, tensor.meta.offset);
  return view ? Datum{*view} : Datum{};
}

/// All tensors that come up in a run, to be found by their elements.
class Known {
 public:
  explicit Known(const std::vector<Datum>& values) {
    for (const auto& value : values) add(value);
  }
  [[nodiscard]] auto contains(const Datum& value) const -> bool {
    if (const auto* list = value.list())
      return std::ranges::all_of(*list, [&](const Datum& item) { return contains(item); });
    const auto* tensor = value.real();
    if (tensor == nullptr) return true;
    const auto mine = flat(*tensor), stored = in_memory(*tensor);
    return std::ranges::any_of(tensors_, [&](const auto& known) {
      const auto& [elements, memory] = known;
      if (elements.real()->numel() != tensor->numel() ||
          elements.real()->dtype() != tensor->dtype())
        return false;
      return agrees(elements, mine) ||
             (!stored.is_none() && !memory.is_none() && agrees(memory, stored));
    });
  }

 private:
  void add(const Datum& value) {
    if (const auto* list = value.list())
      for (const auto& item : *list) add(item);
    else if (const auto* tensor = value.real())
      if (auto elements = flat(*tensor); !elements.is_none())
        tensors_.emplace_back(std::move(elements), in_memory(*tensor));
  }
  std::vector<std::pair<Datum, Datum>> tensors_;
};

/// Does the call write one of its operands, so that others see it who do not take its result?
auto writes(const Node& node) -> bool {
  static constexpr std::string_view kInPlace = "operator.i";
  const std::string_view target = node.target;
  const auto name = target.starts_with("aten.") ? target.substr(0, target.rfind('.')) : target;
  return name.ends_with('_') || target == "operator.setitem" || target.starts_with(kInPlace);
}

auto is_call(const Node& node) -> bool {
  return node.kind == NodeKind::call_function || node.kind == NodeKind::call_method;
}

class NodeBlamer {
 public:
  NodeBlamer(const Stage& stage, const Stage& right, const StageContext& context,
             const StageContext& right_context)
      : stage_(stage),
        right_(right),
        graph_(stage.graph->graph),
        right_graph_(right.graph->graph),
        values_(values_of(stage, context)),
        right_values_(values_of(right, right_context)) {}

  auto blame(const std::string& producer, const std::string& right_producer) -> StageBlame {
    if (stage_.has_same_names(right_)) {
      if (auto found = by_name(above(producer)); found.found()) return found;
      if (auto found = missing(producer, right_producer); found.found()) return found;
    }
    return by_value(producer);
  }

 private:
  /// Positions of the node and of everything it rests on; all, if there is no such node.
  [[nodiscard]] auto above(const std::string& producer) const -> std::set<std::size_t> {
    std::set<std::size_t> positions;
    const auto start = std::ranges::find(graph_.nodes, producer, &Node::name);
    std::set<NodeId> wanted;
    for (auto i = graph_.nodes.size(); i-- > 0;) {
      const auto& node = graph_.nodes[i];
      if (start != graph_.nodes.end() && !wanted.contains(node.id) && node.name != producer &&
          !writes(node))
        continue;
      positions.insert(i);
      for (const auto id : operands(node)) wanted.insert(id);
    }
    return positions;
  }

  [[nodiscard]] auto position_in_right(const std::string& name) const
      -> std::optional<std::size_t> {
    const auto found = std::ranges::find(right_graph_.nodes, name, &Node::name);
    if (found == right_graph_.nodes.end()) return std::nullopt;
    return static_cast<std::size_t>(found - right_graph_.nodes.begin());
  }

  /// What is returned on the other side is not here at all.
  [[nodiscard]] auto missing(const std::string& producer, const std::string& right_producer) const
      -> StageBlame {
    const auto* gone = right_graph_.find(std::string_view(right_producer));
    if (gone == nullptr || graph_.find(std::string_view(right_producer)) != nullptr) return {};
    StageBlame blame;
    blame.name = gone->name;
    blame.target = gone->target;
    blame.call = fmt::format("not there; {} is returned", producer);
    blame.before = print_call(right_graph_, *gone);
    blame.origin = gone->origin;
    return blame;
  }

  [[nodiscard]] auto by_name(const std::set<std::size_t>& positions) const -> StageBlame {
    for (const auto i : positions) {
      if (!is_call(graph_.nodes[i]) || values_[i].is_none()) continue;
      const auto other = position_in_right(graph_.nodes[i].name);
      if (!other || right_values_[*other].is_none() || agrees(right_values_[*other], values_[i]))
        continue;
      auto blame = at(i);
      blame.before = print_call(right_graph_, right_graph_.nodes[*other]);
      blame.distance = compare_values(right_values_[*other], values_[i], false, {});
      return blame;
    }
    return {};
  }

  /// Walks back from the wrong value over nodes whose values do not come up on the other side.
  [[nodiscard]] auto by_value(const std::string& producer) const -> StageBlame {
    const Known known(right_values_);
    const auto start = std::ranges::find(graph_.nodes, producer, &Node::name);
    if (start == graph_.nodes.end()) return {};
    std::set<NodeId> wanted{start->id};
    std::optional<std::size_t> first;
    for (auto i = static_cast<std::size_t>(start - graph_.nodes.begin()) + 1; i-- > 0;) {
      const auto& node = graph_.nodes[i];
      if (!wanted.contains(node.id) || !is_call(node)) continue;
      if (node.name != producer && known.contains(values_[i])) continue;
      first = i;
      for (const auto id : operands(node)) wanted.insert(id);
    }
    if (!first) return {};
    auto blame = at(*first);
    if (blame.name != producer) blame.through = producer;
    return blame;
  }

  [[nodiscard]] auto at(std::size_t i) const -> StageBlame {
    const auto& node = graph_.nodes[i];
    StageBlame blame;
    blame.name = node.name;
    blame.target = node.target;
    blame.call = print_call(graph_, node);
    blame.origin = node.origin;
    blame.line = node.line;
    return blame;
  }

  const Stage& stage_;
  const Stage& right_;
  const Graph& graph_;
  const Graph& right_graph_;
  std::vector<Datum> values_, right_values_;
};

/// Buffers that a launch or call wrote, as they were then.
using Written = std::vector<std::pair<std::string, Datum>>;

class LaunchBlamer {
 public:
  LaunchBlamer(const Stage& stage, const Stage& right, const StageContext& context,
               const StageContext& right_context)
      : program_(*stage.program),
        right_(right),
        right_values_(values_of(right, right_context)),
        known_(right_values_) {
    StageTaps taps;
    taps.written = [&](const RunWritten& event) {
      auto& written = written_[event.op];
      written.clear();
      for (const auto& [name, tensor] : event.buffers)
        written.emplace_back(name, DatumCopier()(Datum{tensor}));
    };
    (void)run_stage(stage, context.inputs, context.attributes, context.table, taps);
  }

  auto blame(const std::string& producer) -> StageBlame {
    for (const auto& function : program_.functions)
      for (const auto& op : function.ops) step(op);
    const auto found = bad_.find(producer);
    if (found == bad_.end()) return {};
    const auto& [op, buffer] = found->second;
    auto blame = at(*op, buffer);
    const auto last = writer_.find(producer);
    if (last != writer_.end() && last->second != op)
      blame.through = fmt::format("line {}", last->second->line);
    return blame;
  }

 private:
  using Cause = std::pair<const HostOp*, std::string>;

  static auto arguments_of(const HostOp& op) -> const HostArgs* {
    if (const auto* launch = std::get_if<HostLaunch>(&op.what)) return &launch->args;
    if (const auto* call = std::get_if<HostCall>(&op.what)) return &call->args;
    return nullptr;
  }

  void step(const HostOp& op) {
    if (const auto* bind = std::get_if<HostBind>(&op.what)) {
      follow(bind->name, bind->source.base);
      return;
    }
    if (const auto* item = std::get_if<HostItem>(&op.what)) {
      follow(item->name, fmt::format("{}[{}]", item->tuple, item->index));
      return;
    }
    const auto event = written_.find(&op);
    const auto* args = arguments_of(op);
    if (event == written_.end() || args == nullptr) return;
    std::optional<Cause> cause;
    for (const auto& arg : *args)
      for (const auto& name : arg.mentions)
        if (const auto known = bad_.find(name); known != bad_.end() && !cause)
          cause = known->second;
    for (const auto& [name, value] : event->second) {
      writer_[name] = &op;
      if (known_.contains(value))
        bad_.erase(name);
      else
        bad_.insert_or_assign(name, cause.value_or(Cause{&op, name}));
    }
  }

  void follow(const std::string& name, const std::string& source) {
    if (const auto known = bad_.find(source); known != bad_.end())
      bad_.insert_or_assign(name, Cause(known->second));
    else
      bad_.erase(name);
    if (const auto known = writer_.find(source); known != writer_.end())
      writer_[name] = known->second;
  }

  auto at(const HostOp& op, const std::string& buffer) -> StageBlame {
    StageBlame blame;
    blame.name = buffer;
    blame.call = op.text;
    blame.line = op.line;
    if (const auto* launch = std::get_if<HostLaunch>(&op.what)) {
      blame.target = launch->kernel;
      if (const auto found = program_.kernels.find(launch->kernel); found != program_.kernels.end())
        blame.nodes = found->second.nodes;
    } else if (const auto* call = std::get_if<HostCall>(&op.what)) {
      blame.target = call->target;
    }
    for (const auto& [name, value] : written_[&op])
      if (name == buffer) compare(value, blame);
    return blame;
  }

  /// With the last node of the kernel that is as large as the buffer.
  void compare(const Datum& value, StageBlame& blame) const {
    const auto* tensor = value.real();
    if (tensor != nullptr) blame.wrote = *tensor;
    const auto& nodes = right_.graph->graph.nodes;
    for (auto i = blame.nodes.size(); i-- > 0;) {
      const auto found = std::ranges::find(nodes, blame.nodes[i], &Node::name);
      if (found == nodes.end()) continue;
      if (!blame.origin && found->origin) blame.origin = found->origin;
      const auto* expected = right_values_[static_cast<std::size_t>(found - nodes.begin())].real();
      if (tensor == nullptr || expected == nullptr || expected->numel() != tensor->numel() ||
          expected->dtype() != tensor->dtype() || !blame.distance.message.empty())
        continue;
      blame.distance = expected->sizes() == tensor->sizes()
                           ? compare_values(Datum{*expected}, value, false, {})
                           : compare_values(flat(*expected), flat(*tensor), false, {});
      blame.before = print_call(right_.graph->graph, *found);
      blame.expected = *expected;
    }
  }

  const HostProgram& program_;
  const Stage& right_;
  std::vector<Datum> right_values_;
  Known known_;
  std::map<const HostOp*, Written> written_;
  std::map<std::string, Cause> bad_;
  std::map<std::string, const HostOp*> writer_;
};

}  // namespace

auto blame_node(const Stage& stage, const Stage& right, const StageContext& context,
                const StageContext& right_context, const std::string& producer,
                const std::string& right_producer) -> StageBlame {
  return NodeBlamer(stage, right, context, right_context).blame(producer, right_producer);
}

auto blame_launch(const Stage& program, const Stage& right, const StageContext& context,
                  const StageContext& right_context, const std::string& producer) -> StageBlame {
  return LaunchBlamer(program, right, context, right_context).blame(producer);
}

}  // namespace assay
