#include <gtest/gtest.h>

#include <set>

#include "core/expr/text.h"
#include "gui/data/card.h"
#include "gui/data/live_sizes.h"
#include "gui/data/node_facts.h"
#include "gui/data/programs.h"
#include "gui/data/statements.h"
#include "gui/data/storage_map.h"
#include "gui/data/text_lines.h"
#include "gui/data/tokens.h"
#include "gui/data/triage.h"
#include "replay/trace/pages.h"
#include "replay/trace/schema.h"
#include "tests/support/traces.h"

namespace assay {
namespace {

class GuiData : public ::testing::Test {
 protected:
  GuiData() {
    testing::write_small_trace(folder_ / "t.sqlite");
    auto opened = TraceReader::open(folder_ / "t.sqlite");
    if (opened) reader_ = std::make_unique<TraceReader>(std::move(*opened));
  }
  void SetUp() override { ASSERT_TRUE(reader_); }
  [[nodiscard]] auto node(const std::string& name) const -> TraceId {
    const std::vector<TraceValue> parameters = {name};
    const auto found = reader_->query("SELECT id FROM nodes WHERE name = ?", parameters);
    return found && !found->rows.empty() ? to_number(found->rows[0][0]) : 0;
  }
  testing::TemporaryFolder folder_;
  std::unique_ptr<TraceReader> reader_;
};

TEST_F(GuiData, TriageSaysInOneSentenceWhatIsWrongAndPutsTheRootFirst) {
  const auto triage = read_triage(*reader_);
  ASSERT_TRUE(triage) << triage.error().message;
  EXPECT_EQ(triage->sentence,
            "pad: the layout needs 9216 bytes, its storage has 8704 (512 bytes too small)");
  EXPECT_FALSE(triage->is_clean);
  ASSERT_EQ(triage->findings.size(), 2U);
  EXPECT_EQ(triage->findings[0].node, "pad");
  EXPECT_EQ(triage->findings[0].blame, "root");
  EXPECT_EQ(triage->findings[1].blame, "inherited");
  EXPECT_EQ(triage->counts.refuted, 1);
  EXPECT_EQ(triage->counts.nodes, 7);
}

TEST_F(GuiData, StorageMapShowsTheBytesThatLieOutside) {
  const auto map = read_storage_map(*reader_, {.graph = 1, .node = node("pad")});
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->storage_bytes, 8704);
  EXPECT_EQ(map->owner, "relu");
  ASSERT_FALSE(map->empty());
  EXPECT_EQ(map->footprints[0].kind, FootprintKind::claimed);
  EXPECT_EQ(map->footprints[0].end, 9216);
  EXPECT_EQ(map->footprints[0].outside, 512);
  EXPECT_EQ(map->span(), 9216);
}

TEST_F(GuiData, StorageMapAtOtherSizesTakesTheStorageFromTheClaimOfItsOwner) {
  const auto map = read_storage_map(*reader_, {.graph = 1, .node = node("pad")}, {{"s77", 70}});
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->storage_bytes, 70 * 32 * 4);
  EXPECT_EQ(map->footprints[0].outside, 2 * 32 * 4);
  const auto right = read_storage_map(*reader_, {.graph = 1, .node = node("pad")}, {{"s77", 72}});
  ASSERT_TRUE(right);
  EXPECT_EQ(right->footprints[0].outside, 0);
}

TEST_F(GuiData, NodeThatRanShowsItsOwnStorage) {
  const auto map = read_storage_map(*reader_, {.graph = 1, .node = node("add")});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->owner, "add");
  ASSERT_EQ(map->footprints.size(), 2U);
  EXPECT_EQ(map->footprints[1].kind, FootprintKind::real);
  EXPECT_EQ(map->footprints[0].outside, 0);
}

TEST_F(GuiData, LiveSizesEvaluateGuardsAndNodesAtOtherSizes) {
  const auto live = LiveSizes::read(*reader_, 1);
  ASSERT_TRUE(live) << live.error().message;
  ASSERT_EQ((*live)->symbols().size(), 1U);
  EXPECT_EQ((*live)->symbols()[0].low, 2);
  const auto run = (*live)->at({});
  EXPECT_EQ(run.broken_guards(), 1);
  EXPECT_EQ(run.changed_count, 0);
  EXPECT_EQ(run.dynamic_count, 4);
  const auto other = (*live)->at({{"s77", 72}});
  EXPECT_EQ(other.broken_guards(), 0);
  EXPECT_EQ(other.changed_count, 2);  // x and relu; the padded ones have 72 rows at 68 too
  EXPECT_EQ(other.changed[0].sizes, "[72, 32]");
  EXPECT_EQ(other.changed[0].before, "[68, 32]");
}

