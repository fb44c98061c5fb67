#include "minifier/emit/emit.h"

#include <nlohmann/json.hpp>

#include "core/graph/text.h"
#include "minifier/edits/export.h"
#include "replay/formats/file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

auto dump(const Json& json) -> std::string {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

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

auto signature_json(const Signature& s) -> Json {
  Json json = Json::object();
  const auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  put("stage", s.stage);
  put("error_class", s.error_class);
  put("message", s.message);
  put("operator", s.op);
  put("node", s.node);
  put("frames", s.frames);
  put("numeric", s.numeric);
  return json;
}

/// The first kept call that has a place in the user's program.
auto origin_of(const Capture& capture) -> const Origin* {
  for (const auto& node : capture.graph.nodes)
    if (node.kind == NodeKind::call_function && node.origin && !node.origin->file.empty())
      return &*node.origin;
  return nullptr;
}

auto headline(const MinifyResult& result) -> std::string {
  return fmt::format("{} ({} of {} calls left)", to_string(result.wanted),
                     result.minimal.graph.call_count(), result.original.graph.call_count());
}

}  // namespace

auto summary_json(const MinifyResult& result) -> std::string {
  Json json{{"schema", "assay.minify/1"},
            {"source", result.original.source_path},
            {"oracle", result.oracle},
            {"reproduced", result.reproduced},
            {"complete", result.complete},
            {"one_minimal", result.one_minimal},
            {"failure", signature_json(result.wanted)},
            {"failure_rate", result.failure_rate},
            {"confirmations", result.confirmations},
            {"calls",
             {{"before", result.original.graph.call_count()},
              {"after", result.minimal.graph.call_count()}}},
            {"nodes",
             {{"before", result.original.graph.nodes.size()},
              {"after", result.minimal.graph.nodes.size()}}},
            {"fails_iff", result.fails_iff},
            {"queries", result.queries},
            {"cached", result.cached},
            {"seconds", result.seconds}};
  json["passes"] = Json::array();
  for (const auto& pass : result.passes)
    json["passes"].push_back({{"name", pass.name},
                              {"calls_before", pass.calls_before},
                              {"calls_after", pass.calls_after},
                              {"queries", pass.queries},
                              {"seconds", pass.seconds}});
  json["other_failures"] = Json::array();
  for (const auto& other : result.others) json["other_failures"].push_back(signature_json(other));
  json["sibling"] = result.sibling_change;
  json["warnings"] = result.warnings;
  return dump(json);
}

auto junit_xml(const MinifyResult& result) -> std::string {
  const auto failure =
      result.reproduced
          ? fmt::format("    <failure message=\"{}\" type=\"{}\">{}</failure>\n",
                        xml_escaped(headline(result)), xml_escaped(result.wanted.error_class),
                        xml_escaped(print_graph(result.minimal.graph)))
          : std::string();
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"assay minify\" tests=\"1\" failures=\"{}\" time=\"{:.3f}\">\n"
      "  <testcase name=\"{}\" classname=\"{}\" time=\"{:.3f}\">\n{}  </testcase>\n</testsuite>\n",
      result.reproduced ? 1 : 0, result.seconds, xml_escaped(result.original.source_path),
      xml_escaped(result.oracle), result.seconds, failure);
}

auto sarif_json(const MinifyResult& result) -> std::string {
  Json results = Json::array();
  if (result.reproduced) {
    Json entry{{"ruleId", result.wanted.error_class},
               {"level", "error"},
               {"message", {{"text", headline(result)}}}};
    const auto* origin = origin_of(result.minimal);
    const auto file = origin ? origin->file : result.original.source_path;
    entry["locations"] =
        Json::array({{{"physicalLocation",
                       {{"artifactLocation", {{"uri", file}}},
                        {"region", {{"startLine", std::max(origin ? origin->line : 1, 1)}}}}}}});
    entry["properties"] = {{"failsIff", result.fails_iff}, {"failureRate", result.failure_rate}};
    results.push_back(std::move(entry));
  }
  Json rules = Json::array();
  if (result.reproduced) rules.push_back({{"id", result.wanted.error_class}});
  Json run;
  run["tool"] = {{"driver", {{"name", "assay minify"}, {"rules", std::move(rules)}}}};
  run["results"] = std::move(results);
  Json json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}};
  json["runs"] = Json::array({std::move(run)});
  return dump(json);
}

auto write_result(const MinifyResult& result, const fs::path& folder) -> Result<void> {
  ASSAY_TRY_VOID(write_candidate(result.minimal, folder, result.check));
  ASSAY_TRY_VOID(write_file_atomically(folder / "summary.json", summary_json(result)));
  ASSAY_TRY_VOID(write_file_atomically(folder / "junit.xml", junit_xml(result)));
  ASSAY_TRY_VOID(write_file_atomically(folder / "results.sarif", sarif_json(result)));
  if (!result.passing_sibling.empty())
    ASSAY_TRY_VOID(write_file_atomically(folder / "sibling.txt", result.passing_sibling));
  return {};
}

}  // namespace assay
