#include "core/graph/text.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

/// A module around the lines of a body.
auto module(const std::string& signature, const std::vector<std::string>& lines) -> std::string {
  std::string text =
      "class GraphModule(torch.nn.Module):\n    def forward(self" + signature + "):\n";
  for (const auto& line : lines) text += "        " + line + "\n";
  return text;
}

auto parsed(const std::string& text) -> Graph {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << graph.error().message << "\n" << text;
  if (!graph) return {};
  for (const auto& defect : verify(*graph)) ADD_FAILURE() << defect.message;
  return *std::move(graph);
}

auto error_of(const std::string& text) -> std::string {
  const auto graph = parse_graph(text);
  return graph ? "no error" : graph.error().message;
}

/// Without header, as PyTorch would print it.
auto printed(const Graph& graph) -> std::string {
  return print_graph(graph, {.header = false});
}

/// The only line of a body over x and y, parsed and printed.
auto line_again(const std::string& line) -> std::string {
  const auto text = printed(parsed(module(", x, y", {line, "return (x,)"})));
  const auto start = text.find("y):\n") + 12;
  return text.substr(start, text.find("        return") - start - 1);
}

TEST(ParseGraph, ReadsAModule) {
  const auto graph = parsed(
      "class <lambda>(torch.nn.Module):\n"
      "    def forward(self, a: \"Sym(s77)\", x: \"f32[s77, 4][4, 1]cpu\"):\n"
      "        # File: m.py:7 in forward, code: y = x.sum(-1)\n"
      "        sum_1: \"f32[s77][1]cpu\" = torch.ops.aten.sum.dim_IntList(x, [-1], True, dtype = "
      "torch.float32);  x = None\n"
      "\n"
      "        # No stacktrace found for following nodes\n"
      "        mul = a * 2;  a = None\n"
      "        return (sum_1, mul)\n");
  EXPECT_EQ(graph.class_name, "<lambda>");
  ASSERT_EQ(graph.nodes.size(), 5U);
  const auto& sum = graph.nodes[2];
  EXPECT_EQ(sum.target, "aten.sum.dim_IntList");
  EXPECT_EQ(sum.line, 4);
  ASSERT_EQ(sum.args.size(), 3U);
  EXPECT_EQ(sum.args[0], Arg{graph.nodes[1].id});
  EXPECT_EQ(sum.args[1], (Arg{SequenceArg{{Arg{Expr(-1)}}, false}}));
  EXPECT_EQ(sum.args[2], Arg{Expr::boolean(true)});
  ASSERT_EQ(sum.kwargs.size(), 1U);
  EXPECT_EQ(sum.kwargs[0].second, Arg{DType::float32});
  ASSERT_TRUE(sum.origin.has_value());
  EXPECT_EQ(*sum.origin, (Origin{"m.py", 7, "forward", "y = x.sum(-1)", ""}));
  EXPECT_EQ(graph.nodes[3].target, "operator.mul");
  EXPECT_FALSE(graph.nodes[3].origin.has_value());
  EXPECT_EQ(graph.nodes[4].kind, NodeKind::output);
  ASSERT_NE(graph.env.find("s77"), nullptr);
}

