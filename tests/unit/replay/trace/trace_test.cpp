#include "replay/trace/trace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>

#include "replay/trace/schema.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Trace : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        fs::temp_directory_path() / fmt::format("assay_trace_{}_{}", test->name(), ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] auto path() const -> fs::path { return folder_ / "run 1?.db"; }

  static auto read(const fs::path& file) -> std::string {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  /// One run with one graph of two nodes, the second reading the first.
  static void fill(TraceWriter& writer) {
    const auto run = writer.add(RunRow{"debug", "x.pt2", "pt2", "{}", "assay 0", "2000-01-01"});
    ASSERT_TRUE(run) << run.error().message;
    const auto graph = writer.add(GraphRow{*run, std::nullopt, "Model", "fwd", "00ff", "text"});
    ASSERT_TRUE(graph);
    NodeRow node;
    node.graph_id = *graph;
    node.kind = "placeholder";
    node.name = "x";
    const auto first = writer.add(node);
    node.seq = 1;
    node.name = "add";
    node.line = 12;
    const auto second = writer.add(node);
    ASSERT_TRUE(first && second);
    ASSERT_TRUE(writer.add(OperandRow{*second, 0, *first}));
    ObservationRow seen;
    seen.node_id = *second;
    seen.dtype = "float32";
    seen.sum = std::numeric_limits<double>::quiet_NaN();
    seen.abs_sum = std::numeric_limits<double>::infinity();
    ASSERT_TRUE(writer.add(seen));
    ASSERT_TRUE(writer.set_status(*second, "lies", "", 0.5));
    ASSERT_TRUE(writer.finish_run(*run, 1, 20.0));
  }

  auto write() -> void {
    auto writer = TraceWriter::create(path());
    ASSERT_TRUE(writer) << writer.error().message;
    fill(*writer);
    const auto done = writer->finalise();
    ASSERT_TRUE(done) << done.error().message;
  }

  fs::path folder_;
};

TEST_F(Trace, RowsComeBackAsTheyWereWritten) {
  write();
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(reader->is_complete());
  const auto nodes =
      reader->query("SELECT name, line, status, duration_ms FROM nodes ORDER BY seq");
  ASSERT_TRUE(nodes) << nodes.error().message;
  EXPECT_EQ(nodes->columns, (std::vector<std::string>{"name", "line", "status", "duration_ms"}));
  ASSERT_EQ(nodes->rows.size(), 2U);
  EXPECT_EQ(nodes->rows[0], (std::vector<TraceValue>{std::string("x"), std::monostate{},
                                                     std::monostate{}, std::monostate{}}));
  EXPECT_EQ(nodes->rows[1], (std::vector<TraceValue>{std::string("add"), std::int64_t{12},
                                                     std::string("lies"), 0.5}));
}

