// Calls at new sizes and at sizes that come again, on a GPU that counts what it is asked for
// (tests/fake_gpu).
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/cuda/cuda.h"
#include "compiler/interpret/interpret.h"
#include "tests/support/compiled.h"
#include "tests/support/counted.h"
#include "tests/support/setting.h"

namespace assay {
namespace {
using namespace assay::testing;

/// A product that no library takes stands between others, so a call has two graphs.
const SmallGraph kProducts{
    "s0: Sym(s0); x: f32[s0, 5]; y: f32[5, 5]; z: f32[5, 5][10, 2]",
    "a = aten.mm.default(x, y)\nb = aten.mm.default(a, z)\nc = aten.mm.default(b, y)\n"
    "r = aten.mm.default(c, y)",
    "r"};
const SmallGraph kConvolution{
    "s0: Sym(s0); x: f32[s0, 3, 6, 7]; w: f32[4, 3, 3, 3]",
    "r = aten.convolution.default(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)", "r"};

class FirstCall : public ::testing::Test {
 protected:
  void compile(const SmallGraph& graph) {
    graph_ = graph;
    auto capture = capture_of(graph);
    ASSERT_TRUE(capture) << capture.error().message;
    capture_ = std::make_unique<Capture>(*std::move(capture));
    auto made = compiled(graph);
    ASSERT_TRUE(made) << made.error().message;
    compiled_ = std::make_unique<CompiledGraph>(*std::move(made));
    auto program = executor_.compile(compiled_->program);
    ASSERT_TRUE(program) << program.error().message;
    program_ = *std::move(program);
    reference_ = *Interpreter(table_).compile(compiled_->program);
  }
  [[nodiscard]] auto given(int size, std::uint32_t seed) const -> DatumList {
    const auto inputs = inputs_of(graph_, *capture_, fmt::format("s0={}", size), seed);
    return program_inputs(capture_->graph, *inputs);
  }
  /// Runs and compares; what ran on the host.
  auto run(int size, std::uint32_t seed = 1) -> std::map<std::string, int> {
    const auto inputs = given(size, seed);
    const auto run = program_->run(inputs, {});
    const auto wanted = reference_->run(inputs, {});
    EXPECT_TRUE(run) << run.error().message;
    if (!run || !wanted) return {};
    const auto seen = to_vector<double>(*run->outputs[0].real());
    const auto expected = to_vector<double>(*wanted->outputs[0].real());
    EXPECT_EQ(seen.size(), expected.size());
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 1e-3);
    std::map<std::string, int> calls;
    for (const auto& [call, count] : run->on_host) calls[call.substr(0, call.find(':'))] += count;
    return calls;
  }

  OpTable table_ = build_op_table();
  CudaExecutor executor_{table_};
  SmallGraph graph_;
  std::unique_ptr<Capture> capture_;
  std::unique_ptr<CompiledGraph> compiled_;
  std::unique_ptr<CompiledProgram> program_, reference_;
};

TEST_F(FirstCall, CapturesNothing) {
  compile(kProducts);
  const Counted captures("cuStreamBeginCapture_v2"), graphs("cuGraphInstantiateWithFlags");
  const Counted products("cublasLtMatmul");
  for (const int size : {1, 2, 3}) run(size);
  EXPECT_EQ(captures.since(), 0);
  EXPECT_EQ(graphs.since(), 0);
  EXPECT_EQ(products.since(), 9);
}

TEST_F(FirstCall, IsFollowedByGraphs) {
  compile(kProducts);
  const Counted captures("cuStreamBeginCapture_v2"), launches("cuGraphLaunch");
  run(2);
  const Counted products("cublasLtMatmul");
  run(2, 2);
  EXPECT_EQ(captures.since(), 2);
  EXPECT_EQ(launches.since(), 0);  // the second call makes them while the GPU is at work
  EXPECT_EQ(products.since(), 6);  // issued, then captured
  EXPECT_EQ(run(2, 3), (std::map<std::string, int>{{"aten.mm.default", 1}}));
  run(3);
  EXPECT_EQ(captures.since(), 2);
  EXPECT_EQ(launches.since(), 2);
  EXPECT_EQ(products.since(), 9);
}

TEST_F(FirstCall, MayFailHalfWay) {
  compile(kProducts);
  run(2);
  {
    const Setting refusal("FAKE_GPU_REFUSE", "cuMemcpyDtoHAsync_v2");  // where the host takes over
    const auto failed = program_->run(given(3, 1), {});
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().message.find("cuMemcpyDtoH"), std::string::npos);
  }
  const Counted products("cublasLtMatmul"), captures("cuStreamBeginCapture_v2");
  EXPECT_EQ(run(3, 2), (std::map<std::string, int>{{"aten.mm.default", 1}}));
  EXPECT_EQ(products.since(), 3);  // it is still the first call
  EXPECT_EQ(captures.since(), 0);
  run(2, 3);
  run(3, 4);
  EXPECT_EQ(captures.since(), 4);
}

