#include "compiler/prove/bounds_decider.h"

#include <algorithm>

namespace assay {
namespace {

/// The general prover knows nothing of axes: they are symbols between 0 and their count. Counts may
/// be larger than what runs, so a counterexample counts only where it stays below the extents.
auto ask_prover(const Bound& bound, Prover& prover) -> Answer {
  Query query{.claim = ge(bound.value, 0), .assumptions = {}, .ranges = bound.facts.ranges};
  for (const auto& axis : bound.facts.axes)
    for (const auto& condition : {ge(axis.symbol, 0), lt(axis.symbol, axis.count)})
      split_conjunction(condition, query.assumptions);
  for (const auto& condition : bound.facts.conditions)
    split_conjunction(condition, query.assumptions);
  if (std::ranges::any_of(query.assumptions, [](const Expr& e) {
        return std::ranges::any_of(
            e.symbols(), [](const Expr& symbol) { return symbol.type() != ExprType::integer; });
      }))
    return Unknown{Tier::normalise, "a condition on data"};
  auto answer = prover.prove(query);
  if (const auto* refuted = std::get_if<Refuted>(&answer))
    for (const auto& axis : bound.axes) {
      const auto inside = evaluate(lt(axis.symbol, axis.numel), refuted->witness);
      if (inside && inside->as_bool() != true)
        return Unknown{refuted->tier, "the only counterexample lies beyond the grid"};
    }
  return answer;
}

}  // namespace

auto decide_bound(const Bound& bound, Prover& prover) -> Answer {
  if (!bound.value.is_valid())
    return Unknown{Tier::normalise, "the expression is undefined or too large"};
  if (const auto constant = bound.value.as_int()) {
    if (*constant >= 0) return Proved{Tier::normalise, {}};
  } else if (const auto low = interval_of(bound.value, bound.facts.ranges).low.as_int();
             low && *low >= 0) {
    return Proved{Tier::interval, {}};
  }
  if (proves_nonnegative(bound.value, bound.facts)) return Proved{Tier::corner, {}};
  const SearchSpace space{bound.facts.ranges, bound.facts.conditions, bound.axes, bound.hints};
  if (auto witness = find_negative(bound.value, space))
    return Refuted{Tier::search, std::move(*witness)};
  return ask_prover(bound, prover);
}

}  // namespace assay
