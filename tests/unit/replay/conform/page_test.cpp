#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "replay/conform/page.h"

namespace assay {
namespace {

auto report_of(int agree) -> ConformReport {
  ConformReport report;
  ConformCounts counts;
  counts.overload = "aten.linalg_qr.default";
  counts.calls = counts.metadata_exact = counts.symbolic_exact = counts.values_compared = 10;
  counts.values_agree = agree;
  report.overloads.push_back(counts);
  report.total = counts;
  report.total.overload.clear();
  if (agree < 10)
    report.failures.push_back({7, counts.overload, ConformAspect::values, "1 is <2> | 3"});
  return report;
}

TEST(ConformPage, ShowsWhatChangedAndTheCommandOfEachFailure) {
  const auto older = read_conform_json(conform_json(report_of(8)));
  ASSERT_TRUE(older) << older.error().message;
  const auto page = conform_page(report_of(9), "calls.sqlite", *older, PageFormat::markdown);
  EXPECT_NE(page.find("| linear algebra | 10 | 0 | 100.00 % | 100.00 % | 90.00 % (+10.00) |"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("assay conform calls.sqlite --case 7"), std::string::npos);
  EXPECT_NE(page.find("1 is <2> \\| 3"), std::string::npos) << "bars end cells in Markdown";
}

TEST(ConformPage, HtmlIsEscapedAndSelfContained) {
  const auto page = conform_page(report_of(9), "calls.sqlite", std::nullopt, PageFormat::html);
  EXPECT_NE(page.find("1 is &lt;2&gt; | 3"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
}

TEST(ConformPage, WhatMattersOfWrongPredictionsIsSaid) {
  auto report = report_of(10);
  report.wrong_predictions = {{"aten.a.default", 3, 0, 5, "stride: fake [1] real [2]"},
                              {"aten.b.default", 3, 2, 6, "dtype: fake int real float"}};
  const auto page = conform_page(report, "c", std::nullopt, PageFormat::markdown);
  EXPECT_NE(page.find("| aten.a.default | 3 | stride | no: "), std::string::npos);
  EXPECT_NE(page.find("| aten.b.default | 3 | dtype | yes, in 2 | case 6: "), std::string::npos);
}

TEST(ConformPage, AnotherJsonIsRefused) {
  EXPECT_FALSE(read_conform_json("{}"));
  EXPECT_FALSE(read_conform_json("{\"schema\": \"assay.debug/1\"}"));
  EXPECT_FALSE(read_conform_json("not json"));
}

/// The page without what it counts of recorded calls.
auto without_coverage(const std::string& page) -> std::string {
  std::istringstream lines(page);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::size_t> bars;
    for (auto at = line.find(" |"); at != std::string::npos; at = line.find(" |", at + 2))
      bars.push_back(at);
    if (bars.size() > 4) line.erase(bars[1], bars[3] - bars[1]);
    text += line + "\n";
  }
  return text;
}

TEST(OperatorsPage, OfTheDocumentationIsCurrent) {
  std::ifstream file(ASSAY_SOURCE_DIR "/docs/operators.md");
  std::stringstream written;
  written << file.rdbuf();
  const auto now = operators_page(build_op_table(), {}, {});
  EXPECT_EQ(without_coverage(written.str()), without_coverage(now))
      << "assay conform aten_cases.sqlite --operators --cuda-cases aten_cases_cuda.sqlite > "
         "docs/operators.md";
}

TEST(OperatorsPage, NamesEveryRowAndWhatIsAbsentIsAbsent) {
  const auto table = build_op_table();
  const auto page = operators_page(table, {}, {});
  for (const auto& row : table.rows()) {
    // Derived forms stand with the row they are of, without the namespace.
    const auto shown = row->inplace_of.empty() || !table.find(row->inplace_of)
                           ? "| " + row->name() + " |"
                           : row->name().substr(row->name().find('.') + 1);
    EXPECT_NE(page.find(shown), std::string::npos) << row->name();
    for (const auto& absent : absent_operators())
      EXPECT_FALSE(row->name().starts_with(absent.prefix)) << row->name() << " is there";
  }
}

}  // namespace
}  // namespace assay
