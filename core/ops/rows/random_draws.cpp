// Draws of categories by their weights (aten/src/ATen/native/Distributions.cpp,
// native/cuda/MultinomialKernel.cu).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/rows/random_fill.h"
#include "core/ops/rows/random_kernels.h"

namespace assay {
namespace {

// ---- draws from weights -------------------------------------------------------------------------

/// Where a uniform number falls among cumulated weights.
auto bucket(std::span<const double> cumulated, double u) -> std::size_t {
  const auto at = std::ranges::lower_bound(cumulated, u) - cumulated.begin();
  return std::min(static_cast<std::size_t>(at), cumulated.size() - 1);
}
struct Weights {
  std::vector<double> values;
  std::size_t rows = 0, categories = 0;
  DType dtype = DType::float32;
  [[nodiscard]] auto row(std::size_t r) const -> std::span<const double> {
    return std::span(values).subspan(r * categories, categories);
  }
};
auto cumulated(const Weights& weights, std::size_t row) -> std::vector<double> {
  std::vector<double> result;
  double sum = 0;
  for (const double weight : weights.row(row))
    result.push_back(sum = round_to(weights.dtype, sum + weight));
  for (auto& value : result) value = round_to(weights.dtype, value / sum);
  return result;
}
auto with_replacement(RandomState& state, const Weights& weights, std::size_t draws, bool is_cuda)
    -> Ints {
  Ints drawn;
  constexpr std::size_t kThreads = 128;
  const auto width = kThreads * ((draws + kThreads - 1) / kThreads);
  std::optional<CudaLaunch> launch;
  if (is_cuda) launch = state.cuda().launch(4);
  for (std::size_t r = 0; r < weights.rows; ++r) {
    const auto sums = cumulated(weights, r);
    for (std::size_t d = 0; d < draws; ++d) {
      const double u = launch
                           ? static_cast<double>(curand_uniform(launch->words(r * width + d, 0)[0]))
                           : state.cpu().uniform();
      auto at = bucket(sums, u);
      while (launch && at > 0 && weights.row(r)[at] == 0) --at;
      drawn.push_back(static_cast<std::int64_t>(at));
    }
  }
  return drawn;
}
/// The categories with the largest weight over an exponential number.
auto without_replacement(const Weights& weights, const std::vector<double>& exponential,
                         std::size_t draws) -> Ints {
  Ints drawn;
  for (std::size_t r = 0; r < weights.rows; ++r) {
    const auto ratio = [&](std::size_t c) {
      const auto at = r * weights.categories + c;
      return round_to(weights.dtype, weights.values[at] / exponential[at]);
    };
    std::vector<std::size_t> order(weights.categories);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, ratio);
    for (std::size_t d = 0; d < draws; ++d) drawn.push_back(static_cast<std::int64_t>(order[d]));
  }
  return drawn;
}

}  // namespace

void multinomial_kernel(KernelCall& k) {
  const auto& input = k.in(0);
  Weights weights{.values = to_vector<double>(input), .dtype = input.dtype()};
  weights.categories = static_cast<std::size_t>(input.sizes().back());
  weights.rows = weights.categories ? weights.values.size() / weights.categories : 0;
  const auto draws = static_cast<std::size_t>(k.integer(1));
  const bool is_cuda = input.meta.device.type == "cuda";
  if (k.flag(2) && draws != 1)
    return from_vector<std::int64_t>(k.out(),
                                     with_replacement(k.random(), weights, draws, is_cuda));
  auto noise = Tensor::allocate(input.dtype(), input.sizes(), contiguous_strides(input.sizes()),
                                input.meta.device);
  if (!noise) return void(k.fail(noise.error()));
  fill_random(k, RandomTarget(*noise), exponential_distribution(input.dtype(), 1));
  from_vector<std::int64_t>(k.out(),
                            without_replacement(weights, to_vector<double>(*noise), draws));
}

}  // namespace assay
