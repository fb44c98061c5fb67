// What runs before what, against a search through the dependencies themselves.
#include "compiler/schedule/run_order.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace assay {
namespace {

/// Dependencies as they were added, searched anew for each question.
class Searched {
 public:
  void add_unit() { after_.emplace_back(); }
  void add(std::size_t later, std::size_t earlier) { after_[later].insert(earlier); }
  [[nodiscard]] auto is_behind(std::size_t later, std::size_t earlier) const -> bool {
    std::set<std::size_t> seen;
    std::vector<std::size_t> open{later};
    while (!open.empty()) {
      const auto at = open.back();
      open.pop_back();
      if (at == earlier) return true;
      if (seen.insert(at).second) open.insert(open.end(), after_[at].begin(), after_[at].end());
    }
    return false;
  }
  void merge(std::size_t into, std::size_t gone) {
    after_[into].insert(after_[gone].begin(), after_[gone].end());
    after_[gone].clear();
    for (auto& after : after_)
      if (after.erase(gone) > 0) after.insert(into);
    after_[into].erase(into);
  }

 private:
  std::vector<std::set<std::size_t>> after_;
};

TEST(RunOrderTest, IsWhatASearchFinds) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    RunOrder order;
    Searched searched;
    std::vector<std::size_t> alive;
    const std::size_t count = 20 + seed * 4;
    int behind = 0;
    for (std::size_t unit = 0; unit < count; ++unit) {
      order.add_unit();
      searched.add_unit();
      alive.push_back(unit);
      for (int k = 0; k < 2; ++k) {
        const auto a = alive[random() % alive.size()], b = alive[random() % alive.size()];
        if (searched.is_behind(b, a)) continue;  // no circles
        order.add(a, b);
        searched.add(a, b);
      }
      if (unit % 5 == 4) {
        const auto at = random() % alive.size();
        const auto gone = alive[at], into = alive[random() % alive.size()];
        if (!searched.is_behind(into, gone) && !searched.is_behind(gone, into)) {
          alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
          order.merge(into, gone);
          searched.merge(into, gone);
        }
      }
      for (const auto a : alive)
        for (const auto b : alive) {
          ASSERT_EQ(order.is_behind(a, b), searched.is_behind(a, b))
              << "seed " << seed << ": " << a << " behind " << b << " of " << unit;
          behind += order.is_behind(a, b) && a != b ? 1 : 0;
        }
    }
    EXPECT_GT(behind, 100) << seed;
  }
}

/// A unit and the one that it depends on become one.
TEST(RunOrderTest, NeighboursBecomeOne) {
  RunOrder order;
  for (int i = 0; i < 4; ++i) order.add_unit();
  order.add(1, 0);
  order.add(2, 1);
  order.add(3, 2);
  order.merge(1, 2);
  EXPECT_TRUE(order.is_behind(3, 1));
  EXPECT_TRUE(order.is_behind(3, 0));
  EXPECT_FALSE(order.is_behind(0, 1));
  EXPECT_FALSE(order.is_behind(1, 3));
}

}  // namespace
}  // namespace assay
