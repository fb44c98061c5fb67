#include "replay/report/link.h"

#include <gtest/gtest.h>

#include "replay/report/log_rows.h"
#include "tests/support/traces.h"

namespace assay {
namespace {

TEST(Links, ComeBackAsTheyWereWritten) {
  for (const auto& link : {Link{"run.sqlite", "node:add_3"}, Link{"a b#c%.json", "finding:2"},
                           Link{"größe.zip", ""}, Link{"x", "node:weird \"name\""}}) {
    const auto text = to_string(link);
    EXPECT_TRUE(text.starts_with("assay:"));
    EXPECT_EQ(text.find(' '), std::string::npos);
    EXPECT_EQ(parse_link(text).file, link.file);
    EXPECT_EQ(parse_link(text).place, link.place);
  }
}

TEST(Links, BarePathIsAFileWithoutPlace) {
  EXPECT_EQ(parse_link("dir/a#b.json").file, "dir/a#b.json");
  EXPECT_EQ(parse_link("dir/a#b.json").place, "");
  EXPECT_EQ(parse_link("assay:100%").file, "100%");
}

TEST(Links, OneLineForEachRootNode) {
  Finding root;
  root.node_name = "add";
  auto other = root;
  other.node_name = "mul";
  auto inherited = root;
  inherited.blame = Blame::inherited;
  inherited.node_name = "sub";
  const auto text = links_text(std::vector<Finding>{root, root, inherited, other}, "/x/y.json");
  EXPECT_EQ(text, "link: assay:/x/y.json#node:add\nlink: assay:/x/y.json#node:mul\n");
}

TEST(LineLinks, NamesInACommentHoldUntilTheNextBlankLine) {
  EXPECT_EQ(
      source_nodes("    # Topologically Sorted Source Nodes: [pad, relu_1], Original ATen: []"),
      (std::vector<std::string>{"pad", "relu_1"}));
  EXPECT_TRUE(source_nodes("x = [a]").empty());
  EXPECT_TRUE(source_nodes("# Source Nodes: [").empty());
  const testing::TemporaryFolder folder;
  auto writer = TraceWriter::create(folder / "t.sqlite");
  ASSERT_TRUE(writer);
  const auto run = writer->add(RunRow{"prove", "x.log", "torch trace", "", "assay", "now"});
  ASSERT_TRUE(run);
  const auto graph = writer->add(GraphRow{*run, {}, "g", "stage", "", ""});
  ASSERT_TRUE(graph);
  NodeRow node;
  node.graph_id = *graph;
  node.name = "pad";
  const auto pad = writer->add(node);
  ASSERT_TRUE(pad);
  ASSERT_TRUE(record_line_links(
      *writer, *graph, "import torch\n# Source Nodes: [pad, gone]\nbuf0 = f()\n\nbuf1 = g()\n",
      {{"pad", *pad}}));
  ASSERT_TRUE(writer->finalise());
  const auto rows = query_trace(folder / "t.sqlite", "SELECT line FROM line_links ORDER BY line");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->rows.size(), 2U);
  EXPECT_EQ(rows->rows[0][0], TraceValue(std::int64_t{2}));
  EXPECT_EQ(rows->rows[1][0], TraceValue(std::int64_t{3}));
}

}  // namespace
}  // namespace assay
