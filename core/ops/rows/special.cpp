// Special functions of one real number and of two (aten/src/ATen/native/Math.h,
// UnaryOps.cpp, BinaryOps.cpp). One kernel serves each kind: a table says which function is meant.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/airy.hpp>
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include "core/ops/bessel.h"
#include "core/ops/pointwise.h"
#include "core/ops/rows/digamma.h"
#include "core/ops/rules.h"

namespace assay {
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

namespace {

/// sum over k of (q + k)^-x, by Euler and Maclaurin.
auto hurwitz_zeta(double x, double q) -> double {
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

/// `Real` is what the dtype computes in: at whole numbers below 0 the sine is all rounding.
template <class Real>
auto trigamma(double x) -> double {
  if (x == 0) return kInf;
  if (x < 0.5) {
    const double sine = std::sin(static_cast<Real>(kPi) * static_cast<Real>(x));
    return kPi * kPi / (sine * sine) - trigamma<Real>(1 - x);
  }
  return hurwitz_zeta(2, x);
}
auto polygamma(double n, double x, bool is_double) -> double {
  if (n == 0) return digamma(x);
  if (n == 1) return is_double ? trigamma<double>(x) : trigamma<float>(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(std::lgamma(n + 1)) * hurwitz_zeta(n + 1, x);
}

auto lower_gamma(double a, double x) -> double {
  if (std::isnan(a) || std::isnan(x) || x < 0 || a < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  return std::isinf(x) ? 1 : boost::math::gamma_p(a, x, kQuiet);
}
auto upper_gamma(double a, double x) -> double {
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

template <int kOrder>
auto bessel_j(double x) -> double {
  if (std::isinf(x)) return 0;
  if (std::isnan(x)) return x;
  const double size = std::fabs(x);
  const double value = size > 5 ? bessel_beyond_5(kOrder, size, false)
                                : boost::math::cyl_bessel_j(kOrder, size, kQuiet);
  return kOrder == 1 && x < 0 ? -value : value;
}
template <int kOrder>
auto bessel_y(double x) -> double {
  if (std::isnan(x) || x < 0) return kNan;
  if (x > 5) return bessel_beyond_5(kOrder, x, true);
  return x == 0 ? -kInf : boost::math::cyl_neumann(kOrder, x, kQuiet);
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
auto spherical_j0(double x) -> double {
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
auto chebyshev_t(double x, double order) -> double {
  const auto n = degree(order);
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 1 : parity(n);
  if (n > 6 && std::fabs(x) < 1) return std::cos(static_cast<double>(n) * std::acos(x));
  return chebyshev(x, n, x);
}
auto chebyshev_u(double x, double order) -> double {
  const auto n = degree(order);
  const double next = static_cast<double>(n) + 1;
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? next : parity(n) * next;
  const double angle = std::acos(x);
  if (n > 8 && std::fabs(x) < 1) return std::sin(next * angle) / std::sin(angle);
  return chebyshev(x, n, 2 * x);
}
auto chebyshev_v(double x, double order) -> double {
  const auto n = degree(order);
  const double half = static_cast<double>(n) + 0.5;
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 1 : parity(n) * 2 * half;
  const double angle = std::acos(x);
  if (n > 8 && std::fabs(x) < 1) return std::cos(half * angle) / std::cos(angle / 2);
  return chebyshev(x, n, 2 * x - 1);
}
auto chebyshev_w(double x, double order) -> double {
  const auto n = degree(order);
  const double half = static_cast<double>(n) + 0.5;
  if (n < 0) return 0;
  if (std::fabs(x) == 1) return x > 0 ? 2 * half : parity(n);
  const double angle = std::acos(x);
  if (n > 8 && std::fabs(x) < 1) return std::sin(half * angle) / std::sin(angle / 2);
  return chebyshev(x, n, 2 * x + 1);
}
template <double (*kKind)(double, double)>
auto shifted(double x, double order) -> double {
  return kKind(2 * x - 1, order);
}
constexpr std::int64_t kMostHermite = 512;
auto hermite_h(double x, double order) -> double {
  if (degree(order) > kMostHermite) return kNan;
  return recurrence(degree(order), 2 * x,
                    [x](double k, double p, double q) { return 2 * x * p - 2 * k * q; });
}
auto hermite_he(double x, double order) -> double {
  if (degree(order) > kMostHermite) return kNan;
  return recurrence(degree(order), x, [x](double k, double p, double q) { return x * p - k * q; });
}
auto laguerre(double x, double order) -> double {
  if (degree(order) >= 0 && x == 0) return 1;
  return recurrence(degree(order), 1 - x, [x](double k, double p, double q) {
    return ((2 * k + 1 - x) * p - k * q) / (k + 1);
  });
}
auto legendre(double x, double order) -> double {
  if (degree(order) >= 0 && std::fabs(x) == 1) return x > 0 ? 1 : parity(degree(order));
  return recurrence(degree(order), x, [x](double k, double p, double q) {
    return ((2 * k + 1) * x * p - k * q) / (k + 1);
  });
}

// ---- rows ---------------------------------------------------------------------------------------

struct Unary {
  std::string_view schema;
  double (*function)(double);
};
constexpr Unary kUnary[] = {
    {"aten::digamma(Tensor self) -> Tensor", digamma},
    {"aten::erfinv(Tensor self) -> Tensor", erfinv},
    {"aten::i0(Tensor self) -> Tensor", bessel_i<0>},
    {"aten::special_airy_ai(Tensor x) -> Tensor", airy_ai},
    {"aten::special_bessel_j0(Tensor self) -> Tensor", bessel_j<0>},
    {"aten::special_bessel_j1(Tensor self) -> Tensor", bessel_j<1>},
    {"aten::special_bessel_y0(Tensor self) -> Tensor", bessel_y<0>},
    {"aten::special_bessel_y1(Tensor self) -> Tensor", bessel_y<1>},
    {"aten::special_erfcx(Tensor self) -> Tensor", erfcx},
    {"aten::special_i0e(Tensor self) -> Tensor", scaled_i<0>},
    {"aten::special_i1(Tensor self) -> Tensor", bessel_i<1>},
    {"aten::special_i1e(Tensor self) -> Tensor", scaled_i<1>},
    {"aten::special_log_ndtr(Tensor self) -> Tensor", log_ndtr},
    {"aten::special_modified_bessel_i0(Tensor self) -> Tensor", bessel_i<0>},
    {"aten::special_modified_bessel_i1(Tensor self) -> Tensor", bessel_i<1>},
    {"aten::special_modified_bessel_k0(Tensor self) -> Tensor", bessel_k<0>},
    {"aten::special_modified_bessel_k1(Tensor self) -> Tensor", bessel_k<1>},
    {"aten::special_ndtr(Tensor self) -> Tensor", ndtr},
    {"aten::special_ndtri(Tensor self) -> Tensor", ndtri},
    {"aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor", scaled_k<0>},
    {"aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor", scaled_k<1>},
    {"aten::special_spherical_bessel_j0(Tensor x) -> Tensor", spherical_j0},
};
void unary_kernel(KernelCall& k) {
  const auto* const row = std::ranges::find(kUnary, k.row().schema_text, &Unary::schema);
  run_pointwise<double, 1>({PointwiseOperand<double>{.tensor = &k.in(0)}}, k.out(), row->function);
}

/// Overloads: two tensors, and a number in place of either.
struct Binary {
  std::string_view name;
  std::string_view first, second;                ///< parameters
  std::string_view first_number, second_number;  ///< overload names; empty if there is none
  double (*function)(double, double);
};
constexpr auto polynomial(std::string_view name, double (*function)(double, double)) -> Binary {
  return {name, "x", "n", "x_scalar", "n_scalar", function};
}
constexpr Binary kBinary[] = {
    {"igamma", "self", "other", "", "", lower_gamma},
    {"igammac", "self", "other", "", "", upper_gamma},
    {"special_zeta", "self", "other", "self_scalar", "other_scalar", hurwitz_zeta},
    polynomial("special_chebyshev_polynomial_t", chebyshev_t),
    polynomial("special_chebyshev_polynomial_u", chebyshev_u),
    polynomial("special_chebyshev_polynomial_v", chebyshev_v),
    polynomial("special_chebyshev_polynomial_w", chebyshev_w),
    polynomial("special_shifted_chebyshev_polynomial_t", shifted<chebyshev_t>),
    polynomial("special_shifted_chebyshev_polynomial_u", shifted<chebyshev_u>),
    polynomial("special_shifted_chebyshev_polynomial_v", shifted<chebyshev_v>),
    polynomial("special_shifted_chebyshev_polynomial_w", shifted<chebyshev_w>),
    polynomial("special_hermite_polynomial_h", hermite_h),
    polynomial("special_hermite_polynomial_he", hermite_he),
    polynomial("special_laguerre_polynomial_l", laguerre),
    polynomial("special_legendre_polynomial_p", legendre),
};
void binary_kernel(KernelCall& k) {
  auto name = std::string_view(k.row().name());
  name.remove_prefix(name.find('.') + 1);
  name = name.substr(0, name.find('.'));
  const auto* const row = std::ranges::find(kBinary, name, &Binary::name);
  const auto dtype = k.out().dtype();
  const std::array operands{pointwise_operand<double>(k, 0, dtype),
                            pointwise_operand<double>(k, 1, dtype)};
  if (!k.error()) run_pointwise<double, 2>(operands, k.out(), row->function);
}
void add_binary(OpTable& t, const Binary& row) {
  const auto add = [&](std::string_view overload, std::string_view first, std::string_view second) {
    t.add_owned({.schema_text = {},
                 .rule = pointwise_rule,
                 .kernel = binary_kernel,
                 .promotion = Promotion::int_to_float},
                fmt::format("aten::{}{}({} {}, {} {}) -> Tensor", row.name, overload, first,
                            row.first, second, row.second));
  };
  add("", "Tensor", "Tensor");
  if (!row.first_number.empty()) add(fmt::format(".{}", row.first_number), "Scalar", "Tensor");
  if (!row.second_number.empty()) add(fmt::format(".{}", row.second_number), "Tensor", "Scalar");
}

/// n, self: integers compute in the default dtype.
auto polygamma_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(1);
  if (!c.require(c.integer(0) >= 0, "the order is not negative")) return {};
  const bool floats = is_floating(self.dtype);
  const TensorMeta* operands[] = {&self};
  return c.fresh(floats ? self.dtype : kDefaultFloat, self.sizes,
                 iterator_strides(c, operands, self.sizes));
}
void polygamma_kernel(KernelCall& k) {
  const auto n = static_cast<double>(k.integer(0));
  const bool is_double = k.out().dtype() == DType::float64;
  run_pointwise<double, 1>({PointwiseOperand<double>{.tensor = &k.in(1)}}, k.out(),
                           [=](double x) { return polygamma(n, x, is_double); });
}
auto polygamma_in_place(Composer& c) -> Datum {
  return c.call("aten.copy_.default",
                {c.arg(0), c.call("aten.polygamma.default", {c.arg(1), c.arg(0)})});
}

/// self, p: the sum of lgamma(self - j / 2), j < p, and p (p - 1) / 4 log pi.
auto multi_lgamma(Composer& c) -> Datum {
  const auto p = static_cast<double>(c.integer(1));
  const auto self = c.meta(0);
  if (p < 1) return c.fail("p is at least 1"), Datum{};
  const auto dtype = is_floating(self.dtype) ? self.dtype : kDefaultFloat;
  const auto number = [](double value) { return Datum{Expr::real(value)}; };
  const auto steps = c.call("aten.arange.start_step",
                            {number((1 - p) / 2), number(0.5), number(0.5), Datum{dtype}});
  const auto column = c.call("aten.unsqueeze.default", {c.arg(0), Datum{Expr(-1)}});
  const auto gammas = c.call("aten.lgamma.default", {c.call("aten.add.Tensor", {steps, column})});
  const auto sum = c.call("aten.sum.dim_IntList", {gammas, int_list(Dims{-1})});
  return c.call("aten.add.Scalar", {sum, number(p * (p - 1) / 4 * std::log(kPi))});
}

auto frexp_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(is_floating(self.dtype), "a floating tensor is needed")) return {};
  const auto strides = preserved_strides(c, self);
  return {DatumList{c.fresh(self.dtype, self.sizes, strides),
                    c.fresh(DType::int32, self.sizes, strides)}};
}
void frexp_kernel(KernelCall& k) {
  auto values = to_vector<double>(k.in(0));
  std::vector<std::int64_t> exponents;
  for (auto& value : values) {
    int exponent = 0;
    value = std::frexp(value, &exponent);
    exponents.push_back(exponent);
  }
  from_vector<double>(k.out(0), values);
  from_vector<std::int64_t>(k.out(1), exponents);
}

/// self * 2^other. A floating self with a whole exponent never overflows on the way; otherwise the
/// power is a number of its own.
class Ldexp {
 public:
  explicit Ldexp(KernelCall& k)
      : is_scaled_(is_scaled(k.in(0).dtype(), k.in(1).dtype())), dtype_(k.out().dtype()) {}
  static auto is_scaled(DType self, DType exponent) -> bool {
    return is_floating(self) && is_integer(exponent);
  }
  /// Is the power a row-major tensor, whatever the layout of the exponents?
  static auto packs_power(DType self, DType exponent) -> bool {
    return !is_scaled(self, exponent) &&
           (self == DType::float32 || (!is_floating(self) && !is_complex(self)));
  }
  auto operator()(Real auto x, Real auto y) const -> double {
    if (is_scaled_ && (x == 0 || std::isinf(x))) return x;
    return x * (is_scaled_ ? std::exp2(y) : round_to(dtype_, std::exp2(y)));
  }
  auto operator()(Cplx auto x, Cplx auto y) const -> Complex { return x * std::pow(2.0, y); }

 private:
  bool is_scaled_;
  DType dtype_;
};
auto ldexp_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto& exponent = c.meta(1);
  if (is_floating(self.dtype) && exponent.dtype == DType::boolean)
    return c.fail("a floating tensor takes whole or floating exponents"), Datum{};
  auto power = exponent;
  if (Ldexp::packs_power(self.dtype, exponent.dtype))
    power.strides = contiguous_strides(power.sizes);
  auto sizes = broadcast(c, self.sizes, exponent.sizes);
  const auto common = compute_dtype(c.args(), c.row());
  if (c.error() || !c.require(common.has_value(), "the dtypes have a common one")) return {};
  const TensorMeta* operands[] = {&self, &power};
  auto strides = iterator_strides(c, operands, sizes);
  return c.fresh(*common, std::move(sizes), std::move(strides));
}

/// The upper half of a float is a bfloat16.
auto next_bfloat16(double x, double y) -> double {
  if (std::isnan(x) || std::isnan(y)) return kNan;
  if (x == y) return y;
  constexpr std::uint32_t kStep = 0x10000;
  if (x == 0) return std::copysign(std::bit_cast<float>(kStep), static_cast<float>(y));
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return std::bit_cast<float>((y > x) == (x > 0) ? bits + kStep : bits - kStep);
}
/// Steps of a half: 2^-10 of the power of two below, 2^-24 at least (subnormals).
auto next_float16(double x, double y) -> double {
  constexpr double kLargest = 65504;
  constexpr int kDigits = 11;
  constexpr int kLeast = -24;
  if (std::isnan(x) || std::isnan(y)) return kNan;
  if (x == y) return y;
  if (x == 0) return std::copysign(std::ldexp(1., kLeast), y);
  const bool grows = (y > x) == (x > 0);
  if (std::isinf(x)) return std::copysign(kLargest, x);
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(x), &exponent);
  const int below = !grows && mantissa == 0.5 ? 1 : 0;
  const double step = std::ldexp(1., std::max(exponent - kDigits - below, kLeast));
  const double moved = std::fabs(x) + (grows ? step : -step);
  return std::copysign(moved > kLargest ? std::numeric_limits<double>::infinity() : moved, x);
}
void nextafter_kernel(KernelCall& k) {
  const auto dtype = k.out().dtype();
  const std::array operands{pointwise_operand<double>(k, 0, dtype),
                            pointwise_operand<double>(k, 1, dtype)};
  const bool wide = dtype == DType::float64;
  if (dtype == DType::float16) return run_pointwise<double, 2>(operands, k.out(), next_float16);
  if (dtype == DType::bfloat16) return run_pointwise<double, 2>(operands, k.out(), next_bfloat16);
  run_pointwise<double, 2>(operands, k.out(), [wide](double x, double y) {
    if (wide) return std::nextafter(x, y);
    return static_cast<double>(std::nextafter(static_cast<float>(x), static_cast<float>(y)));
  });
}

}  // namespace

// clang-format off
void add_special_rows(OpTable& t) {
  for (const auto& row : kUnary)
    t.add({.schema_text = row.schema, .rule = pointwise_rule, .kernel = unary_kernel, .promotion = Promotion::int_to_float});
  for (const auto& row : kBinary) add_binary(t, row);
  t.add({.schema_text = "aten::polygamma(int n, Tensor self) -> Tensor", .rule = polygamma_rule, .kernel = polygamma_kernel});
  t.add({.schema_text = "aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", .decomposition = polygamma_in_place});
  t.add({.schema_text = "aten::mvlgamma(Tensor self, int p) -> Tensor", .decomposition = multi_lgamma});
  t.add({.schema_text = "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", .rule = frexp_rule, .kernel = frexp_kernel});
  auto ldexp = pointwise<Ldexp, 2>("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", Promotion::int_to_float);
  ldexp.rule = ldexp_rule;
  t.add(ldexp);
  t.add({.schema_text = "aten::nextafter(Tensor self, Tensor other) -> Tensor", .rule = pointwise_rule, .kernel = nextafter_kernel, .promotion = Promotion::standard});
}
// clang-format on

}  // namespace assay
