// Resampling to another size, padding by what is there, windows as columns: every element of the
// result is a weighted sum of a few elements whose positions are computed, dimension by dimension.
// Gradients add what each element gave to where it came from (aten/src/ATen/native/UpSample.h,
// ReflectionPad.cpp, ReplicationPadding.cpp, AdaptiveAveragePooling.cpp, Im2Col.cpp).
#include <array>
#include <optional>

#include "compiler/lower/expansions.h"
#include "core/ops/window.h"

namespace assay::expansions {
namespace {

/// What positions of one dimension read: int64 positions, and weights or none for a copy. Tensors
/// of [size, 1, ...] that broadcast over the dimensions behind it.
struct Tap {
  Datum position;
  std::optional<Datum> weight;
};
using DimTaps = std::vector<Tap>;

/// The last dimensions of a tensor, which taps are for, and how results are computed.
struct Grid {
  std::vector<DimTaps> dims;  ///< outermost first
  DType dtype = DType::float32;
};

/// What sums of argument 0 are made in.
auto summed_in(Composer& c) -> DType {
  return c.meta(0).dtype == DType::float64 ? DType::float64 : DType::float32;
}
/// Positions from `begin` up to `end` of a dimension that has `behind` others behind it.
auto positions(Composer& c, const Expr& begin, const Expr& end, std::size_t behind) -> Datum {
  Dims shape(behind + 1, Expr(1));
  shape[0] = end - begin;
  const auto line =
      c.call("aten.arange.start", {{begin}, {end}, {DType::int64}, {}, {c.meta(0).device}});
  return c.call("aten.view.default", {line, int_list(shape)});
}

/// Calls f(indices, weight or none) for every combination of taps.
void for_each_tap(Composer& c, const Grid& grid, int rank, const auto& f) {
  std::vector<std::size_t> chosen(grid.dims.size(), 0);
  for (;;) {
    DatumList indices(static_cast<std::size_t>(rank) - grid.dims.size());
    std::optional<Datum> weight;
    for (std::size_t i = 0; i < grid.dims.size(); ++i) {
      const auto& tap = grid.dims[i][chosen[i]];
      indices.push_back(tap.position);
      if (tap.weight) weight = weight ? mul(c, *weight, *tap.weight) : *tap.weight;
    }
    f(Datum{std::move(indices)}, weight);
    auto i = grid.dims.size();
    while (i > 0 && ++chosen[i - 1] == grid.dims[i - 1].size()) chosen[--i] = 0;
    if (i == 0) return;
  }
}
/// The sum of what lies under all taps.
auto gathered(Composer& c, const Datum& input, const Grid& grid) -> Datum {
  std::optional<Datum> sum;
  for_each_tap(c, grid, c.meta(input).rank(), [&](const Datum& at, const auto& weight) {
    auto part = c.call("aten._unsafe_index.Tensor", {input, at});
    if (weight) part = mul(c, to(c, part, grid.dtype), *weight);
    sum = sum ? add(c, *sum, part) : part;
  });
  return to(c, *sum, c.meta(input).dtype);
}
/// Adds `gradient` to the elements under the taps, of `sizes`.
auto scattered(Composer& c, const Datum& gradient, const Grid& grid, const Dims& sizes) -> Datum {
  const auto given = c.meta(gradient);
  const auto wide = to(c, gradient, grid.dtype);
  auto sum =
      c.call("aten.full.default", {int_list(sizes), real(0), {grid.dtype}, {}, {given.device}});
  for_each_tap(c, grid, given.rank(), [&](const Datum& at, const auto& weight) {
    const auto part = weight ? mul(c, wide, *weight) : wide;
    sum = c.call("aten._unsafe_index_put.default", {sum, at, part, truth(true)});
  });
  return to(c, sum, given.dtype);
}

// ---- even parts ---------------------------------------------------------------------------------

/// How many elements windows have that divide a dimension evenly.
auto even_part(const Expr& in, const Expr& out) -> std::optional<Expr> {
  if (in == out) return Expr(1);
  if (out.is_int(1)) return in;
  const auto size = in.as_int(), parts = out.as_int();
  if (!size || !parts || *parts == 0 || *size % *parts != 0) return std::nullopt;
  return Expr(*size / *parts);
}
/// The last dimensions in parts of equal sizes, a dimension each; dimensions of what is in a part.
struct Parts {
  Dims sizes;
  Ints inside;
};
/// The last of `all` in as many parts as `counts` says; nothing where they are not known to be
/// equal.
auto even_parts(const Dims& all, const Dims& counts) -> std::optional<Parts> {
  const auto first = all.size() - counts.size();
  Parts parts{{all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first)}, {}};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto size = even_part(all[first + i], counts[i]);
    if (!size) return std::nullopt;
    parts.sizes.insert(parts.sizes.end(), {counts[i], *size});
    parts.inside.push_back(static_cast<std::int64_t>(parts.sizes.size()) - 1);
  }
  return parts;
}

