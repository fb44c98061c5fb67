// Pools and depthwise convolutions over windows as one expression per element: a padded input, one
// view of it per tap of the window, and what folds the taps. Windows of more taps stay library
// calls.
#include <cstdlib>
#include <limits>
#include <optional>

#include "compiler/lower/expansions.h"
#include "core/ops/window.h"

namespace assay::expansions {
namespace {

constexpr std::int64_t kMostTaps = 64;

/// The last two dimensions of a window whose numbers are known.
struct Taps {
  struct Dim {
    std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
    std::int64_t behind = 0;  ///< padding behind the input
    /// Positions of the window, where `behind` may leave room for another one.
    std::optional<Expr> positions = {};
    [[nodiscard]] auto extent() const -> std::int64_t { return dilation * (kernel - 1) + 1; }
  };
  std::array<Dim, 2> dims;
  [[nodiscard]] auto count() const -> std::int64_t { return dims[0].kernel * dims[1].kernel; }
  [[nodiscard]] auto is_padded() const -> bool {
    return dims[0].padding + dims[1].padding + dims[0].behind + dims[1].behind > 0;
  }
};

/// The sizes that the window moves over.
auto places(Composer& c) -> Dims {
  const auto sizes = c.meta(0).sizes;
  return {sizes.end() - 2, sizes.end()};
}
/// Windows that go past the padding (`ceil_mode`) are padded behind the input, as far as any may
/// go.
auto taps_of(Composer& c, const WindowArgs& at) -> std::optional<Taps> {
  Taps taps;
  const auto rank = c.meta(0).rank();
  if (rank < 3 || !is_floating(c.meta(0).dtype)) return std::nullopt;
  const auto dims = window_dims(c, at, 2);
  const auto sizes = places(c);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto kernel = dims[i].kernel.as_int(), stride = dims[i].stride.as_int();
    const auto padding = dims[i].padding.as_int(), dilation = dims[i].dilation.as_int();
    if (!kernel || !stride || !padding || !dilation) return std::nullopt;
    auto& dim = taps.dims[i];
    dim = {.kernel = *kernel, .stride = *stride, .padding = *padding, .dilation = *dilation};
    dim.behind = *padding;
    if (at.ceil_mode < 0 || !c.flag(at.ceil_mode)) continue;
    // As window_count says.
    auto count =
        floor_div(sizes[i] + (2 * *padding - dim.extent() + *stride - 1), Expr(*stride)) + 1;
    const auto last = (count - 1) * Expr(*stride);
    if (c.decide(ge(last, sizes[i] + *padding), "the last window would begin behind the input"))
      count = count - 1;
    dim.behind = *padding + *stride - 1;
    dim.positions = count;
  }
  if (taps.count() > kMostTaps) return std::nullopt;
  return taps;
}

/// What lies under the window at each of its positions: rows and columns of the window are two
/// dimensions more.
auto windows_of(Composer& c, const Datum& input, const Taps& taps, double filler) -> Datum {
  const auto& [high, wide] = taps.dims;
  auto padded = input;
  if (taps.is_padded()) {
    const Ints amounts{wide.padding, wide.behind, high.padding, high.behind};
    padded = c.call("aten.constant_pad_nd.default", {input, int_list(amounts), real(filler)});
  }
  // Of what the rows have left the columns are the last but one as well.
  for (const auto& dim : taps.dims)
    padded =
        c.call("aten.unfold.default", {padded, whole(-2), whole(dim.extent()), whole(dim.stride)});
  return padded;
}
/// What lies under each tap, row-major by tap.
auto under(Composer& c, const Datum& input, const Taps& taps, double filler) -> DatumList {
  const auto& [high, wide] = taps.dims;
  const auto windows = windows_of(c, input, taps, filler);
  DatumList result;
  for (std::int64_t i = 0; i < high.kernel; ++i) {
    const auto row = c.call("aten.select.int", {windows, whole(-2), whole(i * high.dilation)});
    for (std::int64_t j = 0; j < wide.kernel; ++j)
      result.push_back(c.call("aten.select.int", {row, whole(-1), whole(j * wide.dilation)}));
  }
  return result;
}

/// 0, 1, ... for the positions of a window in one dimension, times its stride, less its padding:
/// of [positions, 1] for rows, [positions] for columns.
auto starts(Composer& c, const Taps& taps, std::size_t dim, const Expr& positions) -> Datum {
  const auto count = c.call("aten.arange.default", {{positions}});
  const auto line = dim == 0 ? c.call("aten.unsqueeze.default", {count, whole(-1)}) : count;
  const auto& window = taps.dims[dim];
  return sub(c, mul(c, line, whole(window.stride)), whole(window.padding));
}

/// The largest and a number that says which it is: `row` per row of the window and `column` per
/// column. NaN is larger than all; of equal ones the first.
auto largest(Composer& c, const Taps& taps, const Expr& row, const Expr& column)
    -> std::pair<Datum, Datum> {
  const auto under_taps = under(c, c.arg(0), taps, -std::numeric_limits<double>::infinity());
  const auto sizes = c.meta(under_taps[0]).sizes;
  const auto number = [&](const Expr& value) {
    return c.call("aten.scalar_tensor.default", {{value}, {DType::int64}});
  };
  // Where nothing is larger than the padding, it is the first tap inside.
  auto which = number(0);
  for (std::size_t dim = 0; dim < 2; ++dim) {
    if (taps.dims[dim].padding == 0) continue;
    const auto start = starts(c, taps, dim, sizes[sizes.size() - 2 + dim]);
    const auto outside =
        c.call("aten.clamp.default", {c.call("aten.neg.default", {start}), whole(0)});
    which = add(c, which, mul(c, outside, {dim == 0 ? row : column}));
  }
  auto value = under_taps[0];
  for (std::size_t i = 1; i < under_taps.size(); ++i) {
    const auto& next = under_taps[i];
    const auto at = static_cast<std::int64_t>(i);
    const auto is_nan = c.call("aten.ne.Tensor", {next, next});
    const auto is_larger =
        c.call("aten.logical_or.default", {c.call("aten.gt.Tensor", {next, value}), is_nan});
    value = c.call("aten.where.self", {is_larger, next, value});
    const auto columns = taps.dims[1].kernel;
    const auto name = number(Expr(at / columns) * row + Expr(at % columns) * column);
    which = c.call("aten.where.self", {is_larger, name, which});
  }
  if (under_taps.size() == 1)  // nothing was compared that has all positions
    which = c.call("aten.expand.default", {which, int_list(sizes)});
  return {value, which};
}
/// Taps inside the input are counted by steps of one.
auto is_countable(const Taps& taps) -> bool {
  return std::ranges::all_of(
      taps.dims, [](const Taps::Dim& dim) { return dim.padding == 0 || dim.dilation == 1; });
}

}  // namespace

