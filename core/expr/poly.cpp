#include "core/expr/poly.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "core/expr/fold.h"

namespace assay {
namespace {

auto before(const Expr& a, const Expr& b) -> bool {
  return Expr::compare(a, b) < 0;
}

auto to_factor(const Expr& e) -> Factor {
  if (e.op() == ExprOp::pow) {
    const auto exponent = e.args()[1].as_int();
    if (exponent && *exponent >= 2 && e.type() == ExprType::integer)
      return {e.args()[0], *exponent};
  }
  return {e, 1};
}

/// Coefficient and monomial of a term; a product in normal form has at most one constant, in front.
auto to_term(const Expr& e) -> Term {
  if (const auto value = e.as_int()) return {Expr(1), *value};
  if (e.op() != ExprOp::mul || e.type() != ExprType::integer) return {e, 1};
  const auto coefficient = e.args()[0].as_int();
  if (!coefficient) return {e, 1};
  const auto rest = e.args().subspan(1);
  if (std::ranges::find(rest, ExprOp::mul, &Expr::op) != rest.end()) return {e, 1};
  if (rest.size() == 1) return {rest[0], *coefficient};
  return {e.pool()->intern(ExprOp::mul, ExprType::integer, rest), *coefficient};
}

auto exponents_merge(const std::vector<Factor>& a, const std::vector<Factor>& b)
    -> std::optional<std::vector<Factor>> {
  std::vector<Factor> merged;
  merged.reserve(a.size() + b.size());
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && before(x->base, y->base))) {
      merged.push_back(*x++);
    } else if (x == a.end() || before(y->base, x->base)) {
      merged.push_back(*y++);
    } else {
      const auto exponent = checked_add(x->exponent, y->exponent);
      if (!exponent) return std::nullopt;
      merged.push_back({x->base, *exponent});
      ++x;
      ++y;
    }
  }
  return merged;
}

auto power_node(ExprPool& pool, const Expr& base, std::int64_t exponent) -> Expr {
  const std::array args{base, Expr(exponent)};
  return pool.intern(ExprOp::pow, ExprType::integer, std::span<const Expr>(args));
}

auto degree(const std::vector<Factor>& factors) -> double {
  double total = 0;
  for (const Factor& f : factors) total += static_cast<double>(f.exponent);
  return total;
}

/// Graded lexicographic order: products keep it, which long division needs.
auto monomial_less(const Expr& a, const Expr& b) -> bool {
  const auto x = to_product(a).factors;
  const auto y = to_product(b).factors;
  const double dx = degree(x);
  const double dy = degree(y);
  if (dx != dy) return dx < dy;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    if (x[i].base != y[i].base) return before(y[i].base, x[i].base);
    if (x[i].exponent != y[i].exponent) return x[i].exponent < y[i].exponent;
  }
  return x.size() < y.size();
}

auto leading(const Poly& a) -> const Term& {
  return *std::ranges::max_element(
      a, [](const Term& x, const Term& y) { return monomial_less(x.monomial, y.monomial); });
}

}  // namespace

auto is_sum(const Expr& e) -> bool {
  if (e.op() != ExprOp::add || e.type() != ExprType::integer) return false;
  const auto args = e.args();
  Expr previous = to_term(args[0]).monomial;
  if (args.size() < 2) return false;
  for (const Expr& arg : args.subspan(1)) {
    const Expr current = to_term(arg).monomial;
    if (!before(previous, current)) return false;
    previous = current;
  }
  return true;
}

auto to_product(const Expr& e) -> Product {
  if (const auto value = e.as_int()) return {*value, {}};
  if (e.op() != ExprOp::mul || e.type() != ExprType::integer) return {1, {to_factor(e)}};
  Product product;
  auto args = e.args();
  if (const auto coefficient = args[0].as_int()) {
    product.coefficient = *coefficient;
    args = args.subspan(1);
  }
  for (const Expr& arg : args) {
    const Factor factor = to_factor(arg);
    const bool in_order =
        product.factors.empty() || before(product.factors.back().base, factor.base);
    if (arg.op() == ExprOp::mul || arg.as_int() || !in_order) return {1, {{e, 1}}};
    product.factors.push_back(factor);
  }
  return product;
}

auto to_poly(const Expr& e) -> Poly {
  if (e.is_int(0)) return {};
  if (!is_sum(e)) return {to_term(e)};
  Poly poly;
  poly.reserve(e.args().size());
  for (const Expr& arg : e.args()) poly.push_back(to_term(arg));
  return poly;
}

