// Operators on symbolic scalars: sizes and the arithmetic between them.
#include "core/ops/op_table.h"

namespace assay {
namespace {

template <auto kFunction>
auto unary(MetaCall& c) -> Datum {
  return {kFunction(c.expr(0))};
}
template <auto kFunction>
auto binary(MetaCall& c) -> Datum {
  return {kFunction(c.expr(0), c.expr(1))};
}
template <ExprOp kOp>
auto by_op(MetaCall& c) -> Datum {
  Dims operands;
  for (const auto& arg : c.args())
    if (arg.scalar()) operands.push_back(*arg.scalar());
  return {make(kOp, operands)};
}
/// `/` on two integers is IntTrueDiv, on anything else FloatTrueDiv.
auto true_divide(MetaCall& c) -> Datum {
  const bool integers =
      c.expr(0).type() == ExprType::integer && c.expr(1).type() == ExprType::integer;
  const Expr operands[] = {c.expr(0), c.expr(1)};
  return {make(integers ? ExprOp::int_true_div : ExprOp::float_true_div, operands)};
}
auto power(MetaCall& c) -> Datum {
  const bool integers =
      c.expr(0).type() == ExprType::integer && c.expr(1).type() == ExprType::integer;
  const Expr operands[] = {c.expr(0), c.expr(1)};
  return {make(integers ? ExprOp::pow_by_natural : ExprOp::float_pow, operands)};
}

auto square_root(MetaCall& c) -> Datum {
  const Expr operands[] = {c.expr(0), Expr::real(0.5)};
  return {make(ExprOp::float_pow, operands)};
}

auto sym_size(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto dim = c.dim_arg(1, self.rank());
  if (!c.require(self.rank() > 0, "a tensor without dimensions has no size")) return {};
  return {self.sizes[static_cast<std::size_t>(dim)]};
}
auto sym_stride(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto dim = c.dim_arg(1, self.rank());
  if (!c.require(self.rank() > 0, "a tensor without dimensions has no stride")) return {};
  return {self.strides[static_cast<std::size_t>(dim)]};
}

}  // namespace

// clang-format off
void add_scalar_rows(OpTable& t) {
  constexpr auto kSub = [](const Expr& a, const Expr& b) { return a - b; };
  constexpr auto kNeg = [](const Expr& a) { return -a; };
  constexpr auto kSame = [](const Expr& a) { return a; };
  t.add({.schema_text = "operator::add(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::add>});
  t.add({.schema_text = "operator::sub(Scalar a, Scalar b) -> Scalar", .rule = binary<kSub>});
  t.add({.schema_text = "operator::mul(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::mul>});
  t.add({.schema_text = "operator::truediv(Scalar a, Scalar b) -> Scalar", .rule = true_divide});
  t.add({.schema_text = "operator::floordiv(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::floor_div>});
  t.add({.schema_text = "operator::mod(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::mod>});
  t.add({.schema_text = "operator::pow(Scalar a, Scalar b) -> Scalar", .rule = power});
  t.add({.schema_text = "operator::neg(Scalar a) -> Scalar", .rule = unary<kNeg>});
  t.add({.schema_text = "operator::pos(Scalar a) -> Scalar", .rule = unary<kSame>});
  t.add({.schema_text = "operator::abs(Scalar a) -> Scalar", .rule = by_op<ExprOp::abs_>});
  t.add({.schema_text = "operator::ceil(Scalar a) -> Scalar", .rule = by_op<ExprOp::ceil_to_int>});
  t.add({.schema_text = "operator::floor(Scalar a) -> Scalar", .rule = by_op<ExprOp::floor_to_int>});
  t.add({.schema_text = "operator::trunc(Scalar a) -> Scalar", .rule = by_op<ExprOp::trunc_to_int>});
  t.add({.schema_text = "operator::round(Scalar a) -> Scalar", .rule = by_op<ExprOp::round_to_int>});
  t.add({.schema_text = "math::ceil(Scalar a) -> Scalar", .rule = by_op<ExprOp::ceil_to_int>});
  t.add({.schema_text = "math::floor(Scalar a) -> Scalar", .rule = by_op<ExprOp::floor_to_int>});
  t.add({.schema_text = "math::trunc(Scalar a) -> Scalar", .rule = by_op<ExprOp::trunc_to_int>});
  t.add({.schema_text = "operator::eq(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::eq>});
  t.add({.schema_text = "operator::ne(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::ne>});
  t.add({.schema_text = "operator::lt(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::lt>});
  t.add({.schema_text = "operator::le(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::le>});
  t.add({.schema_text = "operator::gt(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::gt>});
  t.add({.schema_text = "operator::ge(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::ge>});
  t.add({.schema_text = "operator::and_(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::logic_and>});
  t.add({.schema_text = "operator::or_(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::logic_or>});
  t.add({.schema_text = "operator::lshift(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::lshift>});
  t.add({.schema_text = "operator::rshift(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::rshift>});
  t.add({.schema_text = "torch::sym_not(Scalar a) -> Scalar", .rule = by_op<ExprOp::logic_not>});
  t.add({.schema_text = "torch::sym_max(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::max>});
  t.add({.schema_text = "torch::sym_min(Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::min>});
  t.add({.schema_text = "torch::sym_float(Scalar a) -> Scalar", .rule = by_op<ExprOp::to_float>});
  t.add({.schema_text = "torch::sym_int(Scalar a) -> Scalar", .rule = by_op<ExprOp::trunc_to_int>});
  t.add({.schema_text = "torch::_sym_sqrt(Scalar a) -> Scalar", .rule = square_root});
  t.add({.schema_text = "torch::sym_sqrt(Scalar a) -> Scalar", .rule = square_root});
  t.add({.schema_text = "torch::sym_ite(Scalar c, Scalar a, Scalar b) -> Scalar", .rule = by_op<ExprOp::where>});
  t.add({.schema_text = "torch::sym_sum(SymInt[] args) -> Scalar", .rule = [](MetaCall& c) { return Datum{sum(c.exprs(0))}; }});
  t.add({.schema_text = "aten::sym_size.int(Tensor self, int dim) -> SymInt", .rule = sym_size});
  t.add({.schema_text = "aten::sym_stride.int(Tensor self, int dim) -> SymInt", .rule = sym_stride});
  t.add({.schema_text = "aten::sym_numel(Tensor self) -> SymInt", .rule = [](MetaCall& c) { return Datum{numel(c.meta(0))}; }});
  t.add({.schema_text = "aten::sym_storage_offset(Tensor self) -> SymInt", .rule = [](MetaCall& c) { return Datum{c.meta(0).offset}; }});
}
// clang-format on

}  // namespace assay
