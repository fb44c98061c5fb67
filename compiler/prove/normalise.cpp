#include "compiler/prove/normalise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "core/expr/fold.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

auto is_order(ExprOp op) -> bool {
  return op == ExprOp::lt || op == ExprOp::le || op == ExprOp::gt || op == ExprOp::ge;
}

/// The integer that an expression on floats stands for: integers that became floats, whole
/// constants, their sums, differences and products, all of them exact below kExactFloat.
auto whole_number(const Expr& e) -> std::optional<Expr> {
  if (e.type() == ExprType::integer) return e;
  if (const auto value = e.as_real()) {
    const bool is_whole =
        *value == std::trunc(*value) && std::fabs(*value) < static_cast<double>(kExactFloat);
    return is_whole ? std::optional(Expr(static_cast<std::int64_t>(*value))) : std::nullopt;
  }
  if (e.op() == ExprOp::to_float && e.args()[0].type() == ExprType::integer) return e.args()[0];
  if (e.op() != ExprOp::add && e.op() != ExprOp::mul) return std::nullopt;
  std::vector<Expr> parts;
  for (const Expr& arg : e.args()) {
    const auto part = whole_number(arg);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  const Expr whole = make(*e.pool(), e.op(), parts);
  return whole.is_valid() ? std::optional(whole) : std::nullopt;
}

/// Does the quotient of two whole numbers always have a value?
auto is_safe_quotient(const Expr& e) -> bool {
  const auto divisor = e.args()[1].as_real();
  return divisor && *divisor != 0 && whole_number(e.args()[1]) && whole_number(e.args()[0]);
}

/// a*s + b with one symbol s.
struct LinearForm {
  Expr symbol;
  std::int64_t factor = 0;
  std::int64_t constant = 0;
};
auto linear_form(const Expr& e) -> std::optional<LinearForm> {
  const Poly poly = to_poly(e);
  const Poly rest = without_constant(poly);
  if (rest.size() != 1 || rest[0].monomial.op() != ExprOp::symbol) return std::nullopt;
  return LinearForm{rest[0].monomial, rest[0].coefficient, constant_of(poly)};
}

/// Both ends at once: nothing stands for no bound.
struct Bounds {
  std::optional<std::int64_t> low, high;
};

/// Bounds of x from those of x // k: low <= x // k <= high is k*low <= x <= k*high + k - 1.
auto under_quotient(std::int64_t k, Bounds bounds) -> Bounds {
  const auto scaled = [&](std::optional<std::int64_t> end, std::int64_t more) {
    const auto product = end ? checked_mul(*end, k) : std::nullopt;
    return product ? checked_add(*product, more) : std::nullopt;
  };
  return {scaled(bounds.low, 0), scaled(bounds.high, k - 1)};
}

/// Bounds of x from those of factor * x + constant.
auto under_linear(const LinearForm& form, Bounds bounds) -> Bounds {
  const auto minus = checked_mul(form.constant, -1);
  const auto magnitude = form.factor < 0 ? -form.factor : form.factor;
  const auto moved = [&](std::optional<std::int64_t> end) {  // the bound of factor * x
    const auto sum = end && minus ? checked_add(*end, *minus) : std::nullopt;
    return sum && form.factor < 0 ? checked_mul(*sum, -1) : sum;
  };
  auto low = moved(bounds.low);
  auto high = moved(bounds.high);
  if (form.factor < 0) std::swap(low, high);
  if (low) low = -checked_floor_div(-*low, magnitude).value_or(0);
  if (high) high = checked_floor_div(*high, magnitude);
  return {low, high};
}

/// Not falling where the symbols rise, and not negative: sums, products and quotients of such.
auto is_rising(const Expr& e, const Ranges& ranges) -> bool {
  if (e.op() == ExprOp::int_const || e.op() == ExprOp::symbol)
    return low_end(interval_of(e, ranges)).value_or(-1) >= 0;
  const auto args = e.args();
  if (e.op() == ExprOp::floor_div) {
    const auto by = args[1].as_int().value_or(0);
    if (by <= 0) return false;
    const Poly over = to_poly(args[0]);  // (s - 1)//2: what is taken away only has to stay above 0
    return low_end(interval_of(args[0], ranges)).value_or(-1) >= 0 &&
           std::ranges::all_of(without_constant(over), [&](const Term& term) {
             return term.coefficient > 0 && is_rising(term.monomial, ranges);
           });
  }
  const bool is_power = e.op() == ExprOp::pow && args[1].as_int().value_or(-1) > 0;
  const bool composed = e.op() == ExprOp::add || e.op() == ExprOp::mul || is_power ||
                        e.op() == ExprOp::max || e.op() == ExprOp::min;
  return composed &&
         std::ranges::all_of(args, [&](const Expr& arg) { return is_rising(arg, ranges); });
}

/// The last value of the only symbol at which a rising expression is no larger than `high`.
auto last_below(const Expr& e, const Expr& symbol, std::int64_t low, std::int64_t high)
    -> std::optional<std::int64_t> {
  const auto at = [&](std::int64_t x) { return evaluate_int(e, Binding{{symbol, Expr(x)}}); };
  const auto is_below = [&](std::int64_t x) { return at(x).value_or(high) <= high; };
  std::int64_t above = std::int64_t{1} << 40;
  while (above > low && !at(above)) above /= 2;  // what overflows says nothing
  if (above <= low || is_below(above) || !is_below(low)) return std::nullopt;
  while (above - low > 1) {
    const auto middle = low + (above - low) / 2;
    (is_below(middle) ? low : above) = middle;
  }
  return low;
}

/// `8*s**2 <= 2147483647` bounds s, where nothing else does; `(s//16 + 1)**2 == 196` from below,
/// too.
auto narrow_rising(Ranges& ranges, const Expr& e, Bounds bounds) -> bool {
  const auto symbols = e.symbols();
  if (symbols.size() != 1) return false;
  Interval& range = ranges[symbols[0]];
  const auto low = low_end(range);
  const bool is_open = !high_end(range) && bounds.high;
  const auto below = bounds.low ? checked_add(*bounds.low, -1) : std::nullopt;
  if (!low || (!is_open && !below) || !is_rising(e, ranges)) return false;
  const auto last = is_open ? last_below(e, symbols[0], *low, *bounds.high) : std::nullopt;
  const auto short_of = below ? last_below(e, symbols[0], *low, *below) : std::nullopt;
  if (short_of && last && *short_of >= *last) return false;  // no value at all: not said here
  if (last) range.high = *last;
  if (short_of) range.low = *short_of + 1;
  return last || short_of;
}

/// Bounds of `e` as bounds of its only symbol.
auto narrow_symbol(Ranges& ranges, const Expr& e, Bounds bounds) -> bool {
  if (narrow_rising(ranges, e, bounds)) return true;
  if (e.op() == ExprOp::floor_div) {
    const auto k = e.args()[1].as_int().value_or(0);
    return k > 0 && narrow_symbol(ranges, e.args()[0], under_quotient(k, bounds));
  }
  const auto form = linear_form(e);
  if (!form || form->factor == std::numeric_limits<std::int64_t>::min()) return false;
  const auto [low, high] = under_linear(*form, bounds);
  Interval& range = ranges[form->symbol];
  const auto old_low = low_end(range);
  const auto old_high = high_end(range);
  Interval next = range;
  if (low && (!old_low || *low > *old_low)) next.low = *low;
  if (high && (!old_high || *high < *old_high)) next.high = *high;
  const auto a = low_end(next);
  const auto b = high_end(next);
  if ((a && b && *a > *b) || next == range) return false;
  range = next;
  return true;
}

}  // namespace

