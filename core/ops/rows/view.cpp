// Views: pure algebra on sizes, strides and offset. No kernels; the rule is all there is.
#include <algorithm>

#include "core/expr/text.h"
#include "core/ops/layout.h"
#include "core/ops/op_table.h"

namespace assay {
namespace {

auto at(const Dims& dims, int i) -> const Expr& {
  return dims[static_cast<std::size_t>(i)];
}
template <class T>
void erase_at(std::vector<T>& values, int i) {
  values.erase(values.begin() + i);
}
template <class T>
void insert_at(std::vector<T>& values, int i, T value) {
  values.insert(values.begin() + i, std::move(value));
}

auto view(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  auto sizes = infer_size(c, c.exprs(1), numel(self.meta));
  auto strides = view_strides(c, self.meta, sizes);
  if (c.error()) return {};
  if (!strides)
    return c.fail("the strides do not allow this view: a dimension spans two memory blocks"),
           Datum{};
  return MetaCall::view(self, std::move(sizes), *std::move(strides), self.meta.offset);
}

/// _unsafe_view: the layout of view() in a tensor that PyTorch treats as no alias; it still shares
/// the storage in fact.
auto unsafe_view(MetaCall& c) -> Datum {
  return view(c);
}

auto permuted(const FakeTensor& self, const std::vector<int>& order) -> Datum {
  Dims sizes;
  Dims strides;
  for (const int dim : order) {
    sizes.push_back(at(self.meta.sizes, dim));
    strides.push_back(at(self.meta.strides, dim));
  }
  return MetaCall::view(self, std::move(sizes), std::move(strides), self.meta.offset);
}

auto permute(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  std::vector<int> order;
  for (const auto value : c.integers(1)) {
    const int dim = c.dim(value, self.meta.rank());
    if (std::ranges::find(order, dim) != order.end())
      return c.fail(fmt::format("dimension {} appears twice", dim)), Datum{};
    order.push_back(dim);
  }
  if (!c.require(static_cast<int>(order.size()) == self.meta.rank(),
                 "dims must list every dimension"))
    return {};
  return permuted(self, order);
}

auto swapped(MetaCall& c, int a, int b) -> Datum {
  const auto& self = c.tensor(0);
  std::vector<int> order;
  for (int i = 0; i < self.meta.rank(); ++i) order.push_back(i);
  if (!order.empty())
    std::swap(order[static_cast<std::size_t>(a)], order[static_cast<std::size_t>(b)]);
  return permuted(self, order);
}
auto transpose(MetaCall& c) -> Datum {
  const int rank = c.meta(0).rank();
  return swapped(c, c.dim_arg(1, rank), c.dim_arg(2, rank));
}
auto t(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).rank() <= 2, "t() needs at most two dimensions")) return {};
  return swapped(c, 0, c.meta(0).rank() == 2 ? 1 : 0);
}

/// at::inferExpandGeometry.
auto expand(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  auto sizes = c.exprs(1);
  const auto lead = static_cast<int>(sizes.size()) - self.meta.rank();
  if (!c.require(lead >= 0, "expand needs at least as many sizes as dimensions")) return {};
  Dims strides(sizes.size());
  if (self.meta.rank() == 0)  // a single element: every stride is 0
    return MetaCall::view(self, std::move(sizes), std::move(strides), self.meta.offset);
  for (int i = static_cast<int>(sizes.size()) - 1; i >= 0; --i) {
    auto& size = sizes[static_cast<std::size_t>(i)];
    auto& stride = strides[static_cast<std::size_t>(i)];
    const int source = i - lead;
    if (source < 0) {
      if (!c.require(!size.is_int(-1), "-1 is not allowed in a new leading dimension")) return {};
      stride = 0;
      // A leading 1 keeps the stride a contiguous dimension would have.
      if (c.decide(eq(size, 1), "leading size in expand"))
        stride = i + 1 < static_cast<int>(sizes.size()) ? at(sizes, i + 1) * at(strides, i + 1)
                                                        : Expr(1);
      continue;
    }
    stride = at(self.meta.strides, source);
    const auto& own = at(self.meta.sizes, source);
    if (size.is_int(-1) || size == own) {
      size = own;
      continue;
    }
    if (c.decide(eq(own, 1), "expand of a size-1 dimension")) {
      if (c.decide(ne(size, 1), "expand of a size-1 dimension")) stride = 0;
      continue;
    }
    if (!c.require(eq(size, own), fmt::format("dimension {} expands", i))) return {};
  }
  return MetaCall::view(self, std::move(sizes), std::move(strides), self.meta.offset);
}