auto max_pool_with_offsets(Composer& c) -> Datum {
  const auto taps = taps_of(c, {1, 2, 3, 4, 5});
  if (!taps || !is_countable(*taps)) return c.unsupported("a pool of this kind"), Datum{};
  const auto [value, which] = largest(c, *taps, taps->dims[1].kernel, 1);
  return {DatumList{value, to(c, which, DType::int8)}};
}

auto max_pool_with_indices(Composer& c) -> Datum {
  const auto taps = taps_of(c, {1, 2, 3, 4, 5});
  if (!taps || !is_countable(*taps)) return c.unsupported("a pool of this kind"), Datum{};
  const auto width = places(c)[1];
  auto [value, which] =
      largest(c, *taps, Expr(taps->dims[0].dilation) * width, Expr(taps->dims[1].dilation));
  const auto sizes = c.meta(value).sizes;
  const auto rows = mul(c, starts(c, *taps, 0, sizes[sizes.size() - 2]), {width});
  const auto first = add(c, rows, starts(c, *taps, 1, sizes[sizes.size() - 1]));
  return {DatumList{value, add(c, which, first)}};
}

/// Arguments behind the window: ceil_mode, count_include_pad, divisor_override. What only ceil_mode
/// adds behind the padding is never counted.
auto avg_pool(Composer& c) -> Datum {
  const auto taps = taps_of(c, {1, 2, 3, -1, 4});
  if (!taps) return c.unsupported("a pool of this kind"), Datum{};
  const auto under_taps = under(c, widened(c, c.arg(0)), *taps, 0);
  auto sum = under_taps[0];
  for (std::size_t i = 1; i < under_taps.size(); ++i) sum = add(c, sum, under_taps[i]);
  auto divisor = whole(taps->count());
  if (c.has(6)) {
    divisor = c.arg(6);
  } else if (c.flag(4) || (!c.flag(5) && taps->is_padded())) {
    const auto sizes = c.meta(sum).sizes;
    for (std::size_t dim = 0; dim < 2; ++dim) {
      const auto& window = taps->dims[dim];
      const auto start = starts(c, *taps, dim, sizes[sizes.size() - 2 + dim]);
      const auto counted = places(c)[dim] + (c.flag(5) ? window.padding : 0);
      const auto end =
          c.call("aten.clamp.default", {add(c, start, whole(window.kernel)), {}, {counted}});
      const auto begin = c.flag(5) ? start : c.call("aten.clamp.default", {start, whole(0)});
      const auto inside = sub(c, end, begin);
      divisor = dim == 0 ? inside : mul(c, divisor, inside);
    }
  }
  return to(c, c.call("aten.div.Tensor", {sum, divisor}), c.meta(0).dtype);
}

