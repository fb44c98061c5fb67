#include "core/function/special.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/airy.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include "core/function/bessel.h"

namespace assay::special {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

namespace policies = boost::math::policies;
using Quiet = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>>;
constexpr Quiet kQuiet{};

}  // namespace

// ---- gamma function and its kin -----------------------------------------------------------------

auto digamma(double x) -> double {
  if (x == 0) return std::copysign(kInf, -x);
  if (std::isnan(x) || (x < 0 && x == std::trunc(x)) || x == -kInf) return kNan;
  if (x < 0) return digamma(1 - x) - kPi / std::tan(kPi * std::fmod(x, 1.0));
  if (x == kInf) return kInf;
  constexpr double kSeries[] = {8.33333333333333333333e-2, -2.10927960927960927961e-2,
                                7.57575757575757575758e-3, -4.16666666666666666667e-3,
                                3.96825396825396825397e-3, -8.33333333333333333333e-3,
                                8.33333333333333333333e-2};
  double result = 0;
  for (; x < 10; x += 1) result -= 1 / x;
  double series = 0;
  if (x < 1e17)
    for (const double term : kSeries) series = series / (x * x) + term;
  return result + std::log(x) - 0.5 / x - (x < 1e17 ? series / (x * x) : 0);
}

// By Euler and Maclaurin.
auto zeta(double x, double q) -> double {
  constexpr double kDivisors[] = {12.0,
                                  -720.0,
                                  30240.0,
                                  -1209600.0,
                                  47900160.0,
                                  -1.8924375803183791606e9,
                                  7.47242496e10,
                                  -2.950130727918164224e12,
                                  1.1646782814350067249e14,
                                  -4.5979787224074726105e15,
                                  1.8152105401943546773e17,
                                  -7.1661652561756670113e18};
  constexpr double kSmall = std::numeric_limits<double>::epsilon() / 2;
  if (x == 1) return kInf;
  if (std::isnan(x) || std::isnan(q) || x < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (x != std::floor(x)) return kNan;
  }
  double sum = std::pow(q, -x);
  double a = q;
  double b = 0;
  for (int i = 0; i < 9 || a <= 9; ++i) {
    a += 1;
    b = std::pow(a, -x);
    sum += b;
    if (std::fabs(b) < kSmall * std::fabs(sum)) return sum;
  }
  const double w = a;
  sum += b * w / (x - 1) - 0.5 * b;
  double factor = 1;
  double k = 0;
  for (const double divisor : kDivisors) {
    factor *= x + k;
    b /= w;
    const double term = factor * b / divisor;
    sum += term;
    if (std::fabs(term) < kSmall * std::fabs(sum)) return sum;
    factor *= x + k + 1;
    b /= w;
    k += 2;
  }
  return sum;
}

namespace {

template <class Real>
auto trigamma_in(double x) -> double {
  if (x == 0) return kInf;
  if (x < 0.5) {
    const double sine = std::sin(static_cast<Real>(kPi) * static_cast<Real>(x));
    return kPi * kPi / (sine * sine) - trigamma_in<Real>(1 - x);
  }
  return zeta(2, x);
}

}  // namespace

auto trigamma(double x, bool is_double) -> double {
  return is_double ? trigamma_in<double>(x) : trigamma_in<float>(x);
}
auto polygamma(double n, double x, bool is_double) -> double {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x, is_double);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(std::lgamma(n + 1)) * zeta(n + 1, x);
}

auto igamma(double a, double x) -> double {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  return std::isinf(x) ? 1 : boost::math::gamma_p(a, x, kQuiet);
}
auto igammac(double a, double x) -> double {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a < 0) return kNan;
  if (a == 0) return x > 0 ? 0 : kNan;
  if (x == 0) return 1;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 1;
  return std::isinf(x) ? 0 : boost::math::gamma_q(a, x, kQuiet);
}

// ---- error function and its kin -----------------------------------------------------------------