auto low_end(const Interval& interval) -> std::optional<std::int64_t> {
  return interval.low.as_int();
}
auto high_end(const Interval& interval) -> std::optional<std::int64_t> {
  return interval.high.as_int();
}

auto RangeSimplifier::apply(const Expr& e) -> Expr {
  if (!e.pool() || e.op() == ExprOp::symbol || !e.is_valid()) return e;
  if (const auto known = done_.find(e); known != done_.end()) return known->second;
  Expr result = rebuilt(e);
  if (!result.is_valid()) result = e;  // overflow while rewriting: keep what was given
  done_.emplace(e, result);
  return result;
}

auto RangeSimplifier::rebuilt(const Expr& e) -> Expr {
  std::vector<Expr> args;
  args.reserve(e.args().size());
  for (const Expr& arg : e.args()) args.push_back(apply(arg));
  const Expr same = make(*e.pool(), e.op(), args, e.name());
  if (!same.is_valid() || !same.pool()) return same;
  if (same.op() == ExprOp::floor_div) {
    const auto range = interval_of(same, ranges_);
    if (range.low == range.high && range.low.as_int()) return range.low;
  }
  return same.type() == ExprType::boolean ? comparison(same) : integer(same);
}

auto RangeSimplifier::integer(const Expr& e) -> Expr {
  const auto args = e.args();
  const ExprOp op = e.op();
  if (op == ExprOp::add) return joined_pairs(e);
  if (op == ExprOp::ceil_to_int || op == ExprOp::floor_to_int || op == ExprOp::trunc_to_int)
    return through_float(e);
  if (op == ExprOp::min || op == ExprOp::max) return extreme(e);
  if (op == ExprOp::floor_div || op == ExprOp::mod) return division(e);
  if (op == ExprOp::python_mod) return division(mod(args[0], args[1]));
  if (op == ExprOp::clean_div) return division(floor_div(args[0], args[1]));
  if (op == ExprOp::ceil_div) return -division(floor_div(-args[0], args[1]));
  if (op == ExprOp::modular_indexing)
    return division(mod(division(floor_div(args[0], args[1])), args[2]));
  if (op == ExprOp::abs_ && decide_statically(le(0, args[0]), ranges_) == true) return args[0];
  if (op == ExprOp::abs_ && decide_statically(le(args[0], 0), ranges_) == true) return -args[0];
  return e;
}

