// Judges of decompositions of matrices, by the laws that define them.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/ops/domain.h"
#include "core/ops/matrices.h"
#include "replay/conform/judges.h"

namespace assay {
namespace {

using Matrix = Matrices<Complex>;

/// Sums of a few products of rounded numbers.
auto close(const Matrix& actual, const Matrix& expected, DType dtype, std::string_view law)
    -> Difference {
  auto tolerance = tolerance_of(dtype);
  const double terms = std::max(actual.rows, 4);
  tolerance.absolute *= terms;
  if (actual.values.size() != expected.values.size()) return fmt::format("{}: other sizes", law);
  const auto difference = compare_numbers(actual.values, expected.values, tolerance);
  return difference ? fmt::format("{} does not hold: {}", law, *difference) : difference;
}
auto columns(Matrix& m, int count) -> Matrix {
  auto part = new_matrices<Complex>(m.count, m.rows, count);
  for (std::size_t i = 0; i < m.count; ++i)
    for (int col = 0; col < count; ++col)
      for (int row = 0; row < m.rows; ++row) part.element(i, row, col) = m.element(i, row, col);
  return part;
}
/// Every column times its number.
auto scaled(Matrix m, const std::vector<Complex>& by) -> Matrix {
  for (std::size_t i = 0; i < m.count; ++i)
    for (int col = 0; col < m.cols; ++col)
      for (int row = 0; row < m.rows; ++row)
        m.element(i, row, col) *=
            by[i * static_cast<std::size_t>(m.cols) + static_cast<std::size_t>(col)];
  return m;
}
auto is_unitary(Matrix& m, DType dtype, std::string_view law) -> Difference {
  auto other = adjoint(m);
  return close(product(other, m), identity<Complex>(m.count, m.cols), dtype, law);
}

/// A law about one set of results; both ours and eager's have to obey it.
template <class Law>
auto both_obey(const JudgedCall& call, const Law& law) -> Difference {
  if (const auto wrong = law(call.expected)) return "eager's: " + *wrong;
  return law(call.actual);
}

}  // namespace

auto judge_eigh(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 0)) return difference;
  if (!flag_or(call, "compute_v", true)) return std::nullopt;
  const auto& self = *call.args[0].real();
  const auto* triangle = std::get_if<std::string>(&arg(call, "UPLO").value);
  auto a = load_matrices<Complex>(self);
  keep_triangle(a, triangle && (*triangle == "U" || *triangle == "u"));
  for (std::size_t i = 0; i < a.count; ++i)
    for (int col = 0; col < a.cols; ++col)
      for (int row = 0; row < col; ++row) {
        const auto value = a.element(i, row, col) + std::conj(a.element(i, col, row));
        a.element(i, row, col) = value;
        a.element(i, col, row) = std::conj(value);
      }
  for (std::size_t i = 0; i < a.count; ++i)
    for (int d = 0; d < a.cols; ++d) a.element(i, d, d) = a.element(i, d, d).real();
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto v = load_matrices<Complex>(*tensor(results, 1));
    if (auto wrong = is_unitary(v, self.dtype(), "V^H V = I")) return wrong;
    return close(product(a, v), scaled(v, to_vector<Complex>(*tensor(results, 0))), self.dtype(),
                 "A V = V diag(L)");
  });
}

auto judge_svd(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 1)) return difference;
  if (!flag_or(call, "compute_uv", true)) return std::nullopt;
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  const bool gives_v = call.row.name() == "aten.svd.default";
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto u = load_matrices<Complex>(*tensor(results, 0));
    auto third = load_matrices<Complex>(*tensor(results, 2));
    auto turned = adjoint(third);
    auto& v = gives_v ? third : turned;
    if (auto wrong = is_unitary(u, self.dtype(), "U^H U = I")) return wrong;
    if (auto wrong = is_unitary(v, self.dtype(), "Vh Vh^H = I")) return wrong;
    const int least = std::min(a.rows, a.cols);
    auto left = scaled(columns(u, least), to_vector<Complex>(*tensor(results, 1)));
    auto right = columns(v, least);
    auto right_h = adjoint(right);
    return close(product(left, right_h), a, self.dtype(), "U diag(S) Vh = A");
  });
}

