#include "core/tensor/convert.h"

#include <limits>

namespace assay {
namespace {

auto sign_bit(const SmallFloat& f) -> std::uint32_t {
  return 1U << (f.exponent_bits + f.mantissa_bits);
}
auto max_exponent(const SmallFloat& f) -> std::uint32_t {
  return (1U << f.exponent_bits) - 1;
}
auto mantissa_mask(const SmallFloat& f) -> std::uint32_t {
  return (1U << f.mantissa_bits) - 1;
}

/// Bits of the format's NaN.
auto nan_bits(const SmallFloat& f) -> std::uint32_t {
  if (f.negative_zero_nan) return sign_bit(f);
  if (f.has_infinity) return (max_exponent(f) << f.mantissa_bits) | (1U << (f.mantissa_bits - 1));
  return (max_exponent(f) << f.mantissa_bits) | mantissa_mask(f);
}

/// Largest finite magnitude bits.
auto largest_bits(const SmallFloat& f) -> std::uint32_t {
  if (f.has_infinity) return ((max_exponent(f) - 1) << f.mantissa_bits) | mantissa_mask(f);
  const auto all = (max_exponent(f) << f.mantissa_bits) | mantissa_mask(f);
  return f.negative_zero_nan ? all : all - 1;
}

}  // namespace

auto decode_small_float(const SmallFloat& f, std::uint32_t bits) -> double {
  const bool negative = (bits & sign_bit(f)) != 0;
  const auto magnitude = bits & (sign_bit(f) - 1);
  const auto exponent = magnitude >> f.mantissa_bits;
  const auto mantissa = magnitude & mantissa_mask(f);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (f.negative_zero_nan && bits == sign_bit(f)) return kNan;
  if (magnitude > largest_bits(f)) {
    if (f.has_infinity && mantissa == 0)
      return negative ? -std::numeric_limits<double>::infinity()
                      : std::numeric_limits<double>::infinity();
    return kNan;
  }
  const double scaled =
      exponent == 0 ? std::ldexp(static_cast<double>(mantissa), 1 - f.bias - f.mantissa_bits)
                    : std::ldexp(static_cast<double>(mantissa | (1U << f.mantissa_bits)),
                                 static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  return negative ? -scaled : scaled;
}

auto encode_small_float(const SmallFloat& f, double value) -> std::uint32_t {
  if (std::isnan(value)) return nan_bits(f);
  const bool negative = std::signbit(value);
  const double magnitude = std::fabs(value);
  const auto with_sign = [&](std::uint32_t bits) {
    if (f.negative_zero_nan && bits == 0) return 0U;
    return negative ? bits | sign_bit(f) : bits;
  };
  if (magnitude == 0) return with_sign(0);
  const auto infinite = [&] {
    return f.has_infinity ? with_sign(max_exponent(f) << f.mantissa_bits) : nan_bits(f);
  };
  if (std::isinf(magnitude)) return infinite();
  // Quantum of the binade, at least the subnormal one; nearbyint rounds half to even.
  const int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
  const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  auto bits = static_cast<std::uint32_t>(units);
  // In the normal range the implicit bit carries into the exponent field by itself.
  bits += static_cast<std::uint32_t>(exponent + f.bias - 1) << f.mantissa_bits;
  return bits > largest_bits(f) ? infinite() : with_sign(bits);
}

}  // namespace assay
