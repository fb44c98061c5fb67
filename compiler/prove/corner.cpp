#include "compiler/prove/corner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/prove/normalise.h"
#include "core/expr/fold.h"
#include "core/expr/int128.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

constexpr std::int64_t kMaxModulus = 64;
constexpr int kMaxDepth = 8;
constexpr std::int64_t kMaxValues = 16;  ///< a symbol with at most so many values may be enumerated
constexpr std::size_t kMaxVariables = 8;
constexpr std::size_t kMaxTerms = 200;

/// Exponents by variable -> coefficient.
using Dense = std::map<std::vector<int>, Int128>;
constexpr Int128 kHuge = static_cast<Int128>(1) << 110;

struct Variable {
  Expr atom;
  std::optional<std::int64_t> low, high;
};

/// A polynomial in its atoms; nothing when it is too big to be looked at.
struct Shifted {
  std::vector<Variable> variables;
  Dense terms;
};

auto to_dense(const Poly& poly, const Ranges& ranges) -> std::optional<Shifted> {
  Shifted result;
  if (poly.size() > kMaxTerms) return std::nullopt;
  const auto index_of = [&](const Expr& atom) -> std::optional<std::size_t> {
    const auto at = std::ranges::find(result.variables, atom, &Variable::atom);
    if (at != result.variables.end())
      return static_cast<std::size_t>(at - result.variables.begin());
    if (result.variables.size() == kMaxVariables) return std::nullopt;
    const Interval range = interval_of(atom, ranges);
    result.variables.push_back({atom, low_end(range), high_end(range)});
    return result.variables.size() - 1;
  };
  for (const Term& term : poly) {
    std::vector<int> exponents(kMaxVariables);
    const auto factors =
        term.monomial.is_int(1) ? std::vector<Factor>() : to_product(term.monomial).factors;
    for (const Factor& factor : factors) {
      const auto index = index_of(factor.base);
      if (!index || factor.exponent > 8) return std::nullopt;
      exponents[*index] += static_cast<int>(factor.exponent);
    }
    result.terms[exponents] += term.coefficient;
  }
  return result;
}

/// Adds coefficient * monomial; false when a coefficient gets too big.
auto accumulate(Dense& terms, const std::vector<int>& exponents, Int128 coefficient) -> bool {
  Int128& total = terms[exponents];
  total += coefficient;
  return total < kHuge && total > -kHuge && coefficient < kHuge && coefficient > -kHuge;
}

/// value * base^exponent.
auto times_power(Int128 value, Int128 base, int exponent) -> std::optional<Int128> {
  for (; exponent > 0; --exponent)
    if (__builtin_mul_overflow(value, base, &value)) return std::nullopt;
  return value;
}

/// x := start + sign * t for one variable.
auto shifted(const Dense& terms, std::size_t variable, std::int64_t start, int sign)
    -> std::optional<Dense> {
  Dense result;
  for (const auto& [exponents, coefficient] : terms) {
    const int n = exponents[variable];
    Int128 choose = 1;
    for (int k = 0; k <= n; ++k) {  // C(n, k) start^(n-k) (sign t)^k
      const auto chosen = times_power(coefficient, k % 2 == 1 && sign < 0 ? -choose : choose, 1);
      const auto part = chosen ? times_power(*chosen, start, n - k) : std::nullopt;
      if (!part) return std::nullopt;
      std::vector<int> moved = exponents;
      moved[variable] = k;
      if (*part != 0 && !accumulate(result, moved, *part)) return std::nullopt;
      choose = choose * (n - k) / (k + 1);
    }
  }
  return result;
}

/// In negative terms, a distance with a known largest value is replaced by that value.
auto with_largest(const Dense& terms, const std::vector<Variable>& variables)
    -> std::optional<Dense> {
  Dense result;
  for (const auto& [exponents, coefficient] : terms) {
    std::vector<int> rest = exponents;
    std::optional<Int128> part = coefficient;
    for (std::size_t i = 0; part && coefficient < 0 && i < variables.size(); ++i) {
      const auto& v = variables[i];
      if (!v.low || !v.high) continue;
      part = times_power(*part, Int128{*v.high} - *v.low, std::exchange(rest[i], 0));
    }
    if (!part || !accumulate(result, rest, *part)) return std::nullopt;
  }
  return result;
}

