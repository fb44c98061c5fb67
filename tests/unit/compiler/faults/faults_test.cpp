// Every fault is seen by the tool that must see it, in several graphs, and blamed on the right
// thing; without a fault nobody complains.
#include <gtest/gtest.h>

#include <iostream>

#include "compiler/faults/faults.h"
#include "compiler/interpret/interpret.h"
#include "replay/runner/decision_blame.h"
#include "replay/runner/program_memory.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::SmallGraph;

auto table() -> const OpTable& {
  static const auto kRows = build_op_table();
  return kRows;
}

/// Two functions of one tensor, in one kernel that stores both.
auto two_chains(std::string_view first, std::string_view second, int width) -> SmallGraph {
  return {fmt::format("x: f32[s0, {}]; n: Sym(s0)", width),
          fmt::format("a = aten.{}.default(x)\nb = aten.{}.default(x)\n"
                      "c = aten.renorm.default(a, 2, 1, 3.0)\n"
                      "d = aten.renorm.default(b, 2, 0, 3.0)\ne = aten.add.Tensor(c, d)",
                      first, second),
          "e"};
}

/// Names differ, so that it can be seen who is blamed.
auto graphs() -> const std::vector<SmallGraph>& {
  static const std::vector<SmallGraph> kGraphs = {
      {"x: f32[s0, 4]; n: Sym(s0)",
       "a = aten.exp.default(x)\nb = aten.sum.dim_IntList(a, [0], True)\nc = aten.div.Tensor(a, b)",
       "c"},
      {"x: f32[s0, 6]; y: f32[s0, 6]; n: Sym(s0)",
       "a = aten.add.Tensor(x, y)\nb = aten.permute.default(y, [1, 0])\nc = aten.mm.default(a, b)\n"
       "d = aten.relu.default(c)",
       "d"},
      {"x: f32[s0, 8]; n: Sym(s0)",
       "a = aten.amax.default(x, [0], True)\nb = aten.sub.Tensor(x, a)\nc = aten.exp.default(b)\n"
       "d = aten.sum.dim_IntList(c, [0], True)\ne = aten.div.Tensor(c, d)",
       "e"},
      {"x: f32[s0, 5]; y: f32[s0, 5]; n: Sym(s0)",
       "a = aten.mul.Tensor(x, y)\nb = aten.copy_.default(x, a)\n"
       "c = aten.sum.dim_IntList(a, [0], True)\nd = aten.add.Tensor(y, c)",
       "d"},
      {"x: f32[s0, 7]; y: f32[s0, 7]; n: Sym(s0)",
       "a = aten.sigmoid.default(y)\nb = aten.copy_.default(x, a)\n"
       "c = aten.mean.dim(a, [0], True)\nd = aten.mul.Tensor(a, c)\n"
       "e = aten.slice.Tensor(d, 1, 2, 6)",
       "e"},
      {"x: f32[s0, 3]; y: f32[s0, 3]; n: Sym(s0)",
       "a = aten.sub.Tensor(x, y)\nb = aten.copy_.default(y, a)\n"
       "c = aten.sum.dim_IntList(a, [0], True)\nd = aten.add.Tensor(a, c)\n"
       "e = aten.slice.Tensor(d, 1, 1, 3)",
       "e"},
      {"x: f32[s0, 9]; y: f32[s0, 9]; n: Sym(s0)",
       "a = aten.tanh.default(x)\nb = aten.copy_.default(y, a)\n"
       "c = aten.amax.default(a, [0], True)\nd = aten.sub.Tensor(a, c)\n"
       "e = aten.slice.Tensor(d, 1, 4, 9)",
       "e"},
      {"x: f32[s0, 4]; y: f32[s0, 4]; n: Sym(s0)",
       "a = aten.neg.default(x)\nb = aten.copy_.default(y, a)\n"
       "c = aten.sum.dim_IntList(a, [0], True)\nd = aten.mul.Tensor(a, c)\n"
       "e = aten.slice.Tensor(d, 1, 1, 4)",
       "e"},
      {"x: f32[s0, 11]; y: f32[s0, 11]; n: Sym(s0)",
       "a = aten.abs.default(x)\nb = aten.copy_.default(y, a)\n"
       "c = aten.sum.dim_IntList(a, [0], True)\nd = aten.add.Tensor(a, c)\n"
       "e = aten.slice.Tensor(d, 1, 3, 9)\nf = aten.permute.default(a, [1, 0])\n"
       "g = aten.mm.default(d, f)",
       "e, g"},
      {"x: f32[s0, 12]; y: f32[s0, 12]; n: Sym(s0)",
       "a = aten.sum.dim_IntList(x, [1], True)\nb = aten.add.Tensor(a, y)\n"
       "c = aten.sum.dim_IntList(b, [0], True)\nd = aten.sub.Tensor(b, c)\n"
       "e = aten.amax.default(d, [1], True)\nf = aten.mul.Tensor(d, e)\n"
       "g = aten.sum.dim_IntList(f, [0], True)\nh = aten.add.Tensor(f, g)",
       "h"},
      {"x: f32[s0, 6]; y: f32[s0, 6]; n: Sym(s0)",
       "a = aten.renorm.default(x, 2, 1, 3.0)\nb = aten.exp.default(a)\nc = aten.renorm.default(b, "
       "2, 0, 3.0)\n"
       "d = aten.mul.Tensor(c, y)\ne = aten.renorm.default(d, 2, 1, 3.0)\nf = aten.neg.default(e)",
       "f"},
      {"x: f32[s0, 5]; n: Sym(s0)",
       "a = aten.renorm.default(x, 2, 0, 3.0)\nb = aten.tanh.default(a)\nc = "
       "aten.renorm.default(b, 2, 1, 3.0)\n"
       "d = aten.renorm.default(c, 2, 0, 3.0)\ne = aten.add.Tensor(d, b)",
       "e"},
      two_chains("exp", "sin", 4),
      two_chains("tanh", "cos", 5),
      two_chains("sigmoid", "neg", 3),
      two_chains("relu", "abs", 6),
      two_chains("erf", "exp", 7),
  };
  return kGraphs;
}