TEST(ProgramData, BuffersWithoutANameTakeNobodysPlace) {
  ProgramFacts program;
  program.launches.resize(3);
  const auto add = [&](std::string name, std::int64_t bytes, std::int64_t first,
                       std::int64_t last) {
    auto& buffer = program.buffers.emplace_back();
    buffer.name = std::move(name);
    buffer.bytes = bytes;
    buffer.offset = 0;
    buffer.first = first;
    buffer.last = last;
  };
  add("", 8, 0, 2);
  add("a", 4, 1, 1);
  EXPECT_EQ(live_bytes(program), (std::vector<std::int64_t>{8, 12, 8}));
}

/// A graph with a real number that was recorded, one that its range fixes, and one nobody knows.
void write_real_symbols(const std::filesystem::path& path) {
  auto writer = TraceWriter::create(path);
  ASSERT_TRUE(writer);
  const auto run = writer->add(RunRow{"debug", "x", "capture json", "", "assay", "2000-01-01"});
  const auto graph = writer->add(GraphRow{*run, {}, "g", "inf", "", ""});
  const auto add = [&](const char* name, const char* kind, const char* low, const char* high) {
    ASSERT_TRUE(writer->add(SymbolRow{*graph, name, kind, low, high, "", "source"}));
  };
  add("zf1", "backed_float", "-oo", "oo");
  add("zf2", "backed_float", "0.5", "0.5");
  add("zf3", "backed_float", "-oo", "oo");
  add("s5", "backed", "2", "int_oo");
  add("s6", "backed", "-int_oo", "int_oo");
  ASSERT_TRUE(writer->add(BindingRow{*run, "zf1", "0.25", "run"}));
  std::int64_t seq = 0;
  for (const auto* text : {"zf1 > 0.0", "Eq(0.5, zf2)", "zf3 > 0.0", "zf1 > 0.5", "s5 >= 2"})
    ASSERT_TRUE(writer->add(GuardRow{*graph, seq++, text, text, "model.py:1", {}}));
  ASSERT_TRUE(writer->finalise());
}

TEST_F(GuiData, RealNumbersKeepTheirValuesAndNobodySlidesThem) {
  const testing::TemporaryFolder folder;
  write_real_symbols(folder / "t.sqlite");
  const auto reader = TraceReader::open(folder / "t.sqlite");
  ASSERT_TRUE(reader);
  const auto live = LiveSizes::read(*reader, 1);
  ASSERT_TRUE(live) << live.error().message;
  ASSERT_EQ((*live)->symbols().size(), 1U) << "s6 is in no size and no guard";
  EXPECT_EQ((*live)->symbols()[0].name, "s5");
  const auto state = (*live)->at({});
  ASSERT_EQ(state.guards.size(), 5U);
  EXPECT_EQ(state.guards[0].holds, true);
  EXPECT_EQ(state.guards[1].holds, true);
  EXPECT_EQ(state.guards[2].holds, std::nullopt);
  EXPECT_EQ(state.guards[3].holds, false);
  EXPECT_EQ(state.broken_guards(), 1);
}

TEST_F(GuiData, FactsOfANodeNameWhoItReadsAndWhoReadsIt) {
  const auto facts = read_node_facts(*reader_, node("pad"));
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->inputs.size(), 1U);
  EXPECT_EQ(facts->inputs[0].name, "relu");
  ASSERT_EQ(facts->users.size(), 1U);
  EXPECT_EQ(facts->users[0].name, "mul");
  EXPECT_FALSE(read_node_facts(*reader_, 999));
}

