// CPU: aten/src/ATen/native/cpu/DistributionTemplates.h, one number after another in the order of
// memory. CUDA: aten/src/ATen/native/cuda/DistributionTemplates.h, Dropout.cu; a launch has as many
// threads as elements, up to what fills the GPU.
#include "core/ops/rows/random_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>

#include "core/ops/rows/random_fill.h"

namespace assay {
namespace {

// ---- normal numbers -----------------------------------------------------------------------------

/// Sixteen uniform numbers become normal ones, the first eight radii, the others angles; every step
/// is rounded to the dtype that it is drawn in.
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
/// All uniform numbers are drawn before, but for those of 16 bits that float32 draws, where each
/// row draws its own.
auto normal_filled(CpuGenerator& g, std::size_t count, DType dtype, double mean, double deviation)
    -> std::vector<double> {
  std::vector<double> values(count);
  const auto drawn = g.drawn_as(dtype);
  const auto uniform = [&] { return g.uniform(dtype); };
  const auto whole = count / 16 * 16;
  std::ranges::generate(std::span(values).first(drawn == dtype ? count : whole), uniform);
  for (std::size_t i = 0; i < whole; i += 16)
    normal_sixteen(std::span(values).subspan(i, 16), drawn, mean, deviation);
  if (count == whole) return values;
  const auto last = std::span(values).last(16);
  std::ranges::generate(last, uniform);
  normal_sixteen(last, drawn, mean, deviation);
  return values;
}
void fill_normal(KernelCall& k, RandomTarget target, double mean, double deviation) {
  const auto dtype = target.dtype();
  if (!target.is_cuda() && target.is_contiguous() && target.count() >= 16)
    return target.write(normal_filled(k.random().cpu(), static_cast<std::size_t>(target.count()),
                                      dtype, mean, deviation));
  fill_random(k, std::move(target),
              {.cpu = [=](CpuGenerator& g) { return g.normal() * deviation + mean; },
               .unit = CudaUnit::normal,
               .cuda = in_width(dtype == DType::float64, [=]<class T>(T x) {
                 return std::fma(x, static_cast<T>(deviation), static_cast<T>(mean));
               })});
}

// ---- dropout on CUDA ----------------------------------------------------------------------------

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
  const auto width = dropout_width(input.meta);
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
  RandomTarget target(k);
  const auto dtype = target.dtype();
  const auto width = target.is_cuda() ? dtype : k.random().cpu().drawn_as(dtype);
  const double low = round_to(width, real_or(k, "from", 0));
  const double high = round_to(width, real_or(k, "to", 1));
  const double range = round_to(width, high - low);
  const auto scaled = in_width(dtype == DType::float64, [=]<class T>(T x) {
    return std::fma(x, static_cast<T>(range), static_cast<T>(low));
  });
  fill_random(k, std::move(target),
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
  if (!has_tensors)
    return fill_normal(k, RandomTarget(k), real_or(k, "mean", 0), real_or(k, "std", 1));
  auto& out = k.out();
  const bool is_scaled = k.is_tensor(deviation);
  fill_normal(k, RandomTarget(out), 0, is_scaled ? 1 : k.real(deviation));
  auto values = to_vector<double>(out);
  const auto means = spread(k, mean, out);
  const auto scale = is_scaled ? spread(k, deviation, out) : std::vector<double>(values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = round_to(out.dtype(), values[i] * scale[i]) + means[i];
  from_vector<double>(out, values);
}
void log_normal_kernel(KernelCall& k) {
  RandomTarget target(k);
  const double mean = k.real(param(k, "mean"));
  const double deviation = k.real(param(k, "std"));
  const bool is_double = target.dtype() == DType::float64;
  fill_random(k, std::move(target),
              {.cpu = [=](CpuGenerator& g) { return std::exp(g.normal() * deviation + mean); },
               .unit = CudaUnit::normal,
               .cuda = in_width(is_double, [=]<class T>(T x) {
                 return std::exp(std::fma(x, static_cast<T>(deviation), static_cast<T>(mean)));
               })});
}
void exponential_kernel(KernelCall& k) {
  RandomTarget target(k);
  const auto distribution = exponential_distribution(target.dtype(), k.real(1));
  fill_random(k, std::move(target), distribution);
}
void geometric_kernel(KernelCall& k) {
  RandomTarget target(k);
  const double p = k.real(1);
  const auto dtype = target.dtype();
  fill_random(
      k, std::move(target),
      {.cpu = [=](CpuGenerator& g) { return std::ceil(std::log(g.uniform()) / std::log1p(-p)); },
       .unit = discrete_unit(dtype),
       .cuda = in_width(is_computed_in_double(dtype), [=]<class T>(T x) {
         return std::ceil(std::log(x) / std::log1p(-static_cast<T>(p)));
       })});
}
void cauchy_kernel(KernelCall& k) {
  RandomTarget target(k);
  const double median = k.real(1);
  const double sigma = k.real(2);
  const bool is_double = target.dtype() == DType::float64;
  const auto at = [=]<class T>(T x) {
    return static_cast<T>(median) +
           static_cast<T>(sigma) * std::tan(std::numbers::pi_v<T> * (x - static_cast<T>(0.5)));
  };
  fill_random(k, std::move(target),
              {.cpu = [=](CpuGenerator& g) { return at(g.uniform()); },
               .cuda = in_width(is_double, [=]<class T>(T x) {
                 constexpr T kLeast = std::numeric_limits<T>::epsilon();
                 // Single precision would overflow at the ends.
                 return at(std::is_same_v<T, float> ? std::clamp(x, kLeast, 1 - kLeast) : x);
               })});
}

void bernoulli_kernel(KernelCall& k) {
  const Tensor& tensor = k.row().schema.params[0].written ? k.in(0) : k.out();
  RandomTarget target(tensor);
  const auto dtype = target.dtype();
  const int p = std::max(param(k, "p"), 0);
  if (!k.is_tensor(p)) {
    const double chance = k.real(p);
    return fill_random(k, std::move(target),
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

void native_dropout_kernel(KernelCall& k) {
  const bool is_fused = param(k, "train") < 0;  // _fused_dropout is told what to keep
  const bool is_training = is_fused || !k.has(2) || k.flag(2);
  const double keep = is_fused ? k.real(1) : is_training ? 1 - k.real(1) : 1;
  const auto& input = k.in(0);
  const RandomTarget out(k.out(0));
  if (!is_training || keep == 1) {
    fill_elements(k.out(1), 1);
  } else if (out.is_cuda() && keep > 0) {
    RandomTarget(k.out(1)).write(cuda_dropout_mask(k.random(), input, keep));
  } else {
    fill_random(k, RandomTarget(k.out(1)),
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

auto random_law(const OpRow& row) -> std::optional<RandomLaw> {
  using enum RandomLaw;
  constexpr std::array kLaws = {
      std::pair{&uniform_kernel, uniform},         std::pair{&normal_kernel, normal},
      std::pair{&exponential_kernel, exponential}, std::pair{&bernoulli_kernel, bernoulli},
      std::pair{&native_dropout_kernel, dropout},  std::pair{&random_integer_kernel, integer}};
  for (const auto& [kernel, law] : kLaws)
    if (row.random && row.kernel == kernel) return law;
  return std::nullopt;
}

}  // namespace assay
