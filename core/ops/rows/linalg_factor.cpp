// Factorisations of matrices (aten/src/ATen/native/BatchLinearAlgebra.cpp): LU, QR, singular and
// eigenvalues, Cholesky, LDL. LAPACK does them; rules give LAPACK's column-major layouts.
#include <numeric>

#include "core/ops/lapack.h"
#include "core/ops/matrices.h"

namespace assay {
namespace {

using Codes = std::vector<std::int64_t>;

// ---- LU -----------------------------------------------------------------------------------------

/// LAPACK always pivots; cuSOLVER need not.
auto may_skip_pivots(MetaCall& c, bool pivot) -> bool {
  return c.require(pivot || on_cuda(c.meta(0)), "LU without pivoting is for CUDA only");
}
auto lu_factor_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0) || !may_skip_pivots(c, c.flag(param(c, "pivot")))) return {};
  const auto& a = c.meta(0);
  const auto size = matrix_size(a);
  return {DatumList{column_major(c, a.dtype, a.sizes),
                    c.fresh(DType::int32, batched(a, {size.least()})),
                    c.fresh(DType::int32, batch_of(a))}};
}
/// How rows are exchanged: not at all, as LAPACK does (by |re| + |im| of complex numbers), or by
/// their modulus, as cuBLAS does for several matrices.
enum class Pivoting : std::uint8_t { none, lapack, modulus };
auto pivoting_of(const Tensor& a, std::size_t count, bool pivot) -> Pivoting {
  if (!pivot) return Pivoting::none;
  const auto rows = a.sizes().size() - 2;
  const bool is_batch = count > 1 && a.sizes()[rows] == a.sizes()[rows + 1];
  return on_cuda(a.meta) && is_complex(a.dtype()) && is_batch ? Pivoting::modulus
                                                              : Pivoting::lapack;
}
/// a = L U in place, with rows exchanged by modulus if there are `pivots` to tell; the first pivot
/// that is 0, counted from 1, or 0.
template <class T>
auto eliminate(Matrices<T>& m, std::size_t i, std::vector<int>* pivots) -> int {
  int code = 0;
  for (int d = 0; d < std::min(m.rows, m.cols); ++d) {
    if (pivots != nullptr) {
      int largest = d;
      for (int row = d + 1; row < m.rows; ++row)
        if (std::abs(m.element(i, row, d)) > std::abs(m.element(i, largest, d))) largest = row;
      for (int col = 0; col < m.cols; ++col)
        std::swap(m.element(i, d, col), m.element(i, largest, col));
      (*pivots)[static_cast<std::size_t>(d)] = largest + 1;
    }
    if (m.element(i, d, d) == T(0) && code == 0) code = d + 1;
    if (pivots != nullptr && m.element(i, d, d) == T(0)) continue;  // nothing is below it either
    for (int row = d + 1; row < m.rows; ++row) {
      const auto factor = m.element(i, row, d) /= m.element(i, d, d);
      for (int col = d + 1; col < m.cols; ++col)
        m.element(i, row, col) -= factor * m.element(i, d, col);
    }
  }
  return code;
}
/// Factors every matrix in place; pivots of all matrices one after the other.
template <class T>
auto factor_all(Matrices<T>& m, Codes& pivots, Pivoting pivoting) -> Codes {
  Codes codes;
  std::vector<int> own(static_cast<std::size_t>(std::min(m.rows, m.cols)) + 1);
  std::iota(own.begin(), own.end(), 1);
  for (std::size_t i = 0; i < m.count; ++i) {
    codes.push_back(m.size() == 0 ? 0
                    : pivoting == Pivoting::lapack
                        ? lapack::lu_factor(m.rows, m.cols, m.at(i), own.data())
                        : eliminate(m, i, pivoting == Pivoting::modulus ? &own : nullptr));
    pivots.insert(pivots.end(), own.begin(), own.end() - 1);
  }
  return codes;
}
void lu_factor_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    Codes pivots;
    const auto codes =
        factor_all(m, pivots, pivoting_of(k.in(0), m.count, k.flag(param(k, "pivot"))));
    store_matrices(k.out(0), m);
    from_vector<std::int64_t>(k.out(1), pivots);
    store_codes(k.out(2), codes);
  });
}

