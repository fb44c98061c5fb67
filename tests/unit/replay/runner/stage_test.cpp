// What the inputs and outputs of stages are.
#include "replay/runner/stage.h"

#include <gtest/gtest.h>

#include "core/ops/op_table.h"
#include "replay/runner/stage_run.h"

namespace assay {
namespace {

using Names = std::vector<std::string>;

auto table() -> const OpTable& {
  static const auto rows = build_op_table();
  return rows;
}
auto stages_of(const std::vector<std::pair<std::string, std::string>>& graphs)
    -> std::vector<Stage> {
  TraceLog log;
  TraceCompilation compilation;
  for (const auto& [name, text] : graphs) {
    compilation.graphs.push_back({.name = name, .event = log.events.size()});
    log.events.emplace_back().payload = text;
  }
  return read_stages(log, compilation, table());
}

const std::string kEffects =
    "        t = torch.ops.prims._make_token.default()\n"
    "        w = torch.ops.higher_order.with_effects(t, torch.ops.aten._assert_async.default, x)\n"
    "        u: \"f32[0][1]cpu\" = w[0]\n";

/// As PyTorch 2.15 prints them: the token is no output anymore, but described as the first one.
TEST(Stage, OutputsBehindSunkTokensAreDescribedOneTooEarly) {
  const std::string text =
      "class G(torch.nn.Module):\n"
      "    def forward(\n        self,\n        x: \"f32[2][1]cpu\",  # PlainAOTInput(idx=0)\n    "
      "):\n" +
      kEffects +
      "        a: \"f32[2][1]cpu\" = torch.ops.aten.neg.default(x)\n"
      "        s = torch.ops.prims._sink_tokens.default([u])\n"
      "        return (\n            a,  # ForwardTokenAOTOutput(idx=0)\n"
      "            x,  # PlainAOTOutput(idx=0)\n"
      "            a,  # PlainAOTOutput(idx=1)\n"
      "            x,  # SavedForBackwardsAOTOutput(idx=0)\n        )\n";
  const auto stages = stages_of({{"aot_forward_graph", text}});
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].not_read, "");
  EXPECT_EQ(stages[0].outputs, (Names{"output 0", "output 1", "saved 0", "saved 1"}));
  EXPECT_EQ(stages[0].inputs, Names{"input 0"});
}

TEST(Stage, TokensThatAreOutputsKeepTheirNames) {
  const std::string text =
      "class G(torch.nn.Module):\n"
      "    def forward(\n        self,\n        t: \"f32[0][1]cpu\",  # "
      "ForwardTokenAOTInput(idx=0)\n"
      "        x: \"f32[2][1]cpu\",  # PlainAOTInput(idx=0)\n    ):\n"
      "        a: \"f32[2][1]cpu\" = torch.ops.aten.neg.default(x)\n"
      "        return (\n            t,  # ForwardTokenAOTOutput(idx=0)\n"
      "            a,  # PlainAOTOutput(idx=0)\n        )\n";
  const auto stages = stages_of({{"aot_joint_graph", text}});
  ASSERT_EQ(stages.size(), 1U);
  ASSERT_EQ(stages[0].outputs.size(), 2U);
  EXPECT_TRUE(is_token(stages[0].outputs[0]));
  EXPECT_EQ(stages[0].outputs[1], "output 0");
  EXPECT_TRUE(is_token(stages[0].inputs[0]));
  // Nobody gives it.
  const auto run =
      run_stage(stages[0], {{"input 0", {Datum{*Tensor::contiguous(DType::float32, {2})}, {}, {}}}},
                {}, table());
  EXPECT_EQ(run.not_run, "");
  EXPECT_TRUE(run.values.contains("output 0"));
}

}  // namespace
}  // namespace assay
