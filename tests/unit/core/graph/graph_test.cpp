#include "core/graph/graph.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/graph/text.h"

namespace assay {
namespace {

auto placeholder(const std::string& name) -> Node {
  Node node;
  node.kind = NodeKind::placeholder;
  node.name = node.target = name;
  return node;
}

auto call(const std::string& name, const std::string& target, std::vector<Arg> args) -> Node {
  Node node;
  node.name = name;
  node.target = target;
  node.args = std::move(args);
  return node;
}

auto output(Arg value) -> Node {
  Node node;
  node.kind = NodeKind::output;
  node.name = node.target = "output";
  node.args = {std::move(value)};
  return node;
}

/// x -> relu(x) -> output
auto small_graph() -> Graph {
  Graph graph;
  const auto x = graph.add(placeholder("x"));
  const auto y = graph.add(call("y", "aten.relu.default", {Arg{x}}));
  graph.add(output(Arg{SequenceArg{{Arg{y}}, true}}));
  return graph;
}

auto messages(const Graph& graph) -> std::string {
  std::string text;
  for (const auto& defect : verify(graph)) text += defect.message + "\n";
  return text;
}

TEST(Graph, AddGivesIdsThatAreNeverReused) {
  auto graph = small_graph();
  graph.nodes.erase(graph.nodes.begin() + 1);
  EXPECT_EQ(graph.add(call("z", "aten.neg.default", {})).value, 3);
}

TEST(Graph, AddKeepsAnIdThatIsGivenAndContinuesBehindIt) {
  Graph graph;
  auto node = placeholder("x");
  node.id.value = 7;
  EXPECT_EQ(graph.add(node).value, 7);
  EXPECT_EQ(graph.add(placeholder("y")).value, 8);
}

TEST(Graph, FindByIdWorksAfterRemovalsAndInsertions) {
  auto graph = small_graph();
  graph.nodes.erase(graph.nodes.begin());
  graph.add(call("late", "aten.neg.default", {}));
  std::rotate(graph.nodes.begin(), graph.nodes.end() - 1, graph.nodes.end());
  for (const auto& node : graph.nodes) EXPECT_EQ(graph.find(node.id), &node);
  EXPECT_EQ(graph.find(NodeId{0}), nullptr);
  EXPECT_EQ(graph.find(NodeId{-1}), nullptr);
  EXPECT_EQ(graph.find("late")->id.value, 3);
}

TEST(Graph, OutputAndCallCount) {
  const auto graph = small_graph();
  ASSERT_NE(graph.output(), nullptr);
  EXPECT_EQ(graph.output()->name, "output");
  EXPECT_EQ(graph.call_count(), 1);
  EXPECT_EQ(Graph{}.output(), nullptr);
}

TEST(Graph, OperandsComeInOrderWithRepetitions) {
  const NodeId a{3};
  const NodeId b{5};
  auto node = call("n", "f", {Arg{SequenceArg{{Arg{b}, Arg{a}}, false}}, Arg{a}});
  node.kwargs.emplace_back("k", Arg{DictArg{{{"x", Arg{SliceArg{{Arg{b}, Arg{}, Arg{}}}}}}}});
  EXPECT_EQ(operands(node), (std::vector<NodeId>{b, a, a, b}));
}

TEST(Graph, VisitRefsCanRewriteReferences) {
  Arg arg{SequenceArg{{Arg{NodeId{1}}, Arg{Expr(2)}}, false}};
  visit_refs(arg, [](NodeId& id) { id.value = 9; });
  EXPECT_EQ(arg, (Arg{SequenceArg{{Arg{NodeId{9}}, Arg{Expr(2)}}, false}}));
}

TEST(Verify, AcceptsAWellFormedGraph) {
  EXPECT_EQ(messages(small_graph()), "");
}

TEST(Verify, NamesUnknownAndLaterOperands) {
  auto graph = small_graph();
  graph.nodes[1].args = {Arg{NodeId{42}}};
  EXPECT_EQ(messages(graph), "node y: refers to unknown node id 42\n");
  graph.nodes[1].args = {Arg{NodeId{1}}};
  EXPECT_EQ(messages(graph), "node y: refers to y, which is not defined before it\n");
}

TEST(Verify, ListsEveryBrokenRuleAndNotOnlyTheFirst) {
  auto graph = small_graph();
  graph.nodes[1].name = "x";
  graph.nodes[1].id = graph.nodes[0].id;
  graph.nodes[2].args.clear();
  EXPECT_EQ(messages(graph),
            "node x: id 0 is used before\n"
            "node x: name is used before\n"
            "node output: output has 0 arguments instead of one\n");
}

TEST(Verify, WantsExactlyOneOutputAtTheEnd) {
  auto graph = small_graph();
  std::swap(graph.nodes[1], graph.nodes[2]);
  EXPECT_NE(messages(graph).find("node output: output is not the last node"), std::string::npos);
  graph = small_graph();
  graph.nodes.pop_back();
  EXPECT_EQ(messages(graph), "graph has 0 output nodes\n");
}

TEST(Verify, ChecksPlaceholders) {
  auto graph = small_graph();
  graph.nodes[0].args = {Arg{Expr(1)}};
  EXPECT_EQ(messages(graph), "node x: placeholder has arguments\n");
  graph = small_graph();
  std::swap(graph.nodes[0], graph.nodes[1]);
  EXPECT_NE(messages(graph).find("node x: placeholder follows other nodes"), std::string::npos);
}

TEST(Verify, ChecksRanksAndExpressionsOfClaims) {
  auto graph = small_graph();
  TensorMeta meta;
  meta.sizes = {2, 3};
  meta.strides = {3};
  graph.nodes[0].claim.value = meta;
  EXPECT_EQ(messages(graph), "node x: claim has 2 sizes but 1 strides\n");
  graph = small_graph();
  graph.nodes[1].claim.value = Expr::invalid();
  EXPECT_EQ(messages(graph), "node y: claim is not a valid expression\n");
  ExprPool elsewhere;
  graph.nodes[1].claim.value = elsewhere.symbol("s0");
  EXPECT_EQ(messages(graph), "node y: claim belongs to another capture\n");
}

TEST(Verify, RecursesIntoChildren) {
  auto graph = small_graph();
  auto child = small_graph();
  child.nodes[1].args = {Arg{NodeId{42}}};
  graph.children.emplace_back("body", std::move(child));
  EXPECT_EQ(messages(graph), "body: node y: refers to unknown node id 42\n");
}

TEST(Verify, RejectsNamesThatPythonCannotHave) {
  auto graph = small_graph();
  graph.nodes[1].name = "two words";
  EXPECT_EQ(messages(graph), "node two words: name is not a Python identifier\n");
  graph.nodes[1].name = "lambda";
  EXPECT_EQ(messages(graph), "node lambda: name is not a Python identifier\n");
}

TEST(Structure, NamesIdsAndOriginsDoNotEnter) {
  const auto a = small_graph();
  auto b = small_graph();
  b.class_name = "Other";
  for (auto& node : b.nodes) {
    node.name += "_renamed";
    node.id.value += 10;
    node.line = 5;
    node.origin = Origin{"f.py", 1, "g", "h", ""};
  }
  b.nodes[1].args = {Arg{b.nodes[0].id}};
  b.nodes[2].args = {Arg{SequenceArg{{Arg{b.nodes[1].id}}, true}}};
  EXPECT_TRUE(same_structure(a, b));
  EXPECT_EQ(structural_hash(a), structural_hash(b));
}

TEST(Structure, TargetsArgumentsConnectionsAndClaimsEnter) {
  const auto a = small_graph();
  const auto differs = [&](const std::function<void(Graph&)>& edit) {
    auto b = small_graph();
    edit(b);
    EXPECT_FALSE(same_structure(a, b));
    EXPECT_NE(structural_hash(a), structural_hash(b));
  };
  differs([](Graph& g) { g.nodes[1].target = "aten.neg.default"; });
  differs([](Graph& g) { g.nodes[1].args.push_back(Arg{Expr(1)}); });
  differs([](Graph& g) { g.nodes[1].kwargs.emplace_back("k", Arg{Expr(1)}); });
  differs([](Graph& g) { g.nodes[2].args = {Arg{SequenceArg{{Arg{NodeId{0}}}, true}}}; });
  differs([](Graph& g) { g.nodes[1].claim.value = Expr(3); });
  differs([](Graph& g) { g.children.emplace_back("body", Graph{}); });
}

TEST(Structure, IntFloatAndBoolAreDifferentArguments) {
  const auto with = [](Expr value) {
    auto graph = small_graph();
    graph.nodes[1].args.push_back(Arg{value});
    return graph;
  };
  EXPECT_FALSE(same_structure(with(1), with(Expr::real(1))));
  EXPECT_FALSE(same_structure(with(1), with(Expr::boolean(true))));
  EXPECT_NE(structural_hash(with(1)), structural_hash(with(Expr::real(1))));
  EXPECT_NE(structural_hash(with(1)), structural_hash(with(Expr::boolean(true))));
}

TEST(Structure, ClaimsCanBeLeftOut) {
  const auto a = small_graph();
  auto b = small_graph();
  b.nodes[1].claim.value = Expr(3);
  EXPECT_TRUE(same_structure(a, b, false));
}

TEST(Structure, GraphsOfDifferentPoolsCompareBySymbolNames) {
  const auto with_symbol = [](std::string_view name) {
    auto graph = small_graph();
    const auto symbol = graph.env.add_symbol(name);
    graph.nodes[1].claim.value = *symbol * 4 + 1;
    return graph;
  };
  EXPECT_TRUE(same_structure(with_symbol("s0"), with_symbol("s0")));
  EXPECT_EQ(structural_hash(with_symbol("s0")), structural_hash(with_symbol("s0")));
  EXPECT_FALSE(same_structure(with_symbol("s0"), with_symbol("s1")));
  EXPECT_NE(structural_hash(with_symbol("s0")), structural_hash(with_symbol("s1")));
}

TEST(Structure, ListsAndTuplesAreEqual) {
  const auto a = small_graph();
  auto b = small_graph();
  std::get<SequenceArg>(b.nodes[2].args[0].value).is_tuple = false;
  EXPECT_TRUE(same_structure(a, b));
  EXPECT_EQ(structural_hash(a), structural_hash(b));
}

TEST(CanonicalTarget, BringsAllSpellingsTogether) {
  const std::pair<const char*, const char*> cases[] = {
      {"torch.ops.aten.add.Tensor", "aten.add.Tensor"},
      {"aten.add.Tensor", "aten.add.Tensor"},
      {"torch.ops.higher_order.cond", "higher_order.cond"},
      {"<built-in function mul>", "operator.mul"},
      {"_operator.mul", "operator.mul"},
      {"operator.mul", "operator.mul"},
      {"<built-in function getitem>", "operator.getitem"},
      {"<built-in function iadd>", "operator.iadd"},
      {"<function sym_sum at 0x7fd19050ae80>", "torch.sym_sum"},
      {"torch.sym_sum", "torch.sym_sum"},
      {"<built-in function ceil>", "math.ceil"},
      {"math.ceil", "math.ceil"},
      {"math_ceil", "math.ceil"},
      {"<built-in function max>", "builtins.max"},
      {"max", "builtins.max"},
      {"<built-in function abs>", "operator.abs"},
      {"builtins.abs", "operator.abs"},
      {"<built-in function pow>", "operator.pow"},
      {"<built-in method matmul of type object at 0x7f>", "torch.matmul"},
      {"<OpOverload(op='aten.add', overload='Tensor')>", "aten.add.Tensor"},
      {"torch.nn.functional.linear", "torch.nn.functional.linear"},
      {"my_function", "my_function"},
  };
  for (const auto& [from, to] : cases) EXPECT_EQ(canonical_target(from), to) << from;
}

TEST(CanonicalTarget, IsIdempotent) {
  for (const char* text :
       {"torch.ops.aten.add.Tensor", "<built-in function mul>", "math_ceil", "max"})
    EXPECT_EQ(canonical_target(canonical_target(text)), canonical_target(text));
}

}  // namespace
}  // namespace assay
