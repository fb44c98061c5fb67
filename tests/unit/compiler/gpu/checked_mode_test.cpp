// Checked mode on a fake GPU (tests/fake_gpu), whose kernels only tell their arguments: graphs of
// the driver whose nodes keep what an update should have replaced, and calls that read what nobody
// wrote.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "compiler/cuda/cuda.h"
#include "tests/support/compiled.h"
#include "tests/support/setting.h"

namespace assay {
namespace {
using namespace assay::testing;

/// Two kernels, between them a product of inputs and the mark that it has written: four nodes.
const SmallGraph kNodes{"s0: Sym(s0); x: f32[s0, 5]; y: f32[5, 5]",
                        "a = aten.relu.default(y)\nb = aten.mm.default(x, y)\n"
                        "r = aten.neg.default(b)",
                        "a, r"};
/// More sizes than there are instantiated graphs, so the last one is updated.
constexpr int kSizes = 5;

/// A program whose kernels do nothing but tell their arguments.
class QuietGpu : public ::testing::Test {
 protected:
  void prepare(const SmallGraph& graph, bool is_checked) {
    graph_ = graph;
    auto capture = capture_of(graph);
    ASSERT_TRUE(capture) << capture.error().message;
    capture_ = std::make_unique<Capture>(*std::move(capture));
    auto made = compiled(graph);
    ASSERT_TRUE(made) << made.error().message;
    compiled_ = std::make_unique<CompiledGraph>(*std::move(made));
    executor_ = std::make_unique<CudaExecutor>(table_, CudaOptions{.is_checked = is_checked});
    auto program = executor_->compile(compiled_->program);
    if (!program && program.error().code == ErrorCode::missing_tool)
      GTEST_SKIP() << program.error().message;
    ASSERT_TRUE(program) << program.error().message;
    program_ = *std::move(program);
  }
  auto findings(const std::string& at) -> std::vector<RunFinding> {
    const auto inputs = inputs_of(graph_, *capture_, at, 1);
    const auto run = program_->run(program_inputs(capture_->graph, *inputs), {});
    EXPECT_TRUE(run) << run.error().message;
    return run ? run->findings : std::vector<RunFinding>();
  }

  Setting kernels_{"FAKE_GPU_KERNELS", "quiet"};
  OpTable table_ = build_op_table();
  SmallGraph graph_;
  std::unique_ptr<CudaExecutor> executor_;
  std::unique_ptr<Capture> capture_;
  std::unique_ptr<CompiledGraph> compiled_;
  std::unique_ptr<CompiledProgram> program_;
};

class StaleGraph : public QuietGpu {
 protected:
  void SetUp() override { prepare(kNodes, true); }
  auto findings(int size) -> std::vector<RunFinding> {
    return QuietGpu::findings(fmt::format("s0={}", size));
  }
  /// Of the size whose graph takes over an instantiated one.
  auto findings_of_update() -> std::vector<RunFinding> {
    for (int size = 1; size < kSizes; ++size) EXPECT_TRUE(findings(size).empty()) << size;
    return findings(kSizes);
  }
  [[nodiscard]] auto launches() const -> std::vector<const HostOp*> {
    std::vector<const HostOp*> all;
    for (const auto& op : compiled_->program.functions.back().ops)
      if (std::holds_alternative<HostLaunch>(op.what)) all.push_back(&op);
    return all;
  }
};

TEST_F(StaleGraph, NothingIsFoundInSoundOnes) {
  EXPECT_TRUE(findings_of_update().empty());
  for (int size = 1; size <= kSizes; ++size) EXPECT_TRUE(findings(size).empty()) << size;
}

TEST_F(StaleGraph, ANodeThatIsNotUpdatedIsBlamed) {
  const Setting stale("FAKE_GPU_STALE", "3");
  const auto found = findings_of_update();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(name(found[0].fault), "stale-launch");
  EXPECT_EQ(found[0].line, launches()[1]->line);
  EXPECT_NE(found[0].message.find("did not reach its record"), std::string::npos);
}

TEST_F(StaleGraph, APointerThatIsNotUpdatedIsBlamed) {
  const Setting stale("FAKE_GPU_STALE", "0.0");
  const auto found = findings_of_update();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(name(found[0].fault), "stale-launch");
  EXPECT_EQ(found[0].line, launches()[0]->line);
  EXPECT_FALSE(found[0].kernel.empty());
  EXPECT_NE(found[0].message.find("other arguments"), std::string::npos);
}

/// Rows of one block, and of more: an update of their graph would leave the clusters as they were.
/// One launch makes no graph.
TEST_F(QuietGpu, GraphsDoNotTakeOverOtherClusters) {
  const Setting has_clusters("FAKE_GPU_CLUSTERS", "1");
  prepare({"s0: Sym(s0); s1: Sym(s1); x: f32[s0, s1]",
           "a = aten._softmax.default(x, 1, False)\nr = aten._softmax.default(a, 0, False)", "r"},
          false);
  if (IsSkipped()) return;
  const auto count = reinterpret_cast<int (*)(const char*)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_gpu_calls"));
  ASSERT_NE(count, nullptr);
  const auto updates = count("cuGraphExecUpdate_v2");
  for (const int columns : {64, 100, 200, 300, 400, 20000, 500, 30000, 40000, 600})
    for (int call = 0; call < 3; ++call)  // the second one makes the graph, the third runs it
      (void)findings(fmt::format("s0=3,s1={}", columns));
  EXPECT_GT(count("cuGraphExecUpdate_v2"), updates);
  EXPECT_EQ(count("wrong cluster"), 0);
}

/// Kernels of the fake GPU write nothing, so a call reads what nobody wrote.
TEST_F(QuietGpu, CallsLookAtWhatTheyRead) {
  prepare(
      {"x: f32[3, 5]; y: f32[5, 5]", "a = aten.relu.default(x)\nr = aten.mm.default(a, y)", "r"},
      true);
  if (IsSkipped()) return;
  const auto found = findings("");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].fault, RunFault::uninitialised);
  EXPECT_EQ(found[0].times, 15);
  EXPECT_NE(found[0].statement.find("mm"), std::string::npos);
}

}  // namespace
}  // namespace assay