namespace {

/// The window of a convolution whose channels are apart from each other, of which libraries take
/// one by one on a GPU, or which they refuse. `at`: where stride, padding, dilation, transposed,
/// output_padding and groups begin. Convolutions over one dimension have another of size 1.
auto depthwise_taps(Composer& c, const TensorMeta& input, const TensorMeta& weight, int at)
    -> std::optional<Taps> {
  const auto rank = input.rank();
  const auto channels = weight.sizes.empty() ? std::nullopt : weight.sizes[0].as_int();
  if (!channels || (rank != 3 && rank != 4) || weight.rank() != rank || !is_floating(input.dtype) ||
      c.flag(at + 3) || input.device.type != "cuda" || c.expr(at + 5).as_int() != channels ||
      input.sizes[1] != weight.sizes[0])
    return c.unsupported("a convolution of this kind"), std::nullopt;
  Taps taps;
  const std::size_t dims = rank == 4 ? 2 : 1;
  for (std::size_t i = 0; i < dims; ++i) {
    const auto number = [&](int arg) {
      const auto given = c.exprs(arg);
      return given.empty() ? std::nullopt : given[std::min(i, given.size() - 1)].as_int();
    };
    const auto kernel = weight.sizes[2 + i].as_int();
    const auto stride = number(at), padding = number(at + 1), dilation = number(at + 2);
    if (!kernel || !stride || !padding || !dilation || *padding < 0)
      return c.unsupported("a convolution whose window is not known"), std::nullopt;
    taps.dims[i + 2 - dims] = {.kernel = *kernel,
                               .stride = *stride,
                               .padding = *padding,
                               .dilation = *dilation,
                               .behind = *padding};
  }
  if (taps.count() > kMostTaps) return c.unsupported("a convolution of many taps"), std::nullopt;
  return taps;
}
/// In float32 at least, with two places.
auto with_two_places(Composer& c, const Datum& x) -> Datum {
  const auto made = widened(c, x);
  return c.meta(made).rank() == 3 ? c.call("aten.unsqueeze.default", {made, whole(-2)}) : made;
}
auto as_before(Composer& c, const Datum& x, int rank, DType dtype) -> Datum {
  return to(c, rank == 3 ? c.call("aten.squeeze.dim", {x, whole(-2)}) : x, dtype);
}
/// What lies under the taps, each times its number of `weight` [channels, 1, rows, columns], added
/// to `sum`; the last tap's first where they are turned round.
auto weighted(Composer& c, const DatumList& under_taps, const Taps& taps, const Datum& weight,
              bool is_turned, std::optional<Datum> sum) -> Datum {
  const auto channels = c.meta(weight).sizes[0];
  for (std::size_t i = 0; i < under_taps.size(); ++i) {
    const auto at = is_turned ? under_taps.size() - 1 - i : i;
    const auto [row, column] = std::div(static_cast<std::int64_t>(at), taps.dims[1].kernel);
    const auto of_row = c.call("aten.select.int", {weight, whole(-2), whole(row)});
    const auto of_tap = c.call("aten.select.int", {of_row, whole(-1), whole(column)});
    const auto part = mul(c, under_taps[i], reshaped(c, of_tap, {channels, 1, 1}));
    sum = sum ? add(c, *sum, part) : part;
  }
  return *sum;
}

/// The gradient of the input: that of the result, spread by the stride, under the window turned
/// round.
auto input_gradient(Composer& c, const Datum& grad, const Datum& weight, const Taps& taps,
                    const Dims& sizes) -> Datum {
  auto spread = grad;
  Taps back = taps;
  for (std::size_t i = 0; i < 2; ++i) {
    auto& dim = back.dims[i];
    dim.padding = dim.behind = dim.extent() - 1 - dim.padding;
    dim.stride = 1;
  }
  const auto& [high, wide] = taps.dims;
  if (high.stride > 1 || wide.stride > 1) {
    auto apart = c.meta(grad).sizes;  // N, C, H, 1, W, 1
    auto merged = apart;
    merged[2] = merged[2] * high.stride;
    merged[3] = merged[3] * wide.stride;
    apart.insert(apart.begin() + 3, Expr(1));
    apart.emplace_back(1);
    const Ints zeros{0, wide.stride - 1, 0, 0, 0, high.stride - 1};
    spread = c.call("aten.constant_pad_nd.default",
                    {reshaped(c, grad, apart), int_list(zeros), real(0)});
    spread = reshaped(c, spread, merged);
  }
  auto made = weighted(c, under(c, spread, back, 0), back, weight, true, {});
  // What the window has not reached, or not to the end, is cut off.
  for (int dim = 2; dim < 4; ++dim)
    made = c.call("aten.slice.Tensor",
                  {made, whole(dim), whole(0), {sizes[static_cast<std::size_t>(dim)]}});
  return made;
}

/// Sums over batch and places of the gradient times what lies under each tap: of a row of taps
/// together, which share what they read.
auto weight_gradient(Composer& c, const Datum& grad, const Datum& input, const Taps& taps)
    -> Datum {
  const auto& [high, wide] = taps.dims;
  const auto windows =
      c.call("aten.slice.Tensor", {windows_of(c, input, taps, 0), whole(-2), whole(0),
                                   whole(high.extent()), whole(high.dilation)});
  const auto given = c.call("aten.unsqueeze.default", {grad, whole(-1)});
  DatumList columns;
  for (std::int64_t j = 0; j < wide.kernel; ++j) {
    const auto rows = c.call("aten.select.int", {windows, whole(-1), whole(j * wide.dilation)});
    const auto sums =
        c.call("aten.sum.dim_IntList", {mul(c, rows, given), int_list(Ints{0, 2, 3})});
    columns.push_back(c.call("aten.unsqueeze.default", {sums, whole(-1)}));
  }
  return c.call("aten.cat.default", {{std::move(columns)}, whole(-1)});
}

}  // namespace

