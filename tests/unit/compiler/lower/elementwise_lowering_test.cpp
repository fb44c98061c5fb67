// Losses, activations, their gradients and pointwise operators of less use: loops without library
// calls, against the reference run.
#include <gtest/gtest.h>

#include "compiler/interpret/interpret.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::row_name;
using Row = testing::CompiledRow;

class ElementwiseLowering : public ::testing::TestWithParam<Row> {};

TEST_P(ElementwiseLowering, ProgramIsTheGraphWithoutLibraryCalls) {
  const auto& row = GetParam();
  EXPECT_EQ(testing::problems(row.graph, row.sizes), "") << testing::graph_text(row.graph);
  const auto compiled = testing::compiled(row.graph);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(testing::call_count(*compiled), 0);
}

const std::vector<std::string> kAlsoEmpty = {"s0=3", "s0=1", "s0=7", "s0=0"};

// ---- losses -------------------------------------------------------------------------------------

const std::string kPair = "s0: Sym(s0); x: f32[s0, 5]; y: f32[s0, 5]; g: f32[s0, 5]; k: f32[]";
const std::string kNarrow =
    "s0: Sym(s0); x: bf16[s0, 5]; y: bf16[s0, 5]; g: bf16[s0, 5]; k: bf16[]";

/// A loss without and with its parameter, in all reductions, and its gradients.
auto of_pairs(const std::string& name, const std::string& overload, const std::string& parameter)
    -> std::vector<Row> {
  const auto end = parameter.empty() ? ")" : ", " + parameter + ")";
  std::string body, gradients;
  for (int reduction = 0; reduction < 3; ++reduction) {
    const auto n = std::to_string(reduction);
    body += "a" + n + " = aten." + overload + ".default(x, y, " + n + end + "\n";
    gradients += "a" + n + " = aten." + overload + "_backward.default(" +
                 (reduction == 0 ? "g" : "k") + ", x, y, " + n + end + "\n";
  }
  return {{name + "Loss", {kPair, body, "a0, a1, a2"}, kAlsoEmpty},
          {name + "LossNarrow", {kNarrow, body, "a0, a1, a2"}},
          {name + "Gradient", {kPair, gradients, "a0, a1, a2"}, kAlsoEmpty},
          {name + "GradientNarrow", {kNarrow, gradients, "a0, a1, a2"}}};
}
auto losses() -> std::vector<Row> {
  std::vector<Row> rows{
      {"OfDifferentShapesAndDtypes",
       {"x: f32[s0, 5]; y: bf16[5]; z: f64[s0, 1]; i: i64[s0, 5]",
        "a = aten.mse_loss.default(x, y, 0)\nb = aten.smooth_l1_loss.default(y, z, 1, 0.5)\n"
        "c = aten.huber_loss.default(x, i, 2, 0.5)\n"
        "d = aten.mse_loss_backward.default(z, x, y, 1)",
        "a, b, c, d"}},
      {"OfNumbers",
       {"x: f32[]; y: f32[]",
        "a = aten.mse_loss.default(x, y, 1)\nb = aten.huber_loss.default(x, y, 2)\n"
        "c = aten.mse_loss_backward.default(x, x, y, 1)",
        "a, b, c"},
       {""}},
      {"SmoothWithoutBeta",
       {kPair,
        "a = aten.smooth_l1_loss.default(x, y, 0, 0.0)\n"
        "b = aten.smooth_l1_loss.default(x, x, 0, 0.0)\n"
        "c = aten.smooth_l1_loss_backward.default(g, x, y, 0, 0.0)\n"
        "d = aten.smooth_l1_loss_backward.default(g, x, x, 0, 0.0)",
        "a, b, c, d"}},
      {"SoftMargin",
       {kPair,
        "a = aten.soft_margin_loss.default(x, y, 0)\nb = aten.soft_margin_loss.default(x, y, 1)\n"
        "c = aten.soft_margin_loss.default(x, y, 2)",
        "a, b, c"}},
  };
  const std::array families{of_pairs("Mse", "mse_loss", ""),
                            of_pairs("SmoothL1", "smooth_l1_loss", "0.7"),
                            of_pairs("Huber", "huber_loss", "0.7")};
  for (const auto& family : families) rows.insert(rows.end(), family.begin(), family.end());
  const auto margins = of_pairs("SoftMarginOf", "soft_margin_loss", "");
  rows.insert(rows.end(), margins.begin() + 2, margins.end());
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Losses, ElementwiseLowering, ::testing::ValuesIn(losses()), row_name);

