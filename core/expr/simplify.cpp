#include "core/expr/simplify.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "core/base/check.h"
#include "core/expr/fold.h"
#include "core/expr/op_table.h"
#include "core/expr/rewriting.h"

namespace assay {

/// Which function rewrites a node; operators without one are kept after folding.
struct Simplifier::Row {
  ExprOp op;
  Rule rule;
};

auto Simplifier::rule_of(ExprOp op) -> Rule {
  static constexpr auto kRules = std::to_array<Row>({
      {ExprOp::add, &Simplifier::add},
      {ExprOp::mul, &Simplifier::mul},
      {ExprOp::pow, &Simplifier::pow},
      {ExprOp::floor_div, &Simplifier::floor_div},
      {ExprOp::clean_div, &Simplifier::clean_div},
      {ExprOp::ceil_div, &Simplifier::ceil_div},
      {ExprOp::mod, &Simplifier::mod},
      {ExprOp::python_mod, &Simplifier::mod},
      {ExprOp::modular_indexing, &Simplifier::modular_indexing},
      {ExprOp::min, &Simplifier::extreme},
      {ExprOp::max, &Simplifier::extreme},
      {ExprOp::where, &Simplifier::where},
      {ExprOp::int_true_div, &Simplifier::int_true_div},
      {ExprOp::float_true_div, &Simplifier::real_operands},
      {ExprOp::pow_by_natural, &Simplifier::pow},
      {ExprOp::float_pow, &Simplifier::real_operands},
      {ExprOp::ceil_to_int, &Simplifier::to_integer},
      {ExprOp::floor_to_int, &Simplifier::to_integer},
      {ExprOp::trunc_to_int, &Simplifier::to_integer},
      {ExprOp::trunc_to_float, &Simplifier::real_operands},
      {ExprOp::round_to_int, &Simplifier::to_integer},
      {ExprOp::round_decimal, &Simplifier::round_decimal},
      {ExprOp::to_float, &Simplifier::to_float},
      {ExprOp::abs_, &Simplifier::abs_},
      {ExprOp::identity, &Simplifier::identity},
      {ExprOp::bit_and, &Simplifier::bitwise},
      {ExprOp::bit_or, &Simplifier::bitwise},
      {ExprOp::bit_xor, &Simplifier::bitwise},
      {ExprOp::lshift, &Simplifier::shift},
      {ExprOp::rshift, &Simplifier::shift},
      {ExprOp::eq, &Simplifier::compare},
      {ExprOp::ne, &Simplifier::compare},
      {ExprOp::lt, &Simplifier::compare},
      {ExprOp::le, &Simplifier::compare},
      {ExprOp::gt, &Simplifier::compare},
      {ExprOp::ge, &Simplifier::compare},
      {ExprOp::logic_and, &Simplifier::junction},
      {ExprOp::logic_or, &Simplifier::junction},
      {ExprOp::logic_not, &Simplifier::logic_not},
      {ExprOp::opaque, &Simplifier::plain},
  });
  constexpr auto kFirst = static_cast<std::size_t>(ExprOp::add);
  static_assert(kRules.size() + kFirst == static_cast<std::size_t>(ExprOp::opaque) + 1);
  static_assert(std::ranges::is_sorted(kRules, {}, &Row::op));
  return kRules[static_cast<std::size_t>(op) - kFirst].rule;
}

namespace {

auto is_infinite(const Expr& e) -> bool {
  return e.op() == ExprOp::int_oo || e.op() == ExprOp::neg_int_oo;
}

auto pool_of(std::span<const Expr> args) -> ExprPool* {
  ExprPool* pool = nullptr;
  for (const Expr& arg : args) {
    if (!arg.pool()) continue;
    ASSAY_CHECK(!pool || pool == arg.pool(), "operands of two expression pools are mixed");
    pool = arg.pool();
  }
  return pool;
}

}  // namespace

auto Simplifier::make(ExprOp op, Args args, std::string_view name) -> Expr {
  if (!std::ranges::all_of(args, &Expr::is_valid)) return Expr::invalid();
  if (!result_type(op, args, name)) return Expr::invalid();
  const bool is_reciprocal = op == ExprOp::pow && args[1].as_int().value_or(0) < 0;
  if (op != ExprOp::opaque && !is_reciprocal) {
    if (!pool_ || !std::ranges::any_of(args, [](const Expr& e) { return e.pool() != nullptr; }))
      return fold(op, args).value;
    if (std::ranges::any_of(args, is_infinite)) return with_infinity(op, args);
  }
  --fuel_;
  if (auto* watch = fuel_ < kWatchedFuel ? RewriteWatch::current() : nullptr)
    watch->step(op, args, fuel_);
  if (fuel_ < 0 || op == ExprOp::opaque) return keep(op, args, name);
  return (this->*rule_of(op))(op, args);
}

/// Infinities beside symbols, which stand for finite values.
auto Simplifier::with_infinity(ExprOp op, Args args) -> Expr {
  std::vector<Expr> finite;
  std::ranges::copy_if(args, std::back_inserter(finite),
                       [](const Expr& e) { return !is_infinite(e); });
  const auto infinite = std::ranges::find_if(args, is_infinite);
  const bool agree = std::ranges::count(args, *infinite) + std::ssize(finite) == std::ssize(args);
  const bool integers =
      std::ranges::all_of(finite, [](const Expr& e) { return e.type() == ExprType::integer; });
  if (op == ExprOp::add && agree && integers) return *infinite;
  if (op == ExprOp::min || op == ExprOp::max) {
    const Expr neutral = op == ExprOp::min ? Expr::infinity() : Expr::neg_infinity();
    if (agree && *infinite == neutral) return make(op, finite);
    // The other infinity wins over every finite integer.
    const Expr winner = op == ExprOp::min ? Expr::neg_infinity() : Expr::infinity();
    return integers ? winner : keep(op, args);
  }
  const bool comparison = op_row(op).type == TypeRule::comparison;
  if (comparison && integers) {
    // Any finite integer compares with an infinity as 0 does.
    std::vector<Expr> sides(args.begin(), args.end());
    for (Expr& side : sides) side = is_infinite(side) ? side : Expr(0);
    return fold(op, sides).value;
  }
  if (comparison || op == ExprOp::where) return keep(op, args);
  if (op == ExprOp::identity) return args[0];
  return Expr::invalid();
}

auto Simplifier::keep(ExprOp op, Args args, std::string_view name) -> Expr {
  const auto type = result_type(op, args, name);
  ASSAY_CHECK(type, "operands of the wrong type");
  return pool_->intern(op, *type, args, name);
}

auto Simplifier::keep_sorted(ExprOp op, Args args) -> Expr {
  std::vector<Expr> sorted(args.begin(), args.end());
  std::ranges::sort(sorted, [](const Expr& a, const Expr& b) { return Expr::compare(a, b) < 0; });
  return keep(op, sorted);
}

/// Two operands are what arithmetic on sizes and indices is made of; a graph repeats itself.
auto make(ExprOp op, std::span<const Expr> args, std::string_view name) -> Expr {
  ExprPool* pool = pool_of(args);
  if (!pool && op == ExprOp::opaque) return Expr::invalid();
  if (op <= ExprOp::symbol) return Expr::invalid();
  const auto* watch = RewriteWatch::current();
  const bool is_kept =
      pool && args.size() == 2 && op != ExprOp::opaque && (watch == nullptr || !watch->undoes());
  if (is_kept)
    if (const auto known = pool->lately(op, args[0], args[1]); known.is_valid()) return known;
  Simplifier simplifier(pool);
  const auto result = simplifier.make(op, args, name);
  if (is_kept && simplifier.ended()) pool->lately(op, args[0], args[1]) = result;
  return result;
}

auto make(ExprPool& pool, ExprOp op, std::span<const Expr> args, std::string_view name) -> Expr {
  const ExprPool* used = pool_of(args);
  ASSAY_CHECK(!used || used == &pool, "operands of two expression pools are mixed");
  if (op <= ExprOp::symbol) return Expr::invalid();
  return Simplifier(&pool).make(op, args, name);
}

}  // namespace assay
