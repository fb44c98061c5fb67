// Norms of matrices (aten/src/ATen/native/LinearAlgebra.cpp), as other operators, and products of
// groups of matrices (native/GroupedMMUtils.h).
#include <algorithm>
#include <cmath>

#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- norms --------------------------------------------------------------------------------------

auto flag_datum(bool value) -> Datum {
  return {Expr::boolean(value)};
}
struct MatrixDims {
  std::int64_t rows = 0, columns = 0;
};
auto matrix_dims(Composer& c, const Datum& tensor, const Datum& dims) -> std::optional<MatrixDims> {
  const std::int64_t rank = c.meta(tensor).rank();
  const auto* list = dims.list();
  if (!list || list->size() != 2 || rank < 2)
    return c.fail("two dimensions of a tensor that has them"), std::nullopt;
  MatrixDims result;
  for (auto* part : {&result.rows, &result.columns}) {
    const auto* given = (*list)[part == &result.rows ? 0 : 1].scalar();
    *part = wrap_index(given ? given->as_int().value_or(0) : 0, rank);
    if (*part < 0) return c.fail("a dimension is out of range"), std::nullopt;
  }
  if (result.rows == result.columns) return c.fail("two different dimensions"), std::nullopt;
  return result;
}
/// The given dimensions behind the others.
auto dims_moved_back(Composer& c, const Datum& self, const MatrixDims& dims) -> Ints {
  Ints order;
  for (std::int64_t d = 0; d < c.meta(self).rank(); ++d)
    if (d != dims.rows && d != dims.columns) order.push_back(d);
  order.insert(order.end(), {dims.rows, dims.columns});
  return order;
}
/// What `reduce` makes of the singular values; the dimensions kept at size 1 if wanted.
template <class Reduce>
auto of_singular_values(Composer& c, const Datum& self, const MatrixDims& dims, bool keep,
                        const Reduce& reduce) -> Datum {
  const auto order = dims_moved_back(c, self, dims);
  const auto values = c.call("aten.linalg_svdvals.default",
                             {c.call("aten.permute.default", {self, int_list(order)})});
  const auto result = reduce(values);
  if (!keep) return result;
  Ints back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const auto matrix = c.call("aten.unsqueeze.default", {result, Datum{Expr(-1)}});
  return c.call("aten.permute.default", {matrix, int_list(back)});
}
auto in_dtype(Composer& c, const Datum& self, int dtype) -> Datum {
  return c.has(dtype) ? c.call("aten.to.dtype", {self, c.arg(dtype)}) : self;
}

/// self, ord, dim, keepdim, dtype: sums of columns (1) or rows (inf), singular values (2); the
/// least of them for negative orders.
auto matrix_norm_of(Composer& c, const Datum& given, double order, const Datum& dim, bool keep,
                    int dtype) -> Datum {
  const auto self = in_dtype(c, given, dtype);
  const auto dims = matrix_dims(c, self, dim);
  if (!dims) return {};
  const double size = std::fabs(order);
  // Where there is nothing to compare, the largest is 0.
  const auto extreme_of = [&](const Datum& values, std::int64_t along) {
    const auto sizes = c.meta(values).sizes;
    const auto at = static_cast<std::size_t>(along < 0 ? along + std::ssize(sizes) : along);
    const bool is_empty =
        order > 0 && at < sizes.size() && c.decide(eq(sizes[at], 0), "something to compare");
    return c.call(is_empty    ? "aten.sum.dim_IntList"
                  : order > 0 ? "aten.amax.default"
                              : "aten.amin.default",
                  {values, int_list(Ints{along}), flag_datum(keep)});
  };
  if (size == 2)
    return of_singular_values(c, self, *dims, keep,
                              [&](const Datum& values) { return extreme_of(values, -1); });
  if (size != 1 && !std::isinf(size)) return c.fail("the order is 1, 2 or infinite"), Datum{};
  const auto summed = size == 1 ? dims->rows : dims->columns;
  auto compared = size == 1 ? dims->columns : dims->rows;
  if (!keep && summed < compared) --compared;
  const auto sums = c.call("aten.linalg_vector_norm.default",
                           {self, Datum{Expr(1)}, int_list(Ints{summed}), flag_datum(keep)});
  return extreme_of(sums, compared);
}
auto named_norm_of(Composer& c, const Datum& given, const std::string& order, const Datum& dim,
                   bool keep, int dtype) -> Datum {
  if (order == "fro")
    return c.call("aten.linalg_vector_norm.default",
                  {given, Datum{Expr(2)}, dim, flag_datum(keep), c.arg(dtype)});
  if (order != "nuc") return c.fail("the order is fro or nuc"), Datum{};
  const auto self = in_dtype(c, given, dtype);
  const auto dims = matrix_dims(c, self, dim);
  if (!dims) return {};
  return of_singular_values(c, self, *dims, keep, [&](const Datum& values) {
    return c.call("aten.sum.dim_IntList", {values, int_list(Ints{-1}), flag_datum(keep)});
  });
}
auto matrix_norm(Composer& c) -> Datum {
  return matrix_norm_of(c, c.arg(0), c.real(1), c.arg(2), c.flag(3), 4);
}
auto named_matrix_norm(Composer& c) -> Datum {
  return named_norm_of(c, c.arg(0), c.text(1), c.arg(2), c.flag(3), 4);
}
/// linalg_norm: of matrices where two dimensions are meant, else of vectors.
auto is_of_matrices(Composer& c) -> bool {
  const auto* list = c.arg(2).list();
  return list ? list->size() == 2 : !c.has(2) && c.meta(0).rank() == 2;
}
auto both_dims(Composer& c) -> Datum {
  return c.has(2) ? c.arg(2) : int_list(Ints{0, 1});
}
auto norm(Composer& c) -> Datum {
  if (c.has(1) && is_of_matrices(c))
    return matrix_norm_of(c, c.arg(0), c.real(1), both_dims(c), c.flag(3), 4);
  if (c.has(1) && !c.has(2) && c.meta(0).rank() != 1)
    return c.fail("an order is of vectors or matrices"), Datum{};
  return c.call("aten.linalg_vector_norm.default",
                {c.arg(0), c.has(1) ? c.arg(1) : Datum{Expr(2)}, c.arg(2), c.arg(3), c.arg(4)});
}
auto named_norm(Composer& c) -> Datum {
  if (!is_of_matrices(c)) return c.fail("named orders are of matrices"), Datum{};
  return named_norm_of(c, c.arg(0), c.text(1), both_dims(c), c.flag(3), 4);
}

