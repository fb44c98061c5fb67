// Functions of float64 lanes, and of float32 ones. Operations of any float stand in lane_exact.
// Internal to compiler/codegen.
#pragma once
#include "compiler/codegen/lane_wide.h"

namespace assay::lane {

// lane_exponential.cpp: within 2 units in the last place of float64.
[[nodiscard]] auto exp(Wide x) -> Wide;
[[nodiscard]] auto exp_of(Pair x) -> Wide;
[[nodiscard]] auto exp2(Wide x) -> Wide;
[[nodiscard]] auto expm1(Wide x) -> Wide;
[[nodiscard]] auto log(Wide x) -> Wide;
[[nodiscard]] auto log2(Wide x) -> Wide;
[[nodiscard]] auto log10(Wide x) -> Wide;
[[nodiscard]] auto log1p(Wide x) -> Wide;
[[nodiscard]] auto power(Wide x, Wide y) -> Wide;
[[nodiscard]] auto sigmoid(Wide x) -> Wide;
[[nodiscard]] auto sinh(Wide x) -> Wide;
[[nodiscard]] auto cosh(Wide x) -> Wide;
[[nodiscard]] auto tanh(Wide x) -> Wide;
[[nodiscard]] auto asinh(Wide x) -> Wide;
[[nodiscard]] auto acosh(Wide x) -> Wide;
[[nodiscard]] auto atanh(Wide x) -> Wide;
/// Powers of negative numbers, zeros, infinities; `size` is |x|^y of positive finite numbers.
[[nodiscard]] auto power_of(Wide x, Wide y, Wide size) -> Wide;

// lane_angle.cpp: any argument, large ones too.
[[nodiscard]] auto sin(Wide x) -> Wide;
[[nodiscard]] auto cos(Wide x) -> Wide;
[[nodiscard]] auto tan(Wide x) -> Wide;
[[nodiscard]] auto asin(Wide x) -> Wide;
[[nodiscard]] auto acos(Wide x) -> Wide;
[[nodiscard]] auto atan(Wide x) -> Wide;
[[nodiscard]] auto atan2(Wide y, Wide x) -> Wide;

// lane_special.cpp
[[nodiscard]] auto erf(Wide x) -> Wide;
[[nodiscard]] auto erfc(Wide x) -> Wide;
[[nodiscard]] auto erfinv(Wide x) -> Wide;
/// Near the zeros of negative arguments the absolute error counts.
[[nodiscard]] auto lgamma(Wide x) -> Wide;

// lane_exact.cpp: exact, but for hypot. The last two are for float32 too.
[[nodiscard]] auto hypot(Wide x, Wide y) -> Wide;
[[nodiscard]] auto fmod(Wide x, Wide y) -> Wide;
[[nodiscard]] auto nextafter(Wide x, Wide y) -> Wide;
[[nodiscard]] auto round_away(Wide x) -> Wide;

// lane_narrow.cpp: of float32, without float64, but for the angles of the last two. NaN stays.
namespace narrow {
[[nodiscard]] auto exp(Wide x) -> Wide;
[[nodiscard]] auto exp_below_one(Wide x) -> Wide;  ///< of x <= 0, the same bits by fewer steps
[[nodiscard]] auto exp_of_number(Wide x) -> Wide;  ///< of -87 < x < 88, by fewer still
[[nodiscard]] auto exp2(Wide x) -> Wide;
[[nodiscard]] auto exp2_of_number(Wide x) -> Wide;  ///< of -126 < x < 126
[[nodiscard]] auto expm1(Wide x) -> Wide;
[[nodiscard]] auto log(Wide x) -> Wide;
[[nodiscard]] auto log_of_normal(Wide x) -> Wide;  ///< of positive normal numbers
[[nodiscard]] auto log1p(Wide x) -> Wide;
[[nodiscard]] auto log1p_of_number(Wide x) -> Wide;  ///< of -0.9 < x < infinity
[[nodiscard]] auto sigmoid(Wide x) -> Wide;
[[nodiscard]] auto tanh(Wide x) -> Wide;
[[nodiscard]] auto erf(Wide x) -> Wide;
[[nodiscard]] auto erf_and_one(Wide x) -> Wide;  ///< 1 + erf(x), by half of the steps
[[nodiscard]] auto sin(Wide x) -> Wide;
[[nodiscard]] auto cos(Wide x) -> Wide;
inline constexpr double kLargeAngle = 0x1p17;
[[nodiscard]] auto sin_of_small(Wide x) -> Wide;  ///< of |x| < kLargeAngle
[[nodiscard]] auto cos_of_small(Wide x) -> Wide;
}  // namespace narrow

}  // namespace assay::lane
