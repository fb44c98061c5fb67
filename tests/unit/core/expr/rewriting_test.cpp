#include "core/expr/rewriting.h"

#include <gtest/gtest.h>

#include "core/expr/eval.h"

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

}  // namespace
}  // namespace assay
