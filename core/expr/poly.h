// Integer polynomials over atoms: the normal form behind add, mul and pow.
//
// An atom is any integer expression that is not a canonical sum, product or power. A monomial is a
// product of powers of atoms without coefficient, kept as an Expr (1 for the empty product).
// Every operation says "nothing" on int64 overflow; callers then keep the expression as it was.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/expr/expr.h"

namespace assay {

/// base to the power of a positive exponent; `base` may be a sum that was kept unexpanded.
struct Factor {
  Expr base;
  std::int64_t exponent = 1;
};

/// Factors of a canonical product, in order of their bases.
struct Product {
  std::int64_t coefficient = 1;
  std::vector<Factor> factors;
};

struct Term {
  Expr monomial;  ///< 1 for the constant term
  std::int64_t coefficient = 0;
};

/// Terms in order of their monomials (so a constant comes first), none with coefficient 0.
using Poly = std::vector<Term>;

// Reading. Nodes that are not in normal form (kept because of overflow) count as one atom.
[[nodiscard]] auto to_product(const Expr& e) -> Product;
[[nodiscard]] auto to_poly(const Expr& e) -> Poly;
[[nodiscard]] auto is_sum(const Expr& e) -> bool;  ///< a canonical sum of two terms or more

// Building, without further simplification.
[[nodiscard]] auto from_product(ExprPool& pool, const Product& product) -> Expr;
[[nodiscard]] auto from_poly(ExprPool& pool, const Poly& poly) -> Expr;
/// Sorts and merges equal monomials.
[[nodiscard]] auto collect(Poly terms) -> std::optional<Poly>;

// Arithmetic.
[[nodiscard]] auto poly_add(const Poly& a, const Poly& b) -> std::optional<Poly>;
[[nodiscard]] auto poly_scale(const Poly& a, std::int64_t factor) -> std::optional<Poly>;
[[nodiscard]] auto poly_mul(ExprPool& pool, const Poly& a, const Poly& b) -> std::optional<Poly>;
/// All products of sums multiplied out, also those that the simplifier keeps as factors; nothing
/// when there are more than `max_terms` terms on the way.
[[nodiscard]] auto poly_expanded(ExprPool& pool, const Poly& a, std::size_t max_terms)
    -> std::optional<Poly>;
/// Product of two monomials.
[[nodiscard]] auto monomial_mul(ExprPool& pool, const Expr& a, const Expr& b)
    -> std::optional<Expr>;
/// a / b when b divides a without rest.
[[nodiscard]] auto monomial_div(ExprPool& pool, const Expr& a, const Expr& b)
    -> std::optional<Expr>;
/// Greatest common monomial of all terms.
[[nodiscard]] auto common_monomial(ExprPool& pool, const Poly& a) -> Expr;
[[nodiscard]] auto monomial_gcd(ExprPool& pool, const Expr& a, const Expr& b) -> Expr;
/// Divides every term; nothing when one is not divisible.
[[nodiscard]] auto poly_div_term(ExprPool& pool, const Poly& a, const Term& divisor)
    -> std::optional<Poly>;
/// a / b when b divides a without rest (long division by the leading term).
[[nodiscard]] auto poly_div_exact(ExprPool& pool, const Poly& a, const Poly& b)
    -> std::optional<Poly>;

/// a / b when b, of any number of terms, divides a without rest.
[[nodiscard]] auto divide_exactly(ExprPool& pool, const Poly& a, const Poly& b)
    -> std::optional<Poly>;

struct Fraction {
  Poly over;
  Poly under;
  Term common;  ///< what was cancelled
};
/// Cancels the greatest common term of both sides, if it is not 1.
[[nodiscard]] auto cancel_common(ExprPool& pool, const Poly& over, const Poly& under)
    -> std::optional<Fraction>;

/// Whether the first symbolic term has a negative coefficient.
[[nodiscard]] auto leads_negative(const Expr& e) -> bool;

/// Constant term, 0 if there is none; and the poly without it.
[[nodiscard]] auto constant_of(const Poly& a) -> std::int64_t;
[[nodiscard]] auto without_constant(Poly a) -> Poly;
/// Greatest common divisor of all coefficients (of a poly without terms: 0). Never negative;
/// 1 when the true value is 2^63.
[[nodiscard]] auto content(const Poly& a) -> std::int64_t;
[[nodiscard]] auto safe_gcd(std::int64_t a, std::int64_t b) -> std::int64_t;

}  // namespace assay
