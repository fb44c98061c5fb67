// What a graph makes sure of by itself needs no guard.
#include "replay/runner/asserted.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/expr/text.h"
#include "core/graph/text.h"
#include "replay/interp/symbolic.h"
#include "replay/runner/missing_guards.h"
#include "replay/runner/storage_bounds.h"

namespace assay {
namespace {

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

/// Refuted bounds and missing guards: "y: extent".
auto findings_of(const std::string& parameters, const std::string& body)
    -> std::vector<std::string> {
  const auto text = fmt::format(
      "class G(torch.nn.Module):\n    def forward(self, {}):\n        {}\n", parameters, body);
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message) << "\n" << text;
  if (!graph) return {};
  Capture capture;
  capture.graph = with_asserted(*std::move(graph), table());
  GuardSet guards(capture.graph.env, {.prover = {}, .symbols = false});
  std::vector<std::string> found;
  const auto name_of = [&](NodeId id) { return capture.graph.find(id)->name; };
  const auto obligations = find_missing_guards(capture.graph, table(), guards);
  for (const auto& missing : obligations.missing)
    found.push_back(name_of(NodeId{missing.obligation.node}) + ": missing guard");
  for (const auto& claim : obligations.contradicted)
    found.push_back(fmt::format("{}: {}", name_of(claim.node), info(claim.kind).name));
  for (const auto& check : check_bounds(capture, table(), guards).checks)
    if (std::holds_alternative<Refuted>(check.answer))
      found.push_back(fmt::format("{}: {}", name_of(check.node), name(check.kind)));
  return found;
}
using Names = std::vector<std::string>;

const std::string kSlice =
    "k: \"Sym(u0)\" = torch.ops.aten._local_scalar_dense.default(n)\n"
    "        {}y: \"f32[u0, 3][3, 1]cpu\" = torch.ops.aten.slice.Tensor(x, 0, 0, k)\n"
    "        {}return (y,)";
const std::string kAssert =
    "le: \"Sym(u0 <= 10)\" = k <= 10\n"
    "        a = torch.ops.aten._assert_scalar.default(le, 'u0 <= 10')\n        ";
const std::string kInputs = "x: \"f32[10, 3][3, 1]cpu\", n: \"i64[][]cpu\"";

TEST(Asserted, ASliceByAnItemThatIsAssertedIsInBounds) {
  EXPECT_EQ(findings_of(kInputs, fmt::format(fmt::runtime(kSlice), kAssert, "")), Names{});
  const auto open = findings_of(kInputs, fmt::format(fmt::runtime(kSlice), "", ""));
  EXPECT_TRUE(std::ranges::count(open, "y: extent") > 0);
}

TEST(Asserted, TheOffsetOfAFreshStorageNeedsNoGuard) {
  // copy keeps the offset of what it copies into; its claim, as in PyTorch's fake mode, says 0.
  const auto copied = [](const std::string& reader) {
    return findings_of("n: \"Sym(s0)\", x: \"f32[9, 6][6, 1]cpu\", y: \"f32[2, 6][6, 1]cpu\"",
                       "# assay graph 1\n"
                       "        s: \"f32[2, 6][6, 1]cpu\" = torch.ops.aten.as_strided.default(x, "
                       "[2, 6], [6, 1], n)  # assay offset=s0\n"
                       "        c: \"f32[2, 6][6, 1]cpu\" = torch.ops.aten.copy.default(s, y)"
                       "  # assay offset=0\n        " +
                           reader + "\n        return (r,)");
  };
  EXPECT_EQ(std::ranges::count(copied("r: \"f32[2, 6][6, 1]cpu\" = torch.ops.aten.neg.default(c)"),
                               "c: missing guard"),
            0);
  EXPECT_EQ(
      std::ranges::count(copied("r: \"Sym(s0)\" = torch.ops.aten.sym_storage_offset.default(c)"),
                         "c: missing guard"),
      1);
}

TEST(Asserted, AnAssertThatComesAfterTheUseSaysNothing) {
  const auto late = findings_of(kInputs, fmt::format(fmt::runtime(kSlice), "", kAssert));
  EXPECT_TRUE(std::ranges::count(late, "y: extent") > 0);
}

TEST(Asserted, ASizeFromDataIsWhatTheRuleGivesWhereItComesUp) {
  const auto text = [](const std::string& size) {
    return "u = torch.ops.aten._unique2.default(x, True, True, True)\n"
           "        a: \"i64[u0][1]cpu\" = u[0]\n"
           "        b: \"i64[u0][1]cpu\" = u[2]\n"
           "        v: \"i64[" +
           size + "][1]cpu\" = torch.ops.aten.view.default(b, [-1])\n        return (a, v)";
  };
  EXPECT_EQ(findings_of("x: \"i64[12][1]cpu\"", text("u0")), Names{});
  EXPECT_FALSE(findings_of("x: \"i64[12][1]cpu\"", text("u0 + 1")).empty());
}

/// A graph of `body` on x, i and v, whose sizes may be 1, with the same hint for s1, s2 and s3.
auto graph_of(const std::string& body, std::int64_t least) -> Graph {
  auto graph = parse_graph(fmt::format(
      "class G(torch.nn.Module):\n    def forward(self, x: \"f32[s0, s1][s3, 1]\", "
      "i: \"i64[33][1]\", v: \"f32[33, s2][s2, 1]\"):\n        {}\n        return (y,)\n",
      body));
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  if (!graph) return {};
  for (const auto& symbol : std::vector(graph->env.symbols())) {
    graph->env.set_hint(symbol.expr, symbol.name == "s0" ? Expr(20) : Expr(8));
    graph->env.set_range(symbol.expr, {Expr(least), symbol.range.high});
  }
  return *std::move(graph);
}
auto required_of(const Graph& graph) -> Names {
  Names texts;
  for (const auto& guard : required_conditions(graph, table())) texts.push_back(guard.text);
  return texts;
}
const std::string kPut = "y = torch.ops.aten.index_put.default(x, [i], v, True)";

TEST(Asserted, WhatACallCannotDoWithoutIsRequired) {
  EXPECT_EQ(required_of(graph_of(kPut, 2)), Names{"Eq(s1, s2)"});
}

TEST(Asserted, ARequirementHoldsOnlyWhereTheRuleChoseSo) {
  // With sizes that may be 1 the values may broadcast, and then the sizes need not be equal.
  const auto graph = graph_of(kPut, 1);
  const auto required = required_conditions(graph, table());
  ASSERT_FALSE(required.empty());
  auto binding = graph.env.hints();
  binding[graph.env.find("s2")->expr] = Expr(1);
  for (const auto& guard : required)
    EXPECT_EQ(evaluate(guard.condition, binding).value_or(Expr()), Expr::boolean(true))
        << guard.text;
}

TEST(Asserted, AChoiceIsNotRequired) {
  // Whether the rows of x are adjacent decides on a layout, not on whether the call runs.
  const auto graph = graph_of("y = torch.ops.aten.clone.default(x)", 2);
  EXPECT_FALSE(run_symbolic(graph, table()).obligations.empty());
  EXPECT_EQ(required_of(graph), Names{});
}

}  // namespace
}  // namespace assay
