// CPU: aten/src/ATen/native/cpu/DistributionTemplates.h, one number after another in the order of
// memory. CUDA: aten/src/ATen/native/cuda/DistributionTemplates.h, Dropout.cu, Randperm.cu,
// MultinomialKernel.cu; a launch has as many threads as elements, up to what fills the GPU.
#include "core/ops/rows/random_kernels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/ops/generator.h"
#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- where numbers go ---------------------------------------------------------------------------

/// Dimensions from the largest stride to the smallest: the order in which PyTorch's TensorIterator
/// visits elements.
auto memory_order(const Tensor& tensor) -> std::vector<std::size_t> {
  std::vector<std::size_t> order(tensor.sizes().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t d) { return tensor.strides()[d]; });
  return order;
}
auto reordered(Tensor tensor, const std::vector<std::size_t>& order) -> Tensor {
  const auto meta = tensor.meta;
  for (std::size_t d = 0; d < order.size(); ++d) {
    tensor.meta.sizes[d] = meta.sizes[order[d]];
    tensor.meta.strides[d] = meta.strides[order[d]];
  }
  return tensor;
}
/// In-place rows write self, others their result; dimensions as they lie in memory.
class Target {
 public:
  explicit Target(KernelCall& k) : Target(k.row().schema.params[0].written ? k.in(0) : k.out()) {}
  explicit Target(const Tensor& tensor)
      : order_(memory_order(tensor)),
        view_(reordered(tensor, order_)),
        is_contiguous_(tensor.is_contiguous()) {}
  [[nodiscard]] auto dtype() const -> DType { return view_.dtype(); }
  [[nodiscard]] auto count() const -> std::int64_t { return view_.numel(); }
  [[nodiscard]] auto is_cuda() const -> bool { return view_.meta.device.type == "cuda"; }
  [[nodiscard]] auto is_contiguous() const -> bool { return is_contiguous_; }
  /// A tensor that broadcasts to the target, element by element in the target's order.
  [[nodiscard]] auto spread(const Tensor& tensor, const Ints& sizes) const -> std::vector<double> {
    return to_vector<double>(reordered(expanded_view(tensor, sizes), order_));
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

auto real_or(KernelCall& k, std::string_view name, double fallback) -> double {
  const int i = param(k, name);
  return i >= 0 && k.has(i) ? k.real(i) : fallback;
}
/// Parameter `arg` for every element of the result: a number or a tensor that broadcasts.
auto spread(KernelCall& k, int arg, const Tensor& target) -> std::vector<double> {
  const auto count = static_cast<std::size_t>(target.numel());
  if (!k.is_tensor(arg)) return std::vector<double>(count, k.real(arg));
  return to_vector<double>(expanded_view(k.in(arg), target.sizes()));
}

// ---- launches -----------------------------------------------------------------------------------

constexpr std::int64_t kThreadsPerBlock = 256;

/// Threads of a launch that would have one for each element, if the GPU holds them all.
auto launched_threads(const GpuSize& gpu, std::int64_t count) -> std::int64_t {
  const auto blocks = (count + kThreadsPerBlock - 1) / kThreadsPerBlock;
  const std::int64_t most =
      std::int64_t{gpu.multiprocessors} * (gpu.threads_per_multiprocessor / kThreadsPerBlock);
  return kThreadsPerBlock * std::min(blocks, most);
}
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
auto unit_of(CudaUnit unit, bool is_double, const PhiloxWords& words, int component) -> double {
  const auto at = static_cast<std::size_t>(component);
  if (unit != CudaUnit::normal)
    return is_double ? curand_uniform(words[2 * at], words[2 * at + 1])
                     : static_cast<double>(curand_uniform(words[at]));
  if (is_double) return curand_normal(words)[at];
  return static_cast<double>(curand_normal(words[at / 2 * 2], words[at / 2 * 2 + 1])[at % 2]);
}

/// A distribution: how one number comes of the CPU's generator, and of a unit on CUDA.
struct Distribution {
  std::function<double(CpuGenerator&)> cpu;
  CudaUnit unit = CudaUnit::uniform;
  std::function<double(double)> cuda;
};
void fill(KernelCall& k, Target target, const Distribution& distribution) {
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
/// The type that CUDA computes such a distribution in: at::DiscreteDistributionType.
auto discrete_unit(DType dtype) -> CudaUnit {
  const bool is_wide = dtype == DType::int32 || dtype == DType::int64;
  return is_wide ? CudaUnit::uniform_paired : CudaUnit::uniform;
}
auto is_computed_in_double(DType dtype) -> bool {
  return dtype == DType::float64 || dtype == DType::int32 || dtype == DType::int64;
}
/// f in float or double, as CUDA does.
template <class F>
auto in_width(bool is_double, F f) -> std::function<double(double)> {
  if (is_double) return [f](double x) { return static_cast<double>(f(x)); };
  return [f](double x) { return static_cast<double>(f(static_cast<float>(x))); };
}

// ---- normal numbers -----------------------------------------------------------------------------

/// Sixteen uniform numbers become normal ones, the first eight radii, the others angles; every step
/// is rounded to the dtype.
void normal_sixteen(std::span<double> u, DType dtype, double mean, double deviation) {
  const auto r = [dtype](double x) { return round_to(dtype, x); };
  for (std::size_t j = 0; j < 8; ++j) {
    const double radius = r(std::sqrt(r(-2 * r(std::log(r(1 - u[j]))))));
    const double angle = r(2 * std::numbers::pi * u[j + 8]);
    u[j] = r(r(r(radius * r(std::cos(angle))) * deviation) + mean);
    u[j + 8] = r(r(r(radius * r(std::sin(angle))) * deviation) + mean);
  }
}
/// normal_fill: rows of sixteen; what is left over is drawn again together with numbers before it.
auto normal_filled(CpuGenerator& g, std::size_t count, DType dtype, double mean, double deviation)
    -> std::vector<double> {
  std::vector<double> values(count);
  const auto uniform = [&] { return g.uniform(dtype); };
  std::ranges::generate(values, uniform);
  for (std::size_t i = 0; i + 15 < count; i += 16)
    normal_sixteen(std::span(values).subspan(i, 16), dtype, mean, deviation);
  if (count % 16 == 0) return values;
  const auto last = std::span(values).last(16);
  std::ranges::generate(last, uniform);
  normal_sixteen(last, dtype, mean, deviation);
  return values;
}
void fill_normal(KernelCall& k, Target target, double mean, double deviation) {
  const auto dtype = target.dtype();
  if (!target.is_cuda() && target.is_contiguous() && target.count() >= 16)
    return target.write(normal_filled(k.random().cpu(), static_cast<std::size_t>(target.count()),
                                      dtype, mean, deviation));
  fill(k, std::move(target),
       {.cpu = [=](CpuGenerator& g) { return g.normal() * deviation + mean; },
        .unit = CudaUnit::normal,
        .cuda = in_width(dtype == DType::float64, [=]<class T>(T x) {
          return std::fma(x, static_cast<T>(deviation), static_cast<T>(mean));
        })});
}

// ---- whole numbers ------------------------------------------------------------------------------

/// One more than what random_() without bounds fills with: what the dtype represents exactly, 2^64
/// as 0.
auto count_of_values(DType dtype) -> std::uint64_t {
  if (dtype == DType::boolean) return 2;
  if (is_floating(dtype)) return (std::uint64_t{1} << significand_bits(dtype)) + 1;
  const int bits = size_bytes(dtype) * 8 - (info(dtype).kind == DTypeKind::signed_integer ? 1 : 0);
  return bits >= 64 ? 0 : std::uint64_t{1} << bits;
}
struct IntegerRange {
  std::int64_t low = 0;
  std::uint64_t count = 0;  ///< 0: all 2^64
  bool is_wide = false;     ///< takes 64 bits
};
auto integer_range(KernelCall& k, DType dtype) -> IntegerRange {
  const auto bound = [&](std::string_view name) -> std::optional<std::int64_t> {
    const int i = param(k, name);
    return i >= 0 && k.has(i) ? std::optional(k.integer(i)) : std::nullopt;
  };
  const auto either = [](const auto& a, const auto& b) { return a ? a : b; };
  const auto low = either(bound("low"), bound("from"));
  const auto high = either(bound("high"), bound("to"));
  if (!low && !high)
    return {.count = count_of_values(dtype),
            .is_wide = dtype == DType::float64 || dtype == DType::int64};
  const auto least = low.value_or(0);
  if (!high && least == std::numeric_limits<std::int64_t>::min())
    return {.low = 0, .count = 0, .is_wide = true};
  const auto end = high ? static_cast<std::uint64_t>(*high) : count_of_values(dtype);
  if (high && least >= *high) k.fail(fmt::format("the range [{}, {}) is empty", least, *high));
  const auto count = end - static_cast<std::uint64_t>(least);
  // Beyond 2^28 a remainder of 32 bits would be too uneven.
  return {.low = least, .count = count, .is_wide = count >= std::uint64_t{1} << 28U};
}
auto drawn_integers(RandomState& state, const IntegerRange& range, std::int64_t count, bool is_cuda)
    -> Ints {
  Ints values(static_cast<std::size_t>(count));
  const auto place = [&](std::uint64_t bits) {
    const auto part = range.count == 0 ? bits : bits % range.count;
    return static_cast<std::int64_t>(part + static_cast<std::uint64_t>(range.low));
  };
  if (!is_cuda) {
    auto& cpu = state.cpu();
    for (auto& value : values)
      value = place(range.is_wide ? cpu.bits64() : std::uint64_t{cpu.bits32()});
    return values;
  }
  const StridedLaunch launch(state, count, range.is_wide ? 2 : 4);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto draw = launch.draw(static_cast<std::int64_t>(i));
    const auto words = launch.words(draw);
    const auto at = static_cast<std::size_t>(draw.component);
    values[i] = place(range.is_wide ? std::uint64_t{words[2 * at]} << 32U | words[2 * at + 1]
                                    : std::uint64_t{words[at]});
  }
  return values;
}

// ---- permutations -------------------------------------------------------------------------------

auto cpu_permutation(CpuGenerator& g, std::size_t count) -> Ints {
  Ints values(count);
  std::iota(values.begin(), values.end(), 0);
  for (std::size_t i = 0; i + 1 < count; ++i)
    std::swap(values[i], values[i + g.bits32() % (count - i)]);
  return values;
}
/// Keys of so many bits that at least nine launches in ten have none twice; equal ones are shuffled
/// by the thread of the first.
auto cuda_permutation(RandomState& state, std::int64_t count) -> Ints {
  Ints values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  if (count == 0) return values;
  const auto n = static_cast<double>(count);
  const int bits = std::min(
      64, static_cast<int>(std::ceil(std::log2(n - (6 * n * n + 1) / (12 * std::log(0.9))))));
  const bool is_narrow = bits <= 32;
  const auto low = is_narrow ? std::numeric_limits<std::int32_t>::min()
                             : std::numeric_limits<std::int64_t>::min();
  const auto range = (is_narrow ? std::uint64_t{1} << 32U : 0) - 1;
  const auto drawn =
      drawn_integers(state, {.low = low, .count = range, .is_wide = true}, count, true);
  const auto mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const auto key = [&](std::int64_t i) {
    return static_cast<std::uint64_t>(drawn[static_cast<std::size_t>(i)]) & mask;
  };
  std::ranges::stable_sort(values, std::ranges::less{}, key);
  const auto launch = state.cuda().launch(static_cast<std::uint64_t>(count));
  for (std::size_t begin = 0; begin < values.size();) {
    auto end = begin + 1;
    while (end < values.size() && key(values[end]) == key(values[begin])) ++end;
    for (std::size_t i = end - begin - 1, drawn_words = 0; i > 0; --i, ++drawn_words) {
      const auto word = launch.words(begin, drawn_words / 4)[drawn_words % 4];
      std::swap(values[begin + i], values[begin + word % (i + 1)]);
    }
    begin = end;
  }
  return values;
}

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
auto exponential_distribution(DType dtype, double rate) -> Distribution {
  return {.cpu = [=](CpuGenerator& g) { return -1 / rate * std::log1p(-g.uniform()); },
          .cuda = in_width(dtype == DType::float64, [=]<class T>(T x) {
            constexpr T kHalf = std::numeric_limits<T>::epsilon() / 2;
            return T{-1} / static_cast<T>(rate) * (x >= 1 - kHalf ? -kHalf : std::log(x));
          })};
}

// ---- dropout on CUDA ----------------------------------------------------------------------------

/// Does it fill its memory, each element once?
auto is_dense(const Tensor& tensor) -> bool {
  const auto view = reordered(tensor, memory_order(tensor));
  return view.is_contiguous();
}
/// How many neighbours a thread takes at once: what fits into 16 aligned bytes.
auto vector_size(const Tensor& tensor) -> std::int64_t {
  std::int64_t size = 1;
  if (!is_dense(tensor)) return size;
  const auto fits = [&](std::int64_t width) {
    return width * size_bytes(tensor.dtype()) <= 16 && tensor.meta.offset % width == 0 &&
           tensor.numel() % width == 0;
  };
  while (fits(2 * size)) size *= 2;
  return size;
}
/// fused_dropout_kernel_vec: a thread's words go to neighbours; two pairs share four words.
auto dropout_draw(std::int64_t i, std::int64_t threads, std::int64_t width) -> CudaDraw {
  const auto lane = i % width;
  const auto position = i / (threads * width) * width + lane;  // among the thread's words
  return {.thread = static_cast<std::uint64_t>(i % (threads * width) / width),
          .call = static_cast<std::uint64_t>(position / 4),
          .component = static_cast<int>(position % 4)};
}
auto cuda_dropout_mask(RandomState& state, const Tensor& input, double keep) -> Ints {
  const auto count = input.numel();
  const auto width = vector_size(input);
  const auto threads = launched_threads(state.gpu(), count);
  const StridedLaunch launch(state, count, 4);
  Ints mask(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto draw = width == 1 ? launch.draw(i) : dropout_draw(i, threads, width);
    const auto word = launch.words(draw)[static_cast<std::size_t>(draw.component)];
    mask[static_cast<std::size_t>(i)] = curand_uniform(word) < static_cast<float>(keep) ? 1 : 0;
  }
  return mask;
}

}  // namespace

void uniform_kernel(KernelCall& k) {
  Target target(k);
  const auto dtype = target.dtype();
  const double low = round_to(dtype, real_or(k, "from", 0));
  const double high = round_to(dtype, real_or(k, "to", 1));
  const double range = round_to(dtype, high - low);
  const auto scaled = in_width(dtype == DType::float64, [=]<class T>(T x) {
    return std::fma(x, static_cast<T>(range), static_cast<T>(low));
  });
  fill(k, std::move(target),
       {.cpu = [=](CpuGenerator& g) { return scaled(g.uniform(dtype)); },
        .cuda =
            [=](double x) {
              const double value = round_to(dtype, scaled(x));
              return value == high ? low : value;  // (0, 1] becomes [0, 1)
            }});
}
void normal_kernel(KernelCall& k) {
  const int mean = param(k, "mean");
  const int deviation = param(k, "std");
  const bool has_tensors =
      (mean >= 0 && k.is_tensor(mean)) || (deviation >= 0 && k.is_tensor(deviation));
  if (!has_tensors) return fill_normal(k, Target(k), real_or(k, "mean", 0), real_or(k, "std", 1));
  auto& out = k.out();
  const bool is_scaled = k.is_tensor(deviation);
  fill_normal(k, Target(out), 0, is_scaled ? 1 : k.real(deviation));
  auto values = to_vector<double>(out);
  const auto means = spread(k, mean, out);
  const auto scale = is_scaled ? spread(k, deviation, out) : std::vector<double>(values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = round_to(out.dtype(), values[i] * scale[i]) + means[i];
  from_vector<double>(out, values);
}
void log_normal_kernel(KernelCall& k) {
  Target target(k);
  const double mean = k.real(param(k, "mean"));
  const double deviation = k.real(param(k, "std"));
  const bool is_double = target.dtype() == DType::float64;
  fill(k, std::move(target),
       {.cpu = [=](CpuGenerator& g) { return std::exp(g.normal() * deviation + mean); },
        .unit = CudaUnit::normal,
        .cuda = in_width(is_double, [=]<class T>(T x) {
          return std::exp(std::fma(x, static_cast<T>(deviation), static_cast<T>(mean)));
        })});
}
void exponential_kernel(KernelCall& k) {
  Target target(k);
  const auto distribution = exponential_distribution(target.dtype(), k.real(1));
  fill(k, std::move(target), distribution);
}
void geometric_kernel(KernelCall& k) {
  Target target(k);
  const double p = k.real(1);
  const auto dtype = target.dtype();
  fill(k, std::move(target),
       {.cpu = [=](CpuGenerator& g) { return std::ceil(std::log(g.uniform()) / std::log1p(-p)); },
        .unit = discrete_unit(dtype),
        .cuda = in_width(is_computed_in_double(dtype), [=]<class T>(T x) {
          return std::ceil(std::log(x) / std::log1p(-static_cast<T>(p)));
        })});
}
void cauchy_kernel(KernelCall& k) {
  Target target(k);
  const double median = k.real(1);
  const double sigma = k.real(2);
  const bool is_double = target.dtype() == DType::float64;
  const auto at = [=]<class T>(T x) {
    return static_cast<T>(median) +
           static_cast<T>(sigma) * std::tan(std::numbers::pi_v<T> * (x - static_cast<T>(0.5)));
  };
  fill(k, std::move(target),
       {.cpu = [=](CpuGenerator& g) { return at(g.uniform()); },
        .cuda = in_width(is_double, [=]<class T>(T x) {
          constexpr T kLeast = std::numeric_limits<T>::epsilon();
          // Single precision would overflow at the ends.
          return at(std::is_same_v<T, float> ? std::clamp(x, kLeast, 1 - kLeast) : x);
        })});
}

void bernoulli_kernel(KernelCall& k) {
  const Tensor& tensor = k.row().schema.params[0].written ? k.in(0) : k.out();
  Target target(tensor);
  const auto dtype = target.dtype();
  const int p = std::max(param(k, "p"), 0);
  if (!k.is_tensor(p)) {
    const double chance = k.real(p);
    return fill(k, std::move(target),
                {.cpu = [=](CpuGenerator& g) { return g.uniform() < chance ? 1.0 : 0.0; },
                 .unit = discrete_unit(dtype),
                 .cuda = in_width(is_computed_in_double(dtype), [=]<class T>(T x) {
                   return x < static_cast<T>(chance) ? T{1} : T{0};
                 })});
  }
  const auto chances = target.spread(k.in(p), tensor.sizes());
  std::vector<double> values(chances.size());
  if (target.is_cuda()) {  // a thread takes four neighbours
    const auto launch = k.random().cuda().launch(10);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(curand_uniform(launch.words(i / 4, 0)[i % 4])) <=
                          static_cast<double>(static_cast<float>(chances[i]))
                      ? 1
                      : 0;
  } else {
    const bool is_double = k.in(p).dtype() == DType::float64;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = k.random().cpu().uniform(is_double ? DType::float64 : DType::float32) < chances[i]
                      ? 1
                      : 0;
  }
  target.write(values);
}

/// Below a mean of ten by products of uniform numbers, else by transformed rejection (Hörmann
/// 1993).
void poisson_kernel(KernelCall& k) {
  auto& g = k.random().cpu();
  auto values = to_vector<double>(k.in(0));
  const auto small = [&](double mean) {
    const double end = std::exp(-mean);
    double count = 0;
    for (double product = g.uniform(); product > end; product *= g.uniform()) ++count;
    return count;
  };
  const auto large = [&](double mean) {
    const double root = std::sqrt(mean);
    const double b = 0.931 + 2.53 * root;
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double accepted = 0.9277 - 3.6224 / (b - 2);
    while (true) {
      const double u = g.uniform() - 0.5;
      const double v = g.uniform();
      const double edge = 0.5 - std::fabs(u);
      const double count = std::floor((2 * a / edge + b) * u + mean + 0.43);
      if (edge >= 0.07 && v <= accepted) return count;
      if (count < 0 || (edge < 0.013 && v > edge)) continue;
      if (std::log(v) + std::log(inverse_alpha) - std::log(a / (edge * edge) + b) <=
          -mean + count * std::log(mean) - std::lgamma(count + 1))
        return count;
    }
  };
  for (auto& value : values) {
    if (!(value >= 0))
      return void(k.fail("invalid Poisson rate, expected rate to be non-negative"));
    value = value == 0 ? 0 : value < 10 ? small(value) : large(value);
  }
  from_vector<double>(k.out(), values);
}

void random_integer_kernel(KernelCall& k) {
  Target target(k);
  const auto range = integer_range(k, target.dtype());
  if (k.error()) return;
  target.write(drawn_integers(k.random(), range, target.count(), target.is_cuda()));
}
void randperm_kernel(KernelCall& k) {
  Target target(k.out());
  target.write(target.is_cuda()
                   ? cuda_permutation(k.random(), target.count())
                   : cpu_permutation(k.random().cpu(), static_cast<std::size_t>(target.count())));
}

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
  fill(k, Target(*noise), exponential_distribution(input.dtype(), 1));
  from_vector<std::int64_t>(k.out(),
                            without_replacement(weights, to_vector<double>(*noise), draws));
}

void native_dropout_kernel(KernelCall& k) {
  const bool is_training = !k.has(2) || k.flag(2);
  const double keep = is_training ? 1 - k.real(1) : 1;
  const auto& input = k.in(0);
  const Target out(k.out(0));
  if (!is_training || keep == 1) {
    fill_elements(k.out(1), 1);
  } else if (out.is_cuda() && keep > 0) {
    Target(k.out(1)).write(cuda_dropout_mask(k.random(), input, keep));
  } else {
    fill(k, Target(k.out(1)),
         {.cpu = [=](CpuGenerator& g) { return g.uniform() < keep ? 1 : 0; },
          .cuda = [](double) { return 0; }});
  }
  auto values = to_vector<double>(input);
  const auto mask = to_vector<double>(k.out(1));
  const double scale = keep == 0 ? 0 : round_to(input.dtype(), 1 / keep);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = values[i] * mask[i] * scale;
  from_vector<double>(k.out(0), values);
}

/// Negative elements scale by a random slope in training, by the mean slope otherwise.
void rrelu_kernel(KernelCall& k) {
  const auto& input = k.in(0);
  auto values = to_vector<double>(input);
  const double lower = k.real(2);
  const double upper = k.real(3);
  const bool is_training = k.flag(4);
  const bool is_double = input.dtype() == DType::float64;
  std::optional<StridedLaunch> launch;
  if (is_training && input.meta.device.type == "cuda")
    launch.emplace(k.random(), input.numel(), is_double ? 2 : 4);
  const auto slope = [&](std::size_t i) {
    if (!is_training) return (lower + upper) / 2;
    if (!launch) return lower + (upper - lower) * k.random().cpu().uniform();
    const auto draw = launch->draw(static_cast<std::int64_t>(i));
    return lower + (upper - lower) *
                       unit_of(CudaUnit::uniform, is_double, launch->words(draw), draw.component);
  };
  std::vector<double> noise(values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) continue;
    noise[i] = slope(i);
    values[i] *= noise[i];
  }
  Tensor recorded = k.in(1);
  if (is_training) from_vector<double>(recorded, noise);
  Tensor target = k.row().schema.params[0].written ? k.in(0) : k.out();
  from_vector<double>(target, values);
}

}  // namespace assay
