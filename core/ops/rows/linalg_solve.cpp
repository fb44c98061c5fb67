// Linear systems and what is made of factorisations (aten/src/ATen/native/BatchLinearAlgebra.cpp,
// LinearAlgebra.cpp): solutions, inverses, determinants.
#include <cmath>

#include "core/ops/lapack.h"
#include "core/ops/matrices.h"

namespace assay {
namespace {

using Codes = std::vector<std::int64_t>;

/// LU factors with pivots and codes of a batch.
template <class T>
struct Factored {
  Matrices<T> lu;
  std::vector<int> pivots;
  Codes codes;
  [[nodiscard]] auto pivots_of(std::size_t i) const -> const int* {
    return pivots.data() + i * static_cast<std::size_t>(lu.rows);
  }
};
template <class T>
auto factored(Matrices<T> m) -> Factored<T> {
  Factored<T> f{std::move(m), {}, {}};
  f.pivots.resize(f.lu.count * static_cast<std::size_t>(f.lu.rows) + 1);
  for (std::size_t i = 0; i < f.lu.count; ++i)
    f.codes.push_back(
        f.lu.size() ? lapack::lu_factor(f.lu.rows, f.lu.cols, f.lu.at(i),
                                        f.pivots.data() + i * static_cast<std::size_t>(f.lu.rows))
                    : 0);
  return f;
}
template <class T>
void solve_with(const Factored<T>& f, lapack::Form form, Matrices<T>& b) {
  auto& lu = const_cast<Matrices<T>&>(f.lu);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  for (std::size_t i = 0; i < b.count && b.size() > 0; ++i)
    lapack::lu_solve(form, b.rows, b.cols, lu.at(i), f.pivots_of(i), b.at(i));
}
template <class T>
void store_factored(KernelCall& k, int first, Factored<T>& f) {
  store_matrices(k.out(first), f.lu);
  from_vector<std::int64_t>(k.out(first + 1), Codes(f.pivots.begin(), f.pivots.end() - 1));
}

/// Row-major real matrices are factored as their transposes, which saves ATen a copy.
auto factors_transpose(const Tensor& a) -> bool {
  return a.is_contiguous() && !is_complex(a.dtype());
}

// ---- determinants -------------------------------------------------------------------------------

auto determinant_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true)) return {};
  const auto& a = c.meta(0);
  DatumList results;
  const bool split = c.row().schema.returns.size() == 4;
  results.push_back(c.fresh(a.dtype, batch_of(a)));
  if (split) results.push_back(c.fresh(real_of(a.dtype), batch_of(a)));
  results.push_back(column_major(c, a.dtype, a.sizes));
  results.push_back(c.fresh(DType::int32, batched(a, {matrix_size(a).rows})));
  return {std::move(results)};
}
/// _linalg_det and _linalg_slogdet, which gives sign and logarithm instead of the product.
template <bool kSplit>
void determinant_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    const bool transposed = factors_transpose(k.in(0));
    auto f = factored(load_matrices<T>(transposed ? transposed_view(k.in(0)) : k.in(0)));
    std::vector<T> values;
    std::vector<double> logs;
    for (std::size_t i = 0; i < f.lu.count; ++i) {
      T value(1);
      double log = 0;
      for (int d = 0; d < f.lu.rows; ++d) {
        const T pivot = f.lu.element(i, d, d);
        const double size = std::abs(pivot);
        log += std::log(size);
        value *= kSplit ? (size > 0 ? pivot / size : T(0)) : pivot;
        if (f.pivots_of(i)[d] != d + 1) value = -value;
      }
      values.push_back(value);
      logs.push_back(log);
    }
    from_vector<T>(k.out(0), values);
    if constexpr (kSplit) from_vector<double>(k.out(1), logs);
    store_factored(k, kSplit ? 2 : 1, f);
  });
}

// ---- systems ------------------------------------------------------------------------------------

auto inverse_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true)) return {};
  const auto& a = c.meta(0);
  return {DatumList{column_major(c, a.dtype, a.sizes), c.fresh(DType::int32, batch_of(a))}};
}
void inverse_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    const auto f = factored(load_matrices<T>(k.in(0)));
    auto x = identity<T>(f.lu.count, f.lu.rows);
    solve_with(f, lapack::Form::plain, x);
    store_matrices(k.out(0), x);
    store_codes(k.out(1), f.codes);
  });
}

