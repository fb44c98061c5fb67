#include "replay/trace/filter.h"

#include <gtest/gtest.h>

#include "replay/trace/diff.h"
#include "replay/trace/pages.h"
#include "tests/support/traces.h"

namespace assay {
namespace {

class TraceFilter : public ::testing::Test {
 protected:
  TraceFilter() {
    testing::write_small_trace(folder_ / "t.sqlite");
    auto opened = TraceReader::open(folder_ / "t.sqlite");
    if (opened) reader_ = std::make_unique<TraceReader>(std::move(*opened));
  }
  void SetUp() override { ASSERT_TRUE(reader_); }

  /// Names of the hits, with and without the index of names.
  [[nodiscard]] auto hits(const std::string& text, int version = 2) const -> std::string {
    const auto filter = compile_filter(text, version);
    if (!filter) return filter.error().message;
    NodeHits hits(1, *filter);
    std::string names;
    while (true) {
      const auto ids = hits.next(*reader_, 2);  // few at a time: keyset and limit work together
      if (!ids) return ids.error().message;
      const auto lines = read_nodes(*reader_, *ids);
      if (!lines) return lines.error().message;
      for (const auto& line : *lines) names += (names.empty() ? "" : " ") + line.name;
      if (ids->size() < 2) return names;
    }
  }
  testing::TemporaryFolder folder_;
  std::unique_ptr<TraceReader> reader_;
};

TEST_F(TraceFilter, WordsMatchNamesAndOperators) {
  for (const int version : {1, 2}) {
    EXPECT_EQ(hits("relu", version), "relu");
    EXPECT_EQ(hits("aten", version), "relu pad mul add");
    EXPECT_EQ(hits("as_strided", version), "pad");
    EXPECT_EQ(hits("aten -relu", version), "pad mul add");
    EXPECT_EQ(hits("relu | mul", version), "relu mul");
    EXPECT_EQ(hits("x", version), "x");
  }
  EXPECT_EQ(hits(""), "x y relu pad mul add output");
}

TEST_F(TraceFilter, FieldsCompare) {
  EXPECT_EQ(hits("op:mul"), "mul");
  EXPECT_EQ(hits("kind=placeholder"), "x y");
  EXPECT_EQ(hits("bytes>8K"), "x relu pad mul");
  EXPECT_EQ(hits("bytes>=9216"), "pad mul");
  EXPECT_EQ(hits("dim:s77 -kind=placeholder"), "relu pad mul");
  EXPECT_EQ(hits("line>=43 line<45"), "pad mul");
  EXPECT_EQ(hits("module:~tail seq<5"), "pad mul");
  EXPECT_EQ(hits("dtype=float32 (op:add | name:y)"), "y add");
}

TEST_F(TraceFilter, StatusKnowsFindings) {
  EXPECT_EQ(hits("status:mismatch"), "pad mul");
  EXPECT_EQ(hits("status:root"), "pad");
  EXPECT_EQ(hits("status:inherited"), "mul");
  EXPECT_EQ(hits("status:failed"), "pad");
  EXPECT_EQ(hits("status:ok"), "x y relu add output");
  EXPECT_EQ(hits("finding:storage"), "pad");
}

TEST_F(TraceFilter, FunctionsFollowEdges) {
  EXPECT_EQ(hits("near(pad,1)"), "relu pad mul");
  EXPECT_EQ(hits("near(add,2)"), "y add output") << "mul is returned too, which is no way to it";
  EXPECT_EQ(hits("near(output,1)"), "mul add output");
  EXPECT_EQ(hits("path(x,mul)"), "x relu pad mul");
  EXPECT_EQ(hits("users(y)"), "add");
  EXPECT_EQ(hits("inputs(output)"), "mul add");
  EXPECT_EQ(hits("near(pad,1) -pad"), "relu mul");
}

TEST_F(TraceFilter, TextOfTheUserNeverBecomesSql) {
  EXPECT_EQ(hits("name:\"'; DROP TABLE nodes; --\""), "");
  EXPECT_EQ(hits("name:%"), "");
  EXPECT_EQ(hits("op:as_str"), "pad");
  EXPECT_EQ(hits("op:as%str"), "");
}

TEST_F(TraceFilter, MistakesNameTheirColumn) {
  EXPECT_TRUE(hits("relu nose:x").starts_with("column 6: there is no field \"nose\""));
  EXPECT_TRUE(hits("(relu").contains("`)` is missing"));
  EXPECT_TRUE(hits("relu)").contains("unexpected `)`"));
  EXPECT_TRUE(hits("bytes>many").contains("is no number"));
  EXPECT_TRUE(hits("a | ").contains("a term is missing"));
  EXPECT_TRUE(hits("far(a)").contains("there is no \"far\""));
  EXPECT_TRUE(hits("op>x").contains("is text"));
  EXPECT_TRUE(hits(std::string(400, '(')).contains("too many levels"));
}

TEST_F(TraceFilter, TermsSayWhatTheyMean) {
  const auto filter = compile_filter("-relu op:pad", 2);
  ASSERT_TRUE(filter);
  ASSERT_EQ(filter->terms.size(), 2U);
  EXPECT_TRUE(filter->terms[0].meaning.starts_with("not: name or operator contains"));
  EXPECT_EQ(filter->terms[1].text, "op:pad");
}

TEST_F(TraceFilter, PagesComeInExecutionOrderAndSortsInTheirs) {
  const auto page = read_nodes(*reader_, 1, 2, 3);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->size(), 3U);
  EXPECT_EQ((*page)[0].name, "relu");
  EXPECT_EQ((*page)[1].mark, NodeMark::root);
  EXPECT_EQ((*page)[1].real_sizes, "");  // it failed: nothing real is there
  EXPECT_EQ((*page)[2].mark, NodeMark::inherited);
  EXPECT_EQ(count_nodes(*reader_, 1).value_or(0), 7);
  const auto sorted = sorted_nodes(*reader_, 1, {}, NodeOrder::name, true);
  ASSERT_TRUE(sorted);
  const auto lines = read_nodes(*reader_, *sorted);
  ASSERT_TRUE(lines);
  EXPECT_EQ((*lines)[0].name, "y");
  EXPECT_EQ(lines->back().name, "add");
}

TEST_F(TraceFilter, AGraphDoesNotDifferFromItself) {
  const auto nodes = read_diff_nodes(*reader_, 1);
  ASSERT_TRUE(nodes);
  const auto diff = diff_graphs(*nodes, *nodes);
  EXPECT_EQ(diff.count(DiffKind::same), 7);
  EXPECT_EQ(std::ssize(diff.pairs), 7);
}

TEST_F(TraceFilter, DiffFindsWhatCameWentAndChanged) {
  const auto left = read_diff_nodes(*reader_, 1);
  ASSERT_TRUE(left);
  auto right = *left;
  right[4].line.strides = "[1, 72]";
  right[5].line.file.clear();  // no provenance: found again by structure
  right[5].line.name = "renamed";
  right.erase(right.begin() + 2);
  for (auto& node : right)
    for (auto& operand : node.operands) operand -= operand > 2 ? 1 : 0;
  auto added = right[0];
  added.line.name = "z";
  added.line.target = "z";
  added.line.line = 99;
  right.insert(right.begin(), added);
  for (auto& node : right)
    for (auto& operand : node.operands) ++operand;
  const auto diff = diff_graphs(*left, right);
  EXPECT_EQ(diff.count(DiffKind::added), 1);
  EXPECT_EQ(diff.count(DiffKind::removed), 1);
  EXPECT_EQ(diff.count(DiffKind::changed), 1);
  for (const auto& pair : diff.pairs) {
    if (pair.kind == DiffKind::removed) {
      EXPECT_EQ(diff.left[static_cast<std::size_t>(pair.left)].line.name, "relu");
    }
    if (pair.kind == DiffKind::changed) {
      EXPECT_EQ(pair.changes, (std::vector<std::string>{"strides [32, 1] -> [1, 72]"}));
      EXPECT_EQ(pair.by, MatchedBy::provenance);
    }
    if (pair.right >= 0 &&
        diff.right[static_cast<std::size_t>(pair.right)].line.name == "renamed") {
      EXPECT_EQ(pair.by, MatchedBy::structure);
    }
  }
}

TEST(TextDiff, KeepsCommonLinesAndSaysWhichSideOthersAreFrom) {
  std::string text;
  for (const auto& line : diff_texts("a\nb\nc\nd\n", "a\nc\nx\nd\n"))
    text += line.kind + line.text + "\n";
  EXPECT_EQ(text, " a\n-b\n c\n+x\n d\n");
}

}  // namespace
}  // namespace assay
