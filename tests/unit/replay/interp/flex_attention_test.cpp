// flex_attention with scores that a body changes and masks.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "replay/interp/symbolic.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace assay {
namespace {

using testing::make_tensor;
using testing::rows;
using testing::run_text;

constexpr std::string_view kBodies =
    "    class changed(torch.nn.Module):\n"
    "        def forward(self, score, b, h, q, k):\n"
    "            d = torch.ops.aten.sub.Tensor(k, q)\n"
    "            s = torch.ops.aten.add.Tensor(score, d)\n"
    "            return s\n\n"
    "    class joint(torch.nn.Module):\n"
    "        def forward(self, score, b, h, q, k, gradient):\n"
    "            return [gradient, None, None, None, None]\n\n"
    "    class mask(torch.nn.Module):\n"
    "        def forward(self, b, h, q, k):\n"
    "            ge = torch.ops.aten.ge.Tensor(q, k)\n"
    "            return ge\n";
/// (lengths, tables, block sizes, body)
constexpr std::string_view kMask = "(2, 2, n, i, None, None, n, i, None, None, 128, 128, mask)";

auto forward_text(std::string_view heads = "1") -> std::string {
  return fmt::format(
      "class G(torch.nn.Module):\n"
      "    def forward(self, q: \"f32[1, {0}, 2, 1][{1}, 2, 1, 1]cpu\", k: \"f32[1, 1, 2, 1][2, 2, "
      "1, 1]cpu\", v: \"f32[1, 1, 2, 1][2, 2, 1, 1]cpu\", n: \"i32[1, 1, 1][1, 1, 1]cpu\", i: "
      "\"i32[1, 1, 1, 1][1, 1, 1, 1]cpu\"):\n"
      "        changed = self.changed\n"
      "        mask = self.mask\n"
      "        a = torch.ops.higher_order.flex_attention(q, k, v, changed, {2}, 1.0, {{}}, (), "
      "())\n"
      "        out: \"f32[1, {0}, 2, 1][{1}, 2, 1, 1]cpu\" = a[0]\n"
      "        sums: \"f32[1, {0}, 2][{1}, 2, 1]cpu\" = a[1]\n"
      "        greatest: \"f32[1, {0}, 2][{1}, 2, 1]cpu\" = a[2]\n"
      "        return (out, sums, greatest)\n\n{3}",
      heads, heads == "1" ? "2" : "4", kMask, kBodies);
}

/// What the graph returns, flat.
auto run(const std::string& text, const DatumList& inputs) -> std::vector<std::vector<double>> {
  const auto seen = run_text(text, inputs);
  for (const auto& node : seen.run.nodes) EXPECT_EQ(node.status, NodeStatus::ran) << node.message;
  std::vector<std::vector<double>> all;
  for (const auto& one : seen.returned) all.push_back(to_vector<double>(one));
  return all;
}

auto floats(Ints sizes, std::vector<double> values) -> Datum {
  return {make_tensor(std::move(sizes), std::move(values), DType::float32)};
}
auto whole(Ints sizes, std::vector<double> values) -> Datum {
  return {make_tensor(std::move(sizes), std::move(values), DType::int32)};
}

void expect_near(const std::vector<double>& seen, const std::vector<double>& wanted) {
  ASSERT_EQ(seen.size(), wanted.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], wanted[i], 1e-6) << i;
}

const Datum kKeys = floats({1, 1, 2, 1}, {1, 0.5});

/// The first query sees key 0 alone; scores of the second are 2 * 1 - 1 and 2 * 0.5.
TEST(FlexAttention, ScoresAreChangedMaskedAndSummed) {
  const auto seen =
      run(forward_text(), {floats({1, 1, 2, 1}, {1, 2}), kKeys, floats({1, 1, 2, 1}, {3, 7}),
                           whole({1, 1, 1}, {1}), whole({1, 1, 1, 1}, {0})});
  ASSERT_EQ(seen.size(), 3U);
  expect_near(seen[0], {3, 5});
  expect_near(seen[1], {std::numbers::log2e, std::log2(2 * std::exp(1))});
  expect_near(seen[2], {std::numbers::log2e, std::numbers::log2e});
}

TEST(FlexAttention, HeadsOfQueriesShareKeys) {
  const auto seen = run(forward_text("2"),
                        {floats({1, 2, 2, 1}, {1, 2, 0, 0}), kKeys, floats({1, 1, 2, 1}, {3, 7}),
                         whole({1, 1, 1}, {1}), whole({1, 1, 1, 1}, {0})});
  ASSERT_EQ(seen.size(), 3U);
  const auto e = std::exp(-1.0);  // of key 0 for query 1: scores are -1 and 0
  expect_near(seen[0], {3, 5, 3, (3 * e + 7) / (e + 1)});
}

