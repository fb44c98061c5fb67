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
  /// Of `w`, which is forbidden where `x`, of the same sizes or one instead of them, is above 0.
  std::string mask = {}, forbidden = {};
  double largest = 0.1;  ///< that some number of each result is above
};
/// Inputs and statements that make `w`, by a kernel of the program's own.
auto masked(const Row& row) -> testing::SmallGraph {
  return {fmt::format("; w0: {}; x: {}", row.mask, row.forbidden),
          fmt::format("hides = aten.gt.Scalar(x, 0.0)\n"
                      "t = aten.scalar_tensor.default(float('-inf'), dtype = torch.{}, "
                      "device = torch.device('cuda:0'))\n"
                      "w = aten.where.self(hides, t, w0)\n",
                      row.mask.starts_with("bf16") ? "bfloat16" : "float16"),
          ""};
}
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
                  const std::vector<double>& parts, const CallKernels::IsTaken& is_taken = {}) {
  auto made = testing::bound_graph(graph, testing::op_table());
  ASSERT_TRUE(made) << made.error().message;
  const auto both = testing::run_both(*made, is_taken);
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
    EXPECT_GT(largest, row.largest);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(std::fabs(x[i] - y[i]), parts[k] * largest) << "result " << k << ", " << i;
  }
}

/// Results and sums.
auto forward(const Row& row) -> testing::SmallGraph {
  const auto mask = row.mask.empty() ? testing::SmallGraph() : masked(row);
  return {fmt::format("q: {0}; k: {1}; v: {1}{2}", row.query, row.keys, mask.inputs),
          fmt::format("{}m = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v{})\n"
                      "a = m[0]\nb = m[1]",
                      mask.body, row.arguments),
          "a, b"};
}
/// Gradients of the operator's own result.
auto backward(const Row& row) -> testing::SmallGraph {
  const auto mask = row.mask.empty() ? testing::SmallGraph() : masked(row);
  const auto arguments =
      row.arguments.starts_with(", 0.0") ? row.arguments : ", 0.0, False" + row.arguments;
  return {fmt::format("q: {0}; k: {1}; v: {1}; g: {0}{2}", row.query, row.keys, mask.inputs),
          fmt::format(
              "{}m = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, v{})\n"
              "o = m[0]\nl = m[1]\n"
              "n = aten._scaled_dot_product_flash_attention_for_cpu_backward.default(g, q, k, v, "
              "o, l{})\na = n[0]\nb = n[1]\nc = n[2]",
              mask.body, row.arguments, arguments),
          "a, b, c"};
}

class AttentionCalls : public ::testing::TestWithParam<Row> {};

TEST_P(AttentionCalls, AttendAsTheOperatorDoes) {
  const auto& row = GetParam();
  constexpr double kFloat = 1e-5;  // of sums, which nothing rounds
  expect_close(row, forward(row), row.mask.empty() ? 1 : 2, {3 * unit_of(row), kFloat});
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
        Row{"one_position", "f16[3, 2, 1, 8]cuda:0", "f16[3, 2, 5, 8]cuda:0", ""},
        Row{"masked", "f16[2, 3, 7, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0", ", attn_mask = w", 3,
            "f16[7, 9]cuda:0", "f16[7, 9]cuda:0"},
        Row{"masked_by_batch_and_causal", "f16[2, 3, 7, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0",
            ", 0.0, True, attn_mask = w", 3, "f16[2, 1, 7, 9]cuda:0", "f16[2, 1, 1, 9]cuda:0"},
        Row{"masked_by_key", "f16[2, 4, 7, 8]cuda:0", "f16[2, 2, 9, 8]cuda:0", ", attn_mask = w", 8,
            "f16[2, 1, 1, 9]cuda:0", "f16[2, 1, 1, 9]cuda:0"},
        Row{"masked_throughout", "f16[2, 3, 17, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0",
            ", attn_mask = w", 3, "f16[1, 3, 17, 9]cuda:0", "f16[1, 1, 17, 1]cuda:0"},
        Row{"masked_by_query", "f16[2, 3, 17, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0", ", attn_mask = w",
            3, "f16[17, 1]cuda:0", "f16[17, 1]cuda:0"}),
    [](const auto& row) { return row.param.name; });

class AttentionGradients : public ::testing::TestWithParam<Row> {};

