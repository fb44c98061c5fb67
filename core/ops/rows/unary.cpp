// Pointwise operators of one operand, and those with scalar parameters.
#include <cmath>
#include <limits>
#include <numbers>

#include "core/ops/pointwise.h"

namespace assay {
namespace {

using Int = std::int64_t;

// The complex forms that the standard library lacks.
auto log2_of(double x) -> double {
  return std::log2(x);
}
auto log2_of(Complex x) -> Complex {
  return std::log(x) / std::numbers::ln2;
}
auto exp2_of(double x) -> double {
  return std::exp2(x);
}
auto exp2_of(Complex x) -> Complex {
  return std::exp(x * std::numbers::ln2);
}
auto log1p_of(double x) -> double {
  return std::log1p(x);
}
auto log1p_of(Complex x) -> Complex {
  if (std::abs(x) >= 0.5) return std::log(1.0 + x);
  return {0.5 * std::log1p(x.real() * (2 + x.real()) + x.imag() * x.imag()),
          std::atan2(x.imag(), 1 + x.real())};
}
auto expm1_of(double x) -> double {
  return std::expm1(x);
}
auto expm1_of(Complex x) -> Complex {
  const double half = std::sin(x.imag() / 2);
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half,
          std::exp(x.real()) * std::sin(x.imag())};
}

/// A functor over doubles (and complex numbers) from one generic function.
#define ASSAY_REAL_FUNCTOR(Name, expression)       \
  struct Name {                                    \
    auto operator()(Real auto x) const -> double { \
      return expression;                           \
    }                                              \
  }
#define ASSAY_ANALYTIC_FUNCTOR(Name, expression)    \
  struct Name {                                     \
    auto operator()(Real auto x) const -> double {  \
      return expression;                            \
    }                                               \
    auto operator()(Cplx auto x) const -> Complex { \
      return expression;                            \
    }                                               \
  }

ASSAY_ANALYTIC_FUNCTOR(Exp, std::exp(x));
ASSAY_ANALYTIC_FUNCTOR(Log, std::log(x));
ASSAY_ANALYTIC_FUNCTOR(Log10, std::log10(x));
ASSAY_ANALYTIC_FUNCTOR(Sqrt, std::sqrt(x));
ASSAY_ANALYTIC_FUNCTOR(Rsqrt, 1.0 / std::sqrt(x));
ASSAY_ANALYTIC_FUNCTOR(Reciprocal, 1.0 / x);
ASSAY_ANALYTIC_FUNCTOR(Sin, std::sin(x));
ASSAY_ANALYTIC_FUNCTOR(Cos, std::cos(x));
ASSAY_ANALYTIC_FUNCTOR(Tan, std::tan(x));
ASSAY_ANALYTIC_FUNCTOR(Sinh, std::sinh(x));
ASSAY_ANALYTIC_FUNCTOR(Cosh, std::cosh(x));
ASSAY_ANALYTIC_FUNCTOR(Tanh, std::tanh(x));
ASSAY_ANALYTIC_FUNCTOR(Asin, std::asin(x));
ASSAY_ANALYTIC_FUNCTOR(Acos, std::acos(x));
ASSAY_ANALYTIC_FUNCTOR(Atan, std::atan(x));
ASSAY_ANALYTIC_FUNCTOR(Asinh, std::asinh(x));
ASSAY_ANALYTIC_FUNCTOR(Acosh, std::acosh(x));
ASSAY_ANALYTIC_FUNCTOR(Atanh, std::atanh(x));
ASSAY_ANALYTIC_FUNCTOR(Sigmoid, 1.0 / (1.0 + std::exp(-x)));
ASSAY_ANALYTIC_FUNCTOR(Silu, x / (1.0 + std::exp(-x)));
ASSAY_ANALYTIC_FUNCTOR(Log2, log2_of(x));
ASSAY_ANALYTIC_FUNCTOR(Log1p, log1p_of(x));
ASSAY_ANALYTIC_FUNCTOR(Expm1, expm1_of(x));
ASSAY_ANALYTIC_FUNCTOR(Exp2, exp2_of(x));
ASSAY_REAL_FUNCTOR(Erf, std::erf(x));
ASSAY_REAL_FUNCTOR(Erfc, std::erfc(x));
ASSAY_REAL_FUNCTOR(Lgamma, std::lgamma(x));
ASSAY_REAL_FUNCTOR(Entr, x == 0 ? 0.0 : x > 0 ? -x * std::log(x) : x < 0 ? -INFINITY : x);
ASSAY_REAL_FUNCTOR(Hardsigmoid, std::fmin(std::fmax(x + 3, 0), 6) / 6);
ASSAY_REAL_FUNCTOR(Hardswish, x* std::fmin(std::fmax(x + 3, 0), 6) / 6);
ASSAY_REAL_FUNCTOR(Mish, x* std::tanh(std::log1p(std::exp(x))));
ASSAY_REAL_FUNCTOR(Deg2rad, x*(std::numbers::pi / 180));
ASSAY_REAL_FUNCTOR(Rad2deg, x * (180 / std::numbers::pi));
#undef ASSAY_REAL_FUNCTOR
#undef ASSAY_ANALYTIC_FUNCTOR

/// sin(pi x) / (pi x), of an angle that is rounded: float32 has no x with an angle of pi.
class Sinc {
 public:
  explicit Sinc(KernelCall& k)
      : dtype_(size_bytes(k.out().dtype()) < 4 ? DType::float32 : k.out().dtype()) {}
  auto operator()(Real auto x) const -> double {
    const double angle = round_to(dtype_, round_to(dtype_, std::numbers::pi) * x);
    return x == 0 ? 1 : std::sin(angle) / angle;
  }
  auto operator()(Cplx auto x) const -> Complex {
    const Complex angle = std::numbers::pi * x;
    return x == 0.0 ? 1.0 : std::sin(angle) / angle;
  }