/// P, L, U of an LU matrix and its pivots, all row-major; parts that are not wanted are empty.
auto unpacked(MetaCall& c, bool data, bool pivots) -> Datum {
  const auto& a = c.meta(0);
  const auto size = matrix_size(a);
  return {DatumList{
      pivots ? c.fresh(a.dtype, batched(a, {size.rows, size.rows})) : no_part(c, a.dtype),
      data ? c.fresh(a.dtype, batched(a, {size.rows, size.least()})) : no_part(c, a.dtype),
      data ? c.fresh(a.dtype, batched(a, {size.least(), size.cols})) : no_part(c, a.dtype)}};
}
auto lu_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0)) return {};
  const bool pivot = c.flag(param(c, "pivot"));
  return may_skip_pivots(c, pivot) ? unpacked(c, true, pivot) : Datum{};
}
auto lu_unpack_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0) ||
      !c.require(c.meta(1).dtype == DType::int32, "the pivots are int32") ||
      !require_same_sizes(c, c.meta(1).sizes, batched(c.meta(0), {matrix_size(c.meta(0)).least()}),
                          "one pivot per row"))
    return {};
  return unpacked(c, c.flag(2), c.flag(3));
}
template <class T>
void store_unpacked(KernelCall& k, Matrices<T>& m, const Codes& pivots) {
  const auto least = std::min(m.rows, m.cols);
  if (is_wanted(k, 1)) {
    auto lower = m;
    keep_triangle(lower, false);
    for (std::size_t i = 0; i < m.count; ++i)
      for (int d = 0; d < least; ++d) lower.element(i, d, d) = T(1);
    auto upper = m;
    keep_triangle(upper, true);
    store_matrices(k.out(1), lower);
    store_matrices(k.out(2), upper);
  }
  if (!is_wanted(k, 0)) return;
  auto p = new_matrices<T>(m.count, m.rows, m.rows);
  std::vector<int> order(static_cast<std::size_t>(m.rows));
  for (std::size_t i = 0; i < m.count; ++i) {
    for (int row = 0; row < m.rows; ++row) order[static_cast<std::size_t>(row)] = row;
    for (int d = 0; d < least; ++d) {
      const auto other = pivots[i * static_cast<std::size_t>(least) + static_cast<std::size_t>(d)];
      if (other < 1 || other > m.rows) return void(k.fail("a pivot is out of range"));
      std::swap(order[static_cast<std::size_t>(d)], order[static_cast<std::size_t>(other - 1)]);
    }
    for (int row = 0; row < m.rows; ++row)
      p.element(i, order[static_cast<std::size_t>(row)], row) = T(1);
  }
  store_matrices(k.out(0), p);
}
void lu_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    Codes pivots;
    factor_all(m, pivots, pivoting_of(k.in(0), m.count, k.flag(param(k, "pivot"))));
    store_unpacked(k, m, pivots);
  });
}
void lu_unpack_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    store_unpacked(k, m, to_vector<std::int64_t>(k.in(1)));
  });
}

// ---- QR -----------------------------------------------------------------------------------------

/// "reduced", "complete", or "r" (no Q).
auto qr_rule(MetaCall& c) -> Datum {
  const auto mode = c.text(1);
  if (!require_matrices(c, 0) || !c.require(mode == "reduced" || mode == "complete" || mode == "r",
                                            "mode is 'reduced', 'complete' or 'r'"))
    return {};
  const auto& a = c.meta(0);
  const auto size = matrix_size(a);
  const auto inner = mode == "complete" ? size.rows : size.least();
  return {DatumList{
      mode == "r" ? no_part(c, a.dtype) : column_major(c, a.dtype, batched(a, {size.rows, inner})),
      column_major(c, a.dtype, batched(a, {inner, size.cols}))}};
}
void qr_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    const int least = std::min(m.rows, m.cols);
    std::vector<T> tau(static_cast<std::size_t>(least) + 1);
    auto q = new_matrices<T>(m.count, m.rows, std::max(m.rows, m.cols));
    const bool complete = k.text(1) == "complete";
    for (std::size_t i = 0; i < m.count; ++i) {
      if (m.rows > 0 && least > 0) lapack::qr_factor(m.rows, m.cols, m.at(i), tau.data());
      std::copy_n(m.at(i), m.size(), q.at(i));
      const int wanted = complete ? m.rows : least;
      if (least == 0)
        for (int d = 0; d < wanted; ++d) q.element(i, d, d) = T(1);
      else
        lapack::make_q(m.rows, wanted, least, q.at(i), tau.data());
    }
    if (k.text(1) != "r") store_matrices(k.out(0), q);
    keep_triangle(m, true);
    store_matrices(k.out(1), m);
  });
}