TEST(ParseGraph, PrintsEveryArgumentAsItWas) {
  const std::string full =
      "z = torch.ops.aten.full.default([2, 3], -1.5, dtype = torch.float64, layout = "
      "torch.strided, device = device(type='cuda', index=0), pin_memory = False)";
  for (const std::string& line : std::initializer_list<std::string>{
           full,
           "z = torch.ops.aten.add.Tensor(x, y, alpha = 2)",
           "z = torch.ops.aten.clone.default(x, memory_format = torch.contiguous_format)",
           "z = torch.ops.aten.eq.Scalar(x, -inf)",
           "z = torch.ops.aten.eq.Scalar(x, nan)",
           "z = torch.ops.aten.add.Scalar(x, 1e-05)",
           "z = torch.ops.aten.add.Scalar(x, 16.0)",
           "z = torch.ops.aten.add.Scalar(x, 1e+16)",
           "z = torch.ops.aten.mul.Scalar(x, 2j)",
           "z = torch.ops.aten.mul.Scalar(x, (1+2j))",
           "z = torch.ops.aten.mul.Scalar(x, complex(1.0, -2.0))",
           "z = torch.ops.aten.div.Tensor_mode(x, y, rounding_mode = 'floor')",
           "z = torch.ops.aten.index.Tensor(x, [None, y])",
           "z = torch.ops.aten.slice.Tensor(x, 0, 0, 9223372036854775807)",
           "z = torch.ops.aten.slice.Tensor(x, 0, -9223372036854775808, 1)",
           "z = torch.ops.higher_order.f(x, kwargs = {'in_ptr0': x, 'n': [1, (2,)]})",
           "z = torch.ops.aten.f(x, ())",
           "z = torch.ops.aten.f(x, slice(None, 2, None))",
           "z = torch.ops.aten.f(x, 'it\\'s \"quoted\"\\n')",
           "z = torch.ops.aten.f(x, (s7 + 1)*2)",
           "z = torch.ops.aten.f(x, my.Enum.member)",
           "z = torch.ops.aten.f(x, Ellipsis)",
           "z = torch.sym_sum((1, x))",
           "z = math.ceil(x)",
           "z = max(x, 1)",
           "z = abs(x)",
           "z = operator.index(x)",
           "z = x[0]",
           "z = x[(slice(None, None, None), 0)]",
           "z = x % 8",
           "z = 8 - x",
           "z = -x",
           "z = ~x",
           "z = x == y",
           "z = (-2) ** x",
           "z = x ** -2",
           "z = x.shape",
           "z = x.view(-1, 4)",
           "z = self.linear(x)",
           "z = self._tensor_constant0",
           "x[0] = y;  setitem = x",
           "x[0] = None;  setitem = x",
           "x += y;  iadd = x",
       }) {
    auto wanted = line;
    if (line.contains("s7 + 1")) wanted = "z = torch.ops.aten.f(x, 2*s7 + 2)";
    EXPECT_EQ(line_again(line), wanted);
  }
}

TEST(ParseGraph, ReadsOtherSpellings) {
  const std::pair<const char*, const char*> cases[] = {
      {"z = math_ceil(x)", "z = math.ceil(x)"},
      {"z = _operator.add(x, y)", "z = x + y"},
      {"z = operator.getitem(x, 0)", "z = x[0]"},
      {"z = x[1:, ..., ::2]", "z = x[(slice(1, None, None), Ellipsis, slice(None, None, 2))]"},
      {"z = getattr(self, \"0\").weight", "z = getattr(self, '0').weight"},
      {"z = getattr(self.block, \"0\")(x)", "z = getattr(self.block, '0')(x)"},
      {"z = getattr(x, \"shape\")", "z = x.shape"},
      {"z = getattr(x, \"größe\")", "z = x.größe"},
      {"z = getattr(x, \"\\udcff\\udcff\")", "z = getattr(x, '\\udcff\\udcff')"},
      {"z = torch.ops.aten.f(torch.device('cuda:1'))",
       "z = torch.ops.aten.f(device(type='cuda', index=1))"},
      {"z = torch.ops.aten.f(math.inf, float('-inf'))", "z = torch.ops.aten.f(inf, -inf)"},
      {"z = torch.ops.aten.f('a' \"b\")", "z = torch.ops.aten.f('ab')"},
      {"x[0] = y", "x[0] = y;  setitem = x"},
      {"z = torch.ops.aten.f(0x10, 1_000)", "z = torch.ops.aten.f(16, 1000)"},
  };
  for (const auto& [line, wanted] : cases) EXPECT_EQ(line_again(line), wanted);
}

