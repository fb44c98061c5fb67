#include "core/expr/text.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

class TextTest : public ::testing::Test {
 protected:
  auto read(std::string_view text) -> Expr {
    const auto e = parse_expr(pool, text);
    EXPECT_TRUE(e.has_value()) << text << ": " << (e ? "" : e.error().message);
    return e.value_or(Expr::invalid());
  }
  auto error(std::string_view text) -> std::string {
    const auto e = parse_expr(pool, text);
    if (e) return "no error";
    EXPECT_EQ(e.error().code, ErrorCode::bad_input);
    return e.error().message;
  }

  ExprPool pool;
};

using ParseExpr = TextTest;

TEST_F(ParseExpr, ReadsTheThreeSpellingsAsOne) {
  const Expr expected = floor_div(read("s77") + Expr(7), Expr(8));
  EXPECT_EQ(read("((s77 + 7)//8)"), expected);
  EXPECT_EQ(read("(s77 + 7) // 8"), expected);
  EXPECT_EQ(read("torch.utils._sympy.functions.FloorDiv(Add(Symbol('s77', positive=True, "
                 "integer=True), Integer(7)), Integer(8))"),
            expected);
}

TEST_F(ParseExpr, WordsOfTheLanguageAreNoFunctionsOfAModule) {
  EXPECT_FALSE(parse_expr(pool, "s.not(s0)").has_value());
  EXPECT_FALSE(parse_expr(pool, "math.if(s0)").has_value());
  EXPECT_TRUE(parse_expr(pool, "s.nothing(s0)").has_value());
}

TEST_F(ParseExpr, GroupsOfConstantsThatDoNotFitAreTheSame) {
  const std::string eights = "8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*8*s1";
  EXPECT_EQ(read(eights), read("8*(1152921504606846976*s1)"));
  EXPECT_EQ(read("s0 + " + eights), read("s0 + 8*(s1*1152921504606846976)"));
  EXPECT_NE(read(eights), read("8*" + eights));
}

TEST_F(ParseExpr, ReadsRelationsOfSrepr) {
  EXPECT_EQ(read("GreaterThan(Symbol('s0', integer=True), Integer(2))"), read("s0 >= 2"));
  EXPECT_EQ(read("StrictLessThan(Symbol('s0'), Symbol('s1'))"), read("s0 < s1"));
  EXPECT_EQ(read("Unequality(Symbol('s0'), Integer(-3))"), read("Ne(s0, -3)"));
  EXPECT_EQ(read("And(Equality(Symbol('s0'), Integer(1)), true)"), read("s0 == 1"));
}

TEST_F(ParseExpr, ReadsRationalsExactly) {
  EXPECT_EQ(read("Mul(Rational(1, 3), Symbol('s0'))"), read("s0/3"));
  EXPECT_EQ(read("Mul(Symbol('s0'), Pow(Symbol('s1'), Integer(-1)))"), read("IntTrueDiv(s0, s1)"));
  EXPECT_EQ(read("floor(s0/2)"), read("s0//2"));
  EXPECT_EQ(read("ceiling(s0/2)"), read("CeilDiv(s0, 2)"));
  EXPECT_EQ(read("math.floor(s0/2)").op(), ExprOp::floor_to_int);
}

TEST_F(ParseExpr, ChainsComparisonsAsPython) {
  EXPECT_EQ(read("2 <= s0 < 9"), read("(s0 >= 2) & (s0 <= 8)"));
  EXPECT_EQ(read("not s0 < 3 or s1 == 2 and s0 > 1"), read("(s0 >= 3) | ((s1 == 2) & (s0 > 1))"));
}

TEST_F(ParseExpr, PicksBitOrLogicByOperandType) {
  EXPECT_EQ(read("s0 & 6").op(), ExprOp::bit_and);
  EXPECT_EQ(read("(s0 < 6) & (s1 < 3)").op(), ExprOp::logic_and);
  EXPECT_EQ(read("~s0"), read("-s0 - 1"));
  EXPECT_EQ(read("~(s0 < 6)"), read("s0 >= 6"));
}

TEST_F(ParseExpr, BindsPowersAndSignsAsPython) {
  EXPECT_EQ(read("-s0**2"), read("0 - s0*s0"));
  EXPECT_EQ(read("2**3**2").as_int(), 512);
  EXPECT_EQ(read("7 // -2").as_int(), -4);
  EXPECT_EQ(read("-7 % 3").as_int(), 2);
  EXPECT_EQ(read("2**-1").as_real(), 0.5);
}

TEST_F(ParseExpr, ReadsPythonCalls) {
  EXPECT_EQ(read("max(1, s0)"), read("Max(1, s0)"));
  EXPECT_EQ(read("math.ceil(s0 / 2)"), read("CeilToInt(IntTrueDiv(s0, 2))"));
  EXPECT_EQ(read("int(float(s0))"), read("s0"));
  EXPECT_EQ(read("s0 if s1 > 2 else 3"), read("Where(s1 > 2, s0, 3)"));
  EXPECT_EQ(read("Piecewise((s0, s1 > 2), (3, True))"), read("Where(s1 > 2, s0, 3)"));
}

