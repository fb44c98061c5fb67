// Functions on whole arrays, most of them NumPy's: splitting, products of sets, powers, padding of
// sequences (aten/src/ATen/native/LinearAlgebra.cpp, TensorShape.cpp, TensorFactories.cpp,
// Cross.cpp, PackedSequence.cpp, Fill.cpp, ExpandUtils.cpp, Repeat.cpp).
#include <algorithm>

#include "core/ops/composing.h"

namespace assay {
namespace {

// ---- splitting ----------------------------------------------------------------------------------

/// Cut before each index, as slices cut: out of range is nothing.
auto split_at(Composer& c, const Dims& indices, std::int64_t dim) -> Datum {
  const auto self = c.meta(0);
  const auto at = wrapped_dim(c, dim, self.rank());
  if (c.error() || self.rank() == 0) return c.fail("a dimension to split is needed"), Datum{};
  DatumList parts;
  Expr begin(0);
  for (std::size_t i = 0; i <= indices.size(); ++i) {
    const Expr end = i < indices.size() ? indices[i] : self.sizes[at];
    parts.push_back(c.call("aten.slice.Tensor", {c.arg(0), integer(static_cast<std::int64_t>(at)),
                                                 Datum{begin}, Datum{end}}));
    begin = end;
  }
  return {std::move(parts)};
}
/// So many parts, the first ones an element longer where it does not come out even.
auto split_into(Composer& c, std::int64_t count, std::int64_t dim) -> Datum {
  const auto self = c.meta(0);
  const auto at = wrapped_dim(c, dim, self.rank());
  if (c.error() || self.rank() == 0) return c.fail("a dimension to split is needed"), Datum{};
  constexpr std::int64_t kMostParts = 1 << 24;
  if (count < 1 || count > kMostParts) return c.fail("at least one part is needed"), Datum{};
  const auto& size = self.sizes[at];
  const auto each = floor_div(size, count);
  const auto longer = size - each * count;
  Dims indices;
  for (std::int64_t i = 1; i < count; ++i) indices.push_back(each * i + min(longer, Expr(i)));
  return split_at(c, indices, dim);
}
auto tensor_split(Composer& c) -> Datum {
  return c.arg(1).list() ? split_at(c, c.exprs(1), c.integer(2))
                         : split_into(c, c.integer(1), c.integer(2));
}
/// hsplit, vsplit, dsplit: along the second, first, third dimension; what is counted divides
/// evenly.
template <std::int64_t kDim>
auto split_along(Composer& c) -> Datum {
  const auto self = c.meta(0);
  if (self.rank() <= (kDim == 0 ? 1 : kDim == 1 ? 0 : kDim))
    return c.fail("self has too few dimensions"), Datum{};
  const std::int64_t dim = self.rank() == 1 ? 0 : kDim;
  if (c.arg(1).list()) return split_at(c, c.exprs(1), dim);
  const auto count = c.integer(1);
  if (count < 1 || !c.decide(eq(mod(self.sizes[static_cast<std::size_t>(dim)], count), 0),
                             "the parts are equal"))
    return c.fail("the dimension is a multiple of the parts"), Datum{};
  return split_into(c, count, dim);
}

// ---- products of sets ---------------------------------------------------------------------------

/// [a0, b0, a1, b1, ...]: each dimension of self beside the same one of other.
auto kron(Composer& c) -> Datum {
  const auto a = c.meta(0).sizes;
  const auto b = c.meta(1).sizes;
  const auto rank = std::max(a.size(), b.size());
  Dims apart_a, apart_b, sizes;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto size_of = [&](const Dims& dims) {
      return i + dims.size() < rank ? Expr(1) : dims[i + dims.size() - rank];
    };
    apart_a.insert(apart_a.end(), {size_of(a), Expr(1)});
    apart_b.insert(apart_b.end(), {Expr(1), size_of(b)});
    sizes.push_back(size_of(a) * size_of(b));
  }
  return reshaped(c, mul(c, reshaped(c, c.arg(0), apart_a), reshaped(c, c.arg(1), apart_b)), sizes);
}
auto cartesian_prod(Composer& c) -> Datum {
  const auto parts = members(c, 0);
  if (parts.empty()) return c.fail("vectors are needed"), Datum{};
  if (parts.size() == 1) return parts[0];
  const auto grids = call1(c, "aten.meshgrid.default", c.arg(0));
  if (c.error()) return {};
  DatumList columns;
  for (const auto& grid : *grids.list())
    columns.push_back(call2(c, "aten.flatten.using_ints", grid, integer(0)));
  return call2(c, "aten.stack.default", Datum{std::move(columns)}, integer(1));
}
/// self, r, with_replacement.
auto combinations(Composer& c) -> Datum {
  const auto r = c.integer(1);
  const auto meta = c.meta(0);
  if (meta.rank() != 1 || r < 0) return c.fail("a vector and a count are needed"), Datum{};
  constexpr std::int64_t kMostDimensions = 64;
  if (r > kMostDimensions) return c.fail("a grid has at most 64 dimensions"), Datum{};
  if (r == 0 || c.decide(eq(meta.sizes[0], 0), "there are elements"))
    return call2(c, "aten.new_empty.default", c.arg(0), int_list(r == 0 ? Ints{0} : Ints{0, r}));
  const auto at = c.call("aten.arange.default",
                         {Datum{meta.sizes[0]}, Datum{DType::int64}, {}, Datum{meta.device}});
  const DatumList copies(static_cast<std::size_t>(r), at);
  const auto grids = call1(c, "aten.meshgrid.default", Datum{copies});
  if (c.error()) return {};
  const auto& order = *grids.list();
  Datum chosen = c.call("aten.ones_like.default", {order[0], Datum{DType::boolean}});
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const auto ordered =
        call2(c, c.flag(2) ? "aten.le.Tensor" : "aten.lt.Tensor", order[i], order[i + 1]);
    chosen = call2(c, "aten.logical_and.default", chosen, ordered);
  }
  const auto rows = call1(c, "aten.nonzero.default", chosen);
  if (c.error()) return {};
  const auto flat = reshaped(c, rows, {numel(c.meta(rows))});
  const auto elements = c.call("aten.index_select.default", {c.arg(0), integer(0), flat});
  return reshaped(c, elements, c.meta(rows).sizes);
}
/// self, other, dim: without dim the first dimension of three.
auto cross(Composer& c) -> Datum {
  if (c.has(2)) return c.call("aten.linalg_cross.default", {c.arg(0), c.arg(1), c.arg(2)});
  const auto sizes = c.meta(0).sizes;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (c.decide(eq(sizes[d], 3), "a dimension of three"))
      return c.call("aten.linalg_cross.default",
                    {c.arg(0), c.arg(1), integer(static_cast<std::int64_t>(d))});
  return c.fail("a dimension of three is needed"), Datum{};
}

