// Interval analysis over expressions, and the static decisions built on it.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/expr/bounds.h"
#include "core/expr/eval.h"
#include "core/expr/fold.h"
#include "core/expr/op_table.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

using enum ExprOp;

auto int_end(const Expr& end, bool low) -> Int128 {
  if (const auto value = end.as_int()) return *value;
  if (end.op() == int_oo) return IntBounds::kUnbounded;
  if (end.op() == neg_int_oo) return -IntBounds::kUnbounded;
  const double value = end.as_number().value_or(std::numeric_limits<double>::quiet_NaN());
  const auto whole = int_from_real(low ? std::ceil(value) : std::floor(value));
  if (whole) return *whole;
  return low ? -IntBounds::kUnbounded : IntBounds::kUnbounded;
}

auto real_end(const Expr& end, bool low) -> double {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (end.op() == int_oo) return kInfinity;
  if (end.op() == neg_int_oo) return -kInfinity;
  const auto value = end.as_number();
  if (value && !std::isnan(*value)) return *value;
  return low ? -kInfinity : kInfinity;
}

auto symbolic_terms(const Poly& poly) -> std::size_t {
  return without_constant(poly).size();
}

class Analysis {
 public:
  explicit Analysis(const Ranges& ranges) : ranges_(ranges) {}

  auto ints(const Expr& e) -> IntBounds;
  auto reals(const Expr& e) -> RealBounds;
  auto truth(const Expr& e) -> std::optional<bool>;

 private:
  using IntRule = IntBounds (Analysis::*)(const Expr&);
  struct IntRow {
    ExprOp op;
    IntRule rule;
  };
  static auto int_rule(ExprOp op) -> IntRule;
  using RealRule = RealBounds (Analysis::*)(const Expr&);
  struct RealRow {
    ExprOp op;
    RealRule rule;
  };
  static auto real_rule(ExprOp op) -> RealRule;

  auto arg(const Expr& e, std::size_t i) -> IntBounds { return ints(e.args()[i]); }
  auto symbol_ints(const Expr& e) -> IntBounds;
  auto sum(const Expr& e) -> IntBounds;
  auto product(const Expr& e) -> IntBounds;
  auto power(const Expr& e) -> IntBounds { return assay::pow(arg(e, 0), arg(e, 1)); }
  auto quotient(const Expr& e) -> IntBounds { return assay::floor_div(arg(e, 0), arg(e, 1)); }
  auto ceil_quotient(const Expr& e) -> IntBounds {
    return negated(assay::floor_div(negated(arg(e, 0)), arg(e, 1)));
  }
  auto remainder(const Expr& e) -> IntBounds { return assay::mod(arg(e, 0), arg(e, 1)); }
  auto indexing(const Expr& e) -> IntBounds {
    return assay::mod(assay::floor_div(arg(e, 0), arg(e, 1)), arg(e, 2));
  }
  auto extreme(const Expr& e) -> IntBounds;
  auto choice(const Expr& e) -> IntBounds;
  auto rounded(const Expr& e) -> IntBounds;
  auto magnitude(const Expr& e) -> IntBounds { return assay::abs(arg(e, 0)); }
  auto same(const Expr& e) -> IntBounds { return arg(e, 0); }
  auto bits_and(const Expr& e) -> IntBounds { return assay::bit_and(arg(e, 0), arg(e, 1)); }
  auto bits_or(const Expr& e) -> IntBounds { return assay::bit_or(arg(e, 0), arg(e, 1)); }
  auto shifted_left(const Expr& e) -> IntBounds {
    return assay::mul(arg(e, 0), power_of_two(arg(e, 1)));
  }
  auto shifted_right(const Expr& e) -> IntBounds {
    return assay::floor_div(arg(e, 0), power_of_two(arg(e, 1)));
  }

  auto real_symbol(const Expr& e) -> RealBounds;
  auto real_sum_product(const Expr& e) -> RealBounds;
  auto real_quotient(const Expr& e) -> RealBounds;
  auto real_choice(const Expr& e) -> RealBounds;
  auto real_power(const Expr& e) -> RealBounds;
  auto real_same(const Expr& e) -> RealBounds { return reals(e.args()[0]); }
  auto real_extreme(const Expr& e) -> RealBounds;
  auto real_monotone(const Expr& e) -> RealBounds;
  auto decide(const Expr& e) -> std::optional<bool>;
  auto compare_ints(const Expr& e) -> std::optional<bool>;
  auto compare_reals(const Expr& e) -> std::optional<bool>;
  auto compare_booleans(const Expr& e) -> std::optional<bool>;

