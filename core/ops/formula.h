// Integer formulas over numbers of a call, and the search for those that fit observations.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/expr/expr.h"

namespace assay {

/// What a formula computes from up to four features f, g, h, i and constants a, b.
enum class FormulaShape : std::uint8_t {
  constant,    ///< b
  feature,     ///< f
  plus,        ///< f + b
  times,       ///< a*f
  quotient,    ///< f // a
  ceiling,     ///< ceil(f / a)
  round_up,    ///< the next multiple of a
  sum,         ///< f + g
  difference,  ///< f - g
  product,     ///< f*g
  larger,      ///< max(f, g)
  smaller,     ///< min(f, g)
  quotients,   ///< f // g
  ceilings,    ///< ceil(f / g)
  round_ups,   ///< the next multiple of g
  linear,      ///< a*f + b
  sum_plus,    ///< f + g + b
  minus_plus,  ///< f - g + b
  twice,       ///< f + 2*g
  sum3,        ///< f + g + h
  product3,    ///< f*g*h
  spread,      ///< f*g + b
  window,      ///< (f - g)//h + 1
  padded,      ///< (f + 2*g - h)//i + 1
};

struct Formula {
  FormulaShape shape = FormulaShape::constant;
  std::array<int, 4> of{};  ///< indices of features
  std::int64_t a = 0, b = 0;

  /// Invalid where it is not defined (a division by zero).
  [[nodiscard]] auto at(std::span<const Expr> features) const -> Expr;
  [[nodiscard]] auto text(std::span<const std::string> names) const -> std::string;
};

/// One observation: the features of a call and what came out.
struct FormulaPoint {
  std::vector<Expr> features;  ///< integer constants, as many in each point
  std::int64_t value = 0;
};

/// All formulas that fit every point, of the lowest complexity at which any does and of the next:
/// what looks like multiples of 4 may be multiples of an argument. Empty if none does.
/// Constants and single features are of the same complexity: where an argument never varied, only
/// another call can tell it from a constant.
[[nodiscard]] auto fitting_formulas(std::span<const FormulaPoint> points) -> std::vector<Formula>;

}  // namespace assay
