// Two tensors that should be the same.
#include <cmath>

#include "replay/runner/execute.h"

namespace assay {
namespace {

constexpr double kRelative = 2e-5;

/// What a difference may be, at an element of this magnitude.
auto tolerance(DType dtype, double largest, double value) -> double {
  if (!is_floating(dtype) && !is_complex(dtype)) return 0;
  const auto real = real_of(dtype);
  if (size_bytes(real) >= 4) return kRelative * largest;
  // Two units in the last place of the dtype.
  const int mantissa = real == DType::bfloat16                                          ? 7
                       : real == DType::float16                                         ? 10
                       : real == DType::float8_e4m3fn || real == DType::float8_e4m3fnuz ? 3
                                                                                        : 2;
  const auto magnitude = std::max(std::abs(value), std::ldexp(1.0, -14));
  return 2 * std::ldexp(1.0, std::ilogb(magnitude) - mantissa);
}

auto strides_differ(const RealMeta& a, const RealMeta& b) -> bool {
  for (std::size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] > 1 && a.strides[i] != b.strides[i]) return true;
  return false;
}

auto layout_message(const RealMeta& a, const RealMeta& b) -> std::string {
  if (a.dtype != b.dtype) return fmt::format("dtype is {}, not {}", name(a.dtype), name(b.dtype));
  if (a.sizes != b.sizes)
    return fmt::format("sizes are ({}), not ({})", fmt::join(a.sizes, ", "),
                       fmt::join(b.sizes, ", "));
  if (numel(a) > 0 && strides_differ(a, b))
    return fmt::format("strides are ({}), not ({})", fmt::join(a.strides, ", "),
                       fmt::join(b.strides, ", "));
  return {};
}

auto index_text(const Ints& sizes, std::size_t at) -> std::string {
  Ints index(sizes.size());
  auto rest = static_cast<std::int64_t>(at);
  for (std::size_t d = sizes.size(); d-- > 0;) {
    index[d] = rest % sizes[d];
    rest /= sizes[d];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

/// The element that is most times as far off as `allowed` of what is expected; two NaNs are equal.
template <class Allowed>
auto farthest(const Ints& sizes, const std::vector<Complex>& actual,
              const std::vector<Complex>& expected, const Allowed& allowed) -> TensorDifference {
  TensorDifference result;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i] ||
        (std::isnan(actual[i].real()) && std::isnan(expected[i].real())))
      continue;
    const double distance = std::abs(actual[i] - expected[i]), most = allowed(expected[i]);
    const auto error = std::isfinite(distance) && most > 0 ? distance / most : INFINITY;
    if (error <= result.error) continue;
    result.error = error;
    worst = i;
  }
  if (result.error > 1)
    result.message = fmt::format("element {} is {}, not {}", index_text(sizes, worst),
                                 actual[worst].real(), expected[worst].real());
  return result;
}

}  // namespace

auto compare_tensors(const Tensor& actual, const Tensor& expected) -> TensorDifference {
  TensorDifference result;
  result.message = layout_message(actual.meta, expected.meta);
  if (!result.message.empty()) {
    result.error = INFINITY;
    return result;
  }
  const auto dtype = actual.dtype();
  if (!is_floating(dtype) && !is_complex(dtype)) {
    const auto a = to_vector<std::int64_t>(actual);
    const auto b = to_vector<std::int64_t>(expected);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      result.error = INFINITY;
      result.message =
          fmt::format("element {} is {}, not {}", index_text(actual.sizes(), i), a[i], b[i]);
      return result;
    }
    return result;
  }
  const auto a = to_vector<Complex>(actual);
  const auto b = to_vector<Complex>(expected);
  double largest = 0;
  for (const auto& value : b)
    if (std::isfinite(std::abs(value))) largest = std::max(largest, std::abs(value));
  return farthest(actual.sizes(), a, b, [&](const Complex& expected_value) {
    return tolerance(dtype, largest, std::abs(expected_value));
  });
}

auto compare_elements(const Tensor& actual, const Tensor& expected, double tolerance)
    -> TensorDifference {
  TensorDifference result;
  const auto a = to_vector<Complex>(actual), b = to_vector<Complex>(expected);
  if (a.size() != b.size()) {
    result.message = fmt::format("it has {} elements, not {}", a.size(), b.size());
    result.error = INFINITY;
    return result;
  }
  return farthest(actual.sizes(), a, b, [&](const Complex&) { return tolerance; });
}

auto compare_tensors(const Tensor& actual, const AnsweredTensor& expected) -> TensorDifference {
  if (expected.has_data) return compare_tensors(actual, expected.tensor);
  TensorDifference result;
  result.message = layout_message(actual.meta, expected.tensor.meta);
  if (!result.message.empty()) {
    result.error = INFINITY;
    return result;
  }
  double sum = 0, abs_sum = 0;
  for (const auto value : to_vector<double>(actual)) {
    sum += value;
    abs_sum += std::abs(value);
  }
  const auto allowed = kRelative * expected.abs_sum;
  const auto difference =
      std::max(std::abs(sum - expected.sum), std::abs(abs_sum - expected.abs_sum));
  if (difference == 0) return result;
  result.error = allowed > 0 ? difference / allowed : INFINITY;
  if (result.error > 1)
    result.message = fmt::format("sums are {} and {}, not {} and {}", sum, abs_sum, expected.sum,
                                 expected.abs_sum);
  return result;
}

}  // namespace assay