auto cross_entropies() -> std::vector<Row> {
  const auto graph = [](const std::string& dtype, const std::string& body,
                        const std::string& outputs) {
    return testing::SmallGraph{
        "x: " + dtype + "[s0, 5]; y: " + dtype + "[s0, 5]; w: " + dtype + "[5]; v: " + dtype +
            "[s0, 1]; g: " + dtype + "[s0, 5]; k: " + dtype + "[]",
        "p = aten.sigmoid.default(x)\nt = aten.sigmoid.default(y)\n" + body, outputs};
  };
  const std::string plain =
      "a = aten.binary_cross_entropy.default(p, t, None, 0)\n"
      "b = aten.binary_cross_entropy.default(p, t, w, 1)\n"
      "c = aten.binary_cross_entropy.default(p, t, v, 2)\n"
      "d = aten.binary_cross_entropy_backward.default(g, p, t, None, 0)\n"
      "e = aten.binary_cross_entropy_backward.default(k, p, t, v, 1)\n"
      "f = aten.binary_cross_entropy_backward.default(k, p, t, w, 2)";
  const std::string logits =
      "a = aten.binary_cross_entropy_with_logits.default(x, t, None, None, 0)\n"
      "b = aten.binary_cross_entropy_with_logits.default(x, t, w, None, 1)\n"
      "c = aten.binary_cross_entropy_with_logits.default(x, t, None, w, 2)\n"
      "d = aten.binary_cross_entropy_with_logits.default(x, t, v, w, 0)\n"
      "h = aten.mul.Scalar(x, 100)\n"
      "e = aten.binary_cross_entropy_with_logits.default(h, t, None, None, 1)";
  return {
      {"Binary", graph("f32", plain, "a, b, c, d, e, f"), kAlsoEmpty},
      {"BinaryNarrow", graph("bf16", plain, "a, b, c, d, e, f")},
      {"BinaryOfCertainties",
       graph("f32",
             "q = aten.gt.Scalar(x, 0)\nr = prims.convert_element_type.default(q, torch.float32)\n"
             "a = aten.binary_cross_entropy.default(r, t, None, 0)\n"
             "b = aten.binary_cross_entropy_backward.default(g, r, t, None, 0)",
             "a, b")},
      {"WithLogits", graph("f32", logits, "a, b, c, d, e"), kAlsoEmpty},
      {"WithLogitsNarrow", graph("bf16", logits, "a, b, c, d, e")},
  };
}
INSTANTIATE_TEST_SUITE_P(CrossEntropies, ElementwiseLowering,
                         ::testing::ValuesIn(cross_entropies()), row_name);