 private:
  DType dtype_;
};
struct Neg {
  template <class T>
  auto operator()(T x) const -> T {
    if constexpr (std::is_same_v<T, Int>)
      return static_cast<Int>(-static_cast<std::uint64_t>(x));
    else
      return -x;
  }
};
struct Abs {
  auto operator()(Real auto x) const -> double { return std::fabs(x); }
  auto operator()(Whole auto x) const -> Int { return x < 0 ? Neg()(x) : x; }
  auto operator()(Cplx auto x) const -> Complex { return std::abs(x); }
};
struct Relu {
  template <class T>
    requires(!std::is_same_v<T, Complex>)
  auto operator()(T x) const -> T {
    return x < T(0) ? T(0) : x;
  }
};
struct Sign {
  template <class T>
    requires(!std::is_same_v<T, Complex>)
  auto operator()(T x) const -> T {
    return x != x ? T(0) : static_cast<T>((x > T(0)) - (x < T(0)));
  }
};
struct Sgn : Sign {
  using Sign::operator();
  auto operator()(Cplx auto x) const -> Complex {
    return x == Complex(0) ? Complex(0) : x / std::abs(x);
  }
};
/// Rounding functions leave integers alone.
template <double (*kRound)(double)>
struct Rounding {
  auto operator()(Real auto x) const -> double { return kRound(x); }
  auto operator()(Whole auto x) const -> Int { return x; }
};
auto floor_of(double x) -> double {
  return std::floor(x);
}
auto ceil_of(double x) -> double {
  return std::ceil(x);
}
auto trunc_of(double x) -> double {
  return std::trunc(x);
}
auto round_of(double x) -> double {
  return std::nearbyint(x);
}
auto fraction_of(double x) -> double {
  return x - std::trunc(x);
}

class BitNot {
 public:
  explicit BitNot(KernelCall& k) : is_bool_(k.in(0).dtype() == DType::boolean) {}
  auto operator()(Whole auto x) const -> Int { return is_bool_ ? Int(x == 0) : ~x; }

