// Comparing program and graph: rounding and overflow accuse nobody, wrong kernels are found.
#include <gtest/gtest.h>

#include "compiler/interpret/interpret.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::SmallGraph;

const std::string kIn = "s0: Sym(s0); x: f32[s0, 64]";

/// The program of one graph beside the reference run of another.
auto compare(const SmallGraph& program, const SmallGraph& graph) -> CompiledComparison {
  const auto table = build_op_table();
  const auto capture = testing::capture_of(graph);
  const auto compiled = testing::compiled(program);
  EXPECT_TRUE(capture && compiled);
  const auto inputs = testing::inputs_of(graph, *capture, "s0=5");
  auto result =
      compare_with_reference(capture->graph, *compiled, Interpreter(table), *inputs, table);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : CompiledComparison{};
}

TEST(CompareWithReference, RoundingThatIsMagnifiedIsNoDifference) {
  // sum(x) - sum(x) in another order is noise of 1e-7, here made 1e-1.
  const SmallGraph one{kIn,
                       "a = aten.sum.dim_IntList(x, [1])\nb = aten.flip.default(x, [1])\n"
                       "c = aten.mul.Tensor(b, 3)\nd = aten.sum.dim_IntList(c, [1])\n"
                       "e = aten.div.Tensor(d, 3)\nf = aten.sub.Tensor(a, e)\n"
                       "g = aten.mul.Tensor(f, 1000000.0)",
                       "g"};
  const SmallGraph other{kIn,
                         "a = aten.sum.dim_IntList(x, [1])\nf = aten.sub.Tensor(a, a)\n"
                         "g = aten.mul.Tensor(f, 1000000.0)",
                         "g"};
  EXPECT_EQ(compare(other, one).compared.at(0).message, "");
}

TEST(CompareWithReference, WrongConstantIsADifference) {
  const SmallGraph right{kIn, "a = aten.exp.default(x)\nb = aten.mul.Tensor(a, 2)", "b"};
  const SmallGraph wrong{kIn, "a = aten.exp.default(x)\nb = aten.mul.Tensor(a, 2.001)", "b"};
  EXPECT_NE(compare(wrong, right).compared.at(0).message, "");
  EXPECT_EQ(compare(right, right).compared.at(0).message, "");
}

TEST(CompareWithReference, ForgottenLastTermOfASumIsADifference) {
  const SmallGraph right{kIn, "b = aten.sum.dim_IntList(x, [1])", "b"};
  const SmallGraph wrong{
      kIn, "a = aten.slice.Tensor(x, 1, 0, 63)\nb = aten.sum.dim_IntList(a, [1])", "b"};
  EXPECT_NE(compare(wrong, right).compared.at(0).message, "");
}

TEST(CompareWithReference, OverflowIsUndecided) {
  const SmallGraph one{kIn,
                       "a = aten.mul.Tensor(x, 1e38)\nb = aten.mul.Tensor(a, 1e38)\n"
                       "c = aten.mul.Tensor(b, 1e-38)",
                       "c"};
  const SmallGraph other{kIn, "c = aten.mul.Tensor(x, 1e38)", "c"};
  const auto result = compare(other, one);
  EXPECT_EQ(result.compared.at(0).message, "");
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_NE(result.notes[0].find("undecided"), std::string::npos);
}

TEST(CompareWithReference, InfinityWithoutOverflowIsADifference) {
  const SmallGraph right{kIn, "a = aten.exp.default(x)", "a"};
  const SmallGraph wrong{kIn, "a = aten.exp.default(x)\nb = aten.div.Tensor(a, 0.0)", "b"};
  EXPECT_NE(compare(wrong, right).compared.at(0).message, "");
}

/// Of elements that are written to one place any may stay; what does not rest on them is compared.
TEST(CompareWithReference, WhatPyTorchLeavesOpenIsUndecided) {
  const std::string in = kIn + "; i: i64[2]; s: f32[s0, 2]";
  const auto graph = [&](const std::string& written, const std::string& factor) {
    return SmallGraph{in,
                      "a = aten.index_copy.default(x, 1, i, " + written +
                          ")\nb = aten.neg.default(a)\nc = aten.mul.Tensor(x, " + factor + ")",
                      "b, c", 3, 3};
  };
  const auto turned = [&] {
    auto made = graph("t", "2");
    made.body = "t = aten.flip.default(s, [1])\n" + made.body;
    return made;
  }();
  const auto open = compare(turned, graph("s", "2"));
  EXPECT_EQ(open.compared.at(0).message, "");
  EXPECT_EQ(open.compared.at(1).message, "");
  ASSERT_EQ(open.notes.size(), 1U);
  EXPECT_NE(open.notes[0].find("output 0 is undecided"), std::string::npos);
  const auto wrong = compare(graph("s", "2.001"), graph("s", "2"));
  EXPECT_EQ(wrong.compared.at(0).message, "");
  EXPECT_NE(wrong.compared.at(1).message, "");
}

/// An input that is written holds what is open as well.
TEST(CompareWithReference, InputsMayHoldWhatIsOpen) {
  const std::string in = kIn + "; i: i64[2]; s: f32[s0, 2]";
  const SmallGraph one{in, "a = aten.index_copy.default(x, 1, i, s)\nc = aten.copy_.default(x, a)",
                       "s", 3, 3};
  const SmallGraph other{in,
                         "t = aten.flip.default(s, [1])\na = aten.index_copy.default(x, 1, i, t)\n"
                         "c = aten.copy_.default(x, a)",
                         "s", 3, 3};
  const auto result = compare(other, one);
  for (const auto& one_of : result.compared) EXPECT_EQ(one_of.message, "") << one_of.what;
  EXPECT_EQ(result.notes.size(), 1U);
  // But a write that is lost is none of the results that there may be.
  const SmallGraph lost{in, "a = aten.index_copy.default(x, 1, i, s)", "s", 3, 3};
  EXPECT_NE(compare(lost, one).compared.at(1).message, "");
}

}  // namespace
}  // namespace assay
