// Pooling (aten/src/ATen/native/Pool.h, AveragePool*.cpp, DilatedMaxPool*.cpp,
// AdaptiveAveragePooling*.cpp). All kernels walk row-major planes of one to three dimensions.
#include <algorithm>
#include <array>
#include <limits>

#include "core/ops/op_table.h"
#include "core/ops/pooling.h"

namespace assay {
namespace {

constexpr WindowArgs kAverage{.kernel = 1, .stride = 2, .padding = 3, .ceil_mode = 4};
constexpr WindowArgs kAverageBackward{.kernel = 2, .stride = 3, .padding = 4, .ceil_mode = 5};
constexpr WindowArgs kMaxBackward{
    .kernel = 2, .stride = 3, .padding = 4, .dilation = 5, .ceil_mode = 6};
constexpr WindowArgs kMax{.kernel = 1, .stride = 2, .padding = 3, .dilation = 4, .ceil_mode = 5};

auto check_divisor(MetaCall& c, int arg) -> bool {
  return !c.has(arg) || c.require(ne(c.expr(arg), 0), "the divisor is not zero");
}

template <int kSpatial, WindowArgs kArgs>
auto pooled_sizes(MetaCall& c, int input_arg = 0) -> Dims {
  const auto& input = c.meta(input_arg);
  if (c.error() || !check_input(c, input, kSpatial)) return {};
  const auto dims = window_dims(c, kArgs, kSpatial);
  const bool ceil_mode = c.flag(kArgs.ceil_mode);
  Dims sizes = input.sizes;
  const auto first = sizes.size() - kSpatial;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    c.require(gt(dims[i].kernel, 0), "the window is not empty");
    c.require(gt(dims[i].stride, 0), "the stride is positive");
    c.require(gt(dims[i].dilation, 0), "the dilation is positive");
    c.require(ge(dims[i].padding, 0), "the padding is not negative");
    if (c.error()) return {};
    c.require(le(2 * dims[i].padding, dims[i].dilation * (dims[i].kernel - 1) + 1),
              "the padding is at most half the window");
    sizes[first + i] = window_count(c, input.sizes[first + i], dims[i], ceil_mode);
    c.require(gt(sizes[first + i], 0), "the window fits the padded input");
  }
  return sizes;
}

template <int kSpatial, WindowArgs kArgs, Format kFormat>
auto average_rule(MetaCall& c) -> Datum {
  auto sizes = pooled_sizes<kSpatial, kArgs>(c);
  if (c.error() || !check_divisor(c, 6)) return {};
  auto strides = pool_strides(c, c.meta(0), sizes, kSpatial, kFormat);
  return c.fresh(c.meta(0).dtype, std::move(sizes), std::move(strides));
}

/// max_pool3d looks at an input without batch as one with a batch of 1, but goes by the exact
/// layout where the others go by what the strides suggest (DilatedMaxPool3d.cpp).
auto max_strides(MetaCall& c, const TensorMeta& input, const Dims& sizes, int spatial) -> Dims {
  if (spatial == 2 || input.rank() != 4)
    return pool_strides(c, input, sizes, spatial, Format::suggested);
  if (is_contiguous(c, input)) return contiguous_strides(sizes);
  c.require(suggest_memory_format(c, input) == MemoryFormat::contiguous,
            "an input without batch is not channels_last");
  auto batched = input;
  batched.sizes.insert(batched.sizes.begin(), Expr(1));
  batched.strides.insert(batched.strides.begin(), Expr(1));
  if (!is_contiguous(c, batched, MemoryFormat::channels_last_3d)) return contiguous_strides(sizes);
  auto out = sizes;
  out.insert(out.begin(), Expr(1));
  auto strides = channels_last_strides(out);
  strides.erase(strides.begin());
  return strides;
}

template <int kSpatial>
auto max_rule(MetaCall& c, DType index_dtype) -> Datum {
  const auto sizes = pooled_sizes<kSpatial, kMax>(c);
  if (c.error()) return {};
  const auto strides = max_strides(c, c.meta(0), sizes, kSpatial);
  auto values = c.fresh(c.meta(0).dtype, sizes, strides);
  if (index_dtype == DType::int64)
    return {DatumList{std::move(values), c.fresh(index_dtype, sizes, strides)}};
  // Offsets are computed from indices by pointwise operators (inductor_prims.py).
  const TensorMeta* operands[] = {&values.fake()->meta};
  auto offset_strides = iterator_strides(c, operands, sizes);
  return {DatumList{values, c.fresh(index_dtype, sizes, std::move(offset_strides))}};
}
/// prims name the dimensions by the rank of the kernel.
auto check_spatial(MetaCall& c) -> bool {
  const auto spatial = c.exprs(1).size();
  return c.require(spatial == 2 || spatial == 3, "two or three spatial dimensions");
}
template <int kSpatial>
auto max_with_indices_rule(MetaCall& c) -> Datum {
  return max_rule<kSpatial>(c, DType::int64);
}
/// The offsets stand for positions within the window; the rank of the kernel tells the dimensions.
auto max_with_offsets_rule(MetaCall& c) -> Datum {
  if (!check_spatial(c)) return {};
  return c.exprs(1).size() == 3 ? max_rule<3>(c, DType::int8) : max_rule<2>(c, DType::int8);
}

template <int kSpatial, Format kFormat>
auto average_backward_rule(MetaCall& c) -> Datum {
  const auto sizes = pooled_sizes<kSpatial, kAverageBackward>(c, 1);
  if (c.error() || !check_divisor(c, 7) ||
      !require_same_sizes(c, c.meta(0).sizes, sizes, "one gradient per window"))
    return {};
  return input_gradient<kSpatial, kFormat>(c);
}

template <int kSpatial, Format kFormat>
auto adaptive_backward_rule(MetaCall& c) -> Datum {
  if (!check_adaptive_gradient<kSpatial>(c)) return {};
  return input_gradient<kSpatial, kFormat>(c);
}

/// Gradient and indices are there for every window.
template <int kSpatial>
auto check_max_backward(MetaCall& c) -> bool {
  const auto sizes = pooled_sizes<kSpatial, kMaxBackward>(c, 1);
  return !c.error() && require_same_sizes(c, c.meta(0).sizes, sizes, "one gradient per window") &&
         require_same_sizes(c, c.meta(7).sizes, sizes, "one index per window");
}
auto max2d_backward_rule(MetaCall& c) -> Datum {
  return check_max_backward<2>(c) ? input_gradient<2, Format::suggested>(c) : Datum{};
}
auto max3d_backward_rule(MetaCall& c) -> Datum {
  if (!check_max_backward<3>(c)) return {};
  const auto& input = c.meta(1);
  return c.fresh(input.dtype, input.sizes, max_strides(c, input, input.sizes, 3));
}

template <int kSpatial, Format kFormat>
auto adaptive_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  if (c.error() || !check_input(c, input, kSpatial)) return {};
  const auto requested = window_values(c, 1, kSpatial, 1);
  for (const auto& size : requested)
    if (!c.require(ge(size, 0), "no output size is negative")) return {};
  Dims sizes = input.sizes;
  std::ranges::copy(requested, sizes.end() - kSpatial);
  auto strides = pool_strides(c, input, sizes, kSpatial, kFormat);
  return c.fresh(input.dtype, std::move(sizes), std::move(strides));
}

