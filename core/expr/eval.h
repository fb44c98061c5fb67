// Meaning of expressions: evaluation, substitution, intervals, congruences, solving.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include "core/base/result.h"
#include "core/expr/expr.h"

namespace assay {

/// Symbol -> constant expression (int, float or bool).
using Binding = std::unordered_map<Expr, Expr>;

/// Value at a binding, as a constant. Errors: undecided (unbound symbol, named), bad_input
/// (overflow, division by zero, opaque function), always naming the sub-expression. Sums and
/// products are exact in 128 bits, so only values that matter have to fit int64.
[[nodiscard]] auto evaluate(const Expr& e, const Binding& binding) -> Result<Expr>;
[[nodiscard]] auto evaluate_int(const Expr& e, const Binding& binding) -> Result<std::int64_t>;

/// Replaces symbols by expressions (all at once) and simplifies again.
[[nodiscard]] auto substitute(const Expr& e, const std::unordered_map<Expr, Expr>& replacements)
    -> Expr;

/// Closed interval; ends are int constants, real constants or +-infinity. Empty never occurs.
struct Interval {
  Expr low = Expr::neg_infinity();
  Expr high = Expr::infinity();
  [[nodiscard]] auto contains(const Expr& constant) const -> bool;
  friend auto operator==(const Interval&, const Interval&) -> bool = default;
};
using Ranges = std::unordered_map<Expr, Interval>;

/// Sound bounds of an integer or real expression; booleans are [0,1]. Unknown symbols: unbounded.
[[nodiscard]] auto interval_of(const Expr& e, const Ranges& ranges) -> Interval;

/// value == remainder (mod modulus); modulus 0 means exactly `remainder`, 1 means nothing known.
struct Congruence {
  std::int64_t modulus = 1;
  std::int64_t remainder = 0;
};
using Congruences = std::unordered_map<Expr, Congruence>;
[[nodiscard]] auto congruence_of(const Expr& e, const Congruences& facts = {}) -> Congruence;

/// Truth of a boolean expression for every value in the ranges, if intervals, congruences and
/// simplification of differences settle it; nothing otherwise. Sound, incomplete, no search.
[[nodiscard]] auto decide_statically(const Expr& condition, const Ranges& ranges)
    -> std::optional<bool>;

/// Solves `lhs == value` for the only free symbol of lhs where the answer is a unique integer
/// (linear forms, exact products, s//k and k*s+c shapes are inverted; others give nothing).
/// CleanDiv is taken at its word: it divides exactly.
[[nodiscard]] auto solve_for(const Expr& lhs, const Expr& symbol, std::int64_t value)
    -> std::optional<std::int64_t>;

}  // namespace assay