TEST_F(ParseExpr, ReadsFloatTexts) {
  EXPECT_EQ(read("1.00000000000000e-12").as_real(), 1e-12);
  EXPECT_EQ(read("Float('0.1', precision=53)").as_real(), 0.1);
  EXPECT_EQ(read("-int_oo"), Expr::neg_infinity());
  EXPECT_EQ(read("-oo"), Expr::real(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(read("float('inf')"), read("oo"));
  EXPECT_EQ(read("zf3").type(), ExprType::real);
}

TEST_F(ParseExpr, KeepsUnknownFunctionsByName) {
  const Expr e = read("OpaqueUnaryFn_cos(s0 + 0)");
  EXPECT_EQ(e.op(), ExprOp::opaque);
  EXPECT_EQ(e.name(), "OpaqueUnaryFn_cos");
  EXPECT_EQ(e.type(), ExprType::real);
  EXPECT_EQ(read("IsNonOverlappingAndDenseIndicator(s0, 1)").type(), ExprType::integer);
}

TEST_F(ParseExpr, NamesColumnAndExpectation) {
  EXPECT_EQ(error("s0 +"), "column 5: expected a number, a name or `(`, found the end");
  EXPECT_EQ(error("(s0"), "column 4: expected `)`, found the end");
  EXPECT_EQ(error("s0 s1"), "column 4: expected an operator or the end, found `s1`");
  EXPECT_EQ(error("Max(s0 s1)"), "column 8: expected `,`, found `s1`");
  EXPECT_EQ(error("s0 + \xc3\xa9"), "column 6: unexpected character 0xc3");
}

TEST_F(ParseExpr, RefusesWhatHasNoMeaning) {
  EXPECT_EQ(error("9223372036854775808"), "column 1: integer does not fit 64 bits");
  EXPECT_EQ(read("-9223372036854775808").as_int(), INT64_MIN);
  EXPECT_EQ(error("s0 // 0"),
            "column 4: overflow, division by zero or nesting too deep in FloorDiv");
  EXPECT_EQ(error("s0 and s1"), "column 4: `and` does not take numbers");
  EXPECT_EQ(error("Mod(s0)"), "column 1: operands of the wrong number or type for Mod");
  EXPECT_EQ(error("1e999"), "column 1: number out of range");
  EXPECT_EQ(error(""), "column 1: expected a number, a name or `(`, found the end");
  EXPECT_EQ(error("0x10"), "column 2: expected an operator after the number");
}

TEST_F(ParseExpr, KeepsThePowerWhoseExponentHasNoOpposite) {
  const auto power = read("8**-9223372036854775808");
  for (const auto spelling : {ExprSpelling::sympy, ExprSpelling::srepr, ExprSpelling::python})
    EXPECT_EQ(read(print_expr(power, spelling)), power);
}

TEST_F(ParseExpr, RefusesHostileNestingWithoutOverflowingTheStack) {
  for (const char* piece : {"(", "-", "~", "Max(1, ", "not ", "2**", "1 if True else "}) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += piece;
    EXPECT_TRUE(error(text).ends_with("too deeply nested")) << piece;
  }
}

TEST_F(ParseExpr, ReadsLongFlatTexts) {
  std::string text = "s0";
  for (int i = 1; i < 3000; ++i) text += " + s" + std::to_string(i);
  EXPECT_EQ(read(text).args().size(), 3000U);
}

TEST_F(ParseExpr, KeepsTheWrittenFormWhenAsked) {
  const auto e = parse_expr_as_written(pool, "s0 + 0*s1");
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(print_expr(*e), "s0 + 0*s1");
}

using PrintExpr = TextTest;

TEST_F(PrintExpr, FollowsPyTorchsStyle) {
  EXPECT_EQ(print_expr(read("2 + s53")), "s53 + 2");
  EXPECT_EQ(print_expr(read("(s53 + 7)//8")), "((s53 + 7)//8)");
  EXPECT_EQ(print_expr(read("s0 - Mod(s0, 8)")), "s0 - Mod(s0, 8)");
  EXPECT_EQ(print_expr(read("2 <= s0")), "s0 >= 2");
  EXPECT_EQ(print_expr(read("Eq(s0, 2)")), "Eq(s0, 2)");
  EXPECT_EQ(print_expr(read("s0**2*s1*3")), "3*s0**2*s1");
}

TEST_F(PrintExpr, WritesPythonThatPythonReads) {
  const auto python = [&](std::string_view text) {
    return print_expr(read(text), ExprSpelling::python);
  };
  EXPECT_EQ(python("FloorDiv(s0 + 7, 8)"), "(s0 + 7) // 8");
  EXPECT_EQ(python("Mod(s0, 8)"), "s0 % 8");
  EXPECT_EQ(python("Max(1, s0)"), "max(1, s0)");
  EXPECT_EQ(python("Eq(s0, 2) & (s1 < 3)"), "s0 == 2 and s1 <= 2");
  EXPECT_EQ(python("CeilToInt(IntTrueDiv(s0, 2))"), "math.ceil(s0 / 2)");
  EXPECT_EQ(python("Where(s0 > 2, s1, 3)"), "(s1 if s0 >= 3 else 3)");
  EXPECT_EQ(python("Where(s0 > 2, s1, Where(s1 > 4, s0, 3))"),
            "(s1 if s0 >= 3 else s0 if s1 >= 5 else 3)");
}

TEST_F(PrintExpr, WritesSreprThatSympyReads) {
  EXPECT_EQ(print_expr(read("s77 + 8"), ExprSpelling::srepr),
            "Add(Integer(8), Symbol('s77', positive=True, integer=True))");
  EXPECT_EQ(print_expr(read("u0 < 3"), ExprSpelling::srepr),
            "LessThan(Symbol('u0', integer=True), Integer(2))");
  EXPECT_EQ(print_expr(read("Eq(zf0, 0.5)"), ExprSpelling::srepr),
            "Equality(Float('0.5', precision=53), Symbol('zf0', real=True))");
}

}  // namespace
}  // namespace assay
