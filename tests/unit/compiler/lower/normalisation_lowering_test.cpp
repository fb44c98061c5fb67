// Normalisations, statistics and products with vectors: loops only, against the reference run.
#include <gtest/gtest.h>

#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::row_name;
using Row = testing::CompiledRow;

class NormLowering : public ::testing::TestWithParam<Row> {};

TEST_P(NormLowering, ProgramIsTheGraphWithoutLibraryCalls) {
  const auto& row = GetParam();
  EXPECT_EQ(testing::problems(row.graph, row.sizes), "") << testing::graph_text(row.graph);
  const auto compiled = testing::compiled(row.graph);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::call_count(*compiled), 0);
}

TEST(BatchNormLowering, AStepOfTrainingIsOneKernel) {
  const auto compiled = testing::compiled(
      {"x: f32[s0, 4, 6]; w: f32[4]; b: f32[4]; m: f32[4]; v: f32[4]",
       "n = aten._native_batch_norm_legit_functional.default(x, w, b, m, v, True, 0.1, 1e-05)\n"
       "a = n[0]\nc = n[1]\nd = n[2]\ne = n[3]\nf = n[4]",
       "a, c, d, e, f"});
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::kernel_count(*compiled), 1);
}

auto rows_named(std::vector<Row> rows) {
  return ::testing::ValuesIn(std::move(rows));
}
const std::vector<std::string> kWithEmpty = {"s0=3", "s0=1", "s0=7", "s0=0"};