/// Start or end of a slice, Python semantics; None and huge values stand for the bound.
auto slice_bound(MetaCall& c, int arg, const Expr& size, const Expr& fallback, const Expr& low)
    -> Expr {
  if (!c.has(arg)) return fallback;
  auto value = c.expr(arg);
  if (const auto number = value.as_int(); number && *number == INT64_MAX) return size;
  if (value == size) return size;
  if (c.decide(lt(value, 0), "slice bound")) value = value + size;
  if (value != low && c.decide(lt(value, low), "slice bound")) return low;
  return value != size && c.decide(gt(value, size), "slice bound") ? size : value;
}

auto sliced(const FakeTensor& self, int dim, const Expr& start, const Expr& length,
            const Expr& step) -> Datum {
  auto sizes = self.meta.sizes;
  auto strides = self.meta.strides;
  const auto d = static_cast<std::size_t>(dim);
  const auto offset = self.meta.offset + start * strides[d];
  sizes[d] = length;
  strides[d] = strides[d] * step;
  return MetaCall::view(self, std::move(sizes), std::move(strides), offset);
}

auto slice(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  if (!c.require(self.meta.rank() > 0, "slice needs at least one dimension")) return {};
  const int dim = c.dim_arg(1, self.meta.rank());
  const auto& size = at(self.meta.sizes, dim);
  const auto step = c.expr(4);
  if (!c.require(gt(step, 0), "the step is positive")) return {};
  const auto start = slice_bound(c, 2, size, 0, 0);
  const auto end = slice_bound(c, 3, size, size, start);
  return sliced(self, dim, start, ceil_div(end - start, step), step);
}

auto select(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  if (!c.require(self.meta.rank() > 0, "select needs at least one dimension")) return {};
  const int dim = c.dim_arg(1, self.meta.rank());
  const auto& size = at(self.meta.sizes, dim);
  auto index = c.expr(2);
  if (!c.require(logic_and(ge(index, -size), lt(index, size)), "the index is in range")) return {};
  if (c.decide(lt(index, 0), "select index")) index = index + size;
  auto sizes = self.meta.sizes;
  auto strides = self.meta.strides;
  const auto offset = self.meta.offset + index * at(strides, dim);
  erase_at(sizes, dim);
  erase_at(strides, dim);
  return MetaCall::view(self, std::move(sizes), std::move(strides), offset);
}

/// Drops the marked dims where their size is 1.
auto squeezed(MetaCall& c, const std::vector<bool>& marked) -> Datum {
  const auto& self = c.tensor(0);
  Dims sizes;
  Dims strides;
  for (std::size_t i = 0; i < self.meta.sizes.size(); ++i) {
    if (marked[i] && c.decide(eq(self.meta.sizes[i], 1), "squeeze")) continue;
    sizes.push_back(self.meta.sizes[i]);
    strides.push_back(self.meta.strides[i]);
  }
  return MetaCall::view(self, std::move(sizes), std::move(strides), self.meta.offset);
}
auto squeeze(MetaCall& c) -> Datum {
  std::vector<bool> marked(c.meta(0).sizes.size(), c.args().size() == 1);
  if (c.args().size() == 1) return squeezed(c, marked);
  const auto dims = c.arg(1).list() ? c.integers(1) : Ints{c.integer(1)};
  for (const auto value : dims) {
    const int dim = c.dim(value, c.meta(0).rank());
    if (!marked.empty()) marked[static_cast<std::size_t>(dim)] = true;
  }
  return squeezed(c, marked);
}

