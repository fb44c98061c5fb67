// Special functions of one real number and of two (aten/src/ATen/native/Math.h,
// UnaryOps.cpp, BinaryOps.cpp). One kernel serves each kind: a table says which function is meant.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/function/special.h"
#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = std::numbers::pi;

// ---- rows ---------------------------------------------------------------------------------------

struct Unary {
  std::string_view schema;
  double (*function)(double);
};
constexpr Unary kUnary[] = {
    {"aten::digamma(Tensor self) -> Tensor", special::digamma},
    {"aten::erfinv(Tensor self) -> Tensor", special::erfinv},
    {"aten::i0(Tensor self) -> Tensor", special::i0},
    {"aten::special_airy_ai(Tensor x) -> Tensor", special::airy_ai},
    {"aten::special_bessel_j0(Tensor self) -> Tensor", special::bessel_j0_forward},
    {"aten::special_bessel_j1(Tensor self) -> Tensor", special::bessel_j1_forward},
    {"aten::special_bessel_y0(Tensor self) -> Tensor", special::bessel_y0_forward},
    {"aten::special_bessel_y1(Tensor self) -> Tensor", special::bessel_y1_forward},
    {"aten::special_erfcx(Tensor self) -> Tensor", special::erfcx},
    {"aten::special_i0e(Tensor self) -> Tensor", special::i0e},
    {"aten::special_i1(Tensor self) -> Tensor", special::i1},
    {"aten::special_i1e(Tensor self) -> Tensor", special::i1e},
    {"aten::special_log_ndtr(Tensor self) -> Tensor", special::log_ndtr},
    {"aten::special_modified_bessel_i0(Tensor self) -> Tensor", special::i0},
    {"aten::special_modified_bessel_i1(Tensor self) -> Tensor", special::i1},
    {"aten::special_modified_bessel_k0(Tensor self) -> Tensor", special::modified_bessel_k0},
    {"aten::special_modified_bessel_k1(Tensor self) -> Tensor", special::modified_bessel_k1},
    {"aten::special_ndtri(Tensor self) -> Tensor", special::ndtri},
    {"aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor",
     special::scaled_modified_bessel_k0},
    {"aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor",
     special::scaled_modified_bessel_k1},
    {"aten::special_spherical_bessel_j0(Tensor x) -> Tensor", special::spherical_bessel_j0},
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
    {"igamma", "self", "other", "", "", special::igamma},
    {"igammac", "self", "other", "", "", special::igammac},
    {"special_zeta", "self", "other", "self_scalar", "other_scalar", special::zeta},
    polynomial("special_chebyshev_polynomial_t", special::chebyshev_polynomial_t),
    polynomial("special_chebyshev_polynomial_u", special::chebyshev_polynomial_u),
    polynomial("special_chebyshev_polynomial_v", special::chebyshev_polynomial_v),
    polynomial("special_chebyshev_polynomial_w", special::chebyshev_polynomial_w),
    polynomial("special_shifted_chebyshev_polynomial_t", special::shifted_chebyshev_polynomial_t),
    polynomial("special_shifted_chebyshev_polynomial_u", special::shifted_chebyshev_polynomial_u),
    polynomial("special_shifted_chebyshev_polynomial_v", special::shifted_chebyshev_polynomial_v),
    polynomial("special_shifted_chebyshev_polynomial_w", special::shifted_chebyshev_polynomial_w),
    polynomial("special_hermite_polynomial_h", special::hermite_polynomial_h),
    polynomial("special_hermite_polynomial_he", special::hermite_polynomial_he),
    polynomial("special_laguerre_polynomial_l", special::laguerre_polynomial_l),
    polynomial("special_legendre_polynomial_p", special::legendre_polynomial_p),
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
                           [=](double x) { return special::polygamma(n, x, is_double); });
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
