// Rearranging elements without index tensors: flip, roll, triangles, shuffles, windows.
// Rules: aten/src/ATen/native/TensorTransformations.cpp, TriangularOps.cpp, PixelShuffle.cpp,
// ChanelShuffle.cpp; the gradients of views: aten/src/ATen/native/TensorShape.cpp.
#include <algorithm>
#include <numeric>

#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- flip, roll, rot90 --------------------------------------------------------------------------

auto flip_rule(MetaCall& c) -> Datum {
  for (const auto dim : c.integers(1)) c.dim(dim, c.meta(0).rank());
  return preserved_like_self(c);
}
void flip_kernel(KernelCall& k) {
  Tensor mirrored = k.in(0);  // negative strides, only inside this kernel
  for (const auto value : k.integers(1)) {
    if (mirrored.rank() == 0) continue;
    const auto d = static_cast<std::size_t>(value < 0 ? value + mirrored.rank() : value);
    mirrored.meta.offset += (mirrored.meta.sizes[d] - 1) * mirrored.meta.strides[d];
    mirrored.meta.strides[d] *= -1;
  }
  move_elements(k.in(0), element_offsets(mirrored), k.out(), element_offsets(k.out()));
}

/// CUDA has no kernels that know formats: results are row-major, empty ones as well.
auto packed_on_cuda(Composer& c, const Datum& result) -> Datum {
  if (c.error() || !on_cuda(c.meta(0))) return result;
  const auto packed = c.call("aten.empty_like.default", {result, Datum{}, Datum{}, Datum{}, Datum{},
                                                         Datum{MemoryFormat::contiguous}});
  return c.call("aten.copy_.default", {packed, result});
}

/// One dimension: the two halves change places, joined by cat (whose layout it takes).
auto roll_dim(Composer& c, const Datum& self, const Expr& shift, std::int64_t dim) -> Datum {
  const auto meta = c.meta(self);
  auto layout = layout_call(c);
  const auto d = static_cast<std::size_t>(layout.dim(dim, meta.rank()));
  if (const auto& error = layout.error()) return c.fail(*error), Datum{};
  if (c.decide(eq(numel(meta), 0), "empty tensor")) return c.call("aten.clone.default", {self});
  const auto size = meta.rank() == 0 ? Expr(1) : meta.sizes[d];
  if (meta.rank() == 0) return c.call("aten.clone.default", {self});
  const auto start = mod(size - shift, size);
  const Datum at{Expr(static_cast<std::int64_t>(d))};
  const auto tail = c.call("aten.slice.Tensor", {self, at, Datum{start}, Datum{size}});
  const auto head = c.call("aten.slice.Tensor", {self, at, Datum{Expr(0)}, Datum{start}});
  return c.call("aten.cat.default", {Datum{DatumList{tail, head}}, at});
}
auto roll_cpu(Composer& c) -> Datum {
  const auto shifts = c.exprs(1);
  const auto dims = c.integers(2);
  const auto meta = c.meta(0);
  if (shifts.empty()) return c.fail("roll needs shifts"), Datum{};
  if (dims.empty() && shifts.size() == 1) {
    const auto packed = c.call("aten.contiguous.default", {c.arg(0)});
    const Dims flat_size{numel(meta)};
    const auto flat = c.call("aten.view.default", {packed, int_list(flat_size)});
    return c.call("aten.view.default", {roll_dim(c, flat, shifts[0], 0), int_list(meta.sizes)});
  }
  if (dims.size() != shifts.size()) return c.fail("roll needs as many shifts as dims"), Datum{};
  Datum result = c.arg(0);
  for (std::size_t i = 0; i < dims.size() && !c.error(); ++i)
    result = roll_dim(c, result, shifts[i], dims[i]);
  return result;
}
auto roll(Composer& c) -> Datum {
  return packed_on_cuda(c, roll_cpu(c));
}

auto rot90(Composer& c) -> Datum {
  const auto dims = c.integers(2);
  if (dims.size() != 2) return c.fail("rot90 needs two dims"), Datum{};
  const Datum first{Expr(dims[0])};
  const Datum second{Expr(dims[1])};
  const auto flipped = [&](const DatumList& which) {
    return c.call("aten.flip.default", {c.arg(0), Datum{which}});
  };
  switch (((c.integer(1) % 4) + 4) % 4) {
    case 1:
      return c.call("aten.transpose.int", {flipped({second}), first, second});
    case 2:
      return flipped({first, second});
    case 3:
      return c.call("aten.transpose.int", {flipped({first}), first, second});
    default:
      return c.call("aten.clone.default", {c.arg(0), Datum{MemoryFormat::contiguous}});
  }
}

// ---- triangles ----------------------------------------------------------------------------------