/// Steps of plans that read a whole table of those that grow with the graph.
auto scans(const TraceReader& reader) -> std::vector<std::string> {
  const std::set<std::string> large = {"nodes",      "operands",     "claims",   "observations",
                                       "line_links", "proof_guards", "launches", "launch_buffers",
                                       "buffers",    "decisions",    "kernels",  "tensor_values"};
  std::vector<std::string> found;
  for (const auto& row : statements()) {
    const auto sql = std::string(row.sql);
    const std::vector<TraceValue> parameters(static_cast<std::size_t>(std::ranges::count(sql, '?')),
                                             std::int64_t{1});
    const auto plan = reader.query("EXPLAIN QUERY PLAN " + sql, parameters);
    if (!plan) {
      found.push_back(fmt::format("{}: {}", row.name, plan.error().message));
      continue;
    }
    for (const auto& step : plan->rows) {
      const auto text = to_text(step.back());
      if (!text.starts_with("SCAN ")) continue;
      auto table = text.substr(5);
      table = table.substr(0, table.find(' '));
      // Aliases are single letters in these statements.
      for (const auto& name : large)
        if (table == name || sql.contains(" " + name + " " + table))
          found.push_back(fmt::format("{}: {}", row.name, text));
    }
  }
  return found;
}

TEST(GuiStatements, NoStatementOfAViewScansALargeTable) {
  // A table of two rows is best read whole, and SQLite knows from ANALYZE that it has two. So the
  // plans are those of a file without such figures, and of one with those of a large graph.
  const testing::TemporaryFolder folder;
  testing::write_small_trace(folder / "open.sqlite", false);
  testing::write_generated_trace(folder / "large.sqlite", 5000);
  for (const auto* name : {"open.sqlite", "large.sqlite"}) {
    const auto reader = TraceReader::open(folder / name);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(scans(*reader), std::vector<std::string>{}) << name;
  }
}

TEST_F(GuiData, AProgramHasLaunchesWithNodesAndBuffersThatLive) {
  const auto program = read_program(*reader_);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->launches.size(), 2U);
  EXPECT_EQ(program->launches[0].nodes.at(0).node, node("relu"));
  EXPECT_EQ(step_of(*program, {.node = node("pad")}), 1);
  EXPECT_EQ(step_of(*program, {.launch = program->launches[0].id}), 0);
  EXPECT_EQ(step_of(*program, {.node = node("mul")}), -1);
  // buf0 in steps 0 and 1, buf1 from 1, buf2 from 2; the output has no place in the arena.
  EXPECT_EQ(live_bytes(*program), (std::vector<std::int64_t>{256, 768, 640, 640}));
}

TEST(GuiStatements, EachHasAnAnswerForEveryVersionThatItClaims) {
  std::set<std::pair<std::string_view, int>> seen;
  for (const auto& row : statements()) {
    EXPECT_TRUE(seen.insert({row.name, row.version}).second) << row.name;
    EXPECT_FALSE(statement(row.name, kTraceVersion).empty()) << row.name;
  }
  EXPECT_TRUE(statement("steps", 1).empty());
  EXPECT_TRUE(statement("launches", 2).empty());
  EXPECT_TRUE(statement("values of node", 3).empty());
}

TEST(GuiRuns, ProgramsOfATraceAreFoundByLaunchAndNode) {
  const testing::TemporaryFolder folder;
  testing::write_run_trace(folder / "run.sqlite");
  const auto reader = TraceReader::open(folder / "run.sqlite");
  ASSERT_TRUE(reader) << reader.error().message;
  const auto first = read_program(*reader);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->name, "0/0 forward");
  ASSERT_EQ(first->all.size(), 2U);
  const auto second = read_program_at(*reader, {.launch = 2}, first->id);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->name, "0/1 forward");
  ASSERT_EQ(second->launches.at(0).findings.size(), 1U);
  EXPECT_EQ(second->launches[0].findings[0].kernel_line, 2);
  const auto of_node = read_program_at(*reader, {.graph = 1, .node = 2}, first->id);
  ASSERT_TRUE(of_node);
  EXPECT_EQ(of_node->id, second->id);
  const auto same = read_program_at(*reader, {.graph = 1, .node = 1}, first->id);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->id, 0) << "the one that is shown";
  EXPECT_EQ(read_program_at(*reader, {.graph = 1}, first->id)->id, 0) << "no program";
}

