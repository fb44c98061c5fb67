#include "minifier/search/sizes.h"

#include <algorithm>
#include <set>

#include "minifier/edits/patches.h"
#include "minifier/edits/program.h"

namespace assay {
namespace {

/// Sizes that are tried below the current one: small ones, and around powers of two.
constexpr std::int64_t kTried[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,   15,
                                   16, 17, 31, 32, 33, 63, 64, 65, 127, 128};
constexpr int kMostTries = 8;  ///< oracle calls per symbol and round

void collect_divisors(const Expr& e, std::set<std::int64_t>& divisors) {
  const auto args = e.args();
  const bool divides = e.op() == ExprOp::mod || e.op() == ExprOp::python_mod ||
                       e.op() == ExprOp::floor_div || e.op() == ExprOp::ceil_div ||
                       e.op() == ExprOp::clean_div;
  if (divides && args.size() == 2)
    if (const auto m = args[1].as_int(); m && *m > 1 && *m <= 65536) divisors.insert(*m);
  for (const auto& arg : args) collect_divisors(arg, divisors);
}

}  // namespace

auto sorted_sizes(const Binding& sizes) -> std::vector<std::pair<Expr, Expr>> {
  std::vector<std::pair<Expr, Expr>> sorted(sizes.begin(), sizes.end());
  std::ranges::sort(sorted,
                    [](const auto& a, const auto& b) { return a.first.name() < b.first.name(); });
  return sorted;
}

auto divisors_of(const Capture& capture) -> std::vector<std::int64_t> {
  std::set<std::int64_t> divisors;
  const auto collect = [&](const Expr& e) { collect_divisors(e, divisors); };
  for (const auto& node : capture.graph.nodes) visit_exprs(node.claim, collect);
  for (const auto& guard : capture.graph.env.guards()) collect(guard.condition);
  for (const auto& input : capture.inputs)
    if (const auto* symbolic = std::get_if<SymbolicInput>(&input))
      if (symbolic->storage_bytes) collect(*symbolic->storage_bytes);
  return {divisors.begin(), divisors.end()};
}

auto discriminating_facts(const Capture& capture, const Binding& sizes) -> std::vector<Expr> {
  std::vector<Expr> facts;
  for (const auto& [symbol, value] : sorted_sizes(sizes)) {
    const auto size = value.as_int();
    if (!size || symbol.type() != ExprType::integer) continue;
    for (const auto m : divisors_of(capture)) {
      const auto divides = eq(mod(symbol, m), 0);
      facts.push_back(*size % m == 0 ? divides : logic_not(divides));
    }
  }
  return facts;
}

auto shrink_sizes(const Capture& capture, const OpTable& table, const SmallestSizes& solver,
                  const CaptureTest& test) -> Capture {
  auto best = capture;
  auto sizes = sizes_of(capture, table);
  const auto facts = discriminating_facts(capture, sizes);
  const auto holds = [](const std::vector<Expr>& conditions, const Binding& at) {
    return std::ranges::all_of(conditions, [&](const Expr& condition) {
      const auto value = evaluate(condition, at);
      return value && value->as_bool().value_or(false);
    });
  };
  const auto try_sizes = [&](const Binding& at) {
    const auto cut = at_sizes(capture, at);
    if (!cut || !test(*cut)) return false;
    best = *cut;
    sizes = at;
    return true;
  };
  // All at once, where a solver knows the smallest sizes that keep the facts or at least the
  // guards.
  if (solver)
    for (const auto& conditions : {facts, std::vector<Expr>{}})
      if (const auto smallest = solver(capture.graph.env, conditions)) {
        auto at = sizes;  // a symbol that nothing is said about stays as it is
        for (const auto& [symbol, value] : *smallest) at[symbol] = value;
        if (at != sizes && try_sizes(at)) break;
      }
  // Then symbol by symbol, keeping the facts first.
  for (const bool keep_facts : {true, false}) {
    for (const auto& [symbol, unused] : sorted_sizes(sizes)) {
      const auto now = sizes.at(symbol).as_int();
      if (!now || symbol.type() != ExprType::integer) continue;
      int tries = 0;
      for (const auto value : kTried) {
        if (value >= *now || tries >= kMostTries) break;
        auto at = sizes;
        at[symbol] = Expr(value);
        if ((keep_facts && !holds(facts, at)) || !admits(capture.graph.env, at)) continue;
        ++tries;
        if (try_sizes(at)) break;
      }
    }
  }
  return best;
}

}  // namespace assay