auto erfinv(double x) -> double {
  if (std::isnan(x) || std::fabs(x) > 1) return kNan;
  if (std::fabs(x) == 1) return std::copysign(kInf, x);
  if (x == 0) return x;
  return boost::math::erf_inv(x, kQuiet);
}
auto ndtri(double p) -> double {
  if (std::isnan(p) || p < 0 || p > 1) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInf : kInf;
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p, kQuiet);
}
auto erfcx(double x) -> double {
  constexpr double kFar = 25;
  if (x < kFar) return std::exp(x * x) * std::erfc(x);
  const double y = 1 / (2 * x * x);
  return std::numbers::inv_sqrtpi / x * (1 - y * (1 - 3 * y * (1 - 5 * y)));
}
auto log_ndtr(double x) -> double {
  const double t = x / std::numbers::sqrt2;
  if (x < -1) return std::log(erfcx(-t) / 2) - t * t;
  return std::log1p(-std::erfc(t) / 2);
}
auto ndtr(double x) -> double {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

// ---- Bessel functions ---------------------------------------------------------------------------

namespace {

template <int kOrder>
auto bessel_j(double x) -> double {
  if (std::isinf(x)) return 0;
  if (std::isnan(x)) return x;
  const double value = boost::math::cyl_bessel_j(kOrder, std::fabs(x), kQuiet);
  return kOrder == 1 && x < 0 ? -value : value;
}
template <int kOrder>
auto bessel_y(double x) -> double {
  if (std::isnan(x) || x < 0) return kNan;
  if (std::isinf(x)) return 0;
  return x == 0 ? -kInf : boost::math::cyl_neumann(kOrder, x, kQuiet);
}
/// ATen's, which are another thing beyond 5.
template <int kOrder>
auto bessel_j_forward(double x) -> double {
  if (!(std::fabs(x) > 5) || std::isinf(x)) return bessel_j<kOrder>(x);
  const double value = bessel_beyond_5(kOrder, std::fabs(x), false);
  return kOrder == 1 && x < 0 ? -value : value;
}
template <int kOrder>
auto bessel_y_forward(double x) -> double {
  return x > 5 ? bessel_beyond_5(kOrder, x, true) : bessel_y<kOrder>(x);
}
/// Hankel's expansion of sqrt(2 pi x) exp(-x) I(x) (sign -1) or sqrt(2 x / pi) exp(x) K(x) (sign
/// 1).
auto hankel(int order, double x, double sign) -> double {
  const double mu = 4.0 * order * order;
  double term = 1;
  double sum = 1;
  for (int k = 1; k <= 8; ++k) {
    term *= sign * (mu - (2 * k - 1) * (2 * k - 1)) / (k * 8 * x);
    sum += term;
  }
  return sum;
}
constexpr double kLarge = 500;
template <int kOrder>
auto scaled_i(double x) -> double {
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  const double value = size > kLarge
                           ? hankel(kOrder, size, -1) / std::sqrt(2 * kPi * size)
                           : std::exp(-size) * boost::math::cyl_bessel_i(kOrder, size, kQuiet);
  return kOrder == 1 && x < 0 ? -value : value;
}
template <int kOrder>
auto bessel_i(double x) -> double {
  return std::isinf(x) ? (kOrder == 1 ? x : kInf) : std::exp(std::fabs(x)) * scaled_i<kOrder>(x);
}
template <int kOrder>
auto scaled_k(double x) -> double {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return kInf;
  return x > kLarge ? hankel(kOrder, x, 1) * std::sqrt(kPi / (2 * x))
                    : std::exp(x) * boost::math::cyl_bessel_k(kOrder, x, kQuiet);
}
template <int kOrder>
auto bessel_k(double x) -> double {
  if (std::isnan(x) || x < 0) return kNan;
  return x == 0 ? kInf : std::exp(-x) * scaled_k<kOrder>(x);
}

}  // namespace

auto bessel_j0(double x) -> double {
  return bessel_j<0>(x);
}
auto bessel_j1(double x) -> double {
  return bessel_j<1>(x);
}
auto bessel_y0(double x) -> double {
  return bessel_y<0>(x);
}
auto bessel_y1(double x) -> double {
  return bessel_y<1>(x);
}
auto bessel_j0_forward(double x) -> double {
  return bessel_j_forward<0>(x);
}
auto bessel_j1_forward(double x) -> double {
  return bessel_j_forward<1>(x);
}
auto bessel_y0_forward(double x) -> double {
  return bessel_y_forward<0>(x);
}
auto bessel_y1_forward(double x) -> double {
  return bessel_y_forward<1>(x);
}
auto i0(double x) -> double {
  return bessel_i<0>(x);
}
auto i1(double x) -> double {
  return bessel_i<1>(x);
}
auto i0e(double x) -> double {
  return scaled_i<0>(x);
}
auto i1e(double x) -> double {
  return scaled_i<1>(x);
}
auto modified_bessel_k0(double x) -> double {
  return bessel_k<0>(x);
}
auto modified_bessel_k1(double x) -> double {
  return bessel_k<1>(x);
}
auto scaled_modified_bessel_k0(double x) -> double {
  return scaled_k<0>(x);
}
auto scaled_modified_bessel_k1(double x) -> double {
  return scaled_k<1>(x);
}
auto spherical_bessel_j0(double x) -> double {
  if (std::isinf(x)) return 0;
  if (std::fabs(x) >= 0.5) return std::sin(x) / x;
  double term = 1;
  double sum = 1;
  for (int k = 1; k <= 10; ++k) sum += term *= -x * x / (2.0 * k * (2.0 * k + 1));
  return sum;
}
auto airy_ai(double x) -> double {
  constexpr double kVanishes = 103.892;
  if (std::isnan(x) || std::isinf(x)) return kNan;
  return x > kVanishes ? 0 : boost::math::airy_ai(x, kQuiet);
}

// ---- orthogonal polynomials ---------------------------------------------------------------------

namespace {

/// p_{k+1} = step(k, p_k, p_{k-1}) from p_0 = 1 and p_1.
template <class Step>
auto recurrence(std::int64_t n, double first, const Step& step) -> double {
  if (n < 0) return 0;
  if (n == 0) return 1;
  double before = 1;
  double last = first;
  for (std::int64_t k = 1; k < n && !std::isnan(last); ++k) {
    const double next = step(static_cast<double>(k), last, before);
    before = last;
    last = next;
  }
  return last;
}
/// 1 for an even degree, -1 for an odd one.
auto parity(std::int64_t n) -> double {
  return n % 2 == 0 ? 1 : -1;
}
/// What a degree given as a number stands for; ATen truncates it.
auto degree(double n) -> std::int64_t {
  constexpr double kMost = 1e15;
  return std::isnan(n) ? -1 : static_cast<std::int64_t>(std::clamp(n, -1.0, kMost));
}
/// The four kinds agree in their recurrence. Inside the interval high degrees have a closed form.
auto chebyshev(double x, std::int64_t n, double first) -> double {
  return recurrence(n, first, [x](double, double p, double q) { return 2 * x * p - q; });
}

}  // namespace

auto chebyshev_polynomial_t(double x, double order) -> double {
  const auto n = degree(order);
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 1 : parity(n);
  if (n > 6 && std::fabs(x) < 1) return std::cos(static_cast<double>(n) * std::acos(x));
  return chebyshev(x, n, x);
}
auto chebyshev_polynomial_u(double x, double order) -> double {
  const auto n = degree(order);
  const double next = static_cast<double>(n) + 1;
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? next : parity(n) * next;
  const double angle = std::acos(x);
  if (n > 8 && std::fabs(x) < 1) return std::sin(next * angle) / std::sin(angle);
  return chebyshev(x, n, 2 * x);
}
auto chebyshev_polynomial_v(double x, double order) -> double {
  const auto n = degree(order);
  const double half = static_cast<double>(n) + 0.5;
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 1 : parity(n) * 2 * half;
  const double angle = std::acos(x);
  if (n > 8 && std::fabs(x) < 1) return std::cos(half * angle) / std::cos(angle / 2);
  return chebyshev(x, n, 2 * x - 1);
}
auto chebyshev_polynomial_w(double x, double order) -> double {
  const auto n = degree(order);
  const double half = static_cast<double>(n) + 0.5;
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 2 * half : parity(n);
  const double angle = std::acos(x);
  if (n > 8 && std::fabs(x) < 1) return std::sin(half * angle) / std::sin(angle / 2);
  return chebyshev(x, n, 2 * x + 1);
}
auto shifted_chebyshev_polynomial_t(double x, double order) -> double {
  return chebyshev_polynomial_t(2 * x - 1, order);
}
auto shifted_chebyshev_polynomial_u(double x, double order) -> double {
  return chebyshev_polynomial_u(2 * x - 1, order);
}
auto shifted_chebyshev_polynomial_v(double x, double order) -> double {
  return chebyshev_polynomial_v(2 * x - 1, order);
}
auto shifted_chebyshev_polynomial_w(double x, double order) -> double {
  return chebyshev_polynomial_w(2 * x - 1, order);
}
constexpr std::int64_t kMostHermite = 512;
auto hermite_polynomial_h(double x, double order) -> double {
  if (degree(order) > kMostHermite) return kNan;
  return recurrence(degree(order), 2 * x,
                    [x](double k, double p, double q) { return 2 * x * p - 2 * k * q; });
}
auto hermite_polynomial_he(double x, double order) -> double {
  if (degree(order) > kMostHermite) return kNan;
  return recurrence(degree(order), x, [x](double k, double p, double q) { return x * p - k * q; });
}
auto laguerre_polynomial_l(double x, double order) -> double {
  if (degree(order) >= 0 && x == 0) return 1;
  return recurrence(degree(order), 1 - x, [x](double k, double p, double q) {
    return ((2 * k + 1 - x) * p - k * q) / (k + 1);
  });
}
auto legendre_polynomial_p(double x, double order) -> double {
  if (degree(order) >= 0 && std::fabs(x) == 1) return x > 0 ? 1 : parity(degree(order));
  return recurrence(degree(order), x, [x](double k, double p, double q) {
    return ((2 * k + 1) * x * p - k * q) / (k + 1);
  });
}

}  // namespace assay::special