auto elems_in(const Box& box) -> std::int64_t {
  return box[0].size() * box[1].size() * box[2].size();
}

/// What an average at one output position covers: the input elements and what they are divided by,
/// one after the other.
struct Average {
  Box box;
  Triple divisors;
};

/// Averages of a sliding window (avg_pool). The divisor counts padding, but not what ceil_mode adds
/// beyond it.
auto window_averages(const Window& w, bool count_padding, std::int64_t divisor)
    -> std::vector<Average> {
  std::vector<Average> averages;
  for_each_position(w.out, [&](const Triple& position) {
    Box box;
    std::int64_t padded = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto begin = position[i] * w.stride[i] - w.padding[i];
      const auto end = std::min(begin + w.kernel[i], w.in[i] + w.padding[i]);
      padded *= end - begin;
      box[i] = {std::max<std::int64_t>(begin, 0), std::min(end, w.in[i])};
    }
    averages.push_back({box,
                        {divisor != 0    ? divisor
                         : count_padding ? padded
                                         : elems_in(box),
                         1, 1}});
  });
  return averages;
}

/// Averages of an adaptive pool: the input split into nearly equal, possibly overlapping, parts.
auto adaptive_averages(const Triple& in, const Triple& out) -> std::vector<Average> {
  std::vector<Average> averages;
  for (const auto& box : adaptive_windows(in, out))
    averages.push_back({box, {box[0].size(), box[1].size(), box[2].size()}});
  return averages;
}