// ---- powers -------------------------------------------------------------------------------------

/// x, N, increasing.
auto vander(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  if (meta.rank() != 1) return c.fail("a vector is needed"), Datum{};
  const auto count = c.has(1) ? c.expr(1) : meta.sizes[0];
  const bool is_whole = !is_floating(meta.dtype) && !is_complex(meta.dtype);
  const Datum dtype{is_whole ? DType::int64 : meta.dtype};
  const auto powers = [&](const Expr& first, const Expr& columns) {
    return c.call("aten.new_full.default",
                  {c.arg(0), int_list(Dims{meta.sizes[0], columns}), Datum{first}, dtype});
  };
  if (c.decide(eq(count, 0), "there are powers")) return powers(1, 0);
  auto result = powers(1, 1);
  if (!c.decide(eq(count, 1), "there are powers beyond the first")) {
    const auto column = unsqueezed(c, c.call("aten.to.dtype", {c.arg(0), dtype}), 1);
    const auto wide =
        c.call("aten.expand.default", {column, int_list(Dims{meta.sizes[0], count - 1})});
    const auto rest = call2(c, "aten.cumprod.default", wide, integer(1));
    result = call2(c, "aten.cat.default", Datum{DatumList{result, rest}}, integer(1));
  }
  return c.flag(2) ? result : call2(c, "aten.flip.default", result, int_list(Ints{1}));
}
auto linalg_vander(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  if (meta.rank() == 0 && !c.has(1)) return c.fail("a vector is needed"), Datum{};
  const auto count = c.has(1) ? c.expr(1) : meta.sizes.back();
  const auto vector = meta.rank() == 0 ? unsqueezed(c, c.arg(0), 0) : c.arg(0);
  if (!c.decide(gt(count, 1), "more than one power"))
    return c.fail("more than one power is needed"), Datum{};
  auto sizes = c.meta(vector).sizes;
  sizes.push_back(count - 1);
  const auto wide = c.call("aten.expand.default", {unsqueezed(c, vector, -1), int_list(sizes)});
  const auto rest = call2(c, "aten.cumprod.default", wide, integer(-1));
  sizes.back() = 1;
  const auto ones = call2(c, "aten.new_ones.default", rest, int_list(sizes));
  return call2(c, "aten.cat.default", Datum{DatumList{ones, rest}}, integer(-1));
}

