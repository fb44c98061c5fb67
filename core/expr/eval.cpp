#include "core/expr/eval.h"

#include <algorithm>
#include <array>

#include "core/expr/fold.h"
#include "core/expr/int128.h"
#include "core/expr/op_table.h"
#include "core/expr/text.h"

namespace assay {
namespace {

constexpr std::size_t kMaxShownText = 160;

auto shown(const Expr& e) -> std::string {
  if (e.tree_size() > 200) return std::string(op_row(e.op()).name) + "(...)";
  std::string text = print_expr(e);
  if (text.size() > kMaxShownText) text = text.substr(0, kMaxShownText) + "...";
  return text;
}

class Evaluator {
 public:
  explicit Evaluator(const Binding& binding) : binding_(binding) {}

  auto value(const Expr& e) -> Result<Expr> {
    if (e.op() == ExprOp::invalid) return bad_input("an invalid expression has no value");
    if (!e.pool()) return e;
    if (e.op() == ExprOp::symbol) return bound(e);
    // Sharing matters only for big expressions; small ones are faster without the table.
    if (e.tree_size() < kMemoFrom) return interior(e);
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    const auto result = interior(e);
    known_.emplace(e, result);
    return result;
  }

 private:
  static constexpr std::uint32_t kMemoFrom = 64;

  auto bound(const Expr& symbol) -> Result<Expr> {
    const auto at = binding_.find(symbol);
    if (at == binding_.end())
      return std::unexpected(
          Error{ErrorCode::undecided, fmt::format("symbol `{}` is not bound", symbol.name())});
    const Expr& value = at->second;
    if (symbol.type() == ExprType::real)
      if (const auto integer = value.as_int()) return Expr::real(static_cast<double>(*integer));
    if (value.type() != symbol.type() || !value.is_const())
      return bad_input("symbol `{}` is bound to a value of another type", symbol.name());
    return value;
  }

  auto interior(const Expr& e) -> Result<Expr> {
    if (is_polynomial(e)) {
      ASSAY_TRY(const Int128 exact, wide(e));
      const auto narrow = static_cast<std::int64_t>(exact);
      if (narrow != exact) return overflow(e);
      return Expr(narrow);
    }
    if (op_row(e.op()).type == TypeRule::comparison && is_integer(e.args()[0]) &&
        is_integer(e.args()[1]))
      return comparison(e);
    if (e.op() == ExprOp::where) {
      ASSAY_TRY(const Expr condition, value(e.args()[0]));
      ASSAY_TRY(const Expr chosen, value(e.args()[condition.as_bool().value_or(false) ? 1 : 2]));
      const auto integer = chosen.as_int();
      return e.type() == ExprType::real && integer ? Expr::real(static_cast<double>(*integer))
                                                   : chosen;
    }
    if (e.op() == ExprOp::logic_and || e.op() == ExprOp::logic_or) return junction(e);
    std::vector<Expr> args;
    args.reserve(e.args().size());
    for (const Expr& arg : e.args()) {
      ASSAY_TRY(const Expr constant, value(arg));
      args.push_back(constant);
    }
    const Folded folded = fold(e.op(), args);
    if (!folded.value.is_valid()) return bad_input("{} in `{}`", folded.problem, shown(e));
    return folded.value;
  }

  static auto is_integer(const Expr& e) -> bool {
    const bool infinite = e.op() == ExprOp::int_oo || e.op() == ExprOp::neg_int_oo;
    return e.type() == ExprType::integer && !infinite;
  }
  static auto is_polynomial(const Expr& e) -> bool {
    if (e.op() == ExprOp::pow)
      return e.type() == ExprType::integer && e.args()[1].as_int().value_or(-1) >= 0;
    return (e.op() == ExprOp::add || e.op() == ExprOp::mul) &&
           std::ranges::all_of(e.args(), is_integer);
  }
  static auto overflow(const Expr& e) -> std::unexpected<Error> {
    return bad_input("integer overflow in `{}`", shown(e));
  }

