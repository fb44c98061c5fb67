// Fourier transforms as eager CPU runs them with MKL (aten/src/ATen/native/mkl/SpectralOps.cpp):
// the transformed dimensions end up innermost in memory, in the order they were given, and the
// others outside them by descending stride. FakeTensor claims contiguous results instead.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/ops/layout.h"
#include "core/ops/line_transform.h"
#include "core/ops/op_table.h"
#include "core/ops/rules.h"
#include "core/tensor/tensor.h"

namespace assay {
namespace {

/// Sorts by descending stride, stably, as std::sort does on so few elements.
void sort_by_stride(MetaCall& c, std::span<std::size_t> dims, const Dims& strides) {
  for (std::size_t i = 1; i < dims.size(); ++i)
    for (auto j = i; j > 0; --j) {
      const auto& outer = strides[dims[j - 1]];
      const auto& inner = strides[dims[j]];
      if (outer == inner || !c.decide(gt(inner, outer), "order of strides")) break;
      std::swap(dims[j], dims[j - 1]);
    }
}

auto transformed_dims(MetaCall& c, int rank) -> std::vector<std::size_t> {
  std::vector<std::size_t> dims;
  for (const auto dim : c.integers(1)) {
    const auto at = static_cast<std::size_t>(c.dim(dim, rank));
    c.require(rank > 0, "a tensor without dimensions cannot be transformed");
    c.require(std::ranges::find(dims, at) == dims.end(), "a dimension is transformed once");
    dims.push_back(at);
  }
  return dims;
}

/// Strides of _exec_fft's result: `dims` are laid out innermost in their order.
auto transform_strides(MetaCall& c, const TensorMeta& input, const Dims& out_sizes,
                       const std::vector<std::size_t>& dims) -> Dims {
  // Without a batch nothing is transformed: the result is allocated in row-major order.
  Expr batch_count(1);
  for (std::size_t d = 0; d < input.sizes.size(); ++d)
    if (std::ranges::find(dims, d) == dims.end()) batch_count = batch_count * input.sizes[d];
  if (!on_cuda(input) && c.decide(eq(batch_count, 0), "an empty batch"))
    return contiguous_strides(out_sizes);
  const auto is_batch = [&](std::size_t dim) { return std::ranges::find(dims, dim) == dims.end(); };
  std::vector<std::size_t> order(input.sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // std::partition, not its stable form: it decides how batch dims of equal stride are ordered.
  const auto batch_end = std::partition(order.begin(), order.end(), is_batch);
  const auto batch = static_cast<std::size_t>(batch_end - order.begin());
  sort_by_stride(c, std::span(order).first(batch), input.strides);
  std::ranges::copy(dims, batch_end);
  Dims strides(order.size());
  Expr running(1);
  for (auto i = order.size(); i-- > 0;) {
    strides[order[i]] = running;
    const auto& size = out_sizes[order[i]];
    // at::empty counts a size of 0 as 1 in the transformed dims; batch dims are one product.
    running = running * (i >= batch ? max(size, Expr(1)) : size);
  }
  return strides;
}

auto fft_c2c_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  if (!c.require(is_complex(input.dtype), "a complex input")) return {};
  auto dims = transformed_dims(c, input.rank());
  if (c.error()) return {};
  if (dims.empty()) return c.fresh(input.dtype, input.sizes, preserved_strides(c, input));
  sort_by_stride(c, dims, input.strides);
  return c.fresh(input.dtype, input.sizes, transform_strides(c, input, input.sizes, dims));
}

/// cuFFT does at most three dimensions at once, and none that begin with the first two.
auto at_once(const std::vector<std::size_t>& dims) -> bool {
  constexpr std::size_t kMost = 3;
  return dims.size() <= kMost && (dims.size() < 2 || dims[0] != 0 || dims[1] != 1);
}
/// r2c on CUDA: all dimensions in the order given, or the last one first and then the others in
/// groups, each ordered by the strides that the step before left.
auto cufft_r2c_strides(MetaCall& c, const TensorMeta& input, const Dims& sizes,
                       std::vector<std::size_t> dims) -> Dims {
  if (at_once(dims)) return transform_strides(c, input, sizes, dims);
  auto step = input;
  step.strides = transform_strides(c, input, sizes, {dims.back()});
  step.sizes = sizes;
  dims.pop_back();
  while (!dims.empty()) {
    sort_by_stride(c, dims, step.strides);
    const auto first = dims.size() - std::min<std::size_t>(dims.size(), 3);
    const std::vector<std::size_t> group(dims.begin() + static_cast<std::ptrdiff_t>(first),
                                         dims.end());
    step.strides = transform_strides(c, step, sizes, group);
    dims.resize(first);
  }
  return step.strides;
}
auto fft_r2c_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto dtype = complex_of(input.dtype);
  auto dims = transformed_dims(c, input.rank());
  if (!dtype || dims.empty()) return c.fail("a real floating input and a dimension"), Datum{};
  if (c.error() || !c.require(gt(input.sizes[dims.back()], 0), "the last dimension is not empty"))
    return {};
  auto sizes = input.sizes;
  if (c.flag(3)) sizes[dims.back()] = floor_div(sizes[dims.back()], 2) + 1;
  if (on_cuda(input)) {
    auto cufft = cufft_r2c_strides(c, input, sizes, dims);
    return c.fresh(*dtype, std::move(sizes), std::move(cufft));
  }
  sort_by_stride(c, std::span(dims).first(dims.size() - 1), input.strides);
  auto strides = transform_strides(c, input, sizes, dims);
  return c.fresh(*dtype, std::move(sizes), std::move(strides));
}

/// All but the last dimension go through a complex transform first, whose layout counts.
auto fft_c2r_rule(MetaCall& c) -> Datum {
  auto input = c.meta(0);
  auto dims = transformed_dims(c, input.rank());
  if (!c.require(is_complex(input.dtype) && !dims.empty(), "a complex input and a dimension"))
    return {};
  if (c.error()) return {};
  const auto last = dims.back();
  if (!c.require(gt(input.sizes[last], 0), "the last dimension is not empty") ||
      !c.require(gt(c.expr(3), 0), "the last size is positive"))
    return {};
  auto sizes = input.sizes;
  sizes[last] = c.expr(3);
  if (on_cuda(input) && (at_once(dims) || dims.size() == 1)) {  // works on a row-major copy
    input.strides = contiguous_strides(input.sizes);
    auto strides = transform_strides(c, input, sizes, dims);
    return c.fresh(real_of(input.dtype), std::move(sizes), std::move(strides));
  }
  dims.pop_back();
  if (!dims.empty()) {
    sort_by_stride(c, dims, input.strides);
    input.strides = transform_strides(c, input, input.sizes, dims);
  }
  auto strides = transform_strides(c, input, sizes, {last});
  return c.fresh(real_of(input.dtype), std::move(sizes), std::move(strides));
}

/// Row-major complex array and its sizes.
struct Spectrum {
  std::vector<Complex> values;
  Ints sizes;
};

/// Calls f(first element, stride) for every line along `dim`.
template <class F>
void for_each_line(const Ints& sizes, std::size_t dim, F&& f) {
  std::int64_t inner = 1;
  for (auto i = dim + 1; i < sizes.size(); ++i) inner *= sizes[i];
  const auto line = inner * sizes[dim];
  const auto count = line == 0 ? 0 : numel(sizes) / line;
  for (std::int64_t outer = 0; outer < count; ++outer)
    for (std::int64_t i = 0; i < inner; ++i) f(outer * line + i, inner);
}

/// Unnormalised transform along one dimension, in place. Lines beside each other go together.
void transform_lines(Spectrum& spectrum, std::size_t dim, bool forward) {
  constexpr auto kLines = LineTransform::kLines;
  const auto length = static_cast<std::size_t>(spectrum.sizes[dim]);
  if (length <= 1) return;
  LineTransform transform(length, forward);
  std::array<Complex*, kLines> lines{};
  std::size_t count = 0;
  const auto run = [&](std::size_t stride) {
    for (std::size_t i = 0; i < length; ++i)
      for (std::size_t k = 0; k < count; ++k) {
        const auto value = lines[k][i * stride];
        transform.real()[i * kLines + k] = value.real();
        transform.imag()[i * kLines + k] = value.imag();
      }
    transform.run();
    for (std::size_t i = 0; i < length; ++i)
      for (std::size_t k = 0; k < count; ++k)
        lines[k][i * stride] = {transform.real()[i * kLines + k], transform.imag()[i * kLines + k]};
    count = 0;
  };
  std::size_t apart = 1;
  for_each_line(spectrum.sizes, dim, [&](std::int64_t first, std::int64_t stride) {
    apart = static_cast<std::size_t>(stride);
    lines[count++] = spectrum.values.data() + first;
    if (count == kLines) run(apart);
  });
  if (count > 0) run(apart);
}

/// fft_norm_mode: 0 none, 1 by the root of the signal size, 2 by the signal size.
auto norm_factor(std::int64_t mode, double signal_elems) -> double {
  return mode == 1 ? 1 / std::sqrt(signal_elems) : mode == 2 ? 1 / signal_elems : 1;
}

auto kernel_dims(const Call& c, int rank) -> std::vector<std::size_t> {
  std::vector<std::size_t> dims;
  for (const auto dim : c.integers(1))
    dims.push_back(static_cast<std::size_t>(dim < 0 ? dim + rank : dim));
  return dims;
}

/// Elements of the first `sizes[dim]` entries along `dim`, row-major.
auto head_along(const Spectrum& from, std::size_t dim, std::int64_t count) -> Spectrum {
  Spectrum to{.values = {}, .sizes = from.sizes};
  to.sizes[dim] = count;
  to.values.resize(static_cast<std::size_t>(numel(to.sizes)));
  std::int64_t inner = 1;
  for (auto i = dim + 1; i < from.sizes.size(); ++i) inner *= from.sizes[i];
  const auto take = inner * count;
  const auto line = inner * from.sizes[dim];
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(to.values.size()); ++i)
    to.values[static_cast<std::size_t>(i)] =
        from.values[static_cast<std::size_t>(i / take * line + i % take)];
  return to;
}

