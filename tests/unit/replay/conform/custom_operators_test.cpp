// Twenty custom operators (tests/torch/custom_operators.py): rules inferred from some sizes, held
// against calls at others.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "replay/conform/conform.h"
#include "replay/conform/inferred_rows.h"

namespace assay {
namespace {

using Names = std::set<std::string>;

/// Sizes that data tell, and a dimension that an argument picks: no formula of sizes.
const Names kWithoutRule{"samples.distinct.default", "samples.positive.default",
                         "samples.summed_along.default"};
const Names kLies{"samples.mean_lie.default", "samples.rows_to_lie.default",
                  "samples.soft_clip_lie.default"};

class CustomOperators : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = ASSAY_SOURCE_DIR "/tests/data/custom_operators/";
    auto inferred = infer_operators(folder + "recorded.sqlite", table_);
    ASSERT_TRUE(inferred) << inferred.error().message;
    operators_ = *std::move(inferred);
    add_inferred_rows(table_, operators_);
    auto report = run_conformance(folder + "held_back.sqlite", table_);
    ASSERT_TRUE(report) << report.error().message;
    report_ = *std::move(report);
  }
  OpTable table_ = build_op_table();
  std::vector<InferredOperator> operators_;
  ConformReport report_;
};

TEST_F(CustomOperators, HaveTheInferredRuleAtOtherSizesOrNone) {
  ASSERT_EQ(operators_.size(), 20U);
  ASSERT_EQ(report_.overloads.size(), operators_.size());
  Names without;
  for (const auto& counts : report_.overloads) {
    SCOPED_TRACE(counts.overload);
    EXPECT_GE(counts.calls, 2);
    if (counts.without_row > 0) without.insert(counts.overload);
    EXPECT_EQ(counts.metadata_exact + counts.without_row, counts.calls);
  }
  EXPECT_EQ(without, kWithoutRule);
}

TEST_F(CustomOperators, AreToldWhyTheyHaveNoRule) {
  for (const auto& op : operators_)
    if (kWithoutRule.contains(op.overload))
      EXPECT_TRUE(to_string(op).contains("no formula fits size 0")) << to_string(op);
    else
      EXPECT_EQ(op.rule->state, InferenceState::confirmed) << to_string(op);
}

TEST_F(CustomOperators, WhoseFakesAreWrongAreNamedAndTheRuleIsRight) {
  Names named;
  for (const auto& wrong : report_.wrong_predictions) {
    SCOPED_TRACE(wrong.overload);
    named.insert(wrong.overload);
    EXPECT_EQ(wrong.table_right, wrong.calls);
    EXPECT_EQ(wrong.matter, wrong.calls);
  }
  EXPECT_EQ(named, kLies);
}

}  // namespace
}  // namespace assay
