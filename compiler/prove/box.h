// Proves that a polynomial is never negative on a box: indices of loops run in their bounds, sizes
// in their ranges. No search and no solver; sound, incomplete. What it cannot prove it leaves.
#pragma once
#include <optional>
#include <vector>

#include "core/expr/eval.h"

namespace assay {

/// An index that takes the values 0 .. count-1.
struct BoxAxis {
  Expr symbol;
  Expr count;
};

struct BoxFacts {
  Ranges ranges;                 ///< of any symbol
  std::vector<Expr> conditions;  ///< boolean, all true
  std::vector<BoxAxis> axes;
  bool joins_axes = true;  ///< sums of axes are tried as one number, which costs more
};

/// True only if `e >= 0` wherever the facts hold. Steps: `x % a`, `(x // a) % b`, `x // (a*b)` of
/// an axis become digits of a mixed-radix number, so that the index space is a box; then one
/// variable after the other is replaced by the end of its range that makes `e` smallest, decided by
/// the sign of its coefficient; what is left over sizes is shifted to their lower ends, where a
/// polynomial without negative coefficients is not negative.
[[nodiscard]] auto proves_nonnegative(const Expr& e, const BoxFacts& facts) -> bool;

/// Conjuncts of a condition, `and` taken apart.
void split_conjunction(const Expr& condition, std::vector<Expr>& conjuncts);

}  // namespace assay