  /// Polynomials in 128 bits: the normal form multiplies products out, and its terms may be far
  /// bigger than the value of the expression as it was written.
  auto wide(const Expr& e) -> Result<Int128> {
    if (!is_polynomial(e)) {
      ASSAY_TRY(const Expr narrow, value(e));
      const auto number = narrow.as_int();
      if (!number) return bad_input("`{}` is not an integer", shown(e));
      return Int128{*number};
    }
    if (e.tree_size() < kMemoFrom) return wide_interior(e);
    if (const auto known = known_wide_.find(e); known != known_wide_.end()) return known->second;
    const auto result = wide_interior(e);
    if (result) known_wide_.emplace(e, *result);
    return result;
  }

  auto wide_interior(const Expr& e) -> Result<Int128> {
    if (e.op() == ExprOp::pow) {
      ASSAY_TRY(const Int128 base, wide(e.args()[0]));
      ASSAY_TRY(const Int128 exponent, wide(e.args()[1]));
      return power(e, base, exponent);
    }
    const bool sum = e.op() == ExprOp::add;
    Int128 total = sum ? 0 : 1;
    bool is_zero = false, is_too_large = false;
    for (const Expr& arg : e.args()) {
      ASSAY_TRY(const Int128 part, wide(arg));
      is_zero = is_zero || (!sum && part == 0);
      is_too_large = is_too_large || (sum ? __builtin_add_overflow(total, part, &total)
                                          : __builtin_mul_overflow(total, part, &total));
    }
    if (is_zero) return Int128{0};
    if (is_too_large) return overflow(e);
    return total;
  }

  static auto power(const Expr& e, Int128 base, Int128 exponent) -> Result<Int128> {
    if (base == 0 || base == 1) return exponent == 0 ? Int128{1} : base;
    if (base == -1) return exponent % 2 == 0 ? Int128{1} : base;
    Int128 total = 1;
    for (; exponent > 0; --exponent) {
      if (__builtin_mul_overflow(total, base, &total)) return overflow(e);
    }
    return total;
  }

  auto comparison(const Expr& e) -> Result<Expr> {
    ASSAY_TRY(const Int128 a, wide(e.args()[0]));
    ASSAY_TRY(const Int128 b, wide(e.args()[1]));
    return fold(e.op(), std::array{Expr(a < b ? -1 : (a > b ? 1 : 0)), Expr(0)}).value;
  }

  /// One operand that settles the result is enough, whatever happens in the others: operands are
  /// sorted, so "evaluate left to right until settled" would depend on names.
  auto junction(const Expr& e) -> Result<Expr> {
    const Expr settling = Expr::boolean(e.op() == ExprOp::logic_or);
    std::optional<Error> problem;
    for (const Expr& arg : e.args()) {
      const auto truth = value(arg);
      if (truth && *truth == settling) return settling;
      if (!truth && !problem) problem = truth.error();
    }
    if (problem) return std::unexpected(*problem);
    return Expr::boolean(e.op() == ExprOp::logic_and);
  }

  const Binding& binding_;
  std::unordered_map<Expr, Result<Expr>> known_;
  std::unordered_map<Expr, Int128> known_wide_;
};

class Substitution {
 public:
  explicit Substitution(const std::unordered_map<Expr, Expr>& by) : by_(by) {}

  auto apply(const Expr& e) -> Expr {
    if (!e.pool()) return e;
    if (const auto at = by_.find(e); at != by_.end()) return at->second;
    if (e.op() == ExprOp::symbol) return e;
    if (const auto known = done_.find(e); known != done_.end()) return known->second;
    std::vector<Expr> args;
    args.reserve(e.args().size());
    for (const Expr& arg : e.args()) args.push_back(apply(arg));
    const Expr result = make(*e.pool(), e.op(), args, e.name());
    done_.emplace(e, result);
    return result;
  }

 private:
  const std::unordered_map<Expr, Expr>& by_;
  std::unordered_map<Expr, Expr> done_;
};

}  // namespace

auto evaluate(const Expr& e, const Binding& binding) -> Result<Expr> {
  return Evaluator(binding).value(e);
}

auto evaluate_int(const Expr& e, const Binding& binding) -> Result<std::int64_t> {
  ASSAY_TRY(const Expr value, evaluate(e, binding));
  if (const auto number = value.as_int()) return *number;
  return bad_input("`{}` is not an integer", shown(e));
}

auto substitute(const Expr& e, const std::unordered_map<Expr, Expr>& replacements) -> Expr {
  return Substitution(replacements).apply(e);
}

}  // namespace assay