// ---- choosing and joining -----------------------------------------------------------------------

/// Indices of what is true, one vector per dimension.
auto where_true(Composer& c) -> Datum {
  const auto self = c.meta(0).rank() == 0 ? unsqueezed(c, c.arg(0), 0) : c.arg(0);
  return call2(c, "aten.unbind.int", call1(c, "aten.nonzero.default", self), integer(1));
}
/// condition, two numbers: as tensors of the dtype that the two have in common.
auto where_numbers(Composer& c) -> Datum {
  ResultType common;
  common.add_scalar(c.arg(1));
  common.add_scalar(c.arg(2));
  const auto dtype = common.get();
  if (!dtype) return c.fail("numbers are needed"), Datum{};
  const auto made = [&](int arg) {
    return c.call("aten.scalar_tensor.default",
                  {c.arg(arg), Datum{*dtype}, {}, Datum{c.meta(0).device}});
  };
  return c.call("aten.where.self", {c.arg(0), made(1), made(2)});
}
template <int kRank>
auto each_at_least(Composer& c) -> Datum {
  DatumList results;
  for (const auto& tensor : members(c, 0))
    results.push_back(call1(c, fmt::format("aten.atleast_{}d.default", kRank), tensor));
  return {std::move(results)};
}
/// Sums over what broadcasting to self's sizes would have repeated.
auto sum_to_size(Composer& c) -> Datum {
  const auto self = c.meta(0).sizes;
  const auto wanted = c.exprs(1);
  if (wanted.size() > self.size()) return c.fail("the sizes do not broadcast"), Datum{};
  const auto lead = self.size() - wanted.size();
  Ints dims;
  for (std::size_t d = 0; d < self.size(); ++d) {
    const bool summed = d < lead || (c.decide(eq(wanted[d - lead], 1), "a size of 1") &&
                                     !c.decide(eq(self[d], 1), "a dimension that is summed"));
    if (summed)
      dims.push_back(static_cast<std::int64_t>(d));
    else if (!c.decide(eq(wanted[d - lead], self[d]), "sizes that broadcast"))
      return c.fail("the sizes do not broadcast"), Datum{};
  }
  auto result = c.arg(0);
  if (!dims.empty())
    result = c.call("aten.sum.dim_IntList", {result, int_list(dims), truth(true)});
  else if (wanted.empty())  // the sum over no dimension is the sum over all
    result = c.call("aten.sum.default", {result});
  return lead == 0 ? result : call2(c, "aten.view.default", result, c.arg(1));
}
/// sequences, batch_first, padding_value, padding_side: one row (or column) per sequence.
auto pad_sequence(Composer& c) -> Datum {
  const auto parts = members(c, 0);
  if (parts.empty()) return c.fail("sequences are needed"), Datum{};
  const bool at_left = c.text(3) == "left";
  if (!at_left && c.text(3) != "right") return c.fail("sides are left and right"), Datum{};
  Expr longest(0);
  for (const auto& part : parts) {
    if (c.meta(part).rank() == 0) return c.fail("sequences have a length"), Datum{};
    longest = max(longest, c.meta(part).sizes[0]);
  }
  Dims sizes = c.meta(parts[0]).sizes;
  const Expr count(static_cast<std::int64_t>(parts.size()));
  sizes[0] = longest;
  sizes.insert(sizes.begin() + (c.flag(1) ? 0 : 1), count);
  const auto result = c.call("aten.new_full.default", {parts[0], int_list(sizes), c.arg(2)});
  if (c.error()) return {};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto length = c.meta(parts[i]).sizes[0];
    const auto own = c.call("aten.select.int", {result, integer(c.flag(1) ? 0 : 1),
                                                integer(static_cast<std::int64_t>(i))});
    const auto begin = at_left ? longest - length : Expr(0);
    const auto place =
        c.call("aten.narrow.default", {own, integer(0), Datum{begin}, Datum{length}});
    call2(c, "aten.copy_.default", place, parts[i]);
  }
  return result;
}
/// self, fill_value, wrap: the diagonal of a matrix (which begins anew behind tall ones), or of a
/// cube.
auto fill_diagonal(Composer& c) -> Datum {
  const auto self = c.meta(0);
  if (self.rank() < 2) return c.fail("two dimensions are needed"), Datum{};
  Expr shortest = self.sizes[0];
  Expr step(0);
  for (std::size_t d = 0; d < self.sizes.size(); ++d) {
    shortest = min(shortest, self.sizes[d]);
    step = step + self.strides[d];
    if (self.rank() > 2 && !c.decide(eq(self.sizes[d], self.sizes[0]), "a cube"))
      return c.fail("all dimensions are of one length"), Datum{};
  }
  const auto fill = [&](const Expr& count, const Expr& offset) {
    const auto diagonal = c.call("aten.as_strided.default", {c.arg(0), int_list(Dims{count}),
                                                             int_list(Dims{step}), Datum{offset}});
    call2(c, "aten.fill_.Scalar", diagonal, c.arg(1));
  };
  fill(shortest, self.offset);
  if (c.flag(2) && self.rank() == 2 &&
      c.decide(gt(self.sizes[0], self.sizes[1] + 1), "rows behind the square")) {
    const auto columns = self.sizes[1];
    const auto total = self.sizes[0] * columns;
    const auto skipped = columns * columns + columns;
    fill(floor_div(total - skipped + columns, columns + 1),
         self.offset + self.strides[0] * (columns + 1));
  }
  return c.arg(0);
}
/// self, dim, start (a tensor), length.
auto narrow_at(Composer& c) -> Datum {
  const auto self = c.meta(0);
  const auto at = wrapped_dim(c, c.integer(1), self.rank());
  if (c.error() || self.rank() == 0) return c.fail("a dimension is needed"), Datum{};
  const auto start = call1(c, "aten.item.default", c.arg(2));
  if (c.error() || !start.scalar()) return {};
  if (start.scalar()->is_const())
    return c.call("aten.narrow.default", {c.arg(0), c.arg(1), start, c.arg(3)});
  // What only the data tell is in range, or PyTorch refuses the call.
  auto sizes = self.sizes;
  sizes[at] = c.expr(3);
  return c.call("aten.as_strided.default",
                {c.arg(0), int_list(sizes), int_list(self.strides),
                 Datum{self.offset + *start.scalar() * self.strides[at]}});
}
/// self, tensor_indices_or_sections (data), dim.
auto tensor_split_by_data(Composer& c) -> Datum {
  const auto where = c.meta(1);
  if (where.rank() > 1 || where.dtype != DType::int64)
    return c.fail("sections and indices are int64"), Datum{};
  if (where.rank() == 0) {
    const auto count = call1(c, "aten.item.default", c.arg(1));
    if (c.error()) return {};
    const auto number = count.scalar() ? count.scalar()->as_int() : std::nullopt;
    if (!number) return c.unsupported("the data tell how many parts there are"), Datum{};
    return split_into(c, *number, c.integer(2));
  }
  const auto count = c.domain().context().concrete(where.sizes[0], "as many parts");
  Dims indices;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = call1(c, "aten.item.default",
                             c.call("aten.select.int", {c.arg(1), integer(0), integer(i)}));
    if (c.error() || !index.scalar()) return {};
    if (!index.scalar()->is_const())
      return c.unsupported("the data tell where the parts begin"), Datum{};
    indices.push_back(*index.scalar());
  }
  return split_at(c, indices, c.integer(2));
}
/// self, repeats (a tensor), dim, output_size.
auto repeat_each(Composer& c) -> Datum {
  const auto self = c.has(2) ? c.arg(0) : call1(c, "aten.ravel.default", c.arg(0));
  const auto dim = c.has(2) ? c.arg(2) : integer(0);
  const auto rank = c.meta(self).rank();
  const auto at = wrapped_dim(c, c.has(2) ? c.integer(2) : 0, rank);
  if (c.error() || rank == 0) return c.fail("a dimension to repeat along is needed"), Datum{};
  auto repeats = c.arg(1);
  if (c.meta(1).rank() == 0 || c.decide(eq(numel(c.meta(1)), 1), "one number of repeats"))
    repeats =
        c.call("aten.expand.default", {call2(c, "aten.reshape.default", repeats, int_list(Ints{1})),
                                       int_list(Dims{c.meta(self).sizes[at]})});
  const auto indices = call2(c, "aten.repeat_interleave.Tensor", repeats, c.arg(3));
  return c.call("aten.index_select.default", {self, dim, indices});
}
template <DType kDType>
auto cast(Composer& c) -> Datum {
  return converted(c, c.arg(0), kDType);
}
auto chalf(Composer& c) -> Datum {
  return c.call("aten.to.dtype",
                {c.arg(0), Datum{DType::complex32}, truth(false), truth(false), c.arg(1)});
}
auto shape_as_tensor(Composer& c) -> Datum {
  DatumList sizes;
  for (const auto& size : c.meta(0).sizes)
    sizes.push_back(c.call("aten.scalar_tensor.default", {Datum{size}, Datum{DType::int64}}));
  if (sizes.empty())
    return c.call("aten.empty.memory_format", {int_list(Ints{0}), Datum{DType::int64}});
  return call1(c, "aten.stack.default", Datum{std::move(sizes)});
}

}  // namespace