TEST(GuiRuns, TriageNamesTheLaunchThatMetAFinding) {
  const testing::TemporaryFolder folder;
  testing::write_run_trace(folder / "run.sqlite");
  const auto reader = TraceReader::open(folder / "run.sqlite");
  ASSERT_TRUE(reader);
  const auto triage = read_triage(*reader);
  ASSERT_TRUE(triage) << triage.error().message;
  EXPECT_EQ(triage->sentence, "fused_pad_0: element 7 needs 32 bytes, the storage has 28 of buf1");
  EXPECT_EQ(triage->findings.at(0).cursor.launch, 2);
  EXPECT_EQ(triage->findings[0].program_line, 2);
}

TEST(GuiRuns, ValuesOfANodeAreThoseOfTheGraphThenThoseOfPrograms) {
  const testing::TemporaryFolder folder;
  testing::write_run_trace(folder / "run.sqlite");
  const auto reader = TraceReader::open(folder / "run.sqlite");
  ASSERT_TRUE(reader);
  const auto facts = read_node_facts(*reader, 1);
  ASSERT_TRUE(facts) << facts.error().message;
  ASSERT_EQ(facts->values.size(), 2U);
  EXPECT_EQ(facts->values[0].elements, "0, 0.5, 1");
  EXPECT_FALSE(facts->values[0].is_program);
  EXPECT_EQ(facts->values[1].of, "fused_relu_0");
  EXPECT_EQ(facts->values[1].leaf, "buf0");
  EXPECT_EQ(facts->values[1].elements, "0, 0.25, 1");
}

TEST(Cards, ClaimAndRealityStandSideBySideAndWhatDiffersIsMarked) {
  NodeLine line;
  line.name = "view";
  line.mark = NodeMark::root;
  line.finding = "wrong-stride";
  line.dtype = line.real_dtype = "float32";
  line.sizes = "[s0, 4]";
  line.real_sizes = "[2, 4]";
  line.strides = "[8, 1]";
  line.real_strides = "[4, 1]";
  line.offset = line.real_offset = "0";
  line.file = "/a/model.py";
  line.line = 7;
  const auto card = card_of(line);
  EXPECT_EQ(card.status, "lies: wrong-stride");
  EXPECT_EQ(card.place, "model.py:7");
  ASSERT_EQ(card.rows.size(), 3U);
  EXPECT_FALSE(card.rows[0].differs);
  EXPECT_FALSE(card.rows[1].differs) << "an expression is no other text than its value";
  EXPECT_TRUE(card.rows[2].differs);
  std::set<std::string_view> shapes;
  for (int mark = 0; mark <= static_cast<int>(NodeMark::not_run); ++mark)
    shapes.insert(mark_text(static_cast<NodeMark>(mark)));
  EXPECT_EQ(shapes.size(), 7U) << "status is read off the shape";
}

TEST(Witnesses, AreSizesToRunAtWithoutPlacesInKernels) {
  const auto sizes = sizes_of_witness("s77 = 9, assay_i0 = 3, XBLOCK = 8, xindex = 103, s53 = 7");
  EXPECT_EQ(sizes_text(sizes), "s53=7,s77=9");
  EXPECT_TRUE(sizes_of_witness("").empty());
  EXPECT_TRUE(sizes_of_witness("s77 = true").empty());
  EXPECT_TRUE(sizes_of_witness("XBLOCK = 8, xindex = 103").empty());
}

TEST(Witnesses, ASummaryStaysShort) {
  NamedSizes sizes;
  for (int i = 0; i < 40; ++i) sizes[fmt::format("s{:02}", i)] = i;
  EXPECT_EQ(short_sizes_text(sizes, 3), "s00 = 0, s01 = 1, s02 = 2, and 37 more");
  EXPECT_EQ(short_sizes_text({{"s0", 4}, {"s1", 8}}, 2), "s0 = 4, s1 = 8");
}

TEST(Witnesses, AreDrawnAlsoWhereAProgramHasNoNodes) {
  const auto access = storage_map_of("in_ptr0 is indexed at 23: needs 96 bytes, buf1 has 48");
  ASSERT_EQ(access.footprints.size(), 1U);
  EXPECT_EQ(access.owner, "buf1");
  EXPECT_EQ(access.storage_bytes, 48);
  EXPECT_EQ(access.span(), 96);
  EXPECT_EQ(access.footprints[0].outside, 48);
  const auto view = storage_map_of(
      "needs 9216 bytes, the storage of arg0_1 has 8704; at the "
      "recorded s0 = 9: needs 1 bytes, the storage of x has 0");
  EXPECT_EQ(view.owner, "arg0_1");
  EXPECT_EQ(view.footprints.at(0).outside, 512);
  EXPECT_TRUE(storage_map_of("u0 is 5, more than 31 bits hold").empty());
  EXPECT_TRUE(storage_map_of("").empty());
}

