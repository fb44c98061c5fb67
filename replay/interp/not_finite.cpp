#include "replay/interp/not_finite.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace assay {
namespace {

auto has_infinite_argument(const Node& node) -> bool {
  const auto is_infinite = [](const Arg& arg) {
    const auto* e = std::get_if<Expr>(&arg.value);
    const auto number = e ? e->as_number() : std::nullopt;
    return number && std::isinf(*number);
  };
  return std::ranges::any_of(node.args, is_infinite) ||
         std::ranges::any_of(node.kwargs, [&](const auto& kw) { return is_infinite(kw.second); });
}

template <class Test>
auto any_tensor(const ObservedValue& value, Test&& test) -> bool {
  return (value.tensor && test(*value.tensor)) ||
         std::ranges::any_of(value.items, [&](const auto& item) { return any_tensor(item, test); });
}

}  // namespace

auto first_not_finite(const Graph& graph, const GraphRun& run) -> std::optional<NotFinite> {
  std::set<NodeId> infinite;  // nodes with an infinity, asked for or not
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    if (run.nodes[i].status != NodeStatus::ran) continue;
    const auto& value = run.nodes[i].value;
    if (any_tensor(value, [](const ObservedTensor& t) { return t.has_nan; }))
      return NotFinite{i, true};
    if (!any_tensor(value, [](const ObservedTensor& t) { return t.has_infinity; })) continue;
    const auto from = operands(node);
    const bool asked = has_infinite_argument(node) || node.kind == NodeKind::output ||
                       std::ranges::any_of(from, [&](NodeId id) { return infinite.contains(id); });
    if (!asked) return NotFinite{i, false};
    infinite.insert(node.id);
  }
  return std::nullopt;
}

}  // namespace assay