void store_spectrum(Tensor& out, Spectrum& spectrum, double factor) {
  for (auto& value : spectrum.values) value *= factor;
  from_vector<Complex>(out, spectrum.values);
}

/// _fft_c2c and _fft_r2c: the input read as complex; r2c is a forward transform that may keep only
/// the non-redundant half.
template <bool kReal>
void forward_kernel(KernelCall& k) {
  Spectrum spectrum{to_vector<Complex>(k.in(0)), k.in(0).sizes()};
  const auto dims = kernel_dims(k, k.in(0).rank());
  const bool forward = kReal || k.flag(3);
  double signal = 1;
  for (const auto dim : dims) {
    transform_lines(spectrum, dim, forward);
    signal *= static_cast<double>(spectrum.sizes[dim]);
  }
  if (kReal && k.flag(3))
    spectrum = head_along(spectrum, dims.back(), k.out().sizes()[dims.back()]);
  store_spectrum(k.out(), spectrum, norm_factor(k.integer(2), signal));
}

/// Fills a line of the full length from its non-redundant half; like the library routine it takes
/// no notice of the imaginary parts that a real signal cannot have.
auto complete_line(const std::vector<Complex>& half, std::size_t length) -> std::vector<Complex> {
  std::vector<Complex> line(length);
  for (std::size_t i = 0; i <= length / 2 && i < half.size(); ++i) {
    line[i] = half[i];
    if (i > 0 && i < length - i) line[length - i] = std::conj(half[i]);
  }
  line[0] = line[0].real();
  if (length % 2 == 0) line[length / 2] = line[length / 2].real();
  return line;
}