// ---- resampling ---------------------------------------------------------------------------------

enum class Filter : std::uint8_t { nearest, nearest_exact, linear, cubic };
constexpr auto has_corners(Filter filter) -> bool {
  return filter == Filter::linear || filter == Filter::cubic;
}

/// One dimension to resample.
struct Axis {
  Expr in, out;
  std::optional<double> scale;  ///< as given by the caller
};

/// Formulas of one dimension, in `dtype`, over the positions of the result.
class Formulas {
 public:
  Formulas(Composer& c, Axis axis, DType dtype, bool align_corners, std::size_t behind)
      : c_(c),
        axis_(std::move(axis)),
        dtype_(dtype),
        aligns_(align_corners),
        position_(positions(c, 0, axis_.out, behind)) {}

  [[nodiscard]] auto taps(Filter filter) -> DimTaps {
    if (filter == Filter::linear) return linear();
    return filter == Filter::cubic ? cubic() : nearest(filter == Filter::nearest_exact);
  }

 private:
  /// The distance of neighbouring positions in the input.
  [[nodiscard]] auto step() const -> Datum {
    if (aligns_)
      return quotient(axis_.in - 1, max(axis_.out - 1, Expr(1)));  // of one position it is 0
    if (axis_.scale) return real(1 / *axis_.scale);
    return quotient(axis_.in, axis_.out);
  }
  [[nodiscard]] static auto quotient(const Expr& a, const Expr& b) -> Datum {
    const Expr parts[] = {a, b};
    return {make(ExprOp::int_true_div, parts)};
  }
  [[nodiscard]] auto place() -> Datum { return to(c_, position_, dtype_); }
  [[nodiscard]] auto whole_number(const Datum& x) -> Datum { return to(c_, x, DType::int64); }
  /// Positions between the edges, `by` behind those of `x`.
  [[nodiscard]] auto inside(const Datum& x, std::int64_t by) -> Datum {
    return clamped(c_, by == 0 ? x : add(c_, x, whole(by)), whole(0), {axis_.in - 1});
  }
  [[nodiscard]] auto source() -> Datum {
    if (aligns_) return mul(c_, place(), step());
    return sub(c_, mul(c_, add(c_, place(), real(0.5)), step()), real(0.5));
  }