namespace {

/// Each number of one list has one in the other.
auto same_multiset(const std::vector<Complex>& ours, std::vector<Complex> theirs, std::size_t each,
                   const Tolerance& tolerance) -> Difference {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto first = theirs.begin() + static_cast<std::ptrdiff_t>(i - i % each);
    const auto last = theirs.begin() + static_cast<std::ptrdiff_t>(i - i % each + each);
    // What was taken already is NaN.
    const auto nearest = std::min_element(first, last, [&](const Complex& a, const Complex& b) {
      return !std::isnan(a.real()) &&
             (std::isnan(b.real()) || std::abs(a - ours[i]) < std::abs(b - ours[i]));
    });
    const double scale = std::max(1.0, std::abs(ours[i]));
    if (!(std::abs(*nearest - ours[i]) <= 10 * tolerance.absolute * scale))
      return fmt::format("eager has no eigenvalue {}", to_string(Datum{ours[i]}));
    *nearest = std::nan("");
  }
  return std::nullopt;
}

}  // namespace

auto judge_eig(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  const auto dtype = real_of(self.dtype());
  if (auto difference = same_multiset(to_vector<Complex>(*tensor(call.actual, 0)),
                                      to_vector<Complex>(*tensor(call.expected, 0)),
                                      static_cast<std::size_t>(a.cols), tolerance_of(dtype)))
    return difference;
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto v = load_matrices<Complex>(*tensor(results, 1));
    std::vector<Complex> norms(v.count * static_cast<std::size_t>(v.cols));
    for (std::size_t e = 0; e < v.values.size(); ++e)
      norms[e / static_cast<std::size_t>(v.rows)] += std::norm(v.values[e]);
    if (auto wrong =
            compare_numbers(norms, std::vector<Complex>(norms.size(), 1), tolerance_of(dtype)))
      return "the vectors have norm 1: " + *wrong;
    auto matrices = a;
    return close(product(matrices, v), scaled(v, to_vector<Complex>(*tensor(results, 0))), dtype,
                 "A V = V diag(L)");
  });
}

auto judge_qr(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  auto a = load_matrices<Complex>(self);
  const bool has_q = tensor(call.expected, 0)->numel() > 0;
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto r = load_matrices<Complex>(*tensor(results, 1));
    auto upper = r;
    keep_triangle(upper, true);
    if (auto wrong = close(r, upper, self.dtype(), "R is upper triangular")) return wrong;
    if (!has_q) {
      auto rh = adjoint(r);
      auto ah = adjoint(a);
      return close(product(rh, r), product(ah, a), self.dtype(), "R^H R = A^H A");
    }
    auto q = load_matrices<Complex>(*tensor(results, 0));
    if (auto wrong = is_unitary(q, self.dtype(), "Q^H Q = I")) return wrong;
    return close(product(q, r), a, self.dtype(), "Q R = A");
  });
}