 private:
  bool is_bool_;
};
struct LogicalNot {
  template <class T>
  auto operator()(T x) const -> bool {
    return x == T(0);
  }
};
struct IsNan {
  template <class T>
  auto operator()(T x) const -> bool {
    return x != x;
  }
};
template <int kSign>  // 0: either sign
struct IsInf {
  auto operator()(Real auto x) const -> bool {
    return std::isinf(x) && (kSign == 0 || (x < 0) == (kSign < 0));
  }
  auto operator()(Whole auto) const -> bool { return false; }
  auto operator()(Cplx auto x) const -> bool
    requires(kSign == 0)
  {
    return std::isinf(x.real()) || std::isinf(x.imag());
  }
};
struct Signbit {
  auto operator()(Real auto x) const -> bool { return std::signbit(x); }
  auto operator()(Whole auto x) const -> bool { return x < 0; }
};

class Gelu {
 public:
  explicit Gelu(KernelCall& k) : tanh_(k.text(1) == "tanh") {}
  auto operator()(Real auto x) const -> double {
    if (!tanh_) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(inner));
  }

 private:
  bool tanh_;
};

/// Bounds of clamp: either may be missing; NaN inputs stay NaN.
class Clamp {
 public:
  explicit Clamp(KernelCall& k)
      : low_(k.has(1)), high_(k.has(2)), min_(low_ ? k.real(1) : 0), max_(high_ ? k.real(2) : 0) {}
  template <class T>
    requires(!std::is_same_v<T, Complex>)
  auto operator()(T x) const -> T {
    if (x != x) return x;
    if (low_ && x < static_cast<T>(min_)) x = static_cast<T>(min_);
    return high_ && x > static_cast<T>(max_) ? static_cast<T>(max_) : x;
  }

 private:
  bool low_, high_;
  double min_, max_;
};

/// Activations with up to three numbers after self.
class Parametric {
 public:
  explicit Parametric(KernelCall& k) {
    for (std::size_t i = 0; i < 3 && i + 1 < k.args().size(); ++i)
      if (k.has(static_cast<int>(i) + 1)) p_[i] = k.real(static_cast<int>(i) + 1);
  }

 protected:
  std::array<double, 3> p_{};
};
struct LeakyRelu : Parametric {
  using Parametric::Parametric;
  auto operator()(Real auto x) const -> double { return x > 0 ? x : x * p_[0]; }
};
struct Elu : Parametric {  // alpha, scale, input_scale
  using Parametric::Parametric;
  auto operator()(Real auto x) const -> double {
    return x > 0 ? x * p_[1] : std::expm1(x * p_[2]) * p_[0] * p_[1];
  }
};
struct Softplus : Parametric {  // beta, threshold
  using Parametric::Parametric;
  auto operator()(Real auto x) const -> double {
    return x * p_[0] > p_[1] ? x : std::log1p(std::exp(x * p_[0])) / p_[0];
  }
};
struct Threshold : Parametric {  // threshold, value
  using Parametric::Parametric;
  template <class T>
    requires(!std::is_same_v<T, Complex>)
  auto operator()(T x) const -> T {
    return x <= static_cast<T>(p_[0]) ? static_cast<T>(p_[1]) : x;
  }
};

struct Celu : Parametric {  // alpha
  using Parametric::Parametric;
  auto operator()(Real auto x) const -> double { return x > 0 ? x : std::expm1(x / p_[0]) * p_[0]; }
};
struct Hardshrink : Parametric {  // lambd
  using Parametric::Parametric;
  auto operator()(Real auto x) const -> double { return x >= -p_[0] && x <= p_[0] ? 0 : x; }
};
struct Softshrink : Parametric {  // lambd
  using Parametric::Parametric;
  auto operator()(Real auto x) const -> double {
    return x > p_[0] ? x - p_[0] : x < -p_[0] ? x + p_[0] : x * 0;
  }
};
class Logit {
 public:
  explicit Logit(KernelCall& k) : eps_(k.has(1) ? k.real(1) : -1) {}
  auto operator()(Real auto x) const -> double {
    if (eps_ >= 0) x = x < eps_ ? eps_ : x > 1 - eps_ ? 1 - eps_ : x;
    return std::log(x / (1 - x));
  }