auto no_negative(const Dense& terms, std::int64_t above) -> bool {
  const std::vector<int> constant(kMaxVariables);
  const auto at = terms.find(constant);
  if ((at == terms.end() ? Int128{0} : at->second) < above) return false;
  return std::ranges::all_of(terms, [](const auto& term) { return term.second >= 0; });
}

/// All symbols moved to the ends of their ranges; `mirrored` says which start from the high end.
auto corner_holds(const Shifted& poly, unsigned mirrored, std::int64_t above) -> bool {
  Dense terms = poly.terms;
  for (std::size_t i = 0; i < poly.variables.size(); ++i) {
    const auto& v = poly.variables[i];
    const bool from_high = v.high && (!v.low || (mirrored >> i & 1U) != 0);
    if (!from_high && !v.low) {  // unbounded: must not occur
      const auto occurs = [&](const auto& term) { return term.first[i] > 0 && term.second != 0; };
      if (std::ranges::any_of(terms, occurs)) return false;
      continue;
    }
    auto moved = shifted(terms, i, from_high ? *v.high : *v.low, from_high ? -1 : 1);
    if (!moved || moved->size() > kMaxTerms) return false;
    terms = *std::move(moved);
  }
  if (no_negative(terms, above)) return true;
  const auto bounded = with_largest(terms, poly.variables);
  return bounded && no_negative(*bounded, above);
}

auto at_least(const Poly& terms, std::int64_t above, const Ranges& ranges) -> bool {
  const auto poly = to_dense(terms, ranges);
  if (!poly) return false;
  unsigned both = 0;  // variables with two ends may start from either
  for (std::size_t i = 0; i < poly->variables.size(); ++i)
    if (poly->variables[i].low && poly->variables[i].high) both |= 1U << i;
  // Of the 2^n corners the two extreme ones and the single changes are tried.
  if (corner_holds(*poly, 0, above) || (both != 0 && corner_holds(*poly, both, above))) return true;
  for (std::size_t i = 0; i < poly->variables.size(); ++i)
    if ((both >> i & 1U) != 0 && both != 1U << i && corner_holds(*poly, 1U << i, above))
      return true;
  return false;
}

auto find_modulus(const Expr& x, std::int64_t k) -> std::optional<std::pair<Expr, std::int64_t>> {
  const Poly poly = to_poly(x);
  for (const Expr& symbol : x.symbols()) {
    std::int64_t g = 0;
    for (const Term& term : poly) {
      const auto factors = to_product(term.monomial).factors;
      if (std::ranges::find(factors, symbol, &Factor::base) != factors.end())
        g = safe_gcd(g, term.coefficient);
    }
    const std::int64_t m = k / safe_gcd(k, g);
    if (g != 0 && m > 1 && m <= kMaxModulus) return std::pair{symbol, m};
  }
  return std::nullopt;
}

/// A symbol and a modulus that make an innermost division by a constant exact.
auto find_split(const Expr& e, std::set<const void*>& seen)
    -> std::optional<std::pair<Expr, std::int64_t>> {
  if (e.args().empty() || !seen.insert(e.args().data()).second) return std::nullopt;
  for (const Expr& arg : e.args())
    if (const auto inner = find_split(arg, seen)) return inner;
  if (e.op() != ExprOp::floor_div && e.op() != ExprOp::mod) return std::nullopt;
  const auto k = e.args()[1].as_int();
  return k && *k > 1 ? find_modulus(e.args()[0], *k) : std::nullopt;
}