  static constexpr int kMaxRewrites = 500;

  const Ranges& ranges_;
  int rewrites_ = kMaxRewrites;
  std::unordered_map<Expr, IntBounds> ints_;
  std::unordered_map<Expr, RealBounds> reals_;
};

auto Analysis::int_rule(ExprOp op) -> IntRule {
  static constexpr auto kRules = std::to_array<IntRow>({
      {symbol, &Analysis::symbol_ints},
      {add, &Analysis::sum},
      {mul, &Analysis::product},
      {pow, &Analysis::power},
      {floor_div, &Analysis::quotient},
      {clean_div, &Analysis::quotient},
      {ceil_div, &Analysis::ceil_quotient},
      {mod, &Analysis::remainder},
      {python_mod, &Analysis::remainder},
      {modular_indexing, &Analysis::indexing},
      {min, &Analysis::extreme},
      {max, &Analysis::extreme},
      {where, &Analysis::choice},
      {pow_by_natural, &Analysis::power},
      {ceil_to_int, &Analysis::rounded},
      {floor_to_int, &Analysis::rounded},
      {trunc_to_int, &Analysis::rounded},
      {round_to_int, &Analysis::rounded},
      {abs_, &Analysis::magnitude},
      {identity, &Analysis::same},
      {bit_and, &Analysis::bits_and},
      {bit_or, &Analysis::bits_or},
      {bit_xor, &Analysis::bits_or},
      {lshift, &Analysis::shifted_left},
      {rshift, &Analysis::shifted_right},
  });
  const auto* const row = std::ranges::find(kRules, op, &IntRow::op);
  return row == kRules.end() ? nullptr : row->rule;
}

auto Analysis::ints(const Expr& e) -> IntBounds {
  if (const auto value = e.as_int()) return exactly(*value);
  if (e.op() == int_oo || e.op() == neg_int_oo) return {};
  if (e.type() == ExprType::boolean) {
    const auto known = truth(e);
    return known ? exactly(*known ? 1 : 0) : IntBounds{0, 1};
  }
  if (e.type() != ExprType::integer) return {};
  if (const auto known = ints_.find(e); known != ints_.end()) return known->second;
  const IntRule rule = int_rule(e.op());
  const IntBounds result = rule ? (this->*rule)(e) : IntBounds{};
  ints_.emplace(e, result);
  return result;
}

auto Analysis::symbol_ints(const Expr& e) -> IntBounds {
  const auto at = ranges_.find(e);
  if (at == ranges_.end()) return {};
  const IntBounds range{int_end(at->second.low, true), int_end(at->second.high, false)};
  return range.low <= range.high ? range : IntBounds{};
}

/// (poly - coefficient term) + scale * part, if that has fewer symbolic terms.
auto replaced(ExprPool& pool, const Poly& poly, const Term& term, const Expr& part,
              std::int64_t scale) -> std::optional<Expr> {
  const auto minus = checked_mul(term.coefficient, -1);
  const auto rest = minus ? poly_add(poly, {{term.monomial, *minus}}) : std::nullopt;
  const auto scaled = rest ? poly_scale(to_poly(part), scale) : std::nullopt;
  const auto result = scaled ? poly_add(*rest, *scaled) : std::nullopt;
  if (!result || symbolic_terms(*result) >= symbolic_terms(*rest)) return std::nullopt;
  return from_poly(pool, *result);
}

/// max(x, y) - x == max(0, y - x), the same for min.
auto related_extreme(ExprPool& pool, const Poly& poly, const Term& term) -> std::optional<Expr> {
  const Expr& m = term.monomial;
  if (m.op() != min && m.op() != max) return std::nullopt;
  for (const Expr& part : m.args()) {
    const auto rest = replaced(pool, poly, term, part, term.coefficient);
    if (!rest) continue;
    std::vector<Expr> moved;
    for (const Expr& other : m.args()) moved.push_back(other - part);
    return *rest + Expr(term.coefficient) * make(m.op(), moved);
  }
  return std::nullopt;
}

