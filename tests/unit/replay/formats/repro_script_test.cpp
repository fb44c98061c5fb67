#include <cstring>

#include <gtest/gtest.h>

#include "core/graph/text.h"
#include "replay/formats/capture.h"

namespace assay {
namespace {

/// A script with the given hint lines, __init__ lines and load_args lines around a fixed graph.
struct Script {
  std::string head = {};
  std::vector<std::string> init = {};
  std::string forward =
      "    def forward(self, a, x, y):\n"
      "        add = torch.ops.aten.add.Tensor(x, y);  x = y = None\n"
      "        return (add, a)\n";
  std::vector<std::string> load = {};

  [[nodiscard]] auto text() const -> std::string {
    std::string text = head +
                       "import torch\nfrom math import inf\n"
                       "# torch version: 2.11.0\n"
                       "from torch.nn import *\n"
                       "class Repro(torch.nn.Module):\n"
                       "    def __init__(self) -> None:\n"
                       "        super().__init__()\n";
    for (const auto& line : init) text += "        " + line + "\n";
    text += "\n\n\n" + forward + "\ndef load_args(reader):\n";
    for (const auto& line : load) text += "    " + line + "\n";
    return text + "load_args._version = 0\nmod = Repro()\nif __name__ == '__main__':\n    run()\n";
  }
};

const std::vector<std::string> kTwoViews = {
    "reader.symint(5)  # a", "buf0 = reader.storage(None, 4*s77*8)",
    "reader.tensor(buf0, (s77, 8), is_leaf=True)  # x",
    "reader.tensor(buf0, (8,), (2,), storage_offset=1, requires_grad=True)  # y"};

auto read(const Script& script) -> Capture {
  auto capture = read_repro_script(script.text());
  EXPECT_TRUE(capture.has_value()) << capture.error().message;
  return capture ? *std::move(capture) : Capture{};
}

auto error_of(const std::string& text) -> std::string {
  const auto capture = read_repro_script(text);
  return capture ? "no error" : capture.error().message;
}

TEST(ReproScript, ReadsGraphInputsAndEnvironment) {
  const auto capture = read({.head = "s77 = 5\n", .load = kTwoViews});
  EXPECT_EQ(capture.format, "repro script");
  EXPECT_EQ(capture.graph.class_name, "Repro");
  EXPECT_TRUE(verify(capture.graph).empty());
  EXPECT_EQ(capture.graph.call_count(), 1);
  ASSERT_EQ(capture.inputs.size(), 3U);
  EXPECT_EQ(std::get<Expr>(capture.inputs[0]), Expr(5));
  const auto& x = std::get<RecordedTensor>(capture.inputs[1]);
  EXPECT_EQ(x.meta.sizes, (Ints{5, 8}));
  EXPECT_EQ(x.meta.strides, (Ints{8, 1}));
  EXPECT_EQ(x.meta.storage_bytes, 160);
  const auto& y = std::get<RecordedTensor>(capture.inputs[2]);
  EXPECT_EQ(y.meta.strides, (Ints{2}));
  EXPECT_EQ(y.meta.offset, 1);
  EXPECT_EQ(y.storage, x.storage);
  ASSERT_EQ(capture.environment.size(), 1U);
  EXPECT_EQ(capture.environment[0].second, "2.11.0");
  EXPECT_TRUE(capture.warnings.empty());
  EXPECT_EQ(capture.graph.env.find("s77")->hint, Expr(5));
}

TEST(ReproScript, InputsClaimTheirSymbolicSizes) {
  const auto capture = read({.head = "s77 = 5\n", .load = kTwoViews});
  EXPECT_TRUE(capture.graph.nodes[0].claim.empty());
  EXPECT_EQ(to_string(*capture.graph.nodes[1].claim.tensor()), "f32[s77, 8][8, 1]cpu");
  EXPECT_TRUE(capture.graph.nodes[2].claim.tensor()->requires_grad);
}

TEST(ReproScript, WithoutHintsInputsStaySymbolic) {
  const auto capture = read({.load = kTwoViews});
  const auto& x = std::get<SymbolicInput>(capture.inputs[1]);
  EXPECT_EQ(to_string(x.meta), "f32[s77, 8][8, 1]cpu");
  ASSERT_TRUE(x.storage_bytes.has_value());
  EXPECT_EQ(*x.storage_bytes, 32 * capture.graph.env.find("s77")->expr);
  EXPECT_EQ(x.storage, std::get<SymbolicInput>(capture.inputs[2]).storage);
}

TEST(ReproScript, NumbersBeforeATensorAreItsNewSymbols) {
  const auto claims = [](std::vector<std::string> load) {
    const auto capture = read({.load = std::move(load)});
    std::vector<std::string> texts;
    for (const auto& node : capture.graph.nodes)
      if (node.kind == NodeKind::placeholder)
        texts.push_back(node.claim.scalar() ? print_expr(*node.claim.scalar()) : "");
    return texts;
  };
  const std::string storage = "buf0 = reader.storage(None, 4*s7*s2)";
  using Texts = std::vector<std::string>;
  EXPECT_EQ(
      claims({"reader.symint(2)", "reader.symint(3)", storage, "reader.tensor(buf0, (s7, s2))"}),
      (Texts{"s7", "s2", ""}));
  EXPECT_EQ(
      claims({"reader.symint(2)", storage, "reader.tensor(buf0, (s7, s7))", "reader.symint(5)"}),
      (Texts{"s7", "", ""}));
  // One number for two symbols, or an order that the sizes do not show: nothing is tied.
  EXPECT_EQ(claims({"reader.symint(2)", storage, "reader.tensor(buf0, (s7, s2))",
                    "reader.tensor(buf0, (s7,))"}),
            (Texts{"", "", ""}));
  EXPECT_EQ(
      claims({"reader.symint(2)", "reader.symint(3)", storage, "reader.tensor(buf0, (s7*s2,))"}),
      (Texts{"", "", ""}));
}

TEST(ReproScript, EvaluatesPyTorchsSizeFunctions) {
  const auto capture = read(
      {.head = "s33 = 70\n",
       .load = {"reader.symint(1)", "buf0 = reader.storage(None, 4*CeilToInt(IntTrueDiv(s33, 32)))",
                "reader.tensor(buf0, (CeilToInt(IntTrueDiv(s33, 32)),))",
                "buf1 = reader.storage(None, 4*Max(1, s33))",
                "reader.tensor(buf1, (Max(1, s33),))"}});
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[1]).meta.sizes, (Ints{3}));
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[2]).meta.sizes, (Ints{70}));
}

