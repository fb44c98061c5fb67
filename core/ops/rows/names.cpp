// Operators that are others by another name, or some of another's results: what programs call that
// were exported without decompositions (aten/src/ATen/native/LinearAlgebra.cpp,
// BatchLinearAlgebra.cpp, UnaryOps.cpp, BinaryOps.cpp, TensorShape.cpp, Distance.cpp).
#include <algorithm>
#include <cmath>

#include "core/ops/rules.h"

namespace assay {
namespace {

/// The target takes the same arguments in the same order, further ones have defaults. `results`
/// are the target's that are kept; empty where it has one result.
struct OtherName {
  std::string_view schema;
  std::string_view target;
  std::string_view results = "";
};
constexpr OtherName kNames[] = {
    {"aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", "aten.bitwise_and.Scalar"},
    {"aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", "aten.bitwise_or.Scalar"},
    {"aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", "aten.bitwise_xor.Tensor"},
    {"aten::special_digamma(Tensor self) -> Tensor", "aten.digamma.default"},
    {"aten::special_psi(Tensor self) -> Tensor", "aten.digamma.default"},
    {"aten::special_erf(Tensor self) -> Tensor", "aten.erf.default"},
    {"aten::special_erfc(Tensor self) -> Tensor", "aten.erfc.default"},
    {"aten::special_erfinv(Tensor self) -> Tensor", "aten.erfinv.default"},
    {"aten::special_exp2(Tensor self) -> Tensor", "aten.exp2.default"},
    {"aten::special_expit(Tensor self) -> Tensor", "aten.sigmoid.default"},
    {"aten::special_expm1(Tensor self) -> Tensor", "aten.expm1.default"},
    {"aten::special_gammainc(Tensor self, Tensor other) -> Tensor", "aten.igamma.default"},
    {"aten::special_gammaincc(Tensor self, Tensor other) -> Tensor", "aten.igammac.default"},
    {"aten::special_gammaln(Tensor self) -> Tensor", "aten.lgamma.default"},
    {"aten::special_i0(Tensor self) -> Tensor", "aten.i0.default"},
    {"aten::special_log1p(Tensor self) -> Tensor", "aten.log1p.default"},
    {"aten::special_logit(Tensor self, float? eps=None) -> Tensor", "aten.logit.default"},
    {"aten::special_multigammaln(Tensor self, int p) -> Tensor", "aten.mvlgamma.default"},
    {"aten::special_polygamma(int n, Tensor self) -> Tensor", "aten.polygamma.default"},
    {"aten::special_sinc(Tensor self) -> Tensor", "aten.sinc.default"},
    {"aten::special_xlogy(Tensor self, Tensor other) -> Tensor", "aten.xlogy.Tensor"},
    {"aten::pdist(Tensor self, float p=2.) -> Tensor", "aten._pdist_forward.default"},
    {"aten::orgqr(Tensor self, Tensor input2) -> Tensor",
     "aten.linalg_householder_product.default"},
    {"aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", "aten.matmul.default"},
    {"aten::inverse(Tensor self) -> Tensor", "aten.linalg_inv_ex.default", "0"},
    {"aten::linalg_inv(Tensor A) -> Tensor", "aten.linalg_inv_ex.default", "0"},
    {"aten::det(Tensor self) -> Tensor", "aten._linalg_det.default", "0"},
    {"aten::linalg_det(Tensor A) -> Tensor", "aten._linalg_det.default", "0"},
    {"aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
     "aten._linalg_slogdet.default", "01"},
    {"aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
     "aten._linalg_slogdet.default", "01"},
    {"aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
     "aten._linalg_solve_ex.default", "0"},
    {"aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> "
     "(Tensor result, Tensor info)",
     "aten._linalg_solve_ex.default", "03"},
    {"aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
     "aten.linalg_cholesky_ex.default", "0"},
    {"aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
     "aten.linalg_lu_factor_ex.default", "01"},
    {"aten::linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
     "aten._linalg_eigh.default", "01"},
    {"aten::linalg_eigvalsh(Tensor self, str UPLO='L') -> Tensor", "aten._linalg_eigh.default",
     "0"},
    {"aten::_is_all_true(Tensor self) -> Tensor", "aten.all.default"},
    {"aten::_is_any_true(Tensor self) -> Tensor", "aten.any.default"},
    {"aten::_stack(Tensor[] tensors, int dim=0) -> Tensor", "aten.stack.default"},
    {"aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
     "aten.as_strided.default"},
    {"aten::linalg_eigvals(Tensor self) -> Tensor", "aten.linalg_eig.default", "0"},
    {"aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", "aten.bitwise_xor.Scalar"},
    {"aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     "aten.softmax.int"},
    {"aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     "aten.log_softmax.int"},
    {"aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
     "aten.logsumexp.default"},
    {"aten::special_round(Tensor self, *, int decimals=0) -> Tensor", "aten.round.decimals"},
    {"aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
     "aten.xlogy.Scalar_Other"},
    {"aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
     "aten.xlogy.Scalar_Self"},
    {"aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, "
     "Tensor pivots, Tensor info)",
     "aten.linalg_lu_factor_ex.default"},
    {"aten::_aminmax(Tensor self) -> (Tensor, Tensor)", "aten.aminmax.default"},
    {"aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
     "aten.aminmax.default"},
    {"aten::matrix_exp(Tensor self) -> Tensor", "aten.linalg_matrix_exp.default"},
    {"aten::_linalg_eigvals(Tensor self) -> Tensor", "aten.linalg_eig.default", "0"},
    {"aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
     "aten.linalg_ldl_factor_ex.default", "01"},
    {"aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
     "aten.split_with_sizes.default"},
    {"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", "aten.chunk.default"},
    {"aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     "aten.channel_shuffle.default"},
    {"aten::_logcumsumexp(Tensor self, int dim) -> Tensor", "aten.logcumsumexp.default"},
    {"aten::_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, int "
     "padding_mode, bool align_corners) -> Tensor",
     "aten.grid_sampler_2d.default"},
    {"aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor",
     "aten.cholesky_solve.default"},
    {"aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     "aten.multilabel_margin_loss_forward.default", "0"},
};
auto by_other_name(Composer& c) -> Datum {
  const auto* const row = std::ranges::find(kNames, c.row().schema_text, &OtherName::schema);
  const auto result = c.call(row->target, {c.args().begin(), c.args().end()});
  if (row->results.empty() || c.error()) return result;
  DatumList kept;
  for (const char digit : row->results)
    kept.push_back(c.item(result, static_cast<std::size_t>(digit - '0')));
  return kept.size() == 1 ? kept[0] : Datum{std::move(kept)};
}

/// A, full_matrices, driver.
auto svd(Composer& c) -> Datum {
  return c.call("aten._linalg_svd.default",
                {c.arg(0), c.arg(1), Datum{Expr::boolean(true)}, c.arg(2)});
}
auto svdvals(Composer& c) -> Datum {
  const Datum no{Expr::boolean(false)};
  return c.item(c.call("aten._linalg_svd.default", {c.arg(0), no, no, c.arg(1)}), 1);
}

/// Indices below 0 count from the end.
auto from_the_end(Composer& c, const Datum& indices, const Expr& length) -> Datum {
  const auto below = c.call("aten.lt.Scalar", {indices, Datum{Expr(0)}});
  return c.call("aten.where.self",
                {below, c.call("aten.add.Scalar", {indices, Datum{length}}), indices});
}
/// self, indices, dim: gather with everything but dim broadcast; without dim, of flat tensors.
auto take_along_dim(Composer& c) -> Datum {
  if (!c.has(2)) {
    const auto flat = [&](const Datum& tensor) {
      return c.call("aten.reshape.default", {tensor, int_list(Dims{-1})});
    };
    const auto indices = from_the_end(c, c.arg(1), numel(c.meta(0)));
    return c.call("aten.gather.default", {flat(c.arg(0)), Datum{Expr(0)}, flat(indices)});
  }
  auto self = c.meta(0).sizes;
  auto indices = c.meta(1).sizes;
  if (self.size() != indices.size())
    return c.fail("self and indices have the same number of dimensions"), Datum{};
  auto layout = layout_call(c);
  const auto dim = static_cast<std::size_t>(layout.dim(c.integer(2), c.meta(0).rank()));
  if (dim >= self.size()) return c.fail("there is a dimension to take along"), Datum{};
  const auto length = self[dim];
  self[dim] = indices[dim];
  const auto common = broadcast(layout, self, indices);
  if (const auto& error = layout.error()) return c.fail(*error), Datum{};
  auto wide = common;
  wide[dim] = length;
  const auto expanded = [&](const Datum& tensor, const Dims& to) {
    return c.call("aten.expand.default", {tensor, int_list(to)});
  };
  return c.call("aten.gather.default", {expanded(c.arg(0), wide), c.arg(2),
                                        expanded(from_the_end(c, c.arg(1), length), common)});
}

auto broadcast_tensors(Composer& c) -> Datum {
  const auto* tensors = c.arg(0).list();
  if (!tensors) return c.fail("tensors are expected"), Datum{};
  auto layout = layout_call(c);
  Dims common;
  for (const auto& tensor : *tensors) common = broadcast(layout, common, c.meta(tensor).sizes);
  if (const auto& error = layout.error()) return c.fail(*error), Datum{};
  DatumList results;
  for (const auto& tensor : *tensors)
    results.push_back(c.call("aten.expand.default", {tensor, int_list(common)}));
  return {std::move(results)};
}

/// v, g, dim: the fused form along the first or last dimension, for other than float16
/// (aten/src/ATen/native/WeightNorm.cpp).
auto weight_norm(Composer& c) -> Datum {
  const auto v = c.meta(0);
  const bool half = v.dtype == DType::float16 || c.meta(1).dtype == DType::float16;
  const bool at_end = c.integer(2) == 0 || c.integer(2) == v.rank() - 1;
  if (half || !at_end) {
    const auto norms = c.call("aten.norm_except_dim.default", {c.arg(0), Datum{Expr(2)}, c.arg(2)});
    return c.call("aten.mul.Tensor", {c.arg(0), c.call("aten.div.Tensor", {c.arg(1), norms})});
  }
  const auto packed = [&](int arg) { return c.call("aten.contiguous.default", {c.arg(arg)}); };
  return c.item(c.call("aten._weight_norm_interface.default", {packed(0), packed(1), c.arg(2)}), 0);
}

/// x1, x2, p, eps, keepdim: the norm of x1 - x2 + eps over the last dimension.
auto pairwise_distance(Composer& c) -> Datum {
  const auto difference = c.call("aten.sub.Tensor", {c.arg(0), c.arg(1)});
  const auto moved = c.call("aten.add.Scalar", {difference, c.arg(3)});
  return c.call("aten.linalg_vector_norm.default", {moved, c.arg(2), int_list(Dims{-1}), c.arg(4)});
}

auto scaled_columns(Composer& c, const Datum& matrix, const Datum& scale) -> Datum {
  return c.call("aten.mul.Tensor",
                {matrix, c.call("aten.unsqueeze.default", {scale, Datum{Expr(-2)}})});
}
auto adjoint(Composer& c, const Datum& matrix) -> Datum {
  const auto swapped = c.call("aten.transpose.int", {matrix, Datum{Expr(-2)}, Datum{Expr(-1)}});
  return is_complex(c.meta(matrix).dtype) ? c.call("aten._conj_physical.default", {swapped})
                                          : swapped;
}
/// The square root of a Hermitian matrix has its eigenvectors and the roots of its eigenvalues.
auto hermitian_root(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  if (!meta.sizes.empty() && c.decide(eq(meta.sizes.back(), 0), "matrices without elements"))
    return c.call("aten.clone.default", {c.arg(0)});
  const auto pairs = c.call("aten._linalg_eigh.default", {c.arg(0)});
  if (c.error()) return {};
  const auto vectors = c.item(pairs, 1);
  const auto roots = c.call("aten.sqrt.default",
                            {c.call("aten.clamp_min.default", {c.item(pairs, 0), Datum{Expr(0)}})});
  return c.call("aten.matmul.default", {scaled_columns(c, vectors, roots), adjoint(c, vectors)});
}
/// A = U H from A = W S V^H: U = W V^H is unitary, H = V S V^H positive semidefinite.
auto polar(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  if (meta.rank() < 2) return c.fail("matrices are needed"), Datum{};
  const auto& columns = meta.sizes.back();
  if (!c.decide(ge(meta.sizes[meta.sizes.size() - 2], columns), "as many rows as columns"))
    return c.fail("as many rows as columns are needed"), Datum{};
  const auto parts = c.call("aten._linalg_svd.default", {c.arg(0)});
  if (c.error()) return {};
  const auto right = c.item(parts, 2);
  const auto left = adjoint(c, right);
  return {
      DatumList{c.call("aten.matmul.default", {c.item(parts, 0), right}),
                c.call("aten.matmul.default", {scaled_columns(c, left, c.item(parts, 1)), right})}};
}

}  // namespace

// clang-format off
void add_name_rows(OpTable& t) {
  for (const auto& row : kNames) t.add({.schema_text = row.schema, .decomposition = by_other_name});
  t.add({.schema_text = "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", .decomposition = svd});
  t.add({.schema_text = "aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", .decomposition = svdvals});
  t.add({.schema_text = "aten::linalg_matrix_sqrth(Tensor self) -> Tensor", .decomposition = hermitian_root});
  t.add({.schema_text = "aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)", .decomposition = polar});
  t.add({.schema_text = "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", .decomposition = take_along_dim});
  t.add({.schema_text = "aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", .decomposition = broadcast_tensors});
  t.add({.schema_text = "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", .decomposition = weight_norm});
  t.add({.schema_text = "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=1e-06, bool keepdim=False) -> Tensor", .decomposition = pairwise_distance});
}
// clang-format on

}  // namespace assay
