#include "minifier/emit/emit.h"

#include <nlohmann/json.hpp>

#include "core/graph/text.h"
#include "minifier/edits/export.h"
#include "replay/formats/file.h"
#include "replay/report/exchange.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

auto dump(const Json& json) -> std::string {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
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
  TestCase one{.name = result.original.source_path,
               .group = result.oracle,
               .kind = result.wanted.error_class,
               .message = {},
               .text = {}};
  if (result.reproduced) {
    one.result = TestCase::Result::failed;
    one.message = headline(result);
    one.text = print_graph(result.minimal.graph);
  }
  return junit_xml("assay minify", {&one, 1}, result.seconds);
}

auto sarif_json(const MinifyResult& result) -> std::string {
  if (!result.reproduced) return sarif_json("assay minify", {});
  const auto* origin = origin_of(result.minimal);
  const auto kind = finding_kind(result.wanted.error_class);
  const SarifResult one{.rule = result.wanted.error_class,
                        .title = kind ? std::string(info(*kind).title) : result.wanted.error_class,
                        .message = headline(result),
                        .file = origin ? origin->file : result.original.source_path,
                        .line = origin ? origin->line : 1,
                        .logical = result.wanted.node,
                        .properties = {{"failsIff", result.fails_iff},
                                       {"failureRate", fmt::format("{}", result.failure_rate)}}};
  return sarif_json("assay minify", {&one, 1});
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
