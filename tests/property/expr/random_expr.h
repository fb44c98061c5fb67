// Random expression trees that are not simplified.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/expr/eval.h"
#include "core/expr/text.h"
#include "tests/property/expr/naive_eval.h"

namespace assay::testing {

/// The seed of this run; ASSAY_SEED replays one. Printed, so that a failure can be repeated.
inline auto seed() -> std::uint64_t {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("ASSAY_SEED");
    const std::uint64_t chosen = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    fmt::print("ASSAY_SEED={}\n", chosen);
    return chosen;
  }();
  return value;
}

/// Trees built with ExprPool::intern, so nothing is simplified.
class RandomExpr {
 public:
  explicit RandomExpr(ExprPool& pool, std::uint64_t stream)
      : pool_(pool), random_(seed() * 1000003 + stream) {
    for (const char* name : {"s0", "s1", "u2"}) integers_.push_back(pool.symbol(name));
    real_ = pool.symbol("zf0", ExprType::real);
  }

  auto below(int n) -> int { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  auto small(int limit) -> int { return below(2 * limit + 1) - limit; }
  auto symbols() const -> const std::vector<Expr>& { return integers_; }
  auto real_symbol() const -> Expr { return real_; }

  auto integer(int depth) -> Expr {
    if (depth == 0 || below(6) == 0) {
      if (below(3) == 0) return small(below(4) == 0 ? 40 : 5);
      return integers_[static_cast<std::size_t>(below(3))];
    }
    using enum ExprOp;
    static const std::vector<ExprOp> kOps{
        add, add,        add,       add,      mul, mul, mul,     floor_div, floor_div, mod,
        mod, python_mod, clean_div, ceil_div, min, max, bit_and, bit_or,    bit_xor};
    switch (below(14)) {
      case 0:
        return node(pow, {integer(depth - 1), Expr(below(4))});
      case 1:
        return node(abs_, {integer(depth - 1)});
      case 2:
        return node(where, {boolean(depth - 1), integer(depth - 1), integer(depth - 1)});
      case 3: {
        static const std::vector<ExprOp> kRound{ceil_to_int, floor_to_int, trunc_to_int,
                                                round_to_int};
        return node(pick(kRound), {real(depth - 1)});
      }
      case 4: {
        static const std::vector<ExprOp> kDivide{floor_div, mod, floor_div, mod, modular_indexing};
        const ExprOp op = pick(kDivide);
        if (op == modular_indexing)
          return node(op, {integer(depth - 1), Expr(1 + below(8)), Expr(1 + below(8))});
        return node(op, {integer(depth - 1), Expr(small(8))});
      }
      case 5:
        return node(mul, {Expr(small(8)), integer(depth - 1)});
      case 6:
        return node(below(2) == 0 ? lshift : rshift, {integer(depth - 1), Expr(below(5))});
      case 7:
        return node(add, {integer(depth - 1), integer(depth - 1), integer(depth - 1)});
      default:
        return node(pick(kOps), {integer(depth - 1), integer(depth - 1)});
    }
  }

  auto real(int depth) -> Expr {
    using enum ExprOp;
    if (depth == 0 || below(5) == 0) return below(2) == 0 ? real_ : Expr::real(small(20) / 4.0);
    static const std::vector<ExprOp> kOps{add, mul, float_true_div, min, max};
    switch (below(6)) {
      case 0:
      case 1:
        return node(int_true_div, {integer(depth - 1), integer(depth - 1)});
      case 2:
        return node(to_float, {integer(depth - 1)});
      case 3:
        return node(trunc_to_float, {real(depth - 1)});
      default: {
        const ExprOp op = pick(kOps);
        return pool_.intern(op, ExprType::real, std::vector{real(depth - 1), real(depth - 1)}, {});
      }
    }
  }

  auto boolean(int depth) -> Expr {
    using enum ExprOp;
    static const std::vector<ExprOp> kCompare{eq, ne, lt, le, gt, ge};
    const int kind = depth <= 1 ? 0 : below(8);
    if (kind == 5) return node(logic_and, {boolean(depth - 1), boolean(depth - 1)});
    if (kind == 6) return node(logic_or, {boolean(depth - 1), boolean(depth - 1)});
    if (kind == 7) return node(logic_not, {boolean(depth - 1)});
    const int inner = std::max(depth - 1, 0);
    if (kind == 4)
      return node(pick(kCompare), {real(inner), below(2) == 0 ? real(0) : Expr(small(3))});
    return node(pick(kCompare), {integer(inner), integer(below(2) == 0 ? 0 : inner)});
  }

  auto any(int depth) -> Expr {
    switch (below(4)) {
      case 0:
        return boolean(depth);
      case 1:
        return real(depth);
      default:
        return integer(depth);
    }
  }

  /// Random values for all symbols, for both evaluators.
  auto assign(int limit, Binding& binding) -> Naive::Env {
    Naive::Env env;
    binding.clear();
    for (const Expr& symbol : integers_) set(symbol, small(limit), env, binding);
    const double value = small(12) / 4.0;
    env.emplace_back(real_, Value{ExprType::real, 0, value});
    binding[real_] = Expr::real(value);
    return env;
  }
  static void set(const Expr& symbol, std::int64_t value, Naive::Env& env, Binding& binding) {
    env.emplace_back(symbol, Value{ExprType::integer, value, 0});
    binding[symbol] = Expr(value);
  }

 private:
  auto pick(const std::vector<ExprOp>& ops) -> ExprOp {
    return ops[static_cast<std::size_t>(below(static_cast<int>(ops.size())))];
  }
  auto node(ExprOp op, std::vector<Expr> args) -> Expr {
    const bool boolean = op >= ExprOp::eq && op <= ExprOp::logic_not;
    const bool real = op == ExprOp::int_true_div || op == ExprOp::float_true_div ||
                      op == ExprOp::to_float || op == ExprOp::trunc_to_float;
    const ExprType type = boolean ? ExprType::boolean : (real ? ExprType::real : ExprType::integer);
    return pool_.intern(op, type, std::move(args), {});
  }

  ExprPool& pool_;
  std::mt19937_64 random_;
  std::vector<Expr> integers_;
  Expr real_;
};

/// Rebuilds bottom-up through make(), which simplifies.
inline auto simplified(const Expr& e) -> Expr {
  return substitute(e, {});
}

}  // namespace assay::testing
