#include <gtest/gtest.h>

#include "tests/property/expr/random_expr.h"

namespace assay::testing {
namespace {

/// Random closed ranges for the integer symbols, some of them half open.
auto random_ranges(RandomExpr& random) -> Ranges {
  Ranges ranges;
  for (const Expr& symbol : random.symbols()) {
    const int low = random.small(12);
    Interval range{Expr(low), Expr(low + random.below(9))};
    if (random.below(6) == 0) range.low = Expr::neg_infinity();
    if (random.below(6) == 0) range.high = Expr::infinity();
    ranges[symbol] = range;
  }
  if (random.below(2) == 0) ranges[random.real_symbol()] = {Expr::real(-3), Expr(3)};
  return ranges;
}

/// A random assignment inside the ranges.
auto inside(RandomExpr& random, const Ranges& ranges, Binding& binding) -> Naive::Env {
  Naive::Env env;
  binding.clear();
  for (const Expr& symbol : random.symbols()) {
    const Interval& range = ranges.at(symbol);
    const auto low = range.low.as_int();
    const auto high = range.high.as_int();
    std::int64_t value = random.small(40);
    if (low && high) {
      value = *low + random.below(static_cast<int>(*high - *low) + 1);
    } else if (low) {
      value = *low + random.below(40);
    } else if (high) {
      value = *high - random.below(40);
    }
    RandomExpr::set(symbol, value, env, binding);
  }
  const double value = random.small(12) / 4.0;
  env.emplace_back(random.real_symbol(), Value{ExprType::real, 0, value});
  binding[random.real_symbol()] = Expr::real(value);
  return env;
}

auto constant(const Value& v) -> Expr {
  if (v.type == ExprType::real) return Expr::real(v.real);
  if (v.type == ExprType::boolean) return Expr::boolean(v.integer != 0);
  return static_cast<std::int64_t>(v.integer);
}

TEST(IntervalOf, ContainsEveryValue) {
  Binding binding;
  int bounded = 0;
  for (std::uint64_t stream = 2000; stream < 2040; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    for (int i = 0; i < 250; ++i) {
      const Expr raw = random.any(1 + random.below(4));
      const Expr e = random.below(2) == 0 ? raw : simplified(raw);
      const Ranges ranges = random_ranges(random);
      const Interval interval = interval_of(e, ranges);
      bounded += interval == Interval{} ? 0 : 1;
      for (int j = 0; j < 20; ++j) {
        const auto value = Naive(inside(random, ranges, binding)).value(raw);
        if (!value) continue;
        ASSERT_TRUE(interval.contains(constant(*value)))
            << print_expr(e) << " = " << print_expr(constant(*value)) << " not in ["
            << print_expr(interval.low) << ", " << print_expr(interval.high) << "]";
      }
    }
  }
  EXPECT_GT(bounded, 3000) << "the analysis hardly ever says anything";
}

TEST(DecideStatically, AgreesWithEveryAssignment) {
  Binding binding;
  int decided = 0;
  for (std::uint64_t stream = 3000; stream < 3040; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    for (int i = 0; i < 300; ++i) {
      const Expr raw = random.boolean(1 + random.below(4));
      const Expr e = random.below(2) == 0 ? raw : simplified(raw);
      const Ranges ranges = random_ranges(random);
      const auto decision = decide_statically(e, ranges);
      if (!decision) continue;
      ++decided;
      for (int j = 0; j < 25; ++j) {
        const auto value = Naive(inside(random, ranges, binding)).value(raw);
        if (!value) continue;
        ASSERT_EQ(value->integer != 0, *decision) << print_expr(raw);
      }
    }
  }
  EXPECT_GT(decided, 2000);
}

TEST(CongruenceOf, HoldsForEveryValue) {
  Binding binding;
  int known = 0;
  for (std::uint64_t stream = 4000; stream < 4040; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    Congruences facts;
    for (const Expr& symbol : random.symbols()) {
      const std::int64_t modulus = 1 + random.below(8);
      facts[symbol] = {modulus, random.below(static_cast<int>(modulus))};
    }
    for (int i = 0; i < 300; ++i) {
      const Expr raw = random.integer(1 + random.below(4));
      const Expr e = random.below(2) == 0 ? raw : simplified(raw);
      const Congruence found = congruence_of(e, facts);
      known += found.modulus != 1 ? 1 : 0;
      for (int j = 0; j < 20; ++j) {
        Naive::Env env = random.assign(0, binding);
        for (auto& [symbol, value] : env) {
          if (symbol.type() != ExprType::integer) continue;
          const Congruence& fact = facts.at(symbol);
          value.integer = fact.remainder + fact.modulus * random.small(10);
        }
        const auto value = Naive(env).value(raw);
        if (!value) continue;
        const Int128 off = value->integer - found.remainder;
        ASSERT_TRUE(found.modulus == 0 ? off == 0 : off % found.modulus == 0)
            << print_expr(e) << " claimed " << found.remainder << " mod " << found.modulus;
      }
    }
  }
  EXPECT_GT(known, 3000);
}

/// Whatever solve_for answers is a solution, and the only one nearby.
TEST(SolveFor, InvertsOrSaysNothing) {
  int solved = 0;
  for (std::uint64_t stream = 5000; stream < 5040; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    const Expr s = random.symbols()[0];
    for (int i = 0; i < 400; ++i) {
      const Expr raw = random.integer(1 + random.below(4));
      const Expr e = substitute(raw, {{random.symbols()[1], s}, {random.symbols()[2], Expr(3)}});
      if (print_expr(e).contains("CleanDiv")) continue;  // assumed to be exact, which s need not be
      const std::int64_t chosen = random.small(30);
      const auto value = evaluate_int(e, {{s, Expr(chosen)}});
      if (!value) continue;
      const auto answer = solve_for(e, s, *value);
      if (!answer) continue;
      ++solved;
      ASSERT_EQ(*answer, chosen) << print_expr(e) << " == " << *value;
    }
  }
  EXPECT_GT(solved, 500);
}

}  // namespace
}  // namespace assay::testing