TEST_P(AttentionGradients, AreTheOperators) {
  const auto& row = GetParam();
  expect_close(row, backward(row), row.mask.empty() ? 3 : 4, std::vector(3, 4 * unit_of(row)));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, AttentionGradients,
    ::testing::Values(
        // A product of each batch where heads lie apart, one where they are in rows.
        Row{"packed", "bf16[1, 3, 7, 8]cuda:0", "bf16[1, 3, 9, 8]cuda:0", "", 7},
        Row{"causal", "f16[2, 3, 9, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0", ", 0.0, True", 8},
        Row{"scaled", "f16[1, 2, 5, 16]cuda:0", "f16[1, 2, 9, 16]cuda:0",
            ", 0.0, True, scale = 0.3", 7},
        Row{"masked", "f16[2, 3, 17, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0", ", attn_mask = w", 8,
            "f16[2, 1, 17, 9]cuda:0", "f16[1, 1, 17, 1]cuda:0"},
        Row{"masked_by_key", "f16[2, 3, 7, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0",
            ", 0.0, True, attn_mask = w", 8, "f16[2, 1, 1, 9]cuda:0", "f16[1, 1, 1, 9]cuda:0"}),
    [](const auto& row) { return row.param.name; });

/// A library that takes masks with a row of eight or a multiple for each query, and no causal order
/// beside them.
auto takes_rows(const BoundCall& call) -> bool {
  const auto is_forward = call.args.size() == 7;
  const auto* const mask = call.args[is_forward ? 5 : 8].real();
  if (mask == nullptr || call.args[is_forward ? 4 : 7].scalar()->as_bool().value_or(false))
    return false;
  const auto& [sizes, strides] = std::tie(mask->meta.sizes, mask->meta.strides);
  constexpr std::int64_t kRun = 8;
  const auto queries = call.args[is_forward ? 0 : 1].real()->meta.sizes[2];
  return sizes.size() == 4 && sizes[2] == queries && sizes[3] > 1 && strides[3] == 1 &&
         strides[2] >= sizes[3] && strides[2] % kRun == 0;
}
/// The operator is the library, so that only its argument is another.
class AdaptedMasks : public ::testing::TestWithParam<Row> {};

TEST_P(AdaptedMasks, GiveTheSame) {
  const auto& row = GetParam();
  constexpr std::size_t kOwn = 1, kMask = 1, kMended = 2;
  expect_close(row, forward(row), kOwn + kMask + kMended, {0, 0}, takes_rows);
}
TEST_P(AdaptedMasks, GiveTheSameGradients) {
  auto row = GetParam();
  row.calls = 2;
  constexpr std::size_t kOwn = 1, kMask = 1, kMended = 2;
  expect_close(row, backward(row), kOwn + 2 * kMask + kMended, {0, 0, 0}, takes_rows);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, AdaptedMasks,
    ::testing::Values(
        Row{"of_keys", "bf16[2, 3, 7, 8]cuda:0", "bf16[2, 3, 16, 8]cuda:0", ", attn_mask = w", 1,
            "bf16[2, 1, 1, 16]cuda:0", "bf16[2, 1, 1, 16]cuda:0"},
        Row{"rows_that_begin_anywhere", "f16[2, 3, 7, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0",
            ", attn_mask = w", 1, "f16[7, 9]cuda:0", "f16[7, 9]cuda:0"},
        Row{"of_heads_and_causal", "f16[2, 3, 9, 8]cuda:0", "f16[2, 3, 16, 8]cuda:0",
            ", 0.0, True, attn_mask = w", 1, "f16[1, 3, 9, 16]cuda:0", "f16[1, 1, 9, 1]cuda:0"},
        Row{"of_queries", "f16[2, 3, 17, 8]cuda:0", "f16[2, 3, 9, 8]cuda:0", ", attn_mask = w", 1,
            "f16[2, 1, 17, 1]cuda:0", "f16[2, 1, 17, 1]cuda:0"}),
    [](const auto& row) { return row.param.name; });

/// One whose gradients want 128 keys or a multiple; it gives nothing else.
auto takes_many_keys(const BoundCall& call) -> bool {
  constexpr std::int64_t kKeys = 128;
  if (call.args.size() == 7 || call.args[2].real()->meta.sizes[2] % kKeys != 0) return false;
  return call.args[8].is_none() || takes_rows(call);
}
class AddedKeys : public ::testing::TestWithParam<Row> {};

