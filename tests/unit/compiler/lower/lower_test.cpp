// Every family of lowerings: a small graph as a program, fused and not, against the reference run.
#include <array>

#include <gtest/gtest.h>

#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::SmallGraph;

using testing::row_name;
using Row = testing::CompiledRow;

class Lowering : public ::testing::TestWithParam<Row> {};

TEST_P(Lowering, ProgramIsTheGraph) {
  EXPECT_EQ(testing::problems(GetParam().graph, GetParam().sizes), "")
      << testing::graph_text(GetParam().graph);
}

auto rows_named(std::vector<Row> rows) {
  return ::testing::ValuesIn(std::move(rows));
}

const std::string kX = "s0: Sym(s0); x: f32[s0, 4]";
const std::string kTwo = "s0: Sym(s0); x: f32[s0, 4]; y: f32[4]; i: i64[s0, 4]; b: b8[s0, 1]";

auto promoted() -> std::vector<Row> {
  return {
      {"IntPlusFloat", {kTwo, "a = aten.add.Tensor(i, y)", "a"}},
      {"IntPlusRealNumber", {kTwo, "a = aten.add.Tensor(i, 1.5)", "a"}},
      {"BoolPlusInt", {kTwo, "a = aten.add.Tensor(b, i)", "a"}},
      {"BoolPlusBool", {kTwo, "c = aten.gt.Scalar(x, 0)\na = aten.add.Tensor(b, c)", "a"}},
      {"BoolTimesFloat", {kTwo, "a = aten.mul.Tensor(b, x)", "a"}},
      {"Alpha",
       {kTwo, "a = aten.add.Tensor(x, y, alpha = 2)\nd = aten.sub.Tensor(i, b, alpha = 3)",
        "a, d"}},
      {"Rsub", {kTwo, "a = aten.rsub.Scalar(x, 1)\nd = aten.rsub.Scalar(i, 2, 3)", "a, d"}},
      {"DivideInts", {kTwo, "a = aten.div.Tensor(i, 3)", "a"}},
      {"Remainder",
       {kTwo,
        "a = aten.remainder.Scalar(i, 3)\nd = aten.fmod.Scalar(i, -2)\n"
        "e = aten.remainder.Scalar(x, 0.7)",
        "a, d, e"}},
      {"DivModes",
       {kTwo,
        "a = aten.div.Tensor_mode(x, 0.3, rounding_mode = 'floor')\n"
        "d = aten.div.Tensor_mode(i, 2, rounding_mode = 'trunc')",
        "a, d"}},
      {"Bf16RoundsOnce",
       {"s0: Sym(s0); x: bf16[s0, 4]; y: f32[4]",
        "a = aten.mul.Tensor(x, 1.1)\nd = aten.add.Tensor(a, y)\ne = aten.exp.default(x)",
        "a, d, e"}},
      {"Bf16Chain",
       {"s0: Sym(s0); x: bf16[s0, 4]",
        "a = aten.mul.Tensor(x, 1.1)\nd = aten.add.Tensor(a, x)\ne = aten.sigmoid.default(d)",
        "e"}},
      {"HalfAndFloat", {"s0: Sym(s0); x: f16[s0]; y: f32[s0]", "a = aten.add.Tensor(x, y)", "a"}},
      {"Float64",
       {"s0: Sym(s0); x: f64[s0]; y: f32[s0]", "a = aten.add.Tensor(x, y)\ne = aten.exp.default(a)",
        "e"}},
      {"Powers",
       {kTwo,
        "a = aten.pow.Tensor_Scalar(x, 2)\nd = aten.pow.Tensor_Scalar(x, 3)\n"
        "e = aten.abs.default(x)\nf = aten.pow.Tensor_Scalar(e, 0.5)\n"
        "g = aten.pow.Scalar(2, x)\nh = aten.pow.Tensor_Tensor(e, x)\n"
        "k = aten.pow.Tensor_Scalar(i, 3)",
        "a, d, f, g, h, k"}},
      {"Clamp",
       {kTwo,
        "a = aten.clamp.default(x, -0.5, 0.5)\nd = aten.clamp.default(i, None, 1)\n"
        "e = aten.clamp_min.default(x, 0)",
        "a, d, e"}},
      {"Comparisons",
       {kTwo,
        "a = aten.lt.Tensor(x, y)\nd = aten.eq.Scalar(i, 1)\n"
        "e = aten.ge.Scalar(x, 0.5)\nf = aten.logical_and.default(i, x)\n"
        "g = aten.bitwise_not.default(b)\nh = aten.ne.Scalar(i, 0.5)",
        "a, d, e, f, g, h"}},
      {"CompareIntWithReal",
       {kTwo, "a = aten.gt.Scalar(i, 0.5)\nd = aten.le.Tensor(i, y)", "a, d"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Promoted, Lowering, rows_named(promoted()), row_name);

auto pointwise() -> std::vector<Row> {
  return {
      {"Unary",
       {kTwo,
        "a = aten.tanh.default(x)\nd = aten.erf.default(x)\ne = aten.neg.default(i)\n"
        "f = aten.sign.default(x)\ng = aten.round.default(x)\n"
        "h = aten.floor.default(x)\nk = aten.reciprocal.default(x)\n"
        "l = aten.relu.default(x)\nm = aten.sin.default(i)",
        "a, d, e, f, g, h, k, l, m"}},
      {"Activations",
       {kTwo,
        "a = aten.gelu.default(x)\nd = aten.gelu.default(x, approximate = 'tanh')\n"
        "e = aten.silu.default(x)\nf = aten.leaky_relu.default(x, 0.1)\n"
        "g = aten.hardtanh.default(x)\nh = aten.hardswish.default(x)\n"
        "k = aten.softplus.default(x)\nl = aten.elu.default(x)",
        "a, d, e, f, g, h, k, l"}},
      {"Where",
       {kTwo,
        "a = aten.where.self(b, x, i)\nc = aten.gt.Scalar(x, 0)\n"
        "d = aten.where.self(c, x, y)\ne = aten.where.ScalarSelf(c, 1.5, x)\n"
        "f = aten.where.ScalarOther(c, i, 2)",
        "a, d, e, f"}},
      {"WhereWithNumberTensor",
       {kTwo,
        "z = aten.full.default([], 0.5)\nc = aten.gt.Scalar(x, 0)\n"
        "d = aten.where.self(c, z, x)",
        "d"}},
      {"Backward",
       {kTwo,
        "a = aten.tanh_backward.default(x, y)\nd = aten.threshold_backward.default(x, y, 0.2)\n"
        "e = aten.sigmoid_backward.default(x, y)",
        "a, d, e"}},
      {"SizeAsNumber", {kX, "a = aten.mul.Tensor(x, s0)\nd = aten.div.Tensor(x, s0)", "a, d"}},
      {"Casts",
       {kTwo,
        "a = prims.convert_element_type.default(x, torch.int64)\n"
        "d = prims.convert_element_type.default(x, torch.bool)\n"
        "e = prims.convert_element_type.default(x, torch.bfloat16)\n"
        "f = prims.convert_element_type.default(i, torch.uint8)",
        "a, d, e, f"}},
      {"Lerp",
       {kTwo,
        "a = aten.lerp.Scalar(x, y, 0.3)\nd = aten.addcmul.default(x, x, y, value = 0.5)\n"
        "e = aten.addcdiv.default(x, x, y, value = 2)",
        "a, d, e"}},
      {"Broadcast",
       {"s0: Sym(s0); x: f32[s0, 1]; y: f32[1, s0]", "a = aten.add.Tensor(x, y)", "a"}},
      {"Transposed",
       {"s0: Sym(s0); x: f32[s0, 4][1, s0]cpu; y: f32[s0, 4]",
        "a = aten.add.Tensor(x, y)\nd = aten.exp.default(x)", "a, d"}},
      {"NumberTensors",
       {"x: f32[]; y: f64[]; i: i64[]", "a = aten.add.Tensor(x, y)\nd = aten.mul.Tensor(i, x)",
        "a, d"},
       {""}},
      {"Empty", {kX, "a = aten.mul.Tensor(x, 2)\nd = aten.exp.default(a)", "a, d"}, {"s0=0"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Pointwise, Lowering, rows_named(pointwise()), row_name);

auto arranged() -> std::vector<Row> {
  const std::string two = "s0: Sym(s0); x: f32[s0, 4]; y: f32[s0, 3]; i: i64[s0, 4]; z: f32[5]";
  const std::string look = "s0: Sym(s0); x: f32[3, 4, 5]; i: i64[s0]; j: i64[2, s0]";
  return {
      {"Cat",
       {two, "a = aten.cat.default([x, y, x], 1)\nd = aten.cat.default([x, i], -2)", "a, d"}},
      {"CatOfComputed",
       {two,
        "e = aten.exp.default(x)\na = aten.cat.default([e, y], 1)\n"
        "d = aten.mul.Tensor(a, 2)",
        "d"}},
      {"CatWithEmpty",
       {two, "e = aten.full.default([0], 1.0)\na = aten.cat.default([e, x], 0)", "a"}},
      {"Stack", {two, "a = aten.stack.default([x, i], 1)", "a"}},
      {"Pad",
       {two,
        "a = aten.constant_pad_nd.default(x, [1, 2], 0.5)\n"
        "d = aten.constant_pad_nd.default(x, [0, 0, 2, 1])",
        "a, d"}},
      {"PadNegative",
       {two,
        "a = aten.constant_pad_nd.default(x, [-1, 2], 0.5)\n"
        "d = aten.constant_pad_nd.default(x, [2, -1, 1, -1], 1.0)\n"
        "e = aten.constant_pad_nd.default(i, [-1, -2])",
        "a, d, e"},
       {"s0=3", "s0=2"}},
      {"SliceScatter",
       {two,
        "a = aten.slice_scatter.default(x, y, 1, 1, 4)\n"
        "d = aten.slice_scatter.default(x, y, 1, -3)\n"
        "e = aten.slice_scatter.default(x, y, 1, 0, 3, 1)",
        "a, d, e"}},
      {"ScattersThatSymbolsCountFromTheEnd",
       {"s0: Sym(s0); x: f32[3*s0, 4]; y: f32[s0, 4]; z: f32[4]",
        "n = operator.neg(s0)\n"
        "a = aten.slice_scatter.default(x, y, 0, n)\n"
        "d = aten.select_scatter.default(x, z, 0, n)\n"
        "e = aten.slice_scatter.default(x, y, 0, s0, 6)",
        "a, d, e"},
       {"s0=3"}},
      {"SliceScatterSteps",
       {"s0: Sym(s0); x: f32[s0, 4]; y: f32[s0, 2]",
        "a = aten.slice_scatter.default(x, y, 1, 0, 4, 2)", "a"}},
      {"SelectScatter",
       {"s0: Sym(s0); x: f32[s0, 4]; y: f32[s0]",
        "a = aten.select_scatter.default(x, y, 1, 2)\n"
        "d = aten.select_scatter.default(x, y, 1, -1)",
        "a, d"}},
      {"IndexOne",
       {{look},
        "a = aten.index.Tensor(x, [i])\nd = aten.index.Tensor(x, [None, i])",
        "a, d",
        -3,
        2}},
      {"IndexNeighbours",
       {look, "a = aten.index.Tensor(x, [i, j])\nd = aten.index.Tensor(x, [None, i, j])", "a, d",
        -3, 2}},
      {"IndexApart", {look, "a = aten.index.Tensor(x, [i, None, j])", "a", -3, 2}},
      {"IndexAllAxes",
       {look, "a = aten.index.Tensor(x, [i, j, i])\nd = aten.exp.default(a)", "d", -3, 2}},
      {"IndexByBool", {"x: f32[6]; b: b8[6]", "a = aten.index.Tensor(x, [b])", "a"}, {""}},
      {"Gather",
       {"s0: Sym(s0); x: f32[s0, 4]; i: i64[s0, 2]", "a = aten.gather.default(x, 1, i)", "a", 0,
        3}},
      {"IndexSelect", {look, "a = aten.index_select.default(x, 1, i)", "a", 0, 2}},
      {"Embedding",
       {"s0: Sym(s0); w: f32[5, 3]; i: i64[s0, 2]",
        "a = aten.embedding.default(w, i)\nd = aten.add.Tensor(a, 1)", "a, d", 0, 4}},
  };
}
INSTANTIATE_TEST_SUITE_P(Arrange, Lowering, rows_named(arranged()), row_name);

auto repeated() -> std::vector<Row> {
  const std::string two = "s0: Sym(s0); x: f32[s0, 4]; y: f32[s0, 3]; i: i64[s0, 4]; z: f32[5]";
  return {
      {"Repeat",
       {two, "a = aten.repeat.default(x, [2, 1, 3])\nd = aten.repeat.default(z, [s0])", "a, d"}},
      {"Flip", {two, "a = aten.flip.default(x, [0])\nd = aten.flip.default(x, [-1, 0])", "a, d"}},
      {"Roll",
       {two,
        "a = aten.roll.default(x, [-1, 2], [0, 1])\nd = aten.roll.default(x, [9], [-1])\n"
        "e = aten.roll.default(i, [-3])\nf = aten.roll.default(z, [1, 1], [0, 0])",
        "a, d, e, f"},
       {"s0=3", "s0=1", "s0=7", "s0=0"}},
      {"EmptyThatIsWritten",
       {two,
        "a = aten.empty_like.default(x)\nd = aten.copy_.default(a, x)\n"
        "e = aten.new_empty.default(x, [s0, 4])\nf = aten.fill_.Scalar(e, 2)\n"
        "g = aten.empty_strided.default([4, 5], [5, 1])\nh = aten.copy_.default(g, z)",
        "d, f, h"}},
      {"Triangles",
       {"s0: Sym(s0); x: f32[s0, 4]; i: i64[2, s0, s0]",
        "a = aten.tril.default(x)\nd = aten.triu.default(x, 1)\n"
        "e = aten.tril.default(i, -1)",
        "a, d, e"}},
      {"Counting",
       {kX,
        "a = aten.arange.default(s0)\nd = aten.arange.start(2, 7)\n"
        "e = prims.iota.default(s0, start = 1, step = 2, dtype = torch.int64, device = "
        "device(type='cpu'), requires_grad = False)\n"
        "f = aten.arange.start_step(0, 1, 0.25)\n"
        "g = aten.arange.start_step(7, 0, -2)",
        "a, d, e, f, g"}},
      {"Filled",
       {kX,
        "a = aten.full.default([s0, 2], 1.5)\nd = aten.zeros_like.default(x)\n"
        "e = aten.full.default([s0], s0)\nf = aten.ones.default([3], dtype = torch.int64)\n"
        "g = aten.full_like.default(x, True, dtype = torch.bool)",
        "a, d, e, f, g"}},
      {"ChosenByData",
       {"s0: Sym(s0); w: f32[5, 3]; i: i64[s0]; b: b8[s0, 1]",
        "a = aten.embedding.default(w, i)\nd = aten.where.self(b, a, 0)\n"
        "e = aten.index.Tensor(d, [None, i])",
        "e", 0, 2}},
      {"PadOfPad",
       {two,
        "a = aten.constant_pad_nd.default(x, [1, 1], 2.0)\n"
        "d = aten.constant_pad_nd.default(a, [2, 0], 3.0)",
        "d"}},
      {"CatSlices",
       {two,
        "a = aten.slice.Tensor(x, 1, 2, 4)\nd = aten.slice.Tensor(x, 1, 0, 2)\n"
        "n = aten.neg.default(a)\ne = aten.cat.default([n, d], 1)",
        "e"}},
      {"EmptyAtRunTime",
       {two, "a = aten.cat.default([x, y], 1)\nd = aten.flip.default(a, [0])", "a, d"},
       {"s0=0"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Repeat, Lowering, rows_named(repeated()), row_name);

auto reduced() -> std::vector<Row> {
  const std::string in =
      "s0: Sym(s0); x: f32[s0, 4, 3]; i: i64[s0, 4]; b: b8[s0, 4]; h: bf16[s0, 9]";
  return {
      {"Sum",
       {in,
        "a = aten.sum.default(x)\nd = aten.sum.dim_IntList(x, [1])\n"
        "e = aten.sum.dim_IntList(x, [0, 2], True)\nf = aten.sum.dim_IntList(x, [-1, 1])",
        "a, d, e, f"}},
      {"SumOfInts",
       {in,
        "a = aten.sum.dim_IntList(i, [0])\nd = aten.sum.default(b)\n"
        "e = aten.sum.dim_IntList(b, [1], True)",
        "a, d, e"}},
      {"SumInto64", {in, "a = aten.sum.dim_IntList(x, [0], dtype = torch.float64)", "a"}},
      {"SumOfBf16",
       {in, "a = aten.sum.dim_IntList(h, [1])\nd = aten.mean.dim(h, [1], True)", "a, d"}},
      {"Mean",
       {in,
        "a = aten.mean.default(x)\nd = aten.mean.dim(x, [0, 1])\ne = aten.mean.dim(x, [-1], True)",
        "a, d, e"}},
      {"Prod", {in, "a = aten.prod.dim_int(x, 1)\nd = aten.prod.default(i)", "a, d"}},
      {"Extremes",
       {in,
        "a = aten.amax.default(x, [1])\nd = aten.amin.default(i, [0], True)\n"
        "e = aten.max.default(x)\nf = aten.min.default(i)\ng = aten.amax.default(h, [-1])",
        "a, d, e, f, g"}},
      {"AnyAll",
       {in,
        "a = aten.any.default(b)\nd = aten.any.dim(b, 1)\ne = aten.all.dim(b, 0, True)\n"
        "f = aten.any.dims(x, [0, 2])\ng = aten.all.default(i)",
        "a, d, e, f, g"}},
      {"Arguments",
       {in,
        "a = aten.argmax.default(i, 1)\nd = aten.argmin.default(x, 0, True)\n"
        "e = aten.argmax.default(i)\nf = aten.argmax.default(h, -1)",
        "a, d, e, f", -1, 1}},
      {"MaxWithIndex",
       {in,
        "m = aten.max.dim(i, 1)\na = m[0]\nd = m[1]\nn = aten.min.dim(x, 0, True)\n"
        "e = n[0]\nf = n[1]",
        "a, d, e, f", -1, 1}},
      {"OfNumbers",
       {"x: f32[]", "a = aten.sum.default(x)\nd = aten.mean.default(x)\ne = aten.amax.default(x)",
        "a, d, e"},
       {""}},
      {"EmptySums",
       {in,
        "a = aten.sum.default(x)\nd = aten.sum.dim_IntList(x, [0])\n"
        "e = aten.prod.dim_int(i, 0)\nf = aten.any.default(b)\ng = aten.all.dim(b, 0)\n"
        "h2 = aten.sum.dim_IntList(x, [1])",
        "a, d, e, f, g, h2"},
       {"s0=0"}},
      {"EmptyMean", {in, "a = aten.mean.dim(x, [0])", "a"}, {"s0=0"}},
      {"OfBroadcast",
       {"s0: Sym(s0); x: f32[4, 1]",
        "e = aten.expand.default(x, [4, s0])\na = aten.sum.dim_IntList(e, [1])", "a"}},
      {"OfReduction",
       {in,
        "a = aten.sum.dim_IntList(x, [2])\nd = aten.amax.default(a, [1])\n"
        "e = aten.exp.default(d)\nf = aten.sum.default(e)",
        "f"}},
      {"MergedView",
       {in, "n = s0 * 4\nv = aten.view.default(x, [n, 3])\na = aten.sum.dim_IntList(v, [0])", "a"}},
      {"OfTransposed",
       {in, "t = aten.permute.default(x, [2, 0, 1])\na = aten.sum.dim_IntList(t, [1])", "a"}},
      {"SizeOneDimension",
       {"s0: Sym(s0); x: f32[s0, 1]",
        "a = aten.sum.dim_IntList(x, [1])\n"
        "d = aten.argmax.default(x, 1)\ne = aten.mean.dim(x, [1], True)",
        "a, d, e"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Reductions, Lowering, rows_named(reduced()), row_name);

auto expanded() -> std::vector<Row> {
  const std::string in = "s0: Sym(s0); x: f32[s0, 6]; y: f32[s0, 6]; w: f32[6]; h: bf16[s0, 6]";
  return {
      {"VarMean",
       {in,
        "v = aten.var_mean.correction(x, [1], correction = 0, keepdim = True)\na = v[0]\nd = v[1]\n"
        "e = aten.var.correction(x, [1])\nf = aten.var.correction(x)",
        "a, d, e, f"},
       {"s0=3"}},
      {"Softmax",
       {in,
        "a = aten._softmax.default(x, 1, False)\nd = aten._log_softmax.default(x, 0, False)\n"
        "e = aten._softmax.default(h, -1, False)",
        "a, d, e"}},
      {"SoftmaxToFloat",
       {"s0: Sym(s0); h: f16[s0, 6]", "e = aten._softmax.default(h, -1, True)", "e"}},
      {"SoftmaxBackward",
       {in,
        "a = aten._softmax_backward_data.default(x, y, 1, torch.float32)\n"
        "d = aten._log_softmax_backward_data.default(x, y, 0, torch.float32)",
        "a, d"}},
      {"LayerNorm",
       {in,
        "n = aten.native_layer_norm.default(x, [6], w, None, 1e-05)\na = n[0]\nd = n[1]\ne = n[2]\n"
        "m = aten.native_layer_norm.default(x, [6], None, w, 1e-05)\nf = m[0]",
        "a, d, e, f"}},
      {"StatisticsInTheDtypeOfTheRule",
       {"s0: Sym(s0); h: bf16[s0, 6]; k: bf16[6]; w: f32[6]",
        "n = aten.native_layer_norm.default(h, [6], k, k, 1e-05)\na = n[0]\nd = n[1]\ne = n[2]\n"
        "m = aten.native_layer_norm.default(h, [6], w, w, 1e-05)\nf = m[0]\ng = m[1]",
        "a, d, e, f, g"}},
      {"LayerNormBackward",
       {in,
        "n = aten.native_layer_norm.default(x, [6], w, w, 1e-05)\nu = n[1]\nv = n[2]\n"
        "m = aten.native_layer_norm_backward.default(y, x, [6], u, v, w, w, [True, True, True])\n"
        "a = m[0]\nd = m[1]\ne = m[2]\n"
        "k = aten.native_layer_norm_backward.default(y, x, [6], u, v, None, w, [True, False, "
        "True])\n"
        "f = k[0]\ng = k[2]",
        "a, d, e, f, g"}},
      {"GeluBackward",
       {in,
        "a = aten.gelu_backward.default(x, y)\n"
        "d = aten.gelu_backward.default(x, y, approximate = 'tanh')\n"
        "e = aten.silu_backward.default(x, y)",
        "a, d, e"}},
      {"EmptySoftmax", {in, "a = aten._softmax.default(x, 1, False)", "a"}, {"s0=0"}},
      {"Norms",
       {in, "a = aten.linalg_vector_norm.default(x, 2, [1])\nd = aten.cumsum.default(x, 1)",
        "a, d"}},
      {"Matrices",
       {in,
        "t = aten.permute.default(y, [1, 0])\na = aten.mm.default(x, t)\n"
        "d = aten.relu.default(a)\ne = aten.addmm.default(d, x, t)",
        "d, e"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Expanded, Lowering, rows_named(expanded()), row_name);

auto attention() -> std::vector<Row> {
  return {
      {"Attention",
       {"q: f32[2, s0, 3, 4][12*s0, 12, 4, 1]; k: f32[2, 3, 5, 4]; v: f32[2, 3, 5, 4]",
        "p = aten.transpose.int(q, 1, 2)\n"
        "n = aten._scaled_dot_product_flash_attention_for_cpu.default(p, k, v)\n"
        "a = n[0]\nb = n[1]\n"
        "m = aten._scaled_dot_product_flash_attention_for_cpu.default(p, k, v, 0.0, True, scale = "
        "0.3)\n"
        "c = m[0]\nd = m[1]",
        "a, b, c, d"},
       {"s0=1", "s0=7"}},
      {"AttentionMasked",
       {"q: f32[2, 3, 6, 4]; k: f32[2, 3, 5, 4]; x: f32[6, 5]",
        "w = aten.mul.Tensor(x, 3)\ny = aten.unsqueeze.default(w, 0)\n"
        "z = aten.unsqueeze.default(y, 0)\n"
        "n = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, k, attn_mask = z)\n"
        "a = n[0]\nb = n[1]",
        "a, b"}},
      {"AttentionForbidden",  // whole rows
       {"q: f32[1, 2, 6, 4]; k: f32[1, 2, 5, 4]; x: i64[6, 5]",
        "w = aten.gt.Scalar(x, 0)\nt = aten.scalar_tensor.default(0.0)\n"
        "u = aten.scalar_tensor.default(float('-inf'))\nm = aten.where.self(w, t, u)\n"
        "n = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, k, attn_mask = m)\n"
        "a = n[0]\nb = n[1]",
        "a, b", -3, 1}},
      {"AttentionHalf",
       {"q: bf16[1, 2, 6, 4]; k: bf16[1, 2, 5, 4]",
        "n = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, k)\na = n[0]\nb = n[1]",
        "a, b"}},
      {"AttentionHalfOnCuda",  // of heads that share keys
       {"q: bf16[2, 4, 7, 8]cuda:0; k: bf16[2, 2, 9, 8]cuda:0; v: bf16[2, 2, 9, 8]cuda:0; "
        "g: bf16[2, 4, 7, 8]cuda:0",
        "n = aten._scaled_dot_product_flash_attention.default(q, k, v)\na = n[0]\nb = n[1]\n"
        "s = n[6]\n"
        "m = aten._scaled_dot_product_flash_attention_backward.default(g, q, k, v, a, b, s, s, 7, "
        "9, 0.0, False, s, s)\nc = m[0]\nd = m[1]\ne = m[2]",
        "a, b, c, d, e"}},
      {"AttentionCudnnOnCuda",  // its gradients get None for what its results leave out
       {"q: bf16[2, 4, s0, 8]cuda:0; k: bf16[2, 4, 9, 8]cuda:0; g: bf16[2, 4, s0, 8]cuda:0",
        "n = aten._scaled_dot_product_cudnn_attention.default(q, k, k, None, True, 0.0, True)\n"
        "a = n[0]\nb = n[1]\ns = n[6]\nt = n[7]\n"
        "m = aten._scaled_dot_product_cudnn_attention_backward.default(g, q, k, k, a, b, s, t, "
        "None, None, None, s0, 9, 0.0, True)\nc = m[0]\nd = m[1]\ne = m[2]",
        "a, b, c, d, e"},
       {"s0=1", "s0=7"}},
      {"AttentionOfOtherValuesOnCuda",  // with features of their own
       {"p: bf16[2, s0, 4, 8]cuda:0; k: bf16[2, 2, 9, 8]cuda:0; v: bf16[2, 2, 9, 16]cuda:0; "
        "x: f32[2, 4, s0, 8]cuda:0; y: f32[2, 4, 9, 6]cuda:0",
        "q = aten.transpose.int(p, 1, 2)\n"
        "n = aten._scaled_dot_product_cudnn_attention.default(q, k, v, None, True)\n"
        "a = n[0]\nb = n[1]\ns = n[6]\n"
        "m = aten._scaled_dot_product_cudnn_attention_backward.default(a, q, k, v, a, b, s, s, "
        "None, None, None, s0, 9, 0.0, False)\nc = m[0]\nd = m[1]\ne = m[2]\n"
        "z = aten.constant_pad_nd.default(y, [0, 2])\n"
        "o = aten._scaled_dot_product_efficient_attention.default(x, z, y, None, True)\n"
        "f = o[0]\ng = o[1]\nt = o[2]\n"
        "r = aten._scaled_dot_product_efficient_attention_backward.default(f, x, z, y, None, f, g, "
        "t, t, 0.0, [True, True, True, False])\nh = r[0]\ni = r[1]\nj = r[2]",
        "a, b, c, d, e, f, h, i, j"},
       {"s0=1", "s0=7", "s0=32"}},  // sums are padded to a multiple of 32
      {"AttentionBackward",
       {"g: f32[2, 3, s0, 4]; q: f32[2, 3, s0, 4]; k: f32[2, 3, 5, 4]; v: f32[2, 3, 5, 4]",
        "n = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, True)\n"
        "o = n[0]\nl = n[1]\n"
        "m = aten._scaled_dot_product_flash_attention_for_cpu_backward.default(g, q, k, v, o, l, "
        "0.0, True)\n"
        "a = m[0]\nb = m[1]\nc = m[2]",
        "a, b, c"},
       {"s0=1", "s0=6"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Attention, Lowering, rows_named(attention()), row_name);

auto viewed() -> std::vector<Row> {
  const std::string in = "s0: Sym(s0); x: f32[s0, 4, 6]; i: i64[s0, 4]";
  const std::string e = "e = aten.exp.default(x)\n";
  return {
      {"Reshapes",
       {in,
        e + "n = s0 * 4\na = aten.view.default(e, [n, 6])\nd = aten.mul.Tensor(a, 2)\n"
            "f = aten.view.default(d, [s0, 2, 2, 6])\ng = aten.add.Tensor(f, 1)",
        "d, g"}},
      {"Regroups",
       {in, e + "a = aten.view.default(e, [s0, 3, 8])\nd = aten.mul.Tensor(a, 2)", "d"}},
      {"OfViews",
       {in,
        e + "a = aten.permute.default(e, [2, 0, 1])\nd = aten.slice.Tensor(a, 0, 1, 5)\n"
            "f = aten.select.int(d, 2, 3)\ng = aten.unsqueeze.default(f, 1)\n"
            "h = aten.expand.default(g, [4, 3, s0])\nk = aten.neg.default(h)",
        "k"}},
      {"Slices",
       {in,
        e + "a = aten.slice.Tensor(e, 1, 1, 9223372036854775807, 2)\nd = aten.neg.default(a)\n"
            "f = aten.slice.Tensor(e, 2, -3, -1)\ng = aten.neg.default(f)",
        "d, g"}},
      {"Splits",
       {in,
        e + "t = aten.split.Tensor(e, 4, 2)\na = t[0]\nb = t[1]\nd = aten.neg.default(b)\n"
            "u = aten.split_with_sizes.default(e, [1, 3], 1)\nf = u[1]\ng = aten.neg.default(f)",
        "d, g"}},
      {"Unbind", {in, e + "t = aten.unbind.int(e, 1)\na = t[3]\nd = aten.neg.default(a)", "d"}},
      {"Squeezes",
       {in,
        e + "a = aten.unsqueeze.default(e, 0)\nd = aten.squeeze.dim(a, 0)\n"
            "f = aten.neg.default(d)\ng = aten.t.default(i)\nh = aten.neg.default(g)",
        "f, h"}},
      {"OutputsAreViews",
       {in, e + "a = aten.permute.default(e, [1, 0, 2])\nd = aten.select.int(e, 1, 2)", "a, d, e"}},
      {"OutputsAliasInputs",
       {in,
        "a = aten.permute.default(x, [1, 0, 2])\nn = s0 * 24\nd = aten.view.default(x, [n])\n"
        "f = aten.neg.default(d)",
        "a, x, f"}},
      {"Negated",
       {in,
        "v = aten._neg_view.default(x)\na = aten.select.int(v, 1, 2)\n"
        "d = aten.mul.Tensor(a, 2)\nf = aten.sum.default(v)\nw = aten._neg_view.default(v)\n"
        "g = aten.add.Tensor(w, x)",
        "d, f, g"}},
      {"Conjugated",
       {"s0: Sym(s0); x: c64[s0, 3]; y: c64[s0, 3]",
        "v = aten._conj.default(x)\na = aten.mul.Tensor(y, v)\nc = aten.clone.default(v)\n"
        "d = aten.view_as_real.default(c)\ne = aten.neg.default(d)\n"
        "t = aten.permute.default(v, [1, 0])\nm = aten.mm.default(t, y)",
        "a, v, e, m, x"}},
      {"AsStrided",
       {in, e + "a = aten.as_strided.default(e, [s0, 3], [24, 2], 1)\nd = aten.neg.default(a)",
        "d"}},
      {"Numbers",
       {in, "a = aten.neg.default(x)\nn = aten.sym_size.int(a, 0)\nm = n * 2", "a, m, s0"}},
      {"FloorDiv",
       {in,
        "n = s0 // 2\na = aten.slice.Tensor(x, 0, 0, n)\nd = aten.neg.default(a)\n"
        "m = n + 1\nf = aten.full.default([m], 1.0)",
        "d, f"}},
      {"MaxOfSizes",
       {in,
        "n = torch.sym_max(s0, 4)\na = aten.full.default([n], 2.0)\n"
        "d = aten.arange.default(n)\nf = aten.add.Tensor(a, d)",
        "f"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Views, Lowering, rows_named(viewed()), row_name);

auto written() -> std::vector<Row> {
  const std::string in = "s0: Sym(s0); x: f32[s0, 4, 6]; i: i64[s0, 4]";
  return {
      {"CopyAfterReads",
       {in,
        "a = aten.add.Tensor(x, 1)\nd = aten.neg.default(x)\n"
        "c = aten.copy_.default(x, d)\nf = aten.mul.Tensor(a, 2)",
        "f, c"}},
      {"CopyThenReads",
       {in,
        "d = aten.neg.default(x)\nc = aten.copy_.default(x, d)\n"
        "f = aten.mul.Tensor(c, 2)\ng = aten.add.Tensor(x, 1)",
        "f, g"}},
      {"CopyOfView",
       {in,
        "v = aten.select.int(x, 1, 0)\na = aten.exp.default(v)\n"
        "c = aten.copy_.default(v, a)\nf = aten.sum.default(x)",
        "f, a"}},
      {"Swap",
       {"s0: Sym(s0); x: f32[s0]; y: f32[s0]",
        "a = aten.clone.default(x)\nc = aten.copy_.default(x, y)\nd = aten.copy_.default(y, a)",
        "a"}},
      {"AddInPlace",
       {in, "a = aten.neg.default(x)\nb = aten.add_.Tensor(x, 1)\nd = aten.mul.Tensor(a, b)", "d"}},
  };
}
INSTANTIATE_TEST_SUITE_P(Writes, Lowering, rows_named(written()), row_name);

}  // namespace
}  // namespace assay
