// Lies planted into real captures: what is left is the node that lies, and never another failure.
#include <cstdlib>
#include <iostream>
#include <random>

#include <gtest/gtest.h>

#include "minifier/search/minify.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNodes = 1200;

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

class MinifyCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::unpacked_corpus("models")) GTEST_SKIP() << testing::corpus_missing();
    paths_ = testing::graph_captures();
    ASSERT_FALSE(paths_.empty());
    std::erase_if(paths_, testing::is_backward);
    std::shuffle(paths_.begin(), paths_.end(), random_);
  }

  /// A call with a tensor claim of rank 1 or more whose first size is more than 1 where recorded.
  auto pick(const Capture& capture, int after = -1) -> int {
    std::vector<int> fit;
    const auto& nodes = capture.graph.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto seen = capture.observed.find(nodes[i].id);
      if (static_cast<int>(i) <= after || nodes[i].kind != NodeKind::call_function ||
          !nodes[i].claim.tensor() || seen == capture.observed.end() || !seen->second.tensor)
        continue;
      const auto& real = *seen->second.tensor;
      if (real.rank() > 0 && real.sizes[0] > 1 && numel(real) > 0)
        fit.push_back(static_cast<int>(i));
    }
    return fit.empty() ? -1 : fit[random_() % fit.size()];
  }

  std::mt19937 random_{20251122};
  std::vector<fs::path> paths_;
};

struct Lie {
  const char* kind;
  void (*plant)(TensorMeta&);
};
constexpr Lie kLies[] = {
    {"wrong-size", [](TensorMeta& meta) { meta.sizes[0] = meta.sizes[0] + 1; }},
    {"wrong-stride", [](TensorMeta& meta) { meta.strides[0] = meta.strides[0] + 1; }},
    {"wrong-dtype",
     [](TensorMeta& meta) {
       meta.dtype = meta.dtype == DType::int16 ? DType::int32 : DType::int16;
     }},
};

auto tensor_claim(Capture& capture, int at) -> TensorMeta& {
  return std::get<TensorMeta>(capture.graph.nodes[static_cast<std::size_t>(at)].claim.value);
}

auto run(Capture capture) -> MinifyResult {
  const auto oracle = debug_oracle(table(), "");
  AnswerStore store;
  MinifyOptions options;
  options.values = false;
  options.limits.seconds = 120;
  options.default_timeout = false;
  auto result = minify(std::move(capture), *oracle, store, table(), options);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return *std::move(result);
}

auto has_call(const Capture& capture, const std::string& name) -> bool {
  const auto* node = capture.graph.find(name);
  return node && node->kind == NodeKind::call_function;
}

TEST_F(MinifyCorpus, ThePlantedLieIsWhatIsLeft) {
  int runs = 0;
  int alone = 0;
  for (const auto& path : paths_) {
    if (runs >= testing::wanted_graphs(20) * std::ssize(kLies)) break;
    const auto capture = read_capture_file(path);
    ASSERT_TRUE(capture);
    if (capture->graph.nodes.size() > kMostNodes) continue;
    for (const auto& lie : kLies) {
      auto planted = *capture;
      const int at = pick(planted);
      if (at < 0) break;
      lie.plant(tensor_claim(planted, at));
      const auto name = planted.graph.nodes[static_cast<std::size_t>(at)].name;
      const auto result = run(std::move(planted));
      ++runs;
      EXPECT_TRUE(result.reproduced) << path << " " << name << " " << lie.kind;
      EXPECT_EQ(result.wanted.error_class, lie.kind) << path << " " << name;
      EXPECT_TRUE(has_call(result.minimal, name)) << path << " " << name << " " << lie.kind;
      EXPECT_TRUE(verify(result.minimal.graph).empty()) << path << " " << name;
      alone += result.minimal.graph.call_count() == 1 ? 1 : 0;
    }
  }
  std::cout << runs << " lies planted, in " << alone << " results the lying call is the only one\n";
  EXPECT_GT(runs, 30);
  EXPECT_GE(alone * 10, runs * 8);  // an element of a tuple brings the call that made it
}

TEST_F(MinifyCorpus, TwoLiesAreToldApart) {
  int runs = 0;
  for (const auto& path : paths_) {
    if (runs >= testing::wanted_graphs(20) / 2) break;
    const auto capture = read_capture_file(path);
    ASSERT_TRUE(capture);
    if (capture->graph.nodes.size() > kMostNodes) continue;
    auto planted = *capture;
    const int first = pick(planted);
    const int second = first < 0 ? -1 : pick(planted, first);
    if (second < 0) continue;
    kLies[1].plant(tensor_claim(planted, first));
    kLies[2].plant(tensor_claim(planted, second));
    const auto& nodes = planted.graph.nodes;
    const auto wanted = nodes[static_cast<std::size_t>(first)].name;
    const auto other = nodes[static_cast<std::size_t>(second)].name;
    const auto result = run(planted);
    ++runs;
    EXPECT_EQ(result.wanted.node, wanted) << path;
    EXPECT_TRUE(has_call(result.minimal, wanted)) << path << " " << wanted;
    EXPECT_FALSE(has_call(result.minimal, other)) << path << " " << other;
  }
  EXPECT_GT(runs, 5);
}

}  // namespace
}  // namespace assay