/// e == rest + factor * symbol, where the symbol occurs nowhere else.
struct LinearIn {
  Poly rest, factor;
};
auto linear_in(const Poly& e, const Expr& symbol) -> std::optional<LinearIn> {
  auto& pool = *symbol.pool();
  Poly rest, factor;
  for (const Term& term : e) {
    const auto symbols = term.monomial.symbols();
    if (std::ranges::find(symbols, symbol) == symbols.end()) {
      rest.push_back(term);
      continue;
    }
    const auto quotient = monomial_div(pool, term.monomial, symbol);
    if (!quotient) return std::nullopt;  // inside another function
    const auto left = quotient->symbols();
    if (std::ranges::find(left, symbol) != left.end()) return std::nullopt;
    factor.push_back({*quotient, term.coefficient});
  }
  if (factor.empty()) return std::nullopt;
  return LinearIn{std::move(rest), std::move(factor)};
}

/// A bound that an assumption gives a symbol: symbol <= end, or symbol >= end.
struct SymbolBound {
  Expr symbol, end;
  bool upper = false;
};
void add_bounds(const Expr& assumption, std::vector<SymbolBound>& bounds) {
  const ExprOp op = assumption.op();
  if (op != ExprOp::le && op != ExprOp::lt && op != ExprOp::eq) return;
  if (assumption.args()[0].type() != ExprType::integer ||
      assumption.args()[1].type() != ExprType::integer)
    return;
  // 0 <= gap, with the symbol in it once and with the factor 1 or -1
  const Expr gap = assumption.args()[1] - assumption.args()[0] - (op == ExprOp::lt ? 1 : 0);
  if (!gap.is_valid()) return;
  for (const Expr& symbol : gap.symbols()) {
    const auto form = linear_in(to_poly(gap), symbol);
    if (!form || symbol.type() != ExprType::integer) continue;
    const Expr factor = from_poly(*symbol.pool(), form->factor);
    const bool minus = factor.is_int(-1);
    if (!minus && !factor.is_int(1)) continue;
    const Expr rest = from_poly(*symbol.pool(), form->rest);
    const Expr end = minus ? rest : -rest;
    bounds.push_back({symbol, end, minus});
    if (op == ExprOp::eq) bounds.push_back({symbol, end, !minus});
  }
}

/// A lower bound of `e`: symbols in which it is monotone are moved to the ends that assumptions
/// give them, one after the other; those already moved do not come back.
auto at_corners(ExprPool& pool, Poly e, const std::vector<SymbolBound>& bounds,
                const Ranges& ranges) -> Poly {
  std::vector<Expr> gone;
  for (const SymbolBound& bound : bounds) {
    const auto symbols = bound.end.symbols();
    const auto is_gone = [&](const Expr& x) { return std::ranges::find(gone, x) != gone.end(); };
    if (is_gone(bound.symbol) || std::ranges::any_of(symbols, is_gone)) continue;
    const auto form = linear_in(e, bound.symbol);
    if (!form) continue;
    const auto rise = bound.upper ? poly_scale(form->factor, -1) : form->factor;
    if (!rise || !at_least(from_poly(pool, *rise), 0, ranges)) continue;
    const auto part = poly_mul(pool, form->factor, to_poly(bound.end));
    const auto sum = part ? poly_add(form->rest, *part) : std::nullopt;
    const auto moved = sum ? poly_expanded(pool, *sum, kMaxTerms) : std::nullopt;
    if (!moved) continue;
    e = *moved;
    gone.push_back(bound.symbol);
  }
  return e;
}

/// The t for which m t + r lies in the range; nothing where its ends are too far away.
auto quotients(const Interval& range, std::int64_t m, std::int64_t r) -> std::optional<Interval> {
  Interval part;
  if (const auto low = low_end(range)) {
    const auto above = checked_add(*low, -r);
    const auto minus = above ? checked_mul(*above, -1) : std::nullopt;
    const auto end = minus ? checked_floor_div(*minus, m) : std::nullopt;
    if (!end) return std::nullopt;
    part.low = -*end;
  }
  if (const auto high = high_end(range)) {
    const auto below = checked_add(*high, -r);
    const auto end = below ? checked_floor_div(*below, m) : std::nullopt;
    if (!end) return std::nullopt;
    part.high = *end;
  }
  return part;
}