/// Arguments: input, weight, bias, stride, padding, dilation, transposed, output_padding, groups.
auto depthwise_convolution(Composer& c) -> Datum {
  const auto input = c.meta(0);
  const auto taps = depthwise_taps(c, input, c.meta(1), 3);
  if (!taps) return {};
  const auto under_taps = under(c, with_two_places(c, c.arg(0)), *taps, 0);
  std::optional<Datum> sum;
  if (c.has(2)) sum = reshaped(c, widened(c, c.arg(2)), {c.meta(2).sizes[0], 1, 1});
  const auto weight = with_two_places(c, c.arg(1));
  return as_before(c, weighted(c, under_taps, *taps, weight, false, sum), input.rank(),
                   input.dtype);
}

/// The bias' gradient of halves on CUDA apart, which the library there does not make.
auto convolution_backward_in_parts(Composer& c) -> Datum {
  constexpr int kMask = 10;
  auto dims = Ints{0};
  for (std::int64_t d = 2; d < c.meta(0).rank(); ++d) dims.push_back(d);
  const auto sum = c.call("aten.sum.dim_IntList", {widened(c, c.arg(0)), int_list(dims)});
  DatumList results = {Datum{}, Datum{}, to(c, sum, c.meta(0).dtype)};
  const auto wants = c.flags(kMask);
  if (!wants[0] && !wants[1]) return {std::move(results)};
  DatumList args(c.args().begin(), c.args().end());
  args[kMask] = {DatumList{truth(wants[0]), truth(wants[1]), truth(false)}};
  const auto rest = c.call("aten.convolution_backward.default", std::move(args));
  for (std::size_t i = 0; i < 2; ++i)
    if (wants[i]) results[i] = c.item(rest, i);
  return {std::move(results)};
}

/// Arguments: gradient, input, weight, sizes of the bias, the window, which gradients are wanted.
auto convolution_backward(Composer& c) -> Datum {
  const auto input = c.meta(1), weight = c.meta(2);
  if (is_half(input.dtype) && input.device.type == "cuda" && c.flags(10)[2])
    return convolution_backward_in_parts(c);
  const auto taps = depthwise_taps(c, input, weight, 4);
  if (!taps) return {};
  for (const auto& dim : taps->dims)
    if (dim.extent() - 1 < dim.padding)
      return c.unsupported("padding that no window reaches over"), Datum{};
  const auto grad = with_two_places(c, c.arg(0));
  const auto wants = c.flags(10);
  DatumList results(3);
  if (wants[0]) {
    const auto x = with_two_places(c, c.arg(1));
    const auto made = input_gradient(c, grad, with_two_places(c, c.arg(2)), *taps, c.meta(x).sizes);
    results[0] = as_before(c, made, input.rank(), input.dtype);
  }
  if (wants[1]) {
    const auto made = weight_gradient(c, grad, with_two_places(c, c.arg(1)), *taps);
    results[1] = to(c, reshaped(c, made, weight.sizes), weight.dtype);
  }
  if (wants[2])
    results[2] =
        to(c, c.call("aten.sum.dim_IntList", {grad, int_list(Ints{0, 2, 3})}), c.meta(0).dtype);
  return {std::move(results)};
}

}  // namespace assay::expansions