/// Quotient and remainder that belong together: c*(x mod y) + c*y*(x // y) is c*x.
auto RangeSimplifier::joined_pairs(const Expr& e) -> Expr {
  if (e.type() != ExprType::integer) return e;
  const Poly poly = to_poly(e);
  for (const Term& term : poly) {
    if (term.monomial.op() != ExprOp::mod) continue;
    const Expr x = term.monomial.args()[0];
    const Expr y = term.monomial.args()[1];
    const Expr pair = Expr(term.coefficient) * (y * floor_div(x, y));
    const Poly wanted = pair.is_valid() ? to_poly(pair) : Poly{};
    const bool there = !wanted.empty() && std::ranges::all_of(wanted, [&](const Term& part) {
      const auto at = std::ranges::find(poly, part.monomial, &Term::monomial);
      return at != poly.end() && at->coefficient == part.coefficient;
    });
    if (!there) continue;
    const Expr shorter =
        e - pair - Expr(term.coefficient) * term.monomial + Expr(term.coefficient) * x;
    return shorter.is_valid() && shorter.op() == ExprOp::add ? joined_pairs(shorter) : shorter;
  }
  return e;
}

/// Rounding of an exact quotient of integers, or of an integer that became a float. A quotient of
/// integers below kExactFloat is never rounded to or beyond an integer.
auto RangeSimplifier::through_float(const Expr& e) -> Expr {
  const Expr& inner = e.args()[0];
  if (const auto whole = whole_number(inner)) return apply(*whole);
  if (inner.op() != ExprOp::int_true_div && inner.op() != ExprOp::float_true_div) return e;
  auto over = whole_number(inner.args()[0]);
  auto under = whole_number(inner.args()[1]);
  if (!over || !under) return e;
  const bool is_negative = under->as_int().value_or(0) < 0;
  const Expr a = apply(is_negative ? -*over : *over);
  const Expr b = is_negative ? -*under : *under;
  const Expr down = division(floor_div(a, b));
  const Expr up = -division(floor_div(-a, b));
  if (e.op() == ExprOp::floor_to_int) return down;
  if (e.op() == ExprOp::ceil_to_int) return up;
  return make(ExprOp::where, std::array{le(0, down), down, up});
}

