// One compilation serves every size: what 200 bindings of a graph ask for beside the first.
#include <chrono>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "compiler/cpu/cpu.h"
#include "compiler/cuda/gpu_code.h"
#include "core/base/clock.h"
#include "minifier/edits/patches.h"
#include "replay/bundle/open.h"
#include "replay/runner/compile.h"
#include "replay/runner/program_memory.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int kBindings = 200;

auto table() -> const OpTable& {
  static const auto kRows = build_op_table();
  return kRows;
}

/// Code that was asked for.
class Counting final : public CodeCache {
 public:
  [[nodiscard]] auto find(std::string_view) -> std::optional<std::string> override {
    ++asked;
    return std::nullopt;
  }
  void keep(std::string_view, std::string_view) override {}
  int asked = 0;
};

/// Batches of 1 to 64, all else odd, as far as the guards admit; 200 different ones, or fewer where
/// there are no more.
auto bindings_of(const Graph& graph) -> std::vector<Binding> {
  const auto& env = graph.env;
  const auto hints = env.hints();
  std::vector<Expr> sizes;  // that are free, the batch first
  for (const auto& node : graph.nodes)
    if (node.kind == NodeKind::placeholder)
      if (const auto* meta = node.claim.tensor())
        for (const auto& size : meta->sizes)
          if (size.op() == ExprOp::symbol && std::ranges::find(sizes, size) == sizes.end())
            sizes.push_back(size);
  std::mt19937 random(11);
  std::vector<Binding> found;
  std::set<std::string> known;
  for (int tries = 0; tries < 20'000 && std::ssize(found) < kBindings; ++tries) {
    Binding binding = hints;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto hint = hints.contains(sizes[i]) ? hints.at(sizes[i]).as_int().value_or(8) : 8;
      const auto odd =
          1 + 2 * static_cast<std::int64_t>(random() % static_cast<unsigned>(hint + 8));
      binding[sizes[i]] = i == 0 ? Expr(std::int64_t{1} + tries % 64) : Expr(odd);
      if (!admits(env, binding)) {
        Binding usual = binding;
        usual[sizes[i]] = hints.contains(sizes[i]) ? hints.at(sizes[i]) : Expr(8);
        if (i > 0 && admits(env, usual)) binding = std::move(usual);
      }
    }
    std::string text;
    for (const auto& size : sizes) text += to_string(Datum{binding.at(size)}) + " ";
    if (admits(env, binding) && known.insert(text).second) found.push_back(std::move(binding));
  }
  return found;
}

/// What the launches of bound programs are compiled for on a GPU, by kernel. Only counted: the
/// blocks of small extents are as large as they are.
class GpuAsked {
 public:
  void add(const BoundProgram& bound) {
    for (const auto& step : bound.steps) {
      const auto* launch = std::get_if<BoundLaunch>(&step);
      if (launch == nullptr) continue;
      const auto name = bound.kernels[launch->kernel];
      TileLaunch asked;
      asked.extents = launch->extents;
      asked.blocks = launch->blocks;
      asked.scalars = launch->scalars;
      keys[name].insert(kernel(name).key(asked).code());
    }
  }
  explicit GpuAsked(const HostProgram& program) : program_(program) {}
  std::map<std::string, std::set<GpuVariantKey>> keys;

 private:
  auto kernel(const std::string& name) -> const GpuKernel& {
    auto& made = kernels_[name];
    if (!made) made = std::make_unique<GpuKernel>(*program_.kernels.at(name).kernel);
    return *made;
  }
  const HostProgram& program_;
  std::map<std::string, std::unique_ptr<GpuKernel>> kernels_;
};

TEST(BindingsCorpus, OneCompilationServesTwoHundred) {
  const auto corpus = testing::graph_captures();
  if (corpus.empty()) GTEST_SKIP() << testing::corpus_missing();
  for (const std::string_view wanted :
       {"hf_bert/graph0_fwd", "timm_vit_tiny_patch16_224/graph0_fwd", "timm_resnet18/graph0_fwd",
        "hf_gpt2/graph0_fwd", "timm_convnext_atto/graph0_fwd", "mini_pad/graph0_fwd",
        "mini_attn/graph0_fwd"}) {
    const auto path = std::ranges::find_if(
        corpus, [&](const fs::path& one) { return one.string().contains(wanted); });
    ASSERT_NE(path, corpus.end()) << wanted;
    const auto start = Clock::now();
    const auto capture = open_capture(*path);
    ASSERT_TRUE(capture);
    const auto compiled = compile_graph(*capture, table());
    ASSERT_TRUE(compiled);
    Counting cache;
    CpuOptions options;
    options.native.cache = &cache;
    const CpuExecutor cpu(table(), options);
    const auto program = cpu.compile(compiled->program);
    ASSERT_TRUE(program) << program.error().message;
    const int first = cache.asked;
    GpuAsked gpu(compiled->program);
    int bound = 0, run = 0;
    for (const auto& binding : bindings_of(capture->graph)) {
      auto inputs = inputs_at(*capture, binding);
      if (!inputs) inputs = inputs_at(*capture, binding, IntegerData::zero);
      ASSERT_TRUE(inputs) << wanted << inputs.error().message;
      const auto given = program_inputs(capture->graph, *inputs);
      const auto memory = plan_program(compiled->program, given, table());
      ASSERT_TRUE(memory) << wanted << ": " << memory.error().message;
      gpu.add(memory->bound);
      ++bound;
      if (memory->plan.sum_bytes > (std::int64_t{1} << 18)) continue;
      const auto done = (*program)->run(given, {});
      ASSERT_TRUE(done) << wanted << ": " << done.error().message;
      ++run;
    }
    EXPECT_EQ(cache.asked, first) << wanted;
    std::size_t most = 0, variants = 0;
    for (const auto& [name, keys] : gpu.keys) {
      most = std::max(most, keys.size());
      variants += keys.size();
    }
    EXPECT_LE(most, 7U) << wanted;  // as compiler/cuda/README.md says
    std::cout << fmt::format(
        "{:<40} {} bindings, {} of them run; cpu: {} kernels, {} compilations, {} later; gpu: {} "
        "variants of {} kernels, at most {} of one; {:.1f} s\n",
        wanted, bound, run, cpu.kernels().size(), first, cache.asked - first, variants,
        gpu.keys.size(), most, seconds_since(start));
  }
}

}  // namespace
}  // namespace assay