TEST(ReproScript, ReadsDtypeDeviceAndFill) {
  const std::string storage =
      "buf0 = reader.storage('abc', 16, device=device(type='cuda', index=0), "
      "dtype_hint=torch.int64)";
  const auto capture = read(
      {.load = {"reader.symint(1)", storage,
                "reader.tensor(buf0, (2,), dtype=torch.int64, device=device(type='cuda', index=1))",
                "buf1 = reader.storage(None, 8)", "reader.tensor(buf1, ())"}});
  const auto& x = std::get<RecordedTensor>(capture.inputs[1]);
  EXPECT_EQ(x.meta.dtype, DType::int64);
  EXPECT_EQ(to_string(x.meta.device), "cuda:1");
  const auto& fill = std::get<Fill>(capture.storages[0].content);
  EXPECT_EQ(fill.lo, 0);
  EXPECT_EQ(fill.hi, 0);
  const auto& floats = std::get<Fill>(capture.storages[1].content);
  EXPECT_EQ(floats.seed, 1U);
  EXPECT_EQ(floats.lo, -1);
  EXPECT_EQ(capture.storages[1].fill_dtype, DType::float32);
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[2]).meta.rank(), 0);
}

TEST(ReproScript, InputsWithoutValuesAreUnknownAndSaidSo) {
  const auto capture = read({.load = {"reader.const('a')  # a", "reader.unsupported('x')  # x",
                                      "reader.generator('cuda', 0)"}});
  for (const auto& input : capture.inputs) EXPECT_EQ(input.index(), 0U);
  EXPECT_EQ(capture.warnings.size(), 3U);
}