auto triangle_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).rank() >= 2, "tril and triu need two dimensions")) return {};
  return contiguous_like_self(c);
}
template <bool kUpper>
void triangle_kernel(KernelCall& k) {
  auto& out = k.out();
  auto from = element_offsets(k.in(0));
  const auto diagonal = k.integer(1);
  std::size_t at = 0;
  for_each_index(out.sizes(), [&](const Ints& index) {
    const auto distance = index[index.size() - 1] - index[index.size() - 2];
    const bool kept = kUpper ? distance >= diagonal : distance <= diagonal;
    if (!kept) from[at] = -1;
    ++at;
  });
  move_elements(k.in(0), from, out, element_offsets(out));
}

auto triangle_positions(bool upper, std::int64_t rows, std::int64_t columns, std::int64_t offset)
    -> std::vector<Ints> {
  std::vector<Ints> positions(2);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      if (upper ? j - i >= offset : j - i <= offset) {
        positions[0].push_back(i);
        positions[1].push_back(j);
      }
  return positions;
}
template <bool kUpper>
auto triangle_indices_rule(MetaCall& c) -> Datum {
  const int device = param(c, "device");
  if (const auto given = c.device(device)) c.set_device(*given);
  const auto rows = c.integer(0);
  const auto columns = c.integer(1);
  if (!c.require(rows >= 0 && columns >= 0, "sizes are not negative")) return {};
  constexpr std::int64_t kMostRows = std::int64_t{1} << 30;
  if (!c.require(rows <= kMostRows && columns <= kMostRows, "the triangle is small enough"))
    return {};
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto edge = std::clamp<std::int64_t>(i + c.integer(2) + (kUpper ? 0 : 1), 0, columns);
    count += kUpper ? columns - edge : edge;
  }
  return c.fresh(c.dtype(3).value_or(DType::int64), {2, count});
}
template <bool kUpper>
void triangle_indices_kernel(KernelCall& k) {
  const auto positions = triangle_positions(kUpper, k.integer(0), k.integer(1), k.integer(2));
  auto values = positions[0];
  values.insert(values.end(), positions[1].begin(), positions[1].end());
  from_vector<std::int64_t>(k.out(), values);
}

// ---- pixel and channel shuffles -----------------------------------------------------------------

/// Splits into dimensions, permutes them, joins them, in the layout self suggests.
auto reorder(Composer& c, const Dims& split, std::initializer_list<int> order, const Dims& sizes)
    -> Datum {
  auto layout = layout_call(c);
  const auto format = suggest_memory_format(layout, c.meta(0));
  DatumList dims;
  for (const int dim : order) dims.push_back({Expr(dim)});
  const auto parts = c.call("aten.reshape.default", {c.arg(0), int_list(split)});
  const auto moved = c.call("aten.permute.default", {parts, Datum{std::move(dims)}});
  const auto packed = c.call("aten.clone.default", {moved, Datum{MemoryFormat::contiguous}});
  auto joined = c.call("aten.view.default", {packed, int_list(sizes)});
  if (format == MemoryFormat::contiguous) return joined;
  return c.call("aten.clone.default", {joined, Datum{format}});
}
/// Leading dims are one batch; results get them back.
struct Batched {
  Dims lead;
  Expr batch, channels, height, width;
};
auto batched(const TensorMeta& meta) -> Batched {
  Batched b;
  const auto n = meta.sizes.size();
  b.lead.assign(meta.sizes.begin(), meta.sizes.end() - 3);
  b.batch = product(b.lead);
  b.channels = meta.sizes[n - 3];
  b.height = meta.sizes[n - 2];
  b.width = meta.sizes[n - 1];
  return b;
}
auto with_lead(Dims lead, const Dims& rest) -> Dims {
  lead.insert(lead.end(), rest.begin(), rest.end());
  return lead;
}
auto pixel_shuffle(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const Expr factor = c.integer(1);
  if (meta.rank() < 3) return c.fail("pixel_shuffle needs three dimensions"), Datum{};
  const auto b = batched(meta);
  if (c.integer(1) < 1 || !c.decide(eq(mod(b.channels, factor * factor), 0), "channels divide"))
    return c.fail("the channels are a multiple of the squared factor"), Datum{};
  const auto channels = floor_div(b.channels, factor * factor);
  return packed_on_cuda(
      c, reorder(c, {b.batch, channels, factor, factor, b.height, b.width}, {0, 1, 4, 2, 5, 3},
                 with_lead(b.lead, {channels, b.height * factor, b.width * factor})));
}
auto pixel_unshuffle(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const Expr factor = c.integer(1);
  if (meta.rank() < 3) return c.fail("pixel_unshuffle needs three dimensions"), Datum{};
  if (c.decide(eq(product(meta.sizes), 0), "an empty input is cloned, whatever the factor"))
    return packed_on_cuda(c, c.call("aten.clone.default", {c.arg(0)}));
  const auto b = batched(meta);
  if (c.integer(1) < 1 ||
      !c.decide(logic_and(eq(mod(b.height, factor), 0), eq(mod(b.width, factor), 0)),
                "sizes divide"))
    return c.fail("height and width are multiples of the factor"), Datum{};
  const auto height = floor_div(b.height, factor);
  const auto width = floor_div(b.width, factor);
  return packed_on_cuda(
      c, reorder(c, {b.batch, b.channels, height, factor, width, factor}, {0, 1, 3, 5, 2, 4},
                 with_lead(b.lead, {b.channels * factor * factor, height, width})));
}
auto channel_shuffle(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const auto groups = c.expr(1);
  if (meta.rank() < 3) return c.fail("channel_shuffle needs three dimensions"), Datum{};
  if (!c.decide(gt(groups, 0), "groups") ||
      !c.decide(eq(mod(meta.sizes[1], groups), 0), "channels divide"))
    return c.fail("the channels are a multiple of the groups"), Datum{};
  if (c.decide(eq(numel(meta), 0), "nothing to shuffle"))
    return c.call("aten.alias.default", {c.arg(0)});
  const Dims rest(meta.sizes.begin() + 2, meta.sizes.end());
  return packed_on_cuda(
      c, reorder(c, {meta.sizes[0], groups, floor_div(meta.sizes[1], groups), product(rest)},
                 {0, 2, 1, 3}, meta.sizes));
}