/// Substitution makes claims grow, and the time they take grows faster than they do.
auto work_of(const Expr& claim, const std::vector<Expr>& assumptions) -> int {
  constexpr double kOrdinarySize = 150;
  double size = claim.tree_size();
  for (const Expr& a : assumptions) size += a.tree_size();
  const double work = size / kOrdinarySize;
  return 1 + static_cast<int>(std::min(work * std::sqrt(work), 1e6));
}

auto compare_holds(const Expr& claim, const std::vector<Expr>& assumptions, const Ranges& ranges)
    -> bool {
  const auto args = claim.args();
  if (args[0].type() != ExprType::integer || args[1].type() != ExprType::integer) return false;
  const Expr up = args[1] - args[0];
  const Expr down = args[0] - args[1];
  if (!up.is_valid() || !down.is_valid()) return false;
  std::vector<SymbolBound> bounds;
  for (const Expr& a : assumptions) add_bounds(a, bounds);
  const auto reaches = [&](const Expr& e, std::int64_t above) {
    if (at_least(e, above, ranges)) return true;
    if (bounds.empty() || !e.pool()) return false;
    const auto poly = poly_expanded(*e.pool(), to_poly(e), kMaxTerms);
    return poly && at_least(from_poly(*e.pool(), at_corners(*e.pool(), *poly, bounds, ranges)),
                            above, ranges);
  };
  if (claim.op() == ExprOp::le) return reaches(up, 0);
  if (claim.op() == ExprOp::lt) return reaches(up, 1);
  if (claim.op() == ExprOp::ge) return reaches(down, 0);
  if (claim.op() == ExprOp::gt) return reaches(down, 1);
  if (claim.op() == ExprOp::ne) return reaches(up, 1) || reaches(down, 1);
  return claim.op() == ExprOp::eq && reaches(up, 0) && reaches(down, 0);
}

}  // namespace

auto at_least(const Expr& e, std::int64_t above, const Ranges& ranges) -> bool {
  if (const auto value = e.as_int()) return *value >= above;
  if (!e.pool() || e.type() != ExprType::integer) return false;
  const Poly poly = to_poly(e);
  if (at_least(poly, above, ranges)) return true;
  const bool has_sums = std::ranges::any_of(poly, [](const Term& term) {
    return !term.monomial.is_int(1) &&
           std::ranges::any_of(to_product(term.monomial).factors,
                               [](const Factor& factor) { return is_sum(factor.base); });
  });
  if (!has_sums) return false;
  const auto expanded = poly_expanded(*e.pool(), poly, kMaxTerms);
  return expanded && at_least(*expanded, above, ranges);
}

auto highest_corner(const std::vector<Expr>& symbols, const std::vector<Expr>& assumptions,
                    const Ranges& ranges) -> Binding {
  Binding point;
  for (const Expr& symbol : symbols)
    point[symbol] = Expr(low_end(interval_of(symbol, ranges)).value_or(0));
  std::vector<SymbolBound> bounds;
  for (const Expr& a : assumptions) add_bounds(a, bounds);
  std::vector<Expr> moved;
  for (const SymbolBound& bound : bounds) {
    const auto symbols_of_end = bound.end.symbols();
    const auto is_moved = [&](const Expr& x) { return std::ranges::find(moved, x) != moved.end(); };
    if (!bound.upper || is_moved(bound.symbol) || std::ranges::any_of(symbols_of_end, is_moved))
      continue;
    const auto end = evaluate(bound.end, point);
    if (!end || !end->as_int()) continue;
    point[bound.symbol] = *end;
    moved.push_back(bound.symbol);
  }
  return point;
}

auto CaseProof::holds(const Expr& claim, const std::vector<Expr>& assumptions, const Ranges& ranges)
    -> bool {
  std::vector<Expr> parts = value_conditions(claim);
  parts.push_back(claim);
  return std::ranges::all_of(parts,
                             [&](const Expr& part) { return prove(part, assumptions, ranges, 0); });
}

