// Ways to make a launch that tuning tries: all give what the graph gives, and are kept as they are.
#include <gtest/gtest.h>

#include "compiler/cuda/tiled_interpreter.h"
#include "compiler/cuda/tuning.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {
using namespace assay::testing;

const std::vector<SmallGraph> kGraphs = {
    {"a: f32[37, 70]; b: f32[37, 70]", "r = aten.add.Tensor(a, b)", "r"},
    {"a: f32[40, 33]; b: f32[40, 33][1, 40]", "r = aten.add.Tensor(a, b)", "r"},
    {"a: f32[37, 300]", "r = aten.sum.dim_IntList(a, [1])", "r"},
    {"a: f32[300, 70]", "r = aten.sum.dim_IntList(a, [0])", "r"},
    {"a: f32[2100, 40]", "r = aten.mean.dim(a, [0])", "r"},  // in parts
    {"a: f32[2, 3000, 24]", "r = aten.sum.dim_IntList(a, [1])", "r"},
    {"a: bf16[256, 256, 16]", "r = aten.mean.dim(a, [1])", "r"},  // several of them in a block
    {"a: bf16[2600, 19]", "b = aten.amax.default(a, [0])\nr = aten.relu.default(b)", "r"},
    {"a: f32[5, 3000]", "r = aten._softmax.default(a, -1, False)", "r"},
    {"a: f32[2, 70000]", "r = aten.sum.dim_IntList(a, [1])", "r"},
    {"a: f32[2, 8, 5, 8][320, 1, 64, 8]", "r = aten.avg_pool2d.default(a, [3, 3], [1, 1])", "r"},
};

TEST(Ways, AllGiveWhatTheGraphGives) {
  constexpr std::size_t kMostWays = 64;
  const auto table = build_op_table();
  for (const auto& graph : kGraphs) {
    const auto capture = capture_of(graph);
    ASSERT_TRUE(capture) << capture.error().message;
    const auto made = compiled(graph);
    ASSERT_TRUE(made) << made.error().message;
    const auto inputs = inputs_of(graph, *capture, "");
    ASSERT_TRUE(inputs) << inputs.error().message;
    std::size_t ways = 0;
    for (const auto& [name, source] : made->program.kernels) {
      TileLaunch launch;
      for (const auto& axis : source.kernel->axes)
        launch.extents.push_back(axis.extent->as_int().value_or(1));
      ways = std::max(ways, ways_of(GpuKernel(*source.kernel), launch).size());
    }
    EXPECT_GT(ways, 1U);
    EXPECT_LE(ways, kMostWays);
    for (std::size_t way = 0; way < ways; ++way) {
      const TiledInterpreter executor(table, way);
      const auto compared = compare_with_reference(capture->graph, *made, executor, *inputs, table);
      ASSERT_TRUE(compared) << compared.error().message;
      for (const auto& one : compared->compared)
        EXPECT_TRUE(one.message.empty()) << graph.body << " way " << way << ": " << one.message;
      EXPECT_TRUE(compared->run.findings.empty()) << graph.body << " way " << way;
    }
  }
}

TEST(Ways, AreKeptAsTheyAre) {
  const auto made = compiled(kGraphs[4]);
  ASSERT_TRUE(made);
  for (const auto& [name, source] : made->program.kernels) {
    TileLaunch launch;
    launch.extents.assign(source.kernel->axes.size(), 3000);
    for (const auto& way : ways_of(GpuKernel(*source.kernel), launch))
      EXPECT_EQ(parse_way(print_way(way)), way) << print_way(way);
  }
  const GpuWay blocks{.key = {.choice = {}, .blocks = {64, 2}}};
  EXPECT_EQ(parse_way(print_way(blocks)), blocks);
  EXPECT_FALSE(parse_way("one 5"));
  EXPECT_FALSE(parse_way(""));
}

}  // namespace
}  // namespace assay
