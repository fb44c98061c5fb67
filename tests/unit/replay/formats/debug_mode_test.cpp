// Logs of DebugMode: read, aligned, and the first call that diverges.
#include "replay/formats/debug_mode.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

auto call(const std::string& name, std::vector<double> inputs, std::vector<double> outputs,
          const std::string& result = "t: f32[3]") -> DebugModeCall {
  return {.kind = "op",
          .name = name,
          .operands = "t: f32[3]",
          .result = result,
          .where = {},
          .depth = 1,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs)};
}

/// "1=1 2- -2": pairs and what only one run has, counted from 1.
auto shown(const RunAlignment& alignment) -> std::string {
  std::string text;
  for (const auto& step : alignment.steps)
    text +=
        fmt::format("{}{}{}{} ", step.a ? std::to_string(*step.a + 1) : "",
                    step.a && step.b ? "=" : "-", step.b ? std::to_string(*step.b + 1) : "", "");
  return text;
}

constexpr std::string_view kLog = R"json({"format": "torch.utils._debug_mode.DebugMode.logs",
  "version": 1, "logs": [{"call_depth": 2, "log": {"type": "dict", "items": [
    ["input_hash", {"type": "tuple", "items": [
      {"type": "tuple", "items": [{"type": "scalar", "value": 2.5}, {"type": "scalar", "value": null}]},
      {"type": "dict", "items": [["approximate", {"type": "scalar", "value": 4}]]}]}],
    ["hash", {"type": "scalar", "value": 7.5}]]},
  "output_str": "  ->  t: f32[4, 8]", "stack_trace": "File \"a.py\", line 3, in f\n  x\n",
  "type": "op", "op_name": "aten::gelu", "args_str": "t: f32[4, 8]", "kwargs_str": ", a=tanh"}]})json";

TEST(DebugMode, ALogIsReadWithItsChecksums) {
  EXPECT_TRUE(is_debug_mode_log(kLog));
  const auto calls = read_debug_mode_log(kLog);
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_EQ(calls->size(), 1U);
  const auto& gelu = calls->front();
  EXPECT_EQ(gelu.name, "aten::gelu");
  EXPECT_EQ(gelu.operands, "t: f32[4, 8], a=tanh");
  EXPECT_EQ(gelu.result, "t: f32[4, 8]");
  EXPECT_EQ(gelu.where, "File \"a.py\", line 3, in f");
  EXPECT_EQ(gelu.depth, 2);
  EXPECT_EQ(gelu.inputs, (std::vector<double>{2.5, 4}));
  EXPECT_EQ(gelu.outputs, std::vector<double>{7.5});
}

TEST(DebugMode, OtherVersionsAndOtherFilesAreRefused) {
  auto text = std::string(kLog);
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 2");
  ASSERT_FALSE(read_debug_mode_log(text));
  EXPECT_EQ(read_debug_mode_log(text).error().message, "version 2 of DebugMode's log (known: 1)");
  EXPECT_FALSE(read_debug_mode_log("{\"nodes\": []}"));
  EXPECT_FALSE(is_debug_mode_log("{\"nodes\": []}"));
}

TEST(DebugMode, RunsAreAlignedWhereTheyDiffer) {
  const std::vector<DebugModeCall> a = {call("t", {1}, {1}), call("mm", {1}, {2}),
                                        call("add", {2}, {3}), call("relu", {3}, {4})};
  const std::vector<DebugModeCall> b = {call("t", {1}, {1}), call("addmm", {1}, {3}),
                                        call("relu", {3}, {4}), call("sum", {4}, {9})};
  EXPECT_EQ(shown(align_runs(a, b)), "1=1 2- 3- -2 4=3 -4 ");
  EXPECT_EQ(shown(align_runs(a, a)), "1=1 2=2 3=3 4=4 ");
  EXPECT_EQ(shown(align_runs(a, {})), "1- 2- 3- 4- ");
  EXPECT_TRUE(align_runs({}, {}).steps.empty());
  // Another layout is another call.
  EXPECT_EQ(shown(align_runs({call("t", {}, {})}, {call("t", {}, {}, "t: f32[4]")})), "1- -1 ");
}

TEST(DebugMode, TheCallWhoseInputsAgreeIsTheRoot) {
  const std::vector<DebugModeCall> a = {call("t", {1}, {1}), call("gelu", {1}, {2}),
                                        call("relu", {2}, {4})};
  auto b = a;
  EXPECT_TRUE(divergences(a, b, align_runs(a, b), 0).empty());
  b[1].outputs = {2.1};
  b[2].inputs = {2.1};
  b[2].outputs = {4.2};
  b.insert(b.begin(), call("view", {1}, {1}));
  const auto found = divergences(a, b, align_runs(a, b), 1e-5);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].is_root);
  EXPECT_EQ(found[0].a, 1U);
  EXPECT_EQ(found[0].b, 2U);
  EXPECT_NEAR(found[0].relative, 0.1 / 2.1, 1e-12);
  EXPECT_FALSE(found[1].is_root);
  EXPECT_TRUE(divergences(a, b, align_runs(a, b), 0.1).empty());
}

TEST(DebugMode, RunsThatShareNothingEnd) {
  std::vector<DebugModeCall> a, b;
  for (int i = 0; i < 4000; ++i) {
    a.push_back(call("a" + std::to_string(i), {}, {}));
    b.push_back(call("b" + std::to_string(i), {}, {}));
  }
  const auto alignment = align_runs(a, b);
  EXPECT_FALSE(alignment.is_exact);
  EXPECT_EQ(alignment.steps.size(), 8000U);
}

}  // namespace
}  // namespace assay