/// Is B one vector per matrix of A? (linalg_solve_is_vector_rhs)
auto is_vector_side(MetaCall& c, const TensorMeta& a, const TensorMeta& b) -> bool {
  if (b.rank() == 1) return true;
  if (b.rank() != a.rank() - 1) return false;
  for (std::size_t i = 0; i < b.sizes.size(); ++i)
    if (b.sizes[i] != a.sizes[i] && !c.decide(eq(b.sizes[i], a.sizes[i]), "one vector per matrix"))
      return false;
  return true;
}
/// A, B, left: result, LU, pivots, info.
auto solve_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true)) return {};
  const auto& a = c.meta(0);
  auto b = c.meta(1);
  const bool left = c.flag(2);
  if (!c.require(a.dtype == b.dtype, "both sides have one dtype") ||
      !c.require(b.rank() > 0, "the right side is a vector or matrices"))
    return {};
  const bool vector = is_vector_side(c, a, b);
  if (vector) b.sizes.emplace_back(1);
  if (!c.require(left || !vector, "a vector stands on the right of the matrix")) return {};
  const auto size = matrix_size(b);
  if (!c.require(eq(left ? size.rows : size.cols, a.sizes.back()), "the sides fit")) return {};
  auto sizes = with_matrix(common_batch(c, a, b), size.rows, size.cols);
  if (vector) sizes.pop_back();
  const auto strides = matrix_strides(sizes, left);
  return {DatumList{c.fresh(a.dtype, sizes, strides), column_major(c, a.dtype, a.sizes),
                    c.fresh(DType::int32, batched(a, {a.sizes.back()})),
                    c.fresh(DType::int32, batch_of(a))}};
}
/// X with A X = B, or X A = B.
template <class T>
auto solution(const Factored<T>& f, bool left, Matrices<T> b) -> Matrices<T> {
  if (left) {
    solve_with(f, lapack::Form::plain, b);
    return b;
  }
  auto sides = adjoint(b);  // A^H X^H = B^H
  solve_with(f, lapack::Form::adjoint, sides);
  return adjoint(sides);
}
/// Factors repeated for a broadcast batch.
template <class T>
auto broadcast_factors(const Factored<T>& f, const Ints& own, const Ints& batch) -> Factored<T> {
  const auto count = static_cast<std::int64_t>(f.lu.count);
  const auto at = *Tensor::contiguous(DType::int64, own);
  auto numbers = at;
  Ints order(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  from_vector<std::int64_t>(numbers, order);
  Factored<T> result{{{}, f.lu.rows, f.lu.cols, 0}, {}, {}};
  auto lu = f.lu;
  for (const auto i : to_vector<std::int64_t>(expanded_view(numbers, batch))) {
    const auto from = static_cast<std::size_t>(i);
    result.lu.values.insert(result.lu.values.end(), lu.at(from), lu.at(from) + lu.size());
    result.pivots.insert(result.pivots.end(), f.pivots_of(from), f.pivots_of(from) + lu.rows);
    ++result.lu.count;
  }
  result.pivots.push_back(0);
  return result;
}
void solve_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    const auto& a = k.in(0);
    auto b = k.in(1);
    Tensor out = k.out(0);
    const Ints one_per_row(a.sizes().begin(), a.sizes().end() - 1);
    const bool vector = b.rank() == 1 || b.sizes() == one_per_row;
    for (auto* t : {&b, &out}) {
      if (!vector) break;
      t->meta.sizes.push_back(1);
      t->meta.strides.push_back(1);
    }
    auto f = factored(load_matrices<T>(a));
    const auto batch = matrix_batch(out);
    auto x = solution(broadcast_factors(f, matrix_batch(a), batch), k.flag(2),
                      load_matrices<T>(b, batch));
    store_matrices(out, x);
    store_factored(k, 1, f);
    store_codes(k.out(3), f.codes);
  });
}

/// LU, pivots, B, left, adjoint.
auto lu_solve_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true) || !require_matrices(c, 2)) return {};
  const auto& a = c.meta(0);
  const auto& b = c.meta(2);
  const auto size = matrix_size(b);
  const auto& pivots = c.meta(1);
  if (!c.require(a.dtype == b.dtype, "both sides have one dtype") ||
      !c.require(pivots.dtype == DType::int32, "the pivots are int32") ||
      !require_same_sizes(c, pivots.sizes, batched(a, {a.sizes.back()}), "one pivot per row") ||
      !c.require(eq(c.flag(3) ? size.rows : size.cols, a.sizes.back()), "the sides fit"))
    return {};
  auto sizes = with_matrix(common_batch(c, a, b), size.rows, size.cols);
  const auto strides = matrix_strides(sizes, c.flag(3));
  return c.fresh(a.dtype, std::move(sizes), strides);
}
void lu_solve_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    Factored<T> f{load_matrices<T>(k.in(0)), {}, {}};
    for (const auto pivot : to_vector<std::int64_t>(k.in(1))) {
      if (pivot < 1 || pivot > f.lu.rows) return void(k.fail("a pivot is out of range"));
      f.pivots.push_back(static_cast<int>(pivot));
    }
    f.pivots.push_back(0);
    const auto batch = common_batch(k, k.in(0), k.in(2));
    const auto all = broadcast_factors(f, matrix_batch(k.in(0)), batch);
    auto b = load_matrices<T>(k.in(2), batch);
    const bool adjoint_form = k.flag(4);
    Matrices<T> x = std::move(b);
    if (k.flag(3)) {
      solve_with(all, adjoint_form ? lapack::Form::adjoint : lapack::Form::plain, x);
    } else {
      auto sides = adjoint(x);
      solve_with(all, adjoint_form ? lapack::Form::plain : lapack::Form::adjoint, sides);
      x = adjoint(sides);
    }
    store_matrices(k.out(), x);
  });
}