auto geqrf_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0)) return {};
  const auto& a = c.meta(0);
  return {DatumList{column_major(c, a.dtype, a.sizes),
                    c.fresh(a.dtype, batched(a, {matrix_size(a).least()}))}};
}
void geqrf_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    const auto least = static_cast<std::size_t>(std::min(m.rows, m.cols));
    std::vector<T> tau(m.count * least + 1);
    for (std::size_t i = 0; i < m.count && least > 0; ++i)
      lapack::qr_factor(m.rows, m.cols, m.at(i), tau.data() + i * least);
    tau.pop_back();
    store_matrices(k.out(0), m);
    from_vector<T>(k.out(1), tau);
  });
}

/// input [.., m, n], tau [.., k] with k <= n <= m.
auto householder_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0)) return {};
  const auto& a = c.meta(0);
  const auto& tau = c.meta(1);
  const auto size = matrix_size(a);
  if (!c.require(tau.rank() == a.rank() - 1, "one vector of scales per matrix") ||
      !c.require(ge(size.rows, size.cols), "there are not more columns than rows") ||
      !c.require(le(tau.sizes.back(), size.cols), "there are not more reflectors than columns") ||
      !require_same_sizes(c, batch_of(a), {tau.sizes.begin(), tau.sizes.end() - 1},
                          "the batches agree"))
    return {};
  return column_major(c, a.dtype, a.sizes);
}
void householder_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    const auto tau = to_vector<T>(k.in(1));
    const auto count = static_cast<int>(k.in(1).sizes().back());
    for (std::size_t i = 0; i < m.count && m.size() > 0; ++i)
      lapack::make_q(m.rows, m.cols, count, m.at(i),
                     tau.data() + i * static_cast<std::size_t>(count));
    store_matrices(k.out(), m);
  });
}

/// self (reflectors), input2 (scales), input3, left, transpose.
auto ormqr_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0) || !require_matrices(c, 2)) return {};
  const auto a = matrix_size(c.meta(0));
  const auto other = matrix_size(c.meta(2));
  const auto& tau = c.meta(1);
  if (!c.require(tau.rank() == c.meta(0).rank() - 1, "one vector of scales per matrix") ||
      !require_same_sizes(c, batch_of(c.meta(0)), {tau.sizes.begin(), tau.sizes.end() - 1},
                          "the batches agree") ||
      !c.require(le(tau.sizes.back(), a.cols), "there are not more reflectors than columns") ||
      !c.require(eq(a.rows, c.flag(3) ? other.rows : other.cols), "the matrices fit") ||
      !c.require(le(tau.sizes.back(), a.rows), "there are not more reflectors than rows") ||
      !require_same_sizes(c, batch_of(c.meta(0)), batch_of(c.meta(2)), "the batches agree"))
    return {};
  return column_major(c, c.meta(2).dtype, c.meta(2).sizes);
}
void ormqr_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto a = load_matrices<T>(k.in(0));
    auto other = load_matrices<T>(k.in(2));
    const auto tau = to_vector<T>(k.in(1));
    const auto count = static_cast<int>(k.in(1).sizes().back());
    for (std::size_t i = 0; i < other.count && other.size() > 0; ++i)
      lapack::multiply_q(k.flag(3), k.flag(4), other.rows, other.cols, count, a.at(i), a.rows,
                         tau.data() + i * static_cast<std::size_t>(count), other.at(i));
    store_matrices(k.out(), other);
  });
}

// ---- singular values and eigenvalues ------------------------------------------------------------

