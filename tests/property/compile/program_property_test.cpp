// A program computes what its graph computes, for random small graphs; fused or not.
#include <array>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "compiler/cuda/tiled_interpreter.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::SmallGraph;

/// Tensors of a random graph are [s0, 4], [s0, 1] or [4, s0]: what a row takes and gives.
enum class Shape : std::uint8_t { matrix, column, turned };
struct OpRow {
  std::string_view call;  ///< `{0}` and `{1}` stand for operands
  Shape takes, gives;
  int operands = 1;
};
using enum Shape;
constexpr std::array kOps = {
    OpRow{"aten.add.Tensor({0}, {1})", matrix, matrix, 2},
    OpRow{"aten.mul.Tensor({0}, {1})", matrix, matrix, 2},
    OpRow{"aten.sub.Tensor({0}, {1}, alpha = 2)", matrix, matrix, 2},
    OpRow{"aten.maximum.default({0}, {1})", turned, turned, 2},
    OpRow{"aten.tanh.default({0})", matrix, matrix},
    OpRow{"aten.sigmoid.default({0})", turned, turned},
    OpRow{"aten.neg.default({0})", column, column},
    OpRow{"aten.permute.default({0}, [1, 0])", matrix, turned},
    OpRow{"aten.permute.default({0}, [1, 0])", turned, matrix},
    OpRow{"aten.sum.dim_IntList({0}, [1], True)", matrix, column},
    OpRow{"aten.amax.default({0}, [1], True)", matrix, column},
    OpRow{"aten.mean.dim({0}, [1], True)", matrix, column},
    OpRow{"aten.expand.default({0}, [s0, 4])", column, matrix},
    OpRow{"aten._softmax.default({0}, 1, False)", matrix, matrix},
    OpRow{"aten._softmax.default({0}, 0, False)", turned, turned},
    OpRow{"aten.flip.default({0}, [0])", matrix, matrix},
    OpRow{"aten.cumsum.default({0}, 0)", matrix, matrix},
    OpRow{"aten.cumsum.default({0}, 1)", turned, turned},
    OpRow{"aten.tril.default({0})", turned, turned},
    OpRow{"aten.slice_scatter.default({0}, {1}, 1, 0, 4)", matrix, matrix, 2},
    OpRow{"aten.slice.Tensor({0}, 1, 1, 2)", matrix, column},
    OpRow{"aten.constant_pad_nd.default({0}, [1, 2], 0.5)", column, matrix},
    OpRow{"aten.cat.default([{0}, {0}, {1}, {0}], 1)", column, matrix, 2},
    OpRow{"aten.clone.default({0})", turned, turned},
};

auto random_graph(std::uint32_t seed) -> SmallGraph {
  std::mt19937 random(seed);
  SmallGraph graph;
  graph.inputs = "s0: Sym(s0); x: f32[s0, 4]; y: f32[4, s0]; z: f32[s0, 1]";
  std::array<std::vector<std::string>, 3> known{std::vector<std::string>{"x"}, {"z"}, {"y"}};
  std::vector<std::string> made;
  const auto steps = 3 + random() % 12;
  for (std::size_t i = 0; i < steps; ++i) {
    const auto& row = kOps[random() % kOps.size()];
    const auto& from = known[static_cast<std::size_t>(row.takes)];
    const auto a = from[random() % from.size()], b = from[random() % from.size()];
    made.push_back(fmt::format("v{}", i));
    graph.body += fmt::format("{} = {}\n", made.back(), fmt::format(fmt::runtime(row.call), a, b));
    known[static_cast<std::size_t>(row.gives)].push_back(made.back());
  }
  graph.outputs = made.back();
  for (const auto& name : made)
    if (name != made.back() && random() % 4 == 0) graph.outputs += ", " + name;
  return graph;
}

TEST(Programs, ComputeWhatRandomGraphsCompute) {
  const auto* given = std::getenv("ASSAY_SEED");
  const auto first = given != nullptr ? static_cast<std::uint32_t>(std::atoi(given)) : 1U;
  const std::uint32_t count = given != nullptr ? 1 : 300;
  for (auto seed = first; seed < first + count; ++seed) {
    const auto graph = random_graph(seed);
    ASSERT_EQ(testing::problems(graph, {"s0=3", "s0=1", "s0=4", "s0=6"}), "")
        << "ASSAY_SEED=" << seed << "\n"
        << testing::graph_text(graph);
  }
}