struct Caught {
  bool by_prove = false, by_check = false, by_compare = false, by_plan = false;
  std::string text;  ///< what they say
  [[nodiscard]] auto by(FaultCatcher catcher) const -> bool {
    switch (catcher) {
      case FaultCatcher::prove:
        return by_prove;
      case FaultCatcher::check:
        return by_check;
      case FaultCatcher::compare:
        return by_compare;
      case FaultCatcher::plan:
        return by_plan;
    }
    return false;
  }
  [[nodiscard]] auto any() const -> bool { return by_prove || by_check || by_compare || by_plan; }
};

void prove(const Capture& capture, const CompiledGraph& compiled, Caught& caught) {
  for (const auto& one : prove_compiled(capture.graph, compiled).obligations) {
    if (std::holds_alternative<Proved>(one.answer)) continue;
    caught.by_prove = true;
    caught.text +=
        fmt::format("prove: {}: {} {} {}\n", name(one.kind), one.statement, one.claim, one.message);
  }
}

void run(const SmallGraph& graph, const Capture& capture, const CompiledGraph& compiled,
         Caught& caught) {
  const auto inputs = testing::inputs_of(graph, capture, "s0=5");
  ASSERT_TRUE(inputs);
  const auto result =
      compare_with_reference(capture.graph, compiled, Interpreter(table()), *inputs, table());
  if (!result) {  // a false assert of the program stops it
    caught.by_check = true;
    caught.text += "check: " + result.error().message + "\n";
    return;
  }
  for (const auto& one : result->compared) {
    if (one.message.empty()) continue;
    caught.by_compare = true;
    caught.text += "compare: " + one.what + ": " + one.message + "\n";
  }
  for (const auto& finding : result->run.findings) {
    caught.by_check = true;
    caught.text += fmt::format("check: {} {} {} {}\n", name(finding.fault), finding.statement,
                               finding.buffer, finding.message);
  }
}

/// False where an early death changes no place.
auto plan(const SmallGraph& graph, const Capture& capture, CompiledGraph& compiled, bool dies_early,
          Caught& caught) -> bool {
  const auto inputs = testing::inputs_of(graph, capture, "s0=5");
  EXPECT_TRUE(inputs);
  MemoryPlanOptions options;
  const auto right = plan_compiled(capture.graph, compiled, *inputs, table(), options);
  options.dies_early = dies_early;
  const auto memory = plan_compiled(capture.graph, compiled, *inputs, table(), options);
  if (!memory || !right) return false;
  for (const auto& broken : memory->broken) {
    caught.by_plan = true;
    caught.text += "plan: " + broken + "\n";
  }
  return !dies_early || memory->plan.offsets != right->plan.offsets;
}