TEST(ParseGraph, PlacesErrors) {
  const auto in_line = [](const std::string& line) {
    return error_of(module(", x", {line, "return (x,)"}));
  };
  EXPECT_EQ(in_line("z = torch.ops.aten.neg.default(q)"), "line 3, column 40: unknown name \"q\"");
  EXPECT_EQ(in_line("x = torch.ops.aten.neg.default(x)"),
            "line 3, column 9: \"x\" is defined twice");
  EXPECT_EQ(in_line("z: \"f33[2]\" = -x").substr(0, 60),
            "line 3, column 12: unknown dtype abbreviation \"f33\", known a");
  EXPECT_EQ(in_line("z = torch.ops.aten.f(x + 1)"),
            "line 3, column 30: calculation inside an argument; FX writes one operation per line");
  EXPECT_EQ(in_line("z = 5"), "line 3, column 13: expected an operation, found a literal");
  EXPECT_EQ(in_line("z = f(x"), "line 4, column 9: expected \",\" or \")\", found return");
  EXPECT_EQ(in_line("if x:"), "line 3, column 9: \"if\" statements are not part of a graph");
  EXPECT_EQ(in_line("z = x(1)"), "line 3, column 13: \"x\" is a value and cannot be called");
  EXPECT_EQ(in_line("z = f(a = 1, a = 2)"),
            "line 3, column 22: keyword argument \"a\" is given twice");
  EXPECT_EQ(in_line("z = f(g(x))"),
            "line 3, column 15: a value inside an expression that is not understood");
  EXPECT_EQ(in_line("z = -x  # assay colour=red"),
            "line 3, column 17: \"colour=red\" is no note on a claim");
}

TEST(ParseGraph, RejectsWhatIsNoGraph) {
  EXPECT_EQ(error_of("").substr(0, 25), "line 1: no graph here; ex");
  EXPECT_EQ(error_of("hello\n").substr(0, 25), "line 1: no graph here; ex");
  EXPECT_EQ(error_of("class A(torch.nn.Module):\n    pass\n"),
            "line 1, column 1: class A has no forward");
  EXPECT_EQ(error_of(module(", x", {"y = -x"})),
            "line 2, column 5: the function has no return statement; is the text cut off?");
  EXPECT_EQ(error_of(module("", {"return ()"}) + module("", {"return ()"})),
            "line 4, column 1: a second graph starts here");
  EXPECT_EQ(error_of(module("", {"return ()", "return ()"})),
            "line 4, column 9: statement after return");
}

TEST(ParseGraph, DropsLivenessAndRenamesPlaceholders) {
  const auto graph = parsed(
      module(", input", {"input_1 = input", "neg = -input_1;  input_1 = None", "return (neg,)"}));
  EXPECT_EQ(graph.nodes[0].name, "input_1");
  EXPECT_EQ(graph.nodes[0].target, "input");
  EXPECT_EQ(printed(graph),
            module(", input", {"input_1 = input", "neg = -input_1", "return (neg,)"}));
}

TEST(ParseGraph, ReadsOneParameterPerLine) {
  const auto graph = parsed(
      "class GraphModule(torch.nn.Module):\n"
      "    def forward(\n"
      "        self,\n"
      "        x: \"f32[4][1]cpu\",  # PlainAOTInput(idx=0)\n"
      "        y: \"f32[2][1]cpu\",  # assay offset=3, requires_grad\n"
      "    ):\n"
      "        return (x, y)\n");
  EXPECT_EQ(graph.nodes[0].claim.tensor()->offset, Expr(0));
  EXPECT_EQ(graph.nodes[1].claim.tensor()->offset, Expr(3));
  EXPECT_TRUE(graph.nodes[1].claim.tensor()->requires_grad);
  EXPECT_TRUE(same_structure(graph, parsed(printed(graph))));
}

TEST(ParseGraph, ReadsDynamoParameters) {
  const auto graph =
      parsed(module(", L_x_ : torch.Tensor, s77 : torch.SymInt, k = None, *args, **kwargs",
                    {"l_x_ = L_x_", "return (l_x_,)"}));
  EXPECT_EQ(graph.nodes[0].name, "l_x_");
  EXPECT_EQ(graph.nodes[3].target, "*args");
  EXPECT_EQ(graph.nodes[4].target, "**kwargs");
  EXPECT_TRUE(graph.nodes[0].claim.empty());
}

