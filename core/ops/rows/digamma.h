// The logarithmic derivative of the gamma function, which several families of rows need.
#pragma once

namespace assay {

/// NaN at the poles, infinite at 0 with the sign that the side tells (calc_digamma).
[[nodiscard]] auto digamma(double x) -> double;

}  // namespace assay
