// What a claim is under given ranges: simplified with them, and the facts its value rests on.
#pragma once
#include <unordered_map>
#include <vector>

#include "core/expr/eval.h"

namespace assay {

/// Integers beyond this are not exact as floats. Sizes that a program converts to float and back
/// (CeilToInt(IntTrueDiv(a, b))) are taken to stay below it, so the conversion is exact.
inline constexpr std::int64_t kExactFloat = std::int64_t{1} << 53;

/// Simplifies with ranges: wherever the ranges hold and the expression has a value, the result has
/// the same one. Decided comparisons become constants, Max and Min lose operands, remainders and
/// conversions through floats disappear, comparisons lose common positive factors, quotients by
/// constants that are never positive become negated roundings up. The operators
/// that are left of the divisions are floor_div and mod.
class RangeSimplifier {
 public:
  explicit RangeSimplifier(const Ranges& ranges) : ranges_(ranges) {}
  auto apply(const Expr& e) -> Expr;

 private:
  auto rebuilt(const Expr& e) -> Expr;
  auto integer(const Expr& e) -> Expr;
  auto joined_pairs(const Expr& e) -> Expr;
  auto through_float(const Expr& e) -> Expr;
  auto extreme(const Expr& e) -> Expr;
  auto division(const Expr& e) -> Expr;
  auto comparison(const Expr& e) -> Expr;
  auto without_common_factor(const Expr& e) -> Expr;

  const Ranges& ranges_;
  std::unordered_map<Expr, Expr> done_;
};

/// Conditions that together suffice for `e` to have a value: divisors are not zero, shift counts
/// and exponents not negative. (Not all are necessary: a junction may be settled without them.)
[[nodiscard]] auto value_conditions(const Expr& e) -> std::vector<Expr>;

/// Narrows the range of a symbol where `assumption` bounds it alone (`s <= 9`, `1 < (s - 1)//16`,
/// `Eq(s, 4)`). Says whether anything changed; a contradiction leaves the range unchanged.
auto narrow(Ranges& ranges, const Expr& assumption) -> bool;

/// Positions of the assumptions that share symbols with the claim, directly or through others.
[[nodiscard]] auto connected(const Expr& claim, const std::vector<Expr>& assumptions)
    -> std::vector<std::size_t>;

/// Lower and upper end of an integer interval; nothing where it is not bounded.
[[nodiscard]] auto low_end(const Interval& interval) -> std::optional<std::int64_t>;
[[nodiscard]] auto high_end(const Interval& interval) -> std::optional<std::int64_t>;

}  // namespace assay
