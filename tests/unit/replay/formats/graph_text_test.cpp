// Graph texts as people paste them: logs of all ages, quotes, exported programs.
#include <gtest/gtest.h>

#include "core/expr/text.h"
#include "core/graph/text.h"
#include "replay/formats/detect.h"
#include "replay/formats/log_text.h"

namespace assay {
namespace {

const std::vector<std::string> kGraph = {"class GraphModule(torch.nn.Module):",
                                         "    def forward(self, x: \"f32[s77, 4]\"):",
                                         "        # File: m.py:3 in f, code: -x",
                                         "        y: \"f32[s77, 4]\" = -x;  x = None",
                                         "        ",
                                         "        return (y,)"};

auto with_prefix(const std::string& prefix) -> std::string {
  std::string text;
  for (const auto& line : kGraph) text += prefix + line + "\n";
  return text;
}

auto read(const std::string& text, std::string_view wanted = {}) -> Capture {
  auto capture = read_graph_text(text, wanted);
  EXPECT_TRUE(capture.has_value()) << capture.error().message << "\n" << text;
  if (!capture) return {};
  for (const auto& defect : verify(capture->graph)) ADD_FAILURE() << defect.message;
  return *std::move(capture);
}

auto error_of(const std::string& text, std::string_view wanted = {}) -> std::string {
  const auto capture = read_graph_text(text, wanted);
  return capture ? "no error" : capture.error().message;
}

class Prefixes : public testing::TestWithParam<const char*> {};

TEST_P(Prefixes, AreNoPartOfTheGraph) {
  const std::string prefix = GetParam();
  EXPECT_EQ(log_prefix_length(prefix + "x"), prefix.size());
  const auto capture = read(with_prefix(prefix));
  ASSERT_EQ(capture.graph.nodes.size(), 3U);
  EXPECT_EQ(capture.graph.nodes[1].line, 4);
  EXPECT_EQ(capture.graph.nodes[1].origin->line, 3);
  EXPECT_TRUE(capture.warnings.empty());
}

INSTANTIATE_TEST_SUITE_P(
    OfAllAges, Prefixes,
    testing::Values(
        "V0121 22:42:15.613000 2829692 torch/_dynamo/output_graph.py:1353] [0/0] [__graph_code] ",
        "I0121 22:42:15.613000 140273787061376 torch/_functorch/x.py:8] [0/0_1] [__aot_graphs] ",
        "[rank0]:V0121 22:42:15.613000 12 torch/_dynamo/x.py:3] [0/0] [__graph_code] ",
        "[2024-01-21 15:52:38,797] [0/0] torch._dynamo.output_graph.__graph_code: [DEBUG] ",
        "[2023-03-14 15:52:38,797] torch._functorch.aot_autograd.__aot_graphs: [INFO] ",
        "[0/0] torch._dynamo.output_graph.__graph_code: [DEBUG] ",
        "2023-03-14T00:00:00.1234567Z [rank1]: ", "DEBUG:torch._dynamo.output_graph:",
        "(EngineCore_0 pid=123) INFO 03-14 01:02:03 [backends.py:215] ",
        "(VllmWorker rank=0 pid=7) ", "[default3]:", ".py:381] [!0/0] [__aot_joint_graph] ", "> ",
        "> > ", "+"));

TEST(GraphText, LinesOfAGraphAreNoPrefixes) {
  for (const auto& line : kGraph) EXPECT_EQ(log_prefix_length(line), 0U) << line;
  EXPECT_EQ(log_prefix_length("    [0/0] x"), 0U);
  EXPECT_EQ(log_prefix_length("ERROR: Repro will not work as intended"), 0U);
}

TEST(GraphText, OnlyTheFirstLineOfOldRecordsHasAPrefix) {
  std::string text =
      "[2023-04-10 12:28:11,630] torch._functorch.aot_autograd.__aot_graphs: [INFO] TRACED GRAPH\n"
      " ====== Forward graph 1 ======\n <eval_with_key>.8 " +
      with_prefix("") + "[2023-04-10 12:28:11,700] torch._inductor.compile_fx: [INFO] Step 3\n";
  const auto capture = read(text);
  EXPECT_EQ(capture.graph.nodes.size(), 3U);
  EXPECT_EQ(capture.kind, "fwd");
}

TEST(GraphText, RanksMayTalkAtOnceAndProgramsInBetween) {
  std::string text;
  for (std::size_t i = 0; i < kGraph.size(); ++i) {
    for (const std::string rank : {"0", "1"})
      text += "[rank" + rank + "]:V0121 22:42:15.613000 12 torch/_dynamo/x.py:3] [0/0] " +
              kGraph[i] + "\n";
    if (i == 3) text += "a line that the program prints\n";
  }
  const auto capture = read(text);
  EXPECT_EQ(capture.graph.nodes.size(), 3U);
  ASSERT_EQ(capture.warnings.size(), 1U);
  EXPECT_EQ(capture.warnings[0], "the text has 2 graphs, this is the first (1: line 1, 2: line 2)");
}

TEST(GraphText, OneOfSeveralGraphsIsChosen) {
  const std::string text = "===== Forward graph 0 =====\n" + with_prefix("") +
                           "===== Backward graph 0 =====\n"
                           "class B(torch.nn.Module):\n    def forward(self, t):\n"
                           "        return (t, t)\n";
  EXPECT_EQ(read(text).kind, "fwd");
  EXPECT_EQ(read(text).warnings[0],
            "the text has 2 graphs, this is the first (1: Forward graph 0 (line 2), 2: Backward "
            "graph 0 (line 9))");
  for (const std::string wanted : {"2", "Backward graph 0"}) {
    const auto capture = read(text, wanted);
    EXPECT_EQ(capture.graph.class_name, "B");
    EXPECT_EQ(capture.kind, "bwd");
    EXPECT_TRUE(capture.warnings.empty());
  }
  EXPECT_TRUE(error_of(text, "3").starts_with("there is no graph \"3\"; the text has 1: Forward"));
}

TEST(GraphText, AReproThatWasNotWrittenSaysSo) {
  EXPECT_EQ(error_of("Repro is not generated due to existence of BackwardState in graph input"),
            "PyTorch wrote no repro: a graph input is a BackwardState");
}

TEST(GraphText, GeneratedCodeIsForTheProver) {
  const std::string wrapper =
      "from torch._inductor.async_compile import AsyncCompile\n"
      "async_compile = AsyncCompile()\ndef call(args):\n    return args\n";
  EXPECT_EQ(error_of(wrapper),
            "code that Inductor generated, which holds no graph; `assay prove` checks it");
  EXPECT_FALSE(error_of("def call_me(args):\n    return args\n").contains("prove"));
}

TEST(GraphText, ErrorsNameTheFile) {
  const auto capture = read_capture("class A(torch.nn.Module):\n    pass\n", "pasted.txt");
  ASSERT_FALSE(capture);
  EXPECT_EQ(capture.error().message, "pasted.txt: line 1, column 1: class A has no forward");
}

TEST(GraphText, HintsRangesAndGuardsComeFromTheSymbolLog) {
  const std::string log = "I0121 10:00:00.000000 1 torch/fx/experimental/symbolic_shapes.py:5] ";
  const std::string text =
      log +
      "[0/0] create_symbol s77 = 8 for L['x'].size()[0] [2, int_oo]   # m.py:6 in f (b.py)\n" +
      log + "[0/0] eval Eq(Mod(s77, 4), 0) [guard added]   # m.py:6 in f (_dynamo/x.py:1 in g)\n" +
      log + "[0/0] eval s5 > 5 [guard added]   # m.py:6 in f\n" + log +
      "[1/0] create_symbol s77 = 9 for L['y'].size()[0] [2, int_oo]   # m.py:6\n" +
      with_prefix("V0121 10:00:01.000000 1 torch/_dynamo/x.py:3] [0/0] [__graph_code] ");
  const auto& env = read(text).graph.env;
  const auto* symbol = env.find("s77");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(symbol->hint, Expr(8));
  EXPECT_EQ(symbol->sources, std::vector<std::string>{"L['x'].size()[0]"});
  ASSERT_EQ(env.guards().size(), 1U);
  EXPECT_EQ(env.guards()[0].text, "Eq(Mod(s77, 4), 0)");
  EXPECT_EQ(env.guards()[0].where, "m.py:6 in f");
}

TEST(GraphText, SaysWhetherAllGuardsAreThere) {
  const std::string log = "I0121 10:00:00.000000 1 torch/fx/experimental/symbolic_shapes.py:5] ";
  const auto graph =
      with_prefix("V0121 10:00:01.000000 1 torch/_dynamo/x.py:3] [0/0] [__graph_code] ");
  const std::string created = "create_symbol s77 = 8 for L['x'].size()[0] [2, int_oo]   # m.py:6\n";
  EXPECT_TRUE(read(log + "[0/0] " + created + graph).guards_recorded);
  // Hints alone, or symbols of another compilation, tell nothing.
  EXPECT_FALSE(read(log + "[1/0] " + created + graph).guards_recorded);
  EXPECT_FALSE(read(graph).guards_recorded);
  const std::string own =
      "# assay graph 1\n# symbol s77: hint 8, range [2, int_oo]\n"
      "def forward(self, x: \"f32[s77]\"):\n    return (x,)\n";
  EXPECT_TRUE(read(own).guards_recorded);
  const auto open =
      std::string(own).insert(own.find('\n') + 1, std::string(kGuardsNotRecorded) + "\n");
  EXPECT_FALSE(read(open).guards_recorded);
}

TEST(GraphText, ItemsOfAListSayWhatTheListHolds) {
  const auto capture = read(
      "def forward(self, inputs, hooks):\n"
      "    getitem: \"f32[4]\" = inputs[0]\n"
      "    getitem_1: \"f32[2, 3]\" = inputs[2];  inputs = None\n"
      "    return (getitem, getitem_1)\n");
  const auto* items = capture.graph.find("inputs")->claim.items();
  ASSERT_NE(items, nullptr);
  ASSERT_EQ(items->size(), 3U);
  EXPECT_TRUE((*items)[1].empty());
  EXPECT_EQ((*items)[2].tensor()->rank(), 2U);
  EXPECT_TRUE(capture.graph.find("hooks")->claim.empty());
  // Who reads the list as a whole may find more in it.
  const auto whole = read(
      "def forward(self, inputs):\n    getitem: \"f32[4]\" = inputs[0]\n"
      "    cat = torch.ops.aten.cat.default(inputs);  inputs = None\n    return (getitem, cat)\n");
  EXPECT_TRUE(whole.graph.find("inputs")->claim.empty());
}

/// What torch.compiler.precompile writes with backend "eager".
constexpr std::string_view kArtifact =
    "# Generated by torch.compiler.precompile (backend=\"eager\") -- do not edit.\n"
    "def _graph_forward(self, flat):\n"
    "    flat_1, flat_2, = fx_pytree.tree_flatten_spec([flat], self._in_spec)\n"
    "    mul = torch.ops.aten.mul.Tensor(flat_2, flat_1);  flat_2 = flat_1 = None\n"
    "    return pytree.tree_unflatten([mul], self._out_spec)\n"
    "PARAM_NAMES = ['scale']\nBUFFER_NAMES = []\n"
    "PARAM_SHAPES = [(4,)]\nBUFFER_SHAPES = []\n"
    "PARAM_DTYPES = ['torch.float32']\nPARAM_DEVICES = ['cuda:0']\n"
    "USER_INPUT_SHAPES = [(None, 4)]\nUSER_INPUT_DTYPES = ['torch.bfloat16']\n"
    "USER_INPUT_DEVICES = ['cuda:0']\nUSER_INPUT_BOUNDS = [{0: (2, None)}]\n"
    "def forward(*args):\n    return args\n";

TEST(GraphText, PrecompiledArtifactsSayWhatTheirInputsAre) {
  const auto capture = read(std::string(kArtifact));
  EXPECT_TRUE(capture.warnings.empty()) << capture.warnings[0];
  ASSERT_EQ(capture.input_roles.size(), 2U);
  EXPECT_EQ(capture.input_roles[0].kind, InputRole::Kind::parameter);
  EXPECT_EQ(capture.input_roles[0].target, "scale");
  const auto& claim = capture.graph.find("flat_2")->claim;
  ASSERT_NE(claim.tensor(), nullptr);
  EXPECT_EQ(claim.tensor()->dtype, DType::bfloat16);
  EXPECT_EQ(to_string(claim.tensor()->device), "cuda:0");
  EXPECT_EQ(claim.tensor()->sizes[1], Expr(4));
  EXPECT_FALSE(claim.stated.strides);
  const auto range = capture.graph.env.ranges().at(claim.tensor()->sizes[0]);
  EXPECT_EQ(range.low, Expr(2));
}

TEST(GraphText, PrecompiledArtifactsThatDoNotFitSaySo) {
  auto text = std::string(kArtifact);
  text.replace(text.find("[(None, 4)]"), 11, "[]");
  const auto capture = read(text);
  ASSERT_EQ(capture.warnings.size(), 1U);
  EXPECT_TRUE(capture.warnings[0].contains("describes 1 inputs, its graph takes 2"));
}

/// print(exported_program) with a signature in one of its forms.
auto exported(const std::string& signature) -> Capture {
  return read(
      "ExportedProgram:\n"
      "    class GraphModule(torch.nn.Module):\n"
      "        def forward(self, p_w: \"f32[4]\", b: \"f32[4]\", x: \"f32[s77, 4]\"):\n"
      "             # \n"
      "            add: \"f32[4]\" = torch.ops.aten.add.Tensor(b, 1);  b = None\n"
      "            mul: \"f32[s77, 4]\" = torch.ops.aten.mul.Tensor(x, p_w);  x = p_w = None\n"
      "            return (add, mul)\n"
      "            \n" +
      signature);
}

class Signatures : public testing::TestWithParam<const char*> {};

TEST_P(Signatures, SayWhatInputsAndOutputsAre) {
  const auto capture = exported(GetParam());
  EXPECT_TRUE(capture.warnings.empty()) << capture.warnings[0];
  EXPECT_EQ(capture.kind, "export");
  ASSERT_EQ(capture.input_roles.size(), 3U);
  EXPECT_EQ(capture.input_roles[0].kind, InputRole::Kind::parameter);
  EXPECT_EQ(capture.input_roles[0].target, "l.w");
  EXPECT_EQ(capture.input_roles[1].kind, InputRole::Kind::buffer);
  EXPECT_EQ(capture.input_roles[2].kind, InputRole::Kind::user_input);
  ASSERT_EQ(capture.output_roles.size(), 2U);
  EXPECT_EQ(capture.output_roles[0].kind, OutputRole::Kind::buffer_mutation);
  EXPECT_EQ(capture.output_roles[0].target, "b");
  EXPECT_EQ(capture.output_roles[1].kind, OutputRole::Kind::user_output);
  const auto* symbol = capture.graph.env.find("s77");
  ASSERT_NE(symbol, nullptr);
  EXPECT_EQ(symbol->range.low, Expr(3));
  EXPECT_EQ(symbol->range.high, Expr::infinity());
}

INSTANTIATE_TEST_SUITE_P(
    OfAllAges, Signatures,
    testing::Values(
        "Graph signature: \n    # inputs\n    p_w: PARAMETER target='l.w'\n"
        "    b: BUFFER target='b' persistent=True\n    x: USER_INPUT\n    \n    # outputs\n"
        "    add: BUFFER_MUTATION target='b'\n    mul: USER_OUTPUT\n    \n"
        "Range constraints: {s77: VR[3, int_oo], 2*s77: VR[6, int_oo]}\n",
        "Graph signature: ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: "
        "2>, arg=TensorArgument(name='p_w'), target='l.w', persistent=None), "
        "InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b'), target='b', "
        "persistent=True), InputSpec(kind=<InputKind.USER_INPUT: 1>, "
        "arg=TensorArgument(name='x'), target=None, persistent=None)], "
        "output_specs=[OutputSpec(kind=<OutputKind.BUFFER_MUTATION: 3>, "
        "arg=TensorArgument(name='add'), target='b'), OutputSpec(kind=<OutputKind.USER_OUTPUT: "
        "1>, arg=TensorArgument(name='mul'), target=None)])\n"
        "Range constraints: {s77: ValueRanges(lower=3, upper=oo, is_bool=False)}\n",
        "Graph signature:\n    p_w: PARAMETER target='l.w'\n    b: BUFFER target='b' "
        "persistent=True\n    x: USER_INPUT\n    add: BUFFER_MUTATION target='b'\n    mul: "
        "USER_OUTPUT\nRange constraints: {s77: VR[3, int_oo]}\n",
        "    Graph signature: ExportGraphSignature(\n        parameters=['l.w'],\n        "
        "buffers=['b'],\n        user_inputs=['x'],\n        user_outputs=['mul'],\n        "
        "inputs_to_parameters={'p_w': 'l.w'},\n        inputs_to_buffers={'b': 'b'},\n        "
        "buffers_to_mutate={'add': 'b'},\n        backward_signature=None,\n    )\n"
        "    Range constraints: {s77: VR[3, oo]}\n",
        "Graph signature: ExportGraphSignature(parameters=['l.w'], buffers=['b'], "
        "user_inputs=['x'], user_outputs=['mul'], inputs_to_parameters={'p_w': 'l.w'}, "
        "inputs_to_buffers={'b': 'b'}, buffers_to_mutate={'add': 'b'}, backward_signature=None, "
        "assertion_dep_token=None)\n"
        "Range constraints: {s77: RangeConstraint(min_val=3, max_val=9223372036854775806)}\n"
        "Equality constraints: []\n"));

TEST(GraphText, ASignatureThatDoesNotFitIsAWarning) {
  const auto capture = exported("Graph signature:\n    # inputs\n    q: USER_INPUT\n");
  EXPECT_TRUE(capture.input_roles.empty());
  ASSERT_FALSE(capture.warnings.empty());
  EXPECT_EQ(capture.warnings[0], "line 9: the signature says nothing known about input p_w");
}

}  // namespace
}  // namespace assay
