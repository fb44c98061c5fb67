// Pools, activations and their gradients: a small graph as a program, fused and not, against the
// reference run.
#include <gtest/gtest.h>

#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::row_name;
using Row = testing::CompiledRow;

class WindowLowering : public ::testing::TestWithParam<Row> {};

TEST_P(WindowLowering, ProgramIsTheGraph) {
  EXPECT_EQ(testing::problems(GetParam().graph, GetParam().sizes), "")
      << testing::graph_text(GetParam().graph);
}

auto depthwise() -> std::vector<Row> {
  return {
      {"DepthwiseConvolution",  // of libraries where it has groups of more channels
       {"x: f32[2, 4, s0, 9]cuda; w: f32[4, 1, 3, 2]cuda; b: f32[4]cuda; h: bf16[1, 2, 6, 6]cuda; "
        "v: bf16[2, 1, 3, 3]cuda; g: f32[4, 2, 3, 2]cuda",
        "a = aten.convolution.default(x, w, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)\n"
        "c = aten.convolution.default(x, w, None, [2, 3], [0, 1], [2, 1], False, [0, 0], 4)\n"
        "d = aten.convolution.default(h, v, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)\n"
        "e = aten.convolution.default(x, g, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)",
        "a, c, d, e"},
       {"s0=5", "s0=8"}},
      {"DepthwiseGradients",
       {"x: f32[2, 4, s0, 9]cuda; w: f32[4, 1, 3, 2]cuda; y: f32[2, 4, s0]cuda; u: f32[4, 1, "
        "4]cuda; "
        "h: bf16[2, 2, 6, 6][72, 1, 12, 2]cuda; v: bf16[2, 1, 3, 3]cuda",
        "a = aten.convolution.default(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)\n"
        "k = aten.convolution_backward.default(a, x, w, [4], [1, 1], [1, 1], [1, 1], False, [0, "
        "0], 4, "
        "[True, True, True])\nb = k[0]\nc = k[1]\nd = k[2]\n"
        "e = aten.convolution.default(x, w, None, [2, 3], [0, 1], [2, 1], False, [0, 0], 4)\n"
        "l = aten.convolution_backward.default(e, x, w, [4], [2, 3], [0, 1], [2, 1], False, [0, "
        "0], 4, "
        "[True, True, False])\nf = l[0]\ng = l[1]\n"
        "i = aten.convolution.default(y, u, None, [1], [3], [1], False, [0], 4)\n"
        "m = aten.convolution_backward.default(i, y, u, [4], [1], [3], [1], False, [0], 4, "
        "[True, True, True])\nj = m[0]\no = m[1]\np = m[2]\n"
        "q = aten.convolution_backward.default(h, h, v, [2], [1, 1], [1, 1], [1, 1], False, [0, "
        "0], 2, "
        "[True, True, True])\nr = q[0]\ns = q[1]\nt = q[2]",
        "a, b, c, d, e, f, g, i, j, o, p, r, s, t"},
       {"s0=5", "s0=8", "s0=6"}}};
}
auto pools() -> std::vector<Row> {
  return {
      {"MaxPool",
       {"x: f32[2, 3, s0, 9]",
        "n = aten.max_pool2d_with_indices.default(x, [3, 2], [2, 2], [1, 1])\na = n[0]\nb = n[1]\n"
        "m = aten.max_pool2d_with_indices.default(x, [2, 2], [1, 3], [0, 0], [2, 1])\n"
        "c = m[0]\nd = m[1]\n"
        "k = torch.ops.prims._low_memory_max_pool_with_offsets.default(x, [3, 3], [2, 2], [1, 1], "
        "[1, 1], False)\n"
        "e = k[0]\nf = k[1]",
        "a, b, c, d, e, f"},
       {"s0=5", "s0=8"}},
      {"MaxPoolOfTheEnds",  // NaN, and windows in which nothing is larger than the padding
       {"x: f32[1, 2, 6, 5]",
        "g = aten.gt.Scalar(x, 0.5)\nu = aten.scalar_tensor.default(float('-inf'))\n"
        "y = aten.where.self(g, x, u)\n"
        "n = aten.max_pool2d_with_indices.default(y, [3, 3], [1, 1], [1, 1])\na = n[0]\nb = n[1]\n"
        "h = aten.gt.Scalar(x, 0.9)\nw = aten.scalar_tensor.default(float('nan'))\n"
        "z = aten.where.self(h, w, x)\n"
        "m = aten.max_pool2d_with_indices.default(z, [2, 2], [2, 2], [1, 0])\nc = m[0]\nd = m[1]",
        "a, b, c, d"}},
      {"MaxPoolOfOneTap",
       {"x: f32[2, 5, 6]",
        "n = aten.max_pool2d_with_indices.default(x, [1, 1], [2, 3])\na = n[0]\nb = n[1]", "a, b"}},
      {"MaxPoolCeil",
       {"x: f32[2, 7, 8]",
        "n = aten.max_pool2d_with_indices.default(x, [3, 3], [2, 2], [0, 1], [1, 1], True)\n"
        "a = n[0]\nb = n[1]",
        "a, b"}},
      {"PoolsThatGoPastThePadding",
       {"x: f32[2, 3, s0, 9]",
        "n = aten.max_pool2d_with_indices.default(x, [3, 3], [2, 2], [0, 1], [1, 1], True)\n"
        "a = n[0]\nb = n[1]\n"
        "k = torch.ops.prims._low_memory_max_pool_with_offsets.default(x, [2, 2], [3, 3], [1, 1], "
        "[1, 1], True)\nc = k[0]\nd = k[1]\n"
        "e = aten.avg_pool2d.default(x, [2, 3], [3, 2], [1, 1], True)\n"
        "f = aten.avg_pool2d.default(x, [3, 3], [2, 2], [1, 0], True, False)\n"
        "g = aten.avg_pool2d_backward.default(e, x, [2, 3], [3, 2], [1, 1], True, True, None)\n"
        "h = aten.avg_pool2d_backward.default(f, x, [3, 3], [2, 2], [1, 0], True, False, None)",
        "a, b, c, d, e, f, g, h"},
       {"s0=5", "s0=7", "s0=8"}},
      {"AvgPool",
       {"x: f32[2, 3, s0, 9]; h: bf16[1, 2, 6, 6]",
        "a = aten.avg_pool2d.default(x, [3, 2], [2, 2], [1, 1])\n"
        "b = aten.avg_pool2d.default(x, [3, 3], [2, 1], [1, 1], False, False)\n"
        "c = aten.avg_pool2d.default(x, [2, 2], [2, 2], [0, 0], False, True, 3)\n"
        "d = aten.avg_pool2d.default(h, [2, 2])",
        "a, b, c, d"},
       {"s0=5", "s0=8"}},
      {"MaxPoolGradients",
       {"s0: Sym(s0); x: f32[2, 3, s0, 9]; h: bf16[1, 2, 6, 6]",
        "n = aten.max_pool2d_with_indices.default(x, [3, 2], [2, 2], [1, 1])\nu = n[0]\nv = n[1]\n"
        "a = aten.max_pool2d_with_indices_backward.default(u, x, [3, 2], [2, 2], [1, 1], [1, 1], "
        "False, v)\n"
        "m = aten.max_pool2d_with_indices.default(h, [2, 2], [2, 2])\np = m[0]\nq = m[1]\n"
        "b = aten.max_pool2d_with_indices_backward.default(p, h, [2, 2], [2, 2], [0, 0], [1, 1], "
        "False, q)\n"
        "k = torch.ops.prims._low_memory_max_pool_with_offsets.default(x, [3, 3], [2, 2], [1, 1], "
        "[1, 1], False)\n"
        "e = k[1]\n"
        "c = torch.ops.prims._low_memory_max_pool_offsets_to_indices.default(e, [3, 3], [s0, 9], "
        "[2, 2], [1, 1], [1, 1])",
        "a, b, c"},
       {"s0=5", "s0=8"}},
      {"AvgPoolGradients",
       {"x: f32[2, 3, s0, 9]",
        "u = aten.avg_pool2d.default(x, [3, 2], [2, 2], [1, 1])\n"
        "a = aten.avg_pool2d_backward.default(u, x, [3, 2], [2, 2], [1, 1], False, True, None)\n"
        "b = aten.avg_pool2d_backward.default(u, x, [3, 2], [2, 2], [1, 1], False, False, None)\n"
        "c = aten.avg_pool2d_backward.default(u, x, [3, 2], [2, 2], [1, 1], False, True, 5)\n"
        "v = aten.avg_pool2d.default(x, [2, 2], [3, 3])\n"
        "d = aten.avg_pool2d_backward.default(v, x, [2, 2], [3, 3], [0, 0], False, True, None)",
        "a, b, c, d"},
       {"s0=5", "s0=8"}},
  };
}