auto unsqueeze(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  const int dim = c.dim_arg(1, self.meta.rank() + 1);
  auto sizes = self.meta.sizes;
  auto strides = self.meta.strides;
  const auto stride = dim < self.meta.rank() ? at(sizes, dim) * at(strides, dim) : Expr(1);
  insert_at(sizes, dim, Expr(1));
  insert_at(strides, dim, stride);
  return MetaCall::view(self, std::move(sizes), std::move(strides), self.meta.offset);
}

auto unbind(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  if (!c.require(self.meta.rank() > 0, "unbind needs at least one dimension")) return {};
  const int dim = c.dim_arg(1, self.meta.rank());
  const auto count = c.context().concrete(at(self.meta.sizes, dim), "unbind count");
  DatumList parts;
  for (std::int64_t i = 0; i < count; ++i) {
    auto sizes = self.meta.sizes;
    auto strides = self.meta.strides;
    const auto offset = self.meta.offset + Expr(i) * at(strides, dim);
    erase_at(sizes, dim);
    erase_at(strides, dim);
    parts.push_back(MetaCall::view(self, std::move(sizes), std::move(strides), offset));
  }
  return {std::move(parts)};
}

auto split(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  if (!c.require(self.meta.rank() > 0, "split needs at least one dimension")) return {};
  const int dim = c.dim_arg(2, self.meta.rank());
  const auto& size = at(self.meta.sizes, dim);
  const auto step = c.expr(1);
  if (c.decide(eq(step, 0), "split size")) {
    if (!c.require(eq(size, 0), "a split size of 0 needs an empty dimension")) return {};
    return {DatumList{sliced(self, dim, 0, size, 1)}};
  }
  if (!c.require(gt(step, 0), "the split size is positive")) return {};
  const auto count =
      std::max<std::int64_t>(c.context().concrete(ceil_div(size, step), "split count"), 1);
  DatumList parts;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto start = Expr(i) * step;
    parts.push_back(sliced(self, dim, start, i + 1 < count ? step : size - start, 1));
  }
  return {std::move(parts)};
}

auto split_with_sizes(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  if (!c.require(self.meta.rank() > 0, "split needs at least one dimension")) return {};
  const int dim = c.dim_arg(2, self.meta.rank());
  const auto lengths = c.exprs(1);
  if (!c.require(eq(sum(lengths), at(self.meta.sizes, dim)), "the split sizes add up")) return {};
  DatumList parts;
  Expr start(0);
  for (const auto& length : lengths) {
    parts.push_back(sliced(self, dim, start, length, 1));
    start = start + length;
  }
  return {std::move(parts)};
}

auto as_strided(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  auto sizes = c.exprs(1);
  auto strides = c.exprs(2);
  if (!c.require(sizes.size() == strides.size(), "as many strides as sizes")) return {};
  return MetaCall::view(self, std::move(sizes), std::move(strides),
                        c.has(3) ? c.expr(3) : self.meta.offset);
}

auto alias(MetaCall& c) -> Datum {
  return c.arg(0);
}

