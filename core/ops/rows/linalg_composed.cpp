// Ranks, condition numbers, inverses of what is no square matrix, and other compositions on
// decompositions of matrices (aten/src/ATen/native/LinearAlgebra.cpp, BatchLinearAlgebra.cpp,
// Bilinear: Linear.cpp).
#include <algorithm>
#include <cmath>

#include "core/ops/composing.h"

namespace assay {
namespace {

auto last_two(Composer& c, int arg) -> std::pair<Expr, Expr> {
  const auto sizes = c.meta(arg).sizes;
  if (sizes.size() < 2) return c.fail("matrices are needed"), std::pair<Expr, Expr>{};
  return {sizes[sizes.size() - 2], sizes.back()};
}
auto epsilon_of(DType dtype) -> double {
  const auto real = real_of(dtype);
  return real == DType::float64 ? 0x1p-52 : 0x1p-23;
}

// ---- tolerances ---------------------------------------------------------------------------------

/// Absolute and relative tolerance as float64 numbers of no dimension, or as given.
struct Tolerances {
  Datum absolute, relative;
};
auto tensor_of(Composer& c, const Datum& value) -> Datum {
  if (value.is_tensor()) return value;
  return c.call("aten.scalar_tensor.default",
                {value, Datum{DType::float64}, {}, Datum{c.meta(0).device}});
}
/// Without a relative tolerance: that of rounding, unless an absolute one is asked for.
auto tolerances(Composer& c, const Datum& absolute, const Datum& relative) -> Tolerances {
  Tolerances result{tensor_of(c, absolute.is_none() ? number(0) : absolute), relative};
  if (!relative.is_none()) {
    result.relative = tensor_of(c, relative);
    return result;
  }
  const auto [rows, columns] = last_two(c, 0);
  const auto rounding =
      tensor_of(c, Datum{max(rows, columns) * Expr::real(epsilon_of(c.meta(0).dtype))});
  if (absolute.is_none()) {
    result.relative = rounding;
  } else if (absolute.is_tensor()) {
    const auto asked = call2(c, "aten.gt.Scalar", absolute, integer(0));
    result.relative = c.call("aten.where.ScalarSelf", {asked, integer(0), rounding});
  } else {
    const auto value = absolute.scalar() ? absolute.scalar()->as_number() : std::nullopt;
    result.relative = value.value_or(0) > 0 ? tensor_of(c, number(0)) : rounding;
  }
  return result;
}
/// What the overload calls atol, rtol, tol or rcond.
auto asked_tolerances(Composer& c) -> Tolerances {
  const auto named = [&](std::string_view name) {
    const int at = param(c, name);
    return at < 0 ? Datum{} : c.arg(at);
  };
  if (param(c, "rcond") >= 0) return tolerances(c, number(0), named("rcond"));
  if (param(c, "tol") >= 0) return tolerances(c, named("tol"), number(0));
  return tolerances(c, named("atol"), named("rtol"));
}
/// self, some: of wide matrices what is square, or everything.
auto qr(Composer& c) -> Datum {
  return c.call("aten.linalg_qr.default",
                {c.arg(0), Datum{std::string(c.flag(1) ? "reduced" : "complete")}});
}
auto pinv(Composer& c) -> Datum {
  const auto [absolute, relative] = asked_tolerances(c);
  const int hermitian = param(c, "hermitian");
  return c.call("aten.linalg_pinv.atol_rtol_tensor",
                {c.arg(0), absolute, relative, hermitian < 0 ? truth(false) : c.arg(hermitian)});
}
auto matrix_rank(Composer& c) -> Datum {
  const auto [absolute, relative] = asked_tolerances(c);
  if (c.error()) return {};
  const auto [rows, columns] = last_two(c, 0);
  if (c.error()) return {};
  const auto sizes = c.meta(0).sizes;
  if (c.decide(eq(rows * columns, 0), "matrices have elements"))
    return c.call("aten.new_zeros.default",
                  {c.arg(0), int_list(Dims(sizes.begin(), sizes.end() - 2)), Datum{DType::int64}});
  const auto values =
      c.flag(param(c, "hermitian"))
          ? call1(c, "aten.abs.default", call1(c, "aten.linalg_eigvalsh.default", c.arg(0)))
          : call1(c, "aten.linalg_svdvals.default", c.arg(0));
  const auto largest = c.call("aten.amax.default", {values, int_list(Ints{-1}), truth(true)});
  const auto least = call2(c, "aten.maximum.default", unsqueezed(c, absolute, -1),
                           mul(c, unsqueezed(c, relative, -1), largest));
  return call2(c, "aten.sum.dim_IntList", call2(c, "aten.gt.Tensor", values, least),
               int_list(Ints{-1}));
}

// ---- norms --------------------------------------------------------------------------------------

/// self, p: None, 2 and -2 by singular values, others by the norm of the inverse.
auto condition_number(Composer& c) -> Datum {
  const bool is_text = std::holds_alternative<std::string>(c.arg(1).value);
  const auto p = c.has(1) && !is_text ? c.real(1) : 2.0;
  if (!is_text && std::abs(p) == 2) {
    const auto values = call1(c, "aten.linalg_svdvals.default", c.arg(0));
    const auto at = [&](std::int64_t begin) {
      return begin < 0 ? slice(c, values, -1, begin) : slice(c, values, -1, begin, begin + 1);
    };
    const auto result = p > 0 ? div(c, at(0), at(-1)) : div(c, at(-1), at(0));
    return call2(c, "aten.squeeze.dim", result, integer(-1));
  }
  const auto [rows, columns] = last_two(c, 0);
  if (c.error()) return {};
  if (!c.decide(eq(rows, columns), "square matrices"))
    return c.fail("square matrices are needed"), Datum{};
  const auto inverse = call1(c, "aten.linalg_inv_ex.default", c.arg(0));
  if (c.error()) return {};
  const auto norm = [&](const Datum& matrix) {
    return call2(c, is_text ? "aten.linalg_matrix_norm.str_ord" : "aten.linalg_matrix_norm.default",
                 matrix, c.arg(1));
  };
  const auto product = mul(c, norm(c.arg(0)), norm(c.item(inverse, 0)));
  const auto singular = call2(c, "aten.ne.Scalar", c.item(inverse, 1), integer(0));
  return c.call("aten.masked_fill.Scalar",
                {product, singular, number(std::numeric_limits<double>::infinity())});
}
/// self, dim, keepdim as far as the overload has them.
auto nuclear_norm(Composer& c) -> Datum {
  const int dim = param(c, "dim");
  return c.call("aten.linalg_matrix_norm.str_ord",
                {c.arg(0), Datum{std::string("nuc")}, dim < 0 ? int_list(Ints{0, 1}) : c.arg(dim),
                 c.arg(param(c, "keepdim"))});
}
auto logdet(Composer& c) -> Datum {
  const auto parts = call1(c, "aten._linalg_slogdet.default", c.arg(0));
  if (c.error()) return {};
  const auto sign = c.item(parts, 0);
  if (is_complex(c.meta(0).dtype))
    return add(c, call1(c, "aten.log.default", sign), c.item(parts, 1));
  const auto negative = call2(c, "aten.eq.Scalar", sign, integer(-1));
  return c.call("aten.where.ScalarSelf",
                {negative, number(std::numeric_limits<double>::quiet_NaN()), c.item(parts, 1)});
}

// ---- systems ------------------------------------------------------------------------------------

/// self, ind: of a tensor seen as a matrix with `ind` dimensions for the rows.
auto tensor_inverse(Composer& c) -> Datum {
  const auto sizes = c.meta(0).sizes;
  const auto ind = c.integer(1);
  if (ind < 1 || ind > static_cast<std::int64_t>(sizes.size()))
    return c.fail("ind counts dimensions of self"), Datum{};
  const auto rows = std::span(sizes).first(static_cast<std::size_t>(ind));
  const auto columns = std::span(sizes).subspan(static_cast<std::size_t>(ind));
  if (!c.decide(eq(product(rows), product(columns)), "as many rows as columns"))
    return c.fail("a square matrix is needed"), Datum{};
  Dims turned(columns.begin(), columns.end());
  turned.insert(turned.end(), rows.begin(), rows.end());
  const auto matrix = reshaped(c, c.arg(0), {product(columns), product(rows)});
  return reshaped(c, call1(c, "aten.linalg_inv.default", matrix), turned);
}
/// self, other, dims (moved to the end first).
auto tensor_solve(Composer& c) -> Datum {
  auto self = c.arg(0);
  if (c.has(2)) {
    Ints to;
    const auto from = c.integers(2);
    for (std::size_t i = 0; i < from.size(); ++i)
      to.push_back(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(from.size()));
    self = c.call("aten.movedim.intlist", {self, c.arg(2), int_list(to)});
  }
  if (c.error()) return {};
  const auto sizes = c.meta(self).sizes;
  const auto known = c.meta(1).sizes.size();
  if (known > sizes.size()) return c.fail("other has too many dimensions"), Datum{};
  const auto unknown = std::span(sizes).subspan(known);
  const auto count = product(unknown);
  const auto matrix = reshaped(c, self, {count, count});
  const auto solved =
      call2(c, "aten.linalg_solve.default", matrix, reshaped(c, c.arg(1), {numel(c.meta(1))}));
  return reshaped(c, solved, Dims(unknown.begin(), unknown.end()));
}
auto lu_solve(Composer& c) -> Datum {
  return c.call("aten.linalg_lu_solve.default", {c.arg(1), c.arg(2), c.arg(0)});
}
/// self, some, compute_uv: V itself, not its adjoint.
auto svd(Composer& c) -> Datum {
  const auto [rows, columns] = last_two(c, 0);
  if (c.error()) return {};
  if (!c.flag(2)) {
    const auto zeros = [&](const Expr& n) {
      auto sizes = c.meta(0).sizes;
      sizes[sizes.size() - 2] = sizes[sizes.size() - 1] = n;
      return call2(c, "aten.new_zeros.default", c.arg(0), int_list(sizes));
    };
    return {DatumList{zeros(rows), call1(c, "aten.linalg_svdvals.default", c.arg(0)),
                      call1(c, "aten.mH.default", zeros(columns))}};
  }
  const auto parts = call2(c, "aten.linalg_svd.default", c.arg(0), truth(!c.flag(1)));
  if (c.error()) return {};
  return {
      DatumList{c.item(parts, 0), c.item(parts, 1), call1(c, "aten.mH.default", c.item(parts, 2))}};
}
/// input1, input2, weight [out, in1, in2], bias.
auto bilinear(Composer& c) -> Datum {
  const auto first = c.meta(0).sizes;
  const auto second = c.meta(1).sizes;
  const auto weight = c.meta(2).sizes;
  if (first.empty() || first.size() != second.size() || weight.size() != 3)
    return c.fail("two inputs of one rank and a weight of three dimensions are needed"), Datum{};
  auto sizes = first;
  sizes.back() = weight[0];
  const auto flat = [&](int arg, const Dims& of) {
    return reshaped(c, c.arg(arg), {-1, of.back()});
  };
  const auto sums = c.call("aten._trilinear.default",
                           {flat(0, first), c.arg(2), flat(1, second), int_list(Ints{1, 3}),
                            int_list(Ints{0}), int_list(Ints{1, 2}), int_list(Ints{2, 3})});
  const auto result = reshaped(c, sums, sizes);
  return c.has(3) ? add(c, result, c.arg(3)) : result;
}
auto diagonal(Composer& c) -> Datum {
  return c.call("aten.diagonal.default", all_args(c));
}

}  // namespace

// clang-format off
void add_linalg_composed_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  composed("aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", qr);
  composed("aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", pinv);
  composed("aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", pinv);
  composed("aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", pinv);
  composed("aten::pinverse(Tensor self, float rcond=1e-15) -> Tensor", pinv);
  composed("aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", matrix_rank);
  composed("aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor", matrix_rank);
  composed("aten::linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor", matrix_rank);
  composed("aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", matrix_rank);
  composed("aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", condition_number);
  composed("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", condition_number);
  composed("aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", nuclear_norm);
  composed("aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", nuclear_norm);
  composed("aten::logdet(Tensor self) -> Tensor", logdet);
  composed("aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", tensor_inverse);
  composed("aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", tensor_solve);
  composed("aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", lu_solve);
  composed("aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", svd);
  composed("aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", bilinear);
  composed("aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", diagonal);
}
// clang-format on

}  // namespace assay
