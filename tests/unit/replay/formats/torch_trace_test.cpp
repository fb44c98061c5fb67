#include "replay/formats/torch_trace.h"

#include <gtest/gtest.h>

#include "core/expr/text.h"
#include "replay/formats/detect.h"

namespace assay {
namespace {

constexpr std::string_view kHeader = "V1120 09:58:24.740000 2599 torch/_dynamo/x.py:276] ";

auto header(std::string_view json) -> std::string {
  return std::string(kHeader) + std::string(json) + "\n";
}

auto read(std::string_view text) -> TraceLog {
  auto log = read_torch_trace(text);
  EXPECT_TRUE(log) << log.error().message;
  return log ? std::move(*log) : TraceLog{};
}

TEST(TorchTrace, AnEventHasKindPlaceCompileIdAndRank) {
  const auto log = read(header(
      R"({"dynamo_start": {"a": 1}, "rank": 3, "frame_id": 2, "frame_compile_id": 1, "attempt": 4})"));
  ASSERT_EQ(log.events.size(), 1U);
  const auto& event = log.events[0];
  EXPECT_EQ(event.kind, "dynamo_start");
  EXPECT_EQ(event.place, "torch/_dynamo/x.py:276");
  EXPECT_EQ(event.time, "1120 09:58:24.740000");
  EXPECT_EQ(event.compile_id, "2/1");
  EXPECT_EQ(event.attempt, 4);
  EXPECT_EQ(event.rank, 3);
  EXPECT_EQ(event.body, R"({"a":1})");
  EXPECT_EQ(event.line, 1);
}

/// A frame that Dynamo starts with, and what is running there, the frame's function last.
auto start(int frame, std::initializer_list<std::string_view> running) -> std::string {
  std::string stack;
  for (const auto name : running)
    stack += fmt::format(R"({}{{"line": 3, "name": "{}"}})", stack.empty() ? "" : ", ", name);
  return header(fmt::format(
      R"({{"dynamo_start": {{"stack": [{}]}}, "frame_id": {}, "frame_compile_id": 0, "attempt": 0}})",
      stack, frame));
}

TEST(TorchTrace, AFunctionIsInPartsWhereItResumes) {
  for (const auto given : {&TraceCompilation::output_codes, &TraceCompilation::graphs}) {
    const auto is_resumed = [&](std::string_view name, std::size_t programs, std::size_t at = 1) {
      std::vector<TraceCompilation> all(programs);
      for (auto& one : all) (one.*given).emplace_back().event = at;
      return is_in_parts(read(header(R"({"other": {}})") + start(0, {name})), all);
    };
    EXPECT_TRUE(is_resumed("torch_dynamo_resume_in_f_at_12", 2));
    EXPECT_FALSE(is_resumed("torch_dynamo_resume_in_f_at_12", 1));    // nothing before is a program
    EXPECT_TRUE(is_resumed("torch_dynamo_resume_in_f_at_12", 1, 0));  // what follows it is none
    EXPECT_FALSE(is_resumed("f", 2));
    EXPECT_FALSE(is_resumed("f", 1, 0));
  }
}

TEST(TorchTrace, WhatACallOfAFunctionGaveIsAPart) {
  const auto of = [](const std::string& text) {
    const auto log = read(text);
    TraceCompilation one;
    one.compile_id = "1/0";
    one.graphs.emplace_back().event = log.events.size() - 1;
    return std::pair(is_in_parts(log, {one}), is_resumed(log, one));
  };
  const std::pair part(true, false), whole(false, false), rest(false, true);
  EXPECT_EQ(of(start(0, {"main", "f"}) + start(1, {"main", "f", "g"})), part);
  EXPECT_EQ(of(start(0, {"main", "h"}) + start(1, {"main", "f", "g"})), whole);
  EXPECT_EQ(of(start(1, {"main", "g"})), whole);
  EXPECT_EQ(of(start(0, {"main", "f"}) + start(1, {"main", "torch_dynamo_resume_in_f_at_3"})),
            rest);
}

TEST(TorchTrace, CompiledAutogradStandsBeforeTheFrame) {
  const auto log = read(header(
      R"({"k": {}, "compiled_autograd_id": 1, "frame_id": 2, "frame_compile_id": 0, "attempt": 0})"));
  EXPECT_EQ(log.events[0].compile_id, "!1/2/0");
}

TEST(TorchTrace, APayloadIsTheLinesBehindTabs) {
  // printf 'a\n\tb' | md5sum
  const auto log = read(
      header(R"({"artifact": {"name": "x"}, "has_payload": "4d9a1dc7adabeb98a1eaa7a3a8ed1d19"})") +
      "\ta\n\t\tb\n" + header(R"({"link": {}})"));
  ASSERT_EQ(log.events.size(), 2U);
  EXPECT_EQ(log.events[0].payload, "a\n\tb");
  EXPECT_EQ(log.events[0].payload_lines, 2);
  EXPECT_EQ(log.events[1].payload, "");
}

TEST(TorchTrace, TheHashDecidesAboutAPayload) {
  // printf 'hello' | md5sum, printf 'hello\n' | md5sum
  const auto good =
      read(header(R"({"k": {}, "has_payload": "5d41402abc4b2a76b9719d911017c592"})") + "\thello\n");
  EXPECT_EQ(good.events[0].hash, PayloadHash::verified);
  const auto mended = read(
      header(R"({"k": {}, "has_payload": "b1946ac92492d2347c6235b4d2611184"})") + "\thello\n\n");
  EXPECT_EQ(mended.events[0].hash, PayloadHash::repaired);
  EXPECT_EQ(mended.events[0].payload, "hello\n");
  const auto cut =
      read(header(R"({"k": {}, "has_payload": "5d41402abc4b2a76b9719d911017c592"})") + "\thell\n");
  EXPECT_EQ(cut.events[0].hash, PayloadHash::differs);
  ASSERT_EQ(cut.warnings.size(), 1U);
  EXPECT_TRUE(cut.warnings[0].starts_with("line 1: payload of `k` does not have its MD5"));
}

TEST(TorchTrace, ABlankLineInsideOfAPayloadBelongsToIt) {
  const auto log = read(header(R"({"k": {}})") + "\ta\n\n\tb\n");
  EXPECT_EQ(log.events[0].payload, "a\n\nb");
}

TEST(TorchTrace, CarriageReturnsAreTakenOff) {
  const auto log = read(std::string(kHeader) + "{\"k\": {}}\r\n\ta\r\n");
  EXPECT_EQ(log.events[0].payload, "a");
  ASSERT_EQ(log.warnings.size(), 1U);
  EXPECT_TRUE(log.warnings[0].starts_with("line 1: lines end in carriage return"));
}

TEST(TorchTrace, WhatIsNoEventIsCountedWithItsLine) {
  const auto log = read(header(R"({"k": {}})") +
                        "V1120 09:58:24.740000 2599 torch/x.py:1] [0/0] [__graph] ordinary\n"
                        "free text\n" +
                        header(R"({"l": {}})"));
  EXPECT_EQ(log.events.size(), 2U);
  EXPECT_EQ(log.skipped_lines, 2);
  ASSERT_EQ(log.warnings.size(), 1U);
  EXPECT_EQ(log.warnings[0], "line 2: 2 lines from here on belong to no event");
}

TEST(TorchTrace, BrokenJsonIsAWarningWithItsLine) {
  const auto log = read(header(R"({"k": {}})") + header(R"({"l": )"));
  EXPECT_EQ(log.events.size(), 1U);
  ASSERT_FALSE(log.warnings.empty());
  EXPECT_TRUE(log.warnings[0].starts_with("line 2: ")) << log.warnings[0];
}

TEST(TorchTrace, ALogWithoutEventsIsAnError) {
  const auto log = read_torch_trace("V1120 09:58:24.740000 2599 torch/x.py:1] text\n");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().message, "line 1: the log has no event");
}

TEST(TorchTrace, RanksStandBeforeTheHeader) {
  const auto text = "[rank3]:" + header(R"({"k": {}, "rank": 3})");
  EXPECT_EQ(detect_format(text), InputFormat::torch_trace);
  EXPECT_EQ(read(text).events.size(), 1U);
}

TEST(TorchTrace, APayloadMayHoldAnyBytes) {
  const auto text = header(R"({"k": {}})") + "\t\xff\xfe\n";
  EXPECT_EQ(detect_format(text), InputFormat::torch_trace);
  EXPECT_EQ(read(text).events[0].payload, "\xff\xfe");
}

constexpr std::string_view kId = R"("frame_id": 0, "frame_compile_id": 0, "attempt": )";

auto event(std::string_view body, int attempt) -> std::string {
  return header(fmt::format("{{{}, {}{}}}", body, kId, attempt));
}

TEST(TorchTrace, TheLastAttemptIsTheOneThatRuns) {
  const auto symbol = R"("create_symbol": {"symbol": "s0", "val": "4", "vr": "[2, 9]",
                          "source": "L['x'].size()[0]"})";
  auto one_line = std::string(symbol);
  std::erase(one_line, '\n');
  const auto log = read(event(one_line, 0) + event(one_line, 1) +
                        event(R"~("compilation_metrics": {"guard_count": 3})~", 1));
  const auto all = compilations(log);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].is_last_attempt);
  EXPECT_TRUE(all[1].is_last_attempt);
  EXPECT_EQ(all[1].metrics.size(), 1U);
}

