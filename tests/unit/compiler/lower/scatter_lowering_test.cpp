// Operators that write elements at indices: kernels of their own, against the reference run.
#include <gtest/gtest.h>

#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::row_name;
using Row = testing::CompiledRow;

class ScatterLowering : public ::testing::TestWithParam<Row> {};

TEST_P(ScatterLowering, ProgramIsTheGraphWithoutLibraryCalls) {
  const auto& row = GetParam();
  EXPECT_EQ(testing::problems(row.graph, row.sizes), "") << testing::graph_text(row.graph);
  const auto compiled = testing::compiled(row.graph);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::call_count(*compiled), 0);
}

auto scatters() -> std::vector<Row> {
  return {
      {"IndexPutAdds",  // the same row several times
       {"x: f32[4, s0]; i: i64[6]; v: f32[6, s0]; w: f32[s0]",
        "a = aten.index_put.default(x, [i], v, True)\n"
        "b = aten.index_put.default(x, [i], w, True)\nc = aten.add.Tensor(a, b)",
        "a, b, c", 0, 3}},
      {"IndexPutFromTheEnd",
       {"x: f64[4, s0]; i: i64[5]; v: f64[5, s0]", "a = aten.index_put.default(x, [i], v, True)",
        "a", -4, 3}},
      {"IndexPutOfSeveral",
       {"x: f32[4, 5, s0]; i: i64[3, 1]; j: i32[2]; v: f32[3, 2, s0]",
        "a = aten.index_put.default(x, [i, j], v, True)", "a", 0, 3}},
      {"IndexPutBehind",
       {"x: f32[s0, 4, 5]; i: i64[3]; v: f32[s0, 3, 5]; u: f32[3, s0, 5]",
        "a = aten.index_put.default(x, [None, i], v, True)\n"
        "y = aten.permute.default(x, [1, 0, 2])\n"
        "b = aten.index_put.default(y, [i], u, True)",
        "a, b", 0, 3}},
      {"IndexPutSets",  // each element at most once: the order of others is open
       {"x: i64[5, s0]; v: i64[5, s0]; z: f32[5, s0]; w: f32[5, s0]",
        "i = aten.arange.start_step(4, -1, -1)\n"
        "a = aten.index_put.default(x, [i], v)\nb = aten.index_put.default(z, [i], w)",
        "a, b"}},
      {"IndexAndScatterAdd",
       {"x: f32[4, s0]; i: i64[7]; v: f32[7, s0]; j: i64[3, 2]; u: f32[5, 2]; y: f32[4, 2]",
        "a = aten.index_add.default(x, 0, i, v)\n"
        "b = aten.scatter_add.default(y, 0, j, u)",
        "a, b", 0, 3}},
      {"SlicesMasksAndMany",
       {"x: f32[s0, 5]; y: f32[s0, 5]; z: f32[40]; w: f32[5]; m: b8[s0, 5]; k: b8[s0]; v: f32[]",
        "a = aten.cat.default([x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, x, y, y], 1)\n"
        "b = aten.copy.default(x, w)\n"
        "c = aten.as_strided_scatter.default(z, y, [s0, 5], [5, 1], 3)\n"
        "d = aten.slice_scatter.default(z, w, 0, 1, 11, 2)\n"
        "e = aten.index_put.default(x, [m], v)\nf = aten.index_put.default(x, [k], v)",
        "a, b, c, d, e, f"}},
      {"ValuesAreComputedWhereTheyAreWritten",  // also of what is written there, or later
       {"x: f32[6, s0]; i: i64[6]; v: f32[6, s0]; y: f32[6, s0]",
        "w = aten.mul.Tensor(v, 2)\na = aten.index_put.default(x, [i], w, True)\n"
        "b = aten.mul_.Tensor(v, 3)\nc = aten.mul.Tensor(y, 0.5)\n"
        "d = aten.index_put_.default(y, [i], c, True)\ne = aten.add.Tensor(y, c)",
        "a, b, d, e", 0, 5}},
      {"Scatter",
       {"x: f32[3, s0]; v: f32[1, s0]; i: i64[1, s0]",
        "a = aten.scatter.src(x, 0, i, v)\nb = aten.scatter.value(x, 0, i, -1.5)", "a, b", 0, 2}},
      {"EmbeddingGradient",
       {"g: f32[2, s0, 5]; i: i64[2, s0]",
        "a = aten.embedding_dense_backward.default(g, i, 4, 1, False)\n"
        "b = aten.embedding_dense_backward.default(g, i, 4, -1, False)",
        "a, b", 0, 3}},
      {"BetweenOtherKernels",
       {"x: f32[4, s0]; i: i64[6]; v: f32[6, s0]",
        "y = aten.relu.default(x)\nw = aten.exp.default(v)\n"
        "a = aten.index_put.default(y, [i], w, True)\n"
        "b = aten.index_put.default(a, [i], v, True)\nc = aten.mul.Tensor(a, b)\n"
        "d = aten.sum.dim_IntList(c, [1])\nz = aten.neg.default(y)",
        "a, d, z", 0, 3}},
      {"CopiesIntoInputs",  // of another dtype, broadcast
       {"x: f32[4, s0]; y: f32[4, s0]; h: bf16[4, s0]; i: i64[s0]",
        "a = aten.mul.Tensor(y, 2.0)\nb = aten.copy_.default(x, a)\n"
        "c = aten.copy_.default(h, i)\nd = aten.add.Tensor(b, c)",
        "d"}},
      {"ConstantsAndOneElement",
       {"i: i64[s0]; v: f32[s0]; w: f32[1]; j: i64[1]; y: f32[1]",
        "x = aten.full.default([5], 2.0)\na = aten.index_put.default(x, [i], v, True)\n"
        "b = aten.index_put.default(y, [j], w, True)",
        "a, b", 0, 0}},
  };
}

