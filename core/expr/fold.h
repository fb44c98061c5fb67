// The meaning of every operator on constants: the one place where it is written down.
// Simplification, evaluation and the tests of the rules all end here.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/expr/expr.h"

namespace assay {

/// A constant, or Expr::invalid() with the reason.
struct Folded {
  Expr value;
  std::string_view problem;  ///< e.g. "integer overflow"; empty when valid
};

/// Applies `op` to constants and infinities. Python semantics throughout: floor division and
/// modulus follow the divisor's sign, int / int is correctly rounded, round() is half to even.
[[nodiscard]] auto fold(ExprOp op, std::span<const Expr> args) -> Folded;

// Integer arithmetic that says when it overflows or divides by zero.
[[nodiscard]] auto checked_add(std::int64_t a, std::int64_t b) -> std::optional<std::int64_t>;
[[nodiscard]] auto checked_mul(std::int64_t a, std::int64_t b) -> std::optional<std::int64_t>;
[[nodiscard]] auto checked_pow(std::int64_t base, std::int64_t exponent)
    -> std::optional<std::int64_t>;
[[nodiscard]] auto checked_floor_div(std::int64_t a, std::int64_t b) -> std::optional<std::int64_t>;
[[nodiscard]] auto checked_mod(std::int64_t a, std::int64_t b) -> std::optional<std::int64_t>;

/// a / b rounded once to the nearest double, as Python's int / int; b is not 0.
[[nodiscard]] auto true_quotient(std::int64_t a, std::int64_t b) -> double;

/// Nearest integers of a double; nothing when the result does not fit or the value is not finite.
[[nodiscard]] auto int_from_real(double value) -> std::optional<std::int64_t>;

}  // namespace assay
