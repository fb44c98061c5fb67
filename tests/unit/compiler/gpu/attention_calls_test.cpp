// Attention of halves as products and a kernel between, beside the operator's kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "tests/unit/compiler/gpu/call_runs.h"

namespace assay {
namespace {

struct Row {
  std::string name, query, keys, arguments;
  std::size_t calls = 2;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

/// Half a unit of numbers up to two.
auto unit_of(const Row& row) -> double {
  return row.query.starts_with("bf16") ? 0x1p-8 : 0x1p-11;
}
/// As many launches and calls, and results that are no farther apart than a part of the largest
/// number of each.
void expect_close(const Row& row, const testing::SmallGraph& graph, std::size_t launches,
                  const std::vector<double>& parts) {
  auto made = testing::bound_graph(graph, testing::op_table());
  ASSERT_TRUE(made) << made.error().message;
  const auto both = testing::run_both(*made);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->launches, launches);
  EXPECT_EQ(both->calls, row.calls);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto& got = *both->launched.outputs[k].real();
    const auto& expected = *both->called.outputs[k].real();
    ASSERT_EQ(got.meta, expected.meta);
    const auto x = to_vector<double>(got), y = to_vector<double>(expected);
    double largest = 0;
    for (const auto value : y) largest = std::max(largest, std::fabs(value));
    EXPECT_GT(largest, 0.1);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(std::fabs(x[i] - y[i]), parts[k] * largest) << "result " << k << ", " << i;
  }
}

class AttentionCalls : public ::testing::TestWithParam<Row> {};

TEST_P(AttentionCalls, AttendAsTheOperatorDoes) {
  const auto& row = GetParam();
  constexpr double kFloat = 1e-5;  // of sums, which nothing rounds
  expect_close(
      row,
      {fmt::format("q: {0}; k: {1}; v: {1}", row.query, row.keys),
       fmt::format("m = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v{})\n"
                   "a = m[0]\nb = m[1]",
                   row.arguments),
       "a, b"},
      1, {3 * unit_of(row), kFloat});
}

INSTANTIATE_TEST_SUITE_P(
    Rows, AttentionCalls,
    ::testing::Values(
        Row{"packed", "bf16[2, 3, 7, 8]cuda:0", "bf16[2, 3, 9, 8]cuda:0", "", 3},
        Row{"causal", "f16[2, 3, 9, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0", ", 0.0, True", 3},
        Row{"causal_of_more_keys", "f16[1, 2, 5, 16]cuda:0", "f16[1, 2, 9, 16]cuda:0",
            ", 0.0, True, scale = 0.3"},
        Row{"by_position", "f16[2, 3, 7, 8][168, 8, 24, 1]cuda:0",
            "f16[2, 3, 9, 8][216, 8, 24, 1]cuda:0", "", 4},
        Row{"shared_heads", "f16[2, 6, 7, 8]cuda:0", "f16[2, 2, 9, 8]cuda:0", ", 0.0, True", 8},
        Row{"one_position", "f16[3, 2, 1, 8]cuda:0", "f16[3, 2, 5, 8]cuda:0", ""}),
    [](const auto& row) { return row.param.name; });

/// Gradients of the operator's own result.
class AttentionGradients : public ::testing::TestWithParam<Row> {};

TEST_P(AttentionGradients, AreTheOperators) {
  const auto& row = GetParam();
  expect_close(
      row,
      {fmt::format("q: {0}; k: {1}; v: {1}; g: {0}", row.query, row.keys),
       fmt::format(
           "m = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v{0})\n"
           "o = m[0]\nl = m[1]\n"
           "n = aten._scaled_dot_product_flash_attention_for_cpu_backward.default(g, q, k, v, o, "
           "l{1})\na = n[0]\nb = n[1]\nc = n[2]",
           row.arguments, row.arguments.empty() ? ", 0.0, False" : row.arguments),
       "a, b, c"},
      3, std::vector(3, 4 * unit_of(row)));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, AttentionGradients,
    ::testing::Values(
        // A product of each batch where heads lie apart, one where they are in rows.
        Row{"packed", "bf16[1, 3, 7, 8]cuda:0", "bf16[1, 3, 9, 8]cuda:0", "", 7},
        Row{"causal", "f16[2, 3, 9, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0", ", 0.0, True", 8},
        Row{"scaled", "f16[1, 2, 5, 16]cuda:0", "f16[1, 2, 9, 16]cuda:0",
            ", 0.0, True, scale = 0.3", 7}),
    [](const auto& row) { return row.param.name; });

TEST(AttentionCalls, WhatALibraryTakesStays) {
  auto made = testing::bound_graph(
      {"q: f16[1, 2, 5, 8]cuda:0",
       "m = aten._scaled_dot_product_flash_attention_for_cpu.default(q, q, q)\na = m[0]", "a"},
      testing::op_table());
  ASSERT_TRUE(made) << made.error().message;
  const auto steps = made->bound.steps.size();
  CallKernels(testing::op_table()).expand(made->bound, [](const BoundCall&) { return true; });
  EXPECT_EQ(made->bound.steps.size(), steps);
}

}  // namespace
}  // namespace assay
