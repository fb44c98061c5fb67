// When two tensors count as equal: the dtype's tolerance.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace assay {

/// Nothing if all agrees, else what does not.
using Difference = std::optional<std::string>;

struct Tolerance {
  double relative, absolute;
};
/// torch.testing.assert_close's bounds, wider for float32 by what summing in another order costs.
[[nodiscard]] auto tolerance_of(DType dtype) -> Tolerance;

/// |actual - expected| <= absolute * scale + relative * |expected|; NaN equals NaN.
[[nodiscard]] auto agree(double actual, double expected, const Tolerance& tolerance, double scale)
    -> bool;
/// Element by element, with the largest finite size (at least 1) as scale. Both of one length.
[[nodiscard]] auto compare_numbers(const std::vector<Complex>& actual,
                                   const std::vector<Complex>& expected, const Tolerance& tolerance)
    -> Difference;
/// Floats within their dtype's tolerance, everything else exactly. Sizes must be equal.
[[nodiscard]] auto compare_values(const Tensor& actual, const Tensor& expected) -> Difference;

}  // namespace assay