  auto nearest(bool is_exact) -> DimTaps {
    auto at = place();
    if (is_exact) at = add(c_, at, real(0.5));
    const auto low = c_.call("aten.floor.default", {mul(c_, at, step())});
    return {{whole_number(clamped(c_, low, {}, {axis_.in - 1})), {}}};
  }
  auto linear() -> DimTaps {
    const auto at = clamped(c_, source(), whole(0), {});
    const auto low = whole_number(clamped(c_, at, {}, {axis_.in - 1}));
    const auto share = clamped(c_, sub(c_, at, to(c_, low, dtype_)), whole(0), whole(1));
    return {{low, complement(c_, share)}, {inside(low, 1), share}};
  }
  /// Keys' convolution with a = -0.75; positions past the edge repeat it.
  auto cubic() -> DimTaps {
    constexpr double kA = -0.75;
    const auto at = source();
    const auto floor = c_.call("aten.floor.default", {at});
    const auto share = sub(c_, at, floor);
    const auto near = [&](const Datum& x) {
      const auto inner = add(c_, mul(c_, x, real(kA + 2)), real(-(kA + 3)));
      return add(c_, mul(c_, mul(c_, inner, x), x), real(1));
    };
    const auto far = [&](const Datum& x) {
      const auto line = add(c_, mul(c_, x, real(kA)), real(-5 * kA));
      const auto square = add(c_, mul(c_, line, x), real(8 * kA));
      return add(c_, mul(c_, square, x), real(-4 * kA));
    };
    const auto low = whole_number(clamped(c_, floor, whole(-3), {axis_.in + 3}));
    const auto rest = complement(c_, share);
    return {{inside(low, -1), far(add(c_, share, real(1)))},
            {inside(low, 0), near(share)},
            {inside(low, 1), near(rest)},
            {inside(low, 2), far(add(c_, rest, real(1)))}};
  }

  Composer& c_;
  Axis axis_;
  DType dtype_;
  bool aligns_;
  Datum position_;
};

/// Nearest positions are halved exactly where the result is twice as large, whatever the scale
/// says; nothing where it says something else and sizes are not known.
auto is_plain(const Axis& axis, Filter filter) -> bool {
  if (filter != Filter::nearest || !axis.scale) return true;
  const auto in = axis.in.as_int(), out = axis.out.as_int();
  const bool is_usual = *axis.scale == 1 || *axis.scale == 2;
  return is_usual || (in && out && *out != *in && *out != 2 * *in);
}

/// Taps of all dimensions: sizes before and after, then from argument `next` on align_corners where
/// the filter has them and a scale per dimension.
auto grid_of(Composer& c, Filter filter, const Dims& in, const Dims& out, int next)
    -> std::optional<Grid> {
  const bool aligns = has_corners(filter) && c.flag(next);
  if (has_corners(filter)) ++next;
  // Nearest positions are computed in float32 whatever the dtype.
  const bool is_wide = has_corners(filter) && c.meta(0).dtype == DType::float64;
  Grid grid{.dims = {}, .dtype = summed_in(c)};
  for (std::size_t i = 0; i < in.size(); ++i) {
    Axis axis{in[i], out[i], {}};
    const auto arg = next + static_cast<int>(i);
    if (c.has(arg)) axis.scale = c.real(arg);
    if (axis.scale && *axis.scale <= 0) axis.scale.reset();
    if (!is_plain(axis, filter)) return std::nullopt;
    Formulas formulas(c, axis, is_wide ? DType::float64 : DType::float32, aligns,
                      in.size() - 1 - i);
    grid.dims.push_back(formulas.taps(filter));
  }
  return grid;
}
auto spatial(const Dims& sizes, std::size_t count) -> Dims {
  return {sizes.end() - static_cast<std::ptrdiff_t>(count), sizes.end()};
}
/// Weights that the kernel keeps in the tensor's dtype.
auto keeps_narrow_weights(std::size_t dims, Filter filter, DType dtype) -> bool {
  return dims != 2 && has_corners(filter) && size_bytes(dtype) < 4;
}