/// op(A) x = b for a triangular matrix, in place. `adjoint_form` is the conjugate transpose.
template <class T, class At>
void solve_triangle(int n, bool upper, bool unit, const At& at, T* x) {
  for (int step = 0; step < n; ++step) {
    const int row = upper ? n - 1 - step : step;
    for (int col = upper ? row + 1 : 0; col < (upper ? n : row); ++col)
      x[row] -= at(row, col) * x[col];
    if (!unit) x[row] /= at(row, row);
  }
}
/// Positions of the flags in a row's schema, and which argument is the matrix.
struct TriangleArgs {
  int matrix, side, upper, left, transpose, unit;
};
template <class T>
auto solve_triangles(KernelCall& k, const TriangleArgs& p) -> Matrices<T> {
  const auto batch = common_batch(k, k.in(p.matrix), k.in(p.side));
  auto a = load_matrices<T>(k.in(p.matrix), batch);
  auto b = load_matrices<T>(k.in(p.side), batch);
  const bool left = p.left < 0 || k.flag(p.left);
  const bool transposed = p.transpose >= 0 && k.flag(p.transpose);
  if (!left) b = adjoint(b);
  const bool flip = !left || transposed;
  for (std::size_t i = 0; i < b.count; ++i)
    for (int col = 0; col < b.cols; ++col) {
      const auto at = [&](int r, int s) {
        return !left        ? conjugate(a.element(i, s, r))
               : transposed ? a.element(i, s, r)
                            : a.element(i, r, s);
      };
      solve_triangle(b.rows, k.flag(p.upper) != flip, k.flag(p.unit), at,
                     b.at(i) + static_cast<std::ptrdiff_t>(col) * b.rows);
    }
  return left ? b : adjoint(b);
}
/// A lazily conjugated A whose transpose is row-major is taken where it lies; then the result is
/// row-major, else column-major (linalg_solve_triangular_out).
auto stays_in_place(MetaCall& c, const TensorMeta& a, const Dims& batch) -> bool {
  if (!has(a.lazy, Lazy::conjugated)) return false;
  auto all = a;
  all.sizes = with_matrix(batch, a.sizes.back(), a.sizes.back());
  all.strides = expanded_strides(c, a, all.sizes);
  for (auto* dims : {&all.sizes, &all.strides}) std::swap(dims->back(), *(dims->end() - 2));
  return is_contiguous(c, all);
}
/// self (A), B, upper, left, unitriangular.
auto solve_triangular_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true) || !require_matrices(c, 1)) return {};
  const auto size = matrix_size(c.meta(1));
  if (!c.require(c.meta(0).dtype == c.meta(1).dtype, "both sides have one dtype") ||
      !c.require(eq(c.flag(3) ? size.rows : size.cols, c.meta(0).sizes.back()), "the sides fit"))
    return {};
  const auto batch = common_batch(c, c.meta(0), c.meta(1));
  auto sizes = with_matrix(batch, size.rows, size.cols);
  if (stays_in_place(c, c.meta(0), batch)) return c.fresh(c.meta(0).dtype, std::move(sizes));
  return column_major(c, c.meta(0).dtype, std::move(sizes));
}
void solve_triangular_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto x = solve_triangles<T>(k, {0, 1, 2, 3, -1, 4});
    store_matrices(k.out(), x);
  });
}
/// self (B), A, upper, transpose, unitriangular: the solution and a copy of A.
auto triangular_solve_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0) || !require_matrices(c, 1, true)) return {};
  const auto size = matrix_size(c.meta(0));
  const auto& a = c.meta(1);
  if (!c.require(eq(size.rows, a.sizes.back()), "the sides fit")) return {};
  const auto batch = common_batch(c, c.meta(0), a);
  return {DatumList{column_major(c, a.dtype, with_matrix(batch, size.rows, size.cols)),
                    column_major(c, a.dtype, with_matrix(batch, a.sizes.back(), a.sizes.back()))}};
}
void triangular_solve_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto x = solve_triangles<T>(k, {1, 0, 2, -1, 3, 4});
    store_matrices(k.out(0), x);
    auto a = load_matrices<T>(k.in(1), matrix_batch(k.out(1)));
    store_matrices(k.out(1), a);
  });
}