 private:
  double eps_;
};
/// The largest finite value.
auto largest_of(DType dtype) -> double {
  if (dtype == DType::float16) return 65504;
  if (dtype == DType::bfloat16) return 0x1.FEp127;
  return dtype == DType::float32 ? std::numeric_limits<float>::max()
                                 : std::numeric_limits<double>::max();
}
/// What stands for NaN and the infinities: 0 and the dtype's ends unless given.
class NanToNum {
 public:
  explicit NanToNum(KernelCall& k) {
    const double top = largest_of(real_of(k.out().dtype()));
    nan_ = k.has(1) ? k.real(1) : 0;
    above_ = k.has(2) ? k.real(2) : top;
    below_ = k.has(3) ? k.real(3) : -top;
  }
  auto operator()(Real auto x) const -> double {
    return std::isnan(x) ? nan_ : std::isinf(x) ? (x > 0 ? above_ : below_) : x;
  }
  auto operator()(Whole auto x) const -> Int { return x; }
  auto operator()(Cplx auto x) const -> Complex { return {(*this)(x.real()), (*this)(x.imag())}; }

 private:
  double nan_, above_, below_;
};
/// round(decimals): scaled in the dtype, rounded half to even, scaled back.
class RoundDecimals {
 public:
  explicit RoundDecimals(KernelCall& k)
      : dtype_(k.out().dtype()),
        up_(k.integer(1) >= 0),
        scale_(round_to(dtype_, std::pow(10.0, std::abs(static_cast<double>(k.integer(1)))))) {}
  auto operator()(Real auto x) const -> double {
    const double scaled = std::nearbyint(round_to(dtype_, up_ ? x * scale_ : x / scale_));
    return up_ ? scaled / scale_ : scaled * scale_;
  }

 private:
  DType dtype_;
  bool up_;
  double scale_;
};

/// Unary rows whose further parameters are not operands: promotion looks at self only.
auto unary_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  DType dtype = self.dtype;
  const bool integral = is_integer(dtype) || dtype == DType::boolean;
  if (c.row().promotion == Promotion::int_to_float && integral) dtype = kDefaultFloat;
  const TensorMeta* operands[] = {&self};
  return c.fresh(dtype, self.sizes, iterator_strides(c, operands, self.sizes));
}

template <class F>
void unary_kernel(KernelCall& k) {
  const F f(k);
  with_compute_type(k.out().dtype(), [&]<class T>(T) {
    if constexpr (std::is_invocable_v<const F&, T>)
      run_pointwise<T, 1>({PointwiseOperand<T>{.tensor = &k.in(0)}}, k.out(), f);
    else
      k.unsupported(fmt::format("dtype {} is not supported", name(k.out().dtype())));
  });
}

template <class F>
auto parametric(std::string_view schema, Promotion promotion = Promotion::standard) -> OpRow {
  return {
      .schema_text = schema, .rule = unary_rule, .kernel = unary_kernel<F>, .promotion = promotion};
}

/// abs of complex numbers writes into empty_like(self), the others are a TensorIterator's.
auto abs_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!is_complex(self.dtype)) return pointwise_rule(c);
  return c.fresh(real_of(self.dtype), self.sizes, preserved_strides(c, self));
}

