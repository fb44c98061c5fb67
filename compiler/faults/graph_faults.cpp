// Faults of passes over a graph.
#include <algorithm>
#include <set>

#include "compiler/faults/faults.h"
#include "core/graph/graph.h"

namespace assay {
namespace {

auto first_operand(const Node& node) -> std::optional<NodeId> {
  if (node.args.empty()) return std::nullopt;
  const auto* id = std::get_if<NodeId>(&node.args[0].value);
  return id ? std::optional(*id) : std::nullopt;
}

/// "aten.copy_.default", not "aten.__and__.Tensor".
auto writes_first(const Node& node) -> bool {
  const auto dot = node.target.rfind('.');
  return node.kind == NodeKind::call_function && node.target.starts_with("aten.") &&
         dot != std::string::npos && dot > 0 && node.target[dot - 1] == '_' &&
         !node.target.contains("__");
}

class GraphFault {
 public:
  explicit GraphFault(Graph& graph) : graph_(graph) {
    if (const auto* output = graph.output())
      for (const auto id : operands(*output)) returned_.insert(id);
  }

  /// The first copy that is what it copies, or the first call that repeats another, if it shows.
  auto merge_copies() -> std::optional<std::string> {
    for (const auto& node : graph_.nodes) {
      const auto same = merged_with(node);
      if (!same || !shows(node, *same)) continue;
      auto name = node.name;
      replace(node.id, *same);
      return name;
    }
    return std::nullopt;
  }

  /// The last sum of two results of calls, as accumulated gradients are.
  auto lose_gradient() -> std::optional<std::string> {
    for (auto at = graph_.nodes.rbegin(); at != graph_.nodes.rend(); ++at) {
      if (at->target != "aten.add.Tensor" || at->args.size() != 2 || !at->kwargs.empty()) continue;
      const auto ids = operands(*at);
      const auto* sum = at->claim.tensor();
      if (ids.size() != 2 || ids[0] == ids[1] || sum == nullptr) continue;
      const auto is_part = [&](NodeId id) {
        const auto* call = graph_.find(id);
        const auto* meta = call->claim.tensor();
        return call->kind == NodeKind::call_function && meta != nullptr &&
               meta->sizes == sum->sizes && meta->strides == sum->strides &&
               meta->dtype == sum->dtype;
      };
      if (!std::ranges::all_of(ids, is_part)) continue;
      auto name = at->name;
      replace(at->id, ids[0]);
      return name;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] auto is_same_layout(NodeId a, const Claim& claim) const -> bool {
    const auto* other = graph_.find(a);
    const auto* x = claim.tensor();
    const auto* y = other == nullptr ? nullptr : other->claim.tensor();
    return x != nullptr && y != nullptr && x->sizes == y->sizes && x->strides == y->strides &&
           x->offset == y->offset && x->dtype == y->dtype;
  }
  [[nodiscard]] auto merged_with(const Node& node) const -> std::optional<NodeId> {
    if (node.kind != NodeKind::call_function || writes_first(node)) return std::nullopt;
    if (node.target == "aten.clone.default") {
      const auto from = first_operand(node);
      return from && is_same_layout(*from, node.claim) ? from : std::nullopt;
    }
    for (const auto& other : graph_.nodes) {
      if (&other == &node) break;
      if (other.target == node.target && other.kind == node.kind && !other.args.empty() &&
          other.args == node.args && other.kwargs == node.kwargs &&
          is_same_layout(other.id, node.claim))
        return other.id;
    }
    return std::nullopt;
  }
  [[nodiscard]] auto is_written_behind(NodeId id, const Node& node) const -> bool {
    bool is_behind = false;
    for (const auto& other : graph_.nodes) {
      if (is_behind && writes_first(other) && first_operand(other) == id) return true;
      is_behind = is_behind || &other == &node;
    }
    return false;
  }
  /// Both are there for the caller, or one of them changes later.
  [[nodiscard]] auto shows(const Node& node, NodeId same) const -> bool {
    const bool is_known =
        returned_.contains(same) || graph_.find(same)->kind == NodeKind::placeholder;
    return (returned_.contains(node.id) && is_known) || is_written_behind(same, node) ||
           is_written_behind(node.id, node);
  }
  void replace(NodeId from, NodeId to) {
    for (auto& node : graph_.nodes) {
      const auto change = [&](NodeId& id) { id = id == from ? to : id; };
      for (auto& arg : node.args) visit_refs(arg, change);
      for (auto& [name, arg] : node.kwargs) visit_refs(arg, change);
    }
    std::erase_if(graph_.nodes, [&](const Node& node) { return node.id == from; });
  }

  Graph& graph_;
  std::set<NodeId> returned_;
};

}  // namespace

auto apply_fault(Fault fault, Graph& graph) -> std::optional<std::string> {
  if (fault == Fault::merged_copies) return GraphFault(graph).merge_copies();
  if (fault == Fault::lost_gradient) return GraphFault(graph).lose_gradient();
  return std::nullopt;
}

}  // namespace assay
