// Proofs without a solver: signs of polynomials at the corner of their domain, after the symbols
// were split by the divisors that occur.
#pragma once
#include <vector>

#include "core/expr/eval.h"

namespace assay {

/// True only if the integer expression is >= 0 (or > 0: `above` 1) for all values in the ranges:
/// written in distances from the ends of the ranges, no coefficient is negative.
[[nodiscard]] auto at_least(const Expr& e, std::int64_t above, const Ranges& ranges) -> bool;

/// True only if the claim holds, with a value, wherever ranges and assumptions hold. Splits symbols
/// into m*t + r for the constant divisors m of the claim (a FloorDiv of each case is a polynomial
/// again). The work is bounded: `max_cases` cases of ordinary size, or fewer large ones.
class CaseProof {
 public:
  explicit CaseProof(int max_cases) : cases_left_(max_cases) {}
  auto holds(const Expr& claim, const std::vector<Expr>& assumptions, const Ranges& ranges) -> bool;
  /// Work done so far, in cases of ordinary size: 1 says that no split was needed.
  [[nodiscard]] auto cases() const -> int { return cases_; }

 private:
  using Assumptions = std::vector<Expr>;
  auto prove(const Expr& claim, const Assumptions& assumptions, Ranges ranges, int depth) -> bool;
  auto prove_either(const Expr& claim, const Assumptions& assumptions, const Ranges& ranges,
                    int depth) -> bool;
  /// The claim with `by` in the place of the symbol.
  auto prove_with(const Expr& symbol, const Expr& by, const Expr& claim,
                  const Assumptions& assumptions, const Ranges& ranges, int depth) -> bool;
  auto split(const Expr& claim, const Assumptions& assumptions, const Ranges& ranges, int depth)
      -> bool;
  auto split_values(const Expr& claim, const Assumptions& assumptions, const Ranges& ranges,
                    int depth) -> bool;

  int cases_left_;
  int cases_ = 0;
};

/// One point: every symbol at its low end, then those that an assumption bounds from above moved to
/// that bound, first assumption first. Where the last element of an access lies.
[[nodiscard]] auto highest_corner(const std::vector<Expr>& symbols,
                                  const std::vector<Expr>& assumptions, const Ranges& ranges)
    -> Binding;

}  // namespace assay
