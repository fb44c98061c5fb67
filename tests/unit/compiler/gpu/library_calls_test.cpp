// Library calls on a GPU, against the reference kernels. The GPU is a fake one (tests/fake_gpu), so
// what is tested is what the libraries are told: layouts, transposes, factors, windows.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "compiler/cuda/cuda.h"
#include "compiler/interpret/interpret.h"
#include "core/ops/generator.h"
#include "tests/support/compiled.h"
#include "tests/support/counted.h"

namespace assay {
namespace {
using namespace assay::testing;

struct Case {
  const char* name;
  SmallGraph graph;
  const char* on_host = "";  ///< what no library takes
};

class LibraryCallCheck : public ::testing::Test {
 protected:
  static void check(const SmallGraph& graph, const std::string& on_host) {
    const auto capture = capture_of(graph);
    ASSERT_TRUE(capture) << capture.error().message;
    const auto made = compiled(graph);
    ASSERT_TRUE(made) << made.error().message;
    const auto inputs = inputs_of(graph, *capture, "");
    ASSERT_TRUE(inputs) << inputs.error().message;
    const auto table = build_op_table();
    const CudaExecutor executor(table);
    const auto compared = compare_with_reference(capture->graph, *made, executor, *inputs, table);
    ASSERT_TRUE(compared) << compared.error().message;
    for (const auto& one : compared->compared)
      EXPECT_TRUE(one.message.empty()) << one.what << ": " << one.message;
    std::string seen;
    for (const auto& [call, count] : compared->run.on_host) seen += call.substr(0, call.find(':'));
    EXPECT_EQ(seen, on_host);
    EXPECT_GT(compared->run.calls, 0);
  }
};
class LibraryCall : public LibraryCallCheck, public ::testing::WithParamInterface<Case> {};

TEST_P(LibraryCall, GivesWhatTheReferenceGives) {
  check(GetParam().graph, GetParam().on_host);
}

/// Where a program is not bound, statement by statement, calls run there too, with the same bits.
TEST_P(LibraryCall, GivesTheSameStatementByStatement) {
  const auto& graph = GetParam().graph;
  const auto capture = capture_of(graph);
  ASSERT_TRUE(capture) << capture.error().message;
  const auto made = compiled(graph);
  const auto inputs = inputs_of(graph, *capture, "");
  ASSERT_TRUE(made && inputs);
  const auto table = build_op_table();
  const CudaExecutor executor(table);
  const auto program = executor.compile(made->program);
  ASSERT_TRUE(program) << program.error().message;
  const auto given = program_inputs(capture->graph, *inputs);
  const auto bound = (*program)->run(given, {});
  ASSERT_TRUE(bound) << bound.error().message;
  const auto work = [] {
    return std::array{Counted("cublasLtMatmul"), Counted("cudnnConvolution")};
  };
  const auto before = work();
  ProgramRunOptions options;
  options.random = std::make_shared<RandomState>(1);
  const auto run = (*program)->run(given, options);
  ASSERT_TRUE(run) << run.error().message;
  const int done = before[0].since() + before[1].since();
  EXPECT_EQ(done > 0, bound->on_host.empty());
  ASSERT_EQ(run->outputs.size(), bound->outputs.size());
  for (std::size_t i = 0; i < run->outputs.size(); ++i) {
    const auto* const a = run->outputs[i].real();
    const auto* const b = bound->outputs[i].real();
    ASSERT_TRUE(a != nullptr && b != nullptr);
    EXPECT_EQ(a->meta.sizes, b->meta.sizes);
    if (bound->on_host.empty()) {
      EXPECT_EQ(to_vector<double>(*a), to_vector<double>(*b)) << "result " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , LibraryCall,
    ::testing::Values(
        Case{"mm", {"a: f32[3, 5]; b: f32[5, 4]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_double", {"a: f64[3, 5]; b: f64[5, 4]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_turned_left",
             {"a: f32[3, 5][1, 3]; b: f32[5, 4]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_turned_right",
             {"a: f32[3, 5]; b: f32[5, 4][1, 5]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_both_turned",
             {"a: f32[3, 5][1, 3]; b: f32[5, 4][1, 5]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_of_a_part",
             {"a: f32[3, 5][9, 1]; b: f32[5, 4][7, 1]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_of_one_row", {"a: f32[1, 5]; b: f32[5, 1]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_outer", {"a: f32[3, 1]; b: f32[1, 4]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_twice",
             {"a: f32[4, 4]; b: f32[4, 4]",
              "r = aten.mm.default(a, b)\nq = aten.mm.default(r, a)\np = aten.mm.default(q, r)",
              "p"}},
        Case{"mm_with_gaps",
             {"a: f32[3, 5][10, 2]; b: f32[5, 4]", "r = aten.mm.default(a, b)", "r"},
             "aten.mm.default"},
        Case{"bmm", {"a: f32[2, 3, 5]; b: f32[2, 5, 4]", "r = aten.bmm.default(a, b)", "r"}},
        Case{"bmm_turned",
             {"a: f32[2, 3, 5][15, 1, 3]; b: f32[2, 5, 4][4, 8, 1]", "r = aten.bmm.default(a, b)",
              "r"}},
        Case{"mm_half", {"a: bf16[3, 5]; b: bf16[5, 4]", "r = aten.mm.default(a, b)", "r"}},
        Case{"mm_half_in_float",
             {"a: f16[3, 5]; b: f16[5, 4]", "r = aten.mm.dtype(a, b, torch.float32)", "r"}},
        Case{
            "bmm_half_in_float",
            {"a: bf16[2, 3, 5]; b: bf16[2, 5, 4]", "r = aten.bmm.dtype(a, b, torch.float32)", "r"}},
        Case{"addmm_half",
             {"c: f16[4]; a: f16[3, 5]; b: f16[5, 4][1, 5]", "r = aten.addmm.default(c, a, b)",
              "r"}},
        Case{"convolution_of_points_half",  // a product
             {"x: bf16[2, 8, 4, 8]; w: bf16[16, 8, 1, 1]",
              "r = aten.convolution.default(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)",
              "r"}},
        Case{"addmm_row",
             {"c: f32[4]; a: f32[3, 5]; b: f32[5, 4][1, 5]", "r = aten.addmm.default(c, a, b)",
              "r"}},
        Case{"addmm_matrix",
             {"c: f32[3, 4]; a: f32[3, 5]; b: f32[5, 4]",
              "r = aten.addmm.default(c, a, b, beta = 2, alpha = 3)", "r"}},
        Case{"addmm_matrix_double",
             {"c: f64[3, 4]; a: f64[3, 5]; b: f64[5, 4]",
              "r = aten.addmm.default(c, a, b, beta = 0.5, alpha = -1)", "r"}},
        Case{"addmm_row_double",
             {"c: f64[4]; a: f64[3, 5]; b: f64[5, 4]", "r = aten.addmm.default(c, a, b)", "r"},
             "aten.addmm.default"},
        Case{"addmm_column",
             {"c: f32[3, 1]; a: f32[3, 5]; b: f32[5, 4]", "r = aten.addmm.default(c, a, b)", "r"},
             "aten.addmm.default"},
        Case{"baddbmm",
             {"c: f32[2, 3, 4]; a: f32[2, 3, 5]; b: f32[2, 5, 4]",
              "r = aten.baddbmm.default(c, a, b, beta = 0.5)", "r"}},
        Case{"convolution",
             {"x: f32[2, 3, 6, 7]; w: f32[4, 3, 3, 2]; b: f32[4]",
              "r = aten.convolution.default(x, w, b, [2, 1], [1, 0], [1, 2], False, [0, 0], 1)",
              "r"}},
        Case{"convolution_of_groups",
             {"x: f32[2, 4, 5, 5]; w: f32[6, 2, 3, 3]",
              "r = aten.convolution.default(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)",
              "r"}},
        Case{"convolution_channels_last",
             {"x: f32[2, 3, 6, 7][126, 1, 21, 3]; w: f32[4, 3, 3, 3][27, 1, 9, 3]",
              "r = aten.convolution.default(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)",
              "r"}},
        Case{"convolution_in_a_row",
             {"x: f32[2, 3, 9]; w: f32[4, 3, 3]; b: f32[4]",
              "r = aten.convolution.default(x, w, b, [2], [1], [1], False, [0], 1)", "r"}},
        Case{"convolution_of_a_volume",
             {"x: f32[1, 2, 4, 5, 3]; w: f32[3, 2, 2, 3, 1]",
              "r = aten.convolution.default(x, w, None, [1, 2, 1], [0, 1, 0], [1, 1, 1], False, "
              "[0, 0, 0], 1)",
              "r"}},
        Case{"convolution_transposed",
             {"x: f32[2, 4, 5, 4]; w: f32[4, 3, 3, 2]; b: f32[3]",
              "r = aten.convolution.default(x, w, b, [2, 1], [1, 0], [1, 1], True, [1, 0], 1)",
              "r"}},
        Case{"convolution_transposed_beyond_its_windows",
             {"x: f32[1, 4, 5, 7]; w: f32[4, 3, 1, 1]",
              "r = aten.convolution.default(x, w, None, [1, 1], [0, 0], [2, 2], True, [1, 0], 1)",
              "r"},
             "aten.convolution.default"},
        Case{"convolution_backward",
             {"g: f32[2, 4, 3, 7]; x: f32[2, 3, 6, 7]; w: f32[4, 3, 3, 3]",
              "t = aten.convolution_backward.default(g, x, w, [4], [2, 1], [1, 1], [1, 1], False, "
              "[0, 0], 1, [True, True, True])\ni = t[0]\nj = t[1]\nk = t[2]",
              "i, j, k"}},
        Case{"convolution_backward_of_channels_last",  // on copies in rows
             {"g: f32[2, 4, 3, 7][84, 1, 28, 4]; x: f32[2, 3, 6, 7][126, 1, 21, 3]; "
              "w: f32[4, 3, 3, 3][27, 1, 9, 3]",
              "t = aten.convolution_backward.default(g, x, w, [4], [2, 1], [1, 1], [1, 1], False, "
              "[0, 0], 1, [True, True, True])\ni = t[0]\nj = t[1]\nk = t[2]",
              "i, j, k"}},
        Case{"convolution_backward_of_the_weight",
             {"g: f32[2, 4, 4, 5]; x: f32[2, 4, 6, 7]; w: f32[4, 2, 3, 3]",
              "t = aten.convolution_backward.default(g, x, w, [0], [1, 1], [0, 0], [1, 1], False, "
              "[0, 0], 2, [False, True, False])\nj = t[1]",
              "j"}},
        Case{"convolution_backward_transposed",
             {"g: f32[2, 3, 10, 5]; x: f32[2, 4, 5, 4]; w: f32[4, 3, 3, 2]",
              "t = aten.convolution_backward.default(g, x, w, [3], [2, 1], [1, 0], [1, 1], True, "
              "[1, 0], 1, [True, True, True])\ni = t[0]\nj = t[1]\nk = t[2]",
              "i, j, k"}}),
    [](const auto& one) { return std::string(one.param.name); });

// ---- convolutions that are products -------------------------------------------------------------

/// `rest`: strides, padding, dilation, whether it is transposed, what that adds, groups.
auto convolution_text(const char* bias,
                      const char* rest = "[1, 1], [0, 0], [1, 1], False, [0, 0], 1")
    -> std::string {
  return fmt::format("r = aten.convolution.default(x, w, {}, {})", bias, rest);
}
const std::string kGradients =
    "t = aten.convolution_backward.default(g, x, w, [4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, "
    "[True, True, True])\ni = t[0]\nj = t[1]\nk = t[2]";

/// Numbers of calls of cuBLASLt and cuDNN; what is computed is held against the reference.
struct Pointwise {
  const char* name;
  SmallGraph graph;
  int products = 0, convolutions = 0;
};
class PointwiseConvolution : public LibraryCallCheck,
                             public ::testing::WithParamInterface<Pointwise> {};

TEST_P(PointwiseConvolution, IsAProduct) {
  const Counted products("cublasLtMatmul"), convolutions("cudnnConvolution");
  check(GetParam().graph, "");
  EXPECT_EQ(products.since(), GetParam().products);
  EXPECT_EQ(convolutions.since(), GetParam().convolutions);
}

INSTANTIATE_TEST_SUITE_P(
    , PointwiseConvolution,
    ::testing::Values(
        Pointwise{"of_images",
                  {"x: f32[2, 3, 5, 7]; w: f32[4, 3, 1, 1]", convolution_text("None"), "r"},
                  1},
        Pointwise{"with_a_bias",
                  {"x: f32[2, 3, 5, 7]; w: f32[4, 3, 1, 1]; b: f32[4]", convolution_text("b"), "r"},
                  1},
        Pointwise{"of_channels_last",
                  {"x: f32[2, 3, 5, 7][105, 1, 21, 3]; w: f32[4, 3, 1, 1]; b: f32[4]",
                   convolution_text("b"), "r"},
                  1},
        Pointwise{"of_one_place",
                  {"x: f32[5, 3, 1, 1]; w: f32[4, 3, 1, 1]; b: f32[4]", convolution_text("b"), "r"},
                  1},
        Pointwise{"of_one_image",
                  {"x: f32[1, 3, 5, 7]; w: f32[4, 3, 1, 1]; b: f32[4]", convolution_text("b"), "r"},
                  1},
        Pointwise{"of_doubles",
                  {"x: f64[2, 3, 5, 7]; w: f64[4, 3, 1, 1]; b: f64[4]", convolution_text("b"), "r"},
                  1},
        Pointwise{"of_rows_with_gaps",
                  {"x: f32[2, 3, 5, 7][180, 60, 12, 1]; w: f32[4, 3, 1, 1]",
                   convolution_text("None"), "r"},
                  0,
                  2},
        Pointwise{"in_a_row",
                  {"x: f32[2, 3, 9]; w: f32[4, 3, 1]; b: f32[4]",
                   convolution_text("b", "[1], [0], [1], False, [0], 1"), "r"},
                  1},
        Pointwise{"transposed",
                  {"x: f32[2, 4, 5, 7]; w: f32[4, 3, 1, 1]; b: f32[3]",
                   convolution_text("b", "[1, 1], [0, 0], [1, 1], True, [0, 0], 1"), "r"},
                  1},
        Pointwise{"with_steps",
                  {"x: f32[2, 3, 5, 7]; w: f32[4, 3, 1, 1]",
                   convolution_text("None", "[2, 1], [0, 0], [1, 1], False, [0, 0], 1"), "r"},
                  0,
                  2},
        Pointwise{"with_padding",
                  {"x: f32[1, 3, 5, 7]; w: f32[4, 3, 1, 1]",
                   convolution_text("None", "[1, 1], [1, 0], [1, 1], False, [0, 0], 1"), "r"},
                  0,
                  1},
        Pointwise{"of_groups",
                  {"x: f32[1, 4, 5, 7]; w: f32[6, 2, 1, 1]",
                   convolution_text("None", "[1, 1], [0, 0], [1, 1], False, [0, 0], 2"), "r"},
                  0,
                  1},
        // The weight's is a sum over images here.
        Pointwise{
            "backward",
            {"g: f32[2, 4, 5, 7]; x: f32[2, 3, 5, 7]; w: f32[4, 3, 1, 1]", kGradients, "i, j, k"},
            1,
            2},
        Pointwise{
            "backward_of_channels_last",
            {"g: f32[2, 4, 5, 7][140, 1, 28, 4]; x: f32[2, 3, 5, 7][105, 1, 21, 3]; w: f32[4, "
             "3, 1, 1][3, 1, 3, 3]",
             kGradients, "i, j, k"},
            2},
        Pointwise{
            "backward_of_one_image",
            {"g: f32[1, 4, 5, 7]; x: f32[1, 3, 5, 7]; w: f32[4, 3, 1, 1]", kGradients, "i, j, k"},
            2}),
    [](const auto& one) { return std::string(one.param.name); });

// Only convolutions, and only where tensor cores read them well.
TEST(FakeGpu, RoundsWhereItMay) {
  const auto table = build_op_table();
  const auto rounded = [&](const SmallGraph& graph, bool may_round) {
    const auto capture = capture_of(graph);
    const auto made = compiled(graph);
    const CudaExecutor executor(table, {.may_round = may_round});
    const auto program = executor.compile(made->program);
    const Counted products("cublasLtMatmul"), roundings("CUBLAS_COMPUTE_32F_FAST_TF32");
    const auto run = (*program)->run(inputs_of(graph, *capture, "")->values, {});
    EXPECT_TRUE(run) << (run ? "" : run.error().message);
    return std::pair(products.since(), roundings.since());
  };
  const SmallGraph aligned{"x: f32[2, 4, 2, 6]; w: f32[8, 4, 1, 1]", convolution_text("None"), "r"};
  const SmallGraph other{"x: f32[2, 4, 3, 5]; w: f32[8, 4, 1, 1]", convolution_text("None"), "r"};
  const SmallGraph product{"x: f32[4, 8]; w: f32[8, 4]", "r = aten.mm.default(x, w)", "r"};
  EXPECT_EQ(rounded(aligned, false), std::pair(1, 0));
  EXPECT_EQ(rounded(aligned, true), std::pair(1, 1));
  EXPECT_EQ(rounded(other, false), std::pair(1, 0));
  EXPECT_EQ(rounded(other, true), std::pair(0, 0));
  EXPECT_EQ(rounded(product, true), std::pair(1, 0));
}

TEST(FakeGpu, RunsAgainWithOtherInputs) {
  const SmallGraph graph{"a: f32[3, 5]; b: f32[5, 4]", "r = aten.mm.default(a, b)", "r"};
  const auto capture = capture_of(graph);
  const auto made = compiled(graph);
  const auto table = build_op_table();
  const CudaExecutor executor(table);
  const auto program = executor.compile(made->program);
  ASSERT_TRUE(program) << program.error().message;
  for (const std::uint32_t seed : {1U, 2U}) {
    const auto inputs = inputs_of(graph, *capture, "", seed);
    const auto run = (*program)->run(inputs->values, {});
    ASSERT_TRUE(run) << run.error().message;
    const auto wanted = RealDomain(table).run(*table.find("aten.mm.default"), inputs->values);
    const auto seen = to_vector<double>(*run->outputs[0].real());
    const auto expected = to_vector<double>(*wanted->real());
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-5);
  }
}

// More sizes than there are instantiated graphs: each takes over one that another size used, and
// gives its own away when that size comes back. The arena grows on the way.
TEST(FakeGpu, SizesTakeTurns) {
  const SmallGraph graph{
      "s0: Sym(s0); x: f32[s0, 3, 6, 7]; w: f32[4, 3, 3, 3]; v: f32[2, 4, 3, 3]",
      "c = aten.convolution.default(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
      "r = aten.convolution.default(c, v, None, [2, 1], [0, 0], [1, 1], False, [0, 0], 1)",
      "r"};
  const auto capture = capture_of(graph);
  ASSERT_TRUE(capture) << capture.error().message;
  const auto made = compiled(graph);
  ASSERT_TRUE(made) << made.error().message;
  const auto table = build_op_table();
  const CudaExecutor executor(table);
  const auto program = executor.compile(made->program);
  ASSERT_TRUE(program) << program.error().message;
  const Interpreter interpreter(table);
  const auto reference = interpreter.compile(made->program);
  ASSERT_TRUE(reference) << reference.error().message;
  for (const std::uint32_t seed : {1U, 2U, 3U})  // a third call runs the graph
    for (const int size : {1, 2, 3, 4, 5, 6, 7, 2, 9, 1}) {
      const auto inputs = inputs_of(graph, *capture, fmt::format("s0={}", size), seed);
      ASSERT_TRUE(inputs) << inputs.error().message;
      const auto given = program_inputs(capture->graph, *inputs);
      const auto run = (*program)->run(given, {});
      ASSERT_TRUE(run) << run.error().message;
      EXPECT_TRUE(run->on_host.empty());
      const auto wanted = (*reference)->run(given, {});
      ASSERT_TRUE(wanted) << wanted.error().message;
      const auto seen = to_vector<double>(*run->outputs[0].real());
      const auto expected = to_vector<double>(*wanted->outputs[0].real());
      ASSERT_EQ(seen.size(), expected.size());
      for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_NEAR(seen[i], expected[i], 1e-3) << size;
    }
}

}  // namespace
}  // namespace assay
