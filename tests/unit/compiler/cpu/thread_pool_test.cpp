#include "compiler/cpu/thread_pool.h"

#include <gtest/gtest.h>

#include <chrono>

namespace assay {
namespace {

/// Rounds that follow each other at once, and rounds that find the workers asleep.
TEST(ThreadPoolTest, EveryIterationRunsOnceInEveryRound) {
  constexpr std::int64_t kCount = 1000;
  constexpr int kRounds = 600, kPause = 150;
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    std::vector<int> runs(kCount);
    for (int round = 0; round < kRounds; ++round) {
      if (round % kPause == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      pool.run(kCount, round % 7 + 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) ++runs[static_cast<std::size_t>(i)];
      });
    }
    EXPECT_EQ(runs, std::vector<int>(kCount, kRounds)) << threads << " threads";
  }
}

TEST(ThreadPoolTest, LoopsShorterThanThreadsRun) {
  ThreadPool pool(4);
  for (const std::int64_t count : {0, 1, 3}) {
    std::atomic<std::int64_t> sum = 0;
    pool.run(count, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, count);
  }
}

}  // namespace
}  // namespace assay