// ---- grouped products ---------------------------------------------------------------------------

// self, mat2, offs (ends of the groups), bias, out_dtype. A matrix where a stack is expected holds
// its groups side by side: rows of self, columns of mat2, or the dimension that is summed over.
auto grouped_rule(MetaCall& c) -> Datum {
  const auto& a = c.meta(0);
  const auto& b = c.meta(1);
  const bool is_ranked = a.rank() >= 2 && a.rank() <= 3 && b.rank() >= 2 && b.rank() <= 3;
  if (!c.require(is_ranked, "matrices or stacks of them") ||
      !c.require(a.dtype == b.dtype && is_floating(a.dtype), "operands of one floating dtype") ||
      !c.require(!c.has(3), "there is no bias") ||
      !c.require(c.has(2) == (a.rank() == 2 || b.rank() == 2), "groups are given for matrices") ||
      !c.require(eq(a.sizes.back(), b.sizes[b.sizes.size() - 2]), "the inner sizes agree"))
    return {};
  if (c.has(2) && !c.require(c.meta(2).dtype == DType::int32 && c.meta(2).rank() == 1,
                             "the ends of the groups are a vector of int32"))
    return {};
  for (const auto* stack : {&a, &b})
    if (stack->rank() == 3 &&
        !c.require(eq(stack->sizes[0], c.has(2) ? numel(c.meta(2)) : a.sizes[0]),
                   "a stack has a matrix per group"))
      return {};
  const auto& rows = a.sizes[a.sizes.size() - 2];
  const auto& columns = b.sizes.back();
  Dims sizes{rows, columns};
  const bool stacked = (a.rank() == 3) == (b.rank() == 3);
  if (stacked) sizes.insert(sizes.begin(), a.rank() == 3 ? a.sizes[0] : numel(c.meta(2)));
  const auto dtype = c.dtype(4).value_or(a.dtype);
  // Rows start at multiples of 16 bytes.
  const Expr step(16 / size_bytes(dtype));
  const auto row = floor_div(columns + step - 1, step) * step;
  Dims strides{row, Expr(1)};
  if (stacked) strides.insert(strides.begin(), rows * row);
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}
void grouped_kernel(KernelCall& k) {
  const auto& a = k.in(0);
  const auto& b = k.in(1);
  const auto x = to_vector<double>(a);
  const auto y = to_vector<double>(b);
  const auto rows = a.sizes()[a.sizes().size() - 2];
  const auto inner = a.sizes().back();
  const auto columns = b.sizes().back();
  const bool flat_a = a.rank() == 2;
  const bool flat_b = b.rank() == 2;
  const auto ends = k.has(2) ? to_vector<std::int64_t>(k.in(2)) : Ints{};
  const auto whole = flat_a && flat_b ? inner : flat_a ? rows : columns;
  const auto groups = k.has(2) ? std::ssize(ends) : a.sizes()[0];
  std::vector<double> result(static_cast<std::size_t>(k.out().numel()), 0);
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto at = static_cast<std::size_t>(g);
    const auto begin = k.has(2) && g > 0 ? ends[at - 1] : 0;
    const auto end = k.has(2) ? ends[at] : 0;
    if (begin < 0 || end > whole || (k.has(2) && begin > end))
      return void(k.fail("a group ends past its matrix"));
    const bool in_rows = flat_a && !flat_b;
    const bool in_columns = flat_b && !flat_a;
    const bool in_sums = flat_a && flat_b;
    const auto* left = x.data() + (flat_a ? 0 : g * rows * inner);
    const auto* right = y.data() + (flat_b ? 0 : g * inner * columns);
    double* to = result.data() + (in_rows || in_columns ? 0 : g * rows * columns);
    for (auto i = in_rows ? begin : 0; i < (in_rows ? end : rows); ++i)
      for (auto j = in_columns ? begin : 0; j < (in_columns ? end : columns); ++j)
        for (auto e = in_sums ? begin : 0; e < (in_sums ? end : inner); ++e)
          to[i * columns + j] += left[i * inner + e] * right[e * columns + j];
  }
  from_vector<double>(k.out(), result);
}

}  // namespace

// clang-format off
void add_linalg_norm_rows(OpTable& t) {
  t.add({.schema_text = "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .decomposition = matrix_norm});
  t.add({.schema_text = "aten::linalg_matrix_norm.str_ord(Tensor self, str ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .decomposition = named_matrix_norm});
  t.add({.schema_text = "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .decomposition = norm});
  t.add({.schema_text = "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .decomposition = named_norm});
  t.add({.schema_text = "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor", .rule = grouped_rule, .kernel = grouped_kernel});
}
// clang-format on

}  // namespace assay