/// Labels from -1 to 3 of 4 classes, of which -1 or a class is ignored.
auto likelihoods() -> std::vector<Row> {
  const auto all = [](const std::string& suffix, const std::string& weight,
                      const std::string& ignored) {
    std::string body;
    for (int reduction = 0; reduction < 3; ++reduction) {
      const auto n = std::to_string(reduction);
      const auto end = weight + ", " + n + ", " + ignored;
      body += "f" + n + " = aten.nll_loss" + suffix + "_forward.default(x, i, " + end + ")\n";
      body += "l" + n + " = operator.getitem(f" + n + ", 0)\n";
      body += "t" + n + " = operator.getitem(f" + n + ", 1)\n";
      body += "b" + n + " = aten.nll_loss" + suffix + "_backward.default(" +
              (reduction == 0 ? "g" : "k") + ", x, i, " + end + ", t" + n + ")\n";
    }
    return body;
  };
  const auto graph = [&](const std::string& inputs, const std::string& suffix,
                         const std::string& weight, std::int64_t ignored) {
    return testing::SmallGraph{inputs, all(suffix, weight, std::to_string(ignored)),
                               "l0, l1, l2, t0, t1, t2, b0, b1, b2", ignored < 0 ? -1 : 0, 3};
  };
  const std::string rows = "x: f32[s0, 4]; i: i64[s0]; w: f32[4]; g: f32[s0]; k: f32[]";
  const std::string narrow = "x: bf16[s0, 4]; i: i64[s0]; w: bf16[4]; g: bf16[s0]; k: bf16[]";
  const std::string one = "x: f32[4]; i: i64[]; w: f32[4]; g: f32[]; k: f32[]";
  const std::string image =
      "x: f32[2, 4, s0, 3]; i: i64[2, s0, 3]; w: f32[4]; g: f32[2, s0, 3]; k: f32[]";
  return {
      {"Rows", graph(rows, "", "None", -1), kAlsoEmpty},
      {"RowsWeighted", graph(rows, "", "w", -1), kAlsoEmpty},
      {"RowsIgnoringAClass", graph(rows, "", "w", 2)},
      {"RowsIgnoringNone", graph(rows, "", "None", 100)},
      {"RowsNarrow", graph(narrow, "", "w", -1)},
      {"RowsOfAnyClasses",
       graph("s1: Sym(s1); x: f32[s0, s1]; i: i64[s0]; w: f32[s1]; g: f32[s0]; k: f32[]", "", "w",
             -1),
       {"s0=3,s1=4", "s0=1,s1=9"}},
      {"Single", graph(one, "", "w", -1), {""}},
      {"SingleUnweighted", graph(one, "", "None", 1), {""}},
      {"Images", graph(image, "2d", "None", -1), kAlsoEmpty},
      {"ImagesWeighted", graph(image, "2d", "w", -1)},
      {"AllIgnored",
       {rows,
        "z = aten.full_like.default(i, -100)\n"
        "f = aten.nll_loss_forward.default(x, z, w, 1, -100)\na = operator.getitem(f, 0)\n"
        "t = operator.getitem(f, 1)\n"
        "b = aten.nll_loss_backward.default(k, x, z, w, 1, -100, t)",
        "a, t, b"}},
      {"BytesAsLabels",
       {"x: f32[s0, 4]; i: u8[s0]; k: f32[1]; t: f32[1]",
        "a = aten.nll_loss_backward.default(k, x, i, None, 1, 255, t)", "a", 0, 3}},
      {"CrossEntropy",
       {rows, "a = aten.cross_entropy_loss.default(x, i, w, 1, -1, 0.1)", "a", -1, 3}},
  };
}
INSTANTIATE_TEST_SUITE_P(Likelihoods, ElementwiseLowering, ::testing::ValuesIn(likelihoods()),
                         row_name);

/// What a run says of a label, the only one of a graph.
auto said_of(std::int64_t label, testing::SmallGraph graph) -> std::string {
  graph.low = graph.high = label;
  const auto capture = testing::capture_of(graph);
  const auto made = testing::compiled(graph);
  if (!capture || !made) return "not compiled";
  const auto inputs = testing::inputs_of(graph, *capture, "");
  const auto table = build_op_table();
  const auto program = Interpreter(table).compile(made->program);
  if (!inputs || !program) return "not compiled";
  const auto run = (*program)->run(inputs->values, {});
  if (!run) return run.error().message;
  return run->findings.empty() ? "" : run->findings[0].message;
}

TEST(Labels, ThatAreNoClassesAreErrorsOfTheRun) {
  const std::string inputs = "x: f32[3, 4]; i: i64[3]; k: f32[]";
  for (const testing::SmallGraph& graph :
       {testing::SmallGraph{inputs,
                            "f = aten.nll_loss_forward.default(x, i, None, 1, -100)\n"
                            "a = operator.getitem(f, 0)",
                            "a"},
        {inputs, "a = aten.nll_loss_backward.default(k, x, i, None, 2, -100, k)", "a"}}) {
    for (const std::int64_t label : {0, 3, -100}) EXPECT_EQ(said_of(label, graph), "");
    for (const std::int64_t label : {4, -1})
      EXPECT_TRUE(said_of(label, graph).contains("index out of range")) << graph.body;
  }
}

// ---- operators of elements ----------------------------------------------------------------------

