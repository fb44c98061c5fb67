// Closed bounds of integers and doubles, and their arithmetic. Internal to core/expr.
#pragma once
#include <cstdint>
#include <optional>

#include "core/expr/int128.h"

namespace assay {

/// Integers between low and high; +-kUnbounded stands for no bound. Finite ends fit int64.
struct IntBounds {
  static constexpr Int128 kUnbounded = static_cast<Int128>(1) << 100;
  Int128 low = -kUnbounded;
  Int128 high = kUnbounded;
  friend auto operator==(const IntBounds&, const IntBounds&) -> bool = default;
};

/// Doubles between low and high. Without any bound the value may also be NaN, otherwise it is not.
struct RealBounds {
  double low;
  double high;
  [[nodiscard]] static auto anything() -> RealBounds;
  [[nodiscard]] auto may_be_nan() const -> bool;
};

/// Ends beyond int64 become unbounded (or, on the far side, the nearest int64).
[[nodiscard]] auto widened(Int128 low, Int128 high) -> IntBounds;
[[nodiscard]] auto exactly(std::int64_t value) -> IntBounds;
[[nodiscard]] auto hull(const IntBounds& a, const IntBounds& b) -> IntBounds;
/// Both hold; `a` when they contradict each other, which only an undefined value can cause.
[[nodiscard]] auto meet(const IntBounds& a, const IntBounds& b) -> IntBounds;
[[nodiscard]] auto add(const IntBounds& a, const IntBounds& b) -> IntBounds;
[[nodiscard]] auto mul(const IntBounds& a, const IntBounds& b) -> IntBounds;
[[nodiscard]] auto negated(const IntBounds& a) -> IntBounds;
[[nodiscard]] auto floor_div(const IntBounds& a, const IntBounds& b) -> IntBounds;
[[nodiscard]] auto mod(const IntBounds& a, const IntBounds& b) -> IntBounds;
[[nodiscard]] auto pow(const IntBounds& base, const IntBounds& exponent) -> IntBounds;
[[nodiscard]] auto abs(const IntBounds& a) -> IntBounds;
[[nodiscard]] auto bit_and(const IntBounds& a, const IntBounds& b) -> IntBounds;
/// Both `|` and `^`.
[[nodiscard]] auto bit_or(const IntBounds& a, const IntBounds& b) -> IntBounds;
[[nodiscard]] auto power_of_two(const IntBounds& exponent) -> IntBounds;

/// Rounded to nearest, as a conversion of the value would be.
[[nodiscard]] auto to_real(const IntBounds& a) -> RealBounds;
/// Rounded outward, so that comparisons with the exact integers stay sound.
[[nodiscard]] auto to_real_outward(const IntBounds& a) -> RealBounds;
[[nodiscard]] auto add(const RealBounds& a, const RealBounds& b) -> RealBounds;
[[nodiscard]] auto mul(const RealBounds& a, const RealBounds& b) -> RealBounds;
[[nodiscard]] auto true_div(const RealBounds& a, const RealBounds& b) -> RealBounds;
[[nodiscard]] auto int_true_div(const IntBounds& a, const IntBounds& b) -> RealBounds;
[[nodiscard]] auto hull(const RealBounds& a, const RealBounds& b) -> RealBounds;

}  // namespace assay
