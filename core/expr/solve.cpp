// Inverting one-symbol expressions. Works on sets: for a monotone step the values that lead into
// [low, high] are again an interval, so compositions invert exactly; the answer counts only when
// a single integer is left.
#include <algorithm>

#include "core/expr/bounds.h"
#include "core/expr/eval.h"
#include "core/expr/fold.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

constexpr Int128 kUnbounded = IntBounds::kUnbounded;

auto floor_of(Int128 a, Int128 b) -> Int128 {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

/// Ends of a finite side through `f`; unbounded sides stay.
template <class Low, class High>
auto mapped(const IntBounds& target, Low low, High high) -> std::optional<IntBounds> {
  IntBounds result;
  if (target.low != -kUnbounded) result.low = low(target.low);
  if (target.high != kUnbounded) result.high = high(target.high);
  if (result.low > result.high) return std::nullopt;
  return widened(result.low, result.high);
}

class Inverter {
 public:
  explicit Inverter(const Expr& symbol) : symbol_(symbol) {}

  /// Values of the symbol with e in target. Nothing when e has another shape or there are none.
  auto solve(const Expr& e, const IntBounds& target) -> std::optional<IntBounds> {
    if (e == symbol_) return target;
    if (e.type() != ExprType::integer) return std::nullopt;
    const auto args = e.args();
    if (e.op() == ExprOp::add || e.op() == ExprOp::mul) return linear(e, target);
    if (e.op() == ExprOp::pow) return power(e, target);
    if (e.op() == ExprOp::floor_div) return quotient(args[0], args[1], target);
    if (e.op() == ExprOp::clean_div) return exact_quotient(args[0], args[1], target);
    if (e.op() == ExprOp::ceil_to_int || e.op() == ExprOp::floor_to_int)
      return true_quotient_rounded(e, target);
    if (e.op() == ExprOp::min || e.op() == ExprOp::max) return extreme(e, target);
    return std::nullopt;
  }

 private:
  auto linear(const Expr& e, const IntBounds& target) -> std::optional<IntBounds> {
    const Poly poly = to_poly(e);
    const Poly rest = without_constant(poly);
    if (rest.size() != 1 || rest[0].monomial == e) return std::nullopt;
    const Int128 k = rest[0].coefficient;
    const Int128 c = constant_of(poly);
    const auto up = [&](Int128 x) { return -floor_of(-x, k > 0 ? k : -k); };
    const auto down = [&](Int128 x) { return floor_of(x, k > 0 ? k : -k); };
    std::optional<IntBounds> inner;
    if (k > 0) {
      inner = mapped(
          target, [&](Int128 x) { return up(x - c); }, [&](Int128 x) { return down(x - c); });
    } else {
      inner = mapped(
          IntBounds{-target.high, -target.low}, [&](Int128 x) { return up(x + c); },
          [&](Int128 x) { return down(x + c); });
    }
    return inner ? solve(rest[0].monomial, *inner) : std::nullopt;
  }

  /// k x // k c is monotone; each quotient stands for a block of numerators.
  auto quotient(const Expr& over, const Expr& under, const IntBounds& target)
      -> std::optional<IntBounds> {
    const std::int64_t k = under.as_int().value_or(0);
    if (k <= 0) return std::nullopt;
    const auto inner =
        mapped(target, [&](Int128 x) { return x * k; }, [&](Int128 x) { return x * k + k - 1; });
    return inner ? solve(over, *inner) : std::nullopt;
  }

  auto exact_quotient(const Expr& over, const Expr& under, const IntBounds& target)
      -> std::optional<IntBounds> {
    const std::int64_t k = under.as_int().value_or(0);
    if (k <= 0) return std::nullopt;
    const auto inner =
        mapped(target, [&](Int128 x) { return x * k; }, [&](Int128 x) { return x * k; });
    return inner ? solve(over, *inner) : std::nullopt;
  }

  /// ceil(x / k) and floor(x / k) written with a true division; exact while doubles are.
  auto true_quotient_rounded(const Expr& e, const IntBounds& target) -> std::optional<IntBounds> {
    constexpr Int128 kExact = static_cast<Int128>(1) << 52;
    const Expr& division = e.args()[0];
    if (division.op() != ExprOp::int_true_div) return std::nullopt;
    const std::int64_t k = division.args()[1].as_int().value_or(0);
    const bool small = target.low > -kExact && target.high < kExact && k > 0 &&
                       target.low * k > -kExact && target.high * k < kExact;
    if (!small) return std::nullopt;
    if (e.op() == ExprOp::floor_to_int)
      return quotient(division.args()[0], division.args()[1], target);
    return solve(division.args()[0], widened((target.low - 1) * k + 1, target.high * k));
  }

  auto power(const Expr& e, const IntBounds& target) -> std::optional<IntBounds> {
    const std::int64_t n = e.args()[1].as_int().value_or(0);
    if (n < 2 || target.low != target.high) return std::nullopt;
    const auto value = static_cast<std::int64_t>(target.low);
    // Even powers have two roots unless the value is 0.
    if (n % 2 == 0 && value != 0) return std::nullopt;
    const auto root = exact_root(value, n);
    return root ? solve(e.args()[0], exactly(*root)) : std::nullopt;
  }

  static auto exact_root(std::int64_t value, std::int64_t n) -> std::optional<std::int64_t> {
    std::int64_t low = -2097152;  // the cube root of -2^63
    std::int64_t high = 2097152;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const auto power = checked_pow(middle, n);
      const bool below = power ? *power < value : middle < 0;
      if (below) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return checked_pow(low, n) == value ? std::optional(low) : std::nullopt;
  }

  /// min and max with one part that has the symbol and constants otherwise.
  auto extreme(const Expr& e, const IntBounds& target) -> std::optional<IntBounds> {
    const bool is_max = e.op() == ExprOp::max;
    std::optional<Expr> part;
    Int128 limit = is_max ? -kUnbounded : kUnbounded;
    for (const Expr& arg : e.args()) {
      if (const auto value = arg.as_int()) {
        limit = *value;
      } else if (part) {
        return std::nullopt;
      } else {
        part = arg;
      }
    }
    if (!part) return std::nullopt;
    IntBounds inner = target;
    if (is_max && target.high < limit) return std::nullopt;
    if (!is_max && target.low > limit) return std::nullopt;
    if (is_max && target.low <= limit) inner.low = -kUnbounded;
    if (!is_max && target.high >= limit) inner.high = kUnbounded;
    return solve(*part, inner);
  }

  Expr symbol_;
};

}  // namespace

auto solve_for(const Expr& lhs, const Expr& symbol, std::int64_t value)
    -> std::optional<std::int64_t> {
  const auto free = lhs.symbols();
  if (free.size() != 1 || free[0] != symbol) return std::nullopt;
  const auto found = Inverter(symbol).solve(lhs, exactly(value));
  if (!found || found->low != found->high) return std::nullopt;
  const auto answer = static_cast<std::int64_t>(found->low);
  // Re-evaluation guards against values where the arithmetic itself overflows.
  const auto check = evaluate_int(lhs, {{symbol, answer}});
  return check && *check == value ? std::optional(answer) : std::nullopt;
}

}  // namespace assay