TEST(ParseGraph, PytreeNamesReplaceParameters) {
  const auto graph =
      parsed(module(", a, b", {"x, y, = fx_pytree.tree_flatten_spec(([a, b], {}), self._in_spec)",
                               "add = torch.ops.aten.add.Tensor(x, y)",
                               "return pytree.tree_unflatten([add, x], self._out_spec)"}));
  ASSERT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(graph.nodes[0].name, "x");
  EXPECT_EQ(graph.nodes[1].name, "y");
  EXPECT_EQ(std::get<SequenceArg>(graph.nodes[3].args[0].value).items.size(), 2U);
}

TEST(ParseGraph, ReadsNestedClassesAsChildren) {
  const std::string text =
      "class GraphModule(torch.nn.Module):\n"
      "    def forward(self, p: \"b8[][]cpu\", x: \"f32[s0][1]cpu\"):\n"
      "        true_graph_0 = self.true_graph_0\n"
      "        cond = torch.ops.higher_order.cond(p, true_graph_0, true_graph_0, (x,))\n"
      "        return (cond,)\n"
      "\n"
      "    class true_graph_0(torch.nn.Module):\n"
      "        def forward(self, arg0_1: \"f32[s0][1]cpu\"):\n"
      "            sin: \"f32[s0][1]cpu\" = torch.ops.aten.sin.default(arg0_1)\n"
      "            return (sin,)\n";
  const auto graph = parsed(text);
  const auto* child = graph.child("true_graph_0");
  ASSERT_NE(child, nullptr);
  EXPECT_EQ(child->nodes.size(), 3U);
  EXPECT_EQ(&child->env.pool(), &graph.env.pool());
  EXPECT_EQ(printed(graph), text);
}

TEST(ParseGraph, ReadsBareFunctionsAndLogOutput) {
  EXPECT_EQ(parsed("def forward(self, x):\n    y = -x;  x = None\n    return y\n").nodes.size(),
            3U);
  const auto logged = parsed(
      "TRACED GRAPH\n ===== __compiled_fn_1 =====\n"
      " /lib/torch/fx/_lazy_graph_module.py class GraphModule(torch.nn.Module):\n"
      "    def forward(self, x):\n        return (x,)\n");
  EXPECT_EQ(logged.nodes.size(), 2U);
}

TEST(ParseGraph, IgnoresColours) {
  const auto graph = parsed(
      "class GraphModule(torch.nn.Module):\n"
      "    def forward(self, x: \"\x1b[31mf32\x1b[0m\x1b[34m[4]\x1b[0m\x1b[2m[1]\x1b[0mcpu\"):\n"
      "        return (x,)\n");
  EXPECT_EQ(to_string(*graph.nodes[0].claim.tensor()), "f32[4][1]cpu");
}

TEST(ParseGraph, AcceptsNewerCommentPrefixes) {
  const auto graph = parsed(module(", x", {"# Annotation: {'a': 1} File: m.py:3 in f, code: -x",
                                           "# recompute: MUST", "y = -x", "return (y,)"}));
  EXPECT_EQ(graph.nodes[1].origin->file, "m.py");
  EXPECT_EQ(graph.nodes[1].origin->line, 3);
}

TEST(ParseGraph, ReadsStrOfGraph) {
  const auto graph = parsed(
      "graph():\n"
      "    %x : torch.Tensor [num_users=2] = placeholder[target=x]\n"
      "    %w : [num_users=1] = get_attr[target=w]\n"
      "    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, 1), "
      "kwargs = {alpha: 2, mode: floor, dtype: torch.float32})\n"
      "    %mul : [#users=1] = call_function[target=operator.mul](args = (%add, %w), kwargs = {})\n"
      "    return (%mul,)\n");
  ASSERT_EQ(graph.nodes.size(), 5U);
  EXPECT_EQ(print_call(graph, graph.nodes[2]),
            "torch.ops.aten.add.Tensor(x, 1, alpha = 2, mode = 'floor', dtype = torch.float32)");
  EXPECT_EQ(print_call(graph, graph.nodes[3]), "add * w");
  EXPECT_EQ(error_of("graph():\n    %x : [num_users=0] = nonsense\n    return x\n"),
            "line 2: expected KIND[target=...]");
  EXPECT_EQ(error_of("graph():\n    %x : [num_users=0] = placeholder[target=x]\n"),
            "line 2: the graph has no return line");
  EXPECT_EQ(error_of("graph():\n    %x : [num_users=0] = get_attr[target=w\xff]\n    return x\n"),
            "line 2, column 43: invalid UTF-8");
}

