#include "core/graph/annotation.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

/// Reads an annotation and prints it again.
auto again(std::string_view annotation) -> std::string {
  ShapeEnv env;
  ClaimReader reader(env);
  const auto claim = reader.claim(annotation);
  return claim ? print_claim(*claim) : claim.error().message;
}

TEST(Annotation, ReadsWhatPyTorchPrints) {
  for (const std::string text :
       {"f32[s77, 16][16, 1]cpu", "f32[][]cpu", "b8[4][1]cuda:0", "Sym(s77)", "Sym(2*s77 + 1)",
        "i64[Max(1, s0), 2][2, 1]cpu", "(f32[2][1]cpu, Sym(s0), None)", "(f32[2][1]cpu,)"})
    EXPECT_EQ(again(text), text);
}

TEST(Annotation, LeftOutStridesStayOutAndStandInRowMajor) {
  for (const std::string text : {"f32[4, s0, 3]", "f32[2, 0]cuda:1", "bf16[]"})
    EXPECT_EQ(again(text), text);
  ShapeEnv env;
  ClaimReader reader(env);
  EXPECT_EQ(to_string(*reader.claim("f32[4, s0, 3]")->tensor()), "f32[4, s0, 3][3*s0, 3, 1]cpu");
  EXPECT_EQ(to_string(*reader.claim("f32[2, 0]cuda:1")->tensor()), "f32[2, 0][1, 1]cuda:1");
}

TEST(Annotation, TypeNamesAreNoClaims) {
  for (const std::string text :
       {"torch.Tensor", "list[int]", "Optional[Tensor]", "", "ScriptObject"})
    EXPECT_EQ(again(text), "");
}

TEST(Annotation, UnknownDtypeListsTheKnownOnes) {
  const auto message = again("f33[4][1]cpu");
  EXPECT_NE(message.find("unknown dtype abbreviation \"f33\", known are b8, u8,"),
            std::string::npos)
      << message;
}

TEST(Annotation, SaysWhatIsWrong) {
  EXPECT_EQ(again("f32[4][1, 1]cpu"), "\"f32[4][1, 1]cpu\" has 1 sizes but 2 strides");
  EXPECT_EQ(again("f32[4"), "\"f32[4\" lacks a closing bracket");
  EXPECT_EQ(again("f32[4][1]CPU!"), "\"CPU!\" is no device");
}

TEST(Annotation, DeclaresItsSymbols) {
  ShapeEnv env;
  ClaimReader reader(env);
  ASSERT_TRUE(reader.claim("f32[s9, u3][u3, 1]cpu").has_value());
  ASSERT_NE(env.find("s9"), nullptr);
  ASSERT_NE(env.find("u3"), nullptr);
  EXPECT_EQ(env.find("s9")->range.low, Expr(2));
}

TEST(ClaimNotes, HoldOffsetsAndGradFlags) {
  ShapeEnv env;
  ClaimReader reader(env);
  auto claim = *reader.claim("(f32[2][1]cpu, (i64[][]cpu, f32[s0][1]cpu))");
  EXPECT_EQ(claim_notes(claim, false), "");
  const std::string notes = "requires_grad[0], offset[1][0]=3, offset[1][1]=2*s0, alias[1][1]=7";
  ASSERT_TRUE(apply_claim_notes(notes, claim, reader).has_value());
  EXPECT_EQ(claim_notes(claim, false), notes);
}

TEST(Annotation, KnowsWhatItDoesNotState) {
  ShapeEnv env;
  ClaimReader reader(env);
  EXPECT_EQ(reader.claim("f32[2, 3]")->stated, (StatedParts{false, false, false}));
  EXPECT_EQ(reader.claim("f32[2, 3][3, 1]cpu")->stated, (StatedParts{true, false, true}));
  EXPECT_EQ(print_claim(*reader.claim("f32[2, 3]")), "f32[2, 3]");
  EXPECT_EQ(print_claim(*reader.claim("f32[2, 3]cuda:0")), "f32[2, 3]cuda:0");
}

TEST(ClaimNotes, TellOffsetsThatAreNotStated) {
  ShapeEnv env;
  ClaimReader reader(env);
  auto claim = *reader.claim("f32[2][1]cpu");
  EXPECT_EQ(claim_notes(claim, true), "offset=?");
  EXPECT_EQ(claim_notes(claim, false), "");
  ASSERT_TRUE(apply_claim_notes("offset=0", claim, reader).has_value());
  EXPECT_TRUE(claim.stated.offset);
  EXPECT_EQ(claim_notes(claim, true), "");
  EXPECT_EQ(claim_notes(claim, false), "offset=0");
  ASSERT_TRUE(apply_claim_notes("offset=?", claim, reader).has_value());
  EXPECT_FALSE(claim.stated.offset);
}

TEST(ClaimNotes, RejectPartsThatAreNotThere) {
  ShapeEnv env;
  ClaimReader reader(env);
  auto claim = *reader.claim("(f32[2][1]cpu, Sym(s0))");
  for (const std::string notes :
       {"offset[2]=1", "offset=1", "offset[1]=1", "offset[0", "colour=red", "offset[0][0]=1",
        "offset[x]=1", "alias[0]=-1", "alias[0]=x", "offsets[0]=1"})
    EXPECT_FALSE(apply_claim_notes(notes, claim, reader).has_value()) << notes;
}

TEST(SplitAtCommas, RespectsBrackets) {
  EXPECT_EQ(split_at_commas("a, Max(1, b), [c, d]"),
            (std::vector<std::string_view>{"a", "Max(1, b)", "[c, d]"}));
  EXPECT_TRUE(split_at_commas("  ").empty());
}

}  // namespace
}  // namespace assay