/// Arithmetic in T, rounded to `dtype` after every step where the CPU kernels keep their sums in
/// it: half gradients, and the adaptive 3-d average.
template <class T>
struct Stepwise {
  DType dtype = DType::float32;
  [[nodiscard]] auto rounded(T value) const -> T {
    if constexpr (std::is_same_v<T, float>)
      if (is_half(dtype)) return static_cast<T>(round_to(dtype, value));
    return value;
  }
  [[nodiscard]] auto divided(T value, const Triple& divisors) const -> T {
    for (const auto divisor : divisors) {
      if (divisor == 1) continue;
      if constexpr (std::is_same_v<T, Complex>)
        value /= static_cast<double>(divisor);
      else
        value = rounded(value / static_cast<T>(divisor));
    }
    return value;
  }
};

/// out = mean of the input over each box, for every plane; sums are kept in `sums`.
void average_planes(const Tensor& input, Tensor& result, const Triple& in,
                    const std::vector<Average>& averages, DType sums) {
  if (result.numel() == 0) return;
  with_product_type(result.dtype(), [&]<class T>(T) {
    const auto from = Elements<T>::row_major(input);
    const Stepwise<T> step{sums};
    Output<T> out(result);
    const auto plane = volume(in);
    const auto planes = result.numel() / static_cast<std::int64_t>(averages.size());
    T* to = out.data();
    for (std::int64_t p = 0; p < planes; ++p) {
      const T* values = from.data() + p * plane;
      for (const auto& average : averages) {
        T sum{};
        for_each_in(average.box, in,
                    [&](std::int64_t at) { sum = step.rounded(sum + values[at]); });
        *to++ = elems_in(average.box) == 0 ? T{} : step.divided(sum, average.divisors);
      }
    }
  });
}

/// The transpose of average_planes.
void spread_planes(const Tensor& gradient, Tensor& result, const Triple& in,
                   const std::vector<Average>& averages) {
  if (result.numel() == 0 || gradient.numel() == 0) return;
  with_product_type(result.dtype(), [&]<class T>(T) {
    const auto from = Elements<T>::row_major(gradient);
    const Stepwise<T> step{result.dtype()};
    Output<T> out(result);
    const auto plane = volume(in);
    const auto planes = gradient.numel() / static_cast<std::int64_t>(averages.size());
    const T* grad = from.data();
    for (std::int64_t p = 0; p < planes; ++p) {
      T* values = out.data() + p * plane;
      for (const auto& average : averages) {
        const T gradient_here = *grad++;
        if (elems_in(average.box) == 0) continue;
        const T share = step.divided(gradient_here, average.divisors);
        for_each_in(average.box, in,
                    [&](std::int64_t at) { values[at] = step.rounded(values[at] + share); });
      }
    }
  });
}

template <int kSpatial>
void average_kernel(KernelCall& k) {
  const auto window = make_window(k, kAverage, kSpatial, k.in(0).sizes(), k.out().sizes());
  const auto divisor = k.has(6) ? k.integer(6) : 0;
  average_planes(k.in(0), k.out(), window.in, window_averages(window, k.flag(5), divisor),
                 DType::float32);
}

template <int kSpatial>
void average_backward_kernel(KernelCall& k) {
  const auto window = make_window(k, kAverageBackward, kSpatial, k.in(1).sizes(), k.in(0).sizes());
  const auto divisor = k.has(7) ? k.integer(7) : 0;
  spread_planes(k.in(0), k.out(), window.in, window_averages(window, k.flag(6), divisor));
}

template <int kSpatial>
void adaptive_kernel(KernelCall& k) {
  const auto in = spatial_triple(k.in(0).sizes(), kSpatial);
  average_planes(k.in(0), k.out(), in,
                 adaptive_averages(in, spatial_triple(k.out().sizes(), kSpatial)),
                 kSpatial == 3 ? k.out().dtype() : DType::float32);
}