namespace {

/// L with ones on its diagonal and U of a packed factor.
auto lower_of(Matrix packed, int least) -> Matrix {
  keep_triangle(packed, false);
  for (std::size_t i = 0; i < packed.count; ++i)
    for (int d = 0; d < least; ++d) packed.element(i, d, d) = 1;
  return columns(packed, least);
}
auto upper_of(Matrix packed, int least) -> Matrix {
  keep_triangle(packed, true);
  auto rows = new_matrices<Complex>(packed.count, least, packed.cols);
  for (std::size_t i = 0; i < packed.count; ++i)
    for (int col = 0; col < packed.cols; ++col)
      for (int row = 0; row < least; ++row) rows.element(i, row, col) = packed.element(i, row, col);
  return rows;
}
/// LAPACK measures complex pivots by |re| + |im|, which is at most sqrt(2) times their size.
auto no_multiplier_exceeds_1(const Matrix& lower) -> Difference {
  for (const auto& value : lower.values)
    if (std::abs(value) > (value.imag() == 0 ? 1 : std::numbers::sqrt2) + 1e-4)
      return "a multiplier of L is larger than 1";
  return std::nullopt;
}
/// Two pivots of one size: either may be taken. The factor is result `at`, its pivots the next.
auto judge_factor(const JudgedCall& call, std::size_t at) -> Difference {
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  const int least = std::min(a.rows, a.cols);
  return both_obey(call, [&](const DatumList& results) -> Difference {
    const auto packed = load_matrices<Complex>(*tensor(results, at));
    const auto pivots = to_vector<std::int64_t>(*tensor(results, at + 1));
    auto lower = lower_of(packed, least);
    auto upper = upper_of(packed, least);
    if (flag_or(call, "pivot", true))
      if (auto wrong = no_multiplier_exceeds_1(lower)) return wrong;
    auto exchanged = a;
    for (std::size_t i = 0; i < a.count; ++i)
      for (int d = 0; d < least; ++d) {
        const auto other =
            pivots[i * static_cast<std::size_t>(least) + static_cast<std::size_t>(d)];
        if (other < 1 || other > a.rows) return "a pivot is out of range";
        for (int col = 0; col < a.cols; ++col)
          std::swap(exchanged.element(i, d, col),
                    exchanged.element(i, static_cast<int>(other) - 1, col));
      }
    return close(product(lower, upper), exchanged, self.dtype(), "L U = P^T A");
  });
}

}  // namespace

/// `info` names the first pivot that is exactly 0, which of a singular matrix rounding decides.
auto judge_lu_factor(const JudgedCall& call) -> Difference {
  const auto names_pivots = [](const DatumList& results) -> Difference {
    auto packed = load_matrices<Complex>(*tensor(results, 0));
    const auto info = to_vector<std::int64_t>(*tensor(results, 2));
    for (std::size_t i = 0; i < info.size(); ++i) {
      int first = 0;
      for (int d = std::min(packed.rows, packed.cols); d-- > 0;)
        if (packed.element(i, d, d) == Complex(0)) first = d + 1;
      if (info[i] != first) return "info is not the first pivot that is 0";
    }
    return std::nullopt;
  };
  if (compare_result(call, 2))
    if (auto difference = both_obey(call, names_pivots)) return difference;
  return judge_factor(call, 0);
}
auto judge_determinant(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 0)) return difference;
  return judge_factor(call, 1);
}
/// Of a singular matrix rounding decides on the sign: both have to follow from their own factor.
auto judge_slogdet(const JudgedCall& call) -> Difference {
  const auto dtype = call.args[0].real()->dtype();
  const auto follows = [&](const DatumList& results) -> Difference {
    auto packed = load_matrices<Complex>(*tensor(results, 2));
    const auto pivots = to_vector<std::int64_t>(*tensor(results, 3));
    const auto size = static_cast<std::size_t>(packed.rows);
    std::vector<Complex> signs(packed.count, Complex(1)), logs(packed.count, Complex(0));
    for (std::size_t i = 0; i < packed.count; ++i)
      for (std::size_t d = 0; d < size; ++d) {
        const auto u = packed.element(i, static_cast<int>(d), static_cast<int>(d));
        const bool is_swapped = pivots[i * size + d] != static_cast<std::int64_t>(d) + 1;
        signs[i] *= (u == Complex(0) ? u : u / std::abs(u)) * (is_swapped ? -1.0 : 1.0);
        logs[i] += std::log(std::abs(u));
      }
    const auto tolerance = tolerance_of(dtype);
    if (auto wrong = compare_numbers(to_vector<Complex>(*tensor(results, 0)), signs, tolerance))
      return fmt::format("the sign is not that of P L U: {}", *wrong);
    auto wrong = compare_numbers(to_vector<Complex>(*tensor(results, 1)), logs, tolerance);
    return wrong ? fmt::format("the logarithm is not that of U: {}", *wrong) : wrong;
  };
  if (auto difference = both_obey(call, follows)) return difference;
  return judge_factor(call, 2);
}
auto judge_solution(const JudgedCall& call) -> Difference {
  for (const auto fixed : {0UL, 3UL})
    if (auto difference = compare_result(call, fixed)) return difference;
  return judge_factor(call, 1);
}
/// Reflectors: of columns that depend on others rounding decides.
auto judge_reflectors(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto packed = load_matrices<Complex>(*tensor(results, 0));
    const auto scales = to_vector<Complex>(*tensor(results, 1));
    auto product = packed;
    keep_triangle(product, true);
    const int count = std::min(a.rows, a.cols);
    for (std::size_t i = 0; i < a.count; ++i)
      for (int k = count; k-- > 0;)
        for (int col = 0; col < a.cols; ++col) {
          const auto v = [&](int row) { return row == k ? Complex(1) : packed.element(i, row, k); };
          Complex along = 0;
          for (int row = k; row < a.rows; ++row)
            along += std::conj(v(row)) * product.element(i, row, col);
          along *= scales[i * static_cast<std::size_t>(count) + static_cast<std::size_t>(k)];
          for (int row = k; row < a.rows; ++row) product.element(i, row, col) -= along * v(row);
        }
    return close(product, a, self.dtype(), "Q R = A");
  });
}
auto judge_lu(const JudgedCall& call) -> Difference {
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  const bool has_p = tensor(call.expected, 0)->numel() > 0;
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto lower = load_matrices<Complex>(*tensor(results, 1));
    auto upper = load_matrices<Complex>(*tensor(results, 2));
    auto made = product(lower, upper);
    if (has_p) {
      if (auto wrong = no_multiplier_exceeds_1(lower)) return wrong;
      auto p = load_matrices<Complex>(*tensor(results, 0));
      if (auto wrong = is_unitary(p, self.dtype(), "P is a permutation")) return wrong;
      made = product(p, made);
    }
    return close(made, a, self.dtype(), "P L U = A");
  });
}