/// angle of real numbers: 0 or pi; NaN stays.
auto angle_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (is_complex(self.dtype)) return c.fresh(real_of(self.dtype), self.sizes);
  const TensorMeta* operands[] = {&self};
  return c.fresh(is_floating(self.dtype) ? self.dtype : kDefaultFloat, self.sizes,
                 iterator_strides(c, operands, self.sizes));
}
void angle_kernel(KernelCall& k) {
  if (is_complex(k.in(0).dtype()))
    return run_pointwise<Complex, 1>({PointwiseOperand<Complex>{.tensor = &k.in(0)}}, k.out(),
                                     [](const Complex& z) { return Complex(std::arg(z)); });
  run_pointwise<double, 1>({PointwiseOperand<double>{.tensor = &k.in(0)}}, k.out(), [](double x) {
    return std::isnan(x) ? x : x < 0 ? std::numbers::pi : 0;
  });
}
auto conj_physical_rule(MetaCall& c) -> Datum {
  return c.fresh(c.meta(0).dtype, c.meta(0).sizes, preserved_strides(c, c.meta(0)));
}
void conj_physical_kernel(KernelCall& k) {
  run_pointwise<Complex, 1>({PointwiseOperand<Complex>{.tensor = &k.in(0)}}, k.out(),
                            [](const Complex& z) { return std::conj(z); });
}

/// clamp promotes with its bounds, unlike the other parametric rows.
auto clamp_rule(MetaCall& c) -> Datum {
  ResultType type;
  for (int i = 0; i < 3; ++i) type.add(c, i);
  const TensorMeta* operands[] = {&c.meta(0)};
  return c.fresh(type.get().value_or(c.meta(0).dtype), c.meta(0).sizes,
                 iterator_strides(c, operands, c.meta(0).sizes));
}

/// hardtanh and nan_to_num write into empty_like(self), so even the strides of an empty input are
/// kept.
auto hardtanh_rule(MetaCall& c) -> Datum {
  return c.fresh(c.meta(0).dtype, c.meta(0).sizes, preserved_strides(c, c.meta(0)));
}

auto clamp_tensor(Composer& c) -> Datum {
  Datum result = c.arg(0);
  if (c.has(1)) result = c.call("aten.clamp_min.Tensor", {result, c.arg(1)});
  if (c.has(2)) result = c.call("aten.clamp_max.Tensor", {result, c.arg(2)});
  return result;
}

}  // namespace

