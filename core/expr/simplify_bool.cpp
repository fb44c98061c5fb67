// Comparisons, connectives, where, min and max.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/expr/fold.h"
#include "core/expr/simplify.h"

namespace assay {
namespace {

auto before(const Expr& a, const Expr& b) -> bool {
  return Expr::compare(a, b) < 0;
}

auto opposite(ExprOp op) -> ExprOp {
  using enum ExprOp;
  constexpr auto kPairs = std::to_array<std::pair<ExprOp, ExprOp>>(
      {{eq, ne}, {ne, eq}, {lt, ge}, {le, gt}, {gt, le}, {ge, lt}});
  return std::ranges::find(kPairs, op, &std::pair<ExprOp, ExprOp>::first)->second;
}

auto integers(std::span<const Expr> args) -> bool {
  return std::ranges::all_of(args, [](const Expr& e) { return e.type() == ExprType::integer; });
}

/// Positive terms on one side, negated negative ones on the other.
struct Sides {
  Poly positive;
  Poly negative;
};

auto split_signs(const Poly& poly, std::int64_t divisor) -> std::optional<Sides> {
  Sides sides;
  for (const Term& term : poly) {
    if (term.coefficient == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    const std::int64_t c = term.coefficient / divisor;
    const auto minus = checked_mul(c, -1);
    if (!minus) return std::nullopt;
    if (c > 0) {
      sides.positive.push_back({term.monomial, c});
    } else {
      sides.negative.push_back({term.monomial, *minus});
    }
  }
  return sides;
}

auto with_constant(Poly poly, std::int64_t constant) -> Poly {
  if (constant != 0) poly.insert(poly.begin(), Term{Expr(1), constant});
  return poly;
}

}  // namespace

auto Simplifier::compare(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  const Expr& b = args[1];
  if (op == ExprOp::gt) return make(ExprOp::lt, {b, a});
  if (op == ExprOp::ge) return make(ExprOp::le, {b, a});
  if (a.type() == ExprType::boolean) return compare_booleans(op, a, b);
  if (integers(args)) return compare_integers(op, a, b);
  if (const auto decided = compare_with_real(op, a, b)) return *decided;
  return op == ExprOp::eq || op == ExprOp::ne ? keep_sorted(op, args) : keep(op, args);
}

auto Simplifier::compare_booleans(ExprOp op, const Expr& a, const Expr& b) -> Expr {
  if (a == b) return Expr::boolean(op == ExprOp::eq);
  const auto known = a.as_bool() ? a.as_bool() : b.as_bool();
  if (!known) return keep_sorted(op, std::vector<Expr>{a, b});
  const Expr& other = a.as_bool() ? b : a;
  return *known == (op == ExprOp::eq) ? other : make(ExprOp::logic_not, {other});
}

/// One operand or both are floating point; nothing when the comparison stays as it is.
auto Simplifier::compare_with_real(ExprOp op, const Expr& a, const Expr& b) -> std::optional<Expr> {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const auto rewrite_int = [&](const Expr& e) -> std::optional<Expr> {
    const auto value = e.as_int();
    if (!value || *value > kExact || *value < -kExact) return std::nullopt;
    return Expr::real(static_cast<double>(*value));
  };
  if (const auto x = rewrite_int(a)) return make(op, {*x, b});
  if (const auto x = rewrite_int(b)) return make(op, {a, *x});
  const bool left = a.as_real().has_value();
  const auto constant = left ? a.as_real() : b.as_real();
  if (!constant) return std::nullopt;
  const Expr& other = left ? b : a;
  const double value = *constant;
  if (std::isnan(value)) return Expr::boolean(op == ExprOp::ne);
  if (other.type() != ExprType::integer) return std::nullopt;
  const auto down = int_from_real(std::floor(value));
  const auto up = int_from_real(std::ceil(value));
  if (!down || !up) {  // beyond every int64, so any integer compares as 0 does
    return fold(op, std::vector<Expr>{left ? a : Expr(0), left ? Expr(0) : b}).value;
  }
  if (*down == *up) return left ? make(op, {Expr(*down), b}) : make(op, {a, Expr(*down)});
  if (op == ExprOp::eq || op == ExprOp::ne) return Expr::boolean(op == ExprOp::ne);
  return left ? make(ExprOp::le, {Expr(*up), b}) : make(ExprOp::le, {a, Expr(*down)});
}

auto Simplifier::compare_integers(ExprOp op, const Expr& a, const Expr& b) -> Expr {
  const bool equality = op == ExprOp::eq || op == ExprOp::ne;
  if (a == b) return Expr::boolean(op == ExprOp::eq || op == ExprOp::le);
  const auto minus_b = poly_scale(to_poly(b), -1);
  auto difference = minus_b ? poly_add(to_poly(a), *minus_b) : std::nullopt;
  if (difference && op == ExprOp::lt) difference = poly_add(*difference, {{Expr(1), 1}});
  std::optional<Expr> result;
  if (difference && equality) result = equate_integers(op, *difference);
  if (difference && !equality) result = order_integers(*difference);
  if (result) return *result;
  return equality ? keep_sorted(op, std::vector<Expr>{a, b}) : keep(op, {a, b});
}

/// difference <= 0, written with the common factor removed and positive terms on both sides.
auto Simplifier::order_integers(const Poly& difference) -> std::optional<Expr> {
  const Poly symbolic = without_constant(difference);
  const std::int64_t constant = constant_of(difference);
  if (symbolic.empty()) return Expr::boolean(constant <= 0);
  const std::int64_t divisor = content(symbolic);
  const auto sides = split_signs(symbolic, divisor);
  if (constant == std::numeric_limits<std::int64_t>::min() || !sides) return std::nullopt;
  const std::int64_t bound = checked_floor_div(-constant, divisor).value_or(0);
  const Expr low = from_poly(*pool_, sides->positive);
  const Expr high = from_poly(*pool_, sides->negative);
  if (sides->negative.empty()) return keep(ExprOp::le, {low, Expr(bound)});
  if (sides->positive.empty()) return keep(ExprOp::le, {Expr(-bound), high});
  if (bound == -1) return keep(ExprOp::lt, {low, high});
  if (bound >= 0)
    return keep(ExprOp::le, {low, from_poly(*pool_, with_constant(sides->negative, bound))});
  return keep(ExprOp::le, {from_poly(*pool_, with_constant(sides->positive, -bound)), high});
}

/// difference == 0 or != 0.
auto Simplifier::equate_integers(ExprOp op, const Poly& difference) -> std::optional<Expr> {
  if (without_constant(difference).empty())
    return Expr::boolean((constant_of(difference) == 0) == (op == ExprOp::eq));
  const Poly symbolic = without_constant(difference);
  std::int64_t divisor = content(symbolic);
  const std::int64_t constant = constant_of(difference);
  if (constant % divisor != 0) return Expr::boolean(op == ExprOp::ne);
  if (symbolic[0].coefficient < 0) divisor = -divisor;
  const auto sides = split_signs(symbolic, divisor);
  if (constant == std::numeric_limits<std::int64_t>::min() || !sides) return std::nullopt;
  const std::int64_t shift = constant / divisor;
  if (sides->negative.empty()) return keep(op, {from_poly(*pool_, sides->positive), Expr(-shift)});
  const Poly left = with_constant(sides->positive, std::max<std::int64_t>(shift, 0));
  const Poly right = with_constant(sides->negative, std::max<std::int64_t>(-shift, 0));
  return keep(op, {from_poly(*pool_, left), from_poly(*pool_, right)});
}

auto Simplifier::junction(ExprOp op, Args args) -> Expr {
  const Expr neutral = Expr::boolean(op == ExprOp::logic_and);
  const Expr dominant = Expr::boolean(op != ExprOp::logic_and);
  std::vector<Expr> flat;
  for (const Expr& arg : args) {
    if (arg == dominant) return dominant;
    if (arg == neutral) continue;
    if (arg.op() == op) {
      flat.insert(flat.end(), arg.args().begin(), arg.args().end());
    } else {
      flat.push_back(arg);
    }
  }
  std::ranges::sort(flat, before);
  flat.erase(std::ranges::unique(flat).begin(), flat.end());
  if (flat.empty()) return neutral;
  if (flat.size() == 1) return flat[0];
  if (flat.size() <= kMaxPairwise) {
    for (const Expr& e : flat) {
      const Expr contrary = make(ExprOp::logic_not, {e});
      if (std::ranges::find(flat, contrary) != flat.end()) return dominant;
    }
  }
  return keep(op, flat);
}

auto Simplifier::logic_not(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  if (a.op() == ExprOp::logic_not) return a.args()[0];
  const bool equality = a.op() == ExprOp::eq || a.op() == ExprOp::ne;
  // The opposite of `<` is `>=` for integers only: with NaN both are false.
  const bool order = (a.op() == ExprOp::lt || a.op() == ExprOp::le) && integers(a.args());
  if (equality || order) return make(opposite(a.op()), a.args());
  return keep(op, args);
}

auto Simplifier::where(ExprOp op, Args args) -> Expr {
  const Expr& condition = args[0];
  Expr a = args[1];
  Expr b = args[2];
  const bool real = a.type() == ExprType::real || b.type() == ExprType::real;
  if (real) {
    a = make(ExprOp::to_float, {a});
    b = make(ExprOp::to_float, {b});
  }
  if (const auto known = condition.as_bool()) return *known ? a : b;
  if (a == b) return a;
  if (condition.op() == ExprOp::logic_not) return make(op, {condition.args()[0], b, a});
  if (a.as_bool() && b.as_bool())
    return *a.as_bool() ? condition : make(ExprOp::logic_not, {condition});
  return keep(op, {condition, a, b});
}

auto Simplifier::constant_difference(const Expr& a, const Expr& b) -> std::optional<std::int64_t> {
  const auto minus_b = poly_scale(to_poly(b), -1);
  const auto difference = minus_b ? poly_add(to_poly(a), *minus_b) : std::nullopt;
  if (!difference || !without_constant(*difference).empty()) return std::nullopt;
  return constant_of(*difference);
}

/// Removes operands that another one makes superfluous; true when something was removed.
auto Simplifier::absorb(ExprOp op, std::vector<Expr>& args) -> bool {
  const ExprOp dual = op == ExprOp::min ? ExprOp::max : ExprOp::min;
  const auto superfluous = [&](const Expr& e, const Expr& other) {
    if (e.op() == dual && std::ranges::find(e.args(), other) != e.args().end()) return true;
    const auto difference = constant_difference(e, other);
    return difference && (op == ExprOp::max ? *difference < 0 : *difference > 0);
  };
  for (std::size_t i = 0; i < args.size(); ++i) {
    for (std::size_t j = 0; j < args.size(); ++j) {
      if (i == j || --fuel_ < 0 || !superfluous(args[i], args[j])) continue;
      args.erase(args.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  }
  return false;
}

auto Simplifier::extreme(ExprOp op, Args args) -> Expr {
  const bool real = !integers(args);
  std::vector<Expr> flat;
  std::vector<Expr> constants;
  const auto take = [&](const Expr& e) { (e.is_const() ? constants : flat).push_back(e); };
  for (const Expr& arg : args) {
    const Expr e = real ? make(ExprOp::to_float, {arg}) : arg;
    if (e.op() == op) {
      std::ranges::for_each(e.args(), take);
    } else {
      take(e);
    }
  }
  if (!constants.empty()) flat.push_back(fold(op, constants).value);
  std::ranges::sort(flat, before);
  flat.erase(std::ranges::unique(flat).begin(), flat.end());
  // A NaN anywhere is the result, so floating point operands absorb nothing.
  while (!real && flat.size() <= kMaxPairwise && absorb(op, flat)) {
  }
  return flat.size() == 1 ? flat[0] : keep(op, flat);
}

}  // namespace assay