/// U of a matrix without full rank is free in what H maps to nothing.
auto judge_polar(const JudgedCall& call) -> Difference {
  if (auto difference = compare_result(call, 1)) return difference;
  const auto& self = *call.args[0].real();
  const auto a = load_matrices<Complex>(self);
  return both_obey(call, [&](const DatumList& results) -> Difference {
    auto u = load_matrices<Complex>(*tensor(results, 0));
    auto h = load_matrices<Complex>(*tensor(results, 1));
    if (auto wrong = is_unitary(u, self.dtype(), "U^H U = I")) return wrong;
    return close(product(u, h), a, self.dtype(), "U H = A");
  });
}
/// Where info says that a matrix has no inverse, the elements are what the elimination left.
auto judge_inverse(const JudgedCall& call) -> Difference {
  auto ours = load_matrices<Complex>(*tensor(call.actual, 0));
  auto theirs = load_matrices<Complex>(*tensor(call.expected, 0));
  const auto codes = to_vector<std::int64_t>(*tensor(call.expected, 1));
  const auto our_codes = to_vector<std::int64_t>(*tensor(call.actual, 1));
  for (std::size_t i = 0; i < codes.size(); ++i)
    if ((codes[i] == 0) != (our_codes[i] == 0)) return "which matrices have an inverse differs";
  const auto elements = static_cast<std::size_t>(ours.rows) * static_cast<std::size_t>(ours.cols);
  for (std::size_t i = 0; i < ours.values.size(); ++i)
    if (codes[i / elements] != 0) ours.values[i] = theirs.values[i] = 0;
  const auto wrong =
      compare_numbers(ours.values, theirs.values, tolerance_of(tensor(call.expected, 0)->dtype()));
  return wrong ? "result 0: " + *wrong : wrong;
}

}  // namespace assay
