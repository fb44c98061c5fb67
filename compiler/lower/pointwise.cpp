// Pointwise operators as formulas over elements.
#include <array>
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
  DType dtype;  ///< computed in

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

struct FormulaRow {
  std::string_view overload;
  Evaluate evaluate;
  int cost = 1;
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
auto gelu(const Formula& f) -> Element {
  const auto& x = f[0];
  if (f.text(1) == "tanh") {
    const double beta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi * 2 * 0.5;
    const auto inner = (x + x * x * x * 0.044715) * beta;
    return x * 0.5 * (inner.apply(TileOp::tanh) + 1);
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
auto sign(const Formula& f) -> Element {
  const auto zero = f[0].like(0);
  const auto below = select(f[0] < 0, f[0].like(-1), zero);
  const auto result = select(f[0] > 0, f[0].like(1), below);
  return f.floats() ? select(f[0].apply(TileOp::is_nan), f[0], result) : result;
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
auto lerp_number(const Formula& f) -> Element {
  const auto weight = f.number(2);
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
    FormulaRow{"aten.fmax.default", two<maximum_number>},
    FormulaRow{"aten.fmin.default", two<minimum_number>},
    FormulaRow{"aten.atan2.default", two<atan2>, 8},
    FormulaRow{"aten.hypot.default", two<hypot>, 4},
    FormulaRow{"aten.copysign.Tensor", two<copysign>},
    FormulaRow{"aten.pow.Tensor_Tensor", two<power>, 10},
    FormulaRow{"aten.pow.Scalar", two<power>, 10},
    FormulaRow{"aten.pow.Tensor_Scalar", power_scalar, 3},
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
    FormulaRow{"aten.bitwise_not.default", one<bit_not>},
    FormulaRow{"aten.logical_and.default", logical<bit_and>},
    FormulaRow{"aten.logical_or.default", logical<bit_or>},
    FormulaRow{"aten.logical_xor.default", logical<bit_xor>},
    FormulaRow{"aten.logical_not.default", logical_not},
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
    FormulaRow{"aten.lgamma.default", one<lgamma>, 20},
    FormulaRow{"aten.floor.default", rounding<floor>}, FormulaRow{"aten.ceil.default", rounding<ceil>},
    FormulaRow{"aten.trunc.default", rounding<trunc>},
    FormulaRow{"aten.round.default", rounding<nearest_even>},
    FormulaRow{"aten.sign.default", sign, 3},
    FormulaRow{"aten.reciprocal.default", reciprocal, 2},
    FormulaRow{"aten.relu.default", relu},
    FormulaRow{"aten.sigmoid.default", logistic, 6},
    FormulaRow{"aten.silu.default", silu, 8},
    FormulaRow{"aten.gelu.default", gelu, 12},
    FormulaRow{"aten.leaky_relu.default", leaky_relu, 2},
    FormulaRow{"aten.clamp.default", clamp, 2},
    FormulaRow{"aten.clamp_min.default", clamp_min},
    FormulaRow{"aten.clamp_max.default", clamp_max},
    FormulaRow{"aten.tanh_backward.default", tanh_backward, 3},
    FormulaRow{"aten.sigmoid_backward.default", sigmoid_backward, 3},
    FormulaRow{"aten.threshold_backward.default", threshold_backward, 2},
    FormulaRow{"aten.lerp.Scalar", lerp_number, 6},
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

auto lower_pointwise(const LoweringCall& call, TensorDef& def) -> bool {
  const auto* row = find_formula(call.row.schema.overload);
  auto dtype = computed_in(call);
  if (row == nullptr || !dtype) return false;
  if (call.row.promotion == Promotion::none && call.tensors[0]) dtype = opmath(call.meta(0).dtype);
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
    Formula formula{loop, inner, {}, dtype};
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
