#include "replay/report/verdict.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "replay/bundle/bundle.h"
#include "replay/formats/file.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

auto record_bundle(const std::string& path, const Capture& capture, const DebugReport& report,
                   const VerdictOptions& options, int exit_code) -> Result<void> {
  Bundle bundle{.capture = capture,
                .verdict_json = verdict_json(verdict_of(report, options, exit_code)),
                .extra = {}};
  ASSAY_TRY(const auto bytes, write_bundle(bundle));
  return write_file_atomically(path, bytes);
}

auto verdict_of(const DebugReport& report, const VerdictOptions& options, int exit_code)
    -> Verdict {
  Verdict verdict{options, exit_code, {}};
  for (const auto& finding : report.findings) {
    if (info(finding.kind).severity == Severity::note) continue;
    verdict.findings.push_back(fmt::format("{} {} {}{}", info(finding.kind).name,
                                           finding.blame == Blame::root ? "root" : "inherited",
                                           finding.node_name, finding.leaf));
  }
  std::ranges::sort(verdict.findings);
  return verdict;
}

auto verdict_json(const Verdict& verdict) -> std::string {
  Json json;
  json["schema"] = "assay.verdict/1";
  json["command"] = "debug";
  json["at"] = verdict.options.at;
  json["sweep"] = verdict.options.sweep;
  json["exit_code"] = verdict.exit_code;
  json["findings"] = verdict.findings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

auto parse_verdict(const std::string& text) -> Result<Verdict> {
  const auto json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return bad_input("verdict.json is not a JSON object");
  if (json.value("schema", Json()) != "assay.verdict/1")
    return unsupported("verdict.json has a schema this version does not know");
  Verdict verdict;
  const auto at = json.find("at");
  const auto sweep = json.find("sweep");
  const auto exit = json.find("exit_code");
  const auto findings = json.find("findings");
  if (at == json.end() || !at->is_string() || sweep == json.end() || !sweep->is_boolean() ||
      exit == json.end() || !exit->is_number_integer() || findings == json.end() ||
      !findings->is_array())
    return bad_input("verdict.json lacks at, sweep, exit_code or findings");
  verdict.options = {at->get<std::string>(), sweep->get<bool>()};
  verdict.exit_code = exit->get<int>();
  for (const auto& entry : *findings) {
    if (!entry.is_string()) return bad_input("verdict.json: findings must be text");
    verdict.findings.push_back(entry.get<std::string>());
  }
  std::ranges::sort(verdict.findings);
  return verdict;
}

}  // namespace assay