/// x - x mod k == k (x // k),  x - k (x // k) == x mod k.
auto related_division(ExprPool& pool, const Poly& poly, const Term& term) -> std::optional<Expr> {
  const Expr& m = term.monomial;
  const bool is_mod = m.op() == mod || m.op() == python_mod;
  if (!is_mod && m.op() != floor_div) return std::nullopt;
  const Expr& x = m.args()[0];
  const std::int64_t k = m.args()[1].as_int().value_or(0);
  if (k <= 0 || (!is_mod && term.coefficient % k != 0)) return std::nullopt;
  const std::int64_t scale = is_mod ? term.coefficient : term.coefficient / k;
  const auto rest = replaced(pool, poly, term, x, scale);
  if (!rest) return std::nullopt;
  return *rest - Expr(scale) * (is_mod ? Expr(k) * assay::floor_div(x, k) : assay::mod(x, k));
}

/// Plain intervals forget that terms belong together. Rewrites one pair of related terms; each
/// rewrite leaves fewer symbolic terms, so this ends.
auto related_terms(const Expr& e) -> std::optional<Expr> {
  ExprPool& pool = *e.pool();
  const Poly poly = to_poly(e);
  for (const Term& term : poly) {
    if (auto result = related_extreme(pool, poly, term)) return result;
    if (auto result = related_division(pool, poly, term)) return result;
  }
  return std::nullopt;
}

auto Analysis::sum(const Expr& e) -> IntBounds {
  IntBounds total = exactly(0);
  for (const Expr& term : e.args()) total = assay::add(total, ints(term));
  if (--rewrites_ < 0) return total;
  const auto related = related_terms(e);
  return related ? meet(total, ints(*related)) : total;
}

auto Analysis::product(const Expr& e) -> IntBounds {
  const Product parts = to_product(e);
  IntBounds total = exactly(parts.coefficient);
  if (parts.factors.size() == 1 && parts.factors[0].base == e) {  // not in normal form
    for (const Expr& factor : e.args()) total = assay::mul(total, ints(factor));
    return total;
  }
  for (const auto& [base, exponent] : parts.factors)
    total = assay::mul(total, assay::pow(ints(base), exactly(exponent)));
  return total;
}

auto Analysis::extreme(const Expr& e) -> IntBounds {
  IntBounds result = arg(e, 0);
  for (const Expr& other : e.args().subspan(1)) {
    const IntBounds b = ints(other);
    result = e.op() == min ? IntBounds{std::min(result.low, b.low), std::min(result.high, b.high)}
                           : IntBounds{std::max(result.low, b.low), std::max(result.high, b.high)};
  }
  return result;
}

auto Analysis::choice(const Expr& e) -> IntBounds {
  const auto known = truth(e.args()[0]);
  if (known) return arg(e, *known ? 1 : 2);
  return hull(arg(e, 1), arg(e, 2));
}

/// ceil, floor, trunc and round are monotone, so the ends suffice.
auto Analysis::rounded(const Expr& e) -> IntBounds {
  const RealBounds inner = reals(e.args()[0]);
  const auto low = fold(e.op(), std::array{Expr::real(inner.low)}).value.as_int();
  const auto high = fold(e.op(), std::array{Expr::real(inner.high)}).value.as_int();
  IntBounds result;
  if (low) result.low = *low;
  if (high) result.high = *high;
  return result;
}

auto Analysis::reals(const Expr& e) -> RealBounds {
  if (e.type() == ExprType::integer) return to_real(ints(e));
  if (e.type() == ExprType::boolean) return {0, 1};
  if (const auto value = e.as_real())
    return std::isnan(*value) ? RealBounds::anything() : RealBounds{*value, *value};
  if (const auto known = reals_.find(e); known != reals_.end()) return known->second;
  const RealBounds result = (this->*real_rule(e.op()))(e);
  reals_.emplace(e, result);
  return result;
}

auto Analysis::real_rule(ExprOp op) -> RealRule {
  static constexpr auto kRules = std::to_array<RealRow>({
      {symbol, &Analysis::real_symbol},
      {add, &Analysis::real_sum_product},
      {mul, &Analysis::real_sum_product},
      {int_true_div, &Analysis::real_quotient},
      {float_true_div, &Analysis::real_quotient},
      {min, &Analysis::real_extreme},
      {max, &Analysis::real_extreme},
      {where, &Analysis::real_choice},
      {float_pow, &Analysis::real_power},
      {pow, &Analysis::real_power},
      {to_float, &Analysis::real_same},
      {identity, &Analysis::real_same},
  });
  const auto* const row = std::ranges::find(kRules, op, &RealRow::op);
  return row == kRules.end() ? &Analysis::real_monotone : row->rule;
}

