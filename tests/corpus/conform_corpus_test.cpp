// Recorded operator calls of PyTorch's eager mode: the operator table reproduces them, and where
// PyTorch's own fake prediction was wrong, the debugger says so.
#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "replay/conform/conform.h"
#include "replay/conform/one_operator.h"
#include "replay/conform/page.h"
#include "replay/interp/debug.h"
#include "tests/support/corpus.h"
#include "tests/support/listed_schemas.h"

namespace assay {
namespace {

class ConformCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = testing::unpacked_file("aten_cases.sqlite");
    if (!file) GTEST_SKIP() << testing::corpus_missing();
    path_ = *file;
  }
  OpTable table_ = build_op_table();
  std::filesystem::path path_;
};

void expect_reproduced(const std::filesystem::path& path, const OpTable& table) {
  const auto report = run_conformance(path, table);
  ASSERT_TRUE(report) << report.error().message;
  const auto& total = report->total;
  const int calls = total.calls - total.without_row;
  std::cout << calls << " of " << total.calls << " calls have a row: metadata exact in "
            << total.metadata_exact << ", on symbols in " << total.symbolic_exact
            << ", values agree in " << total.values_agree << " of " << total.values_compared
            << ", mutations in " << total.mutations_agree << " of " << total.mutations_compared
            << ", errors " << total.errors << "\n";
  EXPECT_LE(total.without_row * 1000.0, total.calls * 5.0);
  EXPECT_GE(total.metadata_exact * 1000.0, calls * 999.0);
  EXPECT_GE(total.symbolic_exact * 1000.0, calls * 999.0);
  EXPECT_GE(total.values_agree * 1000.0, total.values_compared * 997.0);
  EXPECT_GE(total.mutations_agree * 1000.0, total.mutations_compared * 997.0);
}

TEST_F(ConformCorpus, TheTableReproducesRecordedCalls) {
  expect_reproduced(path_, table_);
}

TEST_F(ConformCorpus, TheTableReproducesCallsRecordedOnCuda) {
  const auto file = testing::unpacked_file("aten_cases_cuda.sqlite");
  if (!file) GTEST_SKIP() << testing::corpus_missing();
  expect_reproduced(*file, table_);
}

TEST_F(ConformCorpus, TheOperatorsPageHasTheirCoverage) {
  const auto cuda_file = testing::unpacked_file("aten_cases_cuda.sqlite");
  if (!cuda_file) GTEST_SKIP() << testing::corpus_missing();
  const auto cpu = run_conformance(path_, table_);
  const auto cuda = run_conformance(*cuda_file, table_);
  ASSERT_TRUE(cpu && cuda);
  std::ifstream file(ASSAY_SOURCE_DIR "/docs/operators.md");
  std::stringstream written;
  written << file.rdbuf();
  EXPECT_TRUE(written.str() == operators_page(table_, *cpu, *cuda, testing::listed_schemas()))
      << "docs/operators.md is not what assay conform --operators gives";
}

/// Root findings of a one-operator graph, or nothing if it cannot be built or run.
auto roots_of(const OperatorCase& record, const OpTable& table, std::string& why)
    -> std::optional<int> {
  const auto capture = one_operator_capture(record);
  if (!capture) {
    why = capture.error().message;
    return std::nullopt;
  }
  const auto report = debug_capture(*capture, table, {});
  if (!report) {
    why = report.error().message;
    return std::nullopt;
  }
  return report->counts.roots;
}

TEST_F(ConformCorpus, EveryWrongPredictionIsARootFinding) {
  int wrong = 0;
  int found = 0;
  int without_row = 0;
  const auto read = for_each_case(path_, {}, [&](const OperatorCase& record) {
    if (!has_significant_fake_error(record)) return;
    if (!table_.find(record.overload)) {
      ++without_row;
      return;
    }
    ++wrong;
    std::string why;
    const auto roots = roots_of(record, table_, why);
    found += roots.value_or(0) > 0 ? 1 : 0;
    EXPECT_TRUE(roots && *roots > 0) << "case " << record.id << " " << record.overload << ": "
                                     << record.fake_differs << " " << why;
  });
  ASSERT_TRUE(read) << read.error().message;
  std::cout << found << " of " << wrong << " wrong predictions are root findings, " << without_row
            << " are of overloads without a row\n";
  EXPECT_GT(wrong, 0);
}

TEST_F(ConformCorpus, RightPredictionsAreClean) {
  int clean = 0;
  int right = 0;
  // A few calls of every overload: values are not looked at, so more would show nothing new.
  const auto read =
      for_each_case(path_, {.filter = {}, .limit = 3}, [&](const OperatorCase& record) {
        if (record.fake.empty() || has_significant_fake_error(record) ||
            !table_.find(record.overload))
          return;
        std::string why;
        const auto roots = roots_of(record, table_, why);
        if (!roots) return;
        ++right;
        clean += *roots == 0 ? 1 : 0;
        EXPECT_EQ(*roots, 0) << "case " << record.id << " " << record.overload;
      });
  ASSERT_TRUE(read) << read.error().message;
  std::cout << clean << " of " << right << " calls with right predictions are clean\n";
  EXPECT_GT(right, 500);
}

}  // namespace
}  // namespace assay
