// Tensors that a function makes of numbers, as attributes of the graphs behind it.
#include "replay/runner/stage_constants.h"

#include <gtest/gtest.h>

#include "core/graph/text.h"

namespace assay {
namespace {

auto stage_of(StageRole role, const std::string& lines) -> Stage {
  Stage stage;
  stage.role = role;
  stage.graph.emplace();
  stage.graph->graph =
      parse_graph("class G(torch.nn.Module):\n    def forward(self):\n" + lines).value();
  return stage;
}
auto number(const StageInputs& inputs, const std::string& name) -> double {
  return to_vector<double>(*inputs.attributes.at(name).real()).at(0);
}

TEST(StageConstants, AreCountedInOrderAndHaveToBeAsClaimed) {
  static const auto kTable = build_op_table();
  const std::vector<Stage> stages = {
      stage_of(StageRole::function,
               "        a = torch.tensor(3)\n        b = torch.tensor(7.75)\n"
               "        c = torch.tensor(8, dtype = torch.float32)\n"
               "        d = torch.ops.aten.scalar_tensor.default(1)\n        return (d,)\n"),
      stage_of(StageRole::joint,
               "        a: \"f32[][]cpu\" = self._tensor_constant1\n"
               "        b: \"i64[][]cpu\" = self._tensor_constant0\n"
               "        c: \"i64[][]cpu\" = self._tensor_constant2\n"
               "        d: \"f32[][]cpu\" = self._tensor_constant3\n"
               "        e: \"f32[][]cpu\" = self._tensor_constants\n"
               "        return (a, b, c, d, e)\n")};
  StageInputs inputs;
  add_constants(stages, inputs, kTable);
  ASSERT_EQ(inputs.attributes.size(), 2U);  // the third is no whole number, a fourth was not made
  EXPECT_EQ(number(inputs, "_tensor_constant0"), 3);
  EXPECT_EQ(number(inputs, "_tensor_constant1"), 7.75);
  const std::vector<Stage> written = {
      stage_of(StageRole::function,
               "        t = torch.tensor(1)\n"
               "        y = torch.ops.aten.new_zeros.default(t, [4], dtype = torch.float16)\n"
               "        y[0] = 7;  setitem = y\n        return (y,)\n"),
      stage_of(StageRole::joint,
               "        a: \"f16[][]cpu\" = self._tensor_constant1\n        return (a,)\n")};
  StageInputs others;
  add_constants(written, others, kTable);
  EXPECT_EQ(number(others, "_tensor_constant1"), 7);
  // What a log's repro script says counts.
  std::swap(inputs.attributes.at("_tensor_constant0"), inputs.attributes.at("_tensor_constant1"));
  inputs.attributes.erase("_tensor_constant1");
  add_constants(stages, inputs, kTable);
  EXPECT_EQ(number(inputs, "_tensor_constant0"), 7.75);
  EXPECT_EQ(number(inputs, "_tensor_constant1"), 7.75);
}

}  // namespace
}  // namespace assay