/// A, full_matrices, compute_uv. cuSOLVER gives Vh row-major.
auto svd_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0)) return {};
  const auto& a = c.meta(0);
  const auto size = matrix_size(a);
  const auto least = size.least();
  auto values = c.fresh(real_of(a.dtype), batched(a, {least}));
  if (!c.flag(2)) return {DatumList{no_part(c, a.dtype), values, no_part(c, a.dtype)}};
  auto right = batched(a, {c.flag(1) ? size.cols : least, size.cols});
  const auto strides = matrix_strides(right, !on_cuda(a));
  return {
      DatumList{column_major(c, a.dtype, batched(a, {size.rows, c.flag(1) ? size.rows : least})),
                values, c.fresh(a.dtype, std::move(right), strides)}};
}
template <class T>
void set_diagonal(Matrices<T>& m, std::size_t i) {
  for (int d = 0; d < std::min(m.rows, m.cols); ++d) m.element(i, d, d) = T(1);
}
void svd_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    const int least = std::min(m.rows, m.cols);
    const bool full = k.flag(1);
    auto u = new_matrices<T>(m.count, m.rows, full ? m.rows : least);
    auto vh = new_matrices<T>(m.count, full ? m.cols : least, m.cols);
    std::vector<double> s(m.count * static_cast<std::size_t>(least));
    const auto job = !k.flag(2) ? lapack::Vectors::none
                     : full     ? lapack::Vectors::all
                                : lapack::Vectors::some;
    for (std::size_t i = 0; i < m.count; ++i) {
      if (least == 0) {
        set_diagonal(u, i);
        set_diagonal(vh, i);
      } else {
        lapack::svd(job, m.rows, m.cols, m.at(i), s.data() + i * static_cast<std::size_t>(least),
                    u.at(i), vh.at(i));
      }
    }
    from_vector<double>(k.out(1), s);
    if (!k.flag(2)) return;
    store_matrices(k.out(0), u);
    store_matrices(k.out(2), vh);
  });
}

/// A, UPLO, compute_v.
auto eigh_rule(MetaCall& c) -> Datum {
  const auto triangle = c.text(1);
  if (!require_matrices(c, 0, true) ||
      !c.require(triangle == "L" || triangle == "U" || triangle == "l" || triangle == "u",
                 "UPLO is 'L' or 'U'"))
    return {};
  const auto& a = c.meta(0);
  return {DatumList{c.fresh(real_of(a.dtype), batched(a, {matrix_size(a).rows})),
                    c.flag(2) ? column_major(c, a.dtype, a.sizes) : no_part(c, a.dtype)}};
}
void eigh_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    const auto n = static_cast<std::size_t>(m.rows);
    std::vector<double> values(m.count * n);
    const bool lower = k.text(1) == "L" || k.text(1) == "l";
    for (std::size_t i = 0; i < m.count && n > 0; ++i)
      lapack::eigh(k.flag(2), lower, m.rows, m.at(i), values.data() + i * n);
    from_vector<double>(k.out(0), values);
    if (k.flag(2)) store_matrices(k.out(1), m);
  });
}

auto eig_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true)) return {};
  const auto& a = c.meta(0);
  const auto dtype = complex_of(a.dtype).value_or(a.dtype);
  return {DatumList{c.fresh(dtype, batched(a, {matrix_size(a).rows})),
                    on_cuda(a) ? c.fresh(dtype, a.sizes) : column_major(c, dtype, a.sizes)}};
}
void eig_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    auto vectors = new_matrices<Complex>(m.count, m.rows, m.cols);
    const auto n = static_cast<std::size_t>(m.rows);
    std::vector<Complex> values(m.count * n);
    for (std::size_t i = 0; i < m.count && n > 0; ++i)
      lapack::eig(m.rows, m.at(i), values.data() + i * n, vectors.at(i));
    from_vector<Complex>(k.out(0), values);
    store_matrices(k.out(1), vectors);
  });
}

// ---- Cholesky and LDL ---------------------------------------------------------------------------

