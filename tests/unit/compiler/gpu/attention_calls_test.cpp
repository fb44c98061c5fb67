// Attention of halves as products and a kernel between, beside the operator's kernel.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "compiler/cuda/attention_row.h"
#include "compiler/runtime/cuda/dnn.h"
#include "tests/unit/compiler/gpu/call_runs.h"

namespace assay {
namespace {

struct Row {
  std::string name, query, keys, arguments;
  std::size_t calls = 2;
  /// Of `w`, which is forbidden where `x`, of the same sizes or one instead of them, is above 0.
  std::string mask = {}, forbidden = {};
  double largest = 0.1;  ///< that some number of each result is above
  double left = 0;       ///< of equal terms that cancel, as products round them
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
      ASSERT_LE(std::fabs(x[i] - y[i]), parts[k] * largest + row.left)
          << "result " << k << ", " << i;
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

auto row_of(const BoundCall& call) -> const AttentionRow& {
  return call.row->name() == kAttention.name ? kAttention : kAttentionGradients;
}
/// A library that takes masks with a row of eight or a multiple for each query, and no causal order
/// beside them.
auto takes_rows(const BoundCall& call) -> bool {
  const auto& at = row_of(call);
  const auto* const mask = call.args[at.mask].real();
  if (mask == nullptr || call.args[at.causal].scalar()->as_bool().value_or(false)) return false;
  const auto& [sizes, strides] = std::tie(mask->meta.sizes, mask->meta.strides);
  const auto queries = call.args[at.query].real()->meta.sizes[2];
  return sizes.size() == 4 && sizes[2] == queries && sizes[3] > 1 && strides[3] == 1 &&
         strides[2] >= sizes[3] && strides[2] % kRowElements == 0;
}
/// The operator is the library, so that only its argument is another. Launches: one that makes the
/// mask that is given, one for each call that makes it as it is taken, and two behind the result.
class AdaptedMasks : public ::testing::TestWithParam<Row> {};

TEST_P(AdaptedMasks, GiveTheSame) {
  expect_close(GetParam(), forward(GetParam()), 1 + 1 + 2, {0, 0}, takes_rows);
}
TEST_P(AdaptedMasks, GiveTheSameGradients) {
  auto row = GetParam();
  row.calls = 2;
  expect_close(row, backward(row), 1 + 2 + 2, {0, 0, 0}, takes_rows);
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

/// A library of gradients alone, which wants a multiple of keys.
auto takes_many_keys(const BoundCall& call) -> bool {
  const auto& at = row_of(call);
  const auto keys = call.args[at.query + 1].real()->meta.sizes[2];
  return at.name == kAttentionGradients.name && keys % cuda::kGradientKeys == 0 &&
         (call.args[at.mask].is_none() || takes_rows(call));
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
            .largest = -1,
            .left = 40 * 8 * 4 * 0x1p-24},  // the scale, features, their products, a rounding
        Row{"causal", "f16[1, 2, 5, 8]cuda:0", "f16[1, 2, 7, 8]cuda:0", ", 0.0, True", 3},
        Row{"more_queries", "f16[1, 1, 5, 8]cuda:0", "f16[1, 1, 3, 8]cuda:0", ", 0.0, True", 3},
        Row{"by_position", "f16[1, 2, 3, 8][48, 8, 16, 1]cuda:0",
            "f16[1, 2, 5, 8][80, 8, 16, 1]cuda:0", "", 3},
        Row{"masked", "f16[1, 2, 5, 8]cuda:0", "f16[1, 2, 7, 8]cuda:0", ", attn_mask = w", 3,
            "f16[1, 1, 1, 7]cuda:0", "f16[1, 1, 1, 7]cuda:0"}),
    [](const auto& row) { return row.param.name; });

/// Rows of a library that see nothing mean nothing: they become 0, and all others stay. Here it is
/// one that does not look at masks. `steps`: how many are added.
void expect_mended(const Row& row, const CallKernels::IsTaken& is_taken, std::size_t steps) {
  constexpr std::size_t kBatch = 2, kHeads = 3, kQueries = 17, kKeys = 9, kFeatures = 8;
  const auto mask = masked(row);
  const auto call = [](const char* results, const std::string& arguments) {
    return fmt::format(
        "{0} = aten._scaled_dot_product_flash_attention_for_cpu.default(q, k, k{1})\n", results,
        arguments);
  };
  auto made = testing::bound_graph(
      {fmt::format("q: {}; k: {}; h: f16[{}, 1, {}, {}]cuda:0{}", row.query, row.keys, kBatch,
                   kQueries, kKeys, mask.inputs),
       mask.body + call("m", row.arguments) + "a = m[0]\nb = m[1]\n" + call("n", "") +
           "c = n[0]\nd = n[1]\ne = aten.expand_as.default(hides, h)",
       "a, b, c, d, e"},
      testing::op_table());
  ASSERT_TRUE(made) << made.error().message;
  CallKernels kernels(testing::op_table());
  auto& all_steps = made->bound.steps;
  const auto before = all_steps.size();
  kernels.expand(made->bound, is_taken);
  EXPECT_EQ(all_steps.size(), before + steps);
  for (auto& step : all_steps)
    if (auto* const taken = std::get_if<BoundCall>(&step);
        taken != nullptr && taken->arg_tensors == 4) {
      taken->args[kAttention.mask] = {};
      taken->buffers.erase(taken->buffers.begin() + 3);
      taken->arg_tensors = 3;
    }
  const testing::CallDevice device(kernels, made->kernels);
  const BoundOptions options{.memory = {.redzone_bytes = 256}, .is_checked = true};
  const auto run = ReadyProgram(made->bound, device, options).run(made->inputs);
  ASSERT_TRUE(run) << run.error().message;
  const auto values = [&](std::size_t i) { return to_vector<double>(*run->outputs[i].real()); };
  const auto hides = values(4);
  const bool is_causal = row.arguments.contains("True");
  const auto sees_nothing = [&](std::size_t batch, std::size_t query) {
    const auto first =
        hides.begin() + static_cast<std::ptrdiff_t>((batch * kQueries + query) * kKeys);
    const auto keys = is_causal ? std::min(query + 1, kKeys) : kKeys;
    return std::all_of(first, first + static_cast<std::ptrdiff_t>(keys),
                       [](double one) { return one == 1; });
  };
  std::size_t rows = 0;
  for (std::size_t k = 0; k < 2; ++k) {
    const auto got = values(k), all = values(k + 2);
    const auto each = k == 0 ? kFeatures : 1;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto query = i / each % kQueries, batch = i / each / kQueries / kHeads;
      const bool is_nothing = sees_nothing(batch, query);
      rows += is_nothing && k == 1 ? 1 : 0;
      EXPECT_EQ(got[i], is_nothing ? 0 : all[i]) << k << ", " << i;
    }
  }
  EXPECT_TRUE(rows > 0 && rows < kBatch * kHeads * kQueries) << rows;
}

const Row kUnseen{.name = "",
                  .query = "f16[2, 3, 17, 8]cuda:0",
                  .keys = "f16[2, 3, 9, 8]cuda:0",
                  .arguments = ", attn_mask = w",
                  .mask = "f16[2, 1, 17, 9]cuda:0",
                  .forbidden = "f16[1, 1, 17, 1]cuda:0"};

TEST(AttentionCalls, WhatALibraryLeavesUndoneIsDone) {
  expect_mended(kUnseen, [](const BoundCall&) { return true; }, 2);
}
/// Queries that causal order leaves the hidden keys alone.
TEST(AttentionCalls, WhatALibraryLeavesUndoneIsDoneInOrderToo) {
  auto row = kUnseen;
  row.arguments = ", 0.0, True, attn_mask = w";
  row.forbidden = row.mask;
  const auto takes_no_order = [](const BoundCall& call) {
    return call.args[kAttention.mask].is_none() || takes_rows(call);
  };
  expect_mended(row, takes_no_order, 3);
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
