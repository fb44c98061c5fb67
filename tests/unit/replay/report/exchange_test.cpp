// Reports in the formats that other tools read.
#include "replay/report/exchange.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/graph/text.h"

namespace assay {
namespace {

using Json = nlohmann::json;

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

/// `relu` claims strides that no kernel makes; `twice` follows it; `mystery` has no row.
constexpr auto kLying = R"(class G(torch.nn.Module):
    def forward(self, x: "f32[2, 3][3, 1]cpu"):
        # File: my model.py:7 in forward, code: y = x.relu()
        relu: "f32[2, 3][1, 2]cpu" = torch.ops.aten.relu.default(x)
        mystery: "f32[2, 3][3, 1]cpu" = torch.ops.custom.mystery.default(x)
        sin: "f32[2, 3][3, 1]cpu" = torch.ops.aten.sin.default(x)
        return (relu, mystery, sin)
)";

struct Debugged {
  Capture capture;
  DebugReport report;
};
auto debugged(const char* text) -> Debugged {
  Debugged out;
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  if (!graph) return out;
  out.capture.graph = *std::move(graph);
  out.capture.source_path = "in put.txt";
  out.capture.inputs.emplace_back();
  auto report = debug_capture(out.capture, table(), {});
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  if (report) out.report = *std::move(report);
  return out;
}

auto named(const std::vector<TestCase>& cases, std::string_view name) -> const TestCase& {
  static const TestCase kNone;
  const auto found = std::ranges::find(cases, name, &TestCase::name);
  EXPECT_NE(found, cases.end()) << name;
  return found == cases.end() ? kNone : *found;
}

TEST(Exchange, NodesAreCases) {
  const auto [capture, report] = debugged(kLying);
  const auto cases = test_cases(capture, report);
  EXPECT_EQ(named(cases, "relu").result, TestCase::Result::failed);
  EXPECT_EQ(named(cases, "relu").kind, "wrong-stride");
  EXPECT_EQ(named(cases, "relu").group, "aten.relu.default");
  EXPECT_NE(named(cases, "relu").text.find("claimed"), std::string::npos);
  EXPECT_EQ(named(cases, "mystery").result, TestCase::Result::skipped);
  EXPECT_FALSE(named(cases, "mystery").message.empty());
  EXPECT_EQ(named(cases, "sin").result, TestCase::Result::passed);
}

TEST(Exchange, JunitCountsAndEscapes) {
  const std::vector<TestCase> cases{
      {.name = "a<b", .group = "g", .kind = {}, .message = {}, .text = {}},
      {.name = "c",
       .group = "g",
       .result = TestCase::Result::failed,
       .kind = "k",
       .message = "\"quoted\" & \x01 more",
       .text = "1 < 2"},
      {.name = "d",
       .group = "g",
       .result = TestCase::Result::skipped,
       .kind = {},
       .message = "why",
       .text = {}}};
  const auto xml = junit_xml("suite", cases, 1.5);
  EXPECT_NE(xml.find(R"(tests="3" failures="1" skipped="1" time="1.500")"), std::string::npos);
  EXPECT_NE(xml.find(R"(<testcase name="a&lt;b" classname="g"/>)"), std::string::npos);
  EXPECT_NE(xml.find(R"(message="&quot;quoted&quot; &amp;  more" type="k">1 &lt; 2</failure>)"),
            std::string::npos);
  EXPECT_NE(xml.find(R"(<skipped message="why"/>)"), std::string::npos);
}

TEST(Exchange, SarifNamesThePlaceInTheProgram) {
  const auto [capture, report] = debugged(kLying);
  const auto sarif =
      Json::parse(sarif_json("assay debug", sarif_results(report.findings, capture.source_path)));
  EXPECT_EQ(sarif["version"], "2.1.0");
  const auto& run = sarif["runs"][0];
  const auto& result = run["results"][0];
  EXPECT_EQ(result["ruleId"], "wrong-stride");
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["id"],
            "wrong-stride");
  const auto& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "my%20model.py");
  EXPECT_EQ(place["region"]["startLine"], 7);
  EXPECT_EQ(result["locations"][0]["logicalLocations"][0]["name"], "relu");
}

TEST(Exchange, SarifFallsBackToTheFile) {
  Finding finding;
  finding.kind = FindingKind::wrong_size;
  finding.message = "m";
  const auto results = sarif_results({&finding, 1}, "/data/in put.txt");
  const auto sarif = Json::parse(sarif_json("assay debug", results));
  const auto& place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "file:///data/in%20put.txt");
  EXPECT_FALSE(place.contains("region"));
}

TEST(Exchange, NothingFoundIsAnEmptyRun) {
  const auto sarif = Json::parse(sarif_json("assay debug", {}));
  EXPECT_TRUE(sarif["runs"][0]["results"].is_array());
  EXPECT_TRUE(sarif["runs"][0]["results"].empty());
}

TEST(Exchange, ProofsAreCases) {
  const auto [capture, report] = debugged(kLying);
  const auto proved = prove_capture(
      capture, table(), {.claims = {{"1 < 0", Expr::boolean(false), {}}}, .use_solver = false});
  const auto cases = test_cases(capture, proved);
  ASSERT_EQ(cases.size(), 2U);  // the claim was asked, and it is refuted
  EXPECT_EQ(cases[1].result, TestCase::Result::failed);
  EXPECT_EQ(cases[1].kind, "claim-refuted");
}

}  // namespace
}  // namespace assay