TEST(ReproScript, KeepsAViewPastItsStorageForTheInterpreterToReport) {
  const Script script{.load = {"reader.symint(1)", "buf0 = reader.storage(None, 12)",
                               "reader.tensor(buf0, (4,))", "reader.tensor(buf0, (1,))"}};
  EXPECT_EQ(error_of(script.text()), "no error");
}

TEST(ReproScript, PlacesErrorsOfLoadArgs) {
  const auto with = [](const std::string& line) {
    return error_of(Script{.load = {"reader.symint(1)", line, "reader.symint(1)"}}.text());
  };
  EXPECT_EQ(with("reader.tensor(buf9, (4,))"), "line 17: unknown storage buf9");
  EXPECT_EQ(with("reader.symint(1"), "line 18, column 5: expected \",\" or \")\", found reader");
  EXPECT_EQ(with("reader.bogus(1)"), "line 17: unknown call reader.bogus");
  EXPECT_EQ(with("buf0 = reader.storage(None, -4)"), "line 17: storage of -4 bytes");
  EXPECT_EQ(error_of(Script{.load = {"reader.symint(1)"}}.text()),
            "the script gives 1 inputs, forward takes 3");
}

TEST(ReproScript, ReadsBuffersAndParameters) {
  const auto capture =
      read({.init = {"self.register_buffer('c', tensor(16.))",
                     "self.register_buffer('m', tensor([[1, 2, 3], [4, 5, 6]]))",
                     "self.register_buffer('r', torch.randn([2, 3], dtype=torch.float64).cuda())",
                     "self.w = torch.nn.Parameter(torch.randn([4], dtype=torch.float32))",
                     "self.register_buffer('e', tensor([], size=(0, 3)))"},
            .load = {"reader.symint(1)", "reader.const('x')", "reader.const('y')"}});
  ASSERT_EQ(capture.attributes.size(), 5U);
  const auto& c = capture.attributes.at("c");
  EXPECT_EQ(c.meta.rank(), 0);
  const auto& bytes = *std::get<1>(capture.storages[static_cast<std::size_t>(c.storage)].content);
  float value = 0;
  ASSERT_EQ(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  EXPECT_EQ(value, 16.0F);
  EXPECT_EQ(capture.attributes.at("m").meta.dtype, DType::int64);
  EXPECT_EQ(capture.attributes.at("m").meta.sizes, (Ints{2, 3}));
  EXPECT_EQ(to_string(capture.attributes.at("r").meta.device), "cuda:0");
  EXPECT_EQ(capture.attributes.at("r").meta.storage_bytes, 48);
  EXPECT_EQ(capture.attributes.at("w").meta.sizes, (Ints{4}));
  EXPECT_EQ(capture.attributes.at("e").meta.sizes, (Ints{0, 3}));
}

TEST(ReproScript, BuffersThatCannotBeReadAreWarnings) {
  const auto capture =
      read({.init = {"self.register_buffer('a', tensor([1., ..., 2.]))",
                     "self.register_buffer('b', tensor([[1], [2, 3]]))",
                     "self.true_graph_0 = <lambda>()",
                     "self.register_buffer('h', tensor([], size=(1000000, 1000000)))"},
            .load = {"reader.symint(1)", "reader.const('x')", "reader.const('y')"}});
  EXPECT_TRUE(capture.attributes.empty());
  ASSERT_EQ(capture.warnings.size(), 6U);  // two of the unknown inputs
  std::string all;
  for (const auto& warning : capture.warnings) all += warning + "\n";
  EXPECT_NE(all.find("printed shortened"), std::string::npos) << all;
  EXPECT_NE(all.find("rows of unequal length"), std::string::npos) << all;
  EXPECT_NE(all.find("sub-graph is not in the script"), std::string::npos) << all;
}

TEST(ReproScript, PutsSubGraphClassesInPlace) {
  Script script{.head =
                    "class true_graph_0_0(torch.nn.Module):\n    def __init__(self):\n"
                    "        super().__init__()\n    def forward(self, arg0_1):\n"
                    "        sin = torch.ops.aten.sin.default(arg0_1)\n        return (sin,)\n\n",
                .init = {"self.true_graph_0 = true_graph_0_0()"},
                .forward =
                    "    def forward(self, a, x, y):\n        true_graph_0 = self.true_graph_0\n"
                    "        c = torch.ops.higher_order.cond(a, true_graph_0, true_graph_0, [x])\n"
                    "        return (c,)\n",
                .load = {"reader.const('a')", "reader.const('x')", "reader.const('y')"}};
  const auto capture = read(script);
  ASSERT_NE(capture.graph.child("true_graph_0"), nullptr);
  EXPECT_EQ(capture.graph.child("true_graph_0")->call_count(), 1);
}

TEST(ReproScript, ReadsLegacyArguments) {
  const std::string text =
      "class Repro(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
      "    def forward(self, x, y):\n        return (x, y)\n\n"
      "args = [((4, 8), (8, 1), torch.float32, 'cpu', False), ((3,), (2,), torch.int64, 'cuda', "
      "True)]\n"
      "args = [rand_strided(sh, st, dt, dev).requires_grad_(rg) for (sh, st, dt, dev, rg) in "
      "args]\n"
      "mod = make_fx(Repro(), tracing_mode='real')(*args)\n";
  const auto capture = read_repro_script(text);
  ASSERT_TRUE(capture.has_value()) << capture.error().message;
  ASSERT_EQ(capture->inputs.size(), 2U);
  const auto& y = std::get<RecordedTensor>(capture->inputs[1]);
  EXPECT_EQ(y.meta.storage_bytes, 40);
  EXPECT_EQ(to_string(y.meta.device), "cuda");
}

TEST(ReproScript, ToleratesWhatScriptsContain) {
  const auto capture = read(
      {.head = "os.environ['X'] = 'it's broken'\n"
               "isolate_fails_code_str = '''\nclass Repro(torch.nn.Module):\n    junk\n'''\n"
               "torch._inductor.config.load_config(b'\\x80\\x02}q')\n"
               "ERROR: Repro will not work as intended, User-defined triton kernels\n"
               "@triton.jit\ndef kernel(a, BLOCK: tl.constexpr):\n    x = a[:, None] if a else 1\n",
       .load = {"reader.symint(1)", "buf0 = reader.storage(None, 8)", "reader.tensor(buf0, (2,))",
                "reader.tensor(buf0, (2,))",
                "if hasattr(reader, 'args'):", "    reader.args[0] = fix(reader.args[0])"}});
  EXPECT_EQ(capture.inputs.size(), 3U);
  EXPECT_EQ(capture.warnings.size(), 3U);
}

TEST(ReproScript, SaysWhyThereIsNothing) {
  EXPECT_EQ(error_of("Repro is not generated due to existence of BackwardState in graph input"),
            "line 1: PyTorch wrote no repro: a graph input is a BackwardState");
  EXPECT_EQ(error_of("import torch\n"), "line 1: the script has no class with a forward");
}

/// A script of PyTorch 2.0, whose inputs are `lines` below the class.
auto old_script(const std::string& lines) -> std::string {
  return "import torch\nfrom torch._dynamo.testing import rand_strided\n"
         "class Repro(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
         "    def forward(self, n, x, y):\n"
         "        add = torch.ops.aten.add.Tensor(x, y);  x = y = None\n"
         "        return (add, n)\n\n" +
         lines;
}

auto read_old(const std::string& lines) -> Capture {
  auto capture = read_capture(old_script(lines), "old.py");
  EXPECT_TRUE(capture.has_value()) << capture.error().message;
  if (!capture) return {};
  EXPECT_EQ(capture->format, "repro script");
  return *std::move(capture);
}

TEST(ReproScript, ReadsListsOfShapesWithAndWithoutGradients) {
  const auto capture = read_old(
      "args = [5, ((2, 256), (0, 1), torch.int64, 'cuda'), ((2, 256), (256, 1), torch.float32, "
      "'cuda:1', True)]\n"
      "args = [rand_strided(sh, st, dt, dev).requires_grad_(rg) for (sh, st, dt, dev, rg) in "
      "args]\n");
  EXPECT_EQ(std::get<Expr>(capture.inputs[0]), Expr(5));
  const auto& x = std::get<RecordedTensor>(capture.inputs[1]);
  EXPECT_EQ(to_string(x.meta), "i64[2, 256][0, 1]cuda");
  EXPECT_EQ(x.meta.storage_bytes, 256 * 8);
  EXPECT_EQ(to_string(std::get<RecordedTensor>(capture.inputs[2]).meta),
            "f32[2, 256][256, 1]cuda:1");
  EXPECT_TRUE(capture.graph.nodes[2].claim.tensor()->requires_grad);
  EXPECT_TRUE(capture.warnings.empty());
}

TEST(ReproScript, ReadsAppendedInputsWithTheSymbolsInTheComment) {
  const auto capture = read_old(
      "args = []\n"
      "args.append(7)  # s1\n"
      "args.append(rand_strided((6, 7), (7, 1), torch.float32, 'cpu'))  # shape (s0, s1), stride "
      "(s1, 1)\n"
      "args.append(rand_strided((6, 7), (7, 1), torch.float32, 'cpu').requires_grad_(True))\n"
      "mod = make_fx(Repro())(*args)\n");
  EXPECT_EQ(to_string(*capture.graph.nodes[1].claim.tensor()), "f32[s0, s1][s1, 1]cpu");
  EXPECT_EQ(capture.graph.env.find("s0")->hint, Expr(6));
  EXPECT_EQ(capture.graph.env.find("s1")->hint, Expr(7));
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[1]).meta.sizes, (Ints{6, 7}));
  EXPECT_TRUE(capture.graph.nodes[2].claim.tensor()->requires_grad);
}

