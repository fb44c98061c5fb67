// Graphs of Dynamo with vmap in them run on whole batches.
#include "replay/formats/batching.h"

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

/// Lines behind which `q` and `k` are numbers of three queries and two keys, an example of each at
/// levels 1 and 2, and which return y. `mask` says of the two keys of each query whether it is
/// seen.
auto graph_of(const std::string& lines) -> Graph {
  constexpr std::string_view kCalls = "torch._functorch.predispatch.";
  std::string text =
      "class G(torch.nn.Module):\n"
      "    def forward(self, qs: \"i64[3][1]cpu\", ks: \"i64[2][1]cpu\", mask: \"b8[3, 2][2, "
      "1]cpu\"):\n"
      "        lazy = @lazy_load_decompositions();  lazy = None\n"
      "        up = @_vmap_increment_nesting(3, 'error');  up = None\n"
      "        q: \"i64[][]cpu\" = @_add_batch_dim(qs, 0, 1)\n"
      "        up_1 = @_vmap_increment_nesting(2, 'error');  up_1 = None\n"
      "        k: \"i64[][]cpu\" = @_add_batch_dim(ks, 0, 2)\n" +
      lines + "        return (y,)\n";
  for (auto at = text.find('@'); at != std::string::npos; at = text.find('@'))
    text.replace(at, 1, kCalls);
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message << "\n" << text;
  return graph ? without_batching(*std::move(graph)) : Graph();
}

auto run(const Graph& graph) -> NodeRun {
  for (const auto& defect : verify(graph)) ADD_FAILURE() << defect.message;
  RunInputs feed;
  feed.values = {Datum{make_tensor({3}, {0, 1, 2}, DType::int64)},
                 Datum{make_tensor({2}, {0, 1}, DType::int64)},
                 Datum{make_tensor({3, 2}, {1, 1, 0, 1, 1, 1}, DType::boolean)}};
  feed.made_up.resize(3);
  feed.defects.resize(3);
  const auto made = run_graph(graph, feed, table(), {.statistics = true, .progress = {}});
  for (const auto& node : made.nodes) EXPECT_EQ(node.status, NodeStatus::ran) << node.message;
  return made.nodes.at(made.nodes.size() - 2);
}

const std::string kEnd =
    "        keys: \"b8[2][1]cpu\" = @_remove_batch_dim(seen, 2, 2, 0);  seen = None\n"
    "        down = @_vmap_decrement_nesting();  down = None\n"
    "        y: \"b8[3, 2][2, 1]cpu\" = @_remove_batch_dim(keys, 1, 3, 0);  keys = None\n"
    "        down_1 = @_vmap_decrement_nesting();  down_1 = None\n";

/// A causal mask, and what a padding mask says of each pair.
TEST(Batching, MasksOfPositionsAreMadeAtOnce) {
  const auto graph = graph_of(
      "        one: \"b8[][]cpu\" = q.new_ones((), dtype = torch.bool)\n"
      "        le: \"b8[][]cpu\" = k.le(q)\n"
      "        both: \"b8[][]cpu\" = one.__and__(le)\n"
      "        at: \"b8[][]cpu\" = torch.ops.aten.index(mask, [q, k])\n"
      "        seen: \"b8[][]cpu\" = both.__and__(at)\n" +
      kEnd);
  const auto made = run(graph);
  ASSERT_TRUE(made.value.tensor);
  EXPECT_EQ(made.value.tensor->meta.sizes, (Ints{3, 2}));
  EXPECT_EQ(made.value.tensor->meta.strides, (Ints{2, 1}));
  EXPECT_EQ(made.value.tensor->sum, 4);  // (0, 0), (1, 1), (2, 0), (2, 1)
  EXPECT_TRUE(graph.find("le")->claim.empty());
  EXPECT_FALSE(graph.find("y")->claim.empty());
}

/// A value that varies over keys alone is the same for all queries, and the batch may come last.
TEST(Batching, WhatHasNoBatchIsRepeated) {
  auto made = run(graph_of("        seen: \"b8[][]cpu\" = k > 0\n" + kEnd));
  EXPECT_EQ(made.value.tensor->meta.sizes, (Ints{3, 2}));
  EXPECT_EQ(made.value.tensor->sum, 3);
  auto turned = kEnd;
  turned.replace(turned.find("keys, 1, 3, 0"), 13, "keys, 1, 3, 1");
  turned.replace(turned.find("b8[3, 2][2, 1]"), 14, "b8[2, 3][1, 2]");
  made = run(graph_of("        seen: \"b8[][]cpu\" = k <= q\n" + turned));
  EXPECT_EQ(made.value.tensor->meta.sizes, (Ints{2, 3}));
  EXPECT_EQ(made.value.tensor->sum, 5);
}

/// An example of a number beside a whole row without batches.
TEST(Batching, ExamplesHaveTheDimensionsOfTheOthers) {
  const auto made = run(
      graph_of("        row: \"i64[2][1]cpu\" = q + ks;  q = None\n"
               "        keys: \"i64[2, 2][2, 1]cpu\" = @_remove_batch_dim(row, 2, 2, 0)\n"
               "        y: \"i64[3, 2, 2][2, 0, 1]cpu\" = @_remove_batch_dim(keys, 1, 3, 0)\n"));
  EXPECT_EQ(made.value.tensor->meta.sizes, (Ints{3, 2, 2}));
  EXPECT_EQ(made.value.tensor->sum, 2 * (3 * 2 + 3));
}

/// By one index, as masks of documents do; what truths choose is no lookup.
TEST(Batching, OneIndexIsALookup) {
  const auto made = run(graph_of(
      "        of_q: \"i64[][]cpu\" = ks[k]\n        seen: \"b8[][]cpu\" = of_q <= q\n" + kEnd));
  EXPECT_EQ(made.value.tensor->sum, 5);
  const auto left = graph_of(
      "        one: \"b8[][]cpu\" = k > 0\n        seen: \"b8[][]cpu\" = mask[one]\n" + kEnd);
  EXPECT_NE(left.find("up"), nullptr);
}

/// Nothing is guessed: other operators leave the graph as it is.
TEST(Batching, OtherOperatorsAreLeft) {
  const auto graph = graph_of("        seen: \"b8[][]cpu\" = torch.ops.aten.sort(k)\n" + kEnd);
  EXPECT_NE(graph.find("up"), nullptr);
  EXPECT_EQ(graph.find("q")->target, "torch._functorch.predispatch._add_batch_dim");
}

}  // namespace
}  // namespace assay
