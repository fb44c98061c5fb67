// The search for a minimal subset: exact on monotone tests, cheap, and robust on others.
#include "minifier/search/minimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>
#include <set>

namespace assay {
namespace {

struct Search {
  Kept kept;
  int tests = 0;
};

auto search(int count, const std::function<bool(const std::set<int>&)>& passes) -> Search {
  Search result;
  result.kept = Minimal(count, [&](const Kept& kept, const std::vector<Kept>&) {
                  ++result.tests;
                  return passes({kept.begin(), kept.end()});
                }).run();
  return result;
}

auto needs(const std::set<int>& needed) {
  return [needed](const std::set<int>& kept) { return std::ranges::includes(kept, needed); };
}

TEST(Minimal, FindsExactlyWhatAMonotoneTestNeeds) {
  std::mt19937 random(7);
  std::cout << "seed 7\n";
  for (int round = 0; round < 300; ++round) {
    const int count = 1 + static_cast<int>(random() % 3000);
    std::set<int> needed;
    for (auto k = random() % 12; k-- > 0;) needed.insert(static_cast<int>(random()) % count);
    std::erase_if(needed, [&](int i) { return i < 0 || i >= count; });
    const auto result = search(count, needs(needed));
    ASSERT_EQ(std::set<int>(result.kept.begin(), result.kept.end()), needed) << count;
    const auto k = static_cast<double>(std::max<std::size_t>(needed.size(), 1));
    EXPECT_LE(result.tests, 3 * k * std::log2(std::max(count, 2)) + 30) << count;
  }
}

TEST(Minimal, ClustersCostLittle) {
  std::set<int> needed;
  for (int i = 700; i < 760; ++i) needed.insert(i);
  const auto result = search(4000, needs(needed));
  EXPECT_EQ(result.kept.size(), 60U);
  EXPECT_LE(result.tests, 24 + 2 * 60 + 10);
}

TEST(Minimal, NothingIsNeededWhenTheEmptySetPasses) {
  const auto result = search(100, [](const std::set<int>&) { return true; });
  EXPECT_TRUE(result.kept.empty());
  EXPECT_EQ(result.tests, 1);
}

TEST(Minimal, WhatRemainsIsOneMinimalEvenIfCandidatesAreInvalid) {
  // One in five candidates is refused, by content, so that the answer is the same each time.
  const std::set<int> needed{3, 50, 51, 400};
  const auto passes = [&](const std::set<int>& kept) {
    std::size_t hash = 17;
    for (const int i : kept) hash = hash * 31 + static_cast<std::size_t>(i);
    return hash % 5 != 0 && std::ranges::includes(kept, needed);
  };
  const auto result = search(500, passes);
  const std::set<int> kept(result.kept.begin(), result.kept.end());
  EXPECT_TRUE(std::ranges::includes(kept, needed));
  EXPECT_LE(kept.size(), needed.size() + 4);
}

TEST(Minimal, AsksForTheSameWhateverIsTriedAhead) {
  std::vector<Kept> first;
  std::vector<Kept> second;
  const auto run = [&](std::vector<Kept>& asked) {
    return Minimal(300,
                   [&](const Kept& kept, const std::vector<Kept>&) {
                     asked.push_back(kept);
                     return needs({10, 200})({kept.begin(), kept.end()});
                   })
        .run();
  };
  EXPECT_EQ(run(first), run(second));
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace assay
