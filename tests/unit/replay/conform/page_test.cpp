#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "replay/conform/page.h"
#include "tests/support/listed_schemas.h"

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
  report.wrong_predictions = {{"aten.a.default", 3, 0, 3, 5, "strides", "fake [1] real [2]"},
                              {"aten.b.default", 3, 2, 1, 6, "dtype", "fake int real float"}};
  const auto page = conform_page(report, "c", std::nullopt, PageFormat::markdown);
  const auto quiet = page.find("| assay conform c --case 5 | aten.a.default | 3 | strides | no: ");
  const auto loud = page.find(
      "| assay conform c --case 6 | aten.b.default | 3 | dtype | yes, in 2 | right in 1 |");
  EXPECT_NE(quiet, std::string::npos) << page;
  EXPECT_LT(loud, quiet) << "what matters comes first";
}

TEST(ConformPage, AnOlderRunShowsWhatIsNewAndWhatIsGone) {
  auto older = report_of(8);
  older.failures.push_back({9, "aten.linalg_qr.default", ConformAspect::values, "mended since"});
  older.overloads.push_back({.overload = "aten.old.default", .calls = 4, .without_row = 4});
  auto now = report_of(9);
  now.failures.push_back({11, "aten.linalg_qr.default", ConformAspect::metadata, "broken since"});
  const auto read = read_conform_json(conform_json(older));
  ASSERT_TRUE(read) << read.error().message;
  const auto page = conform_page(now, "calls.sqlite", *read, PageFormat::markdown);
  EXPECT_NE(page.find("| metadata | broken since | new |"), std::string::npos) << page;
  EXPECT_NE(page.find("| values | 1 is <2> \\| 3 |  |"), std::string::npos) << "known before";
  EXPECT_NE(page.find("| aten.linalg_qr.default | case 9 | values | mended since |"),
            std::string::npos);
  EXPECT_NE(page.find("| aten.linalg_qr.default | better |"), std::string::npos);
  EXPECT_NE(page.find("| aten.old.default | other calls |"), std::string::npos);
}

TEST(ConformPage, CommandsCanBePasted) {
  const auto page =
      conform_page(report_of(9), "my calls.sqlite", std::nullopt, PageFormat::markdown);
  EXPECT_NE(page.find("assay conform 'my calls.sqlite' --case 7"), std::string::npos);
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
  bool is_of_calls = false;  // all of that part
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) is_of_calls = line == "## Where PyTorch's fake tensors deviate";
    if (is_of_calls) continue;
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
  const auto now = operators_page(build_op_table(), {}, {}, testing::listed_schemas());
  EXPECT_EQ(without_coverage(written.str()), without_coverage(now))
      << "assay conform aten_cases.sqlite --operators --cuda-cases aten_cases_cuda.sqlite "
         "--schemas tests/data/schemas/pytorch.tsv > docs/operators.md";
}

TEST(OperatorsPage, SaysWhereFakePredictionsAreWrong) {
  ConformReport cpu, cuda;
  cpu.wrong_predictions = {{.overload = "aten.add.Tensor",
                            .calls = 3,
                            .table_right = 3,
                            .wrong = "strides",
                            .differs = "result 0"}};
  cuda.wrong_predictions = {{.overload = "aten.mm.default",
                             .calls = 2,
                             .matter = 1,
                             .table_right = 1,
                             .wrong = "dtype",
                             .differs = "result 1"}};
  const auto page = operators_page(build_op_table(), cpu, cuda, {});
  const auto slight = page.find(
      "| aten.add.Tensor | CPU | strides | no: sizes of 1 or no elements only | 3/3 | result 0 |");
  const auto grave = page.find("| aten.mm.default | CUDA | dtype | yes, in 1 | 1/2 | result 1 |");
  ASSERT_NE(slight, std::string::npos);
  ASSERT_NE(grave, std::string::npos);
  EXPECT_LT(grave, slight) << "what matters stands first";
}

TEST(OperatorsPage, NoOperatorOfPyTorchIsMissingWithoutAReason) {
  constexpr std::ptrdiff_t kMissing = 0;
  const auto table = build_op_table();
  const auto list = testing::listed_schemas();
  ASSERT_GT(list.operators.size(), 3000U);
  const auto placed = place_operators(list, table);
  EXPECT_EQ(std::ranges::count(placed, Standing::missing, &Placed::standing), kMissing);
}

TEST(OperatorsPage, RowsHaveTheParametersThatPyTorchSays) {
  const auto table = build_op_table();
  const auto list = testing::listed_schemas();
  for (const auto& listed : list.operators) {
    const auto* row = table.find(listed.overload);
    if (row == nullptr) continue;
    const auto schema = parse_schema(listed.schema_text);
    ASSERT_TRUE(schema) << listed.schema_text;
    const auto names = [](const Schema& of) {
      std::string text;
      for (const auto& parameter : of.params)
        text += fmt::format("{}{}{} ", parameter.name, parameter.is_list ? "[]" : "",
                            parameter.keyword_only ? "=" : "");
      return text;
    };
    EXPECT_EQ(names(row->schema), names(*schema)) << listed.overload;
    EXPECT_EQ(row->schema.returns.size(), schema->returns.size()) << listed.overload;
    EXPECT_EQ(row->schema.is_mutating(), schema->is_mutating()) << listed.overload;
  }
}

TEST(SchemaList, ReadsKeysAndNamesAndSaysWhichLineIsNone) {
  const auto list = read_schema_list(
      "# torch 9\nCPU,CUDA\taten::a.b(Tensor x) -> Tensor\n\tprims::c(Tensor x) -> Tensor\n");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->made_by, "torch 9");
  ASSERT_EQ(list->operators.size(), 2U);
  EXPECT_EQ(list->operators[0].overload, "aten.a.b");
  EXPECT_TRUE(list->operators[0].has_key("CUDA"));
  EXPECT_EQ(list->operators[1].overload, "prims.c.default");
  EXPECT_TRUE(list->operators[1].keys.empty());
  const auto wrong = read_schema_list("# torch 9\naten::a\n");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("line 2"), std::string::npos);
}

TEST(SchemaList, AnOperatorWithoutARowHasAReasonOrIsMissing) {
  const auto list = read_schema_list(
      "CPU\taten::new_kernel(Tensor x) -> Tensor\n"
      "CompositeImplicitAutograd\taten::new_parts(Tensor x) -> Tensor\n"
      "SparseCPU\taten::new_sparse(Tensor x) -> Tensor\n"
      "CPU\taten::new_names(Tensor x, Dimname[] n) -> Tensor\n"
      "CPU\taten::new_question(Tensor x) -> bool\n"
      "CPU\taten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
      "CPU\taten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)\n");
  ASSERT_TRUE(list) << list.error().message;
  std::vector<Standing> standings;
  for (const auto& place : place_operators(*list, build_op_table()))
    standings.push_back(place.standing);
  EXPECT_EQ(standings, (std::vector{Standing::missing, Standing::composite, Standing::out_of_scope,
                                    Standing::out_of_scope, Standing::out_of_scope,
                                    Standing::written, Standing::derived}));
}

TEST(OperatorsPage, NamesEveryRowAndWhatIsAbsentIsAbsent) {
  const auto table = build_op_table();
  const auto page = operators_page(table, {}, {}, testing::listed_schemas());
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