// clang-format off
void add_array_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  composed("aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", tensor_split);
  composed("aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", tensor_split);
  composed("aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]", tensor_split_by_data);
  composed("aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", split_along<1>);
  composed("aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", split_along<1>);
  composed("aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", split_along<0>);
  composed("aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", split_along<0>);
  composed("aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", split_along<2>);
  composed("aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", split_along<2>);
  composed("aten::kron(Tensor self, Tensor other) -> Tensor", kron);
  composed("aten::cartesian_prod(Tensor[] tensors) -> Tensor", cartesian_prod);
  composed("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", combinations);
  composed("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", cross);
  composed("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", vander);
  composed("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", linalg_vander);
  composed("aten::where(Tensor condition) -> Tensor[]", where_true);
  composed("aten::nonzero_numpy(Tensor self) -> Tensor[]", where_true);
  composed("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where_numbers);
  composed("aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", each_at_least<1>);
  composed("aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", each_at_least<2>);
  composed("aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", each_at_least<3>);
  composed("aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", sum_to_size);
  composed("aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side=\"right\") -> Tensor", pad_sequence);
  composed("aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", fill_diagonal);
  composed("aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)", narrow_at);
  composed("aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", repeat_each);
  composed("aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor", cast<DType::uint8>);
  composed("aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor", cast<DType::int8>);
  composed("aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor", cast<DType::int16>);
  composed("aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor", cast<DType::int32>);
  composed("aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor", cast<DType::int64>);
  composed("aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor", cast<DType::float16>);
  composed("aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor", cast<DType::float32>);
  composed("aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor", cast<DType::float64>);
  composed("aten::chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", chalf);
  composed("aten::_shape_as_tensor(Tensor self) -> Tensor", shape_as_tensor);
}
// clang-format on

}  // namespace assay
