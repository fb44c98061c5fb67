// Every fault is seen by the tool that must see it, in several graphs, and blamed on the right
// thing; without a fault nobody complains.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "compiler/faults/faults.h"
#include "compiler/interpret/interpret.h"
#include "replay/runner/decision_blame.h"
#include "replay/runner/mutants.h"
#include "tests/support/compiled.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
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

/// A negative pad takes the last two of every row away.
auto cut_rows(std::string_view function, int width) -> SmallGraph {
  return {fmt::format("x: f32[s0, {}]; n: Sym(s0)", width),
          fmt::format("a = aten.{}.default(x)\nb = aten.constant_pad_nd.default(a, [0, -2], 0.0)\n"
                      "c = aten.mul.Tensor(b, 2.0)",
                      function),
          "c"};
}

/// A tensor and its transpose are returned.
auto seen_turned(std::string_view function, int width) -> SmallGraph {
  return {fmt::format("x: f32[s0, {}]; n: Sym(s0)", width),
          fmt::format("a = aten.{}.default(x)\nb = aten.permute.default(a, [1, 0])", function),
          "a, b"};
}

/// Rows of an even width become rows of half of it.
auto taken_apart(std::string_view function, int width) -> SmallGraph {
  return {fmt::format("x: f32[s0, {}]; n: Sym(s0)", width),
          fmt::format("a = aten.{}.default(x)\nb = aten.mul.Tensor(a, 3.0)\n"
                      "c = aten.permute.default(b, [1, 0])\n"
                      "d = aten.clone.default(c, memory_format = torch.contiguous_format)\n"
                      "m = n * 2\ne = aten.view.default(d, [m, {}])\nf = aten.add.Tensor(e, 1.0)",
                      function, width / 2),
          "f"};
}

/// The same call twice, both results returned.
auto twice(std::string_view function, int width) -> SmallGraph {
  return {fmt::format("x: f32[s0, {}]; n: Sym(s0)", width),
          fmt::format("a = aten.{0}.default(x)\nb = aten.{0}.default(x)", function), "a, b"};
}
/// A copy of what changes afterwards.
auto copied(std::string_view function, int width) -> SmallGraph {
  return {fmt::format("x: f32[s0, {}]; n: Sym(s0)", width),
          fmt::format("a = aten.clone.default(x)\nb = aten.{}.default(x)\n"
                      "c = aten.copy_.default(x, b)\nd = aten.sub.Tensor(a, 1.0)",
                      function),
          "d"};
}

/// Of f(x) * x, for x.
auto two_gradients(std::string_view function, int width) -> SmallGraph {
  return {fmt::format("x: f32[s0, {0}]; y: f32[s0, {0}]; n: Sym(s0)", width),
          fmt::format("a = aten.{}.default(x)\nb = aten.mul.Tensor(y, a)\n"
                      "c = aten.mul.Tensor(y, x)\nd = aten.cos.default(x)\n"
                      "e = aten.mul.Tensor(c, d)\nf = aten.add.Tensor(b, e)",
                      function),
          "f"};
}

