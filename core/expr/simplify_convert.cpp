// True division, conversions between int and float, bit operations.
#include <algorithm>
#include <array>

#include "core/expr/fold.h"
#include "core/expr/op_table.h"
#include "core/expr/simplify.h"

namespace assay {

auto Simplifier::int_true_div(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  const Expr& b = args[1];
  if (a.type() == ExprType::real || b.type() == ExprType::real)
    return make(ExprOp::float_true_div, args);
  if (b.is_int(0)) return Expr::invalid();
  if (b.is_int(1)) return make(ExprOp::to_float, {a});
  const Poly over = to_poly(a);
  const Poly under = to_poly(b);
  if (const auto exact = divide_exactly(*pool_, over, under))
    return make(ExprOp::to_float, {from_poly(*pool_, *exact)});
  const bool negative = b.as_int() ? b.as_int().value() < 0 : leads_negative(b);
  if (negative) {
    const auto minus_a = from_terms(poly_scale(over, -1));
    const auto minus_b = from_terms(poly_scale(under, -1));
    if (minus_a && minus_b) return make(op, {*minus_a, *minus_b});
  }
  // Both quotients are rounded once from the same rational, so cancelling is exact.
  if (const auto reduced = cancel_common(*pool_, over, under))
    return make(op, {from_poly(*pool_, reduced->over), from_poly(*pool_, reduced->under)});
  return keep(op, args);
}

/// Operators on floats: integer operands are converted first, so equal computations coincide.
auto Simplifier::real_operands(ExprOp op, Args args) -> Expr {
  std::vector<Expr> reals;
  for (const Expr& arg : args) reals.push_back(make(ExprOp::to_float, {arg}));
  if (!std::ranges::all_of(reals, &Expr::is_valid)) return Expr::invalid();
  if (std::ranges::all_of(reals, &Expr::is_const)) return fold(op, reals).value;
  if (op == ExprOp::float_true_div) {
    if (reals[1].as_real() == 0.0) return Expr::invalid();
    if (reals[1].as_real() == 1.0) return reals[0];
  }
  if (op == ExprOp::float_pow && reals[1].as_real() == 1.0) return reals[0];
  return keep(op, reals);
}

auto Simplifier::to_integer(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  if (a.type() == ExprType::integer) return a;
  // Exact up to 2^53, which is more than any tensor has elements.
  if (a.op() == ExprOp::to_float) return a.args()[0];
  return keep(op, args);
}

auto Simplifier::to_float(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  if (a.type() == ExprType::real) return a;
  return a.is_const() ? fold(op, args).value : keep(op, args);
}

auto Simplifier::round_decimal(ExprOp op, Args args) -> Expr {
  const Expr a = make(ExprOp::to_float, {args[0]});
  return keep(op, {a, args[1]});
}

auto Simplifier::abs_(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  if (a.op() == ExprOp::abs_) return a;
  if (a.type() == ExprType::integer && leads_negative(a)) {
    if (const auto positive = from_terms(poly_scale(to_poly(a), -1))) return make(op, {*positive});
  }
  return keep(op, args);
}

auto Simplifier::identity(ExprOp, Args args) -> Expr {
  return args[0];
}

auto Simplifier::bitwise(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  const Expr& b = args[1];
  const bool is_xor = op == ExprOp::bit_xor;
  const bool is_and = op == ExprOp::bit_and;
  if (a == b) return is_xor ? Expr(0) : a;
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
    if (x.is_int(0)) return is_and ? Expr(0) : y;
    if (x.is_int(-1) && !is_xor) return is_and ? y : Expr(-1);
  }
  return keep_sorted(op, args);
}

auto Simplifier::shift(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  const auto count = args[1].as_int();
  if (a.is_int(0)) return 0;
  if (!count) return keep(op, args);
  if (*count < 0) return Expr::invalid();
  if (*count > 62) return keep(op, args);
  const Expr factor(std::int64_t{1} << *count);
  return op == ExprOp::lshift ? make(ExprOp::mul, {a, factor})
                              : make(ExprOp::floor_div, {a, factor});
}

}  // namespace assay