auto CaseProof::prove(const Expr& claim, const Assumptions& assumptions, Ranges ranges, int depth)
    -> bool {
  const int work = work_of(claim, assumptions);
  cases_left_ -= work;
  cases_ += work;
  if (cases_left_ < 0) return false;
  for (const Expr& a : assumptions) narrow(ranges, a);
  RangeSimplifier simplifier(ranges);
  Assumptions kept;
  for (const Expr& a : assumptions) {
    const Expr simple = simplifier.apply(a);
    if (simple.as_bool() == false) return true;
    // Bounds live in the ranges by now, which decide the assumption itself: that loses nothing.
    if (!simple.as_bool()) kept.push_back(simple);
  }
  const Expr goal = simplifier.apply(claim);
  if (const auto known = goal.as_bool()) return *known;
  if (goal.op() == ExprOp::logic_and)
    return std::ranges::all_of(goal.args(),
                               [&](const Expr& part) { return prove(part, kept, ranges, depth); });
  if (goal.op() == ExprOp::logic_or) return prove_either(goal, kept, ranges, depth);
  if (goal.args().size() == 2 && compare_holds(goal, kept, ranges)) return true;
  if (std::ranges::find(kept, goal) != kept.end()) return true;
  return depth < kMaxDepth && split(goal, kept, ranges, depth);
}

/// One part of a disjunction; the other parts may be taken to be false.
auto CaseProof::prove_either(const Expr& claim, const Assumptions& assumptions,
                             const Ranges& ranges, int depth) -> bool {
  return std::ranges::any_of(claim.args(), [&](const Expr& part) {
    Assumptions others = assumptions;
    for (const Expr& other : claim.args())
      if (other != part) others.push_back(logic_not(other));
    return prove(part, others, ranges, depth);
  });
}

auto CaseProof::prove_with(const Expr& symbol, const Expr& by, const Expr& claim,
                           const Assumptions& assumptions, const Ranges& ranges, int depth)
    -> bool {
  const std::unordered_map<Expr, Expr> replacement{{symbol, by}};
  Assumptions moved;
  for (const Expr& a : assumptions) moved.push_back(substitute(a, replacement));
  return prove(substitute(claim, replacement), moved, ranges, depth + 1);
}

/// Every value of the first symbol that has few.
auto CaseProof::split_values(const Expr& claim, const Assumptions& assumptions,
                             const Ranges& ranges, int depth) -> bool {
  for (const Expr& symbol : claim.symbols()) {
    const Interval range = interval_of(symbol, ranges);
    const auto low = low_end(range);
    const auto high = high_end(range);
    if (!low || !high || *high - *low >= kMaxValues || *high - *low < 0) continue;
    for (std::int64_t value = *low; value <= *high; ++value)
      if (!prove_with(symbol, Expr(value), claim, assumptions, ranges, depth)) return false;
    return true;
  }
  return false;
}

/// x == m t + r for every remainder r of a divisor m of x, else every value of x.
auto CaseProof::split(const Expr& claim, const Assumptions& assumptions, const Ranges& ranges,
                      int depth) -> bool {
  std::set<const void*> seen;
  auto chosen = find_split(claim, seen);
  for (const Expr& a : assumptions)
    if (!chosen) chosen = find_split(a, seen);
  if (!chosen) return split_values(claim, assumptions, ranges, depth);
  const auto [symbol, m] = *chosen;
  const Interval range = interval_of(symbol, ranges);
  const Expr t = symbol.pool()->symbol(fmt::format("assay_t{}", depth));
  for (std::int64_t r = 0; r < m; ++r) {
    const auto part = quotients(range, m, r);
    if (!part) return false;
    if (const auto low = low_end(*part), high = high_end(*part); low && high && *low > *high)
      continue;
    Ranges inside = ranges;
    inside[t] = *part;
    if (!prove_with(symbol, Expr(m) * t + r, claim, assumptions, inside, depth)) return false;
  }
  return true;
}

}  // namespace assay