/// Names differ, so that it can be seen who is blamed.
auto written_graphs() -> std::vector<SmallGraph> {
  return {
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
}

auto graphs() -> const std::vector<SmallGraph>& {
  static const auto kGraphs = [] {
    auto all = written_graphs();
    all.insert(all.end(), {
                              // Cut by negative pads.
                              cut_rows("exp", 6),
                              cut_rows("sin", 9),
                              cut_rows("tanh", 5),
                              cut_rows("neg", 12),
                              cut_rows("sigmoid", 7),
                              // Views outside of loops.
                              seen_turned("exp", 4),
                              seen_turned("cos", 6),
                              seen_turned("abs", 3),
                              seen_turned("tanh", 7),
                              seen_turned("neg", 8),
                              // Rows taken apart, which indices with remainders read.
                              taken_apart("exp", 6),
                              taken_apart("sin", 10),
                              taken_apart("tanh", 14),
                              taken_apart("neg", 18),
                              taken_apart("cos", 22),
                              // Calls that repeat others, and copies.
                              twice("exp", 4),
                              twice("sin", 5),
                              twice("abs", 6),
                              copied("tanh", 3),
                              copied("cos", 7),
                              copied("neg", 9),
                              // Gradients of both uses of one tensor.
                              two_gradients("exp", 4),
                              two_gradients("sin", 5),
                              two_gradients("tanh", 6),
                              two_gradients("sigmoid", 3),
                              two_gradients("cos", 8),
                          });
    return all;
  }();
  return kGraphs;
}

/// One graph by its text, with inputs away from the hints.
struct Made {
  Capture capture;
  RunInputs inputs;
};
auto made(const SmallGraph& graph) -> std::optional<Made> {
  auto capture = testing::capture_of(graph);
  EXPECT_TRUE(capture) << graph.body << (capture ? "" : capture.error().message);
  if (!capture) return std::nullopt;
  auto& env = capture->graph.env;
  env.set_hint(env.pool().symbol("s0", ExprType::integer), 8);
  const auto rules = run_symbolic(capture->graph, table(), {.samples = 1, .seed = 1});
  for (std::size_t i = 0; i < rules.nodes.size(); ++i)
    if (const auto* fake = rules.nodes[i].ruled.fake())
      capture->graph.nodes[i].claim.value = fake->meta;
  auto inputs = testing::inputs_of(graph, *capture, "s0=5");
  EXPECT_TRUE(inputs) << graph.body << (inputs ? "" : inputs.error().message);
  if (!inputs) return std::nullopt;
  return Made{*std::move(capture), *std::move(inputs)};
}

TEST(Faults, NobodyComplainsWithoutOne) {
  for (const auto& graph : graphs()) {
    const auto one = made(graph);
    ASSERT_TRUE(one);
    const auto said = complaints(one->capture, one->inputs, table());
    ASSERT_TRUE(said) << graph.body << said.error().message;
    EXPECT_EQ(*said, std::vector<std::string>{}) << graph.body;
  }
}

/// The table of compiler/faults/README.md says the same.
TEST(Faults, TheNamedToolSeesEachAndBlamesTheRightThing) {
  const auto readme = testing::read_text(fs::path(ASSAY_SOURCE_DIR) / "compiler/faults/README.md");
  for (const auto& row : fault_rows()) {
    if (row.place == FaultPlace::tool) continue;
    int planted = 0, seen = 0;
    for (const auto& graph : graphs()) {
      const auto one = made(graph);
      ASSERT_TRUE(one);
      const auto mutant = plant_fault(row.fault, one->capture, one->inputs, table());
      ASSERT_TRUE(mutant) << row.name << " in\n" << graph.body << mutant.error().message;
      if (!mutant->is_planted) continue;
      ++planted;
      seen += mutant->is_seen ? 1 : 0;
      EXPECT_TRUE(mutant->is_seen) << row.name << " " << mutant->node << " in\n"
                                   << graph.body << "\n"
                                   << fmt::format("{}", fmt::join(mutant->said, "\n"));
    }
    EXPECT_GE(planted, 5) << row.name;
    const auto line =
        fmt::format("| `{}` | {} | {} | {} | `{}` | {} of {} |", row.name, row.classes, row.what,
                    row.source, name(row.catcher), seen, planted);
    EXPECT_TRUE(readme.contains(line)) << "compiler/faults/README.md lacks\n" << line;
  }
}

TEST(Faults, ABlindComparisonIsFoundByTheFaultsThatItMisses) {
  int graphs_with = 0;
  for (const auto& graph : graphs()) {
    const auto one = made(graph);
    ASSERT_TRUE(one);
    MutantOptions options;
    const auto seeing = plant_faults(one->capture, one->inputs, table(), options);
    options.is_blind = true;
    const auto blind = plant_faults(one->capture, one->inputs, table(), options);
    ASSERT_TRUE(seeing && blind);
    EXPECT_EQ(not_seen(*seeing), std::vector<std::string>{}) << graph.body;
    int compared = 0;
    for (const auto& mutant : *blind) {
      if (!mutant.is_planted) continue;
      const auto catcher = row(mutant.fault).catcher;
      compared += catcher == FaultCatcher::compare ? 1 : 0;
      // What looks at accesses too may see it there.
      if (catcher != FaultCatcher::run) {
        EXPECT_EQ(mutant.is_seen, catcher != FaultCatcher::compare) << graph.body;
      }
    }
    graphs_with += compared > 0 ? 1 : 0;
  }
  EXPECT_GE(graphs_with, 5);
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
    ASSAY_TRY(const auto inputs, testing::inputs_of(graph, *capture, "s0=5"));
    ASSAY_TRY(const auto found, compare_with_reference(capture->graph, *other, Interpreter(table()),
                                                       inputs, table()));
    return !found.run.findings.empty();
  };
  const auto blame = blame_decisions(compiled->decisions, differs);
  ASSERT_TRUE(blame);
  EXPECT_EQ(blame->needed, (std::vector<std::string>{"fuse:b:a"}));
}

}  // namespace
}  // namespace assay