/// Programs that autotuning timed are none of the compilation's.
TEST(TorchTrace, WhatWasOnlyTimedIsNoProgram) {
  const auto program = [](std::string_view input) {
    return header(R"({"inductor_output_code": {}, "frame_id": 0, "frame_compile_id": 0, )"
                  R"("attempt": 0, "has_payload": ""})") +
           fmt::format("\tdef call(args):\n\t    {} = args\n\t    return ()\n", input);
  };
  const auto all = compilations(read(program("benchmark_decompose_k_mm_2_split_0_arg0_1, x") +
                                     program("arg0_1, benchmark_") + program("arg0_1,")));
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].output_codes.size(), 2U);
  EXPECT_EQ(all[0].output_codes[0].event, 1U);
}

TEST(TorchTrace, SymbolsGuardsAndTheGuardTreeMakeAShapeEnvironment) {
  const auto log = read(
      event(
          R"~("create_symbol": {"symbol": "s0", "val": "4", "vr": "[2, int_oo]", "source": "L['x'].size()[0]"})~",
          0) +
      event(R"~("guard_added_fast": {"expr": "Eq(Mod(s0, 2), 0)"})~", 0) +
      event(R"~("guard_added_fast": {"expr": "f(("})~", 0) +
      event(R"~("dynamo_cpp_guards_str": {})~", 0) +
      "\t+- LAMBDA_GUARD: 2 <= L['x'].size()[0] <= 64  # x = 1\n"
      "\t+- TYPE_MATCH: ___check_type_id(L['x'], 1)\n");
  const auto all = compilations(log);
  ASSERT_EQ(all.size(), 1U);
  const auto shapes = trace_shapes(log, all[0]);
  const auto* symbol = shapes.env.find("s0");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(symbol->range.low, Expr(2));
  EXPECT_EQ(symbol->hint, Expr(4));
  std::vector<std::string> guards;
  for (const auto& guard : shapes.env.guards()) guards.push_back(print_expr(guard.condition));
  EXPECT_EQ(guards, (std::vector<std::string>{"Eq(Mod(s0, 2), 0)", "s0 >= 2", "s0 <= 64"}));
  ASSERT_EQ(shapes.skipped.size(), 1U);
  EXPECT_EQ(shapes.skipped[0], "guard `f((`");
}

TEST(TorchTrace, WithoutRecordsOfSymbolsTheInputsOfDynamosGraphAreTheSources) {
  const auto log = read(
      event(R"~("dynamo_output_graph": {})~", 0) +
      "\tclass G(torch.nn.Module):\n"
      "\t    def forward(self, s0: \"Sym(s0)\", L_x_: \"f32[s0, 8][8, 1]\", L_s_h: \"Sym(s3)\"):\n"
      "\t        l_x_ = L_x_\n\t        y = l_x_ + 1\n\t        return (y,)\n" +
      event(
          R"~("symbolic_shape_specialization": {"symbol": "s1", "value": "8", "sources": ["L['x'].size()[1]"]})~",
          0) +
      event(R"~("dynamo_cpp_guards_str": {})~", 0) +
      "\t+- LAMBDA_GUARD: 2 <= L['x'].size()[0] <= 64  # x = 1\n"
      "\t+- LAMBDA_GUARD: Eq(L['s'].h*((32//L['s'].h)), 32)  # x = 1\n"
      "\t+- LAMBDA_GUARD: L['s'].hidden == 3  # another\n");
  const auto shapes = trace_shapes(log, compilations(log).at(0));
  std::vector<std::string> guards;
  for (const auto& guard : shapes.env.guards()) guards.push_back(print_expr(guard.condition));
  EXPECT_EQ(guards, (std::vector<std::string>{"s0 >= 2", "s0 <= 64", "Eq(s3*(32//s3), 32)"}));
  EXPECT_TRUE(shapes.skipped.empty());
  EXPECT_EQ(shapes.env.replacements().size(), 1U);
}

TEST(TorchTrace, AReproScriptKnowsTheSymbolsOfItsLog) {
  const auto log = read(
      event(
          R"~("create_symbol": {"symbol": "s7", "val": "6", "vr": "[2, 9]", "source": "L['x'].size()[0]"})~",
          0) +
      event(R"~("artifact": {"name": "fx_graph_runnable"})~", 0) +
      "\tclass Repro(torch.nn.Module):\n\t    def forward(self, a, x):\n"
      "\t        y = torch.ops.aten.relu.default(x)\n\t        return (y,)\n"
      "\tdef load_args(reader):\n\t    reader.symint(6)\n"
      "\t    buf0 = reader.storage(None, 4*s7)\n\t    reader.tensor(buf0, (s7,))\n");
  const auto capture = trace_capture(log);
  ASSERT_TRUE(capture) << capture.error().message;
  const auto* symbol = capture->graph.env.find("s7");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(symbol->hint, Expr(6));
  EXPECT_EQ(symbol->range.high, Expr(9));
}

TEST(TorchTrace, AGraphThatDoesNotReadNamesTheLineOfTheLog) {
  const auto log =
      read(event(R"~("aot_forward_graph": {})~", 0) +
           "\tclass G(torch.nn.Module):\n\t    def forward(self, x):\n\t        y = \n");
  const auto all = compilations(log);
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].graphs.size(), 1U);
  const auto graph = trace_graph(log, all[0].graphs[0]);
  ASSERT_FALSE(graph);
  EXPECT_TRUE(
      graph.error().message.starts_with("aot_forward_graph in the payload of line 1: line 3"))
      << graph.error().message;
}

