// What a graph makes sure of by itself needs no guard.
#include "replay/runner/asserted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/expr/text.h"
#include "core/graph/text.h"
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
  for (const auto& missing : find_missing_guards(capture.graph, table(), guards).missing)
    found.push_back(name_of(NodeId{missing.obligation.node}) + ": missing guard");
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

/// Conditions that a graph with these hints needs, printed.
auto required_of(const std::string& body, const std::map<std::string, int>& hints) -> Names {
  auto graph = parse_graph(fmt::format(
      "class G(torch.nn.Module):\n    def forward(self, x: \"f32[s0, s1]\", i: \"i64[33]\", "
      "v: \"f32[33, s2]\"):\n        {}\n        return (y,)\n",
      body));
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  if (!graph) return {};
  for (const auto& [name, hint] : hints)
    graph->env.set_hint(graph->env.find(name)->expr, Expr(hint));
  Names texts;
  for (const auto& guard : required_conditions(*graph, table())) texts.push_back(guard.text);
  return texts;
}

TEST(Asserted, WhatACallCannotDoWithoutIsRequired) {
  const auto put = "y = torch.ops.aten.index_put.default(x, [i], v, True)";
  EXPECT_EQ(required_of(put, {{"s0", 20}, {"s1", 8}, {"s2", 8}}), Names{"Eq(s1, s2)"});
}

TEST(Asserted, AChoiceIsNotRequired) {
  // Whether the rows are adjacent decides on a layout, not on whether the call runs.
  const auto view = "y = torch.ops.aten.clone.default(v)";
  EXPECT_EQ(required_of(view, {{"s0", 20}, {"s1", 8}, {"s2", 8}}), Names{});
}

}  // namespace
}  // namespace assay