auto square_rule(MetaCall& c) -> Datum {
  return require_matrices(c, 0, true) ? column_major(c, c.meta(0).dtype, c.meta(0).sizes) : Datum{};
}
/// Without elements the result is an empty_like in row-major order.
auto cholesky_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true)) return {};
  const bool empty = c.decide(eq(numel(c.meta(0)), 0), "empty matrices");
  return empty ? contiguous_like_self(c) : square_rule(c);
}
auto cholesky_ex_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true)) return {};
  const auto& a = c.meta(0);
  return {DatumList{column_major(c, a.dtype, a.sizes), c.fresh(DType::int32, batch_of(a))}};
}
/// self, upper.
void cholesky_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    const bool upper = k.flag(1);
    const bool checked = k.result().list() == nullptr;
    keep_triangle(m, upper);
    Codes codes;
    for (std::size_t i = 0; i < m.count; ++i) {
      codes.push_back(m.size() ? lapack::cholesky(!upper, m.rows, m.at(i)) : 0);
      if (checked && codes.back() > 0) return void(k.fail("a matrix is not positive definite"));
    }
    store_matrices(k.out(0), m);
    if (!checked) store_codes(k.out(1), codes);
  });
}
/// (L L^H)^-1 column by column; self, upper.
void cholesky_inverse_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    const bool upper = k.flag(1);
    auto inverse = new_matrices<T>(m.count, m.rows, m.cols);
    const int n = m.rows;
    for (std::size_t i = 0; i < m.count; ++i)
      for (int col = 0; col < n; ++col) {
        const auto factor = [&](int r, int s) {
          return upper ? conjugate(m.element(i, s, r)) : m.element(i, r, s);
        };
        const auto x = [&](int r) -> T& { return inverse.element(i, r, col); };
        x(col) = T(1);
        for (int r = 0; r < n; ++r) {
          for (int s = 0; s < r; ++s) x(r) -= factor(r, s) * x(s);
          x(r) /= factor(r, r);
        }
        for (int r = n; r-- > 0;) {
          for (int s = r + 1; s < n; ++s) x(r) -= conjugate(factor(s, r)) * x(s);
          x(r) /= conjugate(factor(r, r));
        }
      }
    store_matrices(k.out(), inverse);
  });
}

auto ldl_factor_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true)) return {};
  const auto& a = c.meta(0);
  return {DatumList{column_major(c, a.dtype, a.sizes),
                    c.fresh(DType::int32, batched(a, {matrix_size(a).rows})),
                    c.fresh(DType::int32, batch_of(a))}};
}
void ldl_factor_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    keep_triangle(m, false);
    Codes codes;
    Codes pivots;
    std::vector<int> own(static_cast<std::size_t>(m.rows) + 1);
    for (std::size_t i = 0; i < m.count; ++i) {
      codes.push_back(m.size() ? lapack::ldl_factor(k.flag(1), m.rows, m.at(i), own.data()) : 0);
      pivots.insert(pivots.end(), own.begin(), own.end() - 1);
    }
    store_matrices(k.out(0), m);
    from_vector<std::int64_t>(k.out(1), pivots);
    store_codes(k.out(2), codes);
  });
}

/// info, name, is_matrix: fails where LAPACK reported something.
auto check_errors_rule(MetaCall&) -> Datum {
  return {};
}
void check_errors_kernel(KernelCall& k) {
  for (const auto code : to_vector<std::int64_t>(k.in(0)))
    if (code != 0) k.fail(fmt::format("{}: the factorisation failed ({})", k.text(1), code));
}

}  // namespace

// clang-format off
void add_linalg_factor_rows(OpTable& t) {
  t.add({.schema_text = "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", .rule = lu_factor_rule, .kernel = lu_factor_kernel});
  t.add({.schema_text = "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", .rule = lu_rule, .kernel = lu_kernel});
  t.add({.schema_text = "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", .rule = lu_unpack_rule, .kernel = lu_unpack_kernel});
  t.add({.schema_text = "aten::linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", .rule = qr_rule, .kernel = qr_kernel});
  t.add({.schema_text = "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", .rule = geqrf_rule, .kernel = geqrf_kernel});
  t.add({.schema_text = "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", .rule = householder_rule, .kernel = householder_kernel});
  t.add({.schema_text = "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", .rule = ormqr_rule, .kernel = ormqr_kernel});
  t.add({.schema_text = "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", .rule = svd_rule, .kernel = svd_kernel});
  t.add({.schema_text = "aten::_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)", .rule = eigh_rule, .kernel = eigh_kernel});
  t.add({.schema_text = "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", .rule = eig_rule, .kernel = eig_kernel});
  t.add({.schema_text = "aten::cholesky(Tensor self, bool upper=False) -> Tensor", .rule = cholesky_rule, .kernel = cholesky_kernel});
  t.add({.schema_text = "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", .rule = cholesky_ex_rule, .kernel = cholesky_kernel});
  t.add({.schema_text = "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", .rule = square_rule, .kernel = cholesky_inverse_kernel});
  t.add({.schema_text = "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)", .rule = ldl_factor_rule, .kernel = ldl_factor_kernel});
  t.add({.schema_text = "aten::_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()", .rule = check_errors_rule, .kernel = check_errors_kernel});
}
// clang-format on

}  // namespace assay
