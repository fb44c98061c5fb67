#include <gtest/gtest.h>

#include "gui/data/problem_groups.h"

namespace assay {
namespace {

TEST(ProblemGroups, WhatDiffersOnlyInPlacesIsOneWithThePlacesInOrder) {
  const auto groups = group_problems(
      {{"warning", "line 10055: payload of `aot_joint_graph` does not have its MD5 28835877", 1},
       {"warning", "line 927: payload of `artifact` does not have its MD5 b4983d56", 2},
       {"unread", "line 5: payload of `artifact` does not have its MD5 b4983d56", 1},
       {"warning", "line 927: this is no event", 1}});
  ASSERT_EQ(groups.size(), 3);
  EXPECT_EQ(groups[0].text, "line …: payload of `…` does not have its MD5 …");
  EXPECT_EQ(groups[0].times, 3);
  ASSERT_EQ(groups[0].problems.size(), 2);
  EXPECT_TRUE(groups[0].problems[0].message.starts_with("line 927:")) << "927 before 10055";
  EXPECT_EQ(groups[1].kind, "unread");
  EXPECT_EQ(groups[2].text, "line 927: this is no event");
}

TEST(ProblemGroups, WhatAllShareIsSaid) {
  const auto groups =
      group_problems({{"skipped", "node `a1` of 3 leaves: no rule for `aten.foo`", 1},
                      {"skipped", "node `b2` of 3 leaves: no rule for `aten.foo`", 1}});
  ASSERT_EQ(groups.size(), 1);
  EXPECT_EQ(groups[0].text, "node `…` of 3 leaves: no rule for `aten.foo`");
}

TEST(ProblemGroups, WordsAndOddQuotesAreNoPlaces) {
  const auto groups = group_problems({{"w", "no rule for add2", 1},
                                      {"w", "no rule for mul3", 1},
                                      {"w", "ends in ` a quote", 1},
                                      {"w", "", 1}});
  ASSERT_EQ(groups.size(), 4) << "names with digits, an odd quote, nothing";
  EXPECT_EQ(groups[3].text, "");
}

}  // namespace
}  // namespace assay
