// Resampling to another size (aten/src/ATen/native/UpSample.h, cpu/UpSampleKernel.cpp): every
// output position is a weighted sum of a few input positions, dimension by dimension.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/ops/layout.h"
#include "core/ops/op_table.h"
#include "core/ops/rows/resample_bytes.h"
#include "core/ops/rules.h"
#include "core/ops/typed_elements.h"
#include "core/ops/window.h"

namespace assay {
namespace {

enum class Filter : std::uint8_t { nearest, nearest_exact, linear, cubic };

/// Linear and cubic filters take align_corners before the scales.
constexpr auto has_corners(Filter filter) -> bool {
  return filter == Filter::linear || filter == Filter::cubic;
}

/// The input positions one output position reads.
template <class T>
struct Taps {
  std::array<std::int64_t, 4> index{};
  std::array<T, 4> weight{};
  std::size_t count = 1;
};

/// One dimension to resample.
struct Axis {
  std::int64_t in = 1;
  std::int64_t out = 1;
  double scale = 0;  ///< as given by the caller, 0 if not
};

/// Input distance between output positions (area_pixel_compute_scale), in the kernel's precision.
template <class T>
auto step_of(const Axis& axis, bool align_corners) -> T {
  if (align_corners)
    return axis.out > 1 ? static_cast<T>(axis.in - 1) / static_cast<T>(axis.out - 1) : T(0);
  if (axis.scale > 0) return static_cast<T>(1.0 / axis.scale);
  return static_cast<T>(axis.in) / static_cast<T>(axis.out);
}

/// nearest_idx and nearest_exact_idx, which compute in float whatever the dtype.
auto nearest_index(const Axis& axis, std::int64_t position, bool exact) -> std::int64_t {
  if (!exact && axis.out == axis.in) return position;
  if (!exact && axis.out == 2 * axis.in) return position / 2;
  const auto step = step_of<float>(axis, false);
  const auto at = exact ? static_cast<float>(static_cast<double>(position) + 0.5)
                        : static_cast<float>(position);
  return static_cast<std::int64_t>(
      std::min(std::floor(at * step), static_cast<float>(axis.in - 1)));
}

template <class T>
auto linear_taps(const Axis& axis, std::int64_t position, bool align_corners) -> Taps<T> {
  const T step = step_of<T>(axis, align_corners);
  const T at = static_cast<T>(position);
  const T source = align_corners ? step * at : std::max(step * (at + T(0.5)) - T(0.5), T(0));
  const auto low = static_cast<std::int64_t>(std::min(source, static_cast<T>(axis.in - 1)));
  const auto high = std::min(low + 1, axis.in - 1);
  const T share = std::clamp(source - static_cast<T>(low), T(0), T(1));
  return {.index = {low, high}, .weight = {T(1) - share, share}, .count = 2};
}

/// Keys' cubic convolution with a = -0.75; positions past the edge repeat it.
template <class T>
auto cubic_taps(const Axis& axis, std::int64_t position, bool align_corners) -> Taps<T> {
  const T step = step_of<T>(axis, align_corners);
  const T at = static_cast<T>(position);
  const T source = align_corners ? step * at : step * (at + T(0.5)) - T(0.5);
  // Where every tap repeats an edge it does not matter how far beyond it lies.
  const T whole = std::clamp(std::floor(source), T(-3), static_cast<T>(axis.in + 3));
  const T share = source - whole;
  constexpr T kA = T(-0.75);
  const auto near = [](T x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  Taps<T> taps{.weight = {far(share + 1), near(share), near(1 - share), far(2 - share)},
               .count = 4};
  for (std::size_t i = 0; i < 4; ++i)
    taps.index[i] = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(whole) + static_cast<std::int64_t>(i) - 1, 0, axis.in - 1);
  return taps;
}

template <class T>
auto axis_taps(const Axis& axis, Filter filter, bool align_corners) -> std::vector<Taps<T>> {
  std::vector<Taps<T>> all;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    if (filter == Filter::linear)
      all.push_back(linear_taps<T>(axis, i, align_corners));
    else if (filter == Filter::cubic)
      all.push_back(cubic_taps<T>(axis, i, align_corners));
    else
      all.push_back(
          {.index = {nearest_index(axis, i, filter == Filter::nearest_exact)}, .weight = {T(1)}});
  }
  return all;
}

template <class T>
using Grid = std::array<std::vector<Taps<T>>, 3>;

/// Scales of the spatial dims: one optional float argument each, outermost first.
template <class T>
auto make_grid(const Call& c, const Triple& in, const Triple& out, int spatial, Filter filter,
               int next_arg) -> Grid<T> {
  const bool align_corners = has_corners(filter) && c.flag(next_arg);
  if (has_corners(filter)) ++next_arg;
  Grid<T> grid;
  for (std::size_t i = 0; i < 3; ++i) {
    Axis axis{in[i], out[i]};
    const int dim = static_cast<int>(i) - (3 - spatial);
    if (dim >= 0 && c.has(next_arg + dim)) axis.scale = c.real(next_arg + dim);
    // A missing leading dimension is copied as it is.
    grid[i] = axis_taps<T>(axis, dim < 0 ? Filter::nearest : filter, align_corners);
  }
  return grid;
}

/// Calls f(output position, input position, weight) for every contribution in a plane.
template <class T, class F>
void for_each_contribution(const Grid<T>& grid, const Triple& in, F&& f) {
  std::int64_t position = 0;
  for (const auto& d : grid[0])
    for (const auto& h : grid[1])
      for (const auto& w : grid[2]) {
        for (std::size_t i = 0; i < d.count; ++i)
          for (std::size_t j = 0; j < h.count; ++j) {
            const auto row = (d.index[i] * in[1] + h.index[j]) * in[2];
            const T outer = d.weight[i] * h.weight[j];
            for (std::size_t k = 0; k < w.count; ++k)
              f(position, row + w.index[k], outer * w.weight[k]);
          }
        ++position;
      }
}

auto check_rank(MetaCall& c, std::size_t rank, int spatial) -> bool {
  return c.require(rank == static_cast<std::size_t>(spatial) + 2,
                   "a batch, channels and the spatial dimensions");
}

template <int kSpatial>
auto resample_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  if (c.error() || !check_rank(c, input.sizes.size(), kSpatial)) return {};
  Dims sizes(input.sizes.begin(), input.sizes.begin() + 2);
  for (const auto& size : window_values(c, 1, kSpatial, 1)) sizes.push_back(size);
  for (std::size_t i = 2; i < sizes.size(); ++i) {
    c.require(gt(sizes[i], 0), "the output size is positive");
    c.require(gt(input.sizes[i], 0), "the input size is positive");
  }
  auto strides = strides_for(sizes, suggest_memory_format(c, input));
  return c.fresh(input.dtype, std::move(sizes), std::move(strides));
}

