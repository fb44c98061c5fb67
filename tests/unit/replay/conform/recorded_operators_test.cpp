// The table against calls that tests/torch/record_operators.py recorded: one line there is the test
// of a row that no larger recording holds.
#include <gtest/gtest.h>

#include <string>

#include "replay/conform/conform.h"

namespace assay {
namespace {

struct Recording {
  const char* file;
  int fewest;  ///< calls in it
};

class RecordedOperators : public ::testing::TestWithParam<Recording> {};

TEST_P(RecordedOperators, AreReproduced) {
  const auto table = build_op_table();
  const auto path = std::string(ASSAY_SOURCE_DIR "/tests/data/operators/") + GetParam().file;
  const auto report = run_conformance(path, table);
  ASSERT_TRUE(report) << report.error().message;
  for (const auto& failure : report->failures)
    ADD_FAILURE() << "case " << failure.case_id << " " << failure.overload << " "
                  << to_string(failure.aspect) << ": " << failure.reason;
  EXPECT_EQ(report->total.without_row, 0);
  EXPECT_GE(report->total.calls, GetParam().fewest);
  EXPECT_EQ(report->total.values_compared, report->total.calls);
}
// Of the CPU; with outs of all layouts and lazy arguments; and on CUDA those of the calls that
// sample_operators.py recorded which show what is different there.
INSTANTIATE_TEST_SUITE_P(Files, RecordedOperators,
                         ::testing::Values(Recording{"cpu.sqlite", 250},
                                           Recording{"corners.sqlite", 40},
                                           Recording{"cuda.sqlite", 56}));

}  // namespace
}  // namespace assay
