#include "core/expr/bounds.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/expr/fold.h"

namespace assay {
namespace {

constexpr Int128 kUnbounded = IntBounds::kUnbounded;
constexpr Int128 kMin = std::numeric_limits<std::int64_t>::min();
constexpr Int128 kMax = std::numeric_limits<std::int64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

auto is_unbounded(Int128 end) -> bool {
  return end == kUnbounded || end == -kUnbounded;
}
auto sign(Int128 x) -> int {
  return x < 0 ? -1 : (x > 0 ? 1 : 0);
}

auto mul_ends(Int128 a, Int128 b) -> Int128 {
  if (is_unbounded(a) || is_unbounded(b)) return kUnbounded * sign(a) * sign(b);
  return a * b;
}

/// The limit of floor(a / b); of two unbounded ends a value between the other corners.
auto div_ends(Int128 a, Int128 b) -> Int128 {
  const bool same_sign = sign(a) * sign(b) >= 0;
  if (is_unbounded(b)) return same_sign ? 0 : -1;
  if (is_unbounded(a)) return kUnbounded * sign(a) * sign(b);
  const Int128 quotient = a / b;
  return quotient - (a % b != 0 && !same_sign ? 1 : 0);
}

using Ends = Int128 (*)(Int128, Int128);
auto corners(const IntBounds& a, const IntBounds& b, Ends combine) -> IntBounds {
  const auto values = std::to_array<Int128>({combine(a.low, b.low), combine(a.low, b.high),
                                             combine(a.high, b.low), combine(a.high, b.high)});
  const auto [low, high] = std::ranges::minmax(values);
  return widened(low, high);
}

/// Calls with the negative and the positive part of the divisor; zero has no quotient.
template <class Bounds, class Divide>
auto without_zero(const IntBounds& divisor, Bounds nothing, Divide divide) -> Bounds {
  std::optional<Bounds> result;
  if (divisor.low < 0) result = divide(IntBounds{divisor.low, std::min<Int128>(divisor.high, -1)});
  if (divisor.high > 0) {
    const Bounds part = divide(IntBounds{std::max<Int128>(divisor.low, 1), divisor.high});
    result = result ? hull(*result, part) : part;
  }
  return result.value_or(nothing);
}

auto mod_positive(const IntBounds& a, const IntBounds& k) -> IntBounds {
  if (a.low >= 0 && a.high < k.low) return a;
  if (k.low == k.high && !is_unbounded(k.low) && !is_unbounded(a.low) && !is_unbounded(a.high)) {
    const Int128 quotient = div_ends(a.low, k.low);
    if (quotient == div_ends(a.high, k.low))
      return {a.low - quotient * k.low, a.high - quotient * k.low};
  }
  const Int128 limit = is_unbounded(k.high) ? kUnbounded : k.high - 1;
  return {0, a.low >= 0 ? std::min(limit, a.high) : limit};
}

/// Saturating; base and exponent are not negative.
auto pow_end(Int128 base, Int128 exponent) -> Int128 {
  if (base <= 1) return exponent == 0 ? 1 : base;
  if (is_unbounded(base) || exponent > 64) return exponent == 0 ? 1 : kUnbounded;
  Int128 result = 1;
  for (Int128 i = 0; i < exponent; ++i) {
    result *= base;
    if (result > kMax) return kUnbounded;
  }
  return result;
}

auto real_end(Int128 end) -> double {
  if (is_unbounded(end)) return end < 0 ? -kInfinity : kInfinity;
  return static_cast<double>(end);
}

auto from_corners(std::array<double, 4> values) -> RealBounds {
  if (std::ranges::any_of(values, [](double x) { return std::isnan(x); }))
    return RealBounds::anything();
  const auto [low, high] = std::ranges::minmax(values);
  return {low, high};
}

}  // namespace

auto RealBounds::anything() -> RealBounds {
  return {-kInfinity, kInfinity};
}
auto RealBounds::may_be_nan() const -> bool {
  return low == -kInfinity && high == kInfinity;
}

auto widened(Int128 low, Int128 high) -> IntBounds {
  if (low < kMin) low = -kUnbounded;
  if (high > kMax) high = kUnbounded;
  return {std::min(low, kMax), std::max(high, kMin)};
}

auto exactly(std::int64_t value) -> IntBounds {
  return {value, value};
}

auto hull(const IntBounds& a, const IntBounds& b) -> IntBounds {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

auto meet(const IntBounds& a, const IntBounds& b) -> IntBounds {
  const IntBounds both{std::max(a.low, b.low), std::min(a.high, b.high)};
  return both.low <= both.high ? both : a;
}

auto add(const IntBounds& a, const IntBounds& b) -> IntBounds {
  const auto ends = [](Int128 x, Int128 y, Int128 unbounded) {
    return is_unbounded(x) || is_unbounded(y) ? unbounded : x + y;
  };
  return widened(ends(a.low, b.low, -kUnbounded), ends(a.high, b.high, kUnbounded));
}

auto mul(const IntBounds& a, const IntBounds& b) -> IntBounds {
  return corners(a, b, mul_ends);
}
auto negated(const IntBounds& a) -> IntBounds {
  return widened(-a.high, -a.low);
}

auto floor_div(const IntBounds& a, const IntBounds& b) -> IntBounds {
  return without_zero(b, IntBounds{},
                      [&](const IntBounds& part) { return corners(a, part, div_ends); });
}

auto mod(const IntBounds& a, const IntBounds& b) -> IntBounds {
  return without_zero(b, IntBounds{}, [&](const IntBounds& part) {
    // a mod -b == -(-a mod b)
    return part.low > 0 ? mod_positive(a, part) : negated(mod_positive(negated(a), negated(part)));
  });
}

auto pow(const IntBounds& base, const IntBounds& exponent) -> IntBounds {
  const Int128 least = std::max<Int128>(exponent.low, 0);
  const Int128 most = std::max(least, exponent.high);
  if (base.low >= 1) return widened(pow_end(base.low, least), pow_end(base.high, most));
  if (base.low >= 0)
    return widened(least == most ? pow_end(base.low, least) : 0,
                   std::max<Int128>(1, pow_end(base.high, most)));
  if (least != most) return {};
  const Int128 low_size = pow_end(is_unbounded(base.low) ? kUnbounded : -base.low, least);
  const Int128 high_size = pow_end(base.high < 0 ? -base.high : base.high, least);
  if (least % 2 == 1) return widened(-low_size, base.high < 0 ? -high_size : high_size);
  return widened(base.high < 0 ? high_size : (least == 0 ? 1 : 0), std::max(low_size, high_size));
}

auto abs(const IntBounds& a) -> IntBounds {
  if (a.low >= 0) return a;
  if (a.high <= 0) return negated(a);
  return widened(0, std::max(-a.low, a.high));
}

auto bit_and(const IntBounds& a, const IntBounds& b) -> IntBounds {
  if (a.low < 0 && b.low < 0) return {};
  const Int128 high_a = a.low < 0 ? kUnbounded : a.high;
  return {0, std::min(high_a, b.low < 0 ? kUnbounded : b.high)};
}

auto bit_or(const IntBounds& a, const IntBounds& b) -> IntBounds {
  if (a.low < 0 || b.low < 0) return {};
  const Int128 high = std::max(a.high, b.high);
  if (is_unbounded(high)) return {0, kUnbounded};
  const auto bits = std::bit_width(static_cast<std::uint64_t>(high));
  return widened(0, (static_cast<Int128>(1) << bits) - 1);
}

auto power_of_two(const IntBounds& exponent) -> IntBounds {
  return pow(IntBounds{2, 2}, exponent);
}

auto to_real(const IntBounds& a) -> RealBounds {
  return {real_end(a.low), real_end(a.high)};
}

auto to_real_outward(const IntBounds& a) -> RealBounds {
  RealBounds result = to_real(a);
  if (!is_unbounded(a.low) && static_cast<Int128>(result.low) > a.low)
    result.low = std::nextafter(result.low, -kInfinity);
  if (!is_unbounded(a.high) && static_cast<Int128>(result.high) < a.high)
    result.high = std::nextafter(result.high, kInfinity);
  return result;
}

// Rounding to nearest is monotone, so rounded corners bound every rounded result.

auto add(const RealBounds& a, const RealBounds& b) -> RealBounds {
  if (a.may_be_nan() || b.may_be_nan()) return RealBounds::anything();
  const double low = a.low + b.low;
  const double high = a.high + b.high;
  const bool opposite =
      (a.high == kInfinity && b.low == -kInfinity) || (a.low == -kInfinity && b.high == kInfinity);
  return opposite || std::isnan(low) || std::isnan(high) ? RealBounds::anything()
                                                         : RealBounds{low, high};
}

auto mul(const RealBounds& a, const RealBounds& b) -> RealBounds {
  if (a.may_be_nan() || b.may_be_nan()) return RealBounds::anything();
  const auto has_zero = [](const RealBounds& x) { return x.low <= 0 && x.high >= 0; };
  const auto has_infinity = [](const RealBounds& x) {
    return x.low == -kInfinity || x.high == kInfinity;
  };
  // Zero times infinity is NaN; it can hide between the corners.
  if ((has_zero(a) && has_infinity(b)) || (has_zero(b) && has_infinity(a)))
    return RealBounds::anything();
  return from_corners({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}

auto true_div(const RealBounds& a, const RealBounds& b) -> RealBounds {
  if (a.may_be_nan() || b.may_be_nan() || (b.low <= 0 && b.high >= 0))
    return RealBounds::anything();
  return from_corners({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
}

auto int_true_div(const IntBounds& a, const IntBounds& b) -> RealBounds {
  const auto ends = [](Int128 x, Int128 y) -> double {
    if (is_unbounded(y)) return 0.0;
    if (is_unbounded(x)) return kInfinity * sign(x) * sign(y);
    return true_quotient(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y));
  };
  return without_zero(b, RealBounds::anything(), [&](const IntBounds& part) {
    return from_corners({ends(a.low, part.low), ends(a.low, part.high), ends(a.high, part.low),
                         ends(a.high, part.high)});
  });
}

auto hull(const RealBounds& a, const RealBounds& b) -> RealBounds {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

}  // namespace assay