/// The gradient looks like grad_output, but for cubic and nearest3d, which are contiguous.
template <int kSpatial, Filter kFilter>
auto resample_backward_rule(MetaCall& c) -> Datum {
  const auto& gradient = c.meta(0);
  auto sizes = c.exprs(2);
  if (c.error() || !check_rank(c, gradient.sizes.size(), kSpatial) ||
      !check_rank(c, sizes.size(), kSpatial))
    return {};
  Dims expected(sizes.begin(), sizes.begin() + 2);
  for (const auto& size : window_values(c, 1, kSpatial, 1)) expected.push_back(size);
  if (!require_same_sizes(c, gradient.sizes, expected, "one gradient per output element"))
    return {};
  for (std::size_t i = 2; i < sizes.size(); ++i)
    if (!c.require(gt(sizes[i], 0), "the input size is positive") ||
        !c.require(gt(expected[i], 0), "the output size is positive"))
      return {};
  constexpr bool kContiguous =
      kFilter == Filter::cubic || (kSpatial == 3 && kFilter != Filter::linear);
  auto strides = kContiguous ? contiguous_strides(sizes)
                             : strides_for(sizes, suggest_memory_format(c, gradient));
  return c.fresh(gradient.dtype, std::move(sizes), std::move(strides));
}

/// The generic forward kernel keeps its weights in the tensor's dtype, the share of the upper
/// neighbour first. It runs linear1d, and trilinear3d unless the result is channels last.
template <class T>
void round_linear_weights(DType dtype, Grid<T>& grid) {
  for (auto& axis : grid)
    for (auto& taps : axis) {
      if (taps.count != 2) continue;
      const auto rounded = [&](T value) { return static_cast<T>(round_to(dtype, value)); };
      taps.weight[1] = rounded(taps.weight[1]);
      taps.weight[0] = rounded(T(1) - taps.weight[1]);
    }
}

/// Taps that stand at an edge several times become one.
auto neighbours(const std::vector<Taps<double>>& taps) -> std::vector<NeighbourTaps> {
  std::vector<NeighbourTaps> all;
  for (const auto& tap : taps) {
    auto& own = all.emplace_back(NeighbourTaps{.first = tap.index[0], .weights = {}});
    for (std::size_t i = 0; i < tap.count; ++i) {
      const auto at = static_cast<std::size_t>(tap.index[i] - own.first);
      own.weights.resize(std::max(own.weights.size(), at + 1));
      own.weights[at] += tap.weight[i];
    }
  }
  return all;
}