INSTANTIATE_TEST_SUITE_P(Graphs, ScatterLowering, ::testing::ValuesIn(scatters()), row_name);

/// Where elements are narrower than a machine writes in one step, and what is written as others.
auto narrow_and_composed() -> std::vector<Row> {
  const std::string look = "i: i64[3]; k: i64[]; ";
  // Each of four once: the order of others is open.
  const std::string all = "p = aten.arange.start_step(3, -1, -1)\n";
  return {
      {"NarrowSums",
       {"x: bf16[4, s0]; i: i64[6]; v: bf16[6, s0]; w: f16[4]; j: i64[s0]; u: f16[s0]; "
        "n: i8[4]; m: i8[s0]; t: b8[4]; b: b8[s0]",
        "a = aten.index_put.default(x, [i], v, True)\nc = aten.index_add.default(x, 0, i, v)\n"
        "d = aten.scatter_add.default(w, 0, j, u)\ne = aten.index_put.default(n, [j], m, True)\n"
        "f = aten.index_put.default(t, [j], b, True)",
        "a, c, d, e, f", 0, 3}},
      {"NarrowElements",
       {"x: bf16[4, s0]; v: bf16[4, s0]; n: i8[4]; m: i8[4]; t: b8[4]; b: b8[4]",
        all + "a = aten.index_put.default(x, [p], v)\nc = aten.scatter.src(n, 0, p, m)\n"
              "d = aten.index_put.default(t, [p], b)\ne = aten.scatter.value(n, 0, p, 7)",
        "a, c, d, e", 0, 100}},
      {"NarrowEmbeddingGradient",
       {"g: bf16[2, s0, 5]; i: i64[2, s0]; h: f16[s0, 3]; j: i32[s0]",
        "a = aten.embedding_dense_backward.default(g, i, 4, 1, False)\n"
        "b = aten.embedding_dense_backward.default(h, j, 5, -1, False)",
        "a, b", 0, 3}},
      {"IndexAddOfOthers",
       {look + "x: f32[4]; v: f32[3]; y: f32[4, s0]; w: f32[3, s0]; z: f32[]; u: f32[1, s0]; "
               "n: i64[4]; m: i64[3]",
        "a = aten.index_add.default(x, 0, i, v)\n"
        "b = aten.index_add.default(y, -2, i, w, alpha = 0.5)\n"
        "c = aten.index_add.default(x, 0, k, z)\nd = aten.index_add.default(y, 0, k, u)\n"
        "e = aten.index_add.default(n, 0, i, m, alpha = 3)",
        "a, b, c, d, e", 0, 3}},
      {"IndexFill",
       {look + "x: f32[s0, 4]; h: bf16[4, s0]; v: f32[]; n: i64[4]; b: b8[4]",
        "a = aten.index_fill.int_Scalar(x, 1, i, 1.5)\nc = aten.index_fill.int_Tensor(x, -1, i, "
        "v)\n"
        "d = aten.index_fill.int_Scalar(h, 0, i, -0.1)\ne = aten.index_fill.int_Scalar(n, 0, k, "
        "9)\n"
        "f = aten.index_fill.int_Scalar(b, 0, i, True)",
        "a, c, d, e, f", -4, 3}},
      {"IndexCopy",
       {"x: f32[s0, 4]; v: f32[s0, 4]; h: bf16[4]; u: bf16[4]; k: i32[]; z: bf16[]",
        all + "a = aten.index_copy.default(x, 1, p, v)\nb = aten.index_copy.default(h, 0, p, u)\n"
              "c = aten.index_copy.default(h, 0, k, z)",
        "a, b, c", 0, 3}},
      {"TakeAndPut",
       {look + "x: f32[4, s0]; j: i64[2, 3]; h: bf16[s0, 2]; v: f32[2, 3]; u: f32[3]",
        "a = aten.take.default(x, j)\nt = aten.permute.default(x, [1, 0])\n"
        "b = aten.take.default(t, i)\nc = aten.take.default(h, k)\n"
        "d = aten.put.default(t, j, v, True)",
        "a, b, c, d", -2, 1}},
  };
}
INSTANTIATE_TEST_SUITE_P(Composed, ScatterLowering, ::testing::ValuesIn(narrow_and_composed()),
                         row_name);