auto Analysis::real_symbol(const Expr& e) -> RealBounds {
  const auto at = ranges_.find(e);
  if (at == ranges_.end()) return RealBounds::anything();
  const RealBounds range{real_end(at->second.low, true), real_end(at->second.high, false)};
  return range.low <= range.high ? range : RealBounds::anything();
}

auto Analysis::real_sum_product(const Expr& e) -> RealBounds {
  RealBounds total = reals(e.args()[0]);
  for (const Expr& other : e.args().subspan(1))
    total = e.op() == add ? assay::add(total, reals(other)) : assay::mul(total, reals(other));
  return total;
}

auto Analysis::real_quotient(const Expr& e) -> RealBounds {
  const Expr &a = e.args()[0], &b = e.args()[1];
  if (e.op() == int_true_div && a.type() == ExprType::integer && b.type() == ExprType::integer)
    return assay::int_true_div(ints(a), ints(b));
  return true_div(reals(a), reals(b));
}

auto Analysis::real_choice(const Expr& e) -> RealBounds {
  const auto args = e.args();
  if (const auto known = truth(args[0])) return reals(args[*known ? 1 : 2]);
  return hull(reals(args[1]), reals(args[2]));
}

auto Analysis::real_power(const Expr& e) -> RealBounds {
  const bool fits = reals(e.args()[0]).low >= 0 && !reals(e.args()[1]).may_be_nan();
  return fits ? RealBounds{0, std::numeric_limits<double>::infinity()} : RealBounds::anything();
}

auto Analysis::real_extreme(const Expr& e) -> RealBounds {
  RealBounds result = reals(e.args()[0]);
  for (const Expr& other : e.args()) {
    const RealBounds b = reals(other);
    if (b.may_be_nan()) return RealBounds::anything();
    result = e.op() == min ? RealBounds{std::min(result.low, b.low), std::min(result.high, b.high)}
                           : RealBounds{std::max(result.low, b.low), std::max(result.high, b.high)};
  }
  return result;
}

auto Analysis::real_monotone(const Expr& e) -> RealBounds {
  const auto args = e.args();
  if (e.op() == abs_) {
    const RealBounds a = reals(args[0]);
    const double far = std::max(std::fabs(a.low), std::fabs(a.high));
    const bool crosses = a.low <= 0 && a.high >= 0;
    if (a.may_be_nan()) return a;
    return {crosses ? 0 : std::min(std::fabs(a.low), std::fabs(a.high)), far};
  }
  if (e.op() != trunc_to_float && e.op() != round_decimal) return RealBounds::anything();
  const RealBounds a = reals(args[0]);
  std::vector<Expr> low(args.begin(), args.end());
  std::vector<Expr> high = low;
  low[0] = Expr::real(a.low);
  high[0] = Expr::real(a.high);
  if (!std::ranges::all_of(low, &Expr::is_const)) return RealBounds::anything();
  const auto x = fold(e.op(), low).value.as_real();
  const auto y = fold(e.op(), high).value.as_real();
  return x && y ? RealBounds{*x, *y} : RealBounds::anything();
}

