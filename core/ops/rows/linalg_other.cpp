// Least squares, pseudo-inverses and functions of matrices
// (aten/src/ATen/native/BatchLinearAlgebra.cpp, LinearAlgebra.cpp, Cross.cpp).
#include <cmath>
#include <limits>

#include "core/ops/lapack.h"
#include "core/ops/matrices.h"

namespace assay {
namespace {

using Codes = std::vector<std::int64_t>;

// ---- least squares and pseudo-inverse -----------------------------------------------------------

auto driver_of(const Call& c) -> std::string {
  const auto name = c.text(3);
  return name.empty() ? "gelsy" : name;
}
/// self, b, rcond, driver: solution, residuals, rank, singular values.
auto lstsq_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0)) return {};
  const auto& a = c.meta(0);
  const auto& b = c.meta(1);
  const auto driver = c.has(3) ? driver_of(c) : on_cuda(a) ? "gels" : "gelsy";
  if (!c.require(a.dtype == b.dtype, "both sides have one dtype") ||
      !c.require(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss",
                 "driver is gels, gelsy, gelsd or gelss"))
    return {};
  const bool vector = b.rank() + 1 == a.rank();
  if (!c.require(vector || b.rank() == a.rank(), "one right side per matrix")) return {};
  const auto size = matrix_size(a);
  auto sides = b.sizes;
  if (vector) sides.emplace_back(1);
  if (!c.require(eq(sides[sides.size() - 2], size.rows), "the sides fit")) return {};
  const auto batch = broadcast(c, batch_of(a), {sides.begin(), sides.end() - 2});
  const auto stored = with_matrix(batch, max(size.rows, size.cols), sides.back());
  auto strides = matrix_strides(stored);
  auto sizes = with_matrix(batch, size.cols, sides.back());
  const bool has_residuals =
      driver != "gelsy" && c.decide(gt(size.rows, size.cols), "more equations than unknowns");
  auto residual_sizes = batch;
  residual_sizes.push_back(sides.back());
  if (vector) {
    sizes.pop_back();
    strides.pop_back();
  }
  const bool has_rank = driver != "gels";
  const bool has_values = driver == "gelsd" || driver == "gelss";
  auto value_sizes = batch;
  value_sizes.push_back(size.least());
  return {DatumList{c.fresh(a.dtype, sizes, strides),
                    c.fresh(real_of(a.dtype), has_residuals ? residual_sizes : Dims{0}),
                    c.fresh(DType::int64, has_rank ? batch : Dims{0}),
                    c.fresh(real_of(a.dtype), has_values ? value_sizes : Dims{0})}};
}
void lstsq_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto side = k.in(1);
    Tensor out = k.out(0);
    if (side.rank() + 1 == k.in(0).rank())
      for (auto* t : {&side, &out}) {
        t->meta.sizes.push_back(1);
        t->meta.strides.push_back(1);
      }
    const auto batch = matrix_batch(out);
    auto a = load_matrices<T>(k.in(0), batch);
    auto b = load_matrices<T>(side, batch);
    const auto name = driver_of(k);
    const auto driver = name == "gels"    ? lapack::Driver::gels
                        : name == "gelsy" ? lapack::Driver::gelsy
                        : name == "gelsd" ? lapack::Driver::gelsd
                                          : lapack::Driver::gelss;
    const double epsilon = real_of(k.in(0).dtype()) == DType::float64
                               ? std::numeric_limits<double>::epsilon()
                               : std::numeric_limits<float>::epsilon();
    const double rcond = k.has(2) ? k.real(2) : epsilon * std::max(a.rows, a.cols);
    auto x = new_matrices<T>(b.count, std::max(a.rows, a.cols), b.cols);
    for (std::size_t i = 0; i < b.count; ++i)
      for (int col = 0; col < b.cols; ++col)
        for (int row = 0; row < b.rows; ++row) x.element(i, row, col) = b.element(i, row, col);
    const auto least = static_cast<std::size_t>(std::min(a.rows, a.cols));
    std::vector<double> values(b.count * least + 1);
    Codes ranks;
    std::vector<double> residuals;
    for (std::size_t i = 0; i < b.count; ++i) {
      int rank = static_cast<int>(least);
      if (a.size() > 0)
        lapack::least_squares(driver, a.rows, a.cols, b.cols, rcond, a.at(i), x.at(i),
                              values.data() + i * least, rank);
      ranks.push_back(rank);
      for (int col = 0; col < b.cols; ++col) {
        double sum = 0;
        for (int row = a.cols; row < a.rows; ++row) sum += std::norm(x.element(i, row, col));
        residuals.push_back(sum);
      }
    }
    values.pop_back();
    store_matrices(out, x);
    if (k.out(1).numel() > 0) from_vector<double>(k.out(1), residuals);
    if (k.out(2).numel() == static_cast<std::int64_t>(ranks.size()))
      from_vector<std::int64_t>(k.out(2), ranks);
    if (k.out(3).numel() > 0) from_vector<double>(k.out(3), values);
  });
}

