// Conversions between stored element bits and the numbers kernels compute in.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace assay {

/// bfloat16: the upper half of a float32, rounded to nearest even.
inline auto bfloat16_to_float(std::uint16_t bits) -> float {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
inline auto float_to_bfloat16(float value) -> std::uint16_t {
  if (std::isnan(value)) return 0x7FC0;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto rounding = 0x7FFFU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>((bits + rounding) >> 16);
}

/// A small binary float described by its bit fields; covers float16 and the float8 kinds.
struct SmallFloat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;       ///< all-ones exponent with zero mantissa
  bool negative_zero_nan;  ///< fnuz kinds: 0x80 is the only NaN and there is no -0
};

/// Value of the lowest 1+exponent+mantissa bits.
auto decode_small_float(const SmallFloat& format, std::uint32_t bits) -> double;
/// Nearest-even; overflow gives infinity, or NaN where the format has none (as PyTorch's casts).
auto encode_small_float(const SmallFloat& format, double value) -> std::uint32_t;

inline constexpr SmallFloat kFloat16{5, 10, 15, true, false};
inline constexpr SmallFloat kFloat8E4M3fn{4, 3, 7, false, false};
inline constexpr SmallFloat kFloat8E5M2{5, 2, 15, true, false};
inline constexpr SmallFloat kFloat8E4M3fnuz{4, 3, 8, false, true};
inline constexpr SmallFloat kFloat8E5M2fnuz{5, 2, 16, false, true};

}  // namespace assay