// clang-format off
void add_unary_rows(OpTable& t) {
  using enum Promotion;
  t.add(pointwise<Exp, 1>("aten::exp(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Exp2, 1>("aten::exp2(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Expm1, 1>("aten::expm1(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Log, 1>("aten::log(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Log2, 1>("aten::log2(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Log10, 1>("aten::log10(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Log1p, 1>("aten::log1p(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Sqrt, 1>("aten::sqrt(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Rsqrt, 1>("aten::rsqrt(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Reciprocal, 1>("aten::reciprocal(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Sin, 1>("aten::sin(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Cos, 1>("aten::cos(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Tan, 1>("aten::tan(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Sinh, 1>("aten::sinh(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Cosh, 1>("aten::cosh(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Tanh, 1>("aten::tanh(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Asin, 1>("aten::asin(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Acos, 1>("aten::acos(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Atan, 1>("aten::atan(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Asinh, 1>("aten::asinh(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Acosh, 1>("aten::acosh(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Atanh, 1>("aten::atanh(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Sigmoid, 1>("aten::sigmoid(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Erf, 1>("aten::erf(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Erfc, 1>("aten::erfc(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Sinc, 1>("aten::sinc(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Deg2rad, 1>("aten::deg2rad(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Rad2deg, 1>("aten::rad2deg(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Silu, 1>("aten::silu(Tensor self) -> Tensor"));
  t.add(pointwise<Mish, 1>("aten::mish(Tensor self) -> Tensor"));
  t.add(pointwise<Hardswish, 1>("aten::hardswish(Tensor self) -> Tensor"));
  t.add(pointwise<Hardsigmoid, 1>("aten::hardsigmoid(Tensor self) -> Tensor"));
  t.add(pointwise<Neg, 1>("aten::neg(Tensor self) -> Tensor"));
  t.add({.schema_text = "aten::abs(Tensor self) -> Tensor", .rule = abs_rule, .kernel = pointwise_kernel<Abs, 1>, .promotion = complex_to_real});
  t.add(pointwise<Relu, 1>("aten::relu(Tensor self) -> Tensor"));
  t.add(pointwise<Sign, 1>("aten::sign(Tensor self) -> Tensor"));
  t.add(pointwise<Sgn, 1>("aten::sgn(Tensor self) -> Tensor"));
  t.add(pointwise<Rounding<floor_of>, 1>("aten::floor(Tensor self) -> Tensor"));
  t.add(pointwise<Rounding<ceil_of>, 1>("aten::ceil(Tensor self) -> Tensor"));
  t.add(pointwise<Rounding<trunc_of>, 1>("aten::trunc(Tensor self) -> Tensor"));
  t.add(pointwise<Rounding<round_of>, 1>("aten::round(Tensor self) -> Tensor"));
  t.add(pointwise<Rounding<fraction_of>, 1>("aten::frac(Tensor self) -> Tensor"));
  t.add(pointwise<BitNot, 1>("aten::bitwise_not(Tensor self) -> Tensor"));
  t.add(pointwise<LogicalNot, 1>("aten::logical_not(Tensor self) -> Tensor", boolean));
  t.add(pointwise<IsNan, 1>("aten::isnan(Tensor self) -> Tensor", boolean));
  t.add(pointwise<IsInf<0>, 1>("aten::isinf(Tensor self) -> Tensor", boolean));
  t.add(pointwise<IsInf<1>, 1>("aten::isposinf(Tensor self) -> Tensor", boolean));
  t.add(pointwise<IsInf<-1>, 1>("aten::isneginf(Tensor self) -> Tensor", boolean));
  t.add(pointwise<Signbit, 1>("aten::signbit(Tensor self) -> Tensor", boolean));

  t.add(pointwise<Lgamma, 1>("aten::lgamma(Tensor self) -> Tensor", int_to_float));
  t.add(pointwise<Entr, 1>("aten::special_entr(Tensor self) -> Tensor", int_to_float));
  t.add({.schema_text = "aten::angle(Tensor self) -> Tensor", .rule = angle_rule, .kernel = angle_kernel});
  t.add({.schema_text = "aten::_conj_physical(Tensor self) -> Tensor", .rule = conj_physical_rule, .kernel = conj_physical_kernel});

  t.add(parametric<Celu>("aten::celu(Tensor self, Scalar alpha=1.) -> Tensor"));
  t.add(parametric<Hardshrink>("aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor"));
  t.add(parametric<Softshrink>("aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"));
  t.add(parametric<Logit>("aten::logit(Tensor self, float? eps=None) -> Tensor", int_to_float));
  t.add({.schema_text = "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor", .rule = hardtanh_rule, .kernel = unary_kernel<NanToNum>, .promotion = standard});
  t.add(parametric<RoundDecimals>("aten::round.decimals(Tensor self, *, int decimals) -> Tensor"));
  t.add(parametric<Gelu>("aten::gelu(Tensor self, *, str approximate='none') -> Tensor"));
  t.add(parametric<LeakyRelu>("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"));
  t.add(parametric<Elu>("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"));
  t.add(parametric<Softplus>("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"));
  t.add(parametric<Threshold>("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor"));
  t.add({.schema_text = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", .rule = hardtanh_rule, .kernel = unary_kernel<Clamp>, .promotion = standard});
  t.add({.schema_text = "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", .rule = clamp_rule, .kernel = unary_kernel<Clamp>, .promotion = standard});
  t.add({.schema_text = "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", .decomposition = clamp_tensor});
}
// clang-format on

}  // namespace assay