/// What a mask selects is written by the reference.
TEST(Scatters, SumsOfProductsTakeWhatIsTheSameForMany) {
  const testing::SmallGraph graph{"p: f32[3, s0, 4]; q: f32[3, 4, 6]; r: f32[3, 1, 6]; t: f32[6]",
                                  "a = aten.baddbmm.default(r, p, q, beta = 0.5, alpha = 0.25)\n"
                                  "b = aten.baddbmm.default(t, p, q)",
                                  "a, b"};
  EXPECT_EQ(testing::problems(graph, {"s0=3", "s0=1"}), "");
}

TEST(Scatters, ValuesNeedNoKernelOfTheirOwn) {
  const auto compiled = testing::compiled({"x: f32[4, s0]; i: i64[6]; v: bf16[6, s0]",
                                           "w = aten._to_copy.default(v, dtype=torch.float32)\n"
                                           "u = aten.mul.Tensor(w, 2)\n"
                                           "a = aten.index_add.default(x, 0, i, u)",
                                           "a"});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::kernel_count(*compiled), 2);  // what there was, and the sums
}

TEST(Scatters, MasksOfNarrowElementsStayCalls) {
  const testing::SmallGraph graph{"x: bf16[5, s0]; b: b8[5]; v: bf16[s0]",
                                  "a = aten.index_put.default(x, [b], v)", "a"};
  EXPECT_EQ(testing::problems(graph, {"s0=3"}), "");
  const auto compiled = testing::compiled(graph);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::call_count(*compiled), 1);
  EXPECT_EQ(testing::kernel_count(*compiled), 0);
}

/// A kernel would read what it has written already.
TEST(Scatters, ACopyOverItselfStaysACall) {
  const testing::SmallGraph graph{
      "x: f32[5, 5]", "t = aten.permute.default(x, [1, 0])\na = aten.copy_.default(x, t)", "a"};
  const auto compiled = testing::compiled(graph);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::call_count(*compiled), 1);
}

TEST(Scatters, AnIndexBehindTheEndIsAnError) {
  const testing::SmallGraph graph{"x: f32[4, 3]; i: i64[2]; v: f32[2, 3]",
                                  "a = aten.index_put.default(x, [i], v, True)", "a", 4, 4};
  EXPECT_TRUE(testing::problems(graph).contains("out of"));
}

}  // namespace
}  // namespace assay