TEST_F(Trace, NanIsNotMistakenForNotRecorded) {
  write();
  const auto sums = query_trace(path(), "SELECT sum, abs_sum, value FROM observations");
  ASSERT_TRUE(sums) << sums.error().message;
  EXPECT_EQ(sums->rows[0][0], TraceValue(std::string("nan")));
  EXPECT_EQ(sums->rows[0][1], TraceValue(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(sums->rows[0][2], TraceValue());
}

TEST_F(Trace, FinalisedTraceIsOneFileThatReadingLeavesAlone) {
  write();
  const auto before = read(path());
  ASSERT_TRUE(query_trace(path(), "SELECT count(*) FROM nodes"));
  EXPECT_EQ(read(path()), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_EQ(before.substr(68, 4), "ASSY");
}

TEST_F(Trace, CommittedRowsSurviveWithoutFinalising) {
  auto writer = TraceWriter::create(path());
  ASSERT_TRUE(writer);
  fill(*writer);
  ASSERT_TRUE(writer->commit());
  ASSERT_TRUE(writer->add(RunRow{"later", "", "", "", "assay 0", ""}));  // never committed
  const auto reader = TraceReader::open(path());                         // while it is written
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_FALSE(reader->is_complete());
  const auto runs = reader->query("SELECT command FROM runs");
  ASSERT_TRUE(runs) << runs.error().message;
  ASSERT_EQ(runs->rows.size(), 1U);
  EXPECT_EQ(runs->rows[0][0], TraceValue(std::string("debug")));
}

TEST_F(Trace, ParametersAreBoundNotPasted) {
  write();
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader);
  const std::vector<TraceValue> name = {std::string("add' OR 1=1 --")};
  const auto none = reader->query("SELECT * FROM nodes WHERE name = ?", name);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->rows.empty());
  EXPECT_FALSE(reader->query("SELECT * FROM nodes WHERE name = ?"));
}

TEST_F(Trace, OnlyOneReadingStatementIsRun) {
  write();
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader);
  const auto outside = (folder_ / "other.db").string();
  for (const std::string sql :
       {"DELETE FROM nodes", "DROP TABLE nodes", "PRAGMA user_version=9", "PRAGMA journal_mode=WAL",
        "SELECT 1; SELECT 2", "", "BEGIN", "SELECT load_extension('x')", "VACUUM"})
    EXPECT_FALSE(reader->query(sql)) << sql;
  EXPECT_FALSE(reader->query("ATTACH '" + outside + "' AS o"));
  EXPECT_FALSE(fs::exists(outside));
  EXPECT_TRUE(reader->query("SELECT 1;  \n"));
  EXPECT_TRUE(reader->query("PRAGMA table_info(nodes)"));
}

TEST_F(Trace, SqlErrorsCarryTheMessageOfSqlite) {
  write();
  const auto answer = query_trace(path(), "SELECT nme FROM nodes");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "sqlite: no such column: nme");
}

TEST_F(Trace, EndlessAnswersAreCutOff) {
  write();
  const auto reader = TraceReader::open(path());
  ASSERT_TRUE(reader);
  const auto* sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n";
  const auto answer = reader->query(sql, {}, 1000);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "sqlite: more than 1000 rows; add a LIMIT");
}

TEST_F(Trace, OtherFilesAreRefusedByReaderAndWriter) {
  std::ofstream(path()) << "precious";
  const auto reader = TraceReader::open(path());
  ASSERT_FALSE(reader);
  EXPECT_TRUE(reader.error().message.contains("not a trace")) << reader.error().message;
  EXPECT_FALSE(TraceWriter::create(path()));
  EXPECT_EQ(read(path()), "precious");
  EXPECT_FALSE(TraceReader::open(folder_));
  EXPECT_FALSE(TraceReader::open(folder_ / "missing"));
}

TEST_F(Trace, NewerVersionsAreRefusedByNumber) {
  write();
  auto bytes = read(path());
  bytes[63] = 9;  // user_version, big endian
  std::ofstream(path(), std::ios::binary) << bytes;
  const auto reader = TraceReader::open(path());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::unsupported);
  EXPECT_TRUE(reader.error().message.contains("version 9")) << reader.error().message;
}

TEST_F(Trace, DamagedFileGivesAnErrorNotACrash) {
  write();
  auto bytes = read(path());
  for (std::size_t i = 100; i < bytes.size(); i += 7) bytes[i] = static_cast<char>(bytes[i] ^ 0x5a);
  std::ofstream(path(), std::ios::binary) << bytes;
  EXPECT_FALSE(query_trace(path(), "SELECT * FROM nodes"));
}

TEST_F(Trace, OlderTraceIsReplaced) {
  write();
  auto writer = TraceWriter::create(path());
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE(writer->finalise());
  const auto count = query_trace(path(), "SELECT count(*) FROM runs");
  ASSERT_TRUE(count);
  EXPECT_EQ(count->rows[0][0], TraceValue(std::int64_t{0}));
}

