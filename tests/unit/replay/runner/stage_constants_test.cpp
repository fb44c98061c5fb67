// Tensors that a function makes of numbers, as attributes of the graphs behind it.
#include "replay/runner/stage_constants.h"

#include <gtest/gtest.h>

#include "core/graph/text.h"

namespace assay {
namespace {

auto scalar(DType dtype, double value) -> Datum {
  auto made = *Tensor::contiguous(dtype, {});
  from_vector(made, std::span<const double>(&value, 1));
  return {made};
}

TEST(StageConstants, AreCountedInOrderAndHaveToBeAsClaimed) {
  StageConstants constants;
  Node call;
  call.target = "torch.tensor";
  constants.add(call, scalar(DType::int64, 3));
  constants.add(call, scalar(DType::float32, 7.75));
  constants.add(call, scalar(DType::float32, 8));
  call.target = "torch.ones";
  constants.add(call, scalar(DType::float32, 1));
  Stage stage;
  stage.graph.emplace();
  const auto graph = parse_graph(
      "class G(torch.nn.Module):\n    def forward(self):\n"
      "        a: \"f32[][]cpu\" = self._tensor_constant1\n"
      "        b: \"i64[][]cpu\" = self._tensor_constant0\n"
      "        c: \"i64[][]cpu\" = self._tensor_constant2\n"
      "        d: \"f32[][]cpu\" = self._tensor_constant3\n"
      "        e: \"f32[][]cpu\" = self._tensor_constants\n"
      "        return (a, b, c, d, e)\n");
  ASSERT_TRUE(graph) << graph.error().message;
  stage.graph->graph = *graph;
  std::map<std::string, Datum> attributes;
  constants.give(stage, attributes);
  ASSERT_EQ(attributes.size(), 2U);  // the third is no whole number, a fourth was not made
  EXPECT_EQ(to_vector<double>(*attributes.at("_tensor_constant0").real()).at(0), 3);
  EXPECT_EQ(to_vector<double>(*attributes.at("_tensor_constant1").real()).at(0), 7.75);
  // What a log's repro script says counts.
  attributes = {{"_tensor_constant0", scalar(DType::int64, 5)}};
  constants.give(stage, attributes);
  EXPECT_EQ(to_vector<double>(*attributes.at("_tensor_constant0").real()).at(0), 5);
}

}  // namespace
}  // namespace assay