TEST_P(AddedKeys, GetNoGradients) {
  const auto& row = GetParam();
  // The operator's result is made by kernels; keys and values, and what they get, are copied.
  constexpr std::size_t kCopies = 4;
  const bool has_mask = !row.mask.empty();
  const auto own = has_mask ? 2U : 1U;
  const auto masks = has_mask || !row.arguments.contains("True") || row.name == "more_queries";
  expect_close(row, backward(row), own + kCopies + (masks ? 1U : 0U),
               std::vector(3, 4 * unit_of(row)), takes_many_keys);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, AddedKeys,
    ::testing::Values(
        Row{"plain", "bf16[2, 1, 3, 8]cuda:0", "bf16[2, 1, 5, 8]cuda:0", "", 4},
        // Sums so far below 0 that what is added would be infinite if it were seen; most is 0.
        Row{.name = "steep",
            .query = "f16[1, 2, 9, 8]cuda:0",
            .keys = "f16[1, 2, 3, 8]cuda:0",
            .arguments = ", 0.0, False, scale = 40.0",
            .calls = 3,
            .largest = -1},
        Row{"causal", "f16[1, 2, 5, 8]cuda:0", "f16[1, 2, 7, 8]cuda:0", ", 0.0, True", 3},
        Row{"more_queries", "f16[1, 1, 5, 8]cuda:0", "f16[1, 1, 3, 8]cuda:0", ", 0.0, True", 3},
        Row{"by_position", "f16[1, 2, 3, 8][48, 8, 16, 1]cuda:0",
            "f16[1, 2, 5, 8][80, 8, 16, 1]cuda:0", "", 3},
        Row{"masked", "f16[1, 2, 5, 8]cuda:0", "f16[1, 2, 7, 8]cuda:0", ", attn_mask = w", 3,
            "f16[1, 1, 1, 7]cuda:0", "f16[1, 1, 1, 7]cuda:0"}),
    [](const auto& row) { return row.param.name; });

/// A library's rows that see nothing mean nothing: they become 0, and all others stay. Here it is
/// one that does not look at masks.
TEST(AttentionCalls, WhatALibraryLeavesUndoneIsDone) {
  const Row row{.name = "",
                .query = "f16[2, 3, 17, 8]cuda:0",
                .keys = "f16[2, 3, 9, 8]cuda:0",
                .arguments = "",
                .mask = "f16[2, 1, 17, 9]cuda:0",
                .forbidden = "f16[1, 1, 17, 1]cuda:0"};
  const auto mask = masked(row);
  const auto call = [](const char* results, const char* arguments) {
    return fmt::format(
        "{0} = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, k{1})\n", results,
        arguments);
  };
  auto made =
      testing::bound_graph({fmt::format("q: {}; k: {}{}", row.query, row.keys, mask.inputs),
                            mask.body + call("m", ", attn_mask = w") + "a = m[0]\nb = m[1]\n" +
                                call("n", "") + "c = n[0]\nd = n[1]",
                            "a, b, c, d, hides"},
                           testing::op_table());
  ASSERT_TRUE(made) << made.error().message;
  CallKernels kernels(testing::op_table());
  auto& steps = made->bound.steps;
  const auto before = steps.size();
  kernels.expand(made->bound, [](const BoundCall&) { return true; });
  EXPECT_EQ(steps.size(), before + 2);
  for (auto& step : steps)
    if (auto* const taken = std::get_if<BoundCall>(&step);
        taken != nullptr && taken->arg_tensors == 4) {
      taken->args[5] = {};
      taken->buffers.erase(taken->buffers.begin() + 3);
      taken->arg_tensors = 3;
    }
  const testing::CallDevice device(kernels, made->kernels);
  const BoundOptions options{.memory = {.redzone_bytes = 256}, .is_checked = true};
  const auto run = ReadyProgram(made->bound, device, options).run(made->inputs);
  ASSERT_TRUE(run) << run.error().message;
  const auto values = [&](std::size_t i) { return to_vector<double>(*run->outputs[i].real()); };
  const auto forbidden = values(4);
  const auto rows = static_cast<std::size_t>(std::ranges::count(forbidden, 1));
  ASSERT_TRUE(rows > 0 && rows < forbidden.size());
  for (std::size_t k = 0; k < 2; ++k) {
    const auto got = values(k), all = values(k + 2);
    const auto each = k == 0 ? 8U : 1U;
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(got[i], forbidden[i / each % forbidden.size()] == 1 ? 0 : all[i]) << k << ", " << i;
  }
}

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