auto diagonal(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  const int dim1 = c.dim_arg(2, self.meta.rank());
  const int dim2 = c.dim_arg(3, self.meta.rank());
  if (!c.require(dim1 != dim2, "the two dimensions differ")) return {};
  const auto shift = c.integer(1);
  auto sizes = self.meta.sizes;
  auto strides = self.meta.strides;
  const auto rows = at(sizes, dim1) - Expr(shift < 0 ? -shift : 0);
  const auto columns = at(sizes, dim2) - Expr(shift > 0 ? shift : 0);
  const auto length = c.decide(lt(rows, columns), "diagonal length") ? rows : columns;
  const bool empty = c.decide(le(length, 0), "diagonal length");
  auto offset = self.meta.offset;
  if (!empty)
    offset = offset + Expr(shift >= 0 ? shift : -shift) * at(strides, shift >= 0 ? dim2 : dim1);
  const auto stride = at(strides, dim1) + at(strides, dim2);
  for (const int dim : {std::max(dim1, dim2), std::min(dim1, dim2)}) {
    erase_at(sizes, dim);
    erase_at(strides, dim);
  }
  sizes.push_back(empty ? Expr(0) : length);
  strides.push_back(stride);
  return MetaCall::view(self, std::move(sizes), std::move(strides), offset);
}

auto unfold(MetaCall& c) -> Datum {
  const auto& self = c.tensor(0);
  const int dim = c.dim_arg(1, self.meta.rank());
  const auto size = c.expr(2);
  const auto step = c.expr(3);
  if (!c.require(gt(step, 0), "the step is positive")) return {};
  auto sizes = self.meta.sizes;
  auto strides = self.meta.strides;
  if (sizes.empty()) return MetaCall::view(self, {size}, {Expr(1)}, self.meta.offset);
  const auto d = static_cast<std::size_t>(dim);
  if (!c.require(le(size, sizes[d]), "the window fits the dimension")) return {};
  sizes.push_back(size);
  strides.push_back(strides[d]);
  sizes[d] = floor_div(sizes[d] - size, step) + 1;
  strides[d] = strides[d] * step;
  return MetaCall::view(self, std::move(sizes), std::move(strides), self.meta.offset);
}

/// Complex as pairs of reals and back: element units change, so strides and offset scale.
auto view_as_real(MetaCall& c) -> Datum {
  auto self = c.tensor(0);
  if (!c.require(is_complex(self.meta.dtype), "a complex tensor is needed") ||
      !c.require(self.meta.lazy == Lazy::none || self.meta.lazy == Lazy::negated,
                 "a tensor that is to be conjugated has no pairs"))
    return {};
  auto sizes = self.meta.sizes;
  auto strides = self.meta.strides;
  for (auto& stride : strides) stride = stride * 2;
  sizes.emplace_back(2);
  strides.emplace_back(1);
  const auto offset = self.meta.offset * 2;
  self.meta.dtype = real_of(self.meta.dtype);
  return MetaCall::view(self, std::move(sizes), std::move(strides), offset);
}
auto view_as_complex(MetaCall& c) -> Datum {
  auto self = c.tensor(0);
  const auto dtype = is_floating(self.meta.dtype) ? complex_of(self.meta.dtype) : std::nullopt;
  if (!dtype) return c.fail("a float16, float32 or float64 tensor is needed"), Datum{};
  if (!c.require(self.meta.rank() > 0, "a last dimension of size 2 is needed")) return {};
  auto sizes = self.meta.sizes;
  auto strides = self.meta.strides;
  if (!c.require(eq(sizes.back(), 2), "the last dimension has size 2")) return {};
  if (!c.require(eq(strides.back(), 1), "the last dimension has stride 1")) return {};
  sizes.pop_back();
  strides.pop_back();
  for (auto& stride : strides) {
    if (!c.require(eq(mod(stride, 2), 0), "strides are even")) return {};
    stride = floor_div(stride, 2);
  }
  if (!c.require(eq(mod(self.meta.offset, 2), 0), "the offset is even")) return {};
  const auto offset = floor_div(self.meta.offset, 2);
  self.meta.dtype = *dtype;
  return MetaCall::view(self, std::move(sizes), std::move(strides), offset);
}

