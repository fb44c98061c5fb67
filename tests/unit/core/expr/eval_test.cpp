#include "core/expr/eval.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "core/expr/text.h"

namespace assay {
namespace {

class EvalTest : public ::testing::Test {
 protected:
  auto read(std::string_view text) -> Expr {
    const auto e = parse_expr(pool, text);
    EXPECT_TRUE(e.has_value()) << text << ": " << (e ? "" : e.error().message);
    return e.value_or(Expr::invalid());
  }
  auto shown(const Interval& i) -> std::string {
    return "[" + print_expr(i.low) + ", " + print_expr(i.high) + "]";
  }
  auto interval(std::string_view text) -> std::string {
    return shown(interval_of(read(text), ranges));
  }
  auto decide(std::string_view text) -> std::optional<bool> {
    return decide_statically(read(text), ranges);
  }

  static auto bitwise(const Expr& a, const Expr& b) -> Expr {
    return make(ExprOp::bit_or, std::array{a, b});
  }

  ExprPool pool;
  Expr s0 = pool.symbol("s0");
  Expr s1 = pool.symbol("s1");
  Ranges ranges{{s0, {Expr(2), Expr::infinity()}}, {s1, {Expr(-3), Expr(10)}}};
};

using Evaluate = EvalTest;

TEST_F(Evaluate, NamesTheUnboundSymbol) {
  const auto value = evaluate(s0 + s1, {{s0, Expr(1)}});
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().code, ErrorCode::undecided);
  EXPECT_EQ(value.error().message, "symbol `s1` is not bound");
}

TEST_F(Evaluate, NamesTheFailingPart) {
  const auto division = evaluate(read("1 + s1//(s0 - 1)"), {{s0, Expr(1)}, {s1, Expr(4)}});
  ASSERT_FALSE(division.has_value());
  EXPECT_EQ(division.error().message, "division by zero in `(s1//(s0 - 1))`");
  const auto overflow = evaluate(s0 * s0, {{s0, Expr(std::int64_t{1} << 32)}});
  ASSERT_FALSE(overflow.has_value());
  EXPECT_EQ(overflow.error().message, "integer overflow in `s0**2`");
  const auto opaque = evaluate(read("OpaqueUnaryFn_cos(s0)"), {{s0, Expr(1)}});
  ASSERT_FALSE(opaque.has_value());
  EXPECT_EQ(opaque.error().message, "a function we cannot evaluate in `OpaqueUnaryFn_cos(s0)`");
}

TEST_F(Evaluate, NeedsOnlyTheChosenBranch) {
  EXPECT_EQ(evaluate_int(read("Where(s0 > 0, s0, 1//(s0 + 1))"), {{s0, Expr(5)}}).value(), 5);
  const auto settled = evaluate(read("(s0 > 0) & (1//(s0 + 1) > 5)"), {{s0, Expr(-1)}});
  EXPECT_EQ(settled.value(), Expr::boolean(false));
}

TEST_F(Evaluate, DoesNotFailOnBigIntermediateTerms) {
  // (s0 - s1) * 2^40 is kept as 2^40 s0 - 2^40 s1.
  const Expr e = (s0 - s1) * Expr(std::int64_t{1} << 40);
  const Expr big(std::int64_t{1} << 40);
  EXPECT_EQ(evaluate_int(e, {{s0, big}, {s1, big}}).value(), 0);
}

TEST_F(Evaluate, SeesTheTwoSidesOfIssue105097Equal) {
  // The product of one flattened size is the product of the sizes, so both sides are 11520.
  const Expr both = read("Eq((s0 + 1)*120, 120*s0 + 120)");
  EXPECT_EQ(evaluate(both, {{s0, Expr(95)}}).value(), Expr::boolean(true));
  EXPECT_EQ(evaluate_int(read("(s0 + 1)*120"), {{s0, Expr(95)}}).value(), 11520);
}

TEST_F(Evaluate, HandlesSharedSubexpressionsOnce) {
  Expr e = s0;
  for (int i = 0; i < 200; ++i) e = max(floor_div(e, Expr(2)) * s1, mod(e, s1 + Expr(3)));
  EXPECT_TRUE(evaluate_int(e, {{s0, Expr(7)}, {s1, Expr(1)}}).has_value());
}

TEST_F(Evaluate, AndEveryOtherTraversalTakesTheDeepestExpression) {
  Expr e = s0;
  while (e.depth() + 2 < ExprPool::kMaxDepth) e = max(mod(s1, e), s0);
  ASSERT_TRUE(e.is_valid());
  EXPECT_TRUE(evaluate(e, {{s0, Expr(5)}, {s1, Expr(3)}}).has_value());
  EXPECT_TRUE(substitute(e, {{s0, s0 + Expr(1)}}).is_valid());
  EXPECT_EQ(interval_of(e, ranges).low, Expr(2));
  EXPECT_EQ(congruence_of(e).modulus, 1);
  EXPECT_EQ(solve_for(substitute(e, {{s1, s0}}), s0, 3), std::nullopt);
  EXPECT_FALSE(parse_expr(pool, print_expr(e)).has_value());  // deeper than the parser goes
  Expr copy = s1;
  while (copy.depth() + 2 < ExprPool::kMaxDepth) copy = max(mod(s1, copy), s0);
  EXPECT_TRUE(Expr::compare(e, copy) != 0);
}

TEST_F(Evaluate, OfSharedPartsDoesNotGrowWithTheTree) {
  Expr e = s0;
  for (int i = 0; i < 150; ++i) e = max(bitwise(e, s1), mod(e, s1));
  EXPECT_EQ(e.tree_size(), std::numeric_limits<std::uint32_t>::max());
  EXPECT_TRUE(evaluate(e, {{s0, Expr(5)}, {s1, Expr(3)}}).has_value());
  EXPECT_EQ(evaluate(e, {{s0, Expr(5)}}).error().code, ErrorCode::undecided);
  EXPECT_TRUE(print_expr(e).starts_with("<expression of more than"));
  EXPECT_FALSE(parse_expr(pool, print_expr(e)).has_value());
}

using Substitute = EvalTest;

TEST_F(Substitute, ReplacesAllAtOnce) {
  EXPECT_EQ(substitute(s0 - s1 * Expr(2), {{s0, s1}, {s1, s0}}), s1 - s0 * Expr(2));
  EXPECT_TRUE(substitute(read("Mod(s0*s1, 8)"), {{s0, Expr(8)}}).is_int(0));
}

using IntervalOf = EvalTest;

TEST_F(IntervalOf, BoundsArithmetic) {
  EXPECT_EQ(interval("3*s0 - 1"), "[5, int_oo]");
  EXPECT_EQ(interval("s0*s1"), "[-int_oo, int_oo]");
  EXPECT_EQ(interval("s1**2"), "[0, 100]");
  EXPECT_EQ(interval("s1//4"), "[-1, 2]");
  EXPECT_EQ(interval("Mod(s1, 8)"), "[0, 7]");
  EXPECT_EQ(interval("Mod(s0, -8)"), "[-7, 0]");
  EXPECT_EQ(interval("100//s0"), "[0, 50]");
  EXPECT_EQ(interval("Max(s1, 4)"), "[4, 10]");
  EXPECT_EQ(interval("Where(s1 > 20, 1000, s1)"), "[-3, 10]");
  EXPECT_EQ(interval("CeilToInt(IntTrueDiv(s1, 2))"), "[-1, 5]");
  EXPECT_EQ(interval("s1 < 11"), "[1, 1]");
}

TEST_F(IntervalOf, KnowsThatARemainderIsNoMoreThanTheWhole) {
  // PyTorch 149774: the bound of s0 - s0 % 8 was given as [-5, oo].
  EXPECT_EQ(interval("s0 - Mod(s0, 8)"), "[0, int_oo]");
  EXPECT_EQ(interval("s0 - 8*(s0//8)"), "[0, 7]");
  EXPECT_EQ(interval("Max(s0, s1) - s0"), "[0, 8]");
  EXPECT_EQ(interval("3*s1 + 1 - 3*Mod(s1, 4)"), "[-11, 25]");
}

TEST_F(IntervalOf, WidensOnOverflow) {
  ranges[s0] = {Expr(0), Expr(std::int64_t{1} << 40)};
  EXPECT_EQ(interval("s0*s0"), "[0, int_oo]");
}

TEST_F(IntervalOf, LetsUnboundedFloatsBeNan) {
  const Expr x = pool.symbol("zf0", ExprType::real);
  EXPECT_TRUE(interval_of(x, ranges).contains(Expr::real(__builtin_nan(""))));
  EXPECT_FALSE((Interval{Expr(0), Expr(1)}).contains(Expr::real(__builtin_nan(""))));
  EXPECT_EQ(decide("zf0 <= oo"), std::nullopt);
  ranges[x] = {Expr::real(0.5), Expr::infinity()};
  EXPECT_EQ(decide("zf0 > 0.25"), true);
  EXPECT_EQ(decide("zf0 > 0.5"), std::nullopt);
}

using CongruenceOf = EvalTest;

TEST_F(CongruenceOf, FollowsResidues) {
  const auto residue = [&](std::string_view text) {
    const Congruence c = congruence_of(read(text), {{s0, {8, 3}}});
    return std::pair(c.modulus, c.remainder);
  };
  EXPECT_EQ(residue("6*s1 + 4"), std::pair(std::int64_t{6}, std::int64_t{4}));
  EXPECT_EQ(residue("s0 + 2"), std::pair(std::int64_t{8}, std::int64_t{5}));
  EXPECT_EQ(residue("Mod(s0, 4)"), std::pair(std::int64_t{0}, std::int64_t{3}));
  EXPECT_EQ(residue("s0//2"), std::pair(std::int64_t{4}, std::int64_t{1}));
  EXPECT_EQ(residue("s1"), std::pair(std::int64_t{1}, std::int64_t{0}));
}

using DecideStatically = EvalTest;

TEST_F(DecideStatically, UsesRangesDifferencesAndResidues) {
  EXPECT_EQ(decide("s0 >= 2"), true);
  EXPECT_EQ(decide("s0 > 2"), std::nullopt);
  EXPECT_EQ(decide("s0 + s1 > s0 - 4"), true);
  EXPECT_EQ(decide("Eq(Mod(8*s0, 8), 0)"), true);
  EXPECT_EQ(decide("Eq(2*s0, 3)"), false);
  EXPECT_EQ(decide("Eq(6*s0 + 4*Max(s0, s1), 3)"), false);
  EXPECT_EQ(decide("Ne(s1, 11)"), true);
  EXPECT_EQ(decide("(s1 > 20) | (s0 > 1)"), true);
  EXPECT_EQ(decide("(s1 > 20) & (s0 > 5)"), false);
  EXPECT_EQ(decide("s0 < int_oo"), true);
}

TEST_F(DecideStatically, SubstitutesFixedSymbols) {
  ranges[s0] = {Expr(7), Expr(7)};
  EXPECT_EQ(decide("Eq(Mod(s0*s1, 7), 0)"), true);
}

TEST_F(DecideStatically, SaysNothingAboutWhatIsNotBoolean) {
  EXPECT_EQ(decide("s0"), std::nullopt);
}

using SolveFor = EvalTest;

TEST_F(SolveFor, InvertsShapesOfSizes) {
  EXPECT_EQ(solve_for(read("3*s0 + 2"), s0, 17), 5);
  EXPECT_EQ(solve_for(read("3*s0 + 2"), s0, 16), std::nullopt);
  EXPECT_EQ(solve_for(read("7 - 2*s0"), s0, -3), 5);
  EXPECT_EQ(solve_for(read("(6*s0 + 1)//3"), s0, 8), 4);
  EXPECT_EQ(solve_for(read("s0**3"), s0, -27), -3);
  EXPECT_EQ(solve_for(read("Max(4, 2*s0)"), s0, 10), 5);
}

TEST_F(SolveFor, SaysNothingWhenTheAnswerIsNotUnique) {
  EXPECT_EQ(solve_for(read("s0//4"), s0, 3), std::nullopt);
  EXPECT_EQ(solve_for(read("s0**2"), s0, 9), std::nullopt);
  EXPECT_EQ(solve_for(read("Max(4, s0)"), s0, 4), std::nullopt);
  EXPECT_EQ(solve_for(read("s0 + s1"), s0, 4), std::nullopt);
  EXPECT_EQ(solve_for(read("5"), s0, 5), std::nullopt);
}

}  // namespace
}  // namespace assay
