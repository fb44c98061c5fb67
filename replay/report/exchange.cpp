#include "replay/report/exchange.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "compiler/prove/wrapper_findings.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

auto xml_escaped(std::string_view text) -> std::string {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

auto case_xml(const TestCase& c) -> std::string {
  auto text = fmt::format("  <testcase name=\"{}\" classname=\"{}\"", xml_escaped(c.name),
                          xml_escaped(c.group));
  if (c.result == TestCase::Result::passed) return text + "/>\n";
  if (c.result == TestCase::Result::skipped)
    return text +
           fmt::format(">\n    <skipped message=\"{}\"/>\n  </testcase>\n", xml_escaped(c.message));
  return text +
         fmt::format(">\n    <failure message=\"{}\" type=\"{}\">{}</failure>\n  </testcase>\n",
                     xml_escaped(c.message), xml_escaped(c.kind), xml_escaped(c.text));
}

auto failure(std::string name, std::string group, const Finding& finding) -> TestCase {
  return {.name = std::move(name),
          .group = std::move(group),
          .result = TestCase::Result::failed,
          .kind = std::string(info(finding.kind).name),
          .message = finding.message,
          .text = describe(finding)};
}

/// RFC 3986 in so far as paths need it; absolute paths become `file://` addresses.
auto uri_of(std::string_view path) -> std::string {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       std::string_view("-._~/").contains(c);
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

}  // namespace

auto junit_xml(const std::string& suite, std::span<const TestCase> cases, double seconds)
    -> std::string {
  const auto count = [&](TestCase::Result result) {
    return std::ranges::count(cases, result, &TestCase::result);
  };
  auto text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n",
      xml_escaped(suite), cases.size(), count(TestCase::Result::failed),
      count(TestCase::Result::skipped), seconds);
  for (const auto& c : cases) text += case_xml(c);
  return text + "</testsuite>\n";
}

auto test_cases(const Capture& capture, const DebugReport& report) -> std::vector<TestCase> {
  std::map<NodeId, const Finding*> first;  // roots before what only follows
  for (const auto& finding : report.findings) {
    if (info(finding.kind).severity == Severity::note) continue;
    auto& place = first[finding.node];
    if (!place || (place->blame != Blame::root && finding.blame == Blame::root)) place = &finding;
  }
  std::map<NodeId, const Undecided*> open;
  for (const auto& undecided : report.undecided) open.try_emplace(undecided.node, &undecided);
  std::vector<TestCase> cases;
  for (std::size_t i = 0; i < capture.graph.nodes.size(); ++i) {
    const auto& node = capture.graph.nodes[i];
    const auto found = first.find(node.id);
    if (found == first.end() && node.claim.empty()) continue;
    const auto& group = node.target.empty() ? node.name : node.target;
    if (found != first.end()) {
      cases.push_back(failure(node.name, group, *found->second));
      continue;
    }
    auto& c = cases.emplace_back(
        TestCase{.name = node.name, .group = group, .kind = {}, .message = {}, .text = {}});
    const auto undecided = open.find(node.id);
    const auto* run = i < report.run.nodes.size() ? &report.run.nodes[i] : nullptr;
    if (undecided != open.end())
      c.message = undecided->second->message;
    else if (run && (run->status == NodeStatus::unchecked || run->status == NodeStatus::skipped))
      c.message = run->message.empty() ? "not checked" : run->message;
    else
      continue;
    c.result = TestCase::Result::skipped;
  }
  for (const auto& finding : report.findings)  // guards and the like stand at no node
    if (finding.node_name.empty() && info(finding.kind).severity == Severity::finding)
      cases.push_back(failure("capture", std::string(info(finding.kind).name), finding));
  return cases;
}