auto from_product(ExprPool& pool, const Product& product) -> Expr {
  std::vector<Expr> args;
  args.reserve(product.factors.size() + 1);
  if (product.coefficient == 0) return 0;
  if (product.coefficient != 1 || product.factors.empty()) args.emplace_back(product.coefficient);
  for (const auto& [base, exponent] : product.factors) {
    args.push_back(exponent == 1 ? base : power_node(pool, base, exponent));
  }
  return args.size() == 1
             ? args[0]
             : pool.intern(ExprOp::mul, ExprType::integer, std::span<const Expr>(args));
}

auto from_poly(ExprPool& pool, const Poly& poly) -> Expr {
  if (poly.empty()) return 0;
  std::vector<Expr> args;
  args.reserve(poly.size());
  for (const auto& [monomial, coefficient] : poly) {
    if (monomial.is_int(1)) {
      args.emplace_back(coefficient);
      continue;
    }
    if (coefficient == 1) {
      args.push_back(monomial);
      continue;
    }
    if (monomial.op() != ExprOp::mul || to_product(monomial).factors.size() < 2) {
      const std::array pair{Expr(coefficient), monomial};
      args.push_back(pool.intern(ExprOp::mul, ExprType::integer, std::span<const Expr>(pair)));
      continue;
    }
    std::vector<Expr> factors{Expr(coefficient)};
    factors.insert(factors.end(), monomial.args().begin(), monomial.args().end());
    args.push_back(pool.intern(ExprOp::mul, ExprType::integer, std::span<const Expr>(factors)));
  }
  return args.size() == 1
             ? args[0]
             : pool.intern(ExprOp::add, ExprType::integer, std::span<const Expr>(args));
}

auto collect(Poly terms) -> std::optional<Poly> {
  std::ranges::sort(terms, before, &Term::monomial);  // equal monomials are added up anyway
  Poly result;
  result.reserve(terms.size());
  for (const Term& term : terms) {
    if (!result.empty() && result.back().monomial == term.monomial) {
      const auto total = checked_add(result.back().coefficient, term.coefficient);
      if (!total) return std::nullopt;
      result.back().coefficient = *total;
    } else {
      if (!result.empty() && result.back().coefficient == 0) result.pop_back();
      result.push_back(term);
    }
  }
  if (!result.empty() && result.back().coefficient == 0) result.pop_back();
  return result;
}

auto poly_add(const Poly& a, const Poly& b) -> std::optional<Poly> {
  Poly all = a;
  all.insert(all.end(), b.begin(), b.end());
  return collect(std::move(all));
}

auto poly_scale(const Poly& a, std::int64_t factor) -> std::optional<Poly> {
  if (factor == 0) return Poly{};
  Poly scaled = a;
  for (Term& term : scaled) {
    const auto coefficient = checked_mul(term.coefficient, factor);
    if (!coefficient) return std::nullopt;
    term.coefficient = *coefficient;
  }
  return scaled;
}

auto poly_expanded(ExprPool& pool, const Poly& a, std::size_t max_terms) -> std::optional<Poly> {
  Poly result;
  for (const Term& term : a) {
    std::optional<Poly> product = Poly{{Expr(1), term.coefficient}};
    if (!term.monomial.is_int(1))
      for (const auto& [base, exponent] : to_product(term.monomial).factors) {
        const auto factor =
            is_sum(base) ? poly_expanded(pool, to_poly(base), max_terms) : to_poly(base);
        for (std::int64_t i = 0; i < exponent && product; ++i) {
          if (!factor || product->size() * factor->size() > max_terms) return std::nullopt;
          product = poly_mul(pool, *product, *factor);
        }
      }
    if (!product || result.size() + product->size() > max_terms) return std::nullopt;
    result.insert(result.end(), product->begin(), product->end());
  }
  return collect(std::move(result));
}

auto monomial_mul(ExprPool& pool, const Expr& a, const Expr& b) -> std::optional<Expr> {
  if (a.is_int(1)) return b;
  if (b.is_int(1)) return a;
  auto merged = exponents_merge(to_product(a).factors, to_product(b).factors);
  if (!merged) return std::nullopt;
  return from_product(pool, {1, std::move(*merged)});
}

auto poly_mul(ExprPool& pool, const Poly& a, const Poly& b) -> std::optional<Poly> {
  Poly terms;
  terms.reserve(a.size() * b.size());
  for (const Term& x : a) {
    for (const Term& y : b) {
      const auto coefficient = checked_mul(x.coefficient, y.coefficient);
      const auto monomial = monomial_mul(pool, x.monomial, y.monomial);
      if (!coefficient || !monomial) return std::nullopt;
      terms.push_back({*monomial, *coefficient});
    }
  }
  return collect(std::move(terms));
}

