// Kernels of several reductions as stages, and scans in parts, launch by launch in the checking
// interpreter, beside the kernel itself.
#include <gtest/gtest.h>

#include "compiler/cuda/stages.h"
#include "compiler/runtime/bound_run.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

auto table() -> const OpTable& {
  static const auto kRows = build_op_table();
  return kRows;
}

class StageDevice final : public BoundDevice {
 public:
  StageDevice(const CompiledKernels& kernels, const KernelStages& stages)
      : kernels_(kernels), stages_(stages) {}
  [[nodiscard]] auto launch(const BoundProgram& bound, const BoundLaunch& launch,
                            const LaunchArguments& arguments, ProgramRun& run) const
      -> Result<void> override {
    const auto& name = bound.kernels[launch.kernel];
    const auto stage = stages_.find(name);
    if (stage == nullptr) return run_tiles(kernels_.at(name), launch, arguments, run);
    EXPECT_EQ(verify(*stage), std::vector<std::string>());
    ASSAY_TRY(const auto code, TileCode::compile(*stage));
    return run_tiles(code, launch, arguments, run);
  }

 private:
  const CompiledKernels& kernels_;
  const KernelStages& stages_;
};

struct Row {
  std::string name;
  testing::SmallGraph graph;
  std::size_t launches;  ///< of the stages; 1: it stays one
};
class StagesTest : public ::testing::TestWithParam<Row> {};

TEST_P(StagesTest, GiveWhatTheKernelGives) {
  const auto& graph = GetParam().graph;
  auto capture = testing::capture_of(graph);
  ASSERT_TRUE(capture) << capture.error().message;
  auto compiled = compile_graph(*capture, table(), {});
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto kernels = compile_kernels(compiled->program);
  ASSERT_TRUE(kernels);
  auto made = testing::inputs_of(graph, *capture, "");
  ASSERT_TRUE(made) << made.error().message;
  const auto inputs = program_inputs(capture->graph, *made);
  const auto bound = bind_program(compiled->program, *kernels, table(), inputs);
  ASSERT_TRUE(bound) << bound.error().message;
  ASSERT_EQ(bound->steps.size(), 1U);

  std::map<std::string, std::unique_ptr<GpuKernel>> gpus;
  KernelStages stages;
  auto expanded = *bound;
  stages.expand(expanded, [&](const std::string& name) -> const GpuKernel* {
    auto& gpu = gpus[name];
    if (gpu == nullptr) gpu = std::make_unique<GpuKernel>(kernels->at(name).kernel());
    return gpu.get();
  });
  EXPECT_EQ(expanded.steps.size(), GetParam().launches);
  const StageDevice device(*kernels, stages);
  const BoundOptions options{.memory = {.redzone_bytes = 256}, .is_checked = true};
  const auto expected = ReadyProgram(*bound, device, options).run(inputs);
  const auto got = ReadyProgram(expanded, device, options).run(inputs);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->findings.size(), 0U);
  for (std::size_t k = 0; k < got->outputs.size(); ++k) {
    const auto a = to_vector<double>(*got->outputs[k].real());
    const auto b = to_vector<double>(*expected->outputs[k].real());
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << "result " << k << " at " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    , StagesTest,
    ::testing::Values(
        Row{"BatchNormOfChannelsLast",
            {"x: f32[40, 4, 40, 20][3200, 1, 80, 4]; w: f32[4]; b: f32[4]; m: f32[4]; v: f32[4]",
             "n = aten._native_batch_norm_legit_functional.default(x, w, b, m, v, True, 0.1, "
             "1e-05)\na = n[0]\nc = n[1]\nd = n[2]\ne = n[3]\nf = n[4]",
             "a, c, d, e, f"},
            3},
        Row{"SoftmaxOfColumns",
            {"x: f32[40000, 3]", "a = aten._softmax.default(x, 0, False)", "a"},
            3},
        Row{"PlacesOfExtremes",
            {"x: f32[40000, 2]",
             "i = aten.argmax.default(x, 0, True)\nm = aten.amax.default(x, [0], True)\n"
             "d = aten.sub.Tensor(x, m)\ns = aten.sum.dim_IntList(d, [0])\n"
             "e = aten.mul.Tensor(d, i)",
             "s, e"},
            3},
        Row{"BatchNormBackwardOfChannelsLast",
            {"g: f32[40, 4, 40, 20][3200, 1, 80, 4]; x: f32[40, 4, 40, 20][3200, 1, 80, 4]; "
             "w: f32[4]; m: f32[4]; r: f32[4]",
             "n = aten.native_batch_norm_backward.default(g, x, w, None, None, m, r, True, 1e-05, "
             "[True, True, True])\na = n[0]\nb = n[1]\nc = n[2]",
             "a, b, c"},
            2},
        Row{"ScanOfColumns",
            {"x: f32[40100, 2]",
             "y = aten.mul.Tensor(x, 0.5)\nb = aten.cumsum.default(y, 0)\n"
             "a = aten.add.Tensor(b, x)",
             "a"},
            3},
        Row{"ScanOfOneRow", {"x: i64[70001]", "a = aten.cumsum.default(x, 0)", "a"}, 3},
        Row{"ShortRowsStay", {"x: f32[3, 1000]", "a = aten._softmax.default(x, 1, False)", "a"}, 1},
        Row{"SumsStay", {"x: f32[40000, 3]", "a = aten.sum.dim_IntList(x, [0])", "a"}, 1}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace assay