// ---- gradients of views, copies of views --------------------------------------------------------

/// Zeros of argument 1's sizes with the gradient written into a view of them.
auto zeros_for(Composer& c) -> Datum {
  return c.call("aten.new_zeros.default", {c.arg(0), c.arg(1)});
}
auto write_into(Composer& c, const Datum& base, const Datum& view) -> Datum {
  c.call("aten.copy_.default", {view, c.arg(0)});
  return base;
}
auto select_backward(Composer& c) -> Datum {
  const auto base = zeros_for(c);
  return write_into(c, base, c.call("aten.select.int", {base, c.arg(2), c.arg(3)}));
}
auto slice_backward(Composer& c) -> Datum {
  const auto base = zeros_for(c);
  return write_into(c, base,
                    c.call("aten.slice.Tensor", {base, c.arg(2), c.arg(3), c.arg(4), c.arg(5)}));
}
auto diagonal_backward(Composer& c) -> Datum {
  const auto base = zeros_for(c);
  return write_into(c, base, c.call("aten.diagonal.default", {base, c.arg(2), c.arg(3), c.arg(4)}));
}

/// The last dimension becomes a diagonal of new zeros.
auto diag_embed(Composer& c) -> Datum {
  const auto self = c.meta(0);
  const auto rank = self.rank() + 1;
  const auto dim1 = wrap_index(c.integer(2), rank);
  const auto dim2 = wrap_index(c.integer(3), rank);
  if (self.rank() == 0 || dim1 < 0 || dim2 < 0 || dim1 == dim2)
    return c.fail("diag_embed needs a vector and two dimensions of the result"), Datum{};
  const auto offset = c.integer(1);
  auto sizes = self.sizes;
  const Expr side = sizes.back() + (offset < 0 ? -offset : offset);
  sizes.pop_back();
  for (const auto dim : {std::min(dim1, dim2), std::max(dim1, dim2)})
    sizes.insert(sizes.begin() + dim, side);
  const auto base = c.call("aten.new_zeros.default", {c.arg(0), int_list(sizes)});
  return write_into(c, base,
                    c.call("aten.diagonal.default",
                           {base, Datum{Expr(offset)}, Datum{Expr(dim1)}, Datum{Expr(dim2)}}));
}