TEST(ParseGraph, RefusesSymbolsNamedLikeKeywords) {
  const auto with = [](const std::string& name) {
    return error_of("def forward(self, x: \"f32[" + name + ", 2][2, 1]cpu\"):\n    return x\n");
  };
  EXPECT_NE(with("as").find("\"as\" is no name of a symbol"), std::string::npos) << with("as");
  EXPECT_TRUE(parse_graph("def forward(self, x: \"f32[a, 2][2, 1]cpu\"):\n    return x\n"));
}

TEST(ParseGraph, ReplacesOnlyWhatReadsAsASymbol) {
  const auto with = [](const std::string& name) {
    return error_of("# assay graph 1\n# replacement " + name +
                    " -> 3\ndef forward(self, x):\n    return x\n");
  };
  EXPECT_TRUE(with("oo").ends_with("\"oo\" is no name of a symbol")) << with("oo");
  EXPECT_TRUE(with("s0 + 1").ends_with("\"s0 + 1\" is no name of a symbol"));
  EXPECT_TRUE(
      parse_graph("# assay graph 1\n# replacement s0 -> 3\ndef forward(self, x):\n    return x\n"));
}

TEST(ParseGraph, SurvivesHostileNesting) {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += std::string(static_cast<std::size_t>(i), ' ') + "class A(torch.nn.Module):\n";
  EXPECT_NE(error_of(text).find("classes nest too deeply"), std::string::npos);
  const std::string tuple(50000, '(');
  EXPECT_NE(error_of(module(", x: \"" + tuple + "\"", {"return (x,)"})), "");
}

TEST(Header, HoldsSymbolsGuardsAndReplacements) {
  const std::string header =
      "# assay graph 1\n"
      "# symbol s77: hint 9, range [2, int_oo], source L['x'].size()[0], source L['y, "
      "z'].size()[1]\n"
      "# symbol u0: range [-int_oo, int_oo]\n"
      "# symbol zf3: hint 0.5, range [0.0, 1.0]\n"
      "# replacement s27 -> 16\n"
      "# guard s77 <= 128   @ models.py:12 in forward\n"
      "# guard Eq(Mod(s77, 4), 0)\n";
  const auto text = header + module(", x: \"f32[s77][1]cpu\"", {"return (x,)"});
  const auto graph = parsed(text);
  const auto* symbol = graph.env.find("s77");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(symbol->hint, Expr(9));
  EXPECT_EQ(symbol->sources, (std::vector<std::string>{"L['x'].size()[0]", "L['y, z'].size()[1]"}));
  EXPECT_FALSE(graph.env.find("u0")->hint.has_value());
  EXPECT_EQ(graph.env.find("zf3")->hint, Expr::real(0.5));
  ASSERT_EQ(graph.env.guards().size(), 2U);
  EXPECT_EQ(graph.env.guards()[0].where, "models.py:12 in forward");
  EXPECT_EQ(graph.env.guards()[0].text, "s77 <= 128");
  ASSERT_EQ(graph.env.replacements().size(), 1U);
  const auto again = parsed(print_graph(graph));
  EXPECT_EQ(print_graph(again), print_graph(graph));
  EXPECT_EQ(again.env.guards().size(), 2U);
}

