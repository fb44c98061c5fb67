// Resampling, padding by what is there, adaptive pools, windows as columns: as loops, against the
// reference run.
#include <gtest/gtest.h>

#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::row_name;
using Row = testing::CompiledRow;

class ResamplingLowering : public ::testing::TestWithParam<Row> {};

TEST_P(ResamplingLowering, IsLoopsThatGiveTheReferencesNumbers) {
  const auto& row = GetParam();
  EXPECT_EQ(testing::problems(row.graph, row.sizes), "") << testing::graph_text(row.graph);
  const auto program = testing::compiled(row.graph);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(testing::call_count(*program), 0);
}
auto rows_named(std::vector<Row> rows) {
  return ::testing::ValuesIn(std::move(rows));
}

const std::string kImage =
    "s0: Sym(s0); x: f32[2, s0, 5, 7]; h: bf16[2, s0, 5, 7]; d: f64[2, s0, 5, 7]";
const std::string kOpenImage = "s0: Sym(s0); x: f32[2, 3, s0, 6]";

auto resampled() -> std::vector<Row> {
  return {
      {"Nearest",
       {kImage,
        "a = aten.upsample_nearest2d.vec(x, None, [2.0, 2.0])\n"
        "b = aten.upsample_nearest2d.default(x, [7, 10])\n"
        "c = aten.upsample_nearest2d.default(h, [3, 4])\n"
        "e = aten._upsample_nearest_exact2d.default(d, [8, 11])\n"
        "f = aten._upsample_nearest_exact2d.vec(x, None, [1.5, 2.5])",
        "a, b, c, e, f"}},
      {"NearestOfOpenSizes",
       {kOpenImage,
        "a = aten.upsample_nearest2d.vec(x, None, [2.0, 2.0])\n"
        "b = aten.upsample_nearest2d.default(x, [9, 5])",
        "a, b"}},
      {"NearestOfLinesAndVolumes",
       {"s0: Sym(s0); x: f32[2, s0, 6]; v: f32[1, 2, s0, 3, 4]",
        "a = aten.upsample_nearest1d.default(x, [10])\n"
        "b = aten.upsample_nearest3d.vec(v, None, [2.0, 2.0, 2.0])\n"
        "c = aten._upsample_nearest_exact1d.default(x, [4])",
        "a, b, c"}},
      {"Linear",
       {kImage,
        "a = aten.upsample_bilinear2d.vec(x, None, False, [2.0, 2.0])\n"
        "b = aten.upsample_bilinear2d.default(x, [9, 3], True)\n"
        "c = aten.upsample_bilinear2d.default(h, [8, 8], False)\n"
        "e = aten.upsample_bilinear2d.default(d, [1, 13], True)\n"
        "f = aten.upsample_bilinear2d.vec(x, None, False, [1.7, 0.6])",
        "a, b, c, e, f"}},
      {"LinearOfOpenSizes",
       {kOpenImage,
        "a = aten.upsample_bilinear2d.vec(x, None, False, [2.0, 2.0])\n"
        "b = aten.upsample_bilinear2d.default(x, [9, 5], True)",
        "a, b"}},
      {"LinearOfLinesAndVolumes",
       {"s0: Sym(s0); x: f32[2, s0, 6]; v: f32[1, 2, s0, 3, 4]",
        "a = aten.upsample_linear1d.default(x, [10], False)\n"
        "b = aten.upsample_trilinear3d.default(v, [5, 2, 7], True)",
        "a, b"}},
      {"Cubic",
       {kImage,
        "a = aten.upsample_bicubic2d.default(x, [9, 11], False)\n"
        "b = aten.upsample_bicubic2d.default(d, [3, 14], True)",
        "a, b"}},
      {"ResampledBackward",
       {"s0: Sym(s0); x: f32[2, s0, 10, 14]; l: f32[2, s0, 9]",
        "a = aten.upsample_nearest2d_backward.default(x, [10, 14], [2, s0, 5, 7])\n"
        "b = aten.upsample_bilinear2d_backward.default(x, [10, 14], [2, s0, 5, 7], False)\n"
        "c = aten.upsample_bilinear2d_backward.default(x, [10, 14], [2, s0, 12, 3], True)\n"
        "d = aten.upsample_nearest1d_backward.default(l, [9], [2, s0, 4])\n"
        "e = aten.upsample_bicubic2d_backward.default(x, [10, 14], [2, s0, 5, 7], False)",
        "a, b, c, d, e"}},
      {"ResampledBackwardNarrow",
       {"s0: Sym(s0); h: bf16[2, s0, 6, 8]",
        "a = aten._upsample_nearest_exact2d_backward.default(h, [6, 8], [2, s0, 3, 4])", "a"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Resampled, ResamplingLowering, rows_named(resampled()), row_name);

/// Sums in one order, without atomic additions, which would need a kernel that clears the sums.
TEST(ResamplingGradient, OfWholeFactorsIsAReduction) {
  const testing::SmallGraph graph{
      "x: f32[2, 3, 10, 14]",
      "a = aten.upsample_nearest2d_backward.default(x, [10, 14], [2, 3, 5, 7], 2.0, 2.0)", "a"};
  EXPECT_EQ(testing::problems(graph), "");
  const auto program = testing::compiled(graph);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(testing::kernel_count(*program), 1);
  EXPECT_EQ(testing::call_count(*program), 0);
}

auto padded() -> std::vector<Row> {
  return {
      {"Reflection",
       {"s0: Sym(s0); x: f32[2, s0, 5, 7]; i: i64[2, s0, 5]; v: f32[1, s0, 3, 3, 4]",
        "a = aten.reflection_pad2d.default(x, [3, 2, 1, 4])\n"
        "b = aten.reflection_pad1d.default(i, [4, 0])\n"
        "c = aten.reflection_pad2d.default(x, [-1, 2, 1, -2])\n"
        "d = aten.reflection_pad3d.default(v, [1, 1, 2, 0, 1, 2])",
        "a, b, c, d"}},
      {"Replication",
       {"s0: Sym(s0); x: f32[2, s0, 5, 7]; h: bf16[s0, 5]; v: f32[1, s0, 3, 3, 4]",
        "a = aten.replication_pad2d.default(x, [8, 2, 1, 9])\n"
        "b = aten.replication_pad1d.default(h, [4, 6])\n"
        "c = aten.replication_pad3d.default(v, [1, 1, 2, 0, 5, 2])",
        "a, b, c"}},
      {"PaddingOfOpenSizes",
       {"s0: Sym(s0); x: f32[2, 3, s0, 6]",
        "a = aten.replication_pad2d.default(x, [1, 2, 3, 4])\n"
        "b = aten.reflection_pad2d.default(x, [1, 2, 0, 0])",
        "a, b"}},
      {"PaddedBackward",
       {"s0: Sym(s0); x: f32[2, s0, 8, 12]; y: f32[2, s0, 5, 7]; h: bf16[2, s0, 8, 12]",
        "a = aten.reflection_pad2d_backward.default(x, y, [3, 2, 1, 2])\n"
        "b = aten.replication_pad2d_backward.default(x, y, [3, 2, 1, 2])",
        "a, b"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Padded, ResamplingLowering, rows_named(padded()), row_name);

auto pooled() -> std::vector<Row> {
  return {
      {"AdaptivePool",
       {"s0: Sym(s0); x: f32[2, s0, 6, 8]; h: bf16[2, s0, 6, 8]; y: f32[s0, 7, 5]",
        "a = aten._adaptive_avg_pool2d.default(x, [3, 2])\n"
        "b = aten._adaptive_avg_pool2d.default(h, [2, 8])\n"
        "c = aten._adaptive_avg_pool2d.default(y, [3, 4])\n"
        "d = aten._adaptive_avg_pool2d.default(y, [10, 5])",
        "a, b, c, d"}},
      {"AdaptivePoolBackward",
       {"s0: Sym(s0); g: f32[2, s0, 3, 2]; x: f32[2, s0, 6, 8]",
        "a = aten._adaptive_avg_pool2d_backward.default(g, x)", "a"}},
      {"Columns",
       {"s0: Sym(s0); x: f32[2, s0, 6, 8]; y: i64[s0, 5, 5]",
        "a = aten.im2col.default(x, [3, 3], [1, 1], [1, 1], [1, 1])\n"
        "b = aten.im2col.default(x, [2, 3], [2, 1], [0, 2], [3, 2])\n"
        "c = aten.im2col.default(y, [2, 2], [1, 1], [0, 0], [1, 2])",
        "a, b, c"}},
      {"ColumnsOfOpenSizes",
       {"s0: Sym(s0); x: f32[2, 3, s0, 6]",
        "a = aten.im2col.default(x, [3, 3], [1, 1], [1, 1], [2, 2])", "a"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Pooled, ResamplingLowering, rows_named(pooled()), row_name);

}  // namespace
}  // namespace assay