/// Views that conjugate or negate what is read through them.
auto conjugated_view(MetaCall& c) -> Datum {
  auto self = c.tensor(0);
  if (!c.require(is_complex(self.meta.dtype), "a complex tensor is needed")) return {};
  self.meta.lazy = self.meta.lazy ^ Lazy::conjugated;
  return {std::move(self)};
}
auto negated_view(MetaCall& c) -> Datum {
  auto self = c.tensor(0);
  self.meta.lazy = self.meta.lazy ^ Lazy::negated;
  return {std::move(self)};
}

/// view.dtype: same bytes, other element type; the last dimension scales with the element size.
auto view_dtype(MetaCall& c) -> Datum {
  auto self = c.tensor(0);
  const auto dtype = c.dtype(1).value_or(self.meta.dtype);
  const int from = size_bytes(self.meta.dtype);
  const int to = size_bytes(dtype);
  auto sizes = self.meta.sizes;
  auto strides = self.meta.strides;
  auto offset = self.meta.offset;
  self.meta.dtype = dtype;
  if (from == to) return MetaCall::view(self, std::move(sizes), std::move(strides), offset);
  if (!c.require(!sizes.empty(), "a tensor without dimensions keeps its element size")) return {};
  if (!c.require(eq(strides.back(), 1), "the last dimension has stride 1")) return {};
  const bool smaller = to < from;
  const Expr ratio(smaller ? from / to : to / from);
  const auto scale = [&](const Expr& value) {
    if (smaller) return value * ratio;
    c.require(eq(mod(value, ratio), 0), "sizes, strides and offset divide by the element ratio");
    return floor_div(value, ratio);
  };
  sizes.back() = scale(sizes.back());
  for (std::size_t i = 0; i + 1 < strides.size(); ++i) strides[i] = scale(strides[i]);
  offset = scale(offset);
  return MetaCall::view(self, std::move(sizes), std::move(strides), offset);
}

}  // namespace

// clang-format off
void add_view_rows(OpTable& table) {
  table.add({.schema_text = "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", .rule = view});
  table.add({.schema_text = "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", .rule = view_dtype});
  table.add({.schema_text = "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", .rule = unsafe_view});
  table.add({.schema_text = "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", .rule = permute});
  table.add({.schema_text = "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", .rule = transpose});
  table.add({.schema_text = "aten::t(Tensor(a) self) -> Tensor(a)", .rule = t});
  table.add({.schema_text = "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", .rule = expand});
  table.add({.schema_text = "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", .rule = slice});
  table.add({.schema_text = "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", .rule = select});
  table.add({.schema_text = "aten::squeeze(Tensor(a) self) -> Tensor(a)", .rule = squeeze});
  table.add({.schema_text = "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", .rule = squeeze});
  table.add({.schema_text = "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", .rule = squeeze});
  table.add({.schema_text = "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", .rule = unsqueeze});
  table.add({.schema_text = "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", .rule = unbind});
  table.add({.schema_text = "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", .rule = split});
  table.add({.schema_text = "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", .rule = split_with_sizes});
  table.add({.schema_text = "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)", .rule = as_strided});
  table.add({.schema_text = "aten::alias(Tensor(a) self) -> Tensor(a)", .rule = alias});
  table.add({.schema_text = "aten::detach(Tensor(a) self) -> Tensor(a)", .rule = alias});
  table.add({.schema_text = "aten::lift_fresh(Tensor(a) self) -> Tensor(a)", .rule = alias});
  table.add({.schema_text = "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", .rule = diagonal});
  table.add({.schema_text = "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", .rule = unfold});
  table.add({.schema_text = "aten::_conj(Tensor(a) self) -> Tensor(a)", .rule = conjugated_view});
  table.add({.schema_text = "aten::_neg_view(Tensor(a) self) -> Tensor(a)", .rule = negated_view});
  table.add({.schema_text = "aten::view_as_real(Tensor(a) self) -> Tensor(a)", .rule = view_as_real});
  table.add({.schema_text = "aten::view_as_complex(Tensor(a) self) -> Tensor(a)", .rule = view_as_complex});
}
// clang-format on

}  // namespace assay
