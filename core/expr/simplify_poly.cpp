// Sums, products and powers. Integers go through the polynomial normal form (poly.h); floating
// point keeps the order of its operations, because rounding makes it matter.
#include <algorithm>

#include "core/expr/fold.h"
#include "core/expr/simplify.h"

namespace assay {
namespace {

auto all_integer(std::span<const Expr> args) -> bool {
  return std::ranges::all_of(args, [](const Expr& e) { return e.type() == ExprType::integer; });
}

/// Number of terms of a sum of `terms` terms to a power: C(terms + exponent - 1, exponent).
auto power_terms(std::size_t terms, std::int64_t exponent) -> std::int64_t {
  if (exponent > kMaxExpandedTerms) return kMaxExpandedTerms + 1;
  std::int64_t count = 1;
  for (std::int64_t i = 1; i <= exponent; ++i) {
    count = count * (static_cast<std::int64_t>(terms) - 1 + i) / i;
    if (count > kMaxExpandedTerms) return kMaxExpandedTerms + 1;
  }
  return count;
}

/// Takes the common integer factor and the sign of the first symbolic term out of a sum.
auto take_content(ExprPool& pool, Expr& sum) -> std::int64_t {
  const Poly poly = to_poly(sum);
  const Term& sign = poly[0].monomial.is_int(1) ? poly[1] : poly[0];
  const std::int64_t divisor = sign.coefficient < 0 ? -content(poly) : content(poly);
  if (divisor == 1) return 1;
  const auto rest = poly_div_term(pool, poly, {Expr(1), divisor});
  if (!rest) return 1;
  sum = from_poly(pool, *rest);
  return divisor;
}

}  // namespace

auto Simplifier::from_terms(const std::optional<Poly>& poly) -> std::optional<Expr> {
  return poly ? std::optional(from_poly(*pool_, *poly)) : std::nullopt;
}

auto Simplifier::add(ExprOp op, Args args) -> Expr {
  if (args.size() == 1) return args[0];
  if (!all_integer(args)) return real_add_mul(op, args);
  Poly terms;
  for (const Expr& arg : args) {
    const Poly part = to_poly(arg);
    terms.insert(terms.end(), part.begin(), part.end());
  }
  const auto sum = from_terms(collect(std::move(terms)));
  return sum ? *sum : keep_sorted(op, args);
}

auto Simplifier::mul(ExprOp op, Args args) -> Expr {
  if (args.size() == 1) return args[0];
  if (!all_integer(args)) return real_add_mul(op, args);
  std::vector<Factor> factors;
  for (const Expr& arg : args) {
    if (arg.is_int(0)) return 0;
    factors.push_back({arg, 1});
  }
  const auto result = product_of(factors);
  return result ? *result : large_product(args);
}

/// A product whose constants together do not fit: as few of them as there can be, whatever the
/// grouping was.
auto Simplifier::large_product(Args args) -> Expr {
  std::vector<std::int64_t> constants;
  std::vector<Expr> kept;
  const auto add = [&](const auto& self, Args factors) -> void {
    for (const Expr& factor : factors) {
      if (factor.op() == ExprOp::mul)
        self(self, factor.args());
      else if (const auto value = factor.as_int())
        constants.push_back(*value);
      else
        kept.push_back(factor);
    }
  };
  add(add, args);
  const auto magnitude = [](std::int64_t value) {
    return value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  };
  std::ranges::sort(constants, {},
                    [&](std::int64_t value) { return std::pair(magnitude(value), value < 0); });
  std::optional<std::int64_t> running;
  for (const std::int64_t value : constants) {
    const auto product = running ? checked_mul(*running, value) : std::optional(value);
    if (!product) kept.emplace_back(*running);
    running = product ? product : value;
  }
  if (running) kept.emplace_back(*running);
  return keep_sorted(ExprOp::mul, kept);
}

auto Simplifier::pow(ExprOp, Args args) -> Expr {
  const Expr& base = args[0];
  const Expr& exponent = args[1];
  if (!all_integer(args)) return make(ExprOp::float_pow, args);
  if (base.is_int(1)) return 1;
  const auto n = exponent.as_int();
  if (!n) return keep(ExprOp::pow, args);
  if (*n == 0) return 1;
  if (*n == 1) return base;
  if (*n < 0) {
    const auto positive = checked_mul(*n, -1);
    if (!positive) return keep(ExprOp::pow, args);
    return make(ExprOp::int_true_div, {Expr(1), make(ExprOp::pow, {base, Expr(*positive)})});
  }
  const auto result = product_of({{base, *n}});
  return result ? *result : keep(ExprOp::pow, args);
}

/// Two operands at a time, left to right; a + b == b + a exactly, so the pair may be sorted.
auto Simplifier::real_add_mul(ExprOp op, Args args) -> Expr {
  if (args.size() > 2) {
    Expr result = args[0];
    for (const Expr& arg : args.subspan(1)) result = make(op, {result, arg});
    return result;
  }
  const Expr a = make(ExprOp::to_float, {args[0]});
  const Expr b = make(ExprOp::to_float, {args[1]});
  if (!a.is_valid() || !b.is_valid()) return Expr::invalid();
  if (!a.pool() && !b.pool()) return fold(op, std::vector<Expr>{a, b}).value;
  if (op == ExprOp::mul && a == Expr::real(1.0)) return b;
  if (op == ExprOp::mul && b == Expr::real(1.0)) return a;
  return keep_sorted(op, std::vector<Expr>{a, b});
}

/// The factors of all factors, sorted, each base once. Contents of sums go to the coefficient.
/// Nothing on overflow.
auto Simplifier::flat_product(const std::vector<Factor>& factors) -> std::optional<Product> {
  Product flat{1, {}};
  const auto scale = [&](std::int64_t value, std::int64_t exponent) {
    const auto power = checked_pow(value, exponent);
    const auto total = power ? checked_mul(flat.coefficient, *power) : std::nullopt;
    if (total) flat.coefficient = *total;
    return total.has_value();
  };
  std::vector<Factor> all;
  for (const auto& [e, exponent] : factors) {
    const Product part = to_product(e);
    if (!scale(part.coefficient, exponent)) return std::nullopt;
    for (const Factor& factor : part.factors) {
      const auto total = checked_mul(factor.exponent, exponent);
      Expr base = factor.base;
      if (!total || (is_sum(base) && !scale(take_content(*pool_, base), *total)))
        return std::nullopt;
      all.push_back({base, *total});
    }
  }
  std::ranges::sort(
      all, [](const Expr& a, const Expr& b) { return Expr::compare(a, b) < 0; }, &Factor::base);
  for (const Factor& factor : all) {
    if (flat.factors.empty() || flat.factors.back().base != factor.base) {
      flat.factors.push_back(factor);
      continue;
    }
    const auto total = checked_add(flat.factors.back().exponent, factor.exponent);
    if (!total) return std::nullopt;
    flat.factors.back().exponent = *total;
  }
  return flat;
}

/// Expands when the whole product stays small, otherwise keeps all sums as factors. Deciding on the
/// whole list of factors makes the result the same when it is printed and read back.
auto Simplifier::product_of(const std::vector<Factor>& factors) -> std::optional<Expr> {
  auto flat = flat_product(factors);
  if (!flat) return std::nullopt;
  Product& kept = *flat;
  if (kept.coefficient == 0) return Expr(0);
  Product atoms{kept.coefficient, {}};
  std::vector<Factor> sums;
  for (const Factor& factor : kept.factors)
    (is_sum(factor.base) ? sums : atoms.factors).push_back(factor);
  if (sums.empty()) return from_product(*pool_, kept);
  if (const auto expanded = expand(atoms, sums)) return expanded;
  // A power that is small by itself is expanded all the same, as it is where it is read by itself.
  for (Factor& factor : kept.factors) {
    if (factor.exponent == 1 || !is_sum(factor.base)) continue;
    const auto power = expand({1, {}}, {factor});
    if (!power) continue;
    factor = {*power, 1};
    kept.factors.push_back({Expr(kept.coefficient), 1});
    return product_of(kept.factors);
  }
  return from_product(*pool_, kept);
}

auto Simplifier::expand(const Product& atoms, const std::vector<Factor>& sums)
    -> std::optional<Expr> {
  const bool only_scaled = atoms.factors.empty() && sums.size() == 1 && sums[0].exponent == 1;
  if (only_scaled) return from_terms(poly_scale(to_poly(sums[0].base), atoms.coefficient));
  std::int64_t count = 1;
  for (const auto& [base, exponent] : sums) {
    count *= power_terms(base.args().size(), exponent);
    if (count > kMaxExpandedTerms) return std::nullopt;
  }
  const Expr monomial = from_product(*pool_, {1, atoms.factors});
  std::optional<Poly> result = Poly{{monomial, atoms.coefficient}};
  for (const auto& [base, exponent] : sums) {
    const Poly sum = to_poly(base);
    for (std::int64_t i = 0; i < exponent && result; ++i) {
      if (--fuel_ < 0) return std::nullopt;
      result = poly_mul(*pool_, *result, sum);
    }
  }
  return from_terms(result);
}

}  // namespace assay
