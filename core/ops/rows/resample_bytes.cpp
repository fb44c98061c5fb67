#include "core/ops/rows/resample_bytes.h"

#include <algorithm>
#include <cmath>

#include "core/ops/elements.h"

namespace assay {
namespace {

using Whole = std::int64_t;

/// The most digits with which the largest weight is less than 2^15.
auto precision_of(const std::vector<NeighbourTaps>& taps) -> int {
  double most = 0;
  for (const auto& tap : taps)
    for (const double weight : tap.weights) most = std::max(most, weight);
  constexpr int kMostDigits = 22;
  int digits = 0;
  while (digits < kMostDigits && 0.5 + most * std::exp2(digits + 1) < 32768) ++digits;
  return digits;
}
auto whole_weights(const NeighbourTaps& taps, int digits) -> std::vector<Whole> {
  std::vector<Whole> weights;
  for (const double weight : taps.weights)
    weights.push_back(static_cast<Whole>(weight * std::exp2(digits) + (weight < 0 ? -0.5 : 0.5)));
  return weights;
}

/// Lines of `in` elements `step` apart become lines of taps.size() elements.
auto resampled(const std::vector<Whole>& from, std::size_t in, std::size_t step,
               const std::vector<NeighbourTaps>& taps) -> std::vector<Whole> {
  const int digits = precision_of(taps);
  const Whole half = digits > 0 ? Whole{1} << (digits - 1) : 0;
  const auto planes = in * step == 0 ? 0 : from.size() / (in * step);
  std::vector<Whole> to(planes * taps.size() * step);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const auto weights = whole_weights(taps[i], digits);
    const auto first = static_cast<std::size_t>(taps[i].first);
    for (std::size_t plane = 0; plane < planes; ++plane)
      for (std::size_t e = 0; e < step; ++e) {
        Whole sum = half;
        for (std::size_t w = 0; w < weights.size(); ++w)
          sum += weights[w] * from[(plane * in + first + w) * step + e];
        to[(plane * taps.size() + i) * step + e] = std::clamp<Whole>(sum >> digits, 0, 255);
      }
  }
  return to;
}

}  // namespace

void resample_bytes(const Tensor& from, Tensor& to,
                    const std::array<std::vector<NeighbourTaps>, 2>& taps) {
  auto bytes = to_vector<Whole>(from);
  const auto height = static_cast<std::size_t>(from.sizes()[2]);
  const auto width = static_cast<std::size_t>(from.sizes()[3]);
  // A dimension that keeps its size is left alone.
  if (taps[1].size() != width) bytes = resampled(bytes, width, 1, taps[1]);
  if (taps[0].size() != height) bytes = resampled(bytes, height, taps[1].size(), taps[0]);
  from_vector<Whole>(to, bytes);
}

}  // namespace assay