auto activations() -> std::vector<Row> {
  return {
      {"Activations",
       {"x: f32[s0, 9]; h: bf16[4, 6]",
        "y = aten.mul.Tensor(x, 8)\na = aten.hardsigmoid.default(y)\nb = "
        "aten.hardswish.default(y)\n"
        "c = aten.hardtanh.default(y, -2, 1.5)\nd = aten.elu.default(y, 1.5, 2, 0.5)\n"
        "e = aten.softplus.default(y, 2, 3)\nf = aten.mish.default(y)\n"
        "g = aten.hardswish.default(h)\nk = aten.mish.default(h)",
        "a, b, c, d, e, f, g, k"},
       {"s0=1", "s0=6"}},
      {"ActivationGradients",
       {"g: f32[s0, 9]; x: f32[s0, 9]",
        "y = aten.mul.Tensor(x, 8)\na = aten.leaky_relu_backward.default(g, y, 0.1, False)\n"
        "b = aten.hardtanh_backward.default(g, y, -2, 1.5)\n"
        "c = aten.hardsigmoid_backward.default(g, y)\nd = aten.hardswish_backward.default(g, y)",
        "a, b, c, d"},
       {"s0=1", "s0=6"}},
      {"Filled",
       {"x: f32[s0, 9]; i: i64[s0, 9]; h: bf16[1, 9]",
        "m = aten.gt.Scalar(x, 0.3)\na = aten.masked_fill.Scalar(x, m, float('-inf'))\n"
        "b = aten.masked_fill.Scalar(i, m, 7)\nv = aten.scalar_tensor.default(2.5)\n"
        "c = aten.masked_fill.Tensor(h, m, v)\nd = aten.min.other(x, h)\n"
        "n = aten.__and__.Tensor(i, b)\np = aten.floor_divide.Scalar(i, -3)\n"
        "r = aten.abs.default(b)\nt = aten.add.Scalar(r, 1)\n"
        "q = aten.remainder.Scalar_Tensor(17, t)",
        "a, b, c, d, n, p, q"},
       {"s0=1", "s0=6"}},
      {"BatchNormInEvaluation",
       {"x: f32[s0, 3, 5]; w: f32[3]; b: f32[3]; m: f32[3]; u: f32[3]",
        "v = aten.abs.default(u)\n"
        "n = aten.native_batch_norm.default(x, w, b, m, v, False, 0.1, 0.001)\na = n[0]\n"
        "k = aten.native_batch_norm.default(x, None, None, m, v, False, 0.1, 0.001)\nc = k[0]",
        "a, c"},
       {"s0=1", "s0=6"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Activations, WindowLowering, ::testing::ValuesIn(activations()), row_name);
TEST(WindowGraphs, LeaveNothingToALibrary) {
  auto rows = pools();
  std::ranges::move(depthwise(), std::back_inserter(rows));
  for (const auto& row : rows)
    if (row.name.starts_with("PoolsThat") || row.name == "DepthwiseGradients") {
      const auto compiled = testing::compiled(row.graph);
      ASSERT_TRUE(compiled);
      EXPECT_EQ(testing::call_count(*compiled), 0) << row.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Pools, WindowLowering, ::testing::ValuesIn(pools()), row_name);
INSTANTIATE_TEST_SUITE_P(Depthwise, WindowLowering, ::testing::ValuesIn(depthwise()), row_name);

}  // namespace
}  // namespace assay
