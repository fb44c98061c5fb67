// Pointwise operators as formulas over elements.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/lower/lowering.h"
#include "core/ops/layout.h"

namespace assay {
namespace {

/// Operands of a formula, in the dtype that it computes in.
struct Formula {
  LoopBuilder& loop;
  const LoweringCall& call;
  std::vector<Element> operands;
  DType dtype;   ///< computed in
  DType result;  ///< rounded to

  [[nodiscard]] auto operator[](std::size_t i) const -> const Element& { return operands[i]; }
  [[nodiscard]] auto number(std::size_t i) const -> Element {
    return Element{&loop, loop.number(call.expr(i))}.to(dtype);
  }
  [[nodiscard]] auto text(std::size_t i) const -> std::string {
    const auto* text = std::get_if<std::string>(&call.args[i].value);
    return text != nullptr ? *text : std::string();
  }
  [[nodiscard]] auto floats() const -> bool { return is_floating(dtype); }
};
using Evaluate = Element (*)(const Formula&);

/// Dtypes that a formula is one for, beside those that PyTorch refuses anyway.
enum class Takes { any, floats, wide_floats, integers };

struct FormulaRow {
  std::string_view overload;
  Evaluate evaluate;
  int cost = 1;
  Takes takes = Takes::any;
};

template <TileOp kOp>
auto one(const Formula& f) -> Element {
  return f[0].apply(kOp);
}
template <TileOp kOp>
auto two(const Formula& f) -> Element {
  return apply(kOp, f[0], f[1]);
}
/// Rounding leaves integers as they are.
template <TileOp kOp>
auto rounding(const Formula& f) -> Element {
  return f.floats() ? f[0].apply(kOp) : f[0];
}
auto copy(const Formula& f) -> Element {
  return f[0];
}
/// alpha, where there is one, and no multiplication by 1.
template <TileOp kOp>
auto scaled(const Formula& f) -> Element {
  const auto alpha = f.call.expr(2);
  const bool is_one = alpha.as_number() == 1.0;
  return apply(kOp, f[0], is_one ? f[1] : f[1] * f.number(2));
}
template <TileOp kOp>
auto reversed_scaled(const Formula& f) -> Element {
  const bool is_one = f.call.expr(2).as_number() == 1.0;
  return apply(kOp, f[1], is_one ? f[0] : f[0] * f.number(2));
}
auto multiply(const Formula& f) -> Element {
  return f.dtype == DType::boolean ? apply(TileOp::bit_and, f[0], f[1]) : f[0] * f[1];
}
auto add_any(const Formula& f) -> Element {
  return f.dtype == DType::boolean ? apply(TileOp::bit_or, f[0], f[1]) : scaled<TileOp::add>(f);
}
auto logic(const Element& a) -> Element {
  return a.dtype() == DType::boolean ? a : a != 0;
}
template <TileOp kOp>
auto logical(const Formula& f) -> Element {
  return apply(kOp, logic(f[0]), logic(f[1]));
}
auto logical_not(const Formula& f) -> Element {
  return logic(f[0]).apply(TileOp::bit_not);
}
auto relu(const Formula& f) -> Element {
  return apply(TileOp::maximum, f[0], f[0].like(0));
}
auto logistic(const Formula& f) -> Element {
  return f[0].apply(TileOp::sigmoid);
}
auto silu(const Formula& f) -> Element {
  return f[0] * f[0].apply(TileOp::sigmoid);
}
auto reciprocal(const Formula& f) -> Element {
  return 1.0 / f[0];
}
auto square(const Element& x) -> Element {
  return x * x;
}
/// By tanh: 0.5 (1 + tanh u) is the sigmoid of 2u, which loses nothing where it is small.
auto gelu(const Formula& f) -> Element {
  const auto& x = f[0];
  if (f.text(1) == "tanh") {
    const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi * 2;
    return x * ((x + x * x * x * 0.044715) * beta).apply(TileOp::sigmoid);
  }
  return x * 0.5 * ((x * (1 / std::numbers::sqrt2)).apply(TileOp::erf) + 1);
}
auto raised(const Element& base, const Element& exponent) -> Element {
  return apply(TileOp::power, base, exponent);
}
/// Small whole exponents are products, as PyTorch computes them.
auto power_scalar(const Formula& f) -> Element {
  const auto exponent = f.call.expr(1).as_number();
  const auto& x = f[0];
  if (exponent == 2.0) return square(x);
  if (exponent == 1.0) return x;
  if (exponent == 3.0) return square(x) * x;
  if (exponent == 0.5) return x.apply(TileOp::sqrt);
  if (exponent == -0.5) return x.apply(TileOp::rsqrt);
  if (exponent == -1.0) return 1.0 / x;
  if (exponent == -2.0) return 1.0 / square(x);
  return raised(x, f[1]);
}
auto clamp(const Formula& f) -> Element {
  auto x = f[0];
  if (f.call.has(1)) x = apply(TileOp::maximum, x, f.number(1));
  if (f.call.has(2)) x = apply(TileOp::minimum, x, f.number(2));
  return x;
}
auto clamp_min(const Formula& f) -> Element {
  return apply(TileOp::maximum, f[0], f.operands.size() > 1 ? f[1] : f.number(1));
}
auto clamp_max(const Formula& f) -> Element {
  return apply(TileOp::minimum, f[0], f.operands.size() > 1 ? f[1] : f.number(1));
}
/// Of NaN it is 0.
auto sign(const Formula& f) -> Element {
  const auto below = select(f[0] < 0, f[0].like(-1), f[0].like(0));
  return select(f[0] > 0, f[0].like(1), below);
}
auto truncating_quotient(const Formula& f) -> Element {
  return apply(f.floats() ? TileOp::divide : TileOp::quotient, f[0], f[1]);
}
/// `div` with rounding_mode 'trunc'.
auto truncated_quotient(const Formula& f) -> Element {
  const auto quotient = truncating_quotient(f);
  return f.floats() ? quotient.apply(TileOp::trunc) : quotient;
}
auto tanh_backward(const Formula& f) -> Element {
  return f[0] * (1.0 - square(f[1]));
}
auto sigmoid_backward(const Formula& f) -> Element {
  return f[0] * (1.0 - f[1]) * f[1];
}
auto threshold_backward(const Formula& f) -> Element {
  return select(apply(TileOp::le, f[1], f.number(2)), f[0].like(0), f[0]);
}
auto leaky_relu(const Formula& f) -> Element {
  return select(f[0] > 0, f[0], f[0] * f.number(1));
}
auto lerp(const Formula& f) -> Element {
  const auto& weight = f[2];
  const auto low = f[0] + weight * (f[1] - f[0]);
  const auto high = f[1] - (f[1] - f[0]) * (1.0 - weight);
  const auto size = weight.apply(TileOp::absolute);
  return select(size < 0.5, low, high);
}
auto fused_multiply_add(const Formula& f) -> Element {
  return {&f.loop, f.loop.compute(TileOp::fma, {f[0].id, f[1].id, f[2].id})};
}
auto addcmul(const Formula& f) -> Element {
  return f[0] + f.number(3) * f[1] * f[2];
}
auto addcdiv(const Formula& f) -> Element {
  return f[0] + f.number(3) * (f[1] / f[2]);
}
auto both(const Element& a, const Element& b) -> Element {
  return apply(TileOp::bit_and, a, b);
}
/// What is true of floats only.
template <TileOp kOp>
auto of_floats(const Formula& f) -> Element {
  return f.floats() ? f[0].apply(kOp) : Element{&f.loop, f.loop.constant(DType::boolean, 0.0)};
}
template <bool kAbove>
auto is_infinite_to(const Formula& f) -> Element {
  return both(of_floats<TileOp::is_infinite>(f), kAbove ? f[0] > 0 : f[0] < 0);
}
auto has_sign(const Formula& f) -> Element {
  return f.floats() ? f[0].apply(TileOp::sign_bit) : f[0] < 0;
}
auto largest_finite(DType dtype) -> double {
  if (dtype == DType::float16) return 65504;
  if (dtype == DType::bfloat16) return 0x1.FEp127;
  return dtype == DType::float64 ? std::numeric_limits<double>::max()
                                 : std::numeric_limits<float>::max();
}
/// What stands for NaN and the infinities: 0 and the ends of the result's dtype unless given.
auto nan_to_num(const Formula& f) -> Element {
  const auto& x = f[0];
  if (!f.floats()) return x;
  const auto end = largest_finite(f.result);
  const auto above = f.call.has(2) ? f.number(2) : x.like(end);
  const auto below = f.call.has(3) ? f.number(3) : x.like(-end);
  const auto finite = select(x.apply(TileOp::is_infinite), select(x > 0, above, below), x);
  return select(x.apply(TileOp::is_nan), f.call.has(1) ? f.number(1) : x.like(0), finite);
}
/// Scaled in the dtype, rounded, scaled back.
auto round_decimals(const Formula& f) -> Element {
  const auto decimals = f.call.expr(1).as_number().value_or(0);
  const auto scale = f[0].like(round_to(f.result, std::pow(10.0, std::fabs(decimals))));
  const auto scaled = decimals >= 0 ? f[0] * scale : f[0] / scale;
  const auto rounded = scaled.to(f.result).to(f.dtype).apply(TileOp::nearest_even);
  return decimals >= 0 ? rounded / scale : rounded * scale;
}
auto fraction(const Formula& f) -> Element {
  return f[0] - f[0].apply(TileOp::trunc);
}
auto radians(const Formula& f) -> Element {
  return f[0] * (std::numbers::pi / 180);
}
auto degrees(const Formula& f) -> Element {
  return f[0] * (180 / std::numbers::pi);
}
/// a log(b), which is 0 where a is.
template <TileOp kLog>
auto times_log(const Formula& f) -> Element {
  const auto product = select(f[0] == 0, f[0].like(0), f[0] * f[1].apply(kLog));
  return select(f[1].apply(TileOp::is_nan), f[1], product);
}
/// log(exp(a) + exp(b)), which is a common infinity; `log_base` is that of other exponentials.
auto log_of_sum(const Formula& f, TileOp exponential, double log_base) -> Element {
  const auto same = apply(TileOp::eq, f[0], f[1]);
  const auto distance = (f[0] - f[1]).apply(TileOp::absolute);
  const auto rest = (-distance).apply(exponential).apply(TileOp::log1p) * (1 / log_base);
  const auto sum = apply(TileOp::maximum_number, f[0], f[1]) + rest;
  return select(both(f[0].apply(TileOp::is_infinite), same), f[0], sum);
}
auto logaddexp(const Formula& f) -> Element {
  return log_of_sum(f, TileOp::exp, 1);
}
auto logaddexp2(const Formula& f) -> Element {
  return log_of_sum(f, TileOp::exp2, std::numbers::ln2);
}
auto heaviside(const Formula& f) -> Element {
  return select(f[0] == 0, f[1], (f[0] > 0).to(f.dtype));
}
auto sinc(const Formula& f) -> Element {
  const auto angle = f[0] * std::numbers::pi;
  return select(f[0] == 0, f[0].like(1), angle.apply(TileOp::sin) / angle);
}
/// -x log(x), whose limit at 0 is 0.
auto entropy(const Formula& f) -> Element {
  const auto& x = f[0];
  const auto below = select(x < 0, x.like(-std::numeric_limits<double>::infinity()), x);
  return select(x == 0, x.like(0), select(x > 0, -x * x.apply(TileOp::log), below));
}
auto normal_distribution(const Formula& f) -> Element {
  return (f[0] * (-1 / std::numbers::sqrt2)).apply(TileOp::erfc) * 0.5;
}
/// Counts beyond the dtype's bits shift everything out.
template <TileOp kShift>
auto shift(const Formula& f) -> Element {
  const auto& count = f[1];
  const auto bits = static_cast<double>(size_bytes(f.dtype) * 8);
  const auto fits = both(apply(TileOp::ge, count, count.like(0)), count < bits);
  const auto shifted = apply(kShift, f[0], select(fits, count, count.like(0)));
  const auto zero = f[0].like(0);
  if (kShift == TileOp::shift_left || info(f.dtype).kind == DTypeKind::unsigned_integer)
    return select(fits, shifted, zero);
  return select(fits, shifted, select(f[0] < 0, f[0].like(-1), zero));
}

using enum TileOp;
// clang-format off
constexpr std::array kFormulas = {
    FormulaRow{"aten.add.Tensor", add_any},
    FormulaRow{"aten.add.Scalar", add_any},
    FormulaRow{"aten.sub.Tensor", scaled<sub>},
    FormulaRow{"aten.sub.Scalar", scaled<sub>},
    FormulaRow{"aten.rsub.Tensor", reversed_scaled<sub>},
    FormulaRow{"aten.rsub.Scalar", reversed_scaled<sub>},
    FormulaRow{"aten.mul.Tensor", multiply},
    FormulaRow{"aten.mul.Scalar", multiply},
    FormulaRow{"aten.div.Tensor", two<divide>},
    FormulaRow{"aten.div.Scalar", two<divide>},
    FormulaRow{"aten.true_divide.Tensor", two<divide>},
    FormulaRow{"aten.remainder.Tensor", two<floor_remainder>},
    FormulaRow{"aten.remainder.Scalar", two<floor_remainder>},
    FormulaRow{"aten.fmod.Tensor", two<remainder>},
    FormulaRow{"aten.fmod.Scalar", two<remainder>},
    FormulaRow{"aten.maximum.default", two<maximum>},
    FormulaRow{"aten.minimum.default", two<minimum>},
    FormulaRow{"aten.max.other", two<maximum>},
    FormulaRow{"aten.min.other", two<minimum>},
    FormulaRow{"aten.floor_divide.default", two<floor_quotient>},
    FormulaRow{"aten.floor_divide.Scalar", two<floor_quotient>},
    FormulaRow{"aten.remainder.Scalar_Tensor", two<floor_remainder>},
    FormulaRow{"aten.__and__.Tensor", two<bit_and>},
    FormulaRow{"aten.__or__.Tensor", two<bit_or>},
    FormulaRow{"aten.fmax.default", two<maximum_number>},
    FormulaRow{"aten.fmin.default", two<minimum_number>},
    FormulaRow{"aten.atan2.default", two<atan2>, 8},
    FormulaRow{"aten.hypot.default", two<hypot>, 4},
    FormulaRow{"aten.copysign.Tensor", two<copysign>},
    FormulaRow{"aten.copysign.Scalar", two<copysign>},
    FormulaRow{"aten.nextafter.default", two<nextafter>, 4, Takes::wide_floats},
    FormulaRow{"aten.pow.Tensor_Tensor", two<power>, 10},
    FormulaRow{"aten.pow.Scalar", two<power>, 10},
    FormulaRow{"aten.pow.Tensor_Scalar", power_scalar, 3},
    FormulaRow{"aten.xlogy.Tensor", times_log<log>, 8},
    FormulaRow{"aten.xlogy.Scalar_Other", times_log<log>, 8},
    FormulaRow{"aten.xlogy.Scalar_Self", times_log<log>, 8},
    FormulaRow{"aten.special_xlog1py.default", times_log<log1p>, 10},
    FormulaRow{"aten.special_xlog1py.other_scalar", times_log<log1p>, 10},
    FormulaRow{"aten.special_xlog1py.self_scalar", times_log<log1p>, 10},
    FormulaRow{"aten.logaddexp.default", logaddexp, 14},
    FormulaRow{"aten.logaddexp2.default", logaddexp2, 14},
    FormulaRow{"aten.heaviside.default", heaviside, 3},
    FormulaRow{"aten.eq.Tensor", two<eq>}, FormulaRow{"aten.eq.Scalar", two<eq>},
    FormulaRow{"aten.ne.Tensor", two<ne>}, FormulaRow{"aten.ne.Scalar", two<ne>},
    FormulaRow{"aten.lt.Tensor", two<lt>}, FormulaRow{"aten.lt.Scalar", two<lt>},
    FormulaRow{"aten.le.Tensor", two<le>}, FormulaRow{"aten.le.Scalar", two<le>},
    FormulaRow{"aten.gt.Tensor", two<gt>}, FormulaRow{"aten.gt.Scalar", two<gt>},
    FormulaRow{"aten.ge.Tensor", two<ge>}, FormulaRow{"aten.ge.Scalar", two<ge>},
    FormulaRow{"aten.bitwise_and.Tensor", two<bit_and>},
    FormulaRow{"aten.bitwise_and.Scalar", two<bit_and>},
    FormulaRow{"aten.bitwise_or.Tensor", two<bit_or>},
    FormulaRow{"aten.bitwise_or.Scalar", two<bit_or>},
    FormulaRow{"aten.bitwise_xor.Tensor", two<bit_xor>},
    FormulaRow{"aten.bitwise_xor.Scalar", two<bit_xor>},
    FormulaRow{"aten.bitwise_and.Scalar_Tensor", two<bit_and>},
    FormulaRow{"aten.bitwise_or.Scalar_Tensor", two<bit_or>},
    FormulaRow{"aten.bitwise_xor.Scalar_Tensor", two<bit_xor>},
    FormulaRow{"aten.bitwise_left_shift.Tensor", shift<shift_left>, 3, Takes::integers},
    FormulaRow{"aten.bitwise_left_shift.Tensor_Scalar", shift<shift_left>, 3, Takes::integers},
    FormulaRow{"aten.bitwise_left_shift.Scalar_Tensor", shift<shift_left>, 3, Takes::integers},
    FormulaRow{"aten.__lshift__.Tensor", shift<shift_left>, 3, Takes::integers},
    FormulaRow{"aten.__lshift__.Scalar", shift<shift_left>, 3, Takes::integers},
    FormulaRow{"aten.bitwise_right_shift.Tensor", shift<shift_right>, 3, Takes::integers},
    FormulaRow{"aten.bitwise_right_shift.Tensor_Scalar", shift<shift_right>, 3, Takes::integers},
    FormulaRow{"aten.bitwise_right_shift.Scalar_Tensor", shift<shift_right>, 3, Takes::integers},
    FormulaRow{"aten.__rshift__.Tensor", shift<shift_right>, 3, Takes::integers},
    FormulaRow{"aten.__rshift__.Scalar", shift<shift_right>, 3, Takes::integers},
    FormulaRow{"aten.bitwise_not.default", one<bit_not>},
    FormulaRow{"aten.logical_and.default", logical<bit_and>},
    FormulaRow{"aten.logical_or.default", logical<bit_or>},
    FormulaRow{"aten.logical_xor.default", logical<bit_xor>},
    FormulaRow{"aten.logical_not.default", logical_not},
    FormulaRow{"aten.isnan.default", of_floats<is_nan>},
    FormulaRow{"aten.isinf.default", of_floats<is_infinite>},
    FormulaRow{"aten.isposinf.default", is_infinite_to<true>, 2},
    FormulaRow{"aten.isneginf.default", is_infinite_to<false>, 2},
    FormulaRow{"aten.signbit.default", has_sign},
    FormulaRow{"aten.nan_to_num.default", nan_to_num, 4},
    FormulaRow{"aten.neg.default", one<negate>},
    FormulaRow{"aten.abs.default", one<absolute>},
    FormulaRow{"aten.exp.default", one<exp>, 6},
    FormulaRow{"aten.exp2.default", one<exp2>, 6},
    FormulaRow{"aten.expm1.default", one<expm1>, 8},
    FormulaRow{"aten.log.default", one<log>, 6},
    FormulaRow{"aten.log2.default", one<log2>, 6},
    FormulaRow{"aten.log10.default", one<log10>, 6},
    FormulaRow{"aten.log1p.default", one<log1p>, 8},
    FormulaRow{"aten.sqrt.default", one<sqrt>, 2},
    FormulaRow{"aten.rsqrt.default", one<rsqrt>, 3},
    FormulaRow{"aten.sin.default", one<sin>, 8}, FormulaRow{"aten.cos.default", one<cos>, 8},
    FormulaRow{"aten.tan.default", one<tan>, 10}, FormulaRow{"aten.asin.default", one<asin>, 10},
    FormulaRow{"aten.acos.default", one<acos>, 10}, FormulaRow{"aten.atan.default", one<atan>, 10},
    FormulaRow{"aten.sinh.default", one<sinh>, 10}, FormulaRow{"aten.cosh.default", one<cosh>, 10},
    FormulaRow{"aten.tanh.default", one<tanh>, 8}, FormulaRow{"aten.asinh.default", one<asinh>, 10},
    FormulaRow{"aten.acosh.default", one<acosh>, 10}, FormulaRow{"aten.atanh.default", one<atanh>, 10},
    FormulaRow{"aten.erf.default", one<erf>, 8}, FormulaRow{"aten.erfc.default", one<erfc>, 10},
    FormulaRow{"aten.erfinv.default", one<erfinv>, 20},
    FormulaRow{"aten.special_ndtr.default", normal_distribution, 10},
    FormulaRow{"aten.special_entr.default", entropy, 8},
    FormulaRow{"aten.sinc.default", sinc, 10},
    FormulaRow{"aten.deg2rad.default", radians},
    FormulaRow{"aten.rad2deg.default", degrees},
    FormulaRow{"aten.lgamma.default", one<lgamma>, 20},
    FormulaRow{"aten.floor.default", rounding<floor>}, FormulaRow{"aten.ceil.default", rounding<ceil>},
    FormulaRow{"aten.trunc.default", rounding<trunc>},
    FormulaRow{"aten.round.default", rounding<nearest_even>},
    FormulaRow{"aten.round.decimals", round_decimals, 4, Takes::floats},
    FormulaRow{"aten.frac.default", fraction, 2, Takes::floats},
    FormulaRow{"aten.sign.default", sign, 3},
    FormulaRow{"aten.sgn.default", sign, 3},
    FormulaRow{"aten.reciprocal.default", reciprocal, 2},
    FormulaRow{"aten.relu.default", relu},
    FormulaRow{"aten.sigmoid.default", logistic, 6},
    FormulaRow{"aten.silu.default", silu, 8},
    FormulaRow{"aten.gelu.default", gelu, 12},
    FormulaRow{"aten.leaky_relu.default", leaky_relu, 2},
    FormulaRow{"aten.clamp.default", clamp, 2},
    FormulaRow{"aten.clamp_min.default", clamp_min},
    FormulaRow{"aten.clamp_max.default", clamp_max},
    FormulaRow{"aten.clamp_min.Tensor", two<maximum>},
    FormulaRow{"aten.clamp_max.Tensor", two<minimum>},
    FormulaRow{"aten.tanh_backward.default", tanh_backward, 3},
    FormulaRow{"aten.sigmoid_backward.default", sigmoid_backward, 3},
    FormulaRow{"aten.threshold_backward.default", threshold_backward, 2},
    FormulaRow{"aten.lerp.Scalar", lerp, 6, Takes::floats},
    FormulaRow{"aten.lerp.Tensor", lerp, 6, Takes::floats},
    FormulaRow{"aten.addcmul.default", addcmul, 3},
    FormulaRow{"aten.addcdiv.default", addcdiv, 4},
    FormulaRow{"aten.clone.default", copy},
    FormulaRow{"aten.lift_fresh_copy.default", copy},
    FormulaRow{"aten._to_copy.default", copy},
    FormulaRow{"prims.convert_element_type.default", copy},
    FormulaRow{"prims.fma.default", fused_multiply_add},
    FormulaRow{"prims.div.default", truncating_quotient},
    FormulaRow{"assay.div_trunc", truncated_quotient, 2},
};
// clang-format on

auto find_formula(std::string_view overload) -> const FormulaRow* {
  for (const auto& row : kFormulas)
    if (row.overload == overload) return &row;
  return nullptr;
}

/// Dtype a formula computes in: what the operands promote to, floats at least as wide as float32.
auto computed_in(const LoweringCall& call) -> std::optional<DType> {
  const auto common = compute_dtype(call.args, call.row);
  if (!common) return std::nullopt;
  return opmath(*common);
}

auto is_taken(Takes takes, DType dtype, DType result) -> bool {
  switch (takes) {
    case Takes::any:
      return true;
    case Takes::floats:
      return is_floating(dtype);
    case Takes::wide_floats:
      return is_floating(dtype) && opmath(result) == result;
    case Takes::integers:
      return is_integer(dtype);
  }
  return false;
}

auto lower_pointwise(const LoweringCall& call, TensorDef& def) -> bool {
  const auto* row = find_formula(call.row.schema.overload);
  auto dtype = computed_in(call);
  if (row == nullptr || !dtype) return false;
  if (call.row.promotion == Promotion::none && call.tensors[0]) dtype = opmath(call.meta(0).dtype);
  if (!is_taken(row->takes, *dtype, def.meta.dtype)) return false;
  struct Operand {
    std::optional<DefId> tensor;
    std::size_t position;
  };
  std::vector<Operand> operands;
  for (const auto i : pointwise_operands(call.row.schema)) {
    const auto at = static_cast<std::size_t>(i);
    if (!call.has(at)) continue;
    if (!call.tensors[at] && call.args[at].scalar() == nullptr) return false;
    // Parameters of a formula are asked for by name.
    if (!call.tensors[at] && call.row.numbers_are_parameters &&
        !(row->evaluate == power_scalar && at == 1))
      continue;
    operands.push_back({call.tensors[at], at});
    if (call.tensors[at]) def.reads.push_back(*call.tensors[at]);
  }
  // A cast of rows whose operands are not listed as such.
  if (operands.empty() && call.tensors[0]) {
    operands.push_back({call.tensors[0], 0});
    def.reads.push_back(*call.tensors[0]);
  }
  if (operands.empty()) return false;
  def.cost = row->cost;
  const auto sizes = def.meta.sizes;
  const auto result = def.meta.dtype;
  const bool casts = row->evaluate == copy;
  def.element = [row, operands, sizes, result, casts, dtype = *dtype, op_row = &call.row,
                 args = call.args](LoopBuilder& loop, const Index& at) {
    static const std::vector<std::optional<DefId>> kNone;
    static const std::vector<std::vector<DefId>> kNoLists;
    static const TensorMeta kNoMeta;
    const LoweringCall inner{*op_row, args, loop.graph(), kNone, kNoLists, kNoMeta};
    Formula formula{loop, inner, {}, dtype, result};
    for (const auto& operand : operands) {
      Element element{&loop, kNoTile};
      if (operand.tensor) {
        const auto& from = loop.meta(*operand.tensor).sizes;
        element.id = loop.value(*operand.tensor, broadcast_position(at, sizes, from));
      } else {
        element.id = loop.number(inner.expr(operand.position));
      }
      formula.operands.push_back(casts ? element : element.to(dtype));
    }
    return row->evaluate(formula).to(result).id;
  };
  return true;
}

/// where(condition, a, b): the branches promote, the condition does not take part.
auto lower_where(const LoweringCall& call, TensorDef& def) -> bool {
  if (!call.tensors[0] || call.meta(0).dtype != DType::boolean) return false;
  for (std::size_t i = 1; i < 3; ++i)
    if (!call.tensors[i] && call.args[i].scalar() == nullptr) return false;
  for (const auto& tensor : call.tensors)
    if (tensor) def.reads.push_back(*tensor);
  def.cost = 1;
  const auto sizes = def.meta.sizes;
  def.element = [tensors = call.tensors, args = call.args, sizes, dtype = def.meta.dtype](
                    LoopBuilder& loop, const Index& at) {
    const auto operand = [&](std::size_t i) {
      if (!tensors[i]) return loop.cast(loop.number(*args[i].scalar()), dtype);
      const auto& from = loop.meta(*tensors[i]).sizes;
      const auto value = loop.value(*tensors[i], broadcast_position(at, sizes, from));
      return i == 0 ? value : loop.cast(value, dtype);
    };
    const auto condition = operand(0);
    const auto a = operand(1);
    return loop.compute(TileOp::select, {condition, a, operand(2)});
  };
  return true;
}

}  // namespace

auto pointwise_lowerings() -> std::span<const LoweringRow> {
  static const auto kRows = [] {
    std::vector<LoweringRow> rows;
    for (const auto& row : kFormulas) rows.push_back({row.overload, lower_pointwise});
    for (const std::string_view name : {"aten.where.self", "aten.where.ScalarSelf",
                                        "aten.where.ScalarOther", "aten.where.Scalar"})
      rows.push_back({name, lower_where});
    return rows;
  }();
  return kRows;
}

}  // namespace assay