template <std::size_t kDims, Filter kFilter>
auto resample(Composer& c) -> Datum {
  const auto& meta = c.meta(0);
  if (!is_floating(meta.dtype) || keeps_narrow_weights(kDims, kFilter, meta.dtype))
    return c.unsupported("resampling of this dtype"), Datum{};
  const auto grid =
      grid_of(c, kFilter, spatial(meta.sizes, kDims), window_values(c, 1, kDims, 1), 2);
  if (!grid) return c.unsupported("a scale that is not the sizes'"), Datum{};
  return gathered(c, c.arg(0), *grid);
}
/// Gradients of nearest elements that each were copied equally often: their sums, in one order.
template <std::size_t kDims, Filter kFilter>
auto sums_of_parts(Composer& c) -> std::optional<Datum> {
  if (has_corners(kFilter)) return std::nullopt;
  const auto meta = c.meta(0);
  const auto counts = spatial(c.exprs(2), kDims);
  const auto parts = even_parts(meta.sizes, counts);
  if (!parts) return std::nullopt;
  for (std::size_t i = 0; i < kDims; ++i) {
    const auto arg = 3 + static_cast<int>(i);
    const auto size = parts->sizes[static_cast<std::size_t>(parts->inside[i])].as_int();
    if (c.has(arg) && (!size || c.real(arg) != static_cast<double>(*size))) return std::nullopt;
  }
  const auto split = reshaped(c, widened(c, c.arg(0)), parts->sizes);
  return to(c, c.call("aten.sum.dim_IntList", {split, int_list(parts->inside)}), meta.dtype);
}
/// Arguments: gradient, output size, input size, then as those of the operator itself.
template <std::size_t kDims, Filter kFilter>
auto resample_backward(Composer& c) -> Datum {
  if (!is_floating(c.meta(0).dtype)) return c.unsupported("resampling of this dtype"), Datum{};
  const auto sizes = c.exprs(2);
  if (const auto sums = sums_of_parts<kDims, kFilter>(c)) return *sums;
  const auto grid = grid_of(c, kFilter, spatial(sizes, kDims), window_values(c, 1, kDims, 1), 3);
  if (!grid) return c.unsupported("a scale that is not the sizes'"), Datum{};
  return scattered(c, c.arg(0), *grid, sizes);
}

// ---- padding ------------------------------------------------------------------------------------

enum class Edge : std::uint8_t { reflect, replicate };

/// Which position of the input each position shows, of the last `kDims` dimensions.
template <std::size_t kDims, Edge kEdge>
auto edges(Composer& c, const Dims& sizes, const Dims& pads) -> Grid {
  Grid grid{.dims = {}, .dtype = summed_in(c)};
  for (std::size_t i = 0; i < kDims; ++i) {
    const auto from_end = kDims - 1 - i;
    const auto& size = sizes[sizes.size() - 1 - from_end];
    const auto &before = pads[2 * from_end], &after = pads[2 * from_end + 1];
    auto at = positions(c, -before, size + after, from_end);
    if constexpr (kEdge == Edge::replicate) {
      at = clamped(c, at, whole(0), {size - 1});
    } else {
      const auto mirrored =
          c.call("aten.rsub.Scalar", {c.call("aten.abs.default", {at}), {size - 1}});
      at = c.call("aten.rsub.Scalar", {c.call("aten.abs.default", {mirrored}), {size - 1}});
    }
    grid.dims.push_back({{at, {}}});
  }
  return grid;
}
template <std::size_t kDims, Edge kEdge>
auto padded(Composer& c) -> Datum {
  return gathered(c, c.arg(0), edges<kDims, kEdge>(c, c.meta(0).sizes, c.exprs(1)));
}
/// Arguments: gradient, input, padding.
template <std::size_t kDims, Edge kEdge>
auto padded_backward(Composer& c) -> Datum {
  if (!is_floating(c.meta(0).dtype)) return c.unsupported("a gradient of this dtype"), Datum{};
  const auto sizes = c.meta(1).sizes;
  return scattered(c, c.arg(0), edges<kDims, kEdge>(c, sizes, c.exprs(2)), sizes);
}

// ---- adaptive pools -----------------------------------------------------------------------------