/// Tiles, masks and loops that a GPU would run, with every access checked.
TEST(Programs, ComputeTheSameInTiles) {
  const auto table = build_op_table();
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const auto graph = random_graph(seed);
    const auto capture = testing::capture_of(graph);
    const auto compiled = testing::compiled(graph);
    ASSERT_TRUE(capture && compiled);
    for (const std::string sizes : {"s0=1", "s0=6", "s0=130"}) {
      const auto inputs = testing::inputs_of(graph, *capture, sizes);
      ASSERT_TRUE(inputs);
      const auto result = compare_with_reference(capture->graph, *compiled, TiledInterpreter(table),
                                                 *inputs, table);
      ASSERT_TRUE(result) << result.error().message << "\n" << testing::graph_text(graph);
      for (const auto& one : result->compared)
        ASSERT_EQ(one.message, "") << one.what << " " << sizes << "\n"
                                   << testing::graph_text(graph);
      ASSERT_TRUE(result->run.findings.empty()) << result->run.findings[0].message << "\n"
                                                << testing::graph_text(graph);
    }
  }
}

/// A sum of what a sum left, over the same axis again, counts it as often as the axis is long.
TEST(Programs, SumWhatIsExpandedAgain) {
  const auto table = build_op_table();
  const SmallGraph graph{
      "x: f32[s0, s1]",
      "b = aten.sum.dim_IntList(x, [1], True)\nc = aten.expand.default(b, [s0, s1])\n"
      "a = aten.sum.dim_IntList(c, [1], True)\n",
      "a"};
  ASSERT_EQ(testing::problems(graph, {"s0=3,s1=4", "s0=2,s1=7"}), "");
  const auto capture = testing::capture_of(graph);
  const auto compiled = testing::compiled(graph);
  ASSERT_TRUE(capture && compiled);
  const auto inputs = testing::inputs_of(graph, *capture, "s0=3,s1=4");
  ASSERT_TRUE(inputs);
  const auto result =
      compare_with_reference(capture->graph, *compiled, TiledInterpreter(table), *inputs, table);
  ASSERT_TRUE(result);
  for (const auto& one : result->compared) EXPECT_EQ(one.message, "");
}

/// Few rows that are long are reduced in parts, and scanned part by part.
TEST(Programs, ReduceLongRowsInParts) {
  const auto table = build_op_table();
  for (const std::string call :
       {"aten.sum.default(x)", "aten.sum.dim_IntList(x, [0])", "aten.sum.dim_IntList(x, [1])",
        "aten.amax.default(x, [0])", "aten.mean.dim(x, [0, 1])", "aten.argmax.default(x, 0)",
        "aten.prod.dim_int(x, 1)", "aten.any.dims(x, [0])", "aten.cumsum.default(x, 0)",
        "aten.cumsum.default(x, 1)"}) {
    // What a lane without an element would have is not 0 behind the exponential. Products in any
    // order stay far from the largest number.
    const SmallGraph graph{
        "y: f32[s0, s1]",
        "z = aten.mul.Tensor(y, 0.05)\nx = aten.exp.default(z)\na = " + call + "\n", "a"};
    const auto capture = testing::capture_of(graph);
    const auto compiled = testing::compiled(graph);
    ASSERT_TRUE(capture && compiled) << call;
    for (const std::string sizes : {"s0=3,s1=30001", "s0=30001,s1=3", "s0=300,s1=257"}) {
      const auto inputs = testing::inputs_of(graph, *capture, sizes);
      ASSERT_TRUE(inputs) << call;
      const auto result = compare_with_reference(capture->graph, *compiled, TiledInterpreter(table),
                                                 *inputs, table);
      ASSERT_TRUE(result) << call << ": " << result.error().message;
      for (const auto& one : result->compared) ASSERT_EQ(one.message, "") << call << " " << sizes;
    }
  }
}

}  // namespace
}  // namespace assay
