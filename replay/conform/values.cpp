#include "replay/conform/values.h"

#include <algorithm>
#include <cmath>

#include "core/ops/datum.h"

namespace assay {

auto tolerance_of(DType dtype) -> Tolerance {
  switch (real_of(dtype)) {
    case DType::float64:
      return {1e-7, 1e-7};
    case DType::float32:
      return {2e-5, 1e-5};
    case DType::float16:
      return {2e-3, 1e-3};
    case DType::bfloat16:
      return {1.6e-2, 1e-2};
    case DType::boolean:
    case DType::uint8:
    case DType::int8:
    case DType::uint16:
    case DType::int16:
    case DType::uint32:
    case DType::int32:
    case DType::uint64:
    case DType::int64:
    case DType::bits8:
    case DType::bits16:
      return {0, 0};
    case DType::complex32:
    case DType::complex64:
    case DType::complex128:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2fnuz:
    case DType::float8_e8m0fnu:
      return {1e-1, 1e-1};
  }
  return {0, 0};
}

auto agree(double actual, double expected, const Tolerance& tolerance, double scale) -> bool {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (actual == expected) return true;
  if (std::isinf(expected) || std::isinf(actual)) return false;
  return std::fabs(actual - expected) <=
         tolerance.absolute * scale + tolerance.relative * std::fabs(expected);
}

auto compare_numbers(const std::vector<Complex>& actual, const std::vector<Complex>& expected,
                     const Tolerance& tolerance) -> Difference {
  double scale = 1;
  for (const auto& value : expected)
    if (std::isfinite(std::abs(value))) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (agree(actual[i].real(), expected[i].real(), tolerance, scale) &&
        agree(actual[i].imag(), expected[i].imag(), tolerance, scale))
      continue;
    return fmt::format("element {} is {}, eager has {}", i, to_string(Datum{actual[i]}),
                       to_string(Datum{expected[i]}));
  }
  return std::nullopt;
}

auto compare_values(const Tensor& actual, const Tensor& expected) -> Difference {
  const auto kind = info(expected.dtype()).kind;
  if (kind == DTypeKind::floating || kind == DTypeKind::complex)
    return compare_numbers(to_vector<Complex>(actual), to_vector<Complex>(expected),
                           tolerance_of(expected.dtype()));
  const auto ours = to_vector<std::int64_t>(actual);
  const auto theirs = to_vector<std::int64_t>(expected);
  for (std::size_t i = 0; i < ours.size(); ++i)
    if (ours[i] != theirs[i])
      return fmt::format("element {} is {}, eager has {}", i, ours[i], theirs[i]);
  return std::nullopt;
}

}  // namespace assay