TEST(Header, RefusesOtherVersionsAndBrokenLines) {
  const auto body = module("", {"return ()"});
  EXPECT_EQ(error_of("# assay graph 2\n" + body),
            "line 1: version \"2\" of the graph text; this program reads version 1");
  EXPECT_EQ(error_of("# assay graph one\n" + body),
            "line 1: version \"one\" of the graph text; this program reads version 1");
  EXPECT_EQ(error_of("# assay graph 1\n# symbol s0: hint x\n" + body),
            "line 2, column 1: hint \"x\" is no number");
  EXPECT_EQ(error_of("# assay graph 1\n# symbol s0: colour red\n" + body),
            "line 2, column 1: unknown field \"colour red\" of a symbol");
  EXPECT_EQ(error_of("# assay graph 1\n# symbol s0: range [1]\n" + body),
            "line 2, column 1: a range has two ends, found \"1\"");
  EXPECT_EQ(error_of("# assay graph 1\n# replacement s0\n" + body),
            "line 2, column 1: expected \"replacement NAME -> EXPR\"");
}

TEST(Header, IsIgnoredWithoutItsFirstLine) {
  const auto graph = parsed("# symbol s0: nonsense\n" + module("", {"return ()"}));
  EXPECT_TRUE(graph.env.symbols().empty());
}

TEST(PrintGraph, HostileTextsCannotBreakLines) {
  Graph graph = parsed(module(", x", {"y = -x", "return (y,)"}));
  graph.env.add_source(*graph.env.add_symbol("s0"), "L['a\n# guard False\nb', (]");
  graph.env.add_guard({ge(graph.env.find("s0")->expr, 3), "s0 >= 3\n# x", "file\nclass A:"});
  graph.nodes[1].origin = Origin{"a\nb.py", 3, "f\n", "x\n    return 7", "m\n"};
  graph.nodes[1].args.push_back(Arg{RawArg{"<weird\nobject; x = 1>"}});
  graph.nodes[1].target = "my weird\ntarget(";
  graph.class_name = "A\nB";
  const auto again = parsed(print_graph(graph));
  EXPECT_TRUE(same_structure(graph, again));
  EXPECT_EQ(again.env.find("s0")->sources, graph.env.find("s0")->sources);
  ASSERT_EQ(again.env.guards().size(), 1U);
  EXPECT_EQ(again.env.guards()[0].where, "file\nclass A:");
  EXPECT_EQ(Expr::compare(again.env.guards()[0].condition, graph.env.guards()[0].condition),
            std::strong_ordering::equal);
}

TEST(PrintGraph, OptionsLeaveThingsOut) {
  const auto graph = parsed(
      "# assay graph 1\n# symbol s0: hint 3, range [2, int_oo]\n" +
      module(", x: \"f32[s0][1]cpu\"", {"# File: m.py:1 in f, code: -x",
                                        "y: \"f32[s0][1]cpu\" = -x;  x = None", "return (y,)"}));
  EXPECT_EQ(print_graph(graph, {.header = false, .claims = false, .origins = false}),
            module(", x", {"y = -x", "return (y,)"}));
  EXPECT_EQ(
      print_graph(graph, {.header = false, .claims = false, .origins = false, .liveness = true}),
      module(", x", {"y = -x;  x = None", "return (y,)"}));
  EXPECT_NE(print_graph(graph).find("# symbol s0: hint 3, range [2, int_oo]\n"), std::string::npos);
}

TEST(PrintGraph, OffsetsSurvive) {
  const auto text = module(", x: \"f32[4][1]cpu\"",
                           {"y: \"f32[3][1]cpu\" = torch.ops.aten.slice.Tensor(x, 0, 1)  # assay "
                            "offset=1",
                            "return (y,)"});
  const auto graph = parsed(text);
  EXPECT_EQ(graph.nodes[1].claim.tensor()->offset, Expr(1));
  EXPECT_EQ(printed(graph), text);
}

TEST(PrintGraph, EmptyGraphsPrintAndReadBack) {
  Graph graph;
  EXPECT_EQ(printed(graph), module("", {"pass"}));
  EXPECT_EQ(parse_graph(printed(graph))->nodes.size(), 0U);
}

}  // namespace
}  // namespace assay