TEST(ReproScript, ReadsReadersInLine) {
  const auto capture = read_old(
      "reader = InputReader()\n"
      "reader.symint(5)\n"
      "buf0 = reader.storage(None, 32)\n"
      "reader.tensor(buf0, (2, 4))\nreader.tensor(buf0, (4,), (2,))\n"
      "Repro()(*reader.args)\n");
  EXPECT_EQ(std::get<Expr>(capture.inputs[0]), Expr(5));
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[1]).storage,
            std::get<RecordedTensor>(capture.inputs[2]).storage);
}

TEST(ReproScript, ReadsTensorsThatPeopleWrite) {
  const auto capture = read_old(
      "inputs = (3, torch.randn(2, 4, device='cuda'), torch.tensor([1, 2, 3, 4]).cuda())\n");
  EXPECT_EQ(to_string(std::get<RecordedTensor>(capture.inputs[1]).meta), "f32[2, 4][4, 1]cuda");
  EXPECT_EQ(to_string(std::get<RecordedTensor>(capture.inputs[2]).meta), "i64[4][1]cuda:0");
}

TEST(ReproScript, InputsThatAreCutOffAreNamed) {
  const auto capture = read_old("args = [5, ((2, 256), (0, 1), torch.int64, 'cu");
  ASSERT_EQ(capture.warnings.size(), 2U);
  EXPECT_TRUE(capture.warnings[0].starts_with("line 10: inputs are not understood: line 10"))
      << capture.warnings[0];
  EXPECT_EQ(capture.inputs.size(), 3U);
}