/// Images of `in` elements, resampled into (or, backward, gathered from) images of `out` elements.
/// The backward adds every contribution to where it came from.
template <class T, bool kBackward>
void resample_planes(const Tensor& source, Tensor& target, const Grid<T>& grid, const Triple& in,
                     const Triple& out) {
  const auto from = Elements<T>::row_major(source);
  Output<T> to(target);
  const auto read_step = volume(kBackward ? out : in);
  const auto write_step = volume(kBackward ? in : out);
  const T* read = from.data();
  T* write = to.data();
  for (auto left = source.numel() / read_step; left > 0; --left) {
    for_each_contribution(grid, in, [&](std::int64_t output, std::int64_t input, T weight) {
      if constexpr (kBackward)
        write[input] += weight * read[output];
      else
        write[output] += weight * read[input];
    });
    read += read_step;
    write += write_step;
  }
}
template <int kSpatial, Filter kFilter, bool kBackward>
void resample_kernel(KernelCall& k) {
  const auto& source = k.in(0);
  auto& target = k.out();
  if (target.numel() == 0 || source.numel() == 0) return;
  const auto in = spatial_triple(kBackward ? target.sizes() : source.sizes(), kSpatial);
  const auto out = spatial_triple(kBackward ? source.sizes() : target.sizes(), kSpatial);
  if (!kBackward && kSpatial == 2 && has_corners(kFilter) && source.dtype() == DType::uint8 &&
      !on_cuda(source.meta)) {
    const auto grid = make_grid<double>(k, in, out, kSpatial, kFilter, 2);
    return resample_bytes(source, target, {neighbours(grid[1]), neighbours(grid[2])});
  }
  const auto run = [&]<class T>(T) {
    auto grid = make_grid<T>(k, in, out, kSpatial, kFilter, kBackward ? 3 : 2);
    const bool generic = !kBackward && kSpatial != 2 && target.is_contiguous();
    if (generic && is_floating(source.dtype())) round_linear_weights(source.dtype(), grid);
    resample_planes<T, kBackward>(source, target, grid, in, out);
  };
  if (source.dtype() == DType::float64 || !is_floating(source.dtype()))
    run(double{});
  else
    run(float{});
}

/// The .vec overloads: an output size, or factors of the input size.
auto resample_vec(Composer& c) -> Datum {
  const auto input = c.meta(0);
  const int factors_arg = param(c, "scale_factors");
  auto overload = c.row().name();
  overload.replace(overload.rfind('.'), overload.npos, ".default");
  if (c.error()) return {};
  DatumList args{c.arg(0), c.arg(1)};
  if (factors_arg == 3) args.push_back(c.arg(2));  // align_corners
  if (c.has(1)) return c.call(overload, std::move(args));
  const auto* factors = c.arg(factors_arg).list();
  if (!factors || factors->size() + 2 != input.sizes.size())
    return c.fail("an output size or one factor per spatial dimension is needed"), Datum{};
  DatumList sizes;
  for (std::size_t i = 0; i < factors->size(); ++i) {
    const auto& size = input.sizes[i + 2];
    const auto* factor = (*factors)[i].scalar();
    const auto value = factor ? factor->as_number() : std::nullopt;
    if (!value || !(std::fabs(*value) < 1e9)) return c.fail("a factor is a number"), Datum{};
    const auto whole = static_cast<std::int64_t>(*value);
    const Expr scaled[] = {size * Expr::real(*value)};
    sizes.push_back(
        {static_cast<double>(whole) == *value ? size * whole : make(ExprOp::trunc_to_int, scaled)});
  }
  args[1] = {std::move(sizes)};
  args.insert(args.end(), factors->begin(), factors->end());
  return c.call(overload, std::move(args));
}
template <int kSpatial, Filter kFilter>
void add_filter(OpTable& t, std::string_view forward, std::string_view backward) {
  t.add({.schema_text = forward,
         .rule = resample_rule<kSpatial>,
         .kernel = resample_kernel<kSpatial, kFilter, false>});
  t.add({.schema_text = backward,
         .rule = resample_backward_rule<kSpatial, kFilter>,
         .kernel = resample_kernel<kSpatial, kFilter, true>});
}

}  // namespace

// clang-format off
void add_resample_rows(OpTable& t) {
  using enum Filter;
  add_filter<1, nearest>(t, "aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor", "aten::upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor");
  add_filter<2, nearest>(t, "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor", "aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor");
  add_filter<3, nearest>(t, "aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", "aten::upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor");
  add_filter<1, nearest_exact>(t, "aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor", "aten::_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor");
  add_filter<2, nearest_exact>(t, "aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor", "aten::_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor");
  add_filter<3, nearest_exact>(t, "aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", "aten::_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor");
  add_filter<1, linear>(t, "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor", "aten::upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None) -> Tensor");
  add_filter<2, linear>(t, "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", "aten::upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor");
  add_filter<3, linear>(t, "aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor", "aten::upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor");
  add_filter<2, cubic>(t, "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor", "aten::upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor");
  for (const auto* schema : {"aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
                             "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
                             "aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
                             "aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
                             "aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
                             "aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
                             "aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
                             "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
                             "aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
                             "aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
                             "aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
                             "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor"})
    t.add({.schema_text = schema, .decomposition = resample_vec});
}
// clang-format on

}  // namespace assay
