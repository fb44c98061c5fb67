#include "core/expr/expr.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/expr/text.h"

namespace assay {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

class ExprTest : public ::testing::Test {
 protected:
  auto read(std::string_view text) -> Expr {
    const auto e = parse_expr(pool, text);
    EXPECT_TRUE(e.has_value()) << text << ": " << (e ? "" : e.error().message);
    return e.value_or(Expr::invalid());
  }
  void expect_simplifies(std::string_view from, std::string_view to) {
    EXPECT_EQ(print_expr(read(from)), to) << from;
  }

  ExprPool pool;
  Expr a = pool.symbol("a");
  Expr b = pool.symbol("b");
};

using Constant = ExprTest;

TEST_F(Constant, IsSixteenBytesAndNeedsNoPool) {
  static_assert(sizeof(Expr) == 16);
  EXPECT_EQ(Expr(7).pool(), nullptr);
  EXPECT_EQ(Expr::real(0.5).pool(), nullptr);
  EXPECT_EQ(Expr(), Expr(0));
}

TEST_F(Constant, KeepsItsKindApart) {
  EXPECT_NE(Expr(1), Expr::real(1.0));
  EXPECT_NE(Expr(1), Expr::boolean(true));
  EXPECT_EQ(Expr::real(1.5).as_real(), 1.5);
  EXPECT_EQ(Expr::real(1.5).as_int(), std::nullopt);
  EXPECT_EQ(Expr::boolean(true).as_number(), 1.0);
  EXPECT_FALSE(Expr::infinity().is_const());
  EXPECT_EQ(Expr::real(std::numeric_limits<double>::quiet_NaN()),
            Expr::real(-std::numeric_limits<double>::quiet_NaN()));
}

TEST_F(Constant, OverflowIsInvalidAndNeverWraps) {
  EXPECT_FALSE((Expr(kMax) + Expr(1)).is_valid());
  EXPECT_FALSE((Expr(kMin) - Expr(1)).is_valid());
  EXPECT_FALSE((Expr(kMin) * Expr(-1)).is_valid());
  EXPECT_FALSE((-Expr(kMin)).is_valid());
  EXPECT_FALSE(floor_div(Expr(kMin), Expr(-1)).is_valid());
  EXPECT_TRUE((Expr(kMax) + Expr(kMin)).is_int(-1));
}

TEST_F(Constant, InvalidAbsorbsEverything) {
  EXPECT_FALSE((Expr::invalid() + a).is_valid());
  EXPECT_FALSE((Expr::invalid() * Expr(0)).is_valid());
  EXPECT_FALSE(where(Expr::boolean(true), a, Expr::invalid()).is_valid());
  EXPECT_FALSE(eq(Expr::invalid(), Expr::invalid()).is_valid());
}

TEST_F(Constant, DivisionByZeroIsInvalid) {
  EXPECT_FALSE(floor_div(a, Expr(0)).is_valid());
  EXPECT_FALSE(mod(a, Expr(0)).is_valid());
  EXPECT_FALSE(ceil_div(Expr(3), Expr(0)).is_valid());
}

TEST_F(Constant, WrongTypesAreInvalid) {
  EXPECT_FALSE((Expr::boolean(true) + a).is_valid());
  EXPECT_FALSE(logic_and(a, b).is_valid());
  EXPECT_FALSE(floor_div(Expr::real(1.0), a).is_valid());
}

TEST_F(Constant, InfinitiesCompareWithFiniteSymbols) {
  EXPECT_EQ(lt(a, Expr::infinity()), Expr::boolean(true));
  EXPECT_EQ(le(Expr::infinity(), a), Expr::boolean(false));
  EXPECT_EQ(eq(a, Expr::neg_infinity()), Expr::boolean(false));
  EXPECT_EQ(max(a, Expr::neg_infinity()), a);
  EXPECT_EQ(min(a, Expr::neg_infinity()), Expr::neg_infinity());
  EXPECT_EQ(Expr::infinity() + a, Expr::infinity());
  EXPECT_EQ(-Expr::infinity(), Expr::neg_infinity());
  EXPECT_FALSE((Expr::infinity() - Expr::infinity()).is_valid());
}

using Pool = ExprTest;

TEST_F(Pool, GivesEqualExpressionsTheSameNode) {
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ((a + b).hash(), (b + a).hash());
  EXPECT_EQ(pool.symbol("a"), a);
  EXPECT_EQ(pool.find_symbol("nowhere"), std::nullopt);
}

TEST_F(Pool, FixesTheTypeOfASymbolAtItsFirstUse) {
  EXPECT_EQ(pool.symbol("r", ExprType::real).type(), ExprType::real);
  EXPECT_EQ(pool.symbol("r").type(), ExprType::real);
}

TEST_F(Pool, RefusesOperandsOfAnotherPool) {
  ExprPool other;
  const Expr c = other.symbol("c");
  EXPECT_EXIT((void)(a + c), ::testing::ExitedWithCode(70), "two expression pools");
}

TEST_F(Pool, ComparesWithoutAddresses) {
  ExprPool other;
  const Expr x = other.symbol("b") * Expr(2) + Expr(1);
  EXPECT_TRUE(Expr::compare(x, b * Expr(2) + Expr(1)) == 0);
  EXPECT_TRUE(Expr::compare(Expr(100), a) < 0);
  EXPECT_TRUE(Expr::compare(a, b) < 0);
  EXPECT_TRUE(Expr::compare(a * b, b) > 0);
}

TEST_F(Pool, ListsFreeSymbolsOnceByName) {
  EXPECT_EQ((b * a + floor_div(b, a)).symbols(), (std::vector<Expr>{a, b}));
  EXPECT_TRUE(Expr(3).symbols().empty());
}

TEST_F(Pool, KeepsManyNodesAndEachOnce) {
  const auto build = [&] {
    for (int i = 0; i < 20000; ++i)
      static_cast<void>(max(floor_div(a * Expr(2 * i + 3) + b, Expr(i + 2)), mod(b, Expr(i + 2))));
    return pool.node_count();
  };
  const auto count = build();
  EXPECT_GT(count, 80000U);
  EXPECT_EQ(build(), count);
}

TEST_F(Pool, StopsAtTheDepthThatTraversalsCanTake) {
  Expr e = a;
  for (std::uint32_t i = 0; i < 4 * ExprPool::kMaxDepth && e.is_valid(); ++i)
    e = max(e * e * b, floor_div(b, e));
  EXPECT_FALSE(e.is_valid());
}

using Polynomial = ExprTest;

TEST_F(Polynomial, DistributesAndCancels) {
  EXPECT_EQ(Expr(16) * (a + Expr(2)), Expr(16) * a + Expr(32));
  EXPECT_TRUE(((a + b) * (a - b) - a * a + b * b).is_int(0));
  expect_simplifies("(a + 1)**2 - a**2 - 2*a", "1");
  expect_simplifies("3*a - a - 2*a + b", "b");
}

TEST_F(Polynomial, KeepsBigProductsFactored) {
  const Expr big = read("(a + b + c + d + e + f + g)*(a + b + c + d + e + f + h)");
  EXPECT_EQ(big.op(), ExprOp::mul);
  EXPECT_EQ(read("(a + b)**40").op(), ExprOp::pow);
  EXPECT_EQ(read("(2*a + 2*b)**40"), read("2**40*(a + b)**40"));
}

TEST_F(Polynomial, KeepsTermsWhoseCoefficientsWouldOverflow) {
  const Expr e = (a + Expr(kMax)) + Expr(1);
  EXPECT_TRUE(e.is_valid());
  EXPECT_EQ(parse_expr(pool, print_expr(e)).value(), e);
  const Expr product = (a * Expr(kMax)) * Expr(2);
  EXPECT_TRUE(product.is_valid());
  EXPECT_EQ(parse_expr(pool, print_expr(product)).value(), product);
}

using FloorDiv = ExprTest;

TEST_F(FloorDiv, RoundsTowardMinusInfinity) {
  EXPECT_TRUE(floor_div(Expr(-7), Expr(2)).is_int(-4));
  EXPECT_TRUE(floor_div(Expr(7), Expr(-2)).is_int(-4));
  EXPECT_TRUE(floor_div(Expr(-7), Expr(-2)).is_int(3));
}

TEST_F(FloorDiv, TakesExactMultiplesOut) {
  expect_simplifies("(8*a)//8", "a");
  expect_simplifies("(8*a + b)//8", "a + (b//8)");
  expect_simplifies("(4*a)//8", "(a//2)");
  expect_simplifies("(a//4)//8", "(a//32)");
  expect_simplifies("(a*b + b)//b", "a + 1");
}

TEST_F(FloorDiv, DividesSumsBySumsWhenExact) {
  expect_simplifies("(16*b*(a + 1))//(a + 1)", "16*b");
  expect_simplifies("(16*b*(a + 1) + 1)//(a + 1)", "((16*b + 16*a*b + 1)//(a + 1))");
}

TEST_F(FloorDiv, MakesTheUsualPoolingFormsCoincide) {
  EXPECT_EQ(read("((a - 1)//4) + 1"), read("(a + 3)//4"));
  EXPECT_EQ(read("CeilDiv(a, 4)"), read("(a + 3)//4"));
}

using Mod = ExprTest;

TEST_F(Mod, TakesTheSignOfTheDivisor) {
  EXPECT_TRUE(mod(Expr(-7), Expr(3)).is_int(2));
  EXPECT_TRUE(mod(Expr(7), Expr(-3)).is_int(-2));
  EXPECT_TRUE(mod(Expr(kMin), Expr(-1)).is_int(0));
}

TEST_F(Mod, KnowsMultiples) {
  expect_simplifies("Mod(8*a, 8)", "0");
  expect_simplifies("Mod(8*a + 3, 8)", "3");
  expect_simplifies("Mod(6*a + 4, 8)", "2*Mod(3*a + 2, 4)");
  expect_simplifies("Mod(Mod(a, 16), 8)", "Mod(a, 8)");
}

using Comparison = ExprTest;

TEST_F(Comparison, WritesEqualConditionsTheSameWay) {
  EXPECT_EQ(read("a < 5"), read("4 >= a"));
  EXPECT_EQ(read("a < 5"), read("2*a - 10 < 0"));
  EXPECT_EQ(read("a > b"), read("b - a <= -1"));
  EXPECT_EQ(read("Eq(3*a, 3*b)"), read("Eq(b, a)"));
  EXPECT_EQ(read("~(a < b)"), read("a >= b"));
}

TEST_F(Comparison, SettlesWhatNeedsNoRange) {
  expect_simplifies("Eq(2*a, 3)", "False");
  expect_simplifies("a + 1 > a", "True");
  expect_simplifies("Ne(a, a)", "False");
}

TEST_F(Comparison, DoesNotFlipFloats) {
  // With NaN both `x < 1` and `x >= 1` are false.
  EXPECT_EQ(read("~(zf0 < 1.0)").op(), ExprOp::logic_not);
  EXPECT_EQ(read("Eq(zf0, zf0)").op(), ExprOp::eq);
}

using Extreme = ExprTest;

TEST_F(Extreme, FlattensAndAbsorbs) {
  expect_simplifies("Max(1, Max(a, 3))", "Max(3, a)");
  expect_simplifies("Max(a, a - 2)", "a");
  expect_simplifies("Min(a, Max(a, b))", "a");
  expect_simplifies("Max(2, 7)", "7");
}

using Real = ExprTest;

TEST_F(Real, KeepsTheOrderOfFloatingPointSums) {
  EXPECT_NE(read("(zf0 + zf1) + zf2"), read("zf0 + (zf1 + zf2)"));
  EXPECT_EQ(read("zf0 + zf1"), read("zf1 + zf0"));
}

TEST_F(Real, RoundsIntegerQuotientsOnce) {
  // 9007199254740993 is not a double; dividing rounded operands gives a different last bit.
  EXPECT_EQ(read("IntTrueDiv(9007199254740993, 3)").as_real(), 3002399751580331.0);
  EXPECT_EQ(read("1/3").as_real(), 1.0 / 3.0);
}

TEST_F(Real, RoundsHalfToEven) {
  EXPECT_TRUE(read("RoundToInt(2.5)").is_int(2));
  EXPECT_TRUE(read("RoundToInt(3.5)").is_int(4));
  EXPECT_TRUE(read("RoundToInt(-0.5)").is_int(0));
  EXPECT_EQ(read("RoundDecimal(2.675, 2)").as_real(), 2.67);
}

}  // namespace
}  // namespace assay
