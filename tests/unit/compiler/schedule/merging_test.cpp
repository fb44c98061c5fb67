// Neighbouring axes become one where every index allows it, and only there.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/expr/text.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::SmallGraph;

struct Row {
  std::string name;
  SmallGraph graph;
  std::string axes;  ///< extents of the first kernel's, reduced ones in brackets
};
class Merging : public ::testing::TestWithParam<Row> {};

auto axes_of(const CompiledGraph& compiled) -> std::string {
  std::vector<std::string> extents;
  const auto& kernel = *compiled.program.kernels.begin()->second.kernel;
  for (const auto& axis : kernel.axes)
    extents.push_back(axis.kind == TileAxis::Kind::reduction
                          ? fmt::format("[{}]", print_expr(*axis.extent))
                          : print_expr(*axis.extent));
  return fmt::format("{}", fmt::join(extents, " "));
}

TEST_P(Merging, AxesAreThoseThatAreNeeded) {
  const auto& row = GetParam();
  const auto compiled = testing::compiled(row.graph);
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(axes_of(*compiled), row.axes);
  EXPECT_EQ(testing::problems(row.graph, {"s0=3, s1=4", "s0=1, s1=5", "s0=0, s1=2", "s0=2, s1=0"}),
            "");
}

const std::string kSizes = "s0: Sym(s0); s1: Sym(s1); ";
const std::vector<Row> kRows = {
    {"Pointwise", {kSizes + "x: f32[s0, s1, 6]", "a = aten.exp.default(x)", "a"}, "6*s0*s1"},
    {"Row", {kSizes + "x: f32[s0, s1]; b: f32[s1]", "a = aten.add.Tensor(x, b)", "a"}, "s0 s1"},
    {"RowOfThree",
     {kSizes + "x: f32[s0, s1, 6]; b: f32[6]", "a = aten.add.Tensor(x, b)", "a"},
     "s0*s1 6"},
    {"ColumnOfThree",
     {kSizes + "x: f32[s0, s1, 6]; b: f32[s0, 1, 1]", "a = aten.add.Tensor(x, b)", "a"},
     "s0 6*s1"},
    {"Turned",
     {kSizes + "x: f32[s0, s1]",
      "t = aten.permute.default(x, [1, 0])\n"
      "a = aten.clone.default(t, memory_format = torch.contiguous_format)",
      "a"},
     "s1 s0"},
    {"TurnedAlike",
     {kSizes + "x: f32[s0, s1][1, s0]; y: f32[s0, s1][1, s0]", "a = aten.add.Tensor(x, y)", "a"},
     "s0 s1"},
    {"WithGaps", {kSizes + "x: f32[s0, s1][2*s1, 1]", "a = aten.exp.default(x)", "a"}, "s0 s1"},
    {"FullSum", {kSizes + "x: f32[s0, s1]", "a = aten.sum.default(x)", "a"}, "[s0*s1]"},
    {"RowSum",
     {kSizes + "x: f32[s0, s1, 6]", "a = aten.sum.dim_IntList(x, [2])", "a"},
     "s0*s1 [6]"},
    {"SumOfTwo",
     {kSizes + "x: f32[s0, s1, 6]", "a = aten.sum.dim_IntList(x, [1, 2])", "a"},
     "s0 [6*s1]"},
    {"ColumnSum", {kSizes + "x: f32[s0, s1]", "a = aten.sum.dim_IntList(x, [0])", "a"}, "[s0] s1"},
    {"FullProduct", {kSizes + "x: f32[s0, s1, 6]", "a = aten.prod.default(x)", "a"}, "[6*s0*s1]"},
    {"Counting",
     {kSizes + "x: f32[s0, s1]", "i = aten.arange.default(s1)\na = aten.add.Tensor(x, i)", "a"},
     "s0 s1"},
    {"Padded",
     {kSizes + "x: f32[s0, s1]", "a = aten.constant_pad_nd.default(x, [0, 1], 0.0)", "a"},
     "s0 s1 + 1"},
};
INSTANTIATE_TEST_SUITE_P(, Merging, ::testing::ValuesIn(kRows),
                         [](const auto& one) { return one.param.name; });

TEST(MergingDecision, CanBeForbidden) {
  const SmallGraph graph{"s0: Sym(s0); x: f32[s0, 6]", "a = aten.exp.default(x)", "a"};
  const auto merged = testing::compiled(graph);
  const auto is_merge = [](const CompileDecision& one) {
    return one.kind == CompileDecision::Kind::merge;
  };
  const auto made = std::ranges::find_if(merged->decisions, is_merge);
  ASSERT_NE(made, merged->decisions.end());
  EXPECT_TRUE(made->accepted);
  EXPECT_EQ(made->subject, "a");
  EXPECT_EQ(made->other, "s0, 6");
  CompileOptions options;
  options.schedule.is_forbidden = is_merge;
  EXPECT_EQ(axes_of(*testing::compiled(graph, options)), "s0 6");
  options = {};
  options.schedule.merge = false;
  EXPECT_EQ(axes_of(*testing::compiled(graph, options)), "s0 6");
}

}  // namespace
}  // namespace assay
