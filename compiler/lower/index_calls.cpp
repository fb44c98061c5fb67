// Operators that read and write at indices as those that have loops, in dtypes that a machine
// writes in one step (aten/src/ATen/native/TensorAdvancedIndexing.cpp).
#include <algorithm>
#include <array>

#include "compiler/lower/expansions.h"

namespace assay::expansions {
namespace {

/// Where elements of fewer than four bytes are written and added. PyTorch rounds at every addition
/// of narrow floats, this once: as exact as it gets.
auto wide_dtype(DType dtype) -> std::optional<DType> {
  if (size_bytes(dtype) >= 4 || is_complex(dtype)) return std::nullopt;
  if (is_floating(dtype)) return DType::float32;
  const bool is_whole = is_integer(dtype) || dtype == DType::boolean;
  return is_whole ? std::optional(DType::int32) : std::nullopt;
}

/// The operator itself in a wider dtype; argument kValues is written, if it is a tensor.
template <std::size_t kValues>
auto in_wide_dtype(Composer& c) -> Datum {
  const auto dtype = c.meta(0).dtype;
  const auto wide = wide_dtype(dtype);
  if (!wide) return c.unsupported("wide enough"), Datum{};
  DatumList args(c.args().begin(), c.args().end());
  for (auto* arg : {&args[0], &args[kValues]})
    if (arg->is_tensor()) *arg = to(c, *arg, *wide);
  return to(c, c.call(c.row().schema.overload, std::move(args)), dtype);
}
/// Where a mask of the first dimensions is true, one element.
auto filled(Composer& c, const Datum& mask) -> Datum {
  const auto self = c.meta(0), value = c.meta(2);
  const auto shape = c.meta(mask);
  const bool is_one = std::ranges::all_of(value.sizes, [](const Expr& n) { return n.is_int(1); });
  if (shape.dtype != DType::boolean || !is_one || c.flag(3) || shape.rank() > self.rank() ||
      value.dtype != self.dtype)
    return c.unsupported("a mask"), Datum{};
  auto over = shape.sizes;
  over.resize(self.sizes.size(), Expr(1));
  return c.call("aten.where.self", {reshaped(c, mask, over), reshaped(c, c.arg(2), {}), c.arg(0)});
}
/// Arguments: self, indices, values, accumulate. How many elements a mask selects is not known.
auto index_put(Composer& c) -> Datum {
  const auto* indices = c.arg(1).list();
  if (indices != nullptr && indices->size() == 1 && (*indices)[0].is_tensor() &&
      c.meta((*indices)[0]).dtype == DType::boolean)
    return filled(c, (*indices)[0]);
  const auto is_mask = [&](const Datum& index) {
    return index.is_tensor() && size_bytes(c.meta(index).dtype) < 4;
  };
  if (indices == nullptr || std::ranges::any_of(*indices, is_mask))
    return c.unsupported("a mask"), Datum{};
  return in_wide_dtype<2>(c);
}

/// An index of one dimension, of a single one as well.
auto as_line(Composer& c, int arg) -> Datum {
  return reshaped(c, c.arg(arg), {numel(c.meta(arg))});
}
/// `index` in dimension `dim` and all of those before it.
auto at_dim(const Datum& index, std::size_t dim) -> Datum {
  DatumList indices(dim + 1);
  indices[dim] = index;
  return {std::move(indices)};
}
/// Argument 1 of a tensor that has dimensions.
auto dim_of(Composer& c) -> std::optional<std::size_t> {
  const auto rank = c.meta(0).rank();
  const auto at = c.integer(1);
  if (rank == 0) return c.unsupported("a single element"), std::nullopt;
  return static_cast<std::size_t>(at < 0 ? at + rank : at);
}
/// Arguments: self, dim, index, source, alpha.
auto index_add(Composer& c) -> Datum {
  const auto dim = dim_of(c);
  if (!dim) return {};
  const auto self = c.meta(0), source = c.meta(3);
  const auto wide = wide_dtype(self.dtype);
  const auto alpha = c.expr(4);
  const bool has_factor = !alpha.is_int(1);
  const bool fits = source.rank() == self.rank();
  if (fits && c.meta(2).rank() == 1 && !wide && !has_factor)
    return c.unsupported("as it should be"), Datum{};
  if (c.arg(4).scalar() == nullptr ||
      (!is_floating(self.dtype) && alpha.type() != ExprType::integer))
    return c.unsupported("a factor of another kind"), Datum{};
  const auto dtype = wide.value_or(self.dtype);
  auto added = to(c, fits ? c.arg(3) : reshaped(c, c.arg(3), {numel(source)}), dtype);
  if (has_factor) added = mul(c, added, c.arg(4));
  const auto result =
      c.call("aten.index_add.default", {to(c, c.arg(0), dtype), c.arg(1), as_line(c, 2), added});
  return to(c, result, self.dtype);
}
/// Arguments: self, dim, index, value.
auto index_fill(Composer& c) -> Datum {
  const auto dim = dim_of(c);
  if (!dim) return {};
  const auto self = c.meta(0);
  if (!c.is_tensor(3) && c.arg(3).scalar() == nullptr)
    return c.unsupported("a complex value"), Datum{};
  const auto value = c.is_tensor(3) ? to(c, c.arg(3), self.dtype)
                                    : c.call("aten.scalar_tensor.default",
                                             {c.arg(3), {self.dtype}, {}, {self.device}});
  return c.call("aten.index_put.default", {c.arg(0), at_dim(as_line(c, 2), *dim), value});
}
/// Arguments: self, dim, index, source. An index is not counted from the end.
auto index_copy(Composer& c) -> Datum {
  const auto dim = dim_of(c);
  if (!dim) return {};
  const auto rank = c.meta(0).sizes.size();
  auto sizes = c.meta(0).sizes;
  sizes[*dim] = numel(c.meta(2));
  Dims line(rank, Expr(1));
  line[*dim] = sizes[*dim];
  const auto index = reshaped(c, to(c, c.arg(2), DType::int64), line);
  return c.call("aten.scatter.src",
                {c.arg(0), c.arg(1), c.call("aten.expand.default", {index, int_list(sizes)}),
                 reshaped(c, c.arg(3), sizes)});
}

/// Arguments: self, positions among all of its elements.
auto take(Composer& c) -> Datum {
  const auto taken = c.call("aten.index.Tensor", {as_line(c, 0), at_dim(as_line(c, 1), 0)});
  return reshaped(c, taken, c.meta(1).sizes);
}
/// Arguments: self, positions, source, accumulate.
auto put(Composer& c) -> Datum {
  const auto result = c.call("aten.index_put.default",
                             {as_line(c, 0), at_dim(as_line(c, 1), 0), as_line(c, 2), c.arg(3)});
  return reshaped(c, result, c.meta(0).sizes);
}

/// Arguments: tensors, dimension. Many are joined in groups.
auto cat(Composer& c) -> Datum {
  constexpr std::size_t kGroup = 16;
  const auto* all = c.arg(0).list();
  if (all == nullptr || all->size() <= kGroup) return c.unsupported("as it should be"), Datum{};
  DatumList groups;
  for (std::size_t begin = 0; begin < all->size(); begin += kGroup) {
    const auto end = std::min(begin + kGroup, all->size());
    const auto at = [&](std::size_t i) { return all->begin() + static_cast<std::ptrdiff_t>(i); };
    groups.push_back(c.call("aten.cat.default", {Datum{DatumList(at(begin), at(end))}, c.arg(1)}));
  }
  return c.call("aten.cat.default", {Datum{std::move(groups)}, c.arg(1)});
}
/// Arguments: self, source: that one's elements in the first one's sizes and dtype.
auto copied(Composer& c) -> Datum {
  const auto self = c.meta(0);
  const auto source = c.call("aten.expand.default", {c.arg(1), int_list(self.sizes)});
  return c.call("aten.clone.default", {to(c, source, self.dtype)});
}
/// Arguments: self, source, sizes, strides, offset. Of vectors in a row, written as a vector.
auto as_strided_scatter(Composer& c) -> Datum {
  const auto self = c.meta(0), source = c.meta(1);
  const auto offset = c.has(4) ? c.expr(4) : self.offset;
  const Dims sizes = c.exprs(2), strides = c.exprs(3);
  if (self.strides != contiguous_strides(self.sizes) || strides != contiguous_strides(sizes) ||
      source.sizes != sizes || self.dtype != source.dtype || !self.offset.is_int(0))
    return c.unsupported("strides of this kind"), Datum{};
  const auto written = numel(source);
  const auto line = reshaped(c, c.arg(0), {numel(self)});
  const auto made =
      c.call("aten.slice_scatter.default",
             {line, reshaped(c, c.arg(1), {written}), whole(0), {offset}, {offset + written}});
  return reshaped(c, made, self.sizes);
}

constexpr std::array kRows = {
    ExpansionRow{"aten.cat.default", cat},
    ExpansionRow{"aten.copy.default", copied},
    ExpansionRow{"aten.as_strided_scatter.default", as_strided_scatter},
    ExpansionRow{"aten.index_put.default", index_put},
    ExpansionRow{"aten._unsafe_index_put.default", index_put},
    ExpansionRow{"aten.scatter.src", in_wide_dtype<3>},
    ExpansionRow{"aten.scatter.value", in_wide_dtype<0>},
    ExpansionRow{"aten.scatter_add.default", in_wide_dtype<3>},
    ExpansionRow{"aten.index_add.default", index_add},
    ExpansionRow{"aten.embedding_dense_backward.default", in_wide_dtype<0>},
    ExpansionRow{"aten.index_fill.int_Scalar", index_fill},
    ExpansionRow{"aten.index_fill.int_Tensor", index_fill},
    ExpansionRow{"aten.index_copy.default", index_copy},
    ExpansionRow{"aten.take.default", take},
    ExpansionRow{"aten.put.default", put},
};

}  // namespace

auto index_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
