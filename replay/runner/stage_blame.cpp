#include "replay/runner/stage_blame.h"

#include <algorithm>
#include <set>

#include "core/graph/text.h"
#include "replay/runner/known_values.h"

namespace assay {
namespace {

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
      if (!other || right_values_[*other].is_none() ||
          values_agree(right_values_[*other], values_[i]))
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
    const KnownValues known(right_values_);
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

}  // namespace

auto blame_node(const Stage& stage, const Stage& right, const StageContext& context,
                const StageContext& right_context, const std::string& producer,
                const std::string& right_producer) -> StageBlame {
  return NodeBlamer(stage, right, context, right_context).blame(producer, right_producer);
}

}  // namespace assay