template <int kSpatial>
void adaptive_backward_kernel(KernelCall& k) {
  const auto in = spatial_triple(k.out().sizes(), kSpatial);
  spread_planes(k.in(0), k.out(), in,
                adaptive_averages(in, spatial_triple(k.in(0).sizes(), kSpatial)));
}

/// A maximum, the flat index of its element in the plane, and its flat offset within the window.
template <class T>
struct Maximum {
  T value;
  std::int64_t index;
  std::int64_t offset;
};

/// What a window without any tap inside gives: the least value at its first tap past the padding.
template <class T>
auto no_maximum(const Window& w, const Triple& position) -> Maximum<T> {
  Triple first;
  for (std::size_t i = 0; i < 3; ++i) {
    first[i] = w.at(i, position[i], 0);
    while (first[i] < 0) first[i] += w.dilation[i];
  }
  using Limits = std::numeric_limits<T>;
  return {.value = Limits::has_infinity ? -Limits::infinity() : Limits::lowest(),
          .index = (first[0] * w.in[1] + first[1]) * w.in[2] + first[2],
          .offset = 0};
}

/// Calls f(flat index in the plane, flat offset in the window) for the taps inside the input.
template <class F>
void for_each_tap_at(const Window& w, const Triple& position, F&& f) {
  for_each_position(w.kernel, [&](const Triple& tap) {
    Triple at;
    for (std::size_t i = 0; i < 3; ++i) {
      at[i] = w.at(i, position[i], tap[i]);
      if (at[i] < 0 || at[i] >= w.in[i]) return;
    }
    f((at[0] * w.in[1] + at[1]) * w.in[2] + at[2],
      (tap[0] * w.kernel[1] + tap[1]) * w.kernel[2] + tap[2]);
  });
}

/// The last NaN, else the first of the largest elements under the window.
template <class T>
auto find_maximum(const Window& w, const Triple& position, const T* plane) -> Maximum<T> {
  auto found = no_maximum<T>(w, position);
  bool any = false;
  for_each_tap_at(w, position, [&](std::int64_t index, std::int64_t offset) {
    const T value = plane[index];
    if (any && !(value > found.value) && value == value) return;
    found = {value, index, offset};
    any = true;
  });
  return found;
}

/// Values to result 0; to result 1 the index in the plane or, for prims, the offset in the window.
template <bool kOffsets>
void max_planes(KernelCall& k, int spatial) {
  const auto window = make_window(k, kMax, spatial, k.in(0).sizes(), k.out(0).sizes());
  with_product_type(k.in(0).dtype(), [&]<class T>(T) {
    if constexpr (std::is_same_v<T, Complex>) {
      k.fail("complex numbers have no order");
    } else {
      const auto from = Elements<T>::row_major(k.in(0));
      Output<T> values(k.out(0));
      Output<std::int64_t> positions(k.out(1));
      const auto plane = volume(window.in);
      std::int64_t next = 0;
      for (std::int64_t begin = 0; next < k.out(0).numel(); begin += plane)
        for_each_position(window.out, [&](const Triple& position) {
          const auto found = find_maximum(window, position, from.data() + begin);
          values.data()[next] = found.value;
          positions.data()[next++] = kOffsets ? found.offset : found.index;
        });
    }
  });
}
template <int kSpatial>
void max_with_indices_kernel(KernelCall& k) {
  max_planes<false>(k, kSpatial);
}
void max_with_offsets_kernel(KernelCall& k) {
  max_planes<true>(k, static_cast<int>(k.exprs(1).size()));
}

/// torch/_inductor/inductor_prims.py: a pointwise function of the offsets and their positions.
auto offsets_to_indices_rule(MetaCall& c) -> Datum {
  if (!check_spatial(c)) return {};
  const auto spatial = c.exprs(1).size();
  if (!c.require(c.meta(0).sizes.size() >= spatial && c.exprs(2).size() == spatial,
                 "one offset per window of the input") ||
      !std::ranges::all_of(c.exprs(1), [&](const Expr& size) {
        return c.require(gt(size, 0), "the window is not empty");
      }))
    return {};
  const TensorMeta* operands[] = {&c.meta(0)};
  return c.fresh(DType::int64, c.meta(0).sizes, iterator_strides(c, operands, c.meta(0).sizes));
}

