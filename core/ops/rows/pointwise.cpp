// Pointwise operators of two and three operands.
#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops/pointwise.h"

namespace assay {
namespace {

/// Numbers with an order; complex numbers have none.
template <class T>
concept Ordered = std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>;
using Int = std::int64_t;

/// Signed arithmetic that wraps like the hardware.
template <class T, class Op>
auto wrapping(T a, T b, Op op) -> T {
  if constexpr (std::is_same_v<T, Int>)
    return static_cast<Int>(op(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  else
    return op(a, b);
}

/// `alpha` of add and sub, in whatever type is computed.
class Scaled {
 public:
  explicit Scaled(KernelCall& k) {
    const int i = k.row().schema.index_of("alpha");
    if (i >= 0) alpha_ = k.number(i);
  }
  template <class T>
  auto scale(T value) const -> T {
    if constexpr (std::is_same_v<T, Complex>)
      return alpha_ * value;
    else if constexpr (std::is_same_v<T, double>)
      return alpha_.real() * value;
    else
      return wrapping(static_cast<Int>(alpha_.real()), value, std::multiplies<>());
  }

 private:
  Complex alpha_ = 1.0;
};
struct Add : Scaled {
  using Scaled::Scaled;
  template <class T>
  auto operator()(T a, T b) const -> T {
    return wrapping(a, scale(b), std::plus<>());
  }
};
struct Sub : Scaled {
  using Scaled::Scaled;
  template <class T>
  auto operator()(T a, T b) const -> T {
    return wrapping(a, scale(b), std::minus<>());
  }
};
struct Mul {
  template <class T>
  auto operator()(T a, T b) const -> T {
    return wrapping(a, b, std::multiplies<>());
  }
};
struct Div {
  auto operator()(Real auto a, Real auto b) const -> double { return a / b; }
  auto operator()(Cplx auto a, Cplx auto b) const -> Complex { return a / b; }
};
/// prims.div keeps integers: truncating division.
struct PrimsDiv : Div {
  using Div::operator();
  auto operator()(Whole auto a, Whole auto b) const -> Int {
    return b == 0 ? 0 : b == -1 ? -a : a / b;
  }
};
/// Divisions that round to whole numbers do so after the quotient is rounded to the dtype computed
/// in (BinaryOpsKernel.cpp: the operands' own, even a 16-bit one, unless the divisor is one
/// element).
class RoundedQuotient {
 public:
  explicit RoundedQuotient(KernelCall& k)
      : dtype_(compute_dtype(k.args(), k.row()).value_or(DType::float64)) {
    const bool one_divisor = !k.is_tensor(1) || k.in(1).numel() == 1;
    if (one_divisor && is_half(dtype_)) dtype_ = DType::float32;
  }

 protected:
  [[nodiscard]] auto rounded(double value) const -> double { return round_to(dtype_, value); }

 private:
  DType dtype_;
};
struct TruncDiv : RoundedQuotient {
  using RoundedQuotient::RoundedQuotient;
  auto operator()(Real auto a, Real auto b) const -> double { return std::trunc(rounded(a / b)); }
  auto operator()(Whole auto a, Whole auto b) const -> Int { return PrimsDiv()(a, b); }
};
/// c10::div_floor_floating: Python's float floor division.
struct FloorDiv : RoundedQuotient {
  using RoundedQuotient::RoundedQuotient;
  auto operator()(Real auto a, Real auto b) const -> double {
    if (b == 0) return a / b;
    const double rest = std::fmod(a, b);
    double quotient = rounded(rounded(a - rest) / b);
    if (rest != 0 && (b < 0) != (rest < 0)) quotient = rounded(quotient - 1);
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double down = std::floor(quotient);
    return quotient - down > 0.5 ? down + 1 : down;
  }
  auto operator()(Whole auto a, Whole auto b) const -> Int {
    if (b == 0) return 0;
    if (b == -1) return wrapping(Int{0}, a, std::minus<>());
    return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
  }
};
struct Remainder {
  auto operator()(Real auto a, Real auto b) const -> double {
    const double rest = std::fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
  }
  auto operator()(Whole auto a, Whole auto b) const -> Int {
    if (b == 0 || b == -1) return 0;
    const Int rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
struct Fmod {
  auto operator()(Real auto a, Real auto b) const -> double { return std::fmod(a, b); }
  auto operator()(Whole auto a, Whole auto b) const -> Int { return b == 0 || b == -1 ? 0 : a % b; }
};
struct Pow {
  auto operator()(Real auto a, Real auto b) const -> double { return std::pow(a, b); }
  /// exp(b log(a)), also of 0, of which it is mostly NaN.
  auto operator()(Cplx auto a, Cplx auto b) const -> Complex {
    return a == Complex(0) ? std::exp(Complex(b) * std::log(Complex(a))) : std::pow(a, b);
  }
  auto operator()(Whole auto a, Whole auto b) const -> Int {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    Int result = 1;
    for (; b > 0; b >>= 1) {
      if (b & 1) result = wrapping(result, a, std::multiplies<>());
      a = wrapping(a, a, std::multiplies<>());
    }
    return result;
  }
};
/// Numbers that have a shorter way are no logarithms (aten/src/ATen/native/cpu/PowKernel.cpp).
struct PowOfNumber : Pow {
  using Pow::operator();
  auto operator()(Cplx auto a, Cplx auto b) const -> Complex {
    if (b == Complex(0)) return 1;
    return b == Complex(0.5) ? std::sqrt(Complex(a))
           : b == Complex(1) ? Complex(a)
           : b == Complex(2) ? Complex(a) * Complex(a)
           : b == Complex(3) ? Complex(a) * Complex(a) * Complex(a)
                             : Pow::operator()(a, b);
  }
};
template <bool kMax>
struct Extreme {
  template <Ordered T>
  auto operator()(T a, T b) const -> T {
    if (a != a || b != b) return a != a ? a : b;  // NaN wins
    return (kMax ? a < b : b < a) ? b : a;
  }
};
/// fmax, fmin: NaN loses.
template <bool kMax>
struct NumberExtreme {
  template <Ordered T>
  auto operator()(T a, T b) const -> T {
    if (a != a) return b;
    if (b != b) return a;
    return Extreme<kMax>()(a, b);
  }
};
struct Atan2 {
  auto operator()(Real auto a, Real auto b) const -> double { return std::atan2(a, b); }
};
struct Gcd {
  auto operator()(Whole auto a, Whole auto b) const -> Int { return std::gcd(a, b); }
};
struct Hypot {
  auto operator()(Real auto a, Real auto b) const -> double { return std::hypot(a, b); }
};
struct Copysign {
  auto operator()(Real auto a, Real auto b) const -> double { return std::copysign(a, b); }
};
struct Logaddexp2 {
  auto operator()(Real auto a, Real auto b) const -> double {
    if (std::isinf(a) && a == b) return a;
    return std::fmax(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b)));
  }
};
struct Heaviside {
  template <Ordered T>
  auto operator()(T a, T at_zero) const -> T {
    return a == T(0) ? at_zero : static_cast<T>(a > T(0));
  }
};
struct Lcm {
  auto operator()(Whole auto a, Whole auto b) const -> Int {
    const Int divisor = std::gcd(a, b);
    const Int product = divisor == 0 ? 0 : wrapping(a / divisor, b, std::multiplies<>());
    return product < 0 ? wrapping(Int{0}, product, std::minus<>()) : product;
  }
};
/// Shifts by more than the dtype holds, or by a negative count, shift everything out.
class Shift {
 public:
  explicit Shift(KernelCall& k) : bits_(size_bytes(k.out().dtype()) * Int{8}) {}

 protected:
  [[nodiscard]] auto fits(Int count) const -> bool { return count >= 0 && count < bits_; }

 private:
  Int bits_;
};
struct LeftShift : Shift {
  using Shift::Shift;
  auto operator()(Whole auto a, Whole auto count) const -> Int {
    return fits(count) ? static_cast<Int>(static_cast<std::uint64_t>(a) << count) : 0;
  }
};
struct RightShift : Shift {
  using Shift::Shift;
  auto operator()(Whole auto a, Whole auto count) const -> Int {
    return fits(count) ? a >> count : a < 0 ? -1 : 0;
  }
};
struct Xlog1py {
  auto operator()(Real auto a, Real auto b) const -> double {
    return std::isnan(b) ? b : a == 0 ? 0 : a * std::log1p(b);
  }
};
struct Xlogy {
  auto operator()(Real auto a, Real auto b) const -> double {
    return std::isnan(b) ? b : a == 0 ? 0 : a * std::log(b);
  }
};
struct Logaddexp {
  auto operator()(Real auto a, Real auto b) const -> double {
    if (std::isinf(a) && a == b) return a;
    return std::fmax(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
  }
  auto operator()(Cplx auto a, Cplx auto b) const -> Complex {
    if (std::isnan(std::abs(a)) || std::isnan(std::abs(b))) {
      constexpr auto kNan = std::numeric_limits<double>::quiet_NaN();
      return {kNan, kNan};
    }
    if (a.real() < b.real()) std::swap(a, b);
    return std::isinf(a.real()) && a == b ? a : a + std::log(1.0 + std::exp(b - a));
  }
};

struct Eq {
  template <class T>
  auto operator()(T a, T b) const -> bool {
    return a == b;
  }
};
struct Ne {
  template <class T>
  auto operator()(T a, T b) const -> bool {
    return a != b;
  }
};
struct Lt {
  template <Ordered T>
  auto operator()(T a, T b) const -> bool {
    return a < b;
  }
};
struct Le {
  template <Ordered T>
  auto operator()(T a, T b) const -> bool {
    return a <= b;
  }
};
struct Gt {
  template <Ordered T>
  auto operator()(T a, T b) const -> bool {
    return a > b;
  }
};
struct Ge {
  template <Ordered T>
  auto operator()(T a, T b) const -> bool {
    return a >= b;
  }
};
struct LogicalAnd {
  template <class T>
  auto operator()(T a, T b) const -> bool {
    return a != T(0) && b != T(0);
  }
};
struct LogicalOr {
  template <class T>
  auto operator()(T a, T b) const -> bool {
    return a != T(0) || b != T(0);
  }
};
struct LogicalXor {
  template <class T>
  auto operator()(T a, T b) const -> bool {
    return (a != T(0)) != (b != T(0));
  }
};
struct BitAnd {
  auto operator()(Whole auto a, Whole auto b) const -> Int { return a & b; }
};
struct BitOr {
  auto operator()(Whole auto a, Whole auto b) const -> Int { return a | b; }
};
struct BitXor {
  auto operator()(Whole auto a, Whole auto b) const -> Int { return a ^ b; }
};

struct Fma {
  template <class T>
  auto operator()(T a, T b, T c) const -> T {
    if constexpr (std::is_same_v<T, double>)
      return std::fma(a, b, c);
    else
      return Add0()(Mul()(a, b), c);
  }
  struct Add0 {
    template <class T>
    auto operator()(T a, T b) const -> T {
      return wrapping(a, b, std::plus<>());
    }
  };
};
class Valued {
 public:
  explicit Valued(KernelCall& k) : value_(k.number(k.row().schema.index_of("value"))) {}
  template <class T>
  [[nodiscard]] auto value() const -> T {
    if constexpr (std::is_same_v<T, Complex>)
      return value_;
    else
      return static_cast<T>(value_.real());
  }

 private:
  Complex value_;
};
struct Addcmul : Valued {
  using Valued::Valued;
  template <class T>
  auto operator()(T a, T b, T c) const -> T {
    return a + value<T>() * b * c;
  }
};
struct Addcdiv : Valued {
  using Valued::Valued;
  template <class T>
    requires(!std::is_same_v<T, Int>)
  auto operator()(T a, T b, T c) const -> T {
    return a + value<T>() * b / c;
  }
};
struct Lerp {
  template <class T>
    requires(!std::is_same_v<T, Int>)
  auto operator()(T start, T end, T weight) const -> T {
    if (std::abs(weight) < 0.5) return start + weight * (end - start);
    return end - (end - start) * (T(1) - weight);
  }
};

/// where.self: the condition takes part in the layout but not in the promotion.
auto where_rule(MetaCall& c) -> Datum {
  ResultType type;
  type.add(c, 1);
  type.add(c, 2);
  const auto dtype = type.get();
  if (!dtype) return c.fail("the operand dtypes do not promote"), Datum{};
  std::vector<const TensorMeta*> operands;
  Dims sizes;
  for (int i = 0; i < 3; ++i) {
    if (!c.is_tensor(i)) continue;
    operands.push_back(&c.meta(i));
    sizes = broadcast(c, sizes, c.meta(i).sizes);
  }
  if (c.error()) return {};
  auto strides = iterator_strides(c, operands, sizes);
  return c.fresh(*dtype, std::move(sizes), std::move(strides));
}

void where_kernel(KernelCall& k) {
  with_compute_type(k.out().dtype(), [&]<class T>(T) {
    const auto common = k.out().dtype();
    const std::array sources{pointwise_operand<T>(k, 0, common), pointwise_operand<T>(k, 1, common),
                             pointwise_operand<T>(k, 2, common)};
    run_pointwise<T, 3>(sources, k.out(), [](T pick, T a, T b) { return pick != T(0) ? a : b; });
  });
}

/// masked_fill writes into a row-major copy of self at the broadcast sizes (TensorAdvancedIndexing
/// .cpp), whatever self's layout is.
auto masked_fill_rule(MetaCall& c) -> Datum {
  if (c.is_tensor(2) && !c.require(c.meta(2).sizes.empty(), "value must have no dimensions"))
    return {};
  return c.fresh(c.meta(0).dtype, broadcast(c, c.meta(0).sizes, c.meta(1).sizes));
}
void masked_fill_kernel(KernelCall& k) {
  const auto dtype = k.out().dtype();
  with_compute_type(dtype, [&]<class T>(T) {
    const std::array sources{pointwise_operand<T>(k, 1, dtype), pointwise_operand<T>(k, 2, dtype),
                             pointwise_operand<T>(k, 0, dtype)};
    run_pointwise<T, 3>(sources, k.out(), [](T pick, T a, T b) { return pick != T(0) ? a : b; });
  });
}

/// rsub is sub with its operands exchanged: where their layouts disagree, other's wins.
auto rsub(Composer& c) -> Datum {
  return c.call("aten.sub.Tensor", {c.arg(1), c.arg(0), c.arg(2)});
}

/// pow(Scalar, Tensor) allocates its result in row-major order (Pow.cpp).
auto pow_scalar_rule(MetaCall& c) -> Datum {
  const auto dtype = compute_dtype(c.args(), c.row());
  if (!dtype) return c.fail("the operand dtypes do not promote"), Datum{};
  return c.fresh(*dtype, c.meta(1).sizes);
}

/// complex and polar: one complex number of two real ones.
auto complex_rule(MetaCall& c) -> Datum {
  const auto dtype = complex_of(c.meta(0).dtype);
  if (!dtype || !is_floating(c.meta(0).dtype) || c.meta(0).dtype != c.meta(1).dtype)
    return c.fail("two real tensors of one dtype are needed"), Datum{};
  auto sizes = broadcast(c, c.meta(0).sizes, c.meta(1).sizes);
  if (c.error()) return {};
  const TensorMeta* operands[] = {&c.meta(0), &c.meta(1)};
  auto strides = iterator_strides(c, operands, sizes);
  return c.fresh(*dtype, std::move(sizes), std::move(strides));
}
template <bool kPolar>
void complex_kernel(KernelCall& k) {
  const auto dtype = k.out().dtype();
  const std::array sources{pointwise_operand<Complex>(k, 0, dtype),
                           pointwise_operand<Complex>(k, 1, dtype)};
  run_pointwise<Complex, 2>(sources, k.out(), [](const Complex& a, const Complex& b) {
    if (!kPolar) return Complex(a.real(), b.real());
    return Complex(a.real() * std::cos(b.real()), a.real() * std::sin(b.real()));
  });
}

auto where_scalar(Composer& c) -> Datum {
  return c.call("aten.where.self", {c.arg(0), c.arg(1), c.arg(2)});
}

/// div with a rounding mode is one of three divisions.
auto div_mode(Composer& c) -> Datum {
  const auto mode = c.text(2);
  if (mode.empty()) return c.call("aten.div.Tensor", {c.arg(0), c.arg(1)});
  if (mode == "floor") return c.call("aten.floor_divide.default", {c.arg(0), c.arg(1)});
  if (mode == "trunc") return c.call("assay.div_trunc", {c.arg(0), c.arg(1)});
  return c.fail("rounding_mode must be None, 'floor' or 'trunc'"), Datum{};
}

// clang-format off
/// Comparisons and logic.
void add_comparison_rows(OpTable& t) {
  using enum Promotion;
  t.add(pointwise<Eq, 2>("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<Eq, 2>("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", boolean));
  t.add(pointwise<Ne, 2>("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<Ne, 2>("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", boolean));
  t.add(pointwise<Lt, 2>("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<Lt, 2>("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", boolean));
  t.add(pointwise<Le, 2>("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<Le, 2>("aten::le.Scalar(Tensor self, Scalar other) -> Tensor", boolean));
  t.add(pointwise<Gt, 2>("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<Gt, 2>("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", boolean));
  t.add(pointwise<Ge, 2>("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<Ge, 2>("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", boolean));
  t.add(pointwise<LogicalAnd, 2>("aten::logical_and(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<LogicalOr, 2>("aten::logical_or(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<LogicalXor, 2>("aten::logical_xor(Tensor self, Tensor other) -> Tensor", boolean));
  t.add(pointwise<BitAnd, 2>("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<BitAnd, 2>("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<BitAnd, 2>("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<BitOr, 2>("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<BitOr, 2>("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<BitOr, 2>("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<BitXor, 2>("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<BitXor, 2>("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor"));
}
// clang-format on

}  // namespace

// clang-format off
void add_pointwise_rows(OpTable& t) {
  using enum Promotion;
  t.add(pointwise<Add, 2>("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"));
  t.add(pointwise<Sub, 2>("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"));
  t.add({.schema_text = "aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", .decomposition = rsub});
  t.add(pointwise<Add, 2>("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"));
  t.add(pointwise<Mul, 2>("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<Mul, 2>("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<Div, 2>("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<Div, 2>("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", int_to_float));
  t.add(pointwise<Div, 2>("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<PrimsDiv, 2>("prims::div(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<FloorDiv, 2>("aten::floor_divide(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<TruncDiv, 2>("assay::div_trunc(Tensor self, Tensor other) -> Tensor"));
  t.add({.schema_text = "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", .decomposition = div_mode});
  t.add({.schema_text = "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", .decomposition = div_mode});
  t.add(pointwise<Remainder, 2>("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<Remainder, 2>("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<Remainder, 2>("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"));
  t.add(pointwise<Fmod, 2>("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<Fmod, 2>("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<Pow, 2>("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"));
  t.add(pointwise_with_parameter<PowOfNumber, 2>("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"));
  t.add({.schema_text = "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", .rule = pow_scalar_rule, .kernel = pointwise_kernel<Pow, 2>, .promotion = standard});
  t.add(pointwise<Extreme<true>, 2>("aten::maximum(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<Extreme<false>, 2>("aten::minimum(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<Extreme<true>, 2>("aten::max.other(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<Extreme<false>, 2>("aten::min.other(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<NumberExtreme<true>, 2>("aten::fmax(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<NumberExtreme<false>, 2>("aten::fmin(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise_with_parameter<Extreme<true>, 2>("aten::clamp_min(Tensor self, Scalar min) -> Tensor"));
  t.add(pointwise_with_parameter<Extreme<false>, 2>("aten::clamp_max(Tensor self, Scalar max) -> Tensor"));
  t.add(pointwise<Extreme<true>, 2>("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor"));
  t.add(pointwise<Extreme<false>, 2>("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor"));
  t.add(pointwise<Atan2, 2>("aten::atan2(Tensor self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<Gcd, 2>("aten::gcd(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<Hypot, 2>("aten::hypot(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<Copysign, 2>("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<Copysign, 2>("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", int_to_float));
  t.add(pointwise<Xlogy, 2>("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<Logaddexp, 2>("aten::logaddexp(Tensor self, Tensor other) -> Tensor", int_to_float));

  t.add(pointwise<Logaddexp2, 2>("aten::logaddexp2(Tensor self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<BitAnd, 2>("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"));
  t.add(pointwise<BitOr, 2>("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"));
  t.add(pointwise<BitXor, 2>("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"));
  t.add(pointwise<LeftShift, 2>("aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"));
  t.add(pointwise<RightShift, 2>("aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"));
  t.add(pointwise<Xlogy, 2>("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", int_to_float));
  t.add(pointwise<Xlogy, 2>("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<Xlog1py, 2>("aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", int_to_float));
  t.add(pointwise<Xlog1py, 2>("aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<Xlog1py, 2>("aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", int_to_float));
  t.add(pointwise<Heaviside, 2>("aten::heaviside(Tensor self, Tensor values) -> Tensor"));
  t.add(pointwise<Lcm, 2>("aten::lcm(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<LeftShift, 2>("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<LeftShift, 2>("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<LeftShift, 2>("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<LeftShift, 2>("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<RightShift, 2>("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<RightShift, 2>("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<RightShift, 2>("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor"));
  t.add(pointwise<RightShift, 2>("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<FloorDiv, 2>("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor"));
  t.add(pointwise<Sub, 2>("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"));
  t.add({.schema_text = "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", .decomposition = rsub});
  t.add({.schema_text = "aten::complex(Tensor real, Tensor imag) -> Tensor", .rule = complex_rule, .kernel = complex_kernel<false>});
  t.add({.schema_text = "aten::polar(Tensor abs, Tensor angle) -> Tensor", .rule = complex_rule, .kernel = complex_kernel<true>});

  add_comparison_rows(t);

  t.add(pointwise<Fma, 3>("prims::fma(Tensor self, Tensor other, Tensor addend) -> Tensor"));
  t.add(pointwise<Addcmul, 3>("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"));
  t.add(pointwise<Addcdiv, 3>("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"));
  t.add(pointwise<Lerp, 3>("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"));
  t.add(pointwise<Lerp, 3>("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor"));

  t.add({.schema_text = "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", .rule = where_rule, .kernel = where_kernel});
  t.add({.schema_text = "aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", .decomposition = where_scalar});
  t.add({.schema_text = "aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", .decomposition = where_scalar});
  t.add({.schema_text = "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", .rule = masked_fill_rule, .kernel = masked_fill_kernel});
  t.add({.schema_text = "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", .rule = masked_fill_rule, .kernel = masked_fill_kernel});
}
// clang-format on

}  // namespace assay