auto grouped() -> std::vector<Row> {
  const std::string in =
      "s0: Sym(s0); x: f32[s0, 6, 2, 5]; y: f32[s0, 6, 2, 5]; w: f32[6]; b: f32[6]; m: f32[s0, 3]; "
      "r: f32[s0, 3]";
  const std::string half =
      "s0: Sym(s0); x: bf16[s0, 4, 5]; y: bf16[s0, 4, 5]; w: bf16[4]; v: f32[4]; m: bf16[s0, 2]; "
      "r: f32[s0, 2]";
  const std::string moved =  // the channels lie together
      "x: f32[s0, 4, 2, 3][24, 1, 12, 4]; y: f32[s0, 4, 2, 3][24, 1, 12, 4]; w: f32[4]; "
      "m: f32[s0, 2]; r: f32[s0, 2]";
  return {
      {"GroupNorm",
       {in,
        "n = aten.native_group_norm.default(x, w, b, s0, 6, 10, 3, 1e-05)\n"
        "a = n[0]\nd = n[1]\ne = n[2]\n"
        "k = aten.native_group_norm.default(x, None, b, s0, 6, 10, 1, 0.1)\nf = k[0]\n"
        "l = aten.native_group_norm.default(x, w, None, s0, 6, 10, 6, 1e-05)\ng = l[0]",
        "a, d, e, f, g"},
       kWithEmpty},
      {"GroupNormOfBf16",
       {half,
        "n = aten.native_group_norm.default(x, w, None, s0, 4, 5, 2, 1e-05)\n"
        "a = n[0]\nd = n[1]\ne = n[2]\n"
        "k = aten.native_group_norm.default(x, v, v, s0, 4, 5, 2, 1e-05)\nf = k[0]\ng = k[1]",
        "a, d, e, f, g"}},
      {"GroupNormOfChannelsLast",
       {moved,
        "n = aten.native_group_norm.default(x, w, w, s0, 4, 6, 2, 1e-05)\na = n[0]\nd = n[1]\n"
        "e = aten.relu.default(a)",
        "a, d, e"}},
      {"GroupNormWithoutPositions",
       {"x: f32[s0, 6]; w: f32[6]",
        "n = aten.native_group_norm.default(x, w, w, s0, 6, 1, 2, 1e-05)\na = n[0]\nd = n[1]",
        "a, d"}},
      {"GroupNormComposed",
       {in, "a = aten.group_norm.default(x, 2, w, b)\nd = aten.silu.default(a)", "d"}},
      {"GroupNormBackward",
       {in,
        "n = aten.native_group_norm_backward.default(y, x, m, r, w, s0, 6, 10, 3, [True, True, "
        "True])\n"
        "a = n[0]\nd = n[1]\ne = n[2]\n"
        "k = aten.native_group_norm_backward.default(y, x, m, r, None, s0, 6, 10, 3, [True, False, "
        "True])\n"
        "f = k[0]\ng = k[2]",
        "a, d, e, f, g"},
       kWithEmpty},
      {"GroupNormBackwardOfBf16",
       {half,
        "n = aten.native_group_norm_backward.default(y, x, m, r, w, s0, 4, 5, 2, [True, True, "
        "False])\n"
        "a = n[0]\nd = n[1]\n"
        "k = aten.native_group_norm_backward.default(y, x, m, r, v, s0, 4, 5, 2, [False, True, "
        "True])\n"
        "f = k[1]\ng = k[2]",
        "a, d, f, g"}},
      {"GroupNormBackwardOfChannelsLast",
       {moved,
        "n = aten.native_group_norm_backward.default(y, x, m, r, w, s0, 4, 6, 2, [True, True, "
        "True])\n"
        "a = n[0]\nd = n[1]\ne = n[2]",
        "a, d, e"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Groups, NormLowering, rows_named(grouped()), row_name);

const std::string kBatch =
    "s0: Sym(s0); x: f32[s0, 4, 3, 2]; y: f32[s0, 4, 3, 2]; w: f32[4]; b: f32[4]; m: f32[4]; "
    "v: f32[4]";
const std::string kHalfBatch =
    "s0: Sym(s0); x: bf16[s0, 4, 5]; y: bf16[s0, 4, 5]; k: bf16[4]; w: f32[4]; m: f32[4]; "
    "v: f32[4]";

auto batched() -> std::vector<Row> {
  return {
      {"BatchNormTraining",
       {kBatch,
        "n = aten._native_batch_norm_legit.default(x, w, b, m, v, True, 0.1, 1e-05)\n"
        "a = n[0]\nd = n[1]\ne = n[2]\nf = aten.relu.default(a)",
        "a, d, e, f"}},
      {"BatchNormWritesWithoutSayingSo",
       {kBatch,
        "n = aten.native_batch_norm.default(x, w, None, m, v, True, 0.3, 1e-05)\n"
        "a = n[0]\nd = n[1]",
        "a, d"}},
      {"BatchNormWithoutStatistics",
       {kBatch,
        "n = aten._native_batch_norm_legit.no_stats(x, None, b, True, 0.1, 1e-05)\n"
        "a = n[0]\nd = n[1]\ne = n[2]",
        "a, d, e"}},
      {"BatchNormOfOneStatistic",
       {kBatch,
        "n = aten.native_batch_norm.default(x, None, None, m, None, True, 0.1, 1e-03)\na = n[0]",
        "a"}},
      {"BatchNormFunctional",
       {kBatch,
        "n = aten._native_batch_norm_legit_functional.default(x, w, b, m, v, True, 0.1, 1e-05)\n"
        "a = n[0]\nd = n[1]\ne = n[2]\nf = n[3]\ng = n[4]\n"
        "k = aten._batch_norm_with_update_functional.default(x, w, b, f, g, 0.1, 1e-05)\n"
        "h = k[0]\nl = k[3]\no = k[5]",
        "a, d, e, f, g, h, l, o, m"}},
      {"BatchNormWithUpdate",
       {kBatch,
        "n = aten._batch_norm_with_update.default(x, w, b, m, v, 0.5, 1e-05)\n"
        "a = n[0]\nd = n[1]\ne = n[2]\nf = n[3]\ng = aten.add.Tensor(m, 1)",
        "a, d, e, f, g"}},
      {"BatchNormOfBf16",
       {kHalfBatch,
        "n = aten._native_batch_norm_legit.default(x, w, w, m, v, True, 0.1, 1e-05)\n"
        "a = n[0]\nd = n[1]\ne = n[2]\n"
        "o = aten._native_batch_norm_legit.no_stats(x, k, k, True, 0.1, 1e-05)\n"
        "f = o[0]\ng = o[1]",
        "a, d, e, f, g"}},
      {"BatchNormOfChannelsLast",
       {"x: f32[s0, 4, 3, 2][24, 1, 8, 4]; w: f32[4]; m: f32[4]; v: f32[4]",
        "n = aten._native_batch_norm_legit.default(x, w, w, m, v, True, 0.1, 1e-05)\n"
        "a = n[0]\nd = n[1]",
        "a, d"}},
      {"BatchNormEvaluation",
       {kBatch,
        "z = aten.mul.Tensor(v, v)\n"
        "n = aten._native_batch_norm_legit.default(x, w, b, m, z, False, 0.1, 1e-05)\n"
        "a = n[0]\nd = n[1]\n"
        "k = aten._batch_norm_no_update.default(x, None, b, m, z, 0.1, 1e-05)\ne = k[0]\nf = k[3]",
        "a, d, e, f"},
       kWithEmpty},
      {"BatchNormOnCuda",
       {"x: f16[s0, 4, 5]cuda; w: f32[4]cuda; m: f32[4]cuda; v: f32[4]cuda",
        "z = aten.mul.Tensor(v, v)\n"
        "n = aten.native_batch_norm.default(x, w, w, m, z, False, 0.1, 1e-05)\n"
        "a = n[0]\nd = n[1]\ne = n[2]\n"
        "k = aten.cudnn_batch_norm.default(x, w, w, m, v, True, 0.1, 1e-05)\n"
        "f = k[0]\ng = k[1]\nh = k[3]\n"
        "l = aten.cudnn_batch_norm.default(x, w, w, m, z, False, 0.1, 1e-05)\no = l[0]\np = l[1]",
        "a, d, e, f, g, h, o, p"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Batches, NormLowering, rows_named(batched()), row_name);

auto batched_backward() -> std::vector<Row> {
  return {
      {"BatchNormBackward",
       {kBatch,
        "n = aten.native_batch_norm_backward.default(y, x, w, m, v, b, v, True, 1e-05, [True, "
        "True, True])\n"
        "a = n[0]\nd = n[1]\ne = n[2]\n"
        "k = aten.native_batch_norm_backward.default(y, x, None, None, None, b, v, True, 1e-05, "
        "[True, False, True])\n"
        "f = k[0]\ng = k[2]",
        "a, d, e, f, g"}},
      {"BatchNormBackwardEvaluation",
       {kBatch,
        "z = aten.mul.Tensor(v, v)\n"
        "n = aten.native_batch_norm_backward.default(y, x, w, m, z, None, None, False, 1e-05, "
        "[True, True, True])\n"
        "a = n[0]\nd = n[1]\ne = n[2]",
        "a, d, e"},
       kWithEmpty},
      {"BatchNormBackwardOfBf16",
       {kHalfBatch,
        "n = aten.native_batch_norm_backward.default(y, x, w, m, v, m, v, True, 1e-05, [True, "
        "True, True])\n"
        "a = n[0]\nd = n[1]\ne = n[2]",
        "a, d, e"}},
  };
}
INSTANTIATE_TEST_SUITE_P(BatchesBackward, NormLowering, rows_named(batched_backward()), row_name);

auto of_rows() -> std::vector<Row> {
  const std::string in =
      "s0: Sym(s0); x: f32[s0, 3, 5]; y: f32[s0, 3, 5]; w: f32[5]; u: f32[3, 5]; r: f32[s0, 3, 1]";
  return {
      {"RmsNorm",
       {in,
        "n = aten._fused_rms_norm.default(x, [5], w, 1e-05)\na = n[0]\nd = n[1]\n"
        "k = aten._fused_rms_norm.default(x, [3, 5], u, None)\ne = k[0]\nf = k[1]\n"
        "l = aten._fused_rms_norm.default(x, [5], None, None)\ng = l[0]",
        "a, d, e, f, g"},
       kWithEmpty},
      {"RmsNormOfBf16",
       {"s0: Sym(s0); x: bf16[s0, 33]; w: bf16[33]",
        "n = aten._fused_rms_norm.default(x, [33], w, 1e-06)\na = n[0]\nd = n[1]\n"
        "e = aten.rms_norm.default(x, [33], w)",
        "a, d, e"}},
      {"RmsNormOfFloat64",
       {"x: f64[s0, 7]", "n = aten._fused_rms_norm.default(x, [7], None, None)\na = n[0]\nd = n[1]",
        "a, d"}},
      {"RmsNormBackward",
       {in,
        "n = aten._fused_rms_norm_backward.default(y, x, [5], r, w, [True, True])\n"
        "a = n[0]\nd = n[1]\n"
        "k = aten._fused_rms_norm_backward.default(y, x, [5], r, None, [True, True])\ne = k[0]",
        "a, d, e"},
       kWithEmpty},
      {"RmsNormBackwardOfBf16",
       {"s0: Sym(s0); x: bf16[s0, 9]; y: bf16[s0, 9]; w: bf16[9]; r: f32[s0, 1]",
        "n = aten._fused_rms_norm_backward.default(y, x, [9], r, w, [True, True])\n"
        "a = n[0]\nd = n[1]",
        "a, d"}},
      {"LayerNormOfAll",  // no dimension is left for the weights
       {"s0: Sym(s0); x: f32[3, 5]; y: f32[3, 5]; w: f32[3, 5]",
        "n = aten.native_layer_norm.default(x, [3, 5], w, w, 1e-05)\na = n[0]\nu = n[1]\nv = n[2]\n"
        "m = aten.native_layer_norm_backward.default(y, x, [3, 5], u, v, w, w, [True, True, "
        "True])\n"
        "d = m[0]\ne = m[1]\nf = m[2]",
        "a, d, e, f"}},
      {"WeightNorm",
       {"s0: Sym(s0); v: f32[s0, 4, 3]; g: f32[s0, 1, 1]; y: f32[s0, 4, 3]; h: f32[1, 1, 3]",
        "n = aten._weight_norm_interface.default(v, g)\na = n[0]\nd = n[1]\n"
        "k = aten._weight_norm_interface.default(v, h, 2)\ne = k[0]\nf = k[1]\n"
        "l = aten._weight_norm_interface_backward.default(y, v, g, d, 0)\no = l[0]\np = l[1]",
        "a, d, e, f, o, p"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Rows, NormLowering, rows_named(of_rows()), row_name);

const std::string kNumbers =
    "s0: Sym(s0); x: f32[s0, 4, 3]; h: bf16[s0, 9]; i: i64[s0, 4]; j: i32[s0, 4]; b: b8[s0, 4]; "
    "z: f64[s0, 5]";
const std::string kOdd =  // NaN at some places, infinities at others
    "c = aten.gt.Scalar(x, 1.0)\nn = aten.where.ScalarSelf(c, float('nan'), x)\n"
    "k = aten.lt.Scalar(x, -1.0)\np = aten.where.ScalarSelf(k, float('-inf'), x)\n"
    "q = aten.where.ScalarSelf(k, float('inf'), x)\n";

auto statistics() -> std::vector<Row> {
  return {
      {"Logsumexp",
       {kNumbers,
        "a = aten.logsumexp.default(x, [1])\nd = aten.logsumexp.default(x, [0, 2], True)\n"
        "e = aten.logsumexp.default(h, [-1])\nf = aten.logsumexp.default(i, [1])\n"
        "g = aten.logsumexp.default(z, [1])",
        "a, d, e, f, g"}},
      {"LogsumexpOfOddities",
       {kNumbers,
        kOdd + "m = aten.full_like.default(x, float('-inf'))\na = aten.logsumexp.default(n, [1])\n"
               "d = aten.logsumexp.default(p, [1])\ne = aten.logsumexp.default(q, [2])\n"
               "f = aten.logsumexp.default(m, [0, 1])",
        "a, d, e, f"}},
      {"LogsumexpOfNoRows", {kNumbers, "a = aten.logsumexp.default(x, [1])", "a"}, {"s0=0"}},
      {"VectorNorms",
       {kNumbers,
        "a = aten.linalg_vector_norm.default(x, 2, [1])\n"
        "d = aten.linalg_vector_norm.default(x, 1, [0, 2], True)\n"
        "e = aten.linalg_vector_norm.default(x, 0, [1])\n"
        "f = aten.linalg_vector_norm.default(x, 3, [-1])\n"
        "g = aten.linalg_vector_norm.default(x, 0.5, None, True)\n"
        "k = aten.linalg_vector_norm.default(x)\n"
        "l = aten.linalg_vector_norm.default(x, -1, [1])",
        "a, d, e, f, g, k, l"}},
      {"VectorNormsOfExtremes",
       {kNumbers,
        "a = aten.linalg_vector_norm.default(x, float('inf'), [1])\n"
        "d = aten.linalg_vector_norm.default(x, float('-inf'), [0], True)\n"
        "e = aten.linalg_vector_norm.default(h, float('inf'))",
        "a, d, e"}},
      {"VectorNormsInDtypes",
       {kNumbers,
        "a = aten.linalg_vector_norm.default(h, 2, [1])\n"
        "d = aten.linalg_vector_norm.default(h, 2, [1], dtype = torch.float32)\n"
        "e = aten.linalg_vector_norm.default(x, 1, [1], dtype = torch.float64)\n"
        "f = aten.linalg_vector_norm.default(z, 4, [1])",
        "a, d, e, f"}},
      {"VectorNormsOfOddities",
       {kNumbers,
        kOdd + "a = aten.linalg_vector_norm.default(n, 2, [1])\n"
               "d = aten.linalg_vector_norm.default(n, float('inf'), [1])\n"
               "e = aten.linalg_vector_norm.default(p, float('-inf'), [1])\n"
               "f = aten.linalg_vector_norm.default(n, 0, [1])\n"
               "g = aten.linalg_vector_norm.default(q, 1, [2])",
        "a, d, e, f, g"}},
      {"VectorNormsOfNothing",
       {kNumbers,
        "a = aten.linalg_vector_norm.default(x, 2, [0])\n"
        "d = aten.linalg_vector_norm.default(x, 0)\n"
        "e = aten.linalg_vector_norm.default(x, 3, [0], True)",
        "a, d, e"},
       {"s0=0"}},
      {"Deviations",
       {kNumbers,
        "a = aten.std.correction(x, [1])\nd = aten.std.correction(x, [0, 2], correction = 0)\n"
        "m = aten.std_mean.correction(x, [1], correction = 2, keepdim = True)\ne = m[0]\nf = m[1]\n"
        "g = aten.std.correction(h, [1])\nk = aten.std.correction(x)\n"
        "l = aten.std_mean.correction(h, None, correction = 0)\no = l[0]\np = l[1]",
        "a, d, e, f, g, k, o, p"}},
      {"Variances",
       {kNumbers,
        "m = aten.var_mean.correction(x, [2, 1], correction = 0)\na = m[0]\nd = m[1]\n"
        "e = aten.var.correction(z, [1], keepdim = True)\nf = aten.var.correction(x, [0])",
        "a, d, e, f"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Statistics, NormLowering, rows_named(statistics()), row_name);

auto counted() -> std::vector<Row> {
  return {
      {"BothExtremes",
       {kNumbers,
        kOdd + "m = aten.aminmax.default(x, dim = 1)\na = m[0]\nd = m[1]\n"
               "o = aten.aminmax.default(i)\ne = o[0]\nf = o[1]\n"
               "u = aten.aminmax.default(n, dim = -1, keepdim = True)\ng = u[0]\nl = u[1]\n"
               "v = aten.aminmax.default(h, dim = 0)\nw = v[0]",
        "a, d, e, f, g, l, w"}},
      {"Counts",
       {kNumbers,
        kOdd + "a = aten.count_nonzero.default(i)\nd = aten.count_nonzero.default(j, 1)\n"
               "e = aten.count_nonzero.dim_IntList(x, [0, 2])\n"
               "f = aten.count_nonzero.default(b, -1)\ng = aten.count_nonzero.default(n, 1)",
        "a, d, e, f, g"},
       kWithEmpty},
      {"Nansum",
       {kNumbers,
        kOdd + "a = aten.nansum.default(n, [1])\nd = aten.nansum.default(n)\n"
               "e = aten.nansum.default(q, [0], True)\nf = aten.nansum.default(i, [1])\n"
               "g = aten.nansum.default(n, [1], dtype = torch.float64)\n"
               "l = aten.nansum.default(h, [1])",
        "a, d, e, f, g, l"},
       kWithEmpty},
      {"AllOfSeveral",
       {kNumbers,
        "a = aten.all.dims(x, [0, 2])\nd = aten.all.dims(b, None, True)\n"
        "e = aten.all.dims(i, [1], True)",
        "a, d, e"},
       kWithEmpty},
  };
}
INSTANTIATE_TEST_SUITE_P(Counted, NormLowering, rows_named(counted()), row_name);

auto vectors() -> std::vector<Row> {
  const std::string in =
      "s0: Sym(s0); m: f32[s0, 5]; v: f32[5]; u: f32[s0]; w: f32[s0]; h: bf16[s0, 9]; k: bf16[9]; "
      "l: bf16[s0]; i: i32[s0, 4]; j: i32[4]; o: f32[1]";
  return {
      {"MatrixTimesVector",
       {in,
        "a = aten.mv.default(m, v)\nd = aten.mv.default(h, k)\ne = aten.mv.default(i, j)\n"
        "t = aten.permute.default(m, [1, 0])\nf = aten.mv.default(t, u)",
        "a, d, e, f"},
       kWithEmpty},
      {"VectorTimesVector",
       {in,
        "a = aten.dot.default(u, w)\nd = aten.vdot.default(w, u)\ne = aten.dot.default(l, l)\n"
        "f = aten.dot.default(j, j)",
        "a, d, e, f"},
       kWithEmpty},
      {"AddedMatrixTimesVector",
       {in,
        "a = aten.addmv.default(u, m, v)\nd = aten.addmv.default(u, m, v, beta = 0.5, alpha = 2)\n"
        "n = aten.log.default(u)\ne = aten.addmv.default(n, m, v, beta = 0)\n"
        "f = aten.addmv.default(l, h, k, beta = 1.1, alpha = 0.3)\n"
        "g = aten.addmv.default(o, m, v, alpha = 3)",
        "a, d, e, f, g"},
       kWithEmpty},
      {"AddedOuterProduct",
       {in,
        "a = aten.addr.default(m, u, v)\nd = aten.addr.default(v, u, v, beta = 2, alpha = 0.5)\n"
        "n = aten.log.default(m)\ne = aten.addr.default(n, u, v, beta = 0)\n"
        "f = aten.addr.default(h, l, k, beta = 1.1, alpha = 0.3)\n"
        "g = aten.addr.default(j, j, j, beta = 2)",
        "a, d, e, f, g"},
       kWithEmpty},
      {"FoldedMatmul",
       {"s0: Sym(s0); x: f32[s0, 4, 5]; v: f32[5]", "a = aten.matmul.default(x, v)", "a"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Vectors, NormLowering, rows_named(vectors()), row_name);

/// Loops have no extreme of nothing, the operators do.
TEST(Statistics, ExtremesOfNothingStayCalls) {
  const testing::SmallGraph graph{"x: f32[s0, 0]",
                                  "a = aten.logsumexp.default(x, [1])\n"
                                  "b = aten.linalg_vector_norm.default(x, float('inf'), [1])",
                                  "a, b"};
  EXPECT_EQ(testing::problems(graph, kWithEmpty), "");
  const auto program = testing::compiled(graph);
  ASSERT_TRUE(program);
  EXPECT_EQ(testing::call_count(*program), 2);
}

/// Sums of products of matrices are one product, which a library does.
TEST(Normalisations, ABatchOfProductsIsOneProduct) {
  const testing::SmallGraph graph{
      "s0: Sym(s0); x: f32[2, 4]; a: f32[s0, 2, 3]; b: f32[s0, 3, 4]; y: bf16[4]; "
      "c: bf16[s0, 2, 3]; d: bf16[s0, 3, 4]",
      "e = aten.addbmm.default(x, a, b)\nf = aten.addbmm.default(x, a, b, beta = 0.5, alpha = 2)\n"
      "g = aten.addbmm.default(y, c, d)",
      "e, f, g"};
  EXPECT_EQ(testing::problems(graph, kWithEmpty), "");
  const auto program = testing::compiled(graph);
  ASSERT_TRUE(program);
  EXPECT_EQ(testing::call_count(*program), 3);
}

}  // namespace
}  // namespace assay