/// self (B), input2 (L), upper.
auto cholesky_solve_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0) || !require_matrices(c, 1, true)) return {};
  const auto size = matrix_size(c.meta(0));
  if (!c.require(eq(size.rows, c.meta(1).sizes.back()), "the sides fit")) return {};
  return column_major(c, c.meta(0).dtype,
                      with_matrix(common_batch(c, c.meta(0), c.meta(1)), size.rows, size.cols));
}
void cholesky_solve_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    const auto batch = common_batch(k, k.in(0), k.in(1));
    auto b = load_matrices<T>(k.in(0), batch);
    auto a = load_matrices<T>(k.in(1), batch);
    const bool upper = k.flag(2);
    for (std::size_t i = 0; i < b.count; ++i)
      for (int col = 0; col < b.cols; ++col) {
        T* x = b.at(i) + static_cast<std::ptrdiff_t>(col) * b.rows;
        const auto plain = [&](int r, int s) { return a.element(i, r, s); };
        const auto flipped = [&](int r, int s) { return conjugate(a.element(i, s, r)); };
        if (upper) {
          solve_triangle(b.rows, false, false, flipped, x);
          solve_triangle(b.rows, true, false, plain, x);
        } else {
          solve_triangle(b.rows, false, false, plain, x);
          solve_triangle(b.rows, true, false, flipped, x);
        }
      }
    store_matrices(k.out(), b);
  });
}

/// LD, pivots, B, hermitian.
auto ldl_solve_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, true) || !require_matrices(c, 2)) return {};
  const auto size = matrix_size(c.meta(2));
  if (!c.require(eq(size.rows, c.meta(0).sizes.back()), "the sides fit") ||
      !require_same_sizes(c, c.meta(1).sizes, batched(c.meta(0), {size.rows}), "one pivot per row"))
    return {};
  return column_major(c, c.meta(0).dtype,
                      with_matrix(common_batch(c, c.meta(0), c.meta(2)), size.rows, size.cols));
}
void ldl_solve_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    const auto batch = common_batch(k, k.in(0), k.in(2));
    auto ld = load_matrices<T>(k.in(0), batch);
    auto b = load_matrices<T>(k.in(2), batch);
    auto pivot_sizes = batch;
    pivot_sizes.push_back(k.in(1).sizes().back());
    std::vector<int> pivots;
    for (const auto p : to_vector<std::int64_t>(expanded_view(k.in(1), pivot_sizes))) {
      if (p == 0 || p > b.rows || p < -b.rows) return void(k.fail("a pivot is out of range"));
      pivots.push_back(static_cast<int>(p));
    }
    // Negative ones are of blocks of two rows: with half a block LAPACK would leave its memory.
    for (std::size_t row = 0; row < pivots.size(); ++row) {
      if (pivots[row] > 0) continue;
      const bool ends = (row + 1) % static_cast<std::size_t>(b.rows) == 0;
      if (ends || pivots[++row] > 0) return void(k.unsupported("pivots of half a block"));
    }
    for (std::size_t i = 0; i < b.count && b.size() > 0; ++i)
      lapack::ldl_solve(k.flag(3), b.rows, b.cols, ld.at(i),
                        pivots.data() + i * static_cast<std::size_t>(b.rows), b.at(i));
    store_matrices(k.out(), b);
  });
}

}  // namespace

// clang-format off
void add_linalg_solve_rows(OpTable& t) {
  t.add({.schema_text = "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", .rule = determinant_rule, .kernel = determinant_kernel<false>});
  t.add({.schema_text = "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)", .rule = determinant_rule, .kernel = determinant_kernel<true>});
  t.add({.schema_text = "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", .rule = inverse_rule, .kernel = inverse_kernel});
  t.add({.schema_text = "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", .rule = solve_rule, .kernel = solve_kernel});
  t.add({.schema_text = "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", .rule = lu_solve_rule, .kernel = lu_solve_kernel});
  t.add({.schema_text = "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor", .rule = solve_triangular_rule, .kernel = solve_triangular_kernel});
  t.add({.schema_text = "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)", .rule = triangular_solve_rule, .kernel = triangular_solve_kernel});
  t.add({.schema_text = "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", .rule = cholesky_solve_rule, .kernel = cholesky_solve_kernel});
  t.add({.schema_text = "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", .rule = ldl_solve_rule, .kernel = ldl_solve_kernel});
}
// clang-format on

}  // namespace assay
