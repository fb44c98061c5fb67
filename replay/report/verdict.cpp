#include "replay/report/verdict.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "replay/bundle/bundle.h"
#include "replay/formats/file.h"
#include "replay/report/stages_report.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

/// Options that only checked runs have, by their name in the file.
template <class Options>
auto of_run(Options& options) {
  return std::array{std::pair(std::string_view("blocks"), &options.blocks),
                    std::pair(std::string_view("seed"), &options.seed)};
}

auto lines_of(const std::vector<Finding>& findings) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const auto& finding : findings) {
    if (info(finding.kind).severity == Severity::note) continue;
    lines.push_back(fmt::format("{} {} {}{}", info(finding.kind).name,
                                finding.blame == Blame::root ? "root" : "inherited",
                                finding.node_name, finding.leaf));
  }
  std::ranges::sort(lines);
  return lines;
}

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
  return {options, exit_code, lines_of(report.findings)};
}

auto verdict_of(const StageReport& report, const VerdictOptions& options, int exit_code)
    -> Verdict {
  return {options, exit_code, lines_of(findings_of(report))};
}

auto verdict_of(const LogExecution& execution, const VerdictOptions& options, int exit_code)
    -> Verdict {
  Verdict verdict{options, exit_code, {}};
  for (const auto& program : execution.programs) {
    // A wrapper is called what its file is called, which may change.
    const auto where = program.log_line == 0 ? "" : program.name + " ";
    if (program.error) verdict.findings.push_back(fmt::format("not-run {}", where));
    for (const auto& finding : program.run.findings) {
      const auto kernel =
          finding.kernel.empty() ? "" : fmt::format("{}:{} ", finding.kernel, finding.kernel_line);
      verdict.findings.push_back(fmt::format("{} {}line {} {}{}", name(finding.fault), where,
                                             finding.line, kernel, finding.buffer));
    }
  }
  for (const auto& one : execution.compared)
    if (!one.message.empty()) verdict.findings.push_back(fmt::format("differs {}", one.what));
  std::ranges::sort(verdict.findings);
  return verdict;
}

auto verdict_json(const Verdict& verdict) -> std::string {
  Json json;
  json["schema"] = "assay.verdict/1";
  json["command"] = verdict.options.command;
  json["at"] = verdict.options.at;
  json["sweep"] = verdict.options.sweep;
  for (const auto& [name, value] : of_run(verdict.options))
    if (!value->empty()) json[std::string(name)] = *value;
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
  verdict.options.at = at->get<std::string>();
  verdict.options.sweep = sweep->get<bool>();
  for (const auto& [name, value] : of_run(verdict.options))
    if (const auto given = json.find(name); given != json.end() && given->is_string())
      *value = given->get<std::string>();
  if (const auto command = json.find("command"); command != json.end() && command->is_string())
    verdict.options.command = command->get<std::string>();
  if (verdict.options.command != "debug" && verdict.options.command != "run")
    return unsupported("verdict.json: the verdict of `{}`", verdict.options.command);
  verdict.exit_code = exit->get<int>();
  for (const auto& entry : *findings) {
    if (!entry.is_string()) return bad_input("verdict.json: findings must be text");
    verdict.findings.push_back(entry.get<std::string>());
  }
  std::ranges::sort(verdict.findings);
  return verdict;
}

}  // namespace assay