void offsets_to_indices_kernel(KernelCall& k) {
  const WindowArgs args{.kernel = 1, .stride = 3, .padding = 4, .dilation = 5};
  const auto spatial = static_cast<int>(k.exprs(1).size());
  const auto w = make_window(k, args, spatial, k.integers(2), k.out().sizes());
  if (k.error()) return;
  auto values = to_vector<std::int64_t>(k.in(0));
  std::size_t next = 0;
  while (next < values.size())
    for_each_position(w.out, [&](const Triple& position) {
      const auto offset = values[next];
      const auto d = w.at(0, position[0], offset / (w.kernel[1] * w.kernel[2]));
      const auto h = w.at(1, position[1], offset / w.kernel[2] % w.kernel[1]);
      const auto x = w.at(2, position[2], offset % w.kernel[2]);
      values[next++] = (d * w.in[1] + h) * w.in[2] + x;
    });
  from_vector<std::int64_t>(k.out(), values);
}

/// The older names (as in PyTorch 2.4), of planes alone. An offset is an int8, so 128 rows of a
/// window hold each, and the height of the input decides nothing.
auto max_pool2d_with_offsets(Composer& c) -> Datum {
  return c.call("prims._low_memory_max_pool_with_offsets.default",
                DatumList(c.args().begin(), c.args().end()));
}
auto max_pool2d_offsets_to_indices(Composer& c) -> Datum {
  const Expr rows(128);
  return c.call("prims._low_memory_max_pool_offsets_to_indices.default",
                {c.arg(0), int_list(Dims{rows, c.expr(1)}), int_list(Dims{rows, c.expr(2)}),
                 c.arg(3), c.arg(4), int_list(Ints{1, 1})});
}

auto max_pool2d(Composer& c) -> Datum {
  return c.item(
      c.call("aten.max_pool2d_with_indices.default", DatumList(c.args().begin(), c.args().end())),
      0);
}
auto max_pool3d(Composer& c) -> Datum {
  return c.item(
      c.call("aten.max_pool3d_with_indices.default", DatumList(c.args().begin(), c.args().end())),
      0);
}

/// adaptive_avg_pool: size 1 is a mean over the spatial dimensions, whose result keeps the
/// channels-last strides that a pool would have given it.
template <int kSpatial>
auto adaptive_avg_pool(Composer& c) -> Datum {
  const auto input = c.meta(0);
  bool to_one = true;
  for (const auto& size : window_values(c, 1, kSpatial, 1)) to_one &= size.is_int(1);
  if (c.error()) return {};
  if (!to_one)
    return c.call(
        kSpatial == 2 ? "aten._adaptive_avg_pool2d.default" : "aten._adaptive_avg_pool3d.default",
        {c.arg(0), c.arg(1)});
  Ints dims;
  for (int i = 1; i <= kSpatial; ++i) dims.push_back(-i);
  auto mean = c.call("aten.mean.dim", {c.arg(0), int_list(dims), Datum{Expr::boolean(true)}});
  if (input.rank() != kSpatial + 2) return mean;
  MetaCall layout(c.row(), c.args(), c.domain().context());
  const auto format = suggest_memory_format(layout, input);
  if (format == MemoryFormat::contiguous) return mean;
  Dims sizes(input.sizes.begin(), input.sizes.begin() + 2);
  sizes.resize(input.sizes.size(), Expr(1));
  const auto strides = strides_for(sizes, format);
  return c.call("aten.as_strided.default", {mean, int_list(sizes), int_list(strides)});
}

