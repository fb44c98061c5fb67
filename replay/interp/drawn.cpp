#include "replay/interp/drawn.h"

#include <algorithm>

#include "replay/interp/higher_order.h"

namespace assay {
namespace {

/// Is the probability of dropping elements another than 0?
auto drops_elements(const OpRow& row, const Node& node) -> bool {
  const auto drops = [](const Arg& arg) {
    const auto* probability = std::get_if<Expr>(&arg.value);
    return probability != nullptr && is_dropping(*probability);
  };
  const int at = dropping_parameter(row);
  if (at < 0) return false;
  for (const auto& [name, arg] : node.kwargs)
    if (name == "dropout_p") return drops(arg);
  return static_cast<std::size_t>(at) < node.args.size() &&
         drops(node.args[static_cast<std::size_t>(at)]);
}

}  // namespace

auto drawn(const Graph& graph, const Node& node, const Domain& domain, bool has_seed)
    -> Randomness {
  if (const auto* row = domain.find(node.target))
    return !has_seed && drops_elements(*row, node) ? Randomness::numbers
                                                   : randomness(*row, has_seed);
  auto all = Randomness::none;
  for (const auto* body : bodies_of(graph, node))
    for (const auto& inner : body->nodes)
      all = std::max(all, drawn(*body, inner, domain, has_seed));
  return all;
}

}  // namespace assay
