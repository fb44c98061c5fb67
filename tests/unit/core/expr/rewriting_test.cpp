#include "core/expr/rewriting.h"

#include <gtest/gtest.h>

#include <array>

#include "core/expr/eval.h"
#include "core/expr/text.h"

namespace assay {
namespace {

TEST(RewriteWatch, HasNothingToTellOfRulesThatEnd) {
  ExprPool pool;
  const auto s = pool.symbol("s0");
  const RewriteWatch watch;
  EXPECT_TRUE(mod(s + 3, 4).is_valid());
  EXPECT_TRUE(floor_div(s * 6 + 1, 3).is_valid());
  EXPECT_EQ(watch.not_ended(), std::vector<std::string>{});
}

TEST(RewriteWatch, TellsOfRulesThatUndoEachOtherAndTheValueStays) {
  ExprPool pool;
  const auto s = pool.symbol("s0");
  const RewriteWatch watch(true);
  const auto looped = mod(s, 4);
  ASSERT_EQ(watch.not_ended().size(), 1U);
  EXPECT_TRUE(watch.not_ended()[0].contains("(s0, ")) << watch.not_ended()[0];
  EXPECT_TRUE(watch.not_ended()[0].contains("Mod, ModularIndexing, Mod, ModularIndexing") ||
              watch.not_ended()[0].contains("ModularIndexing, Mod, ModularIndexing, Mod"))
      << watch.not_ended()[0];
  for (std::int64_t value = 0; value < 9; ++value) {
    const auto got = evaluate_int(looped, {{s, Expr(value)}});
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, value % 4);
  }
}

TEST(RewriteWatch, SeesOnlyWhileItLives) {
  ExprPool pool;
  const auto s = pool.symbol("s0");
  const RewriteWatch outer;
  {
    const RewriteWatch inner(true);
    EXPECT_TRUE(mod(s, 8).is_valid());
    EXPECT_EQ(inner.not_ended().size(), 1U);
  }
  EXPECT_TRUE(mod(s + 1, 16).is_valid());
  EXPECT_EQ(outer.not_ended(), std::vector<std::string>{});
}

/// What a fault made of two operands is not what they give without it, nor the other way round.
TEST(RewriteWatch, WhatWasSimplifiedUnderAFaultIsForgotten) {
  ExprPool pool, other;
  const auto right = print_expr(mod(other.symbol("s0") * 4 + 1, 8));
  const auto s = pool.symbol("s0");
  {
    const RewriteWatch watch(true);
    EXPECT_NE(print_expr(mod(s * 4 + 1, 8)), right);
  }
  EXPECT_EQ(print_expr(mod(s * 4 + 1, 8)), right);
  for (int i = 0; i < 2; ++i) {
    const RewriteWatch watch(true);
    EXPECT_NE(print_expr(mod(s * 4 + 1, 8)), right);
    EXPECT_EQ(watch.not_ended().size(), 1U);
  }
}

/// More pairs than are remembered, asked for again and again: each is what a new pool makes of it.
TEST(Remembered, IsWhatIsMadeAnew) {
  ExprPool pool;
  const auto made = [](ExprPool& of, std::int64_t i, std::int64_t j) {
    const auto a = of.symbol("s0") * (i + 1) + j, b = of.symbol("s1") + i;
    return std::array{a + b, a * b, floor_div(a, b), mod(a, b), max(a, b), le(a, b)};
  };
  for (int round = 0; round < 2; ++round)
    for (std::int64_t i = 0; i < 50; ++i)
      for (std::int64_t j = 0; j < 50; ++j) {
        ExprPool fresh;
        const auto again = made(pool, i, j), anew = made(fresh, i, j);
        for (std::size_t k = 0; k < anew.size(); ++k)
          ASSERT_EQ(print_expr(again[k]), print_expr(anew[k])) << i << ", " << j << ", " << k;
      }
}

}  // namespace
}  // namespace assay
