#include "replay/interp/doubt.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <unordered_set>

namespace assay {
namespace {

void visit_claim(const Claim& claim, const std::function<void(const Expr&)>& f) {
  if (const auto* scalar = claim.scalar()) f(*scalar);
  if (const auto* meta = claim.tensor())
    for (const auto& size : meta->sizes) f(size);
  if (const auto* items = claim.items())
    for (const auto& item : *items) visit_claim(item, f);
}

}  // namespace

auto doubtful_symbols(const Graph& graph, const GraphRun& run)
    -> std::unordered_map<Expr, std::size_t> {
  std::unordered_map<Expr, std::size_t> doubtful;
  std::unordered_set<Expr> seen;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    visit_claim(graph.nodes[i].claim, [&](const Expr& e) {
      for (const auto& symbol : e.symbols())
        if (seen.insert(symbol).second && run.nodes[i].made_up.sizes) doubtful.emplace(symbol, i);
    });
  return doubtful;
}

auto made_up_sources(const Graph& graph, const GraphRun& run, std::size_t at)
    -> std::vector<std::string> {
  std::set<NodeId> flows_there;
  for (const auto operand : operands(graph.nodes[at])) flows_there.insert(operand);
  std::vector<std::string> names;
  for (auto i = at; i-- > 0;) {
    const auto& node = graph.nodes[i];
    if (!flows_there.contains(node.id)) continue;
    const bool is_source = node.kind == NodeKind::placeholder || node.kind == NodeKind::get_attr ||
                           run.nodes[i].status != NodeStatus::ran;
    if (is_source && run.nodes[i].made_up.any()) names.push_back(node.name);
    for (const auto operand : operands(node)) flows_there.insert(operand);
  }
  std::ranges::reverse(names);
  return names;
}

auto rests_on_free_sizes(const Capture& capture, std::size_t at) -> bool {
  const auto& graph = capture.graph;
  if (capture.guards_recorded || !graph.env.guards().empty()) return false;
  // Back through calls that claim nothing, whose sizes are those of what they are given.
  auto open = operands(graph.nodes[at]);
  std::set<NodeId> seen;
  while (!open.empty()) {
    const auto id = open.back();
    open.pop_back();
    const auto* operand = seen.insert(id).second ? graph.find(id) : nullptr;
    if (!operand) continue;
    const auto* meta = operand->claim.tensor();
    const auto* number = operand->claim.scalar();
    if (meta && !std::ranges::all_of(meta->sizes, &Expr::is_const)) return true;
    if (number && !number->is_const()) return true;  // a size as a number
    if (!operand->claim.empty()) continue;
    for (const auto before : operands(*operand)) open.push_back(before);
  }
  return false;
}

auto holds_at_other_sizes(const Capture& capture, const SymbolicRun* symbolic, std::size_t at)
    -> bool {
  if (symbolic == nullptr || !rests_on_free_sizes(capture, at)) return false;
  const auto verdict = symbolic->nodes[at].verdict;
  return verdict == ClaimVerdict::equal || verdict == ClaimVerdict::equal_sampled;
}

auto free_number(const Capture& capture, const SymbolicRun* symbolic, std::size_t at)
    -> std::string {
  const auto& graph = capture.graph;
  if (capture.guards_recorded || !graph.env.guards().empty()) return {};
  if (symbolic && std::ranges::any_of(symbolic->contradicted, [&](const auto& one) {
        return one.node == graph.nodes[at].id;
      }))
    return {};
  std::unordered_set<Expr> numbers, sizes;
  std::size_t input = 0;
  for (const auto& node : graph.nodes) {
    if (node.kind != NodeKind::placeholder) continue;
    const bool recorded = input < capture.inputs.size() &&
                          !std::holds_alternative<std::monostate>(capture.inputs[input]);
    ++input;
    const bool is_number = node.claim.scalar() != nullptr;
    if (is_number && (recorded || capture.observed.contains(node.id))) continue;
    visit_claim(node.claim, [&](const Expr& e) {
      for (const auto& symbol : e.symbols()) (is_number ? numbers : sizes).insert(symbol);
    });
  }
  std::string name;
  const auto look = [&](const Expr& e) {
    for (const auto& symbol : e.symbols())
      if (name.empty() && numbers.contains(symbol) && !sizes.contains(symbol) &&
          !graph.env.find(symbol)->hint)
        name = symbol.name();
  };
  visit_claim(graph.nodes[at].claim, look);
  for (const auto id : operands(graph.nodes[at]))
    if (const auto* operand = graph.find(id); operand && operand->claim.tensor())
      std::ranges::for_each(operand->claim.tensor()->strides, look);
  return name;
}

auto states_range(const Capture& capture, const Symbol& symbol) -> bool {
  ShapeEnv silent;
  if (!silent.add_symbol(symbol.name)) return true;
  const auto& usual = silent.find(symbol.name)->range;
  return capture.guards_recorded || symbol.range.low != usual.low ||
         symbol.range.high != usual.high;
}

auto is_rounding(const Expr& condition, const Binding& binding) -> bool {
  const auto sides = condition.args();
  if (sides.size() != 2) return false;
  const auto a = evaluate(sides[0], binding);
  const auto b = evaluate(sides[1], binding);
  if (!a || !b || (!a->as_real() && !b->as_real())) return false;
  const double x = a->as_number().value_or(0);
  const double y = b->as_number().value_or(0);
  return std::fabs(x - y) <= 1e-13 * std::max(std::fabs(x), std::fabs(y));
}

auto inputs_of_unknown_calls(const Graph& graph, const GraphRun& run) -> std::set<std::string> {
  std::set<NodeId> flows_there;
  std::set<std::string> names;
  for (auto i = graph.nodes.size(); i-- > 0;) {
    const auto& node = graph.nodes[i];
    const bool unknown = node.kind != NodeKind::output && run.nodes[i].status != NodeStatus::ran;
    if (!unknown && !flows_there.contains(node.id)) continue;
    if (node.kind == NodeKind::placeholder) names.insert(node.name);
    for (const auto operand : operands(node)) flows_there.insert(operand);
  }
  return names;
}

}  // namespace assay
