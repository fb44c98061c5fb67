// Where the numbers of random operators go, and which thread of a CUDA launch draws which
// (aten/src/ATen/native/cuda/DistributionTemplates.h).
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "core/ops/generator.h"
#include "core/ops/pointwise.h"
#include "core/ops/random_launch.h"
#include "core/ops/rules.h"

namespace assay {

// ---- where numbers go ---------------------------------------------------------------------------

[[nodiscard]] auto in_order(Tensor tensor, const std::vector<std::size_t>& order) -> Tensor;
/// In-place rows write self, others their result; dimensions as they lie in memory.
class RandomTarget {
 public:
  explicit RandomTarget(KernelCall& k)
      : RandomTarget(k.row().schema.params[0].written ? k.in(0) : k.out()) {}
  explicit RandomTarget(const Tensor& tensor)
      : order_(memory_order(tensor.meta)),
        view_(in_order(tensor, order_)),
        is_contiguous_(tensor.is_contiguous()) {}
  [[nodiscard]] auto dtype() const -> DType { return view_.dtype(); }
  [[nodiscard]] auto count() const -> std::int64_t { return view_.numel(); }
  [[nodiscard]] auto is_cuda() const -> bool { return view_.meta.device.type == "cuda"; }
  [[nodiscard]] auto is_contiguous() const -> bool { return is_contiguous_; }
  /// A tensor that broadcasts to the target, element by element in the target's order.
  [[nodiscard]] auto spread(const Tensor& tensor, const Ints& sizes) const -> std::vector<double> {
    return to_vector<double>(in_order(expanded_view(tensor, sizes), order_));
  }
  template <class T>
  void write(const std::vector<T>& values) {
    from_vector<T>(view_, values);
  }

 private:
  std::vector<std::size_t> order_;
  Tensor view_;
  bool is_contiguous_;
};

/// Parameter `arg` for every element of the result: a number or a tensor that broadcasts.
[[nodiscard]] auto spread(KernelCall& k, int arg, const Tensor& target) -> std::vector<double>;

// ---- launches -----------------------------------------------------------------------------------

/// distribution_nullary_kernel: element i takes component (i / threads) of thread i % threads.
class StridedLaunch {
 public:
  StridedLaunch(RandomState& state, std::int64_t count, int unroll)
      : threads_(launched_threads(state.gpu(), count)),
        unroll_(unroll),
        launch_(state.cuda().launch(
            count == 0 ? 0
                       : static_cast<std::uint64_t>(((count - 1) / (threads_ * unroll) + 1) * 4))) {
  }
  [[nodiscard]] auto draw(std::int64_t i) const -> CudaDraw {
    const auto round = threads_ * unroll_;
    return {.thread = static_cast<std::uint64_t>(i % threads_),
            .call = static_cast<std::uint64_t>(i / round),
            .component = static_cast<int>(i % round / threads_)};
  }
  [[nodiscard]] auto words(const CudaDraw& draw) const -> PhiloxWords {
    return launch_.words(draw);
  }

 private:
  std::int64_t threads_;
  int unroll_;
  CudaLaunch launch_;
};

/// What a thread makes of its four words.
enum class CudaUnit : std::uint8_t {
  uniform,         ///< four floats, two doubles
  normal,          ///< likewise
  uniform_paired,  ///< floats of which two are used, since they are taken for doubles
};
[[nodiscard]] auto unit_of(CudaUnit unit, bool is_double, const PhiloxWords& words, int component)
    -> double;

/// A distribution: how one number comes of the CPU's generator, and of a unit on CUDA.
struct Distribution {
  std::function<double(CpuGenerator&)> cpu;
  CudaUnit unit = CudaUnit::uniform;
  std::function<double(double)> cuda;
};
void fill_random(KernelCall& k, RandomTarget target, const Distribution& distribution);
/// The type that CUDA computes such a distribution in: at::DiscreteDistributionType.
[[nodiscard]] auto discrete_unit(DType dtype) -> CudaUnit;
[[nodiscard]] auto is_computed_in_double(DType dtype) -> bool;
/// f in float or double, as CUDA does.
template <class F>
auto in_width(bool is_double, F f) -> std::function<double(double)> {
  if (is_double) return [f](double x) { return static_cast<double>(f(x)); };
  return [f](double x) { return static_cast<double>(f(static_cast<float>(x))); };
}
/// Numbers of an exponential distribution in the dtype.
[[nodiscard]] auto exponential_distribution(DType dtype, double rate) -> Distribution;

}  // namespace assay