TEST(FlexAttention, ItsLayoutIsTheQuerys) {
  auto text = forward_text("2");
  for (const std::string from = "[4, 2, 1, 1]"; text.contains(from);)
    text.replace(text.find(from), from.size(), "[4, 1, 2, 1]");
  const auto run = run_symbolic(*parse_graph(text), rows());
  for (const auto& node : run.nodes) EXPECT_NE(node.verdict, ClaimVerdict::no_rule) << node.rule;
  EXPECT_EQ(run.nodes[8].verdict, ClaimVerdict::equal);
  EXPECT_EQ(run.nodes[9].verdict, ClaimVerdict::equal);
}

/// Weights of the second query are halves, and of its row the softmax's gradient is -1 and 1.
TEST(FlexAttention, GradientsGoBackThroughTheBodies) {
  auto text = forward_text();
  const auto call = text.find("        a = ");
  text = text.substr(0, call) +
         fmt::format(
             "        joint = self.joint\n"
             "        a = torch.ops.higher_order.flex_attention(q, k, v, changed, {0}, 1.0, {{}}, "
             "(), ())\n"
             "        out: \"f32[1, 1, 2, 1][2, 2, 1, 1]cpu\" = a[0]\n"
             "        sums: \"f32[1, 1, 2][2, 2, 1]cpu\" = a[1]\n"
             "        g = torch.ops.aten.ones_like.default(out)\n"
             "        b = torch.ops.higher_order.flex_attention_backward(q, k, v, out, sums, g, "
             "None, changed, joint, {0}, 1.0, {{}}, (), ())\n"
             "        of_q: \"f32[1, 1, 2, 1][2, 2, 1, 1]cpu\" = b[0]\n"
             "        of_k: \"f32[1, 1, 2, 1][2, 2, 1, 1]cpu\" = b[1]\n"
             "        of_v: \"f32[1, 1, 2, 1][2, 2, 1, 1]cpu\" = b[2]\n"
             "        return (of_q, of_k, of_v)\n\n{1}",
             kMask, kBodies);
  const auto seen = run(text, {floats({1, 1, 2, 1}, {1, 2}), kKeys, floats({1, 1, 2, 1}, {3, 7}),
                               whole({1, 1, 1}, {1}), whole({1, 1, 1, 1}, {0})});
  ASSERT_EQ(seen.size(), 3U);
  expect_near(seen[0], {0, -1 * 1 + 1 * 0.5});
  expect_near(seen[1], {-1 * 2, 1 * 2});
  expect_near(seen[2], {1.5, 0.5});
}

/// Compiled kernels skip blocks that no table lists; whose answer is meant nobody can say.
TEST(FlexAttention, TablesThatListOtherBlocksAreNotDecided) {
  const auto done =
      run_text(forward_text(), {floats({1, 1, 2, 1}, {1, 2}), kKeys, floats({1, 1, 2, 1}, {3, 7}),
                                whole({1, 1, 1}, {0}), whole({1, 1, 1, 1}, {0})})
          .run;
  EXPECT_EQ(done.nodes[7].status, NodeStatus::unchecked) << done.nodes[7].message;
}

/// What is no table of blocks says nothing.
TEST(FlexAttention, TablesOfOtherShapesAreNotAsked) {
  for (const auto& [counts, blocks] :
       {std::pair{Ints{1, 1, 0}, Ints{1, 1, 0, 0}}, {Ints{1}, Ints{1, 1, 2, 1}}}) {
    std::int64_t of_counts = 1, of_blocks = 1;
    for (const auto size : counts) of_counts *= size;
    for (const auto size : blocks) of_blocks *= size;
    const auto zeros = [](std::int64_t count) {
      return std::vector<double>(static_cast<std::size_t>(count), 0);
    };
    const auto done =
        run_text(forward_text(), {floats({1, 1, 2, 1}, {1, 2}), kKeys, floats({1, 1, 2, 1}, {3, 7}),
                                  whole(counts, zeros(of_counts)), whole(blocks, zeros(of_blocks))})
            .run;
    EXPECT_EQ(done.nodes[7].status, NodeStatus::ran) << done.nodes[7].message;
  }
}

TEST(FlexAttention, TablesThatNobodyRecordedListEveryBlock) {
  auto text = forward_text();
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("i32[1, 1, 1][1, 1, 1]", "i32[1, 1, 2][2, 2, 1]");
  replace("i32[1, 1, 1, 1][1, 1, 1, 1]", "i32[1, 1, 2, 3][6, 6, 3, 1]");
  Capture capture;
  capture.graph = *parse_graph(text);
  const auto inputs = recorded_inputs(capture);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ(to_vector<double>(*inputs->values[3].real()), (std::vector<double>{3, 3}));
  EXPECT_EQ(to_vector<double>(*inputs->values[4].real()), (std::vector<double>{0, 1, 2, 0, 1, 2}));
}

}  // namespace
}  // namespace assay