auto RangeSimplifier::extreme(const Expr& e) -> Expr {
  if (e.type() != ExprType::integer) return e;
  std::vector<Expr> args(e.args().begin(), e.args().end());
  const auto superfluous = [&](const Expr& x, const Expr& other) {
    const Expr order = e.op() == ExprOp::max ? le(x, other) : le(other, x);
    return decide_statically(order, ranges_) == true;
  };
  for (std::size_t i = 0; i < args.size() && args.size() > 1;) {
    const bool drop = std::ranges::any_of(
        args, [&](const Expr& other) { return other != args[i] && superfluous(args[i], other); });
    if (drop)
      args.erase(args.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
  return args.size() == e.args().size() ? e : make(*e.pool(), e.op(), args);
}

/// Quotients and remainders of small dividends: 0 <= x < y makes x // y == 0 and x mod y == x.
/// Quotients that are never positive become negated roundings up: (-x) // k is -((x + k - 1) // k),
/// of which more is known, and one in another is one again: -(-(x // 8) // 2) is (x + 8) // 16.
auto RangeSimplifier::division(const Expr& e) -> Expr {
  if (e.op() != ExprOp::floor_div && e.op() != ExprOp::mod) return e;
  const Expr& x = e.args()[0];
  const Expr& y = e.args()[1];
  const auto k = y.as_int().value_or(0);
  if (e.op() == ExprOp::floor_div && k > 1 && decide_statically(lt(x, 1), ranges_) == true) {
    const Expr rounded_up = -floor_div(k - 1 - x, y);
    return rounded_up.is_valid() ? rounded_up : e;
  }
  const bool small =
      decide_statically(le(0, x), ranges_) == true && decide_statically(lt(x, y), ranges_) == true;
  if (!small) return e;
  return e.op() == ExprOp::mod ? x : Expr(0);
}

auto RangeSimplifier::comparison(const Expr& e) -> Expr {
  if (const auto known = decide_statically(e, ranges_)) return Expr::boolean(*known);
  const bool compares = is_order(e.op()) || e.op() == ExprOp::eq || e.op() == ExprOp::ne;
  if (!compares || e.args()[0].type() != ExprType::integer ||
      e.args()[1].type() != ExprType::integer)
    return e;
  return without_common_factor(e);
}

/// a*x <= a*y with a > 0 is x <= y.
auto RangeSimplifier::without_common_factor(const Expr& e) -> Expr {
  const Expr difference = e.args()[0] - e.args()[1];
  if (!difference.is_valid() || !difference.pool()) return e;
  const Poly poly = to_poly(difference);
  const Expr common = common_monomial(*difference.pool(), poly);
  if (common.is_int(1)) return e;
  Product removable;
  for (const Factor& factor : to_product(common).factors) {
    const bool fits = is_order(e.op()) ? decide_statically(lt(0, factor.base), ranges_) == true
                                       : decide_statically(ne(factor.base, 0), ranges_) == true;
    if (fits) removable.factors.push_back(factor);
  }
  if (removable.factors.empty()) return e;
  auto& pool = *difference.pool();
  const auto rest = poly_div_term(pool, poly, {from_product(pool, removable), 1});
  if (!rest) return e;
  const Expr shorter = make(e.op(), std::array{from_poly(pool, *rest), Expr(0)});
  if (!shorter.is_valid()) return e;
  const auto known = decide_statically(shorter, ranges_);
  return known ? Expr::boolean(*known) : shorter;
}

namespace {

void add_condition(std::vector<Expr>& conditions, const Expr& condition) {
  if (condition.as_bool() == true) return;
  if (std::ranges::find(conditions, condition) == conditions.end()) conditions.push_back(condition);
}

void collect_conditions(const Expr& e, std::set<std::pair<const void*, std::int64_t>>& seen,
                        std::vector<Expr>& conditions) {
  if (!e.pool() || e.args().empty()) return;
  if (!seen.insert({e.args().data(), 0}).second) return;
  for (const Expr& arg : e.args()) collect_conditions(arg, seen, conditions);
  const auto args = e.args();
  if (e.op() == ExprOp::floor_div || e.op() == ExprOp::clean_div || e.op() == ExprOp::ceil_div ||
      e.op() == ExprOp::mod || e.op() == ExprOp::python_mod || e.op() == ExprOp::modular_indexing ||
      e.op() == ExprOp::int_true_div) {
    add_condition(conditions, ne(args[1], 0));
    if (e.op() == ExprOp::modular_indexing) add_condition(conditions, ne(args[2], 0));
  }
  if (e.op() == ExprOp::lshift || e.op() == ExprOp::rshift || e.op() == ExprOp::pow_by_natural ||
      (e.op() == ExprOp::pow && e.type() == ExprType::integer))
    add_condition(conditions, le(0, args[1]));
  // Everything else on floats may fail in ways that are not told here; nothing is proved of it.
  if (e.op() == ExprOp::opaque || e.op() == ExprOp::float_pow ||
      (e.op() == ExprOp::float_true_div && !is_safe_quotient(e)) ||
      e.op() == ExprOp::round_decimal || (e.op() == ExprOp::pow && e.type() == ExprType::real))
    conditions.push_back(Expr::boolean(false));
}

}  // namespace

auto value_conditions(const Expr& e) -> std::vector<Expr> {
  std::vector<Expr> conditions;
  std::set<std::pair<const void*, std::int64_t>> seen;
  collect_conditions(e, seen, conditions);
  return conditions;
}

auto narrow(Ranges& ranges, const Expr& assumption) -> bool {
  const ExprOp op = assumption.op();
  if (op == ExprOp::logic_and) {
    bool changed = false;
    for (const Expr& part : assumption.args()) changed = narrow(ranges, part) || changed;
    return changed;
  }
  if (op != ExprOp::le && op != ExprOp::lt && op != ExprOp::eq) return false;
  const Expr& a = assumption.args()[0];
  const Expr& b = assumption.args()[1];
  if (a.type() != ExprType::integer || b.type() != ExprType::integer) return false;
  const std::int64_t gap = op == ExprOp::lt ? 1 : 0;
  if (const auto c = b.as_int()) {
    const auto high = checked_add(*c, -gap);
    return narrow_symbol(ranges, a, {op == ExprOp::eq ? c : std::nullopt, high});
  }
  if (const auto c = a.as_int()) {
    const auto low = checked_add(*c, gap);
    return narrow_symbol(ranges, b, {low, op == ExprOp::eq ? c : std::nullopt});
  }
  return false;
}

auto connected(const Expr& claim, const std::vector<Expr>& assumptions)
    -> std::vector<std::size_t> {
  std::vector<std::size_t> found;
  std::set<std::string_view> reached;
  const auto reach = [&](const std::vector<Expr>& symbols) {
    for (const Expr& symbol : symbols) reached.insert(symbol.name());
  };
  reach(claim.symbols());
  std::vector<std::vector<Expr>> symbols;
  for (const Expr& assumption : assumptions) symbols.push_back(assumption.symbols());
  std::vector<bool> taken(assumptions.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < assumptions.size(); ++i) {
      const bool touches = std::ranges::any_of(
          symbols[i], [&](const Expr& s) { return reached.contains(s.name()); });
      if (taken[i] || !touches) continue;
      taken[i] = true;
      reach(symbols[i]);
      changed = true;
    }
  }
  for (std::size_t i = 0; i < assumptions.size(); ++i)
    if (taken[i]) found.push_back(i);
  return found;
}

}  // namespace assay
