// Graphs in texts that hold other things too, and texts that end early.
#include <gtest/gtest.h>

#include "core/graph/text.h"

namespace assay {
namespace {

auto first(const std::string& text) -> GraphExcerpt {
  const auto places = graph_places(text);
  EXPECT_FALSE(places.empty()) << text;
  if (places.empty()) return {};
  auto excerpt = parse_graph_at(text, places.front());
  EXPECT_TRUE(excerpt.has_value()) << excerpt.error().message << "\n" << text;
  if (!excerpt) return {};
  for (const auto& defect : verify(excerpt->graph)) ADD_FAILURE() << defect.message;
  return *std::move(excerpt);
}

auto printed(const Graph& graph) -> std::string {
  return print_graph(graph, {.header = false});
}

auto error_of(const std::string& text) -> std::string {
  const auto places = graph_places(text);
  if (places.empty()) return "no graph";
  const auto excerpt = parse_graph_at(text, places.front());
  return excerpt ? "no error" : excerpt.error().message;
}

const std::string kHead = "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n";

TEST(GraphPlaces, TitlesAndLinesOfAllGraphs) {
  const auto places = graph_places(
      "some words\n ===== Forward graph 0 =====\n /lib/x.py class <lambda>(torch.nn.Module):\n"
      "    def forward(self, x):\n        return (x,)\n"
      "    class inner(torch.nn.Module):\n        def forward(self, x):\n            return (x,)\n"
      "more words\n"
      "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    return x\n"
      "def forward(self, x):\n    return x\n",
      10);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0].title, "Forward graph 0");
  EXPECT_EQ(places[0].line, 12);
  EXPECT_EQ(places[1].title, "");
  EXPECT_EQ(places[1].line, 19);
  EXPECT_EQ(places[2].line, 22);
}

TEST(GraphExcerpt, EndsWhereTheGraphEnds) {
  const std::string text = kHead + "        return (x,)\n\nGraph signature:\n    x: USER_INPUT\n";
  const auto excerpt = first(text);
  EXPECT_EQ(text.substr(excerpt.end), "Graph signature:\n    x: USER_INPUT\n");
  EXPECT_EQ(excerpt.end_line, 5);
  EXPECT_TRUE(excerpt.warnings.empty());
}

TEST(GraphExcerpt, LinesCountFromTheFile) {
  const std::string text = kHead + "        y = -q\n        return (y,)\n";
  const auto places = graph_places(text, 100);
  const auto excerpt = parse_graph_at(text, places.at(0));
  ASSERT_FALSE(excerpt);
  EXPECT_EQ(excerpt.error().message, "line 102, column 14: unknown name \"q\"");
}

TEST(GraphExcerpt, FencesAndRemarksAreNoPartOfIt) {
  const auto excerpt = first("```\n" + kHead +
                             "        y = -x;  x = None\n        return (y,)\n  ```\n"
                             "  and then\n  ```\n  class B(torch.nn.Module):\n");
  EXPECT_EQ(printed(excerpt.graph), kHead + "        y = -x\n        return (y,)\n");
  EXPECT_EQ(graph_places("```\n" + kHead + "  ```\n  " + kHead).size(), 2U);
}

TEST(GraphExcerpt, ATextThatEndsInsideAStatementIsReadUpToThere) {
  for (const std::string tail : {"        z = torch.ops.aten.add.Tensor(y, 1", "        z: \"f32[2",
                                 "        z = ", "        z: f3"}) {
    const auto excerpt = first(kHead + "        y = -x\n        w = ~x\n" + tail);
    EXPECT_EQ(printed(excerpt.graph),
              kHead + "        y = -x\n        w = ~x\n        return (y, w)\n")
        << tail;
    ASSERT_EQ(excerpt.warnings.size(), 1U) << tail;
    EXPECT_TRUE(excerpt.warnings[0].contains("3 nodes before it were read")) << excerpt.warnings[0];
  }
}

TEST(GraphExcerpt, AGraphWithoutItsReturnSaysWhere) {
  const auto excerpt = first(kHead + "        y = -x\nThen it fails.\n");
  EXPECT_EQ(
      excerpt.warnings,
      std::vector<std::string>{
          "line 4: the function ends without a return statement; 2 nodes before it were read"});
  EXPECT_NE(excerpt.graph.output(), nullptr);
}

TEST(GraphExcerpt, LeftOutLinesEndIt) {
  const auto excerpt = first(kHead + "        y = -x\n        ...\n        return (q,)\n");
  EXPECT_EQ(excerpt.warnings,
            std::vector<std::string>{
                "line 4: the text leaves something out here; 2 nodes before it were read"});
}

TEST(GraphExcerpt, AnErrorInTheMiddleStaysAnError) {
  EXPECT_EQ(error_of(kHead + "        y = -q\n        return (y,)\n"),
            "line 3, column 14: unknown name \"q\"");
}