void fft_c2r_kernel(KernelCall& k) {
  Spectrum spectrum{to_vector<Complex>(k.in(0)), k.in(0).sizes()};
  const auto dims = kernel_dims(k, k.in(0).rank());
  const auto last = dims.back();
  const auto length = static_cast<std::size_t>(k.out().sizes()[last]);
  auto signal = static_cast<double>(length);
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    transform_lines(spectrum, dims[i], false);
    signal *= static_cast<double>(spectrum.sizes[dims[i]]);
  }
  Spectrum full{.values = std::vector<Complex>(static_cast<std::size_t>(k.out().numel())),
                .sizes = k.out().sizes()};
  std::vector<Complex> half(static_cast<std::size_t>(spectrum.sizes[last]));
  std::vector<std::int64_t> starts;
  for_each_line(spectrum.sizes, last,
                [&](std::int64_t first, std::int64_t) { starts.push_back(first); });
  std::size_t next = 0;
  for_each_line(full.sizes, last, [&](std::int64_t first, std::int64_t stride) {
    const auto from = starts[next++];
    for (std::size_t i = 0; i < half.size(); ++i)
      half[i] =
          spectrum.values[static_cast<std::size_t>(from + static_cast<std::int64_t>(i) * stride)];
    const auto line = complete_line(half, length);
    for (std::size_t i = 0; i < length; ++i)
      full.values[static_cast<std::size_t>(first + static_cast<std::int64_t>(i) * stride)] =
          line[i];
  });
  transform_lines(full, last, false);
  store_spectrum(k.out(), full, norm_factor(k.integer(2), signal));
}

}  // namespace

// clang-format off
void add_fft_rows(OpTable& t) {
  t.add({.schema_text = "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", .rule = fft_c2c_rule, .kernel = forward_kernel<false>});
  t.add({.schema_text = "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", .rule = fft_r2c_rule, .kernel = forward_kernel<true>});
  t.add({.schema_text = "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", .rule = fft_c2r_rule, .kernel = fft_c2r_kernel});
}
// clang-format on

}  // namespace assay