/// Calls as results of a graph: "aten.celu.default(x)" in each line. `o` is x with infinities and
/// NaN among it, `z` is x with zeros, and `p` are probabilities.
auto calls_of(const std::string& name, const std::string& dtype, const std::string& calls) -> Row {
  const std::string type = dtype + "[s0, 6]";
  std::string body =
      "h = aten.relu.default(x)\nr = aten.div.Scalar(h, 0)\nq = aten.gt.Scalar(y, 0.5)\n"
      "o = aten.where.self(q, r, x)\nz = aten.where.self(q, x, h)\np = aten.sigmoid.default(x)\n";
  std::string outputs;
  int count = 0;
  for (std::size_t at = 0; at < calls.size();) {
    const auto end = std::min(calls.find('\n', at), calls.size());
    const auto result = "a" + std::to_string(count++);
    body += result + " = " + calls.substr(at, end - at) + "\n";
    outputs += (outputs.empty() ? "" : ", ") + result;
    at = end + 1;
  }
  return {name,
          {"s0: Sym(s0); x: " + type + "; y: " + type + "; g: " + type, body, outputs},
          kAlsoEmpty};
}

auto activations() -> std::vector<Row> {
  const std::string forward =
      "aten.celu.default(x)\naten.celu.default(o, 0.7)\naten.hardshrink.default(x)\n"
      "aten.hardshrink.default(o, 0.3)\naten.softshrink.default(x)\n"
      "aten.softshrink.default(o, 1.2)\naten.threshold.default(x, 0.2, -3.5)\n"
      "aten.threshold.default(o, 0.2, 1)\naten.logit.default(x)\naten.logit.default(x, 0.1)\n"
      "aten.logit.default(p)\naten.logit.default(p, 0.4)\naten.logit.default(o, "
      "0.1)\naten.logit.default(x, 0.0)\naten.glu.default(x)\n"
      "aten.glu.default(o, -1)\naten.glu.default(x, 1)";
  const std::string backward =
      "aten.hardshrink_backward.default(g, o, 0.5)\n"
      "aten.softshrink_backward.default(g, o, 0.5)\n"
      "aten.elu_backward.default(g, 0.5, 2, 1.5, False, o)\n"
      "aten.elu_backward.default(g, 0.5, 2, 1.5, True, o)\n"
      "aten.softplus_backward.default(g, x, 1, 20)\n"
      "aten.softplus_backward.default(g, x, 1.5, 0.5)\naten.mish_backward.default(g, x)\n"
      "aten.logit_backward.default(g, x)\naten.logit_backward.default(g, o)\n"
      "aten.logit_backward.default(g, z)\naten.logit_backward.default(g, p, 0.4)\n"
      "aten.hardtanh_backward.default(g, x, -1, 0.5)\n"
      "aten.leaky_relu_backward.default(g, x, 0.1, False)\n"
      "aten.hardsigmoid_backward.default(g, x)\naten.hardswish_backward.default(g, x)\n"
      "aten.native_dropout_backward.default(g, q, 1.25)\n"
      "aten.native_dropout_backward.default(g, x, 2.0)";
  const auto log_sigmoid = [](const std::string& dtype, const std::string& device) {
    const auto type = dtype + "[s0, 6]" + device;
    return testing::SmallGraph{"x: " + type + "; g: " + type,
                               "h = aten.mul.Scalar(x, 60)\n"
                               "f = aten.log_sigmoid_forward.default(h)\n"
                               "a = operator.getitem(f, 0)\nb = operator.getitem(f, 1)\n"
                               "c = aten.log_sigmoid_backward.default(g, h, b)",
                               "a, b, c"};
  };
  const auto prelu = [](const std::string& dtype, const std::string& weight) {
    return testing::SmallGraph{
        "x: " + dtype + "[s0, 3, 2]; w: " + dtype + weight + "; g: " + dtype + "[s0, 3, 2]",
        "a = aten._prelu_kernel.default(x, w)\n"
        "f = aten._prelu_kernel_backward.default(g, x, w)\n"
        "b = operator.getitem(f, 0)\nc = operator.getitem(f, 1)",
        "a, b, c"};
  };
  return {
      calls_of("Forward", "f32", forward),
      calls_of("ForwardNarrow", "bf16", forward),
      calls_of("ForwardWide", "f64", forward),
      calls_of("Backward", "f32", backward),
      calls_of("BackwardNarrow", "bf16", backward),
      {"ThresholdOfIntegers",
       {"i: i32[s0, 6]; j: u8[s0]",
        "a = aten.threshold.default(i, -0.5, 7.5)\nb = aten.threshold.default(j, 1, 3)", "a, b"}},
      {"LogSigmoid", log_sigmoid("f32", ""), kAlsoEmpty},
      {"LogSigmoidNarrow", log_sigmoid("bf16", "")},
      {"LogSigmoidOnCuda", log_sigmoid("f32", "cuda")},
      {"Prelu", prelu("f32", "[1, 3, 1]"), kAlsoEmpty},
      {"PreluNarrow", prelu("f16", "[1, 1, 1]")},
      {"PreluOfANumber",
       {"x: f32[]; w: f32[]; g: f32[]",
        "a = aten._prelu_kernel.default(x, w)\n"
        "f = aten._prelu_kernel_backward.default(g, x, w)\nb = operator.getitem(f, 1)",
        "a, b"},
       {""}},
      {"GluOfSymbolicHalves",
       {"s0: Sym(s0); x: f32[2*s0, 3]; y: bf16[3, 2*s0]; g: f32[s0, 3]; h: bf16[3, s0]",
        "a = aten.glu.default(x, 0)\nb = aten.glu.default(y)\n"
        "c = aten.glu_backward.default(g, x, 0)\nd = aten.glu_backward.default(h, y, -1)",
        "a, b, c, d"},
       kAlsoEmpty},
  };
}
INSTANTIATE_TEST_SUITE_P(Activations, ElementwiseLowering, ::testing::ValuesIn(activations()),
                         row_name);