TEST(GuiVersions, TracesOfVersion3StayReadable) {
  const auto reader = TraceReader::open(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                        "tests/data/traces/program_v3.sqlite");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->version(), 3);
  const auto triage = read_triage(*reader);
  ASSERT_TRUE(triage) << triage.error().message;
  EXPECT_EQ(triage->findings.size(), 2U);
  const auto program = read_program(*reader);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_EQ(program->launches.size(), 2U);
  EXPECT_TRUE(program->launches[0].findings.empty());
  const auto facts = read_node_facts(*reader, triage->findings[0].cursor.node);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_TRUE(facts->values.empty());
}

TEST(GuiVersions, TracesOfVersion1StayReadable) {
  const auto reader = TraceReader::open(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                        "tests/data/traces/padded_v1.sqlite");
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->version(), 1);
  const auto triage = read_triage(*reader);
  ASSERT_TRUE(triage) << triage.error().message;
  EXPECT_TRUE(triage->sentence.starts_with("constant_pad_nd: the layout needs 9216"));
  const auto map = read_storage_map(*reader, triage->findings[0].cursor);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->footprints.at(0).outside, 512);
}

TEST(ByteRuns, MergeWhatIsContiguousAndKeepGaps) {
  using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(byte_runs({{4, 8}, {8, 1}, 0, 4}), (Runs{{0, 128}}));
  EXPECT_EQ(byte_runs({{2, 3}, {8, 1}, 1, 2}), (Runs{{2, 8}, {18, 24}}));
  EXPECT_EQ(byte_runs({{3}, {0}, 5, 4}), (Runs{{20, 24}}));
  EXPECT_TRUE(byte_runs({{0, 3}, {3, 1}, 0, 4}).empty());
  EXPECT_TRUE(byte_runs({{100, 100}, {1000, 2}, 0, 1}, 50).empty());
}

TEST(TextLines, NamesAreFoundWhereTheyAreAssigned) {
  const auto lines = text_lines(
      "def forward(self, x: \"f32[s0, 4][4, 1]cpu\", y):\n    # a = b\n    a: \"f32\" = f(x)\n"
      "    b = g(a)\n    return (b,)\n");
  EXPECT_EQ(lines.line.at("x"), 0);
  EXPECT_EQ(lines.line.at("y"), 0);
  EXPECT_EQ(lines.line.at("a"), 2);
  EXPECT_EQ(lines.line.at("b"), 3);
  EXPECT_FALSE(lines.line.contains("self"));
  EXPECT_EQ(lines.names.at(2), "a");
  EXPECT_EQ(lines.names.at(4), "");
}

TEST(Tokens, TextIsReadableOnBothThemes) {
  for (const auto* palette : {&kLight, &kDark})
    for (const auto ink :
         {Token::text, Token::muted, Token::accent, Token::ok, Token::bad, Token::inherited,
          Token::note, Token::unknown, Token::dynamic, Token::added, Token::removed})
      for (const auto paper : {Token::panel, Token::window, Token::raised})
        EXPECT_GE(contrast(color(*palette, ink), color(*palette, paper)), 4.5)
            << (palette == &kLight ? "light " : "dark ") << static_cast<int>(ink) << " on "
            << static_cast<int>(paper);
  EXPECT_GE(contrast(color(kLight, Token::bad), color(kLight, Token::bad_fill)), 4.5);
  EXPECT_GE(contrast(color(kDark, Token::bad), color(kDark, Token::bad_fill)), 4.5);
}

TEST(Cursors, HistoryForgetsWhatLayAheadOnANewTurn) {
  CursorHistory history;
  history.go({.graph = 1});
  history.go({.graph = 2});
  history.go({.graph = 2});
  EXPECT_TRUE(history.can_go_back());
  EXPECT_EQ(history.back().graph, 1);
  EXPECT_FALSE(history.can_go_back());
  EXPECT_EQ(history.forward().graph, 2);
  history.back();
  history.go({.graph = 3});
  EXPECT_FALSE(history.can_go_forward());
}

}  // namespace
}  // namespace assay