TEST(TorchTrace, WithoutAReproScriptTheGraphBehindAotAutogradIsTheCapture) {
  const std::string dynamo =
      "\tclass G(torch.nn.Module):\n\t    def forward(self, l: \"f32[s77]\"):\n"
      "\t        y = l + 1\n\t        return (y,)\n";
  const std::string aot =
      "\tclass G(torch.nn.Module):\n\t    def forward(self, a: \"Sym(s77)\", b: "
      "\"f32[s77][1]cpu\"):"
      "\n\t        y: \"f32[s77][1]cpu\" = torch.ops.aten.add.Tensor(b, 1)\n\t        return "
      "(y,)\n";
  const std::string of = R"(, "frame_id": 0, "frame_compile_id": 0, "attempt": 0})";
  const std::string symbol = header(
      R"({"create_symbol": {"symbol": "s77", "val": "12", "vr": "[2, int_oo]", "source": "L['l'].size()[0]"})" +
      of);
  const std::string is_there = R"(, "has_payload": "0")" + of;
  const auto first = header(R"({"dynamo_output_graph": {})" + is_there) + dynamo;
  const auto alone = trace_capture(read(symbol + first));
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_EQ(alone->graph.nodes[1].target, "operator.add");

  const auto behind = trace_capture(
      read(symbol + first + header(R"({"aot_inference_graph": {})" + is_there) + aot));
  ASSERT_TRUE(behind) << behind.error().message;
  EXPECT_EQ(behind->graph.nodes[2].target, "aten.add.Tensor");
  const auto* known = behind->graph.env.find("s77");
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(print_expr(known->hint.value_or(0)), "12");
}

TEST(TorchTrace, WithoutAReproScriptThereIsNoCapture) {
  const auto capture = trace_capture(read(header(R"({"k": {}})")));
  ASSERT_FALSE(capture);
  EXPECT_EQ(capture.error().code, ErrorCode::unsupported);
}

TEST(TorchTrace, WithoutAGraphItIsSaidWhatFailed) {
  const auto capture = trace_capture(read(event(
      R"~("compilation_metrics": {"co_name": "forward", "fail_type": "Unsupported", "fail_reason": "Attempted to wrap RNN\nmore"})~",
      0)));
  ASSERT_FALSE(capture);
  EXPECT_TRUE(capture.error().message.ends_with(
      "; compile 0/0 of forward failed: Unsupported: Attempted to wrap RNN"))
      << capture.error().message;
}

}  // namespace
}  // namespace assay
