// The boundary sizes that `--sweep` tries.
#include <algorithm>
#include <set>

#include "replay/interp/debug.h"

namespace assay {
namespace {

constexpr std::int64_t kLarge = 257;  ///< past the usual tile and vector widths, still cheap
constexpr std::size_t kMaxPoints = 64;

/// Constant divisors of Mod, FloorDiv and the like over `symbol`, anywhere in the expression.
void collect_divisors(const Expr& e, const Expr& symbol, std::set<std::int64_t>& divisors) {
  const auto args = e.args();
  const bool divides = e.op() == ExprOp::floor_div || e.op() == ExprOp::mod ||
                       e.op() == ExprOp::python_mod || e.op() == ExprOp::ceil_div ||
                       e.op() == ExprOp::clean_div || e.op() == ExprOp::int_true_div;
  if (divides && args.size() == 2) {
    const auto divisor = args[1].as_int();
    const auto inside = args[0].symbols();
    if (divisor && *divisor > 1 && std::ranges::find(inside, symbol) != inside.end())
      divisors.insert(*divisor);
  }
  for (const auto& arg : args) collect_divisors(arg, symbol, divisors);
}

void visit_claims(const Claim& claim, const std::function<void(const Expr&)>& f) {
  if (const auto* scalar = claim.scalar()) f(*scalar);
  if (const auto* meta = claim.tensor()) {
    for (const auto& size : meta->sizes) f(size);
    for (const auto& stride : meta->strides) f(stride);
    f(meta->offset);
  }
  if (const auto* items = claim.items())
    for (const auto& item : *items) visit_claims(item, f);
}

auto candidates(const Graph& graph, const Symbol& symbol, std::int64_t now)
    -> std::set<std::int64_t> {
  std::set<Expr, decltype([](const Expr& a, const Expr& b) { return Expr::compare(a, b) < 0; })>
      distinct;
  for (const auto& node : graph.nodes)
    visit_claims(node.claim, [&](const Expr& e) {
      if (!e.is_const()) distinct.insert(e);
    });
  std::set<std::int64_t> divisors;
  for (const auto& e : distinct) collect_divisors(e, symbol.expr, divisors);
  std::set<std::int64_t> values{0, 1, 2, now, kLarge};
  for (const auto divisor : divisors) {
    const auto multiple = std::max<std::int64_t>(now / divisor, 1) * divisor;
    for (const auto base : {divisor, multiple}) values.insert({base - 1, base, base + 1});
  }
  return values;
}

auto is_admitted(const Graph& graph, const Binding& binding) -> bool {
  for (const auto& symbol : graph.env.symbols()) {
    const auto value = binding.find(symbol.expr);
    if (value != binding.end() && !symbol.range.contains(value->second)) return false;
  }
  return std::ranges::all_of(graph.env.guards(), [&](const Guard& guard) {
    const auto value = evaluate(guard.condition, binding);
    return !value || value->as_bool().value_or(true);
  });
}

}  // namespace

auto sweep_bindings(const Graph& graph, const Binding& base) -> std::vector<Binding> {
  std::vector<Binding> points;
  for (const auto& symbol : graph.env.symbols()) {
    const auto now = base.find(symbol.expr);
    const auto recorded = now == base.end() ? std::nullopt : now->second.as_int();
    if (symbol.kind != SymbolKind::backed || !recorded) continue;
    if (graph.env.replacements().contains(symbol.expr)) continue;
    for (const auto value : candidates(graph, symbol, *recorded)) {
      Binding point = base;
      point[symbol.expr] = value;
      for (const auto& [replaced, by] : graph.env.replacements())
        if (const auto implied = evaluate(by, point)) point[replaced] = *implied;
      if (value == *recorded || !is_admitted(graph, point)) continue;
      if (points.size() < kMaxPoints) points.push_back(std::move(point));
    }
  }
  return points;
}

}  // namespace assay