/// grad_in, input_sizes, dim, size, step.
auto unfold_backward_rule(MetaCall& c) -> Datum {
  const auto sizes = c.exprs(1);
  const auto size = c.expr(3);
  const auto step = c.expr(4);
  const auto d = static_cast<std::size_t>(c.dim_arg(2, static_cast<int>(sizes.size())));
  if (!c.require(gt(step, 0), "the step is positive")) return {};
  for (const auto& extent : sizes)
    if (!c.require(ge(extent, 0), "sizes are not negative")) return {};
  auto windows = sizes;
  if (!sizes.empty()) {
    if (!c.require(logic_and(ge(size, 0), le(size, sizes[d])), "the window fits the dimension"))
      return {};
    windows[d] = floor_div(sizes[d] - size, step) + 1;
  } else if (!c.require(logic_and(ge(size, 0), le(size, 1)), "the window fits the dimension")) {
    return {};
  }
  windows.push_back(size);
  if (!require_expands(c, c.meta(0).sizes, windows, "one gradient per window element")) return {};
  return c.fresh(c.meta(0).dtype, sizes);
}
/// Windows overlap, so their gradients add up.
void unfold_backward_kernel(KernelCall& k) {
  auto& out = k.out();
  const auto d = static_cast<std::size_t>(dim_of(k, 2, out.rank()));
  auto strides = contiguous_strides(out.sizes());
  if (out.rank() == 0) strides = {0};
  strides.push_back(strides[d]);
  strides[d] *= k.integer(4);
  if (out.rank() == 0) strides.erase(strides.begin());
  auto windows = out.sizes();
  if (out.rank() > 0) windows[d] = (windows[d] - k.integer(3)) / k.integer(4) + 1;
  windows.push_back(k.integer(3));
  const auto at = element_offsets(windows, strides, 0);
  with_compute_type(out.dtype(), [&]<class T>(T) {
    std::vector<T> sums(static_cast<std::size_t>(out.numel()), T(0));
    const auto grad = to_vector<T>(expanded_view(k.in(0), windows));
    for (std::size_t i = 0; i < at.size(); ++i) sums[static_cast<std::size_t>(at[i])] += grad[i];
    from_vector<T>(out, sums);
  });
}

/// X_copy: the view X, made contiguous. view_copy also takes strides that allow no view.
auto view_copy(Composer& c) -> Datum {
  auto name = c.row().name();
  name.erase(name.find("_copy"), 5);
  if (name == "aten.view.default") name = "aten.reshape.default";
  DatumList args(c.args().begin(), c.args().end());
  if (c.meta(0).lazy != Lazy::none) args[0] = c.call("aten.clone.default", {args[0]});
  const auto view = c.call(name, std::move(args));
  const auto copy = [&](const Datum& tensor) {
    return c.call("aten.clone.default", {tensor, Datum{MemoryFormat::contiguous}});
  };
  const auto* list = view.list();
  if (!list) return c.error() ? Datum{} : copy(view);
  DatumList copies;
  for (const auto& item : *list) copies.push_back(copy(item));
  return {std::move(copies)};
}
auto narrow_copy(Composer& c) -> Datum {
  const auto view = c.call("aten.narrow.default", DatumList(c.args().begin(), c.args().end()));
  return c.error() ? Datum{}
                   : c.call("aten.clone.default", {view, Datum{MemoryFormat::contiguous}});
}

}  // namespace

// clang-format off
void add_arrange_rows(OpTable& t) {
  t.add({.schema_text = "aten::flip(Tensor self, int[] dims) -> Tensor", .rule = flip_rule, .kernel = flip_kernel});
  t.add({.schema_text = "prims::rev(Tensor a, int[] dims) -> Tensor", .rule = flip_rule, .kernel = flip_kernel});
  t.add({.schema_text = "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", .decomposition = roll});
  t.add({.schema_text = "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", .decomposition = rot90});
  t.add({.schema_text = "aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", .rule = triangle_rule, .kernel = triangle_kernel<false>});
  t.add({.schema_text = "aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", .rule = triangle_rule, .kernel = triangle_kernel<true>});
  t.add({.schema_text = "aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", .rule = triangle_indices_rule<false>, .kernel = triangle_indices_kernel<false>});
  t.add({.schema_text = "aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", .rule = triangle_indices_rule<true>, .kernel = triangle_indices_kernel<true>});
  t.add({.schema_text = "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", .decomposition = pixel_shuffle});
  t.add({.schema_text = "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", .decomposition = pixel_unshuffle});
  t.add({.schema_text = "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", .decomposition = channel_shuffle});

  t.add({.schema_text = "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", .decomposition = select_backward});
  t.add({.schema_text = "aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor", .decomposition = slice_backward});
  t.add({.schema_text = "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", .decomposition = diag_embed});
  t.add({.schema_text = "aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor", .decomposition = diagonal_backward});
  t.add({.schema_text = "aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor", .rule = unfold_backward_rule, .kernel = unfold_backward_kernel});

  t.add({.schema_text = "aten::alias_copy(Tensor self) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", .decomposition = narrow_copy});
  t.add({.schema_text = "aten::permute_copy(Tensor self, int[] dims) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", .decomposition = view_copy});
  t.add({.schema_text = "aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", .decomposition = view_copy});
  t.add({.schema_text = "aten::squeeze_copy(Tensor self) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::t_copy(Tensor self) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", .decomposition = view_copy});
  t.add({.schema_text = "aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::view_copy(Tensor self, SymInt[] size) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::view_as_real_copy(Tensor self) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::view_as_complex_copy(Tensor self) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::_conj_copy(Tensor self) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::_neg_view_copy(Tensor self) -> Tensor", .decomposition = view_copy});
  t.add({.schema_text = "aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor", .decomposition = view_copy});
}
// clang-format on

}  // namespace assay
