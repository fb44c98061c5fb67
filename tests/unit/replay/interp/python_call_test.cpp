// Operators, functions, methods and subscripts of Python run as the operators that they mean.
#include "replay/interp/python_call.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/graph/text.h"
#include "replay/interp/python_functions.h"
#include "replay/interp/run.h"
#include "tests/support/run_op.h"

namespace assay {
namespace {

using testing::make_tensor;

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

/// What a line makes of x = [[1, 2, 3], [4, 5, 6]] and i = [1, 0], of which `one` and `two` have
/// one and two dimensions more, `more` is x + 1, `row` is x[1] and `single` row[0].
auto run_line(const std::string& line) -> NodeRun {
  const auto graph = parse_graph(
      "class G(torch.nn.Module):\n    def forward(self, x, i):\n"
      "        one = x[None]\n        two = one[None]\n        row = x[1]\n"
      "        more = x + 1\n        single = row[0]\n"
      "        samples = torch.full((1, 1, 2), 0.3)\n        y = " +
      line + "\n        return (y,)\n");
  EXPECT_TRUE(graph) << line << ": " << (graph ? "" : graph.error().message);
  if (!graph) return {};
  RunInputs feed;
  feed.values = {Datum{make_tensor({2, 3}, {1, 2, 3, 4, 5, 6}, DType::float32)},
                 Datum{make_tensor({2}, {1, 0}, DType::int64)}};
  feed.made_up.resize(2);
  feed.defects.resize(2);
  const auto run = run_graph(*graph, feed, table(), {.statistics = true, .progress = {}});
  return run.nodes.at(run.nodes.size() - 2);
}

struct Row {
  std::string line;
  Ints sizes, strides;
  double sum = 0;
};

class PythonCall : public ::testing::TestWithParam<Row> {};

TEST_P(PythonCall, IsTheOperatorThatItMeans) {
  const auto& [line, sizes, strides, sum] = GetParam();
  const auto run = run_line(line);
  ASSERT_EQ(run.status, NodeStatus::ran) << line << ": " << run.message;
  ASSERT_TRUE(run.value.tensor) << line;
  EXPECT_EQ(run.value.tensor->meta.sizes, sizes) << line;
  EXPECT_EQ(run.value.tensor->meta.strides, strides) << line;
  EXPECT_NEAR(run.value.tensor->sum, sum, 1e-4) << line;
}

INSTANTIATE_TEST_SUITE_P(
    Operators, PythonCall,
    ::testing::Values(Row{"x + 1", {2, 3}, {3, 1}, 27}, Row{"1 - x", {2, 3}, {3, 1}, -15},
                      Row{"6 / x", {2, 3}, {3, 1}, 14.7}, Row{"x // 2", {2, 3}, {3, 1}, 9},
                      Row{"x % 2", {2, 3}, {3, 1}, 3}, Row{"x ** 2", {2, 3}, {3, 1}, 91},
                      Row{"2 ** x", {2, 3}, {3, 1}, 126}, Row{"-x", {2, 3}, {3, 1}, -21},
                      Row{"3 < x", {2, 3}, {3, 1}, 3}, Row{"x * x", {2, 3}, {3, 1}, 91}));

INSTANTIATE_TEST_SUITE_P(
    Subscripts, PythonCall,
    ::testing::Values(Row{"x[0]", {3}, {1}, 6}, Row{"x[-1]", {3}, {1}, 15},
                      Row{"x[(Ellipsis, 1)]", {2}, {3}, 7},
                      Row{"x[(slice(None, None, None), slice(1, None, None))]", {2, 2}, {3, 1}, 16},
                      Row{"x[(None, 1)]", {1, 3}, {6, 1}, 15}, Row{"x[i]", {2, 3}, {3, 1}, 21},
                      Row{"x[(slice(None, None, None), i)]", {2, 2}, {2, 1}, 12}));

INSTANTIATE_TEST_SUITE_P(
    Functions, PythonCall,
    ::testing::Values(Row{"torch.nn.functional.relu(x, inplace = False)", {2, 3}, {3, 1}, 21},
                      Row{"torch.cat([x, x], dim = 1)", {2, 6}, {6, 1}, 42},
                      Row{"torch.ops.aten.sum(x, [1])", {2}, {1}, 21},
                      Row{"torch.ops.aten.sub_(x, 1)", {2, 3}, {3, 1}, 15},
                      Row{"torch._C._nn.linear(x, x, None)", {2, 2}, {2, 1}, 155},
                      Row{"torch.nn.functional.softmax(x, dim = -1)", {2, 3}, {3, 1}, 2},
                      Row{"torch.sum(x, 1)", {2}, {1}, 21}, Row{"x.view(3, 2)", {3, 2}, {2, 1}, 21},
                      Row{"x.view((3, -1))", {3, 2}, {2, 1}, 21},
                      Row{"x.transpose(0, 1)", {3, 2}, {1, 3}, 21},
                      Row{"x.mean(dim = 0, keepdim = True)", {1, 3}, {3, 1}, 10.5}));

INSTANTIATE_TEST_SUITE_P(
    ParametersOfPython, PythonCall,
    ::testing::Values(
        Row{"torch.clamp(x, min = row)", {2, 3}, {3, 1}, 30},
        Row{"torch.zeros(2, 3)", {2, 3}, {3, 1}, 0}, Row{"x.new_ones(4, 2)", {4, 2}, {2, 1}, 8},
        Row{"torch.functional.einsum('ij,kj->ik', x, x)", {2, 2}, {2, 1}, 155},
        Row{"x.__eq__(x)", {2, 3}, {3, 1}, 6}, Row{"x.__rsub__(1)", {2, 3}, {3, 1}, -15},
        Row{"x[[1, 0]]", {2, 3}, {3, 1}, 21}, Row{"x.std(False)", {}, {}, 1.707825},
        Row{"x.to('cpu', torch.float64)", {2, 3}, {3, 1}, 21},
        Row{"x.to('cpu')", {2, 3}, {3, 1}, 21}, Row{"x.to(device(type='cpu'))", {2, 3}, {3, 1}, 21},
        Row{"x.polygamma(1)", {2, 3}, {3, 1}, 3.371271}, Row{"x.mT", {3, 2}, {1, 3}, 21},
        Row{"torch.sum(input = x, axis = 0, keepdims = True)", {1, 3}, {3, 1}, 21},
        Row{"torch.tensor([[1, 2], [3, 4]])", {2, 2}, {2, 1}, 10},
        Row{"x.type(torch.float64)", {2, 3}, {3, 1}, 21}, Row{"x.tile(1, 2)", {2, 6}, {6, 1}, 42}));

INSTANTIATE_TEST_SUITE_P(
    FunctionsOfNn, PythonCall,
    ::testing::Values(
        Row{"torch.nn.functional.batch_norm(x, None, None, training = True)", {2, 3}, {3, 1}, 0},
        Row{"torch.nn.functional.instance_norm(one)", {1, 2, 3}, {6, 3, 1}, 0},
        Row{"torch.nn.functional.interpolate(one, scale_factor = 2)", {1, 2, 6}, {12, 6, 1}, 42},
        Row{"torch.nn.functional.interpolate(one, size = 5, mode = 'linear')",
            {1, 2, 5},
            {10, 5, 1},
            35},
        Row{"torch.nn.functional.interpolate(one, scale_factor = 0.5, mode = 'area')",
            {1, 2, 1},
            {2, 1, 1},
            7},
        Row{"torch.nn.functional.dropout2d(one, 0.0, True)", {1, 2, 3}, {6, 3, 1}, 21},
        Row{"torch.nn.functional.unfold(two, (2, 2))", {1, 4, 2}, {8, 2, 1}, 28},
        Row{"torch.nn.functional.kl_div(x, x, reduction = 'batchmean')", {}, {}, -30.98747},
        Row{"torch.nn.functional.mse_loss(x, more, reduction = 'sum')", {}, {}, 6},
        Row{"torch.nn.functional.adaptive_max_pool1d(one, 1)", {1, 2, 1}, {2, 1, 1}, 9},
        Row{"torch.nn.functional.kl_div(x, x)", {}, {}, -10.32916},
        Row{"torch.nn.functional.kl_div(single, single, reduction = 'batchmean')",
            {},
            {},
            -10.454823},
        Row{"torch.nn.functional.fractional_max_pool2d(one, 2, output_ratio = (0.5, 0.67), "
            "_random_samples = samples)",
            {1, 1, 2},
            {2, 2, 1},
            11},
        Row{"torch.nn.functional.mse_loss(x, more, size_average = None, reduce = None)", {}, {}, 1},
        Row{"torch.as_tensor(x, device = None)", {2, 3}, {3, 1}, 21},
        Row{"torch.as_tensor(2.5)", {}, {}, 2.5},
        Row{"torch.as_tensor(x, dtype = torch.float64)", {2, 3}, {3, 1}, 21},
        Row{"torch.nn.functional.softsign(x)", {2, 3}, {3, 1}, 4.407143},
        Row{"torch.nn.functional.normalize(x, p = 1)", {2, 3}, {3, 1}, 2},
        Row{"torch.nn.functional.softmin(x, dim = 1)", {2, 3}, {3, 1}, 2},
        Row{"torch.nn.functional.lp_pool1d(one, 2, 3)", {1, 2, 1}, {2, 1, 1}, 12.516622},
        Row{"torch.nn.functional.lp_pool3d(two, 2, (1, 2, 2))",
            {1, 1, 1, 1},
            {1, 1, 1, 1},
            6.782330},
        Row{"torch.nn.functional.gaussian_nll_loss(x, more, x)", {}, {}, 0.7524376},
        Row{"torch.nn.functional.relu(x, inplace = True)", {2, 3}, {3, 1}, 21},
        Row{"torch.nn.functional.relu(x, False)", {2, 3}, {3, 1}, 21},
        Row{"torch.nn.functional.elu(x, 1.0, False)", {2, 3}, {3, 1}, 21},
        Row{"torch.nn.functional.leaky_relu(x, 0.1, True)", {2, 3}, {3, 1}, 21},
        Row{"torch.nn.functional.hardtanh(x, 2.0, 4.0, False)", {2, 3}, {3, 1}, 19},
        Row{"torch.nn.functional.threshold(x, 3.5, -1.0, False)", {2, 3}, {3, 1}, 12},
        // PyTorch 2.11 in eager mode
        Row{"torch.nn.functional.interpolate(one, scale_factor = 1.7, mode = 'linear', "
            "recompute_scale_factor = True)",
            {1, 2, 5},
            {10, 5, 1},
            35},
        Row{"torch.nn.functional.adaptive_avg_pool2d(one, (None, 2))", {1, 2, 2}, {4, 2, 1}, 14},
        Row{"torch.nn.functional.adaptive_max_pool2d(one, (1, None))", {1, 1, 3}, {3, 3, 1}, 15},
        Row{"torch.nn.functional.upsample_bilinear(two, (2, 5))", {1, 1, 2, 5}, {10, 10, 5, 1}, 35},
        Row{"torch.nn.functional.upsample_nearest(two, scale_factor = 2)",
            {1, 1, 4, 6},
            {24, 24, 6, 1},
            84},
        Row{"torch.nn.functional.upsample(one, 5)", {1, 2, 5}, {10, 5, 1}, 33},
        Row{"two.double(memory_format = torch.channels_last)", {1, 1, 2, 3}, {6, 1, 3, 1}, 21}));

INSTANTIATE_TEST_SUITE_P(
    FunctionsOfTorch, PythonCall,
    ::testing::Values(
        Row{"torch.functional.tensordot(x, x, 2)", {}, {}, 91},
        Row{"torch.functional.tensordot(x, x, ([1], [1]))", {2, 2}, {2, 1}, 155},
        // Frames are centred: of 5 4 5 6 5, two each.
        Row{"torch.functional.stft(row, 2, 1, return_complex = False)", {2, 4, 2}, {2, 4, 1}, 40},
        Row{"torch._VF.stft(row, 2, 1, return_complex = False)", {2, 2, 2}, {2, 4, 1}, 18},
        Row{"torch.functional.cdist(x, more, 2.0, 'donot_use_mm_for_euclid_dist')",
            {2, 2},
            {2, 1},
            13.85641},
        Row{"torch.functional.norm(x)", {}, {}, 9.539392},
        Row{"torch.functional.norm(x, 'fro', [0, 1])", {}, {}, 9.539392},
        Row{"torch.functional.norm(x, 'nuc')", {}, {}, 10.2809},
        Row{"torch.functional.norm(x, 3, dim = 1, keepdim = True)", {2, 1}, {1, 1}, 10.70056}));

/// What the last of these lines makes of x and i.
auto run_lines(const std::string& lines) -> NodeRun {
  const auto graph = parse_graph("class G(torch.nn.Module):\n    def forward(self, x, i):\n" +
                                 lines + "        return (y,)\n");
  EXPECT_TRUE(graph) << graph.error().message;
  RunInputs feed;
  feed.values = {Datum{make_tensor({2, 3}, {1, 2, 3, 4, 5, 6}, DType::float32)},
                 Datum{make_tensor({2}, {1, 0}, DType::int64)}};
  feed.made_up.resize(2);
  feed.defects.resize(2);
  auto run = run_graph(*graph, feed, table(), {.statistics = true, .progress = {}});
  return run.nodes.at(run.nodes.size() - 2);
}

/// With x for queries, keys and values of one head, which projections leave alone; the first query
/// sees the first key alone.
TEST(PythonCalls, AttentionOfManyHeadsIsItsProjectionsAndWeights) {
  const auto made = [](const std::string& line) {
    std::string lines =
        "        q = x.view(2, 1, 3)\n        eye = torch.ops.aten.eye.default(3)\n"
        "        w = eye.repeat(3, 1)\n        o = torch.ops.aten.ones.default([2, 2])\n"
        "        u = torch.ops.aten.triu.default(o, 1)\n        m = u.bool()\n";
    for (const std::string weights : {"True", "False"})
      lines +=
          (weights == "True" ? "        a = " : "        b = ") +
          ("torch.nn.functional.multi_head_attention_forward(q, q, q, 3, 1, w, None, None, None, "
           "False, 0.0, eye, None, True, None, " +
           weights + ", m)\n");
    return run_lines(lines + "        c = a[0]\n        d = b[0]\n        p = a[1]\n" + line);
  };
  const auto both = made("        y = c - d\n");
  ASSERT_EQ(both.status, NodeStatus::ran) << both.message;
  EXPECT_EQ(both.value.tensor->meta.sizes, (Ints{2, 1, 3}));
  EXPECT_LT(both.value.tensor->abs_sum, 1e-5);
  EXPECT_NEAR(made("        y = c[0]\n").value.tensor->sum, 6, 1e-5);
  const auto weights = made("        y = p + 0\n");
  EXPECT_EQ(weights.value.tensor->meta.sizes, (Ints{1, 2, 2}));
  EXPECT_NEAR(weights.value.tensor->sum, 2, 1e-5);
  const auto refused = run_lines(
      "        y = torch.nn.functional.multi_head_attention_forward(x, x, x, 3, 1, x, None, None, "
      "None, False, 0.0, x, None, static_k = x)\n");
  EXPECT_TRUE(refused.message.contains("with static_k")) << refused.message;
}

/// A key and value that are given, and ones of zeros, which no mask hides; numbers by PyTorch 2.11.
TEST(PythonCalls, KeysAreAddedToAttention) {
  const auto made = [](const std::string& added, const std::string& weights) {
    return run_lines(
        "        r = x * 0.1\n        q = r.view(2, 1, 3)\n        eye = "
        "torch.ops.aten.eye.default(3)\n"
        "        w = eye.repeat(3, 1)\n        k = torch.ops.aten.full.default([1, 1, 3], 0.5)\n"
        "        v = torch.ops.aten.full.default([1, 1, 3], -2.0)\n"
        "        o = torch.ops.aten.ones.default([2, 2])\n"
        "        u = torch.ops.aten.triu.default(o, 1)\n        m = u.bool()\n"
        "        a = torch.nn.functional.multi_head_attention_forward(q, q, q, 3, 1, w, None, " +
        added + ", 0.0, eye, None, True, None, " + weights + ", m)\n        y = a[0]\n");
  };
  for (const std::string weights : {"True", "False"}) {
    EXPECT_NEAR(made("k, v, False", weights).value.tensor->sum, -4.290283, 1e-4) << weights;
    EXPECT_NEAR(made("None, None, True", weights).value.tensor->sum, 1.125746, 1e-4) << weights;
    EXPECT_NEAR(made("k, v, True", weights).value.tensor->sum, -3.147815, 1e-4) << weights;
  }
}

/// Places of a 2 by 2 window's largest, bags, and results that go where they are asked to.
TEST(PythonCalls, FunctionsThatPythonComposes) {
  const auto unpooled = run_lines(
      "        off = torch._C._set_grad_enabled(False)\n"
      "        places = torch.ops.aten.arange.default(6)\n"
      "        at = places.view(1, 2, 3)\n        one = x[None]\n"
      "        y = torch.nn.functional.max_unpool2d(one, at, 2)\n");
  ASSERT_EQ(unpooled.status, NodeStatus::ran) << unpooled.message;
  EXPECT_EQ(unpooled.value.tensor->meta.sizes, (Ints{1, 4, 6}));
  EXPECT_EQ(unpooled.value.tensor->sum, 21);
  const auto line = run_lines(
      "        places = torch.ops.aten.arange.default(6)\n        at = places.view(1, 2, 3)\n"
      "        third = at % 3\n        even = third * 2\n        one = x[None]\n"
      "        y = torch.nn.functional.max_unpool1d(one, even, 2)\n");
  ASSERT_EQ(line.status, NodeStatus::ran) << line.message;
  EXPECT_EQ(line.value.tensor->meta.sizes, (Ints{1, 2, 6}));
  EXPECT_EQ(line.value.tensor->sum, 21);
  const auto bags = run_lines(
      "        rows = i[None]\n"
      "        y = torch.nn.functional.embedding_bag(rows, x, None, None, 2.0, False, 'sum')\n");
  ASSERT_EQ(bags.status, NodeStatus::ran) << bags.message;
  EXPECT_EQ(bags.value.tensor->meta.sizes, (Ints{1, 3}));
  EXPECT_EQ(bags.value.tensor->sum, 21);
  const auto weighted = run_lines(
      "        rows = i[None]\n        s = x.sum(1)\n        w = s[None]\n"
      "        y = torch.nn.functional.embedding_bag(rows, x, mode = 'sum', "
      "per_sample_weights = w)\n");
  ASSERT_EQ(weighted.status, NodeStatus::ran) << weighted.message;
  EXPECT_EQ(weighted.value.tensor->meta.sizes, (Ints{1, 3}));
  EXPECT_EQ(weighted.value.tensor->sum, 6 * 15 + 15 * 6);
  const auto means = run_lines(
      "        starts = torch.ops.aten.arange.default(2)\n"
      "        y = torch.nn.functional.embedding_bag(i, x, starts)\n");
  ASSERT_EQ(means.status, NodeStatus::ran) << means.message;
  EXPECT_EQ(means.value.tensor->sum, 21);
  const auto repeated = run_lines(
      "        n = x.size(0)\n        shape = [2, 1] * n\n        y = "
      "torch.ops.aten.ones.default(shape)\n");
  ASSERT_EQ(repeated.status, NodeStatus::ran) << repeated.message;
  EXPECT_EQ(repeated.value.tensor->meta.sizes, (Ints{2, 1, 2, 1}));
  const auto sizes = run_lines("        size = torch.Size([3, 2])\n        y = x.reshape(size)\n");
  ASSERT_EQ(sizes.status, NodeStatus::ran) << sizes.message;
  EXPECT_EQ(sizes.value.tensor->meta.sizes, (Ints{3, 2}));
  // Each row as long as its sum.
  const auto weight = run_lines(
      "        one = x[None]\n        r = x.sum(1)\n        g = r.view(1, 2, 1)\n"
      "        y = torch._weight_norm(one, g, 1)\n");
  ASSERT_EQ(weight.status, NodeStatus::ran) << weight.message;
  EXPECT_NEAR(weight.value.tensor->sum, 36 / std::sqrt(14) + 225 / std::sqrt(77), 1e-4);
  // 1 plus the squares of three neighbours, of which there are two, by three.
  const auto local = run_lines(
      "        one = x[None]\n"
      "        y = torch.nn.functional.local_response_norm(one, 3, 1.0, 1.0)\n");
  ASSERT_EQ(local.status, NodeStatus::ran) << local.message;
  EXPECT_NEAR(local.value.tensor->sum, 5 / (1 + 17 / 3.) + 7 / (1 + 29 / 3.) + 9 / (1 + 45 / 3.),
              1e-5);
  const auto out = run_lines(
      "        there = x * 1\n"
      "        norm = torch.nn.functional.normalize(x, p = 1, dim = 1, out = there)\n"
      "        y = there + 0\n");
  ASSERT_EQ(out.status, NodeStatus::ran) << out.message;
  EXPECT_NEAR(out.value.tensor->sum, 2, 1e-5);
  const auto products = run_lines(
      "        turned = x.t()\n        y = torch__inductor_fx_passes_post_grad_mm_plus_mm("
      "mat1 = x, mat2 = turned, mat3 = x, mat4 = turned)\n");
  ASSERT_EQ(products.status, NodeStatus::ran) << products.message;
  EXPECT_EQ(products.value.tensor->sum, 2 * 155);
}

/// Python's numbers have dtypes, in a list or not.
TEST(PythonCalls, TensorsOfNumbersHaveTheirDtype) {
  const auto dtype = [](const std::string& call) {
    const auto out = run_lines("        y = torch.tensor(" + call + ")\n");
    EXPECT_EQ(out.status, NodeStatus::ran) << out.message;
    return out.value.tensor ? out.value.tensor->meta.dtype : DType::complex32;
  };
  EXPECT_EQ(dtype("3"), DType::int64);
  EXPECT_EQ(dtype("7.75"), DType::float32);
  EXPECT_EQ(dtype("True"), DType::boolean);
  EXPECT_EQ(dtype("8, dtype = torch.float32"), DType::float32);
  EXPECT_EQ(dtype("[1, 2]"), DType::int64);
}

TEST(PythonCalls, ModesChangeNothing) {
  const auto off = run_lines(
      "        mode = torch.amp.autocast_mode._enter_autocast('cpu', None, False, None)\n"
      "        once = torch._C._log_api_usage_once('python.nn_module')\n"
      "        asked = torch.cuda.get_device_capability(device(type='cuda', index=0))\n"
      "        done = torch.amp.autocast_mode._exit_autocast(mode)\n"
      "        root = torch._sym_sqrt(16.0)\n        y = x * root\n");
  ASSERT_EQ(off.status, NodeStatus::ran) << off.message;
  EXPECT_EQ(off.value.tensor->sum, 4 * 21);
}

/// The sum of what they make; NaN where they do not run.
auto sum_of(const std::string& lines) -> double {
  const auto run = run_lines(lines);
  EXPECT_EQ(run.status, NodeStatus::ran) << run.message;
  return run.value.tensor ? run.value.tensor->sum : std::nan("");
}
/// Their parts are taken by number, as graphs take them.
TEST(PythonCalls, FunctionsOfSeveralResults) {
  // 5 and 1 of [2, 3] are [1, 0] and [2, 1], columns of one tensor.
  const std::string indices =
      "        four = i * 4\n        at = four + 1\n"
      "        all = torch.functional.unravel_index(at, (2, 3))\n";
  EXPECT_EQ(sum_of(indices + "        y = all[0]\n"), 1);
  EXPECT_EQ(sum_of(indices + "        y = all[1]\n"), 3);
  const auto column = run_lines(indices + "        y = all[1]\n");
  ASSERT_TRUE(column.value.tensor);
  EXPECT_EQ(column.value.tensor->meta.strides, (Ints{2}));
  EXPECT_EQ(sum_of("        one = x[None]\n"
                   "        all = torch.nn.functional.adaptive_max_pool1d(one, 1, True)\n"
                   "        y = all[1]\n"),
            4);
  EXPECT_EQ(sum_of("        turned = x.t()\n        square = x @ turned\n"
                   "        all = torch.functional.lu(square)\n        y = all[1]\n"),
            2 + 2);
  EXPECT_EQ(sum_of("        lengths = i + i\n        y = torch._segment_reduce(x, 'max', "
                   "lengths = lengths, axis = 0, initial = 0)\n"),
            15);
}

TEST(PythonCalls, FunctionsDrawWhereTheirOperatorsDo) {
  EXPECT_EQ(run_line("torch.nn.functional.dropout(x, 0.2, True)").randomness, Randomness::numbers);
  EXPECT_EQ(run_line("torch.nn.functional.dropout(x, 0.2, False)").randomness, Randomness::none);
  EXPECT_EQ(run_line("torch.nn.functional.gumbel_softmax(x, 0.7)").randomness, Randomness::numbers);
  EXPECT_EQ(run_line("torch.nn.functional.gelu(x)").randomness, Randomness::none);
}

TEST(PythonCalls, CallsInPlaceSayWhatTheyWrite) {
  const auto written = [](const std::string& line) {
    const auto graph =
        parse_graph("class G(torch.nn.Module):\n    def forward(self, x, i):\n        y = " + line +
                    "\n        return (y,)\n");
    EXPECT_TRUE(graph) << line;
    return graph && written_operand(graph->nodes.at(2)) == graph->nodes.at(0).id;
  };
  EXPECT_TRUE(written("x.ceil_()"));
  EXPECT_TRUE(written("torch.nn.functional.leaky_relu(x, 0.1, True)"));
  EXPECT_FALSE(written("torch.nn.functional.leaky_relu(x, 0.1, False)"));
  EXPECT_TRUE(written("torch.nn.functional.relu(x, inplace = True)"));
  EXPECT_TRUE(written("operator.iadd(x, 1)"));
  EXPECT_FALSE(written("torch.nn.functional.relu(x, inplace = False)"));
  EXPECT_FALSE(written("x.__eq__(x)"));
  EXPECT_FALSE(written("operator.add(x, 1)"));
}

TEST(PythonFunctions, OnlyArgumentsThatSayNothingAreLeftOut) {
  const auto call = as_operator(
      {"aten.scatter", {{}, {{"reduce", Datum{std::string("add")}}, {"size_average", {}}}}, {}});
  ASSERT_EQ(call.args.keywords.size(), 1U);
  EXPECT_EQ(call.args.keywords[0].first, "reduce");
  const auto pool =
      as_operator({"aten.max_pool2d", {{}, {{"return_indices", Datum{Expr::boolean(true)}}}}, {}});
  EXPECT_EQ(pool.name, "aten.max_pool2d_with_indices");
  EXPECT_TRUE(pool.args.keywords.empty());
}

/// What is scaled by 1.7 has 5 elements of 3; these say what the scale is.
TEST(PythonFunctions, SizesThatAreRecomputedAreTheScales) {
  const auto recomputed = [](bool value) {
    return python_function("interpolate",
                           {{Datum{make_tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6}, DType::float32)},
                             {},
                             Datum{Expr::real(1.7)}},
                            {{"recompute_scale_factor", Datum{Expr::boolean(value)}}}});
  };
  const auto given = recomputed(false), made = recomputed(true);
  ASSERT_TRUE(given && made);
  EXPECT_TRUE(given->args.positional[1].is_none());
  EXPECT_FALSE(given->args.positional[2].is_none());
  ASSERT_NE(made->args.positional[1].list(), nullptr);
  EXPECT_EQ(made->args.positional[1].list()->at(0).scalar()->as_int(), 5);
  EXPECT_TRUE(made->args.positional[2].is_none());
}

TEST(PythonCalls, WhatNoRowTakesIsNotChecked) {
  const auto run = run_line("torch.nn.functional.no_such_function(x)");
  EXPECT_EQ(run.status, NodeStatus::unchecked);
  EXPECT_TRUE(run.message.contains("no_such_function")) << run.message;
}

TEST(PythonCalls, OperandsThatPythonRefusesAreRefused) {
  EXPECT_EQ(run_line("x.view(4, 2)").status, NodeStatus::failed);
  EXPECT_EQ(run_line("x[7]").status, NodeStatus::failed);
}

TEST(PythonCalls, OverloadsOfAtenAreNone) {
  EXPECT_FALSE(is_python_call(NodeKind::call_function, "aten.add.Tensor"));
  EXPECT_FALSE(is_python_call(NodeKind::call_function, "torch.sym_max"));
  EXPECT_TRUE(is_python_call(NodeKind::call_function, "torch.nn.functional.gelu"));
  EXPECT_TRUE(is_python_call(NodeKind::call_method, "view"));
  EXPECT_TRUE(is_python_call(NodeKind::call_function, "operator.add"));
}

}  // namespace
}  // namespace assay