/// Elements of the window that a dimension is divided into, as taps that count where they are
/// inside; nothing where sizes are not known.
auto uneven_taps(Composer& c, const Expr& in, const Expr& out, std::size_t behind) -> DimTaps {
  constexpr std::int64_t kMost = 8;
  const auto size = in.as_int(), parts = out.as_int();
  if (!size || !parts || *parts == 0) return {};
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < *parts; ++i)
    most = std::max(most, ((i + 1) * *size + *parts - 1) / *parts - i * *size / *parts);
  if (most > kMost) return {};
  const auto dtype = summed_in(c);
  const auto position = positions(c, 0, out, behind);
  const auto part_of = [&](const Datum& x) {
    return c.call("aten.floor_divide.default", {x, {out}});
  };
  const auto start = part_of(mul(c, position, {in}));
  const auto end = part_of(add(c, mul(c, position, {in}), {in + out - 1}));
  const auto count = sub(c, end, start);
  DimTaps taps;
  for (std::int64_t i = 0; i < most; ++i) {
    const auto at = i == 0 ? start : add(c, start, whole(i));
    const auto is_inside = to(c, c.call("aten.lt.Tensor", {at, end}), dtype);
    taps.push_back({clamped(c, at, {}, {in - 1}), divided(c, is_inside, to(c, count, dtype))});
  }
  return taps;
}
auto adaptive_pool(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  if (!is_floating(meta.dtype)) return c.unsupported("a pool of this dtype"), Datum{};
  const auto in = spatial(meta.sizes, 2), out = window_values(c, 1, 2, 1);
  const auto input = widened(c, c.arg(0));
  if (const auto parts = even_parts(meta.sizes, out)) {
    const auto split = reshaped(c, input, parts->sizes);
    return to(c, c.call("aten.mean.dim", {split, int_list(parts->inside)}), meta.dtype);
  }
  Grid grid;
  grid.dtype = c.meta(input).dtype;
  for (std::size_t i = 0; i < 2; ++i) {
    grid.dims.push_back(uneven_taps(c, in[i], out[i], 1 - i));
    if (grid.dims.back().empty()) return c.unsupported("windows that are not known"), Datum{};
  }
  return to(c, gathered(c, input, grid), meta.dtype);
}
/// Arguments: gradient, input. Of windows that divide the input evenly.
auto adaptive_pool_backward(Composer& c) -> Datum {
  const auto meta = c.meta(1);
  const auto parts = even_parts(meta.sizes, spatial(c.meta(0).sizes, 2));
  if (!parts || !is_floating(meta.dtype)) return c.unsupported("windows that overlap"), Datum{};
  auto count = Expr(1);
  auto single = parts->sizes;
  for (const auto dim : parts->inside) {
    auto& size = single[static_cast<std::size_t>(dim)];
    count = count * size;
    size = 1;
  }
  const auto share = reshaped(c, divided(c, widened(c, c.arg(0)), {count}), single);
  const auto spread = c.call("aten.expand.default", {share, int_list(parts->sizes)});
  return to(c, reshaped(c, spread, meta.sizes), meta.dtype);
}

// ---- windows as columns -------------------------------------------------------------------------

/// Arguments: input of [.., channels, height, width], kernel, dilation, padding, stride.
auto columns(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const auto dims = window_dims(c, {.kernel = 1, .stride = 4, .padding = 3, .dilation = 2}, 2);
  const auto rank = static_cast<std::int64_t>(meta.rank());
  if (rank < 3) return c.unsupported("columns of a plane"), Datum{};
  auto windows = c.arg(0);
  if (!dims[0].padding.is_int(0) || !dims[1].padding.is_int(0)) {
    const Dims amounts{dims[1].padding, dims[1].padding, dims[0].padding, dims[0].padding};
    windows = c.call("aten.constant_pad_nd.default", {windows, int_list(amounts), whole(0)});
  }
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto& [kernel, stride, padding, dilation] = dims[static_cast<std::size_t>(i)];
    const auto extent = dilation * (kernel - 1) + 1;
    windows = c.call("aten.unfold.default", {windows, whole(rank - 2 + i), {extent}, {stride}});
    if (!dilation.is_int(1))
      windows = c.call("aten.slice.Tensor", {windows, whole(-1), whole(0), {extent}, {dilation}});
  }
  Ints order;
  for (std::int64_t i = 0; i < rank - 2; ++i) order.push_back(i);
  for (const auto i : {rank, rank + 1, rank - 2, rank - 1}) order.push_back(i);
  const auto moved = c.call("aten.permute.default", {windows, int_list(order)});
  const auto sizes = c.meta(moved).sizes;
  Dims shape(sizes.begin(), sizes.end() - 5);
  const auto* last = &sizes[sizes.size() - 5];
  shape.push_back(last[0] * last[1] * last[2]);
  shape.push_back(last[3] * last[4]);
  return reshaped(c, moved, shape);
}