/// Nothing where the fault has nothing to be about.
auto caught(const SmallGraph& graph, std::optional<Fault> fault) -> std::optional<Caught> {
  auto capture = testing::capture_of(graph);
  EXPECT_TRUE(capture) << (capture ? "" : capture.error().message);
  if (!capture) return std::nullopt;
  auto& env = capture->graph.env;
  env.set_hint(env.pool().symbol("s0", ExprType::integer), 8);
  CompileOptions options;
  options.fault = fault;
  options.schedule.fuse = fault != Fault::early_death;  // more temporaries
  auto compiled = compile_graph(*capture, table(), options);
  if (!compiled) return std::nullopt;
  Caught result;
  prove(*capture, *compiled, result);
  run(graph, *capture, *compiled, result);
  const bool is_seeded = plan(graph, *capture, *compiled, fault == Fault::early_death, result);
  return is_seeded || fault != Fault::early_death ? std::optional(result) : std::nullopt;
}

/// What a finding about the fault must name.
auto blame(Fault fault) -> std::string_view {
  switch (fault) {
    case Fault::short_storage:
    case Fault::dropped_asserts:
      return "prove: access-in-bounds";
    case Fault::narrow_index:
      return "prove: fits-32-bits";
    case Fault::early_death:
      return "share bytes";
    case Fault::leaked_strides:
      return "output 0: strides";
    case Fault::lost_offset:
      return "output 0: ";
    case Fault::specialised:
      return "is false";
    case Fault::short_loop:
      return "rounding explains";  // values, of whatever the last iteration made
    case Fault::lost_store:
      return "nothing was written there";
    case Fault::lost_mutation:
      return " after: ";
    case Fault::lost_dependency:
      return "uninitialised-read";
  }
  return {};
}

TEST(Faults, NobodyComplainsWithoutOne) {
  for (const auto& graph : graphs()) {
    const auto found = caught(graph, std::nullopt);
    ASSERT_TRUE(found) << graph.body;
    EXPECT_FALSE(found->any()) << graph.body << "\n" << found->text;
  }
}

TEST(Faults, TheNamedToolSeesEachAndBlamesTheRightThing) {
  for (const auto& row : fault_rows()) {
    int seeded = 0, seen = 0;
    for (const auto& graph : graphs()) {
      const auto found = caught(graph, row.fault);
      if (!found) continue;
      ++seeded;
      const bool is_seen = found->by(row.catcher) && found->text.contains(blame(row.fault));
      seen += is_seen ? 1 : 0;
      EXPECT_TRUE(is_seen) << row.name << " in\n" << graph.body << "\n" << found->text;
    }
    std::cout << fmt::format("{:<16} {:<8} seen in {} of {}\n", row.name, name(row.catcher), seen,
                             seeded);
    EXPECT_GE(seeded, 5) << row.name;
  }
}

TEST(Faults, AFaultThatNeedsOneFusionIsBlamedOnIt) {
  const SmallGraph graph{
      "x: f32[s0, 4]; n: Sym(s0)",
      "a = aten.exp.default(x)\nb = aten.sin.default(x)\n"
      "c = aten.renorm.default(a, 2, 1, 3.0)\nd = aten.renorm.default(b, 2, 0, 3.0)\n"
      "e = aten.add.Tensor(c, d)\nf = aten.neg.default(e)",
      "f"};
  const auto capture = testing::capture_of(graph);
  ASSERT_TRUE(capture);
  CompileOptions wrong;
  wrong.fault = Fault::lost_store;
  const auto compiled = compile_graph(*capture, table(), wrong);
  ASSERT_TRUE(compiled);
  const auto differs = [&](const CompileVariant& variant) -> Result<bool> {
    const DecisionFilter filter{{}, variant.fusions, true};
    auto options = wrong;
    options.schedule.is_forbidden = [&](const CompileDecision& decision) {
      return forbids(filter, decision);
    };
    const auto other = compile_graph(*capture, table(), options);
    if (!other) return false;  // no kernel stores two tensors
    Caught seen;
    run(graph, *capture, *other, seen);
    return seen.any();
  };
  const auto blame = blame_decisions(compiled->decisions, differs);
  ASSERT_TRUE(blame);
  EXPECT_EQ(blame->needed, (std::vector<std::string>{"fuse:b:a"}));
}

}  // namespace
}  // namespace assay