TEST_F(FirstCall, LeavesToTheHostWhatALibraryRefuses) {
  compile(kProducts);
  {
    const Setting refusal("FAKE_GPU_REFUSE", "cublasLtMatmul");
    EXPECT_EQ(run(2), (std::map<std::string, int>{{"aten.mm.default", 4}}));
  }
  EXPECT_EQ(run(2, 2), (std::map<std::string, int>{{"aten.mm.default", 4}}));
  EXPECT_EQ(run(3), (std::map<std::string, int>{{"aten.mm.default", 1}}));
}

TEST_F(FirstCall, GoesOnWithoutGraphs) {
  compile(kProducts);
  for (const auto* call : {"cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags"}) {
    const int size = call[2] == 'S' ? 2 : 3;
    const Setting refusal("FAKE_GPU_REFUSE", call);
    const Counted launches("cuGraphLaunch");
    for (const std::uint32_t seed : {1U, 2U, 3U}) run(size, seed);
    EXPECT_EQ(launches.since(), 0);
  }
}

// More graphs than there are instantiated ones, so that the last size takes over another one's.
TEST_F(FirstCall, IsRepeatedWhereTimeIsTaken) {
  compile(kConvolution);
  const auto changed = [&](int size) {
    const auto times = program_->measure(given(size, 1), {.runs = 1});
    return times ? times->changed_bytes.value_or(-1) : -1;
  };
  for (int size = 1; size <= 4; ++size) EXPECT_EQ(changed(size), 0) << size;
  const Setting stale("FAKE_GPU_STALE", "0");
  EXPECT_GT(changed(5), 0);
}

TEST_F(FirstCall, OfAConvolutionReadiesTheLibraryForOtherBatches) {
  compile(kConvolution);
  const Counted convolutions("cudnnConvolution");
  EXPECT_TRUE(run(4).empty());
  EXPECT_EQ(convolutions.since(), 3);  // of four, of two and of one
  EXPECT_TRUE(run(3).empty());
  EXPECT_EQ(convolutions.since(), 4);
}

TEST_F(FirstCall, OfAProductReadiesTheLibraryForOtherBatches) {
  compile({"s0: Sym(s0); x: f32[s0, 5]; y: f32[5, 4]", "r = aten.mm.default(x, y)", "r"});
  const Counted asked("cublasLtMatmulAlgoGetHeuristic"), products("cublasLtMatmul");
  EXPECT_TRUE(run(4).empty());
  EXPECT_EQ(asked.since(), 6);
  EXPECT_TRUE(run(3).empty());
  EXPECT_EQ(asked.since(), 7);
  EXPECT_EQ(products.since(), 2);
}

// The algorithm of small batches needs more room than there is for large ones.
TEST_F(FirstCall, TakesTheAlgorithmOfAnotherBatch) {
  compile(kConvolution);
  const Counted choices("cudnnGetConvolutionAlgorithm");
  EXPECT_TRUE(run(2).empty());
  EXPECT_TRUE(run(3).empty());
  EXPECT_EQ(choices.since(), 1);
  EXPECT_TRUE(run(8).empty());
  EXPECT_EQ(choices.since(), 2);
  EXPECT_TRUE(run(9).empty());
  EXPECT_TRUE(run(8, 2).empty());
  EXPECT_EQ(choices.since(), 2);
}

}  // namespace
}  // namespace assay
