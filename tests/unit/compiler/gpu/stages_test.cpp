// Kernels of several reductions as stages, and scans in parts, launch by launch in the checking
// interpreter, beside the kernel itself.
#include <gtest/gtest.h>

#include "compiler/cuda/stages.h"
#include "compiler/program/text.h"
#include "compiler/runtime/bound_run.h"
#include "core/shape/shape_env.h"
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
  const auto made = testing::bound_graph(GetParam().graph, table());
  ASSERT_TRUE(made) << made.error().message;
  const auto& inputs = made->inputs;
  ASSERT_EQ(made->bound.steps.size(), 1U);

  std::map<std::string, std::unique_ptr<GpuKernel>> gpus;
  KernelStages stages;
  auto expanded = made->bound;
  stages.expand(expanded, [&](const std::string& name) -> const GpuKernel* {
    auto& gpu = gpus[name];
    if (gpu == nullptr) gpu = std::make_unique<GpuKernel>(made->kernels.at(name).kernel());
    return gpu.get();
  });
  EXPECT_EQ(expanded.steps.size(), GetParam().launches);
  const StageDevice device(made->kernels, stages);
  const BoundOptions options{.memory = {.redzone_bytes = 256}, .is_checked = true};
  const auto expected = ReadyProgram(made->bound, device, options).run(inputs);
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

/// A result may stand over what the kernel reads.
TEST(Stages, KeepTheOrderOfLoadsAndStores) {
  ShapeEnv env;
  const auto kernel = parse_kernel(
      "kernel k \"reduction\"\nparam x buffer float32\nparam z buffer float32\n"
      "param y buffer float32\nparam w buffer float32\nparam n scalar int64\n"
      "axis r reduction exact max 1024 block (1) extent (n)\nbody {\n"
      "  %0:int64[r] = index(r) line 0\n  %1:float32[r] = load(x) %0 _ _ line 0\n"
      "  %2:float32[r] = load(z) %0 _ _ line 0\n  store(y) %0 %2 _ line 0\n"
      "  %3:float32[] = reduce(sum r) %1 line 0\n  %4:float32[r] = sub %1 %3 line 0\n"
      "  store(w) %0 %4 _ line 0\n}\n",
      env.pool());
  ASSERT_TRUE(kernel) << kernel.error().message;
  const auto plan = plan_kernel(*kernel);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto staged = stage_kernel(*kernel, *plan);
  ASSERT_TRUE(staged) << staged.error().message;
  ASSERT_EQ(staged->kernels.size(), 2U);
  std::vector<std::string> accesses;
  for (const auto& one : staged->kernels[1]->body.body) {
    if (const auto* load = std::get_if<TileLoad>(&one.what))
      accesses.push_back("load " + staged->kernels[1]->params[load->param].name);
    if (const auto* store = std::get_if<TileStore>(&one.what))
      accesses.push_back("store " + kernel->params[store->param].name);
  }
  std::erase(accesses, "load reduced_0");
  EXPECT_EQ(accesses, (std::vector<std::string>{"load x", "load z", "store y", "store w"}));
}

}  // namespace
}  // namespace assay
