// The table against calls that tests/torch/record_operators.py recorded: one line there is the test
// of a row that no larger recording holds.
#include <gtest/gtest.h>

#include "replay/conform/conform.h"

namespace assay {
namespace {

TEST(RecordedOperators, AreReproduced) {
  const auto table = build_op_table();
  const auto report = run_conformance(ASSAY_SOURCE_DIR "/tests/data/operators/cpu.sqlite", table);
  ASSERT_TRUE(report) << report.error().message;
  for (const auto& failure : report->failures)
    ADD_FAILURE() << "case " << failure.case_id << " " << failure.overload << " "
                  << to_string(failure.aspect) << ": " << failure.reason;
  EXPECT_EQ(report->total.without_row, 0);
  EXPECT_GT(report->overloads.size(), 100U);
  EXPECT_EQ(report->total.values_compared, report->total.calls);
}

// Outs of all layouts and lazy arguments.
TEST(RecordedOperators, AreReproducedInCorners) {
  const auto table = build_op_table();
  const auto report =
      run_conformance(ASSAY_SOURCE_DIR "/tests/data/operators/corners.sqlite", table);
  ASSERT_TRUE(report) << report.error().message;
  for (const auto& failure : report->failures)
    ADD_FAILURE() << "case " << failure.case_id << " " << failure.overload << " "
                  << to_string(failure.aspect) << ": " << failure.reason;
  EXPECT_EQ(report->total.without_row, 0);
  EXPECT_GT(report->total.calls, 40);
  EXPECT_EQ(report->total.values_compared, report->total.calls);
}

}  // namespace
}  // namespace assay