auto monomial_div(ExprPool& pool, const Expr& a, const Expr& b) -> std::optional<Expr> {
  if (b.is_int(1)) return a;
  if (a == b) return Expr(1);
  const auto x = to_product(a).factors;
  const auto y = to_product(b).factors;
  Product rest;
  auto next = y.begin();
  for (const Factor& factor : x) {
    if (next == y.end() || next->base != factor.base) {
      rest.factors.push_back(factor);
      continue;
    }
    if (factor.exponent < next->exponent) return std::nullopt;
    if (factor.exponent > next->exponent)
      rest.factors.push_back({factor.base, factor.exponent - next->exponent});
    ++next;
  }
  if (next != y.end()) return std::nullopt;
  return from_product(pool, rest);
}

auto monomial_gcd(ExprPool& pool, const Expr& a, const Expr& b) -> Expr {
  if (a.is_int(1) || b.is_int(1)) return 1;
  const auto y = to_product(b).factors;
  Product common;
  for (const Factor& factor : to_product(a).factors) {
    const auto same = std::ranges::find(y, factor.base, &Factor::base);
    if (same != y.end())
      common.factors.push_back({factor.base, std::min(factor.exponent, same->exponent)});
  }
  return from_product(pool, common);
}

auto common_monomial(ExprPool& pool, const Poly& a) -> Expr {
  if (a.empty()) return 1;
  Expr common = a[0].monomial;
  for (const Term& term : a) common = monomial_gcd(pool, common, term.monomial);
  return common;
}

auto poly_div_term(ExprPool& pool, const Poly& a, const Term& divisor) -> std::optional<Poly> {
  Poly quotient;
  for (const auto& [monomial, coefficient] : a) {
    if (checked_mod(coefficient, divisor.coefficient) != 0) return std::nullopt;
    const auto c = checked_floor_div(coefficient, divisor.coefficient);
    const auto m = monomial_div(pool, monomial, divisor.monomial);
    if (!c || !m) return std::nullopt;
    quotient.push_back({*m, *c});
  }
  return collect(std::move(quotient));
}

auto poly_div_exact(ExprPool& pool, const Poly& a, const Poly& b) -> std::optional<Poly> {
  constexpr std::size_t kMaxSteps = 32;
  const Term lead = leading(b);
  Poly rest = a;
  Poly quotient;
  for (std::size_t step = 0; !rest.empty(); ++step) {
    if (step == kMaxSteps) return std::nullopt;
    const auto term = poly_div_term(pool, {leading(rest)}, lead);
    if (!term) return std::nullopt;
    const auto part = poly_mul(pool, *term, b);
    const auto minus = part ? poly_scale(*part, -1) : std::nullopt;
    auto next = minus ? poly_add(rest, *minus) : std::nullopt;
    if (!next) return std::nullopt;
    rest = std::move(*next);
    quotient.push_back(term->front());
  }
  return collect(std::move(quotient));
}

auto divide_exactly(ExprPool& pool, const Poly& a, const Poly& b) -> std::optional<Poly> {
  if (b.empty()) return std::nullopt;
  return b.size() == 1 ? poly_div_term(pool, a, b[0]) : poly_div_exact(pool, a, b);
}

auto cancel_common(ExprPool& pool, const Poly& over, const Poly& under) -> std::optional<Fraction> {
  const Term common{monomial_gcd(pool, common_monomial(pool, over), common_monomial(pool, under)),
                    safe_gcd(content(over), content(under))};
  if (common.monomial.is_int(1) && common.coefficient == 1) return std::nullopt;
  auto a = poly_div_term(pool, over, common);
  auto b = poly_div_term(pool, under, common);
  if (!a || !b) return std::nullopt;
  return Fraction{std::move(*a), std::move(*b), common};
}

auto leads_negative(const Expr& e) -> bool {
  const Poly poly = without_constant(to_poly(e));
  return !poly.empty() && poly[0].coefficient < 0;
}

auto constant_of(const Poly& a) -> std::int64_t {
  return !a.empty() && a[0].monomial.is_int(1) ? a[0].coefficient : 0;
}

auto without_constant(Poly a) -> Poly {
  if (!a.empty() && a[0].monomial.is_int(1)) a.erase(a.begin());
  return a;
}

auto safe_gcd(std::int64_t a, std::int64_t b) -> std::int64_t {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  if (a == kMin || b == kMin) return 1;  // |min| does not fit; 1 divides everything
  return std::gcd(a, b);
}

auto content(const Poly& a) -> std::int64_t {
  std::int64_t divisor = 0;
  for (const Term& term : a) divisor = safe_gcd(divisor, term.coefficient);
  return divisor;
}

}  // namespace assay