TEST(GraphExcerpt, AnnotationsWithoutQuotes) {
  const auto graph =
      first(
          "def forward(self, a: Sym(s0), x: f32[s0, 4], w: f32[], k: Optional[int] = None):\n"
          "    y: i64[4, 1] = torch.ops.aten.f.default(x, a)\n"
          "    z: Sym(s0 >= 2) = a >= 2\n    return (y,)\n")
          .graph;
  EXPECT_EQ(printed(graph),
            "class GraphModule(torch.nn.Module):\n"
            "    def forward(self, a: \"Sym(s0)\", x: \"f32[s0, 4]\", w: \"f32[]\", k):\n"
            "        y: \"i64[4, 1]\" = torch.ops.aten.f.default(x, a)\n"
            "        z: \"Sym(s0 >= 2)\" = a >= 2\n"
            "        return (y,)\n");
  EXPECT_TRUE(error_of("def forward(self, x: f33[2]):\n    return x\n")
                  .starts_with("line 1, column 22: unknown dtype abbreviation \"f33\""));
}

TEST(GraphExcerpt, JointGraphsAnnotateNamesBeforeTheyDefineThem) {
  const std::string text =
      "class inner_f(torch.nn.Module):\n"
      "    def forward(self, primals, tangents):\n"
      "        primals_1: \"f32[3][1]cpu\"; tangents_1: \"f32[3][1]cpu\"; \n"
      "\n"
      "        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], "
      "self._in_spec)\n"
      "        mul: \"f32[3][1]cpu\" = torch.ops.aten.mul.Tensor(tangents_1, primals_1)\n"
      "        return pytree.tree_unflatten([mul, None], self._out_spec)\n";
  const auto graph = first(text).graph;
  ASSERT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(graph.nodes[0].name, "primals_1");
  EXPECT_EQ(to_string(*graph.nodes[1].claim.tensor()), "f32[3][1]cpu");
  EXPECT_EQ(error_of("def forward(self, x):\n    y: \"f32[3][1]cpu\"\n    return x\n"),
            "line 2, column 5: unknown name \"y\"");
}

TEST(GraphExcerpt, BoxedArgumentsAreTheListTheyName) {
  const auto graph = first(kHead +
                           "        body = self.body\n"
                           "        wrap_boxed_arg_1 = [x, x];  x = None\n"
                           "        wrap = torch.ops.higher_order.wrap(body, wrap_boxed_arg_1);  "
                           "wrap_boxed_arg_1 = None\n"
                           "        return (wrap,)\n")
                         .graph;
  EXPECT_EQ(print_call(graph, graph.nodes[2]), "torch.ops.higher_order.wrap(body, [x, x])");
}

TEST(GraphExcerpt, TablesAreGraphs) {
  const auto excerpt = first(
      "opcode         name     target                       args         kwargs\n"
      "-------------  -------  ---------------------------  -----------  ----------\n"
      "placeholder    x        x                            ()           {}\n"
      "call_function  add      <built-in function add>      (x, 1)       {}\n"
      "call_function  sum_1    aten.sum.dim_IntList         (add, [0])   {'dtype': torch.float64}\n"
      "call_method    view     view                         (sum_1, -1)  {}\n"
      "output         output   output                       ((view,),)   {}\n"
      "after it\n");
  const auto& graph = excerpt.graph;
  ASSERT_EQ(graph.nodes.size(), 5U);
  EXPECT_EQ(print_call(graph, graph.nodes[1]), "x + 1");
  EXPECT_EQ(print_call(graph, graph.nodes[2]),
            "torch.ops.aten.sum.dim_IntList(add, [0], dtype = torch.float64)");
  EXPECT_EQ(print_call(graph, graph.nodes[3]), "sum_1.view(-1)");
  EXPECT_EQ(print_call(graph, graph.nodes[4]), "return (view,)");
  const auto cut = first(
      "placeholder    x     x      ()      {}\n"
      "call_method    view  view   (x, -1) \n"
      "c\n");
  EXPECT_EQ(cut.warnings,
            std::vector<std::string>{"line 3: the graph has no output; 2 nodes were read"});
}

TEST(GraphExcerpt, StrOfGraphMayHoldClaims) {
  const auto graph =
      first(
          "graph():\n"
          "    %x : Tensor \"f32[4, 2][2, 1]cuda:0\"[num_users=1] = placeholder[target=x]\n"
          "    %neg : Tensor \"f32[4, 2][2, 1]cuda:0\"[num_users=1] = "
          "call_function[target=torch.ops.aten.neg.default](args = (%x,), kwargs = {})\n"
          "    return neg\n")
          .graph;
  EXPECT_EQ(to_string(*graph.nodes[1].claim.tensor()), "f32[4, 2][2, 1]cuda:0");
}

TEST(ParseGraph, ConditionalSizesAreExpressions) {
  const auto graph = first(kHead +
                           "        y = torch.ops.aten.f(x, 1 if (s58 // 2) > 0 else 0)\n"
                           "        return (y,)\n")
                         .graph;
  const auto* e = std::get_if<Expr>(&graph.nodes[1].args.at(1).value);
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(e->symbols().size(), 1U);
}

}  // namespace
}  // namespace assay
