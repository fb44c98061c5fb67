// Every graph of the corpus, bound and not, with other vectors and threads: the same bits. And how
// well its temporaries are packed.
#include <chrono>
#include <cstring>
#include <iostream>

#include <gtest/gtest.h>

#include "compiler/cpu/cpu.h"
#include "compiler/runtime/bound_run.h"
#include "replay/bundle/open.h"
#include "replay/runner/compile.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

/// A copy of every tensor; those that shared a storage share one again.
auto copies(const DatumList& data) -> DatumList {
  std::map<const Storage*, std::shared_ptr<Storage>> twins;
  auto made = data;
  for (auto& datum : made)
    visit_tensors(datum, [&](Tensor& tensor) {
      auto& twin = twins[tensor.storage.get()];
      if (!twin) {
        twin = std::make_shared<Storage>(tensor.storage->size_bytes());
        std::ranges::copy(tensor.storage->bytes(), twin->bytes().begin());
      }
      tensor.storage = twin;
    });
  return made;
}

/// Layouts and the bits of all elements.
auto bits(const DatumList& data) -> std::string {
  std::string text;
  for (const auto& datum : data) {
    text += to_string(datum) + "\n";
    const auto* tensor = datum.real();
    if (tensor == nullptr) continue;
    const auto size = static_cast<std::size_t>(size_bytes(tensor->dtype()));
    const Ints* strides[] = {&tensor->strides()};
    const auto inner = tensor->rank() ? tensor->strides().back() : 0;
    for_each_run(tensor->sizes(), strides, [&](std::span<const std::int64_t> at, std::int64_t run) {
      for (std::int64_t i = 0; i < run; ++i) {
        const auto element = static_cast<std::size_t>(tensor->meta.offset + at[0] + i * inner);
        const auto bytes = tensor->storage->bytes().subspan(element * size, size);
        text.append(reinterpret_cast<const char*>(bytes.data()), size);
      }
    });
  }
  return text;
}

auto wanted_calls() -> int {
  const char* given = std::getenv("ASSAY_BOUND_CALLS");
  return given == nullptr ? 400 : std::atoi(given);
}

TEST(BoundCorpus, ProgramsGiveTheSameBits) {
  const auto paths = testing::all_captures();
  if (paths.empty()) GTEST_SKIP() << testing::corpus_missing();
  const auto table = build_op_table();
  int compared = 0, unbound = 0;
  for (const auto& path : paths) {
    const auto capture = open_capture(path);
    ASSERT_TRUE(capture);
    if (capture->graph.call_count() > wanted_calls()) continue;
    const auto compiled = compile_graph(*capture, table);
    const auto given = recorded_inputs(*capture);
    ASSERT_TRUE(compiled && given) << path;
    const auto inputs = program_inputs(capture->graph, *given);
    const CpuExecutor slow(table, {.is_bound = false}), fast(table),
        checked(table, {.is_checked = true});
    const auto plain = slow.compile(compiled->program);
    if (!plain && plain.error().code == ErrorCode::missing_tool)
      GTEST_SKIP() << plain.error().message;
    ASSERT_TRUE(plain) << path << ": " << plain.error().message;
    auto mine = copies(inputs);
    const auto expected = (*plain)->run(mine, {});
    ASSERT_TRUE(expected) << path << ": " << expected.error().message;
    if (expected->randomness != Randomness::none) continue;
    CpuOptions other;  // vectors and threads; sums of products are the library's, by threads
    other.native.lanes = 4;
    if (expected->calls == 0) other.threads = 3;
    const CpuExecutor narrow(table, other);
    for (const auto* executor : {&fast, &checked, &narrow}) {
      const auto program = executor->compile(compiled->program);
      ASSERT_TRUE(program) << path;
      for (int round = 0; round < 2; ++round) {
        auto theirs = copies(inputs);
        const auto run = (*program)->run(theirs, {});
        ASSERT_TRUE(run) << path << ": " << run.error().message;
        EXPECT_EQ(run->launches, expected->launches) << path;
        EXPECT_EQ(run->calls, expected->calls) << path;
        EXPECT_TRUE(run->findings.empty()) << path << ": " << run->findings[0].message;
        EXPECT_TRUE(bits(run->outputs) == bits(expected->outputs)) << path << ", round " << round;
        EXPECT_TRUE(bits(theirs) == bits(mine)) << path << ", inputs after, round " << round;
      }
      if (executor->bindings() == 0) ++unbound;
      EXPECT_LE(executor->bindings(), 1U);
    }
    ++compared;
  }
  std::cout << compared << " graphs compared, of which not bound " << unbound / 3 << "\n";
  EXPECT_GT(compared, 10);
}

TEST(BoundCorpus, TemporariesArePackedCloseToWhatLives) {
  const auto paths = testing::all_captures();
  if (paths.empty()) GTEST_SKIP() << testing::corpus_missing();
  const auto table = build_op_table();
  std::int64_t arena = 0, live = 0, sum = 0;
  double worst = 0;
  int bound_count = 0, in_place = 0, unbound = 0;
  for (const auto& path : paths) {
    const auto capture = open_capture(path);
    ASSERT_TRUE(capture);
    const auto compiled = compile_graph(*capture, table);
    const auto given = recorded_inputs(*capture);
    ASSERT_TRUE(compiled && given) << path;
    const auto kernels = compile_kernels(compiled->program);
    ASSERT_TRUE(kernels) << path;
    const auto bound =
        bind_program(compiled->program, *kernels, table, program_inputs(capture->graph, *given));
    if (!bound) {
      std::cout << path.filename() << ": " << bound.error().message << "\n";
      ++unbound;
      continue;
    }
    const auto plan = plan_memory(*bound);
    for (const auto& broken : check_plan(*bound, plan)) ADD_FAILURE() << path << ": " << broken;
    for (const auto& buffer : bound->buffers) in_place += buffer.over ? 1 : 0;
    if (plan.live_bytes > 0) {
      const auto ratio =
          static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.live_bytes);
      EXPECT_LE(ratio, 1.05) << path;
      worst = std::max(worst, ratio);
    }
    arena += plan.arena_bytes;
    live += plan.live_bytes;
    sum += plan.sum_bytes;
    ++bound_count;
  }
  std::cout << bound_count << " graphs bound, " << unbound << " not; arenas " << arena
            << " bytes, live at most " << live << ", without reuse " << sum << "; worst ratio "
            << worst << "; " << in_place << " buffers in place\n";
  EXPECT_GT(bound_count, 10);
}

}  // namespace
}  // namespace assay