auto formulas() -> std::vector<Row> {
  const std::string kinds =
      "aten.isnan.default(o)\naten.isinf.default(o)\naten.isposinf.default(o)\n"
      "aten.isneginf.default(o)\naten.signbit.default(o)\naten.nan_to_num.default(o)\n"
      "aten.nan_to_num.default(o, 1.5, 2.5, -3.5)\naten.nan_to_num.default(o, None, 7.0)\n"
      "aten.sgn.default(o)\naten.sign.default(o)\naten.sgn.default(z)";
  const std::string one =
      "aten.frac.default(x)\naten.frac.default(o)\naten.deg2rad.default(x)\n"
      "aten.rad2deg.default(x)\naten.sinc.default(x)\naten.sinc.default(z)\n"
      "aten.special_entr.default(x)\naten.special_entr.default(z)\n"
      "aten.special_entr.default(o)\naten.erfinv.default(x)\naten.special_ndtr.default(x)\n"
      "aten.round.decimals(x, decimals = 2)\naten.round.decimals(x, decimals = 0)\n"
      "aten.round.decimals(x, decimals = -1)";
  const std::string two =
      "aten.xlogy.Tensor(z, y)\naten.xlogy.Tensor(z, o)\naten.xlogy.Scalar_Other(z, 2.5)\n"
      "aten.xlogy.Scalar_Self(1.5, y)\naten.special_xlog1py.default(z, o)\n"
      "aten.special_xlog1py.other_scalar(z, 0.5)\naten.special_xlog1py.self_scalar(2, y)\n"
      "aten.logaddexp.default(x, y)\naten.logaddexp.default(o, r)\n"
      "aten.logaddexp2.default(x, y)\naten.logaddexp2.default(o, r)\n"
      "aten.lerp.Tensor(x, y, g)\naten.lerp.Scalar(x, y, 0.7)\n"
      "aten.heaviside.default(z, y)\naten.heaviside.default(o, y)\n"
      "aten.copysign.Tensor(x, o)\naten.copysign.Scalar(x, -1)\n"
      "aten.clamp_min.Tensor(o, y)\naten.clamp_max.Tensor(x, y)\n"
      "aten.clamp.Tensor(x, y, g)";
  const std::string integers = "i: i32[s0, 6]; j: i64[s0, 6]; k: i8[6]; l: u8[6]; b: b8[s0, 6]";
  return {
      calls_of("Kinds", "f32", kinds),
      calls_of("KindsNarrow", "bf16", kinds),
      calls_of("KindsHalf", "f16", kinds),
      calls_of("KindsWide", "f64", kinds),
      calls_of("OfOne", "f32", one),
      calls_of("OfOneNarrow", "bf16", one),
      calls_of("OfOneWide", "f64", one),
      calls_of("OfTwo", "f32", two),
      calls_of("OfTwoNarrow", "bf16", two),
      calls_of("NextAfter", "f32", "aten.nextafter.default(x, y)\naten.nextafter.default(z, o)"),
      calls_of("NextAfterWide", "f64", "aten.nextafter.default(x, y)"),
      {"RoundHalf",
       {"x: f16[s0, 6]",
        "a = aten.round.decimals(x, decimals = 3)\nb = aten.round.decimals(x, decimals = 5)",
        "a, b"}},
      {"KindsOfIntegers",
       {integers,
        "a = aten.isnan.default(i)\nc = aten.isinf.default(j)\nd = aten.signbit.default(i)\n"
        "e = aten.signbit.default(l)\nf = aten.nan_to_num.default(i)\ng = aten.sgn.default(k)\n"
        "h = aten.isposinf.default(i)\nm = aten.isneginf.default(k)\nn = aten.isnan.default(b)\n"
        "o = aten.signbit.default(b)",
        "a, c, d, e, f, g, h, m, n, o"}},
      {"FloatsOfIntegers",
       {integers,
        "a = aten.xlogy.Tensor(i, j)\nc = aten.deg2rad.default(i)\nd = aten.sinc.default(k)\n"
        "e = aten.special_entr.default(l)\nf = aten.copysign.Scalar(i, -2)\n"
        "g = aten.heaviside.default(i, i)\nh = aten.special_xlog1py.default(l, l)\n"
        "m = aten.clamp_min.Tensor(i, k)\nn = aten.erfinv.default(b)",
        "a, c, d, e, f, g, h, m, n", -3, 5}},
      {"Bits",
       {integers,
        "a = aten.__or__.Tensor(i, j)\nc = aten.bitwise_xor.Scalar(i, 3)\n"
        "d = aten.bitwise_and.Scalar_Tensor(6, i)\ne = aten.bitwise_or.Scalar_Tensor(6, j)\n"
        "f = aten.bitwise_xor.Scalar_Tensor(6, k)\ng = aten.__or__.Tensor(b, b)\n"
        "h = aten.bitwise_xor.Scalar(b, True)",
        "a, c, d, e, f, g, h", -100, 100}},
      {"Shifts",
       {integers,
        "a = aten.bitwise_left_shift.Tensor(i, i)\nc = aten.bitwise_right_shift.Tensor(j, i)\n"
        "d = aten.bitwise_left_shift.Tensor_Scalar(k, 3)\n"
        "e = aten.bitwise_right_shift.Tensor_Scalar(k, 2)\n"
        "f = aten.bitwise_left_shift.Scalar_Tensor(3, l)\n"
        "g = aten.bitwise_right_shift.Scalar_Tensor(-300, i)\n"
        "h = aten.__lshift__.Tensor(k, k)\nm = aten.__rshift__.Tensor(l, l)\n"
        "n = aten.__lshift__.Scalar(i, 31)\no = aten.__rshift__.Scalar(k, 8)\n"
        "p = aten.__rshift__.Scalar(l, 1)\nq = aten.__rshift__.Scalar(i, 33)",
        "a, c, d, e, f, g, h, m, n, o, p, q", -10, 40}},
  };
}
INSTANTIATE_TEST_SUITE_P(Formulas, ElementwiseLowering, ::testing::ValuesIn(formulas()), row_name);

/// Inductor's random numbers, of seeds that are given.
auto random_numbers() -> std::vector<Row> {
  const auto of = [](const std::string& device) {
    return testing::SmallGraph{
        "s0: Sym(s0); k: i64[2]" + device + "; x: f32[s0, 5, 3]" + device,
        "a = aten.select.int(k, 0, 1)\nb = prims.inductor_random.default([s0, 5, 3], a, 'rand')\n"
        "c = prims.inductor_random.default([s0, 5, 3], a, 'randn', offset = 40)\n"
        "d = prims.inductor_randint.default(-7, s0, [s0, 5, 3], a)\n"
        "e = aten.permute.default(b, [2, 0, 1])\nf = aten.clone.default(e, memory_format = "
        "torch.contiguous_format)\ng = aten.gt.Scalar(b, 0.3)\nh = aten.mul.Tensor(g, x)",
        "b, c, d, f, h"};
  };
  return {{"OnTheCpu", of("")}, {"OnCuda", of("cuda:0")}};
}
INSTANTIATE_TEST_SUITE_P(RandomNumbers, ElementwiseLowering, ::testing::ValuesIn(random_numbers()),
                         row_name);

}  // namespace
}  // namespace assay
