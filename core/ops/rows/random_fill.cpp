#include "core/ops/rows/random_fill.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay {

auto in_order(Tensor tensor, const std::vector<std::size_t>& order) -> Tensor {
  const auto meta = tensor.meta;
  for (std::size_t d = 0; d < order.size(); ++d) {
    tensor.meta.sizes[d] = meta.sizes[order[d]];
    tensor.meta.strides[d] = meta.strides[order[d]];
  }
  return tensor;
}

auto spread(KernelCall& k, int arg, const Tensor& target) -> std::vector<double> {
  const auto count = static_cast<std::size_t>(target.numel());
  if (!k.is_tensor(arg)) return std::vector<double>(count, k.real(arg));
  return to_vector<double>(expanded_view(k.in(arg), target.sizes()));
}

auto unit_of(CudaUnit unit, bool is_double, const PhiloxWords& words, int component) -> double {
  const auto at = static_cast<std::size_t>(component);
  if (unit != CudaUnit::normal)
    return is_double ? curand_uniform(words[2 * at], words[2 * at + 1])
                     : static_cast<double>(curand_uniform(words[at]));
  if (is_double) return curand_normal(words)[at];
  return static_cast<double>(curand_normal(words[at / 2 * 2], words[at / 2 * 2 + 1])[at % 2]);
}

void fill_random(KernelCall& k, RandomTarget target, const Distribution& distribution) {
  std::vector<double> values(static_cast<std::size_t>(target.count()));
  if (!target.is_cuda()) {
    for (auto& value : values) value = distribution.cpu(k.random().cpu());
  } else {
    const bool is_double = target.dtype() == DType::float64;
    const bool is_paired = is_double || distribution.unit == CudaUnit::uniform_paired;
    const StridedLaunch launch(k.random(), target.count(), is_paired ? 2 : 4);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto draw = launch.draw(static_cast<std::int64_t>(i));
      values[i] = distribution.cuda(
          unit_of(distribution.unit, is_double, launch.words(draw), draw.component));
    }
  }
  target.write(values);
}

auto discrete_unit(DType dtype) -> CudaUnit {
  const bool is_wide = dtype == DType::int32 || dtype == DType::int64;
  return is_wide ? CudaUnit::uniform_paired : CudaUnit::uniform;
}

auto is_computed_in_double(DType dtype) -> bool {
  return dtype == DType::float64 || dtype == DType::int32 || dtype == DType::int64;
}

auto exponential_distribution(DType dtype, double rate) -> Distribution {
  return {.cpu = [=](CpuGenerator& g) { return -1 / rate * std::log1p(-g.uniform()); },
          .cuda = in_width(dtype == DType::float64, [=]<class T>(T x) {
            constexpr T kHalf = std::numeric_limits<T>::epsilon() / 2;
            return T{-1} / static_cast<T>(rate) * (x >= 1 - kHalf ? -kHalf : std::log(x));
          })};
}

}  // namespace assay
