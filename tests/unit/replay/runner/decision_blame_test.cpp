// The one decision that matters is found, and no other is named.
#include "replay/runner/decision_blame.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

auto fusions(int count) -> std::vector<CompileDecision> {
  std::vector<CompileDecision> made;
  for (int i = 0; i < count; ++i)
    made.push_back({CompileDecision::Kind::fuse, i % 3 != 0, "n" + std::to_string(i), "k", {}});
  return made;
}

auto has(const CompileVariant& variant, std::string_view subject) -> bool {
  return std::ranges::find(variant.fusions, subject, &DecisionName::subject) !=
         variant.fusions.end();
}

TEST(DecisionBlame, OneFusionOfMany) {
  const auto blame = blame_decisions(
      fusions(100),
      [](const CompileVariant& variant) -> Result<bool> { return has(variant, "n41"); });
  ASSERT_TRUE(blame);
  EXPECT_EQ(blame->needed, (std::vector<std::string>{"fuse:n41:k"}));
  EXPECT_LT(blame->runs, 30);
}

TEST(DecisionBlame, AFusionAndReuseTogether) {
  const auto blame =
      blame_decisions(fusions(20), [](const CompileVariant& variant) -> Result<bool> {
        return has(variant, "n5") && has(variant, "n7") && variant.reuse;
      });
  ASSERT_TRUE(blame);
  EXPECT_EQ(blame->needed, (std::vector<std::string>{"reuse", "fuse:n5:k", "fuse:n7:k"}));
}

TEST(DecisionBlame, NothingWhereItDiffersAnyway) {
  const auto blame =
      blame_decisions(fusions(9), [](const CompileVariant&) -> Result<bool> { return true; });
  ASSERT_TRUE(blame);
  EXPECT_TRUE(blame->needed.empty());
}

}  // namespace
}  // namespace assay
