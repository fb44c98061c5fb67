// Graphs launch Triton kernels of the user's own, which the programs of the compilation have.
#include "replay/runner/user_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/read/wrapper.h"
#include "core/expr/text.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace assay {
namespace {

using testing::make_tensor;
using testing::rows;
using testing::run_text;

/// What the decorator of a kernel says, and its definition.
struct KernelText {
  std::string_view variable;
  std::string configs = "[]";
  std::string grid =
      "'grid_type': 'FixedGrid', 'fixed_grid': ['_grid_0', '_grid_1', '_grid_2'], "
      "'extra_launcher_args': ['_grid_0', '_grid_1', '_grid_2']";
  std::string signature = "'x': '*fp32', 'y': '*fp32', 'o': '*fp32', 'n': 'i32'";
  std::string constants = "'BLOCK': 4";
  std::string definition = {};
};
auto kernel(const KernelText& text) -> std::string {
  return fmt::format(
      "{} = async_compile.triton('k', '''\n"
      "import triton\n"
      "import triton.language as tl\n"
      "@triton_heuristics.user_autotune(\n"
      "    configs={},\n"
      "    inductor_meta={{{}}},\n"
      "    triton_meta={{'signature': {{{}}}, 'constants': {{{}}}}},\n"
      "    filename=__file__,\n"
      "    custom_kernel=True,\n"
      ")\n"
      "@triton.jit\n"
      "{}"
      "''', device_str='cuda')\n\n",
      text.variable, text.configs, text.grid, text.signature, text.constants, text.definition);
}
auto pair_kernel(std::string_view name, std::string_view operation) -> std::string {
  return fmt::format(
      "def {}(x, y, o, n, BLOCK: tl.constexpr):\n"
      "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
      "    v = tl.load(x + i, mask=i < n) {} tl.load(y + i, mask=i < n)\n"
      "    tl.store(o + i, v, mask=i < n)\n",
      name, operation);
}
auto sum() -> std::string {
  return kernel({.variable = "add_k_0", .definition = pair_kernel("add_k", "+")});
}
auto product() -> std::string {
  return kernel({.variable = "mul_k_1", .definition = pair_kernel("mul_k", "*")});
}

auto wrapper(const std::string& kernels, std::string_view launches) -> std::string {
  return "from torch._inductor.async_compile import AsyncCompile\n"
         "async_compile = AsyncCompile()\n" +
         kernels +
         fmt::format(
             "def call(args):\n"
             "    arg0_1, arg1_1, arg2_1 = args\n"
             "    args.clear()\n"
             "    stream0 = get_raw_stream(0)\n"
             "{}"
             "    return (arg2_1, )\n",
             launches);
}
auto read(const std::string& text) -> HostProgram {
  auto program = read_wrapper(text);
  EXPECT_TRUE(program) << program.error().message;
  for (const auto& [name, source] : program->kernels)
    EXPECT_TRUE(source.kernel != nullptr) << name << ": " << source.not_read;
  return *std::move(program);
}
auto known(const std::string& text) -> UserKernels {
  UserKernels kernels(rows());
  kernels.add(read(text));
  return kernels;
}
constexpr std::string_view kLaunches =
    "    add_k_0.run(arg0_1, arg1_1, arg2_1, 6, 2, 1, 1, stream=stream0)\n"
    "    mul_k_1.run(arg0_1, arg1_1, arg2_1, 6, 2, 1, 1, stream=stream0)\n";

auto vector(const std::vector<double>& values) -> Datum {
  return {make_tensor({static_cast<std::int64_t>(values.size())}, values, DType::float32)};
}
auto inputs() -> DatumList {
  return {vector({1, 2, 3, 4, 5, 6}), vector({2, 2, 2, 3, 3, 3}), vector({0, 0, 0, 0, 0, 9})};
}
/// A call of a kernel, behind the line of the user's that it comes from.
auto call(std::string_view line, std::string_view arguments, std::string_view name = "call")
    -> std::string {
  return fmt::format(
      "        # File: model.py:3 in f, code: {}\n"
      "        {} = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = 0, "
      "constant_args_idx = 0, grid = [(2, 1, 1)], tma_descriptor_metadata = {{}}, "
      "kwargs = {{{}}})\n",
      line, name, arguments);
}
auto graph(const std::string& calls) -> std::string {
  return "class G(torch.nn.Module):\n"
         "    def forward(self, x: \"f32[6][1]cuda:0\", y: \"f32[6][1]cuda:0\", o: "
         "\"f32[6][1]cuda:0\"):\n" +
         calls + "        return (o,)\n";
}
auto run(const UserKernels& kernels, const std::string& text) -> testing::TextRun {
  return run_text(text, inputs(), [&](const UserKernelCall& one) { return kernels.launch(one); });
}
auto values_of(const testing::TextRun& run) -> std::vector<double> {
  for (const auto& node : run.run.nodes) EXPECT_EQ(node.status, NodeStatus::ran) << node.message;
  return run.returned.empty() ? std::vector<double>() : to_vector<double>(run.returned.front());
}

using Values = std::vector<double>;

TEST(UserKernels, AreToldByTheUsersLine) {
  const auto both = known(wrapper(sum() + product(), kLaunches));
  const std::string given = "'x': x, 'y': y, 'o': o, 'n': 6";
  EXPECT_EQ(values_of(run(both, graph(call("add_k[g](x, y, o, 6, BLOCK=4)", given)))),
            (Values{3, 4, 5, 7, 8, 9}));
  EXPECT_EQ(values_of(run(both, graph(call("uk.mul_k[g](x, y, o, 6, BLOCK=4)", given)))),
            (Values{2, 4, 6, 12, 15, 18}));
  // The second one of a line that has both takes what the first one gives.
  const std::string_view line = "add_k[g](x, y, o, 6); mul_k[g](o, y, o, 6)";
  const auto two = call(line, given) + call(line, "'x': o, 'y': y, 'o': o, 'n': 6", "other");
  EXPECT_EQ(values_of(run(both, graph(two))), (Values{6, 8, 10, 21, 24, 27}));
}

TEST(UserKernels, ThatMayBeAnyOfSeveralAreNotRun) {
  const auto both = known(wrapper(sum() + product(), kLaunches));
  const auto seen = run(both, graph(call("f(x)", "'x': x, 'y': y, 'o': o, 'n': 6")));
  EXPECT_EQ(seen.run.nodes[3].status, NodeStatus::unchecked);
  EXPECT_EQ(seen.run.nodes[3].message, "it may be any of 2 kernels");
  const auto none = run(both, graph(call("f(x)", "'x': x, 'y': y, 'z': o, 'n': 6")));
  EXPECT_EQ(none.run.nodes[3].message, "no kernel of the programs takes what it is given");
  EXPECT_EQ(run_text(graph(call("f(x)", "'x': x")), inputs()).run.nodes[3].message,
            "it is not known which kernel it is");
}

/// Where the line does not say, numbers of the programs' launches may.
TEST(UserKernels, AreToldByNumbersOfTheirLaunches) {
  const auto launches = [](std::string_view of_sum, std::string_view of_product) {
    return fmt::format(
        "    add_k_0.run(arg0_1, arg1_1, arg2_1, {}, 1, 1, stream=stream0)\n"
        "    mul_k_1.run(arg0_1, arg1_1, arg2_1, {}, 1, 1, stream=stream0)\n",
        of_sum, of_product);
  };
  const auto text = graph(call("f(x)", "'x': x, 'y': y, 'o': o, 'n': 6"));
  for (const auto& [of_sum, of_product] : {std::pair{"6, 3", "6, 2"}, std::pair{"5, 2", "6, 2"}})
    EXPECT_EQ(values_of(run(known(wrapper(sum() + product(), launches(of_sum, of_product))), text)),
              (Values{2, 4, 6, 12, 15, 18}));
}

TEST(UserKernels, HaveTheConstantsOfTheirLine) {
  KernelText text{.variable = "act_0"};
  text.signature = "'x': '*fp32', 'o': '*fp32', 'n': 'i32'";
  text.constants = "'SIGN': True, 'BLOCK': 4";
  text.definition =
      "def act(x, o, n, SIGN: tl.constexpr, BLOCK: tl.constexpr):\n"
      "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
      "    v = tl.load(x + i, mask=i < n)\n"
      "    if SIGN:\n"
      "        v = -v\n"
      "    tl.store(o + i, v, mask=i < n)\n";
  auto kernels = kernel(text);
  text.variable = "act_1";
  text.constants = "'SIGN': False, 'BLOCK': 4";
  kernels += kernel(text);
  const auto acts = known(wrapper(kernels,
                                  "    act_0.run(arg0_1, arg2_1, 6, 2, 1, 1, stream=stream0)\n"
                                  "    act_1.run(arg0_1, arg2_1, 6, 2, 1, 1, stream=stream0)\n"));
  const std::string given = "'x': x, 'o': o";
  EXPECT_EQ(values_of(run(acts, graph(call("act[g](x, o, 6, SIGN=True, BLOCK=4)", given)))),
            (Values{-1, -2, -3, -4, -5, -6}));
  EXPECT_EQ(values_of(run(acts, graph(call("act[g](x, o, 6, SIGN=False, BLOCK=4)", given)))),
            (Values{1, 2, 3, 4, 5, 6}));
}

/// Numbers of the user's call stand in the program's launches alone.
TEST(UserKernels, HaveTheNumbersOfTheirLaunches) {
  const auto launch = [](int n, int programs) {
    return fmt::format("    add_k_0.run(arg0_1, arg1_1, arg2_1, {}, {}, 1, 1, stream=stream0)\n", n,
                       programs);
  };
  const auto text = graph(call("add_k[g](x, y, o, 5)", "'x': x, 'y': y, 'o': o"));
  const auto sums = known(wrapper(sum(), launch(5, 2) + launch(3, 1)));
  EXPECT_EQ(values_of(run(sums, text)), (Values{3, 4, 5, 7, 8, 9}));
  const auto unclear = known(wrapper(sum(), launch(5, 2) + launch(6, 2)));
  EXPECT_EQ(run(unclear, text).run.nodes[3].message, "n of add_k is another number in each launch");
}

TEST(UserKernels, OfSeveralConfigurationsHaveTheFirst) {
  KernelText text{.variable = "add_k_0", .definition = pair_kernel("add_k", "+")};
  text.configs = "[{'BLOCK': 2, 'num_warps': 2}, {'BLOCK': 4, 'num_warps': 4}]";
  text.grid =
      "'grid_type': 'PrecomputedGrid', 'precomputed_grids': [{'config': {'BLOCK': 2}, 'python': "
      "['(1 + _launcher_s0) // 2', '1', '1']}, {'config': {'BLOCK': 4}, 'python': ['(3 + "
      "_launcher_s0) // 4', '1', '1']}], 'extra_launcher_args': ['_launcher_s0']";
  text.constants = "";
  const auto tuned =
      wrapper(kernel(text), "    add_k_0.run(arg0_1, arg1_1, arg2_1, 6, 6, stream=stream0)\n");
  const auto program = read(tuned);
  const auto& first = *program.kernels.at("add_k_0").kernel;
  EXPECT_EQ(first.param("BLOCK")->fixed, 2);
  ASSERT_EQ(first.grid.size(), 3U);
  EXPECT_EQ(print_expr(first.grid[0]), "((_launcher_s0 + 1)//2)");
  auto three = graph(call("add_k[g](x, y, o, 6)", "'x': x, 'y': y, 'o': o, 'n': 6"));
  three.replace(three.find("[(2, 1, 1)]"), 11, "[(3, 1, 1), (2, 1, 1)]");
  EXPECT_EQ(values_of(run(known(tuned), three)), (Values{3, 4, 5, 7, 8, 9}));
}

/// All but what is declared a constant: also what is fixed, as strides of 1 are.
TEST(UserKernels, AreLaunchedWithWhatIsFixed) {
  KernelText text{.variable = "rows_0"};
  text.signature = "'x': '*fp32', 'o': '*fp32', 'n': 'i32', 's': 'constexpr'";
  text.constants = "'s': 1, 'A': 2, 'B': 2, 'C': 3";
  text.definition =
      "def rows(x, o, n, s, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):\n"
      "    i = tl.program_id(0) * 4 + tl.arange(0, 4)\n"
      "    tl.store(o + i, tl.load(x + i * s, mask=i < n) * A * B + C, mask=i < n)\n";
  const auto source =
      wrapper(kernel(text), "    rows_0.run(arg0_1, arg2_1, 6, 1, 2, 1, 1, stream=stream0)\n");
  const auto program = read(source);
  const auto passed = program.kernels.at("rows_0").kernel->passed(7);
  ASSERT_TRUE(passed);
  EXPECT_EQ(*passed, (std::vector<std::size_t>{0, 1, 2, 3}));  // then three numbers of the grid
  EXPECT_FALSE(program.kernels.at("rows_0").kernel->passed(3));
  EXPECT_EQ(values_of(run(known(source), graph(call("rows[g](x, o, 6, 1)", "'x': x, 'o': o")))),
            (Values{7, 11, 15, 19, 23, 27}));
}

/// Memory that nobody wrote is random; what a kernel writes whole is not, what it writes in part
/// is.
TEST(UserKernels, MakeMemoryDefinedThatTheyWriteWhole) {
  const auto sums = known(wrapper(sum(), kLaunches));
  const auto randomness = [&](int n, int size) {
    const auto seen = run(
        sums,
        fmt::format(
            "class G(torch.nn.Module):\n"
            "    def forward(self, x: \"f32[6][1]cuda:0\", y: \"f32[6][1]cuda:0\", z):\n"
            "        e = torch.ops.aten.empty.memory_format([{}], dtype = torch.float32)\n"
            "        call = torch.ops.higher_order.triton_kernel_wrapper_functional(kernel_idx = "
            "0, constant_args_idx = 0, grid = [(2, 1, 1)], tma_descriptor_metadata = {{}}, kwargs "
            "= {{'x': x, 'y': y, 'o': e, 'n': {}}}, tensors_to_clone = ['o'])\n"
            "        o = call['o']\n"
            "        p = torch.ops.aten.mul.Tensor(o, 1)\n"
            "        m = torch.ops.aten.empty.memory_format([{}], dtype = torch.float32)\n"
            "        v = torch.ops.aten.slice.Tensor(m, 0, 0, 6)\n"
            "        inside = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = "
            "0, constant_args_idx = 0, grid = [(2, 1, 1)], tma_descriptor_metadata = {{}}, kwargs "
            "= {{'x': x, 'y': y, 'o': v, 'n': {}}})\n"
            "        q = torch.ops.aten.mul.Tensor(m, 1)\n"
            "        return (p, q)\n",
            size, n, size, n));
    for (const auto& node : seen.run.nodes) EXPECT_EQ(node.status, NodeStatus::ran) << node.message;
    return std::pair(seen.run.nodes[6].randomness, seen.run.nodes[10].randomness);
  };
  using enum Randomness;
  EXPECT_EQ(randomness(6, 6), (std::pair{none, none}));
  EXPECT_EQ(randomness(5, 6), (std::pair{numbers, numbers}));
  EXPECT_EQ(randomness(6, 7), (std::pair{numbers, numbers}));
}

/// So is what a kernel makes of random numbers, wherever it writes them.
TEST(UserKernels, LeaveRandomNumbersInWhatTheyWrite) {
  const auto sums = known(wrapper(sum(), kLaunches));
  const auto seen = run(sums, graph("        r = torch.ops.aten.rand_like.default(x)\n" +
                                    call("add_k[g](r, y, o, 6)", "'x': r, 'y': y, 'o': o, 'n': 6") +
                                    "        p = torch.ops.aten.mul.Tensor(o, 1)\n"
                                    "        q = torch.ops.aten.mul.Tensor(x, 1)\n"));
  EXPECT_EQ(seen.run.nodes[5].randomness, Randomness::numbers);
  EXPECT_EQ(seen.run.nodes[6].randomness, Randomness::none);
}

/// Which launch of a line a call is cannot be told where there are more or fewer.
TEST(UserKernels, OfALineThatRunsOftenAreNotToldByTheirOrder) {
  const auto both = known(wrapper(sum() + product(), kLaunches));
  const std::string given = "'x': x, 'y': y, 'o': o, 'n': 6";
  const std::string_view line = "[add_k[g](x, y, o, 6) for _ in r], mul_k[g](x, y, o, 6)";
  const auto seen =
      run(both, graph(call(line, given) + call(line, given, "b") + call(line, given, "c")));
  EXPECT_EQ(seen.run.nodes[4].message, "it may be any of 2 kernels");
}

}  // namespace
}  // namespace assay