using enum Filter;
using enum Edge;
// clang-format off
constexpr std::array kRows = {
    ExpansionRow{"aten.upsample_nearest1d.default", resample<1, nearest>},
    ExpansionRow{"aten.upsample_nearest2d.default", resample<2, nearest>},
    ExpansionRow{"aten.upsample_nearest3d.default", resample<3, nearest>},
    ExpansionRow{"aten._upsample_nearest_exact1d.default", resample<1, nearest_exact>},
    ExpansionRow{"aten._upsample_nearest_exact2d.default", resample<2, nearest_exact>},
    ExpansionRow{"aten._upsample_nearest_exact3d.default", resample<3, nearest_exact>},
    ExpansionRow{"aten.upsample_linear1d.default", resample<1, linear>},
    ExpansionRow{"aten.upsample_bilinear2d.default", resample<2, linear>},
    ExpansionRow{"aten.upsample_trilinear3d.default", resample<3, linear>},
    ExpansionRow{"aten.upsample_bicubic2d.default", resample<2, cubic>},
    ExpansionRow{"aten.upsample_nearest1d_backward.default", resample_backward<1, nearest>},
    ExpansionRow{"aten.upsample_nearest2d_backward.default", resample_backward<2, nearest>},
    ExpansionRow{"aten.upsample_nearest3d_backward.default", resample_backward<3, nearest>},
    ExpansionRow{"aten._upsample_nearest_exact1d_backward.default", resample_backward<1, nearest_exact>},
    ExpansionRow{"aten._upsample_nearest_exact2d_backward.default", resample_backward<2, nearest_exact>},
    ExpansionRow{"aten._upsample_nearest_exact3d_backward.default", resample_backward<3, nearest_exact>},
    ExpansionRow{"aten.upsample_linear1d_backward.default", resample_backward<1, linear>},
    ExpansionRow{"aten.upsample_bilinear2d_backward.default", resample_backward<2, linear>},
    ExpansionRow{"aten.upsample_trilinear3d_backward.default", resample_backward<3, linear>},
    ExpansionRow{"aten.upsample_bicubic2d_backward.default", resample_backward<2, cubic>},
    ExpansionRow{"aten.reflection_pad1d.default", padded<1, reflect>},
    ExpansionRow{"aten.reflection_pad2d.default", padded<2, reflect>},
    ExpansionRow{"aten.reflection_pad3d.default", padded<3, reflect>},
    ExpansionRow{"aten.replication_pad1d.default", padded<1, replicate>},
    ExpansionRow{"aten.replication_pad2d.default", padded<2, replicate>},
    ExpansionRow{"aten.replication_pad3d.default", padded<3, replicate>},
    ExpansionRow{"aten.reflection_pad1d_backward.default", padded_backward<1, reflect>},
    ExpansionRow{"aten.reflection_pad2d_backward.default", padded_backward<2, reflect>},
    ExpansionRow{"aten.reflection_pad3d_backward.default", padded_backward<3, reflect>},
    ExpansionRow{"aten.replication_pad1d_backward.default", padded_backward<1, replicate>},
    ExpansionRow{"aten.replication_pad2d_backward.default", padded_backward<2, replicate>},
    ExpansionRow{"aten.replication_pad3d_backward.default", padded_backward<3, replicate>},
    ExpansionRow{"aten._adaptive_avg_pool2d.default", adaptive_pool},
    ExpansionRow{"aten._adaptive_avg_pool2d_backward.default", adaptive_pool_backward},
    ExpansionRow{"aten.im2col.default", columns},
};
// clang-format on

}  // namespace

auto resampling_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
