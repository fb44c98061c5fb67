// Which recorded input is which tensor of a log's programs.
#include "replay/runner/log_inputs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/run_op.h"

namespace assay {
namespace {

/// A log whose Dynamo graph takes `placeholders`, with guards on these parameters of the frame.
struct Logged {
  TraceLog log;
  TraceCompilation compilation;
};
auto logged(std::span<const std::string> placeholders, std::span<const std::string> parameters)
    -> Logged {
  Logged result;
  std::string graph = "class G(torch.nn.Module):\n    def forward(self";
  for (const auto& name : placeholders)
    graph +=
        fmt::format(", {}: \"{}\"", name, name.contains("eps") ? "Sym(1e-05)" : "f32[2][1]cpu");
  graph += "):\n        return ()\n";
  std::string guards;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    guards +=
        fmt::format("| +- accessed_by=FrameLocalsGuardAccessor(key='{}', framelocals_idx={})\n",
                    parameters[i], i);
  result.log.events.resize(2);
  result.log.events[0].payload = graph;
  result.log.events[1].payload = guards;
  result.compilation.graphs.push_back({.name = "dynamo_output_graph", .event = 0});
  result.compilation.guard_trees.push_back({.name = "dynamo_cpp_guards_str", .event = 1});
  return result;
}

using Names = std::vector<std::string>;
using Positions = std::vector<std::optional<std::size_t>>;
auto positions(const Names& placeholders, const Names& parameters, const Names& recorded)
    -> Positions {
  const auto given = logged(placeholders, parameters);
  std::vector<AnsweredInput> inputs(recorded.size());
  for (std::size_t i = 0; i < recorded.size(); ++i)
    if (!recorded[i].empty()) inputs[i].placeholders = {recorded[i]};
  return input_plan(given.log, given.compilation, inputs).tensors;
}

TEST(InputPlan, GuardsSayWhichParameterIsWhich) {
  EXPECT_EQ(positions({"L_y_", "L_x_"}, {"x", "y"}, Names(2)), (Positions{1, 0}));
  EXPECT_EQ(positions({"L_y_", "L_z_"}, {"x", "y"}, Names(2)), Positions());  // nobody knows z
}

TEST(InputPlan, AParameterMayStandForSeveralInputs) {
  EXPECT_EQ(positions({"L_xs_2_", "L_a_", "L_xs_0_"}, {"a", "xs"}, Names(4)), (Positions{3, 0, 1}));
  EXPECT_EQ(positions({"L_x_1_", "L_x_"}, {"x", "x_1"}, Names(2)), (Positions{1, 0}));
}

TEST(InputPlan, RecordedPlaceholdersCountBeforeGuards) {
  EXPECT_EQ(positions({"L_self_modules_fc_parameters_weight_", "L_x_"}, {"self", "x"},
                      {"L_self_modules_fc_parameters_bias_", "L_self_modules_fc_parameters_weight_",
                       "L_x_"}),
            (Positions{1, 2}));
}

TEST(InputPlan, WhatNobodyRecordedShiftsNothing) {
  EXPECT_EQ(positions({"L_self_parameters_w_", "L_self_scale", "L_x_"}, {"self", "x"},
                      {"L_x_", "L_self_parameters_w_"}),
            (Positions{1, std::nullopt, 0}));
}

TEST(InputPlan, NumbersAreNoTensors) {
  EXPECT_EQ(positions({"L_self_eps", "L_x_", "L_self_parameters_w_"}, {"self", "x"},
                      {"L_self_parameters_w_", "L_x_"}),
            (Positions{1, 0}));
}

TEST(InputPlan, PlaceholdersAreSourcesOfWords) {
  EXPECT_EQ(placeholder_of("L['xs'][0]"), "L_xs_0_");
  EXPECT_EQ(placeholder_of("L['self']._modules['a']._parameters['weight']"),
            "L_self_modules_a_parameters_weight_");
  EXPECT_EQ(placeholder_of("L['my__x']"), "L_my_x_");
}

/// What is left of a function is its whole where nothing before wrote into its inputs.
TEST(RecordedAnswers, AreOfPartsWhereTheRestBeginsWithOtherInputs) {
  const auto are_of_parts_of = [](std::string_view function, double after) {
    TraceLog log;
    auto& start = log.events.emplace_back();
    start.kind = "dynamo_start";
    start.body = fmt::format(R"({{"stack": [{{"name": "{}"}}]}})", function);
    start.compile_id = "1/0";
    TraceCompilation one;
    one.compile_id = "1/0";
    one.output_codes.emplace_back().event = 0;
    ProgramAnswers answers;
    answers.inputs.emplace_back().tensor = testing::make_tensor({2}, {1, 2});
    auto& written = answers.eager.emplace().inputs_after.emplace_back();
    written.tensor = testing::make_tensor({2}, {1, after});
    return are_of_parts(log, {one}, &answers);
  };
  EXPECT_TRUE(are_of_parts_of("torch_dynamo_resume_in_f_at_3", 3));
  EXPECT_FALSE(are_of_parts_of("torch_dynamo_resume_in_f_at_3", 2));
  EXPECT_FALSE(are_of_parts_of("f", 3));  // the program itself may have written
}

}  // namespace
}  // namespace assay