TEST(ReproScript, AQuotedScriptIsReadWithTheLinesOfTheMessage) {
  std::string quoted = "I get this:\n";
  const auto script = old_script("args = [((2,), (1,), torch.flaot32, 'cpu')]\n");
  for (std::size_t at = 0; at < script.size();) {
    const auto end = script.find('\n', at);
    quoted += "> " + script.substr(at, end - at + 1);
    at = end + 1;
  }
  EXPECT_EQ(error_of(quoted), "line 11: unknown dtype torch.flaot32");
}

TEST(ReproScript, SizesMayHaveConditionsAndMath) {
  const auto capture = read(
      {.head = "s58 = 6\nimport math\n",
       .load = {"reader.symint(6, expr='s58')",
                "buf0 = reader.storage(None, 4*(math.ceil(s58 / 4)))",
                "reader.tensor(buf0, ((1 if (s58 // 2) > 0 else 0), math.ceil(s58 / 4)))",
                "buf1 = reader.storage(None, 8)", "reader.tensor(buf1, (math.floor(s58 / 4),))"}});
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[1]).meta.sizes, (Ints{1, 2}));
  EXPECT_EQ(std::get<RecordedTensor>(capture.inputs[2]).meta.sizes, (Ints{1}));
}

TEST(ReproScript, ASymbolMayHaveNoHint) {
  const auto capture =
      read({.load = {"reader.symint(None, expr='u0')", "buf0 = reader.storage(None, 4*u0)",
                     "reader.tensor(buf0, (u0,))", "reader.tensor(buf0, (u0,))"}});
  EXPECT_TRUE(std::holds_alternative<std::monostate>(capture.inputs[0]));
  EXPECT_EQ(capture.graph.nodes[0].claim.scalar()->name(), "u0");
  EXPECT_TRUE(std::holds_alternative<SymbolicInput>(capture.inputs[1]));
}