auto test_cases(const Capture& capture, const ProveReport& report) -> std::vector<TestCase> {
  std::vector<TestCase> cases;
  const auto asked = [&](bool was, const char* what) {
    if (was)
      cases.push_back({.name = what, .group = "asked", .kind = {}, .message = {}, .text = {}});
  };
  asked(report.guards_asked, "guards");
  asked(report.obligations.has_value(), "obligations");
  asked(report.bounds.has_value(), "bounds");
  for (const auto& claim : report.claims) asked(true, claim.text.c_str());
  for (const auto& finding : findings_of(capture, report))
    if (info(finding.kind).severity == Severity::finding)
      cases.push_back(failure(finding.node_name + finding.leaf, finding.target, finding));
  for (const auto& line : undecided_of(capture, report))
    cases.push_back({.name = line,
                     .group = "undecided",
                     .result = TestCase::Result::skipped,
                     .kind = {},
                     .message = line,
                     .text = {}});
  return cases;
}

auto test_cases(const std::vector<ProvedProgram>& programs) -> std::vector<TestCase> {
  std::vector<TestCase> cases;
  for (const auto& program : programs) {
    const auto refuted = wrapper_findings(program.report);
    if (!refuted.empty()) {
      auto& c = cases.emplace_back(failure(program.name, "program", refuted.front()));
      for (std::size_t i = 1; i < refuted.size(); ++i) c.text += "\n" + describe(refuted[i]);
      continue;
    }
    const auto counts = count_obligations({program});
    auto& c = cases.emplace_back(
        TestCase{.name = program.name, .group = "program", .kind = {}, .message = {}, .text = {}});
    if (counts.unknown == 0) continue;
    c.result = TestCase::Result::skipped;
    c.message = fmt::format("{} unknown of {}", counts.unknown,
                            counted(static_cast<std::int64_t>(counts.total()), "obligation"));
  }
  return cases;
}

auto sarif_json(const std::string& tool, std::span<const SarifResult> results) -> std::string {
  Json rules = Json::array();
  std::map<std::string, std::size_t> index;
  Json list = Json::array();
  for (const auto& result : results) {
    const auto [at, added] = index.try_emplace(result.rule, index.size());
    if (added)
      rules.push_back({{"id", result.rule},
                       {"shortDescription", {{"text", result.title}}},
                       {"defaultConfiguration", {{"level", result.level}}}});
    Json place{{"physicalLocation", {{"artifactLocation", {{"uri", uri_of(result.file)}}}}}};
    if (result.line > 0) place["physicalLocation"]["region"] = {{"startLine", result.line}};
    if (!result.logical.empty())
      place["logicalLocations"] = Json::array({{{"name", result.logical}, {"kind", "function"}}});
    Json entry{{"ruleId", result.rule},
               {"ruleIndex", at->second},
               {"level", result.level},
               {"message", {{"text", result.message}}},
               {"locations", Json::array({std::move(place)})}};
    for (const auto& [key, value] : result.properties)
      if (!value.empty()) entry["properties"][key] = value;
    list.push_back(std::move(entry));
  }
  Json run;
  run["tool"] = {{"driver", {{"name", tool}, {"rules", std::move(rules)}}}};
  run["results"] = std::move(list);
  Json json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}};
  json["runs"] = Json::array({std::move(run)});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

auto sarif_results(std::span<const Finding> findings, const std::string& source)
    -> std::vector<SarifResult> {
  std::vector<SarifResult> results;
  for (const auto& finding : findings) {
    const auto& kind = info(finding.kind);
    const bool known = finding.origin && !finding.origin->file.empty();
    const bool is_note = kind.severity == Severity::note;
    results.push_back({.rule = std::string(kind.name),
                       .title = std::string(kind.title),
                       .level = is_note                        ? "note"
                                : finding.blame == Blame::root ? "error"
                                                               : "warning",
                       .message = fmt::format("{}: {}", headline(finding), finding.message),
                       .file = known ? finding.origin->file : source,
                       .line = known ? finding.origin->line : 0,
                       .logical = finding.node_name + finding.leaf,
                       .properties = {{"target", finding.target},
                                      {"claimed", finding.claimed},
                                      {"observed", finding.observed},
                                      {"rule", finding.rule},
                                      {"sizes", finding.witness}}});
  }
  return results;
}

}  // namespace assay