/// self, atol, rtol, hermitian: V diag(1/s) U^H without small singular values; row-major.
auto pinv_rule(MetaCall& c) -> Datum {
  if (!require_matrices(c, 0, c.flag(3))) return {};
  for (const int i : {1, 2})
    if (c.has(i) &&
        !require_expands(c, c.meta(i).sizes, batch_of(c.meta(0)), "one bound per matrix"))
      return {};
  const auto size = matrix_size(c.meta(0));
  return c.fresh(c.meta(0).dtype, batched(c.meta(0), {size.cols, size.rows}));
}
void pinv_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    auto m = load_matrices<T>(k.in(0));
    const int least = std::min(m.rows, m.cols);
    const double epsilon = real_of(k.in(0).dtype()) == DType::float64
                               ? std::numeric_limits<double>::epsilon()
                               : std::numeric_limits<float>::epsilon();
    const auto limits = [&](int arg, double absent) {
      auto batch = matrix_batch(k.in(0));
      return k.has(arg) ? to_vector<double>(expanded_view(k.in(arg), batch))
                        : std::vector<double>(m.count, absent);
    };
    const auto atol = limits(1, 0);
    const double usual = epsilon * std::max(m.rows, m.cols);
    const auto rtol = limits(2, usual);
    auto result = new_matrices<T>(m.count, m.cols, m.rows);
    for (std::size_t i = 0; i < m.count && least > 0; ++i) {
      if (k.flag(
              3))  // only the lower triangle of a Hermitian matrix counts, and its diagonal is real
        for (int col = 0; col < m.cols; ++col) {
          m.element(i, col, col) = std::real(m.element(i, col, col));
          for (int row = 0; row < col; ++row)
            m.element(i, row, col) = conjugate(m.element(i, col, row));
        }
      std::vector<double> s(static_cast<std::size_t>(least));
      auto u = new_matrices<T>(1, m.rows, least);
      auto vh = new_matrices<T>(1, least, m.cols);
      lapack::svd(lapack::Vectors::some, m.rows, m.cols, m.at(i), s.data(), u.at(0), vh.at(0));
      const double relative = k.has(1) && !k.has(2) && atol[i] > 0 ? 0 : rtol[i];
      for (int j = 0; j < least; ++j) {
        const double value = s[static_cast<std::size_t>(j)];
        if (value <= std::max(atol[i], relative * s[0])) continue;
        for (int col = 0; col < m.rows; ++col)
          for (int row = 0; row < m.cols; ++row)
            result.element(i, row, col) +=
                conjugate(vh.element(0, j, row)) / value * conjugate(u.element(0, col, j));
      }
    }
    store_matrices(k.out(), result);
  });
}

// ---- other --------------------------------------------------------------------------------------