/// A script whose one module is made by `made` and called with x: f32[2, 6, 4, 4].
auto with_module(const std::string& made) -> Script {
  return {.init = {"self.m = " + made},
          .forward =
              "    def forward(self, x):\n"
              "        y = self.m(x);  x = None\n"
              "        z = self.m(y)\n"
              "        return (y, z)\n",
          .load = {"buf0 = reader.storage(None, 768)",
                   "reader.tensor(buf0, (2, 6, 4, 4), is_leaf=True)  # x"}};
}

TEST(ReproScript, AModuleOfTorchIsTheOperatorThatItCalls) {
  const auto capture =
      read(with_module("Conv2d(6, 6, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2)"
                       ".cuda()"));
  EXPECT_EQ(capture.warnings, std::vector<std::string>{});
  const auto* call = capture.graph.find("y");
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->kind, NodeKind::call_function);
  EXPECT_EQ(call->target, "aten.convolution.default");
  EXPECT_EQ(call->args.size(), 9U);
  ASSERT_TRUE(capture.attributes.contains("m.weight"));
  const auto& weight = capture.attributes.at("m.weight").meta;
  EXPECT_EQ(weight.sizes, (Ints{6, 3, 3, 3}));
  EXPECT_EQ(weight.device.type, "cuda");
  EXPECT_EQ(capture.attributes.at("m.bias").meta.sizes, Ints{6});
  EXPECT_TRUE(verify(capture.graph).empty());
}

TEST(ReproScript, AModuleThatIsEvaluatedDoesNotTrain) {
  const auto mode = [](const std::string& made) {
    const auto capture = read(with_module(made));
    const auto* call = capture.graph.find("z");
    return call && call->args.size() == 9 ? std::get<Expr>(call->args[5].value) : Expr(-1);
  };
  EXPECT_EQ(mode("torch.nn.BatchNorm2d(6, eps=1e-05, momentum=0.1)"), Expr(true));
  EXPECT_EQ(mode("torch.nn.BatchNorm2d(6).eval()"), Expr(false));
}

TEST(ReproScript, AModuleThatCannotBeFollowedIsAWarning) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Conv2d(6, 6, 3, padding_mode='circular')", "Conv2d with another padding_mode"},
      {"Conv2d(6, 6, 3, padding='same')", "Conv2d with padding in words"},
      {"Conv2d(6, 7, 3, groups=4)", "Conv2d has groups that do not divide its channels"},
      {"Conv2d(6)", "Conv2d needs out_channels"},
      {"Linear(6, 6, colour=3)", "Linear has no argument colour"},
      {"ReLU(1, 2, 3)", "ReLU takes fewer arguments"},
  };
  for (const auto& [made, message] : cases) {
    const auto capture = read(with_module(made));
    ASSERT_EQ(capture.warnings.size(), 1U) << made;
    EXPECT_EQ(capture.warnings[0], "line 8: " + message);
    EXPECT_EQ(capture.graph.find("y")->kind, NodeKind::call_module);
  }
}

}  // namespace
}  // namespace assay
