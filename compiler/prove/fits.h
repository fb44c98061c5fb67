// Whether one size is no larger than another, by structure alone: no search, no solver.
#pragma once
#include "core/expr/eval.h"

namespace assay {

/// True only if `size <= limit` for all values in the ranges. A factor of a product of positive
/// factors is no larger than the product; a quotient is no larger than its dividend; a maximum fits
/// where all of its operands do, a minimum where one does; and a polynomial fits where the
/// difference has no negative coefficient, seen from the ends of the ranges.
[[nodiscard]] auto fits_below(const Expr& size, const Expr& limit, const Ranges& ranges) -> bool;

}  // namespace assay
