#include "replay/interp/admitted.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::int64_t kMaxTried = 1000;

/// The scalar that an argument stands for: a number, or the claim of a node.
auto scalar_of(const Graph& graph, const Arg& arg) -> std::optional<Expr> {
  if (const auto* e = std::get_if<Expr>(&arg.value)) return *e;
  const auto* id = std::get_if<NodeId>(&arg.value);
  const auto* node = id ? graph.find(*id) : nullptr;
  const auto* claim = node ? node->claim.scalar() : nullptr;
  return claim ? std::optional(*claim) : std::nullopt;
}

/// Argument by name or position, None as nothing.
auto argument(const Graph& graph, const Node& node, std::size_t position, std::string_view name)
    -> std::optional<Expr> {
  if (position < node.args.size()) return scalar_of(graph, node.args[position]);
  const auto found = std::ranges::find(node.kwargs, name, [](const auto& kw) { return kw.first; });
  return found == node.kwargs.end() ? std::nullopt : scalar_of(graph, found->second);
}

void add_range(const Graph& graph, const Node& node, bool is_size, std::vector<Expr>& conditions) {
  const auto value = argument(graph, node, 0, "size");
  if (!value || value->is_const()) return;
  if (is_size) conditions.push_back(ge(*value, 0));
  if (const auto low = argument(graph, node, 1, "min")) conditions.push_back(ge(*value, *low));
  if (const auto high = argument(graph, node, 2, "max")) conditions.push_back(le(*value, *high));
}

auto mentions(const Expr& e, const Expr& symbol) -> bool {
  const auto symbols = e.symbols();
  return std::ranges::find(symbols, symbol) != symbols.end();
}

}  // namespace

auto asserted_conditions(const Graph& graph) -> std::vector<Asserted> {
  std::vector<Asserted> asserted;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    std::vector<Expr> conditions;
    if (node.kind != NodeKind::call_function) continue;
    if (node.target == "aten._assert_scalar.default") {
      const auto condition = argument(graph, node, 0, "self");
      if (condition && condition->type() == ExprType::boolean && !condition->is_const())
        conditions.push_back(*condition);
    } else if (node.target == "aten.sym_constrain_range.default") {
      add_range(graph, node, false, conditions);
    } else if (node.target == "aten.sym_constrain_range_for_size.default") {
      add_range(graph, node, true, conditions);
    }
    for (const auto& condition : conditions) asserted.push_back({i, condition});
  }
  return asserted;
}

auto admitted_value(const Graph& graph, const Expr& symbol, const Expr& own, const Binding& known)
    -> std::optional<Expr> {
  std::vector<Expr> conditions;
  for (const auto& asserted : asserted_conditions(graph))
    if (mentions(asserted.condition, symbol)) conditions.push_back(asserted.condition);
  for (const auto& guard : graph.env.guards())
    if (mentions(guard.condition, symbol)) conditions.push_back(guard.condition);
  const auto* declared = graph.env.find(symbol);
  auto binding = known;
  const auto is_admitted = [&](const Expr& value) {
    if (declared && !declared->range.contains(value)) return false;
    binding[symbol] = value;
    return std::ranges::all_of(conditions, [&](const Expr& condition) {
      const auto holds = evaluate(condition, binding);
      return !holds || holds->as_bool().value_or(true);
    });
  };
  if (is_admitted(own)) return own;
  if (declared && declared->hint && is_admitted(*declared->hint)) return *declared->hint;
  if (!own.as_int()) return std::nullopt;
  const auto low = declared ? declared->range.low.as_int().value_or(2) : 2;
  for (auto value = std::max<std::int64_t>(low, 2);
       value < std::max<std::int64_t>(low, 2) + kMaxTried; ++value)
    if (is_admitted(value)) return Expr(value);
  for (const std::int64_t value : {1, 0})
    if (is_admitted(value)) return Expr(value);
  return std::nullopt;
}

}  // namespace assay
