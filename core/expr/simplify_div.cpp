// Division and remainder. Every rule holds for all integers, negative ones included, under floor
// semantics; rules.h lists them and the property tests evaluate both sides.
#include <algorithm>

#include "core/expr/fold.h"
#include "core/expr/rewriting.h"
#include "core/expr/simplify.h"

namespace assay {
namespace {

auto constant_poly(std::int64_t value) -> Poly {
  return value == 0 ? Poly{} : Poly{{Expr(1), value}};
}

/// Moves the terms that the single term b divides from `a` to the result.
auto take_multiples(ExprPool& pool, Poly& a, const Term& b) -> Poly {
  Poly quotient;
  Poly rest;
  for (const Term& term : a) {
    const auto part = poly_div_term(pool, {term}, b);
    if (part) {
      quotient.push_back(part->front());
    } else {
      rest.push_back(term);
    }
  }
  a = std::move(rest);
  return collect(std::move(quotient)).value_or(Poly{});  // terms differ, so nothing is added up
}

/// A term modulo k: with a smaller coefficient, without an inner remainder that k absorbs, which
/// sets `changed`.
auto reduced_term(const Term& term, std::int64_t k, bool& changed) -> std::optional<Poly> {
  const bool negative = term.coefficient < 0 && !term.monomial.is_int(1);
  // A negative coefficient stays negative: PyTorch's Mod wants no large positive detour.
  const std::int64_t c =
      negative ? term.coefficient % k : checked_mod(term.coefficient, k).value_or(0);
  if (c == 0) return Poly{};
  const bool is_mod = term.monomial.op() == ExprOp::mod || term.monomial.op() == ExprOp::python_mod;
  const auto m = is_mod ? term.monomial.args()[1].as_int() : std::nullopt;
  const auto step = m ? checked_mul(*m, c) : std::nullopt;
  if (!step || *step % k != 0) return Poly{{term.monomial, c}};
  changed = true;
  return poly_scale(to_poly(term.monomial.args()[0]), c);
}

}  // namespace

auto Simplifier::floor_div(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  const Expr& b = args[1];
  if (b.is_int(0)) return Expr::invalid();
  if (b.is_int(1)) return a;
  if (b.is_int(-1)) return negate(a);
  if (a.is_int(0)) return 0;
  if (a == b) return 1;
  const auto k = b.as_int();
  std::optional<Expr> result;
  if (k && *k > 0) {
    result = floor_div_constant(a, *k);
  } else if (k || leads_negative(b)) {
    // floor(a / -b) == floor(-a / b)
    const auto minus_a = from_terms(poly_scale(to_poly(a), -1));
    const auto minus_b = from_terms(poly_scale(to_poly(b), -1));
    if (minus_a && minus_b) return make(op, {*minus_a, *minus_b});
  } else {
    result = floor_div_symbolic(a, b);
  }
  return result ? *result : keep(op, args);
}

auto Simplifier::floor_div_constant(const Expr& a, std::int64_t k) -> std::optional<Expr> {
  Poly quotient;
  Poly rest;
  const Poly poly = to_poly(a);
  std::int64_t constant = constant_of(poly);
  for (const Term& term : poly) {
    if (term.monomial.is_int(1)) continue;
    if (term.coefficient % k == 0) {
      quotient.push_back({term.monomial, term.coefficient / k});
    } else {
      rest.push_back(term);
    }
  }
  std::optional<Expr> inner;
  const std::int64_t whole = checked_floor_div(constant, k).value_or(0);
  constant = checked_mod(constant, k).value_or(0);
  if (rest.empty()) {
    inner = Expr(0);
  } else {
    // floor((g x + c) / (g k)) == floor((x + floor(c / g)) / k)
    const std::int64_t divisor = safe_gcd(k, content(rest));
    for (Term& term : rest) term.coefficient /= divisor;
    k /= divisor;
    constant /= divisor;  // both positive
    rest.insert(rest.begin(), Term{Expr(1), constant});
    if (constant == 0) rest.erase(rest.begin());
    if (k > 1) inner = unnest_floor_div(rest, k);
    if (!inner) {
      const Expr over = from_poly(*pool_, rest);
      inner = k == 1 ? over : keep(ExprOp::floor_div, {over, Expr(k)});
    }
  }
  const auto outside = poly_add(quotient, constant_poly(whole));
  if (!outside) return std::nullopt;
  return make(ExprOp::add, {from_poly(*pool_, *outside), *inner});
}

/// (x // m + c) // k == (x + c m) // (k m) for positive m and k.
auto Simplifier::unnest_floor_div(const Poly& rest, std::int64_t k) -> std::optional<Expr> {
  const Poly inner = without_constant(rest);
  if (inner.size() != 1 || inner[0].coefficient != 1) return std::nullopt;
  const Expr& division = inner[0].monomial;
  if (division.op() != ExprOp::floor_div) return std::nullopt;
  const auto m = division.args()[1].as_int();
  if (!m || *m <= 0) return std::nullopt;
  const auto divisor = checked_mul(*m, k);
  const auto shift = checked_mul(*m, constant_of(rest));
  if (!divisor || !shift) return std::nullopt;
  const auto over = from_terms(poly_add(to_poly(division.args()[0]), constant_poly(*shift)));
  if (!over) return std::nullopt;
  return make(ExprOp::floor_div, {*over, Expr(*divisor)});
}

auto Simplifier::floor_div_symbolic(const Expr& a, const Expr& b) -> std::optional<Expr> {
  Poly over = to_poly(a);
  const Poly under = to_poly(b);
  if (const auto exact = divide_exactly(*pool_, over, under)) return from_poly(*pool_, *exact);
  if (under.size() == 1) {
    const Poly quotient = take_multiples(*pool_, over, under[0]);
    if (!quotient.empty()) {
      const Expr rest = make(ExprOp::floor_div, {from_poly(*pool_, over), b});
      return make(ExprOp::add, {from_poly(*pool_, quotient), rest});
    }
  }
  const auto reduced = cancel_common(*pool_, over, under);
  if (!reduced) return std::nullopt;
  return make(ExprOp::floor_div,
              {from_poly(*pool_, reduced->over), from_poly(*pool_, reduced->under)});
}

auto Simplifier::clean_div(ExprOp op, Args args) -> Expr {
  const Expr& b = args[1];
  if (b.is_int(0)) return Expr::invalid();
  if (b.is_int(1)) return args[0];
  const Poly over = to_poly(args[0]);
  const Poly under = to_poly(b);
  if (const auto exact = divide_exactly(*pool_, over, under)) return from_poly(*pool_, *exact);
  const auto reduced = cancel_common(*pool_, over, under);
  if (!reduced) return keep(op, args);
  return make(op, {from_poly(*pool_, reduced->over), from_poly(*pool_, reduced->under)});
}

auto Simplifier::ceil_div(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  const Expr& b = args[1];
  if (b.is_int(0)) return Expr::invalid();
  const auto k = b.as_int();
  if (k && *k > 0) {
    const auto over = from_terms(poly_add(to_poly(a), constant_poly(*k - 1)));
    return over ? make(ExprOp::floor_div, {*over, b}) : keep(op, args);
  }
  if (k || leads_negative(b)) {
    const auto minus_a = from_terms(poly_scale(to_poly(a), -1));
    const auto minus_b = from_terms(poly_scale(to_poly(b), -1));
    return minus_a && minus_b ? make(op, {*minus_a, *minus_b}) : keep(op, args);
  }
  const auto exact = divide_exactly(*pool_, to_poly(a), to_poly(b));
  return exact ? from_poly(*pool_, *exact) : keep(op, args);
}

/// A fault is on: rules that undo each other.
auto Simplifier::is_undone() -> bool {
  const auto* watch = RewriteWatch::current();
  return watch != nullptr && watch->undoes();
}

auto Simplifier::mod(ExprOp op, Args args) -> Expr {
  const Expr& a = args[0];
  const Expr& b = args[1];
  if (b.is_int(0)) return Expr::invalid();
  if (b.is_int(1) || b.is_int(-1) || a.is_int(0) || a == b) return 0;
  if (is_undone()) return make(ExprOp::modular_indexing, {a, Expr(1), b});
  const auto k = b.as_int();
  std::optional<Expr> result;
  if (k && *k > 0) {
    result = mod_constant(op, a, *k);
  } else if (k || leads_negative(b)) {
    // a mod -b == -(-a mod b)
    const auto minus_a = from_terms(poly_scale(to_poly(a), -1));
    const auto minus_b = from_terms(poly_scale(to_poly(b), -1));
    if (minus_a && minus_b) return negate(make(op, {*minus_a, *minus_b}));
  } else {
    result = mod_symbolic(op, a, b);
  }
  return result ? *result : keep(op, args);
}

/// An equal value modulo k with smaller coefficients and without inner remainders that k absorbs.
auto Simplifier::reduce_modulo(Poly a, std::int64_t k) -> std::optional<Poly> {
  for (bool changed = true; changed && --fuel_ > 0;) {
    changed = false;
    Poly next;
    for (const Term& term : a) {
      const auto part = reduced_term(term, k, changed);
      if (!part) return std::nullopt;
      next.insert(next.end(), part->begin(), part->end());
    }
    auto merged = collect(std::move(next));
    if (!merged) return std::nullopt;
    for (const Term& term : *merged) {
      changed = changed || term.coefficient >= k || term.coefficient <= -k;
    }
    a = std::move(*merged);
  }
  return a;
}

auto Simplifier::mod_constant(ExprOp op, const Expr& a, std::int64_t k) -> std::optional<Expr> {
  const auto reduced = reduce_modulo(to_poly(a), k);
  if (!reduced) return std::nullopt;
  Poly rest = without_constant(*reduced);
  std::int64_t constant = checked_mod(constant_of(*reduced), k).value_or(0);
  if (rest.empty()) return Expr(constant);
  // (g x + c) mod (g k) == g ((x + c // g) mod k) + c mod g
  const std::int64_t divisor = safe_gcd(k, content(rest));
  for (Term& term : rest) term.coefficient /= divisor;
  const std::int64_t outside = constant % divisor;
  const std::int64_t inside = constant / divisor;
  const std::int64_t smaller = k / divisor;
  if (divisor > 1) {
    const auto over = from_terms(poly_add(rest, constant_poly(inside)));
    if (!over) return std::nullopt;
    const Expr inner = make(op, {*over, Expr(smaller)});
    return make(ExprOp::add, {make(ExprOp::mul, {Expr(divisor), inner}), Expr(outside)});
  }
  if (rest.size() == 1 && rest[0].coefficient == 1 && constant == 0) {
    // x mod m is already within [0, k) for 0 < m <= k.
    const Expr& inner = rest[0].monomial;
    const bool is_mod = inner.op() == ExprOp::mod || inner.op() == ExprOp::python_mod;
    const auto m = is_mod ? inner.args()[1].as_int() : std::nullopt;
    if (m && *m > 0 && *m <= k) return inner;
  }
  const auto over = from_terms(poly_add(rest, constant_poly(constant)));
  if (!over) return std::nullopt;
  return keep(op, {*over, Expr(k)});
}

auto Simplifier::mod_symbolic(ExprOp op, const Expr& a, const Expr& b) -> std::optional<Expr> {
  Poly over = to_poly(a);
  const Poly under = to_poly(b);
  if (divide_exactly(*pool_, over, under)) return Expr(0);
  if (under.size() == 1 && !take_multiples(*pool_, over, under[0]).empty())
    return make(op, {from_poly(*pool_, over), b});
  const auto reduced = cancel_common(*pool_, over, under);
  if (!reduced) return std::nullopt;
  const Expr inner =
      make(op, {from_poly(*pool_, reduced->over), from_poly(*pool_, reduced->under)});
  return make(ExprOp::mul, {from_poly(*pool_, {reduced->common}), inner});
}

auto Simplifier::modular_indexing(ExprOp op, Args args) -> Expr {
  const Expr& x = args[0];
  const Expr& d = args[1];
  const Expr& m = args[2];
  if (d.is_int(0) || m.is_int(0)) return Expr::invalid();
  if (x.is_int(0) || m.is_int(1) || m.is_int(-1)) return 0;
  if (d.is_int(1) && is_undone()) return make(ExprOp::mod, {x, m});
  const auto k = d.as_int();
  if (k && *k > 0) {
    // Move the constant gcd out, as floor_div does.
    const Poly poly = to_poly(x);
    const std::int64_t divisor = safe_gcd(*k, content(poly));
    if (divisor > 1) {
      const auto over = from_terms(poly_div_term(*pool_, poly, {Expr(1), divisor}));
      if (over) return make(op, {*over, Expr(*k / divisor), m});
    }
  }
  return keep(op, args);
}

}  // namespace assay