auto Analysis::truth(const Expr& e) -> std::optional<bool> {
  if (const auto value = e.as_bool()) return value;
  if (e.op() == logic_not) {
    const auto inner = truth(e.args()[0]);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  if (e.op() == logic_and || e.op() == logic_or) {
    const bool settling = e.op() == logic_or;
    bool all_known = true;
    for (const Expr& part : e.args()) {
      const auto known = truth(part);
      if (known == settling) return settling;
      all_known = all_known && known;
    }
    return all_known ? std::optional(!settling) : std::nullopt;
  }
  if (e.op() == where) {
    const auto known = truth(e.args()[0]);
    if (known) return truth(e.args()[*known ? 1 : 2]);
    const auto a = truth(e.args()[1]);
    return a && a == truth(e.args()[2]) ? a : std::nullopt;
  }
  return op_row(e.op()).type == TypeRule::comparison ? decide(e) : std::nullopt;
}

auto Analysis::decide(const Expr& e) -> std::optional<bool> {
  const auto all = [&](ExprType type) {
    return std::ranges::all_of(e.args(), [&](const Expr& x) { return x.type() == type; });
  };
  if (all(ExprType::boolean)) return compare_booleans(e);
  return all(ExprType::integer) ? compare_ints(e) : compare_reals(e);
}

auto Analysis::compare_booleans(const Expr& e) -> std::optional<bool> {
  const auto a = truth(e.args()[0]);
  const auto b = truth(e.args()[1]);
  if (!a || !b) return std::nullopt;
  return (*a == *b) == (e.op() == eq);
}

/// What the sign range of `left - right` says about a comparison.
auto by_difference(ExprOp op, bool below, bool at_most, bool above, bool at_least, bool equal)
    -> std::optional<bool> {
  const auto pick = [](bool yes, bool no) {
    return yes ? std::optional(true) : (no ? std::optional(false) : std::nullopt);
  };
  if (op == lt) return pick(below, at_least);
  if (op == le) return pick(at_most, above);
  if (op == gt) return pick(above, at_most);
  if (op == ge) return pick(at_least, below);
  return op == eq ? pick(equal, below || above) : pick(below || above, equal);
}

auto Analysis::compare_ints(const Expr& e) -> std::optional<bool> {
  const Expr& a = e.args()[0];
  const Expr& b = e.args()[1];
  const IntBounds x = ints(a);
  const IntBounds y = ints(b);
  IntBounds d = assay::add(x, negated(y));
  const Expr difference = a - b;
  const bool finite =
      difference.is_valid() && difference.op() != int_oo && difference.op() != neg_int_oo;
  if (finite) d = meet(d, ints(difference));
  const auto known =
      by_difference(e.op(), d.high < 0, d.high <= 0, d.low > 0, d.low >= 0, d == exactly(0));
  if (known || !finite || (e.op() != eq && e.op() != ne)) return known;
  const Congruence residue = congruence_of(difference);
  const bool never_zero = residue.modulus != 1 && residue.remainder != 0;
  return never_zero ? std::optional(e.op() == ne) : std::nullopt;
}

auto Analysis::compare_reals(const Expr& e) -> std::optional<bool> {
  const auto exact = [&](const Expr& x) {
    return x.type() == ExprType::integer ? to_real_outward(ints(x)) : reals(x);
  };
  const auto may_be_nan = [](const Expr& x, const RealBounds& bounds) {
    return x.type() == ExprType::real && bounds.may_be_nan();
  };
  const RealBounds x = exact(e.args()[0]);
  const RealBounds y = exact(e.args()[1]);
  if (may_be_nan(e.args()[0], x) || may_be_nan(e.args()[1], y)) return std::nullopt;
  const bool equal = x.low == x.high && y.low == y.high && x.low == y.low;
  return by_difference(e.op(), x.high<y.low, x.high <= y.low, x.low> y.high, x.low >= y.high,
                       equal);
}

auto as_interval(const IntBounds& bounds) -> Interval {
  Interval result;
  if (bounds.low != -IntBounds::kUnbounded) result.low = static_cast<std::int64_t>(bounds.low);
  if (bounds.high != IntBounds::kUnbounded) result.high = static_cast<std::int64_t>(bounds.high);
  return result;
}

auto as_interval(const RealBounds& bounds) -> Interval {
  Interval result;
  if (std::isfinite(bounds.low)) result.low = Expr::real(bounds.low);
  if (std::isfinite(bounds.high)) result.high = Expr::real(bounds.high);
  return result;
}

}  // namespace

auto Interval::contains(const Expr& constant) const -> bool {
  if (low == Expr::neg_infinity() && high == Expr::infinity()) return true;
  if (const auto value = constant.as_bool()) return contains(Expr(*value ? 1 : 0));
  return fold(ExprOp::le, std::array{low, constant}).value.as_bool() == true &&
         fold(ExprOp::le, std::array{constant, high}).value.as_bool() == true;
}

auto interval_of(const Expr& e, const Ranges& ranges) -> Interval {
  if (e.op() == int_oo || e.op() == neg_int_oo) return {e, e};
  Analysis analysis(ranges);
  return e.type() == ExprType::real ? as_interval(analysis.reals(e))
                                    : as_interval(analysis.ints(e));
}

auto decide_statically(const Expr& condition, const Ranges& ranges) -> std::optional<bool> {
  if (condition.type() != ExprType::boolean) return std::nullopt;
  std::unordered_map<Expr, Expr> fixed;
  for (const Expr& symbol : condition.symbols()) {
    const auto at = ranges.find(symbol);
    if (at != ranges.end() && at->second.low == at->second.high && at->second.low.is_const() &&
        at->second.low.type() == symbol.type())
      fixed.emplace(symbol, at->second.low);
  }
  const Expr simplified = substitute(condition, fixed);
  if (!simplified.is_valid()) return std::nullopt;
  return Analysis(ranges).truth(simplified);
}

}  // namespace assay
