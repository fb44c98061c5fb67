#include <gtest/gtest.h>

#include <complex>
#include <limits>

#include "compiler/read/wrapper.h"
#include "core/expr/text.h"

namespace assay {
namespace {

auto read(std::string_view body, std::string_view before = "") -> HostProgram {
  std::string text(before);
  text += "def call(args):\n    arg0_1, arg1_1 = args\n    args.clear()\n    s77 = arg0_1\n";
  for (std::size_t at = 0; at < body.size();) {
    const auto end = std::min(body.find('\n', at), body.size());
    text += "    " + std::string(body.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  auto program = read_wrapper(text);
  EXPECT_TRUE(program) << program.error().message;
  return program ? std::move(*program) : HostProgram{};
}

template <class What>
auto only(const HostProgram& program) -> const What* {
  const What* found = nullptr;
  for (const auto& op : program.functions.back().ops)
    if (const auto* what = std::get_if<What>(&op.what)) found = what;
  return found;
}

TEST(Wrapper, IsNotALogThatQuotesOne) {
  const std::string body =
      "def call(args):\n    buf0 = empty_strided_cpu((4, ), (1, ), torch.int8)\n";
  EXPECT_TRUE(is_wrapper(body));
  EXPECT_TRUE(is_wrapper("class Runner:\n    def call(self, args):\n        a.run(1)\n"));
  EXPECT_TRUE(is_wrapper("    buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)\n"));
  EXPECT_FALSE(is_wrapper("the buffers\nbuf0 and buf1 differ\n"));
  EXPECT_FALSE(is_wrapper("def f():\n    buf0 = empty_strided_cpu((4, ), (1, ), torch.float32)\n"));
  EXPECT_FALSE(is_wrapper("V0121 graph.py:1] [0/0] [__output_code] " + body));
}

TEST(Wrapper, AllocationsHaveSizesStridesAndDtype) {
  const auto program = read("buf0 = empty_strided_cuda((s77, 2 + s77), (2 + s77, 1), torch.int64)");
  const auto* alloc = only<HostAlloc>(program);
  ASSERT_NE(alloc, nullptr);
  EXPECT_EQ(alloc->name, "buf0");
  EXPECT_EQ(print_expr(alloc->sizes[1]), "s77 + 2");
  EXPECT_EQ(alloc->dtype, DType::int64);
  EXPECT_TRUE(program.not_understood.empty());
}

TEST(Wrapper, SizesAreAskedInSeveralWays) {
  for (const auto* text :
       {"arg1_1_size = arg1_1.size()\ns4 = arg1_1_size[1]", "s4 = arg1_1.size()[1]",
        "arg1_1_size = arg1_1.size()\narg1_1_size_1 = arg1_1_size[1]\ns4 = arg1_1_size_1 // 1",
        "s4 = arg1_1.size(1)"}) {
    const auto program = read(text);
    EXPECT_TRUE(program.not_understood.empty()) << text;
    const HostScalar* asked = nullptr;
    for (const auto& op : program.functions.back().ops)
      if (const auto* scalar = std::get_if<HostScalar>(&op.what);
          scalar != nullptr && scalar->source == HostScalar::Source::size)
        asked = scalar;
    ASSERT_NE(asked, nullptr) << text;
    EXPECT_EQ(asked->buffer, "arg1_1");
    EXPECT_EQ(asked->dimension, 1U);
  }
}

TEST(Wrapper, AViewThatDeletesItsBaseIsAReuse) {
  const auto reuse = read("buf1 = reinterpret_tensor(buf0, (4, ), (1, ), 2); del buf0  # reuse");
  ASSERT_NE(only<HostBind>(reuse), nullptr);
  EXPECT_TRUE(only<HostBind>(reuse)->is_reuse);
  EXPECT_EQ(only<HostBind>(reuse)->source.offset, Expr(2));
  EXPECT_EQ(only<HostDelete>(reuse)->names, std::vector<std::string>{"buf0"});
  const auto view = read("buf1 = reinterpret_tensor(buf0, (4, ), (1, ), 2)");
  EXPECT_FALSE(only<HostBind>(view)->is_reuse);
}

TEST(Wrapper, ScalarsAreReplacedByWhatTheyWereAssigned) {
  const auto program = read("ps0 = 8*s77\nbuf0 = empty_strided_cpu((ps0, ), (1, ), torch.float32)");
  EXPECT_EQ(print_expr(only<HostAlloc>(program)->sizes[0]), "8*s77");
}

TEST(Wrapper, NumbersOutOfDataAreFreshSymbols) {
  const auto program =
      read("u0 = arg1_1.item()\nbuf0 = empty_strided_cuda((u0, ), (1, ), torch.bool)");
  EXPECT_TRUE(only<HostScalar>(program)->is_fresh);
  EXPECT_EQ(print_expr(only<HostAlloc>(program)->sizes[0]), "u0");
}

TEST(Wrapper, LaunchesDropStreamAndGrid) {
  const auto program = read("k.run(arg1_1, 8*s77, grid=grid(8*s77), stream=stream0)",
                            "k = async_compile.triton('k', '''\nsource\n''', device_str='cuda')\n");
  const auto* launch = only<HostLaunch>(program);
  ASSERT_NE(launch, nullptr);
  ASSERT_EQ(launch->args.size(), 2U);
  EXPECT_EQ(print_expr(std::get<Expr>(launch->args[1].value)), "8*s77");
  ASSERT_TRUE(program.kernels.contains("k"));
  EXPECT_EQ(program.kernels.at("k").text, "\nsource\n");
  EXPECT_EQ(program.kernels.at("k").line, 1);
}

TEST(Wrapper, CallsNameResultsAndOut) {
  const auto program =
      read("extern_kernels.mm(arg1_1, reinterpret_tensor(arg1_1, (2, 2), (1, 2), 0), out=buf0)");
  const auto* call = only<HostCall>(program);
  ASSERT_NE(call, nullptr);
  EXPECT_EQ(call->target, "extern_kernels.mm");
  EXPECT_EQ(call->args.back().keyword, "out");
  EXPECT_TRUE(std::get<HostView>(call->args[1].value).is_reinterpreted);
}

TEST(Wrapper, ComplexNumbersAreArguments) {
  using Number = std::complex<double>;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::pair<const char*, Number> known[] = {{"1j", {0, 1}},
                                                  {"(1+2j)", {1, 2}},
                                                  {"(-0.5-1e-3j)", {-0.5, -1e-3}},
                                                  {"(inf-infj)", {kInfinity, -kInfinity}}};
  for (const auto& [text, number] : known) {
    const auto program = read(fmt::format("buf0 = torch.ops.aten.mul.Tensor(arg1_1, {})", text));
    const auto* value = std::get_if<Number>(&only<HostCall>(program)->args[1].value);
    ASSERT_NE(value, nullptr) << text;
    EXPECT_EQ(*value, number) << text;
  }
  const auto program = read("buf0 = torch.ops.aten.mul.Tensor(arg1_1, (1+2+3j))");
  EXPECT_EQ(std::get_if<Number>(&only<HostCall>(program)->args[1].value), nullptr);
}

TEST(Wrapper, InfinityIsNoBuffer) {
  const auto program = read("buf0 = torch.ops.aten._pdist_forward.default(arg1_1, inf)");
  const auto* value = std::get_if<Expr>(&only<HostCall>(program)->args[1].value);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->as_number(), std::numeric_limits<double>::infinity());
}

TEST(Wrapper, MethodsOfBuffersTakeThemAsFirstArgument) {
  const auto program = read("buf0.copy_(arg1_1, False)");
  EXPECT_EQ(only<HostCall>(program)->target, ".copy_");
  EXPECT_EQ(only<HostCall>(program)->args[0].mentions, std::vector<std::string>{"buf0"});
}

TEST(Wrapper, ARaisingBranchIsAFact) {
  const auto program = read("if not (s77 >= 5):\n    raise RuntimeError('small')");
  ASSERT_NE(only<HostFact>(program), nullptr);
  EXPECT_EQ(print_expr(only<HostFact>(program)->condition), "s77 >= 5");
  EXPECT_TRUE(program.not_understood.empty());
}

TEST(Wrapper, AnAssertOfNothingIsNotUnderstood) {
  const auto program = read("assert()\nassert (s77 > 1, 'why')");
  ASSERT_EQ(program.not_understood.size(), 1U);
  EXPECT_EQ(program.not_understood[0].text, "assert()");
  ASSERT_NE(only<HostFact>(program), nullptr);
}

TEST(Wrapper, WhatIsNotUnderstoodIsListedWithItsLine) {
  const auto program = read("for i in range(3):\n    pass\nbuf0 = [x for x in y]");
  ASSERT_EQ(program.not_understood.size(), 2U);
  EXPECT_EQ(program.not_understood[0].line, 5);
  EXPECT_EQ(program.not_understood[0].text, "for i in range(3):");
  EXPECT_EQ(program.not_understood[1].line, 7);
  EXPECT_NE(program.functions.back().loop_line, 0);
}

TEST(Wrapper, AnUnknownSizeIsAnErrorOfItsLineOnly) {
  const auto program = read("buf0 = empty_strided_cuda((arg1_1, ), (1, ), torch.bool)\ndel arg1_1");
  ASSERT_EQ(program.not_understood.size(), 1U);
  EXPECT_EQ(program.not_understood[0].line, 5);
  EXPECT_TRUE(program.not_understood[0].reason.contains("`arg1_1` is no scalar"))
      << program.not_understood[0].reason;
  EXPECT_NE(only<HostDelete>(program), nullptr);
}

TEST(Wrapper, ExamplesOfInputsComeFromTheHarness) {
  const auto program = read("return (arg1_1, )\n",
                            "def get_args():\n    arg1_1 = rand_strided((9, 4), (4, 1), "
                            "device='cuda:0', dtype=torch.float16)\n");
  ASSERT_TRUE(program.examples.contains("arg1_1"));
  EXPECT_EQ(program.examples.at("arg1_1").dtype, DType::float16);
  EXPECT_EQ(program.examples.at("arg1_1").sizes, (std::vector<std::int64_t>{9, 4}));
}

TEST(Wrapper, ParametersThatAreNoTextEndTheDefinition) {
  EXPECT_FALSE(read_wrapper("def call(ar\xff\xfegs):\n    return ()\n"));
}

TEST(Wrapper, ADefinitionInsideABlockEndsTheBlock) {
  const auto program = read_wrapper(
      "def call(args):\n    if True:\n        buf0 = 1\n        def inner():\n            pass\n   "
      " return ()\n");
  EXPECT_TRUE(program) << program.error().message;
}

/// The first of kernels that do the same is launched, with its own of the arguments.
TEST(Wrapper, OfSeveralKernelsTheFirstIsLaunched) {
  const auto program = read(
      "many.run(arg0_1, arg1_1, 700, 30, stream=stream0)\n",
      "arg_index = {\n    0: [slice(0, 1, None), slice(2, 4, None)],\n    1: [slice(0, 4, "
      "None)],\n}\n"
      "many = async_compile.multi_kernel('many', [\n    one, other,\n], arg_index=arg_index)\n");
  const auto* launch = only<HostLaunch>(program);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->kernel, "one");
  ASSERT_EQ(launch->args.size(), 3U);
  EXPECT_EQ(launch->args[0].text, "arg0_1");
  EXPECT_EQ(launch->args[1].text, "700");
  EXPECT_EQ(launch->args[2].text, "30");
}

TEST(Wrapper, ASumOfProductsIsTwoCalls) {
  const auto program = read("extern_kernels._mm_plus_mm(arg1_1, b, c, d, out=buf0)\n");
  std::vector<const HostCall*> calls;
  for (const auto& op : program.functions.back().ops)
    if (const auto* call = std::get_if<HostCall>(&op.what)) calls.push_back(call);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0]->target, "extern_kernels.mm");
  EXPECT_EQ(calls[0]->args.back().keyword, "out");
  EXPECT_EQ(calls[1]->target, "extern_kernels.addmm");
  ASSERT_EQ(calls[1]->args.size(), 4U);
  EXPECT_EQ(calls[1]->args[0].keyword, "");
  EXPECT_EQ(calls[1]->args[0].text, calls[1]->args[3].text);
  EXPECT_EQ(calls[1]->args[1].text, "c");
}

TEST(Wrapper, OneInCppIsSaidToBe) {
  const auto program = read_wrapper(
      "cpp_wrapper_src = ('x')\ninductor_entry = CppWrapperCodeCache.load_pybinding(\n"
      "    main_code=cpp_wrapper_src,\n)\ndef call(args):\n    return g(args)\n");
  ASSERT_FALSE(program);
  EXPECT_TRUE(program.error().message.contains("in C++")) << program.error().message;
}

TEST(Wrapper, WithoutCallThereIsNoProgram) {
  const auto program = read_wrapper("import torch\n");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace assay