TEST_F(Trace, AFindingWithoutANodeDoesNotSpoilTheCountsOfNodes) {
  auto writer = TraceWriter::create(path());
  ASSERT_TRUE(writer) << writer.error().message;
  const auto run = writer->add(RunRow{"debug", "x", "fx text", "", "assay 0", "2000-01-01"});
  ASSERT_TRUE(run);
  const auto graph = writer->add(GraphRow{*run, {}, "G", "fwd", "00", ""});
  ASSERT_TRUE(graph);
  NodeRow node;
  node.graph_id = *graph;
  node.kind = "call_function";
  node.name = "add";
  node.target = "aten.add.Tensor";
  node.module = "layers.0";
  ASSERT_TRUE(writer->add(node));
  FindingRow about_the_graph;
  about_the_graph.run_id = *run;
  about_the_graph.kind = "guard-false";
  about_the_graph.severity = "finding";
  ASSERT_TRUE(writer->add(about_the_graph));
  ASSERT_TRUE(writer->finalise());
  const auto modules = query_trace(path(), "SELECT path, findings FROM modules ORDER BY path");
  ASSERT_TRUE(modules) << modules.error().message;
  ASSERT_EQ(modules->rows.size(), 2U);
  EXPECT_EQ(modules->rows[0][1], TraceValue(std::int64_t{0}));
  const auto operators = query_trace(path(), "SELECT findings FROM op_counts");
  ASSERT_TRUE(operators);
  EXPECT_EQ(operators->rows.at(0)[0], TraceValue(std::int64_t{0}));
}

TEST_F(Trace, FindingsStandAtLaunchesWithValues) {
  auto writer = TraceWriter::create(path());
  ASSERT_TRUE(writer) << writer.error().message;
  const auto run = writer->add(RunRow{"run", "x", "wrapper", "", "assay 0", "2000-01-01"});
  ASSERT_TRUE(run);
  const auto graph = writer->add(GraphRow{*run, {}, "p", "program", "", "k(a)"});
  ASSERT_TRUE(graph);
  const auto launch = writer->add(LaunchRow{*graph, 0, "kernel", "k", {}, 1, "", "", "k(a)"});
  ASSERT_TRUE(launch);
  FindingRow finding;
  finding.run_id = *run;
  finding.kind = "out-of-bounds";
  finding.graph_id = *graph;
  finding.launch_id = *launch;
  finding.line = 1;
  finding.times = 3;
  ASSERT_TRUE(writer->add(finding));
  ASSERT_TRUE(writer->add(TensorValuesRow{{}, *launch, "a", "program", "f32[2][1]cpu", "1, nan"}));
  ASSERT_TRUE(writer->finalise());
  const auto found = query_trace(path(),
                                 "SELECT l.target, f.line, f.kernel_line, f.times, v.elements FROM "
                                 "findings f JOIN launches l ON l.id = f.launch_id JOIN "
                                 "tensor_values v ON v.launch_id = l.id");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->rows.size(), 1U);
  EXPECT_EQ(found->rows[0],
            (std::vector<TraceValue>{std::string("k"), std::int64_t{1}, std::monostate{},
                                     std::int64_t{3}, std::string("1, nan")}));
}

TEST(TraceSchema, EveryColumnBelongsToATableAndEveryReferenceExists) {
  std::set<std::string> known;
  for (const auto& column : trace_columns())
    known.insert(fmt::format("{}.{}", column.table, column.name));
  EXPECT_EQ(known.size(), trace_columns().size());
  std::size_t in_tables = 0;
  for (const auto& table : trace_tables()) {
    const auto columns = trace_columns(table.name);
    EXPECT_FALSE(columns.empty()) << table.name;
    for (const auto& column : columns) EXPECT_EQ(column.table, table.name);
    in_tables += columns.size();
  }
  EXPECT_EQ(in_tables, trace_columns().size());
  for (const auto& column : trace_columns()) {
    if (column.references.empty()) continue;
    EXPECT_TRUE(known.contains(std::string(column.references))) << column.references;
  }
}

TEST(TraceSchema, PageNamesEveryColumn) {
  const auto page = trace_schema_page();
  for (const auto& column : trace_columns())
    EXPECT_TRUE(page.contains(fmt::format("| {} |", column.name))) << column.name;
}

}  // namespace
}  // namespace assay
