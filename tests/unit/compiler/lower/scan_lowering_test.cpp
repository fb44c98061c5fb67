// Sums and products of what stands before: loops that carry them, against the reference run.
#include <gtest/gtest.h>

#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::row_name;
using Row = testing::CompiledRow;

class ScanLowering : public ::testing::TestWithParam<Row> {};

TEST_P(ScanLowering, ProgramIsTheGraphWithoutLibraryCalls) {
  const auto& row = GetParam();
  EXPECT_EQ(testing::problems(row.graph, row.sizes), "") << testing::graph_text(row.graph);
  const auto compiled = testing::compiled(row.graph);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::call_count(*compiled), 0);
}

auto scans() -> std::vector<Row> {
  return {
      {"RowsAndColumns",
       {"x: f32[s0, 5]",
        "a = aten.cumsum.default(x, 0)\nb = aten.cumsum.default(x, 1)\n"
        "c = aten.cumsum.default(x, -2)",
        "a, b, c"}},
      {"MiddleDimension", {"x: f64[2, s0, 3]", "a = aten.cumsum.default(x, 1)", "a"}},
      {"Products",
       {"x: f32[s0, 4]; i: i32[3, s0]",
        "a = aten.cumprod.default(x, 0)\nb = aten.cumprod.default(i, 1)", "a, b"}},
      {"OtherDtypes",
       {"b: b8[s0, 4]; h: bf16[s0, 4]; i: i32[s0]; x: f32[s0]",
        "a = aten.cumsum.default(b, 0)\nc = aten.cumsum.default(h, 1)\n"
        "d = aten.cumsum.default(i, 0)\ne = aten.cumsum.default(x, 0, dtype = torch.float64)\n"
        "f = aten.cumsum.default(x, 0, dtype = torch.bfloat16)",
        "a, c, d, e, f"}},
      {"OfTheSameNumber",
       {"s0: Sym(s0); x: f32[3, 1]",
        "a = aten.full.default([2, s0], 3)\nb = aten.cumsum.default(a, 1)\n"
        "c = aten.expand.default(x, [3, 4])\nd = aten.cumsum.default(c, 1)",
        "b, d"}},
      {"OfOneElement", {"x: f32[s0, 1]", "a = aten.cumsum.default(x, 1)", "a"}},
      {"ReadsAViewAndIsRead",
       {"x: f32[4, s0]",
        "t = aten.permute.default(x, [1, 0])\ne = aten.exp.default(t)\n"
        "a = aten.cumsum.default(e, 0)\nb = aten.sub.Tensor(a, e)\n"
        "f = aten.flip.default(a, [0])\ng = aten.cumsum.default(f, 0)",
        "b, g"}},
      {"OfWhatIsReducedAlongIt",
       {"x: f32[s0, 6]",
        "m = aten.amax.default(x, [1], True)\nd = aten.sub.Tensor(x, m)\ne = aten.exp.default(d)\n"
        "a = aten.cumsum.default(e, 1)\nb = aten.sum.dim_IntList(a, [1])",
        "a, b"}},
      {"OfDifferentDimensions",
       {"x: f32[s0, 6]",
        "a = aten.cumsum.default(x, 1)\nb = aten.cumsum.default(a, 0)\n"
        "c = aten.sum.dim_IntList(a, [0])",
        "b, c"}},
      {"OfMergedDimensions",
       {"s0: Sym(s0); x: f32[s0, 2, 3]",
        "e = aten.relu.default(x)\nf = aten.view.default(e, [s0, 6])\n"
        "a = aten.cumsum.default(f, 1)",
        "a, e"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Graphs, ScanLowering, ::testing::ValuesIn(scans()), row_name);

TEST(Scans, JoinWhatReadsThemInPlace) {
  const testing::SmallGraph graph{"x: f32[s0, 6]",
                                  "e = aten.exp.default(x)\na = aten.cumsum.default(e, 1)\n"
                                  "b = aten.sub.Tensor(a, 1)",
                                  "b"};
  const auto compiled = testing::compiled(graph);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::kernel_count(*compiled), 1);
}

TEST(Scans, OfTwoDimensionsAreTwoKernels) {
  const testing::SmallGraph graph{
      "x: f32[s0, 6]", "a = aten.cumsum.default(x, 1)\nb = aten.cumsum.default(x, 0)", "a, b"};
  const auto compiled = testing::compiled(graph);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::kernel_count(*compiled), 2);
}

}  // namespace
}  // namespace assay