auto matrix_exp_rule(MetaCall& c) -> Datum {
  const auto& a = c.meta(0);
  if (!c.require(a.rank() >= 2 && (is_floating(a.dtype) || is_complex(a.dtype)),
                 "floating square matrices") ||
      !c.require(eq(a.sizes.back(), a.sizes[a.sizes.size() - 2]), "the matrices are square"))
    return {};
  return contiguous_like_self(c);
}
/// Taylor series of the matrix scaled to a norm below 1/2, squared as often as it was halved.
void matrix_exp_kernel(KernelCall& k) {
  with_field(k.in(0).dtype(), [&]<class T>(T) {
    constexpr int kTerms = 20;
    auto all = load_matrices<T>(k.in(0));
    auto result = new_matrices<T>(all.count, all.rows, all.cols);
    for (std::size_t i = 0; i < all.count && all.size() > 0; ++i) {
      auto m = new_matrices<T>(1, all.rows, all.cols);
      std::copy_n(all.at(i), all.size(), m.at(0));
      double norm = 0;
      for (const auto& x : m.values) norm += std::abs(x);
      const int halvings = norm > 0.5 && std::isfinite(norm)
                               ? std::max(0, static_cast<int>(std::ceil(std::log2(norm))) + 1)
                               : 0;
      for (auto& x : m.values) x *= std::ldexp(1.0, -halvings);
      auto sum = identity<T>(1, all.rows);
      auto term = sum;
      for (int n = 1; n <= kTerms; ++n) {
        term = product(term, m);
        for (auto& x : term.values) x /= static_cast<double>(n);
        for (std::size_t e = 0; e < sum.values.size(); ++e) sum.values[e] += term.values[e];
      }
      for (int n = 0; n < halvings; ++n) sum = product(sum, sum);
      std::copy_n(sum.at(0), all.size(), result.at(i));
    }
    store_matrices(k.out(), result);
  });
}

/// self, other, dim of size 3.
auto cross_rule(MetaCall& c) -> Datum {
  const auto& a = c.meta(0);
  const auto& b = c.meta(1);
  if (!c.require(a.rank() == b.rank() && a.rank() > 0, "both have the same number of dimensions") ||
      !c.require(a.dtype == b.dtype, "both have one dtype"))
    return {};
  const auto dim = static_cast<std::size_t>(c.dim_arg(2, a.rank()));
  if (c.error() || !c.require(eq(a.sizes[dim], 3), "the dimension has three elements") ||
      !c.require(eq(b.sizes[dim], 3), "the dimension has three elements"))
    return {};
  return c.fresh(a.dtype, broadcast(c, a.sizes, b.sizes));
}
void cross_kernel(KernelCall& k) {
  const auto& sizes = k.out().sizes();
  const auto dim = static_cast<std::size_t>(dim_of(k, 2, k.out().rank()));
  std::int64_t inner = 1;
  for (auto d = dim + 1; d < sizes.size(); ++d) inner *= sizes[d];
  with_compute_type(k.out().dtype(), [&]<class T>(T) {
    const auto a = to_vector<T>(expanded_view(k.in(0), sizes));
    const auto b = to_vector<T>(expanded_view(k.in(1), sizes));
    std::vector<T> result(a.size());
    for (std::size_t e = 0; e < a.size(); ++e) {
      const auto at = static_cast<std::int64_t>(e);
      const auto axis = at / inner % 3;
      const auto other = [&](std::int64_t step) {
        return static_cast<std::size_t>(at + ((axis + step) % 3 - axis) * inner);
      };
      result[e] = a[other(1)] * b[other(2)] - a[other(2)] * b[other(1)];
    }
    from_vector<T>(k.out(), result);
  });
}

}  // namespace

// clang-format off
void add_linalg_other_rows(OpTable& t) {
  t.add({.schema_text = "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)", .rule = lstsq_rule, .kernel = lstsq_kernel});
  t.add({.schema_text = "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor", .rule = pinv_rule, .kernel = pinv_kernel});
  t.add({.schema_text = "aten::linalg_matrix_exp(Tensor self) -> Tensor", .rule = matrix_exp_rule, .kernel = matrix_exp_kernel});
  t.add({.schema_text = "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", .rule = cross_rule, .kernel = cross_kernel});
}
// clang-format on

}  // namespace assay
