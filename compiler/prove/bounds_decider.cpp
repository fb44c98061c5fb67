#include "compiler/prove/bounds_decider.h"

namespace assay {

auto decide_bound(const Bound& bound) -> Answer {
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
  return Unknown{Tier::search, "no proof, and no counterexample among small sizes"};
}

}  // namespace assay
