#include "core/shape/shape_env.h"

#include <gtest/gtest.h>

#include "core/expr/text.h"

namespace assay {
namespace {

class ShapeEnvTest : public ::testing::Test {
 protected:
  auto read(std::string_view text) -> Expr { return parse_expr(env.pool(), text).value(); }

  ShapeEnv env;
  Expr s0 = env.add_symbol("s0").value();
  Expr u0 = env.add_symbol("u0").value();
};

TEST_F(ShapeEnvTest, TellsKindsByPrefix) {
  ASSERT_TRUE(env.add_symbol("zf1").has_value());
  ASSERT_TRUE(env.add_symbol("zuf2").has_value());
  EXPECT_EQ(env.find("s0")->kind, SymbolKind::backed);
  EXPECT_EQ(env.find("u0")->kind, SymbolKind::unbacked);
  EXPECT_EQ(env.find("zf1")->kind, SymbolKind::backed_float);
  EXPECT_EQ(env.find("zuf2")->kind, SymbolKind::unbacked_float);
  EXPECT_EQ(env.find("zf1")->expr.type(), ExprType::real);
}

TEST_F(ShapeEnvTest, GivesBackedSizesAtLeastTwo) {
  EXPECT_EQ(env.find(s0)->range, (Interval{Expr(2), Expr::infinity()}));
  EXPECT_EQ(env.find(u0)->range, Interval{});
  EXPECT_EQ(env.decide(read("s0 >= 2")), true);
  EXPECT_EQ(env.decide(read("u0 >= 0")), std::nullopt);
}

TEST_F(ShapeEnvTest, RefusesASecondSymbolOfTheSameName) {
  const auto again = env.add_symbol("s0");
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().message, "symbol `s0` exists already");
  EXPECT_EQ(env.find("s1"), nullptr);
}

TEST_F(ShapeEnvTest, DecidesAfterReplacements) {
  const Expr s1 = env.add_symbol("s1").value();
  env.add_replacement(s1, s0 * Expr(2));
  env.add_replacement(s0, Expr(16));
  EXPECT_EQ(env.decide(read("Eq(s1, 32)")), true);
}

TEST_F(ShapeEnvTest, EndsOnCyclicReplacements) {
  const Expr s1 = env.add_symbol("s1").value();
  env.add_replacement(s0, s1 + Expr(1));
  env.add_replacement(s1, s0 + Expr(1));
  EXPECT_EQ(env.replaced(s0), s0);
}

TEST_F(ShapeEnvTest, RollsEverythingBack) {
  env.set_range(s0, {Expr(2), Expr(64)});
  env.set_hint(s0, Expr(8));
  const auto mark = env.mark();
  const Expr s1 = env.add_symbol("s1").value();
  env.set_range(s0, {Expr(8), Expr(8)});
  env.set_range(s1, {Expr(3), Expr(4)});
  env.set_hint(s0, Expr(9));
  env.set_hint(u0, Expr(1));
  env.add_source(s0, "L['x'].size()[0]");
  env.add_guard({read("s0 > 4"), "s0 > 4", ""});
  env.add_replacement(s1, s0);
  env.add_replacement(s1, Expr(3));
  env.rollback(mark);
  EXPECT_EQ(env.symbols().size(), 2U);
  EXPECT_EQ(env.find("s1"), nullptr);
  EXPECT_EQ(env.find(s0)->range, (Interval{Expr(2), Expr(64)}));
  EXPECT_EQ(env.ranges().at(s0), (Interval{Expr(2), Expr(64)}));
  EXPECT_FALSE(env.ranges().contains(s1));
  EXPECT_EQ(env.hints(), (Binding{{s0, Expr(8)}}));
  EXPECT_TRUE(env.find(s0)->sources.empty());
  EXPECT_TRUE(env.guards().empty());
  EXPECT_TRUE(env.replacements().empty());
  EXPECT_TRUE(env.add_symbol("s1").has_value());
}

TEST_F(ShapeEnvTest, CopiesAreIndependentButShareThePool) {
  ShapeEnv copy = env;
  copy.set_range(s0, {Expr(5), Expr(6)});
  EXPECT_EQ(&copy.pool(), &env.pool());
  EXPECT_EQ(env.find(s0)->range.low, Expr(2));
}

TEST_F(ShapeEnvTest, TreatsUnknownSymbolsAsABug) {
  const Expr stranger = env.pool().symbol("s9");
  EXPECT_EXIT(env.set_hint(stranger, Expr(1)), ::testing::ExitedWithCode(70), "s9");
}

}  // namespace
}  // namespace assay
