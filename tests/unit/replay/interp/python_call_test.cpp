// Operators, functions, methods and subscripts of Python run as the operators that they mean.
#include "replay/interp/python_call.h"

#include <gtest/gtest.h>

#include "core/graph/text.h"
#include "replay/interp/run.h"
#include "tests/support/run_op.h"

namespace assay {
namespace {

using testing::make_tensor;

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

/// What a line makes of x = [[1, 2, 3], [4, 5, 6]] and i = [1, 0].
auto run_line(const std::string& line) -> NodeRun {
  const auto graph =
      parse_graph("class G(torch.nn.Module):\n    def forward(self, x, i):\n        y = " + line +
                  "\n        return (y,)\n");
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
                      Row{"torch._C._nn.linear(x, x, None)", {2, 2}, {2, 1}, 155},
                      Row{"torch.nn.functional.softmax(x, dim = -1)", {2, 3}, {3, 1}, 2},
                      Row{"torch.sum(x, 1)", {2}, {1}, 21}, Row{"x.view(3, 2)", {3, 2}, {2, 1}, 21},
                      Row{"x.view((3, -1))", {3, 2}, {2, 1}, 21},
                      Row{"x.transpose(0, 1)", {3, 2}, {1, 3}, 21},
                      Row{"x.mean(dim = 0, keepdim = True)", {1, 3}, {3, 1}, 10.5}));

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