/// One dimension pools as two with a height of 1.
auto with_height(Composer& c, int arg, std::int64_t value) -> Datum {
  auto values = window_values(c, arg, 1, 1);
  values.insert(values.begin(), Expr(value));
  return int_list(values);
}
auto avg_pool1d(Composer& c) -> Datum {
  const auto tall = c.call("aten.unsqueeze.default", {c.arg(0), Datum{Expr(-2)}});
  const bool strided = !c.exprs(2).empty();
  const auto pooled = c.call("aten.avg_pool2d.default",
                             {tall, with_height(c, 1, 1), with_height(c, strided ? 2 : 1, 1),
                              with_height(c, 3, 0), c.arg(4), c.arg(5)});
  return c.call("aten.squeeze.dim", {pooled, Datum{Expr(-2)}});
}
auto adaptive_avg_pool1d(Composer& c) -> Datum {
  const auto tall = c.call("aten.unsqueeze.default", {c.arg(0), Datum{Expr(-2)}});
  const auto pooled = c.call("aten.adaptive_avg_pool2d.default", {tall, with_height(c, 1, 1)});
  return c.call("aten.squeeze.dim", {pooled, Datum{Expr(-2)}});
}

}  // namespace

// clang-format off
void add_pooling_rows(OpTable& t) {
  using enum Format;
  t.add({.schema_text = "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor", .rule = average_rule<2, kAverage, suggested>, .kernel = average_kernel<2>});
  t.add({.schema_text = "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor", .rule = average_rule<3, kAverage, contiguous>, .kernel = average_kernel<3>});
  t.add({.schema_text = "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor", .rule = average_backward_rule<2, suggested>, .kernel = average_backward_kernel<2>});
  t.add({.schema_text = "aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor", .rule = average_backward_rule<3, contiguous>, .kernel = average_backward_kernel<3>});
  t.add({.schema_text = "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", .rule = adaptive_rule<2, suggested>, .kernel = adaptive_kernel<2>});
  t.add({.schema_text = "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", .rule = adaptive_rule<3, contiguous>, .kernel = adaptive_kernel<3>});
  t.add({.schema_text = "aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor", .rule = adaptive_backward_rule<2, suggested>, .kernel = adaptive_backward_kernel<2>});
  t.add({.schema_text = "aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor", .rule = adaptive_backward_rule<3, contiguous>, .kernel = adaptive_backward_kernel<3>});
  t.add({.schema_text = "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", .rule = max_with_indices_rule<2>, .kernel = max_with_indices_kernel<2>});
  t.add({.schema_text = "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", .rule = max_with_indices_rule<3>, .kernel = max_with_indices_kernel<3>});
  t.add({.schema_text = "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor", .rule = max2d_backward_rule, .kernel = max_backward_kernel<2, 7>});
  t.add({.schema_text = "aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor", .rule = max3d_backward_rule, .kernel = max_backward_kernel<3, 7>});
  t.add({.schema_text = "prims::_low_memory_max_pool_with_offsets(Tensor self, SymInt[] kernel_size, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool ceil_mode) -> (Tensor, Tensor)", .rule = max_with_offsets_rule, .kernel = max_with_offsets_kernel});
  t.add({.schema_text = "prims::_low_memory_max_pool_offsets_to_indices(Tensor self, SymInt[] kernel_size, SymInt[] input_size, SymInt[] stride, SymInt[] padding, SymInt[] dilation) -> Tensor", .rule = offsets_to_indices_rule, .kernel = offsets_to_indices_kernel});
  t.add({.schema_text = "prims::_low_memory_max_pool2d_with_offsets(Tensor self, SymInt[2] kernel_size, SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation, bool ceil_mode) -> (Tensor, Tensor)", .decomposition = max_pool2d_with_offsets});
  t.add({.schema_text = "prims::_low_memory_max_pool2d_offsets_to_indices(Tensor self, SymInt kernel_w, SymInt input_w, SymInt[2] stride, SymInt[2] padding) -> Tensor", .decomposition = max_pool2d_offsets_to_indices});
  t.add({.schema_text = "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor", .decomposition = max_pool2d});
  t.add({.schema_text = "aten::max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> Tensor", .decomposition = max_pool3d});
  t.add({.schema_text = "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", .decomposition = adaptive_avg_pool1d});
  t.add({.schema_text = "aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor", .decomposition = adaptive_avg_pool<2>});
  t.add({.schema_text = "aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor", .decomposition = adaptive_avg_pool<3>});
  t.add({.schema_text = "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool count_include_pad=True) -> Tensor", .decomposition = avg_pool1d});
}
// clang-format on

}  // namespace assay
