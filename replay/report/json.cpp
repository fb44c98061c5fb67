// Reports as JSON. Fields are only ever added within a schema version.
#include <cmath>
#include <map>
#include <span>

#include <nlohmann/json.hpp>

#include "compiler/prove/wrapper_findings.h"
#include "core/expr/text.h"
#include "replay/report/debug_report.h"
#include "replay/report/programs.h"
#include "replay/report/prove_report.h"
#include "replay/report/run_report.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

/// A finding with every field that its kind may have; empty ones are left out but for the first.
auto finding_json(const Finding& finding) -> Json {
  Json entry{{"kind", info(finding.kind).name},
             {"severity", info(finding.kind).severity == Severity::note ? "note" : "finding"},
             {"blame", finding.blame == Blame::root ? "root" : "inherited"},
             {"node", finding.node_name},
             {"target", finding.target},
             {"leaf", finding.leaf},
             {"message", finding.message},
             {"claimed", finding.claimed}};
  if (!finding.claimed_value.empty()) entry["claimed_value"] = finding.claimed_value;
  entry["observed"] = finding.observed;
  entry["rule"] = finding.rule;
  entry["witness"] = finding.witness;
  entry["follows"] = finding.dirty_operands;
  if (finding.origin)
    entry["origin"] = {{"file", finding.origin->file},
                       {"line", finding.origin->line},
                       {"function", finding.origin->function},
                       {"code", finding.origin->code},
                       {"module", finding.origin->module}};
  return entry;
}

auto findings_json(std::span<const Finding> findings) -> Json {
  Json list = Json::array();
  for (const auto& finding : findings) list.push_back(finding_json(finding));
  return list;
}

auto dump(const Json& json) -> std::string {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// JSON has no infinities: they are text.
auto number_json(double value) -> Json {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

auto sizes_json(const Binding& sizes) -> Json {
  std::map<std::string, Json> sorted;
  for (const auto& [symbol, value] : sizes) {
    if (const auto number = value.as_int())
      sorted[std::string(symbol.name())] = *number;
    else if (const auto real = value.as_number())
      sorted[std::string(symbol.name())] = number_json(*real);
  }
  return Json(sorted);
}

auto answer_json(const Answer& answer) -> Json {
  if (const auto* proved = std::get_if<Proved>(&answer))
    return {{"verdict", "proved"}, {"tier", name(proved->tier)}, {"guards", proved->needed}};
  if (const auto* refuted = std::get_if<Refuted>(&answer))
    return {{"verdict", "refuted"},
            {"tier", name(refuted->tier)},
            {"witness", sizes_json(refuted->witness)}};
  const auto& unknown = std::get<Unknown>(answer);
  return {{"verdict", "unknown"}, {"tier", name(unknown.tier)}, {"reason", unknown.reason}};
}

auto guards_json(const ShapeEnv& env, const GuardReport& report) -> Json {
  Json guards = Json::array();
  for (std::size_t i = 0; i < report.guards.size(); ++i) {
    const auto& decision = report.guards[i];
    Json entry{{"condition", print_expr(env.guards()[i].condition)},
               {"where", env.guards()[i].where},
               {"verdict", name(decision.verdict)},
               {"tier", name(decision.tier)},
               {"by", decision.by}};
    if (!decision.reason.empty()) entry["reason"] = decision.reason;
    guards.push_back(std::move(entry));
  }
  return guards;
}

auto symbols_json(const GuardReport& report) -> Json {
  Json symbols = Json::array();
  for (const auto& facts : report.symbols)
    symbols.push_back({{"name", facts.symbol.name()},
                       {"low", print_expr(facts.range.low)},
                       {"high", print_expr(facts.range.high)},
                       {"modulus", facts.residue.modulus},
                       {"remainder", facts.residue.remainder},
                       {"low_by", facts.low_by},
                       {"high_by", facts.high_by},
                       {"residue_by", facts.residue_by}});
  return symbols;
}

auto obligations_json(const ObligationReport& report) -> Json {
  Json missing = Json::array();
  for (const auto& m : report.missing)
    missing.push_back({{"condition", print_expr(m.obligation.condition)},
                       {"why", m.obligation.why},
                       {"node", m.obligation.node},
                       {"witness", sizes_json(m.witness)},
                       {"consequence", m.consequence},
                       {"run", m.run}});
  return {{"total", report.total},         {"from_ranges", report.from_ranges},
          {"implied", report.implied},     {"harmless", report.harmless},
          {"assumed", report.assumed},     {"undecided", report.undecided.size()},
          {"relied_on", report.relied_on}, {"missing", std::move(missing)}};
}

auto bounds_json(const Graph& graph, const BoundsReport& report) -> Json {
  Json checks = Json::array();
  for (const auto& check : report.checks) {
    const auto* node = graph.find(check.node);
    auto entry = answer_json(check.answer);
    entry["node"] = node ? node->name : "";
    entry["leaf"] = check.leaf;
    entry["kind"] = name(check.kind);
    entry["condition"] = print_expr(check.condition);
    if (check.kind == BoundKind::extent) {
      entry["needed_bytes"] = print_expr(check.needed_bytes);
      entry["storage_bytes"] = print_expr(check.storage_bytes);
    }
    checks.push_back(std::move(entry));
  }
  Json taken = Json::array();
  for (const auto& [id, size] : report.taken_to_fit)
    if (const auto* node = graph.find(id))
      taken.push_back({{"node", node->name}, {"size", print_expr(size)}});
  return {{"without_rule", report.without_rule},
          {"taken_to_fit_int64", std::move(taken)},
          {"checks", std::move(checks)}};
}

auto json_of(const ProvedProgram& program, const WrapperObligation& o) -> Json {
  Json json = {{"kind", name(o.kind)}, {"line", o.line}, {"statement", o.statement}};
  if (program.log_line != 0) json["log_line"] = program.log_line + o.line;
  if (!o.kernel.empty()) json["kernel"] = o.kernel;
  if (!o.access.empty()) {
    json["access"] = o.access;
    json["kernel_line"] = o.kernel_line;
  }
  json["claim"] = o.claim;
  if (const auto* refuted = std::get_if<Refuted>(&o.answer)) {
    json["verdict"] = "refuted";
    json["tier"] = name(refuted->tier);
    json["message"] = o.message;
    json["witness"] = witness_text(*refuted);
  } else if (const auto* unknown = std::get_if<Unknown>(&o.answer)) {
    json["verdict"] = "unknown";
    json["tier"] = name(unknown->tier);
    json["reason"] = unknown->reason;
  } else {
    json["verdict"] = "proved";
    json["tier"] = name(std::get<Proved>(o.answer).tier);
  }
  return json;
}

auto value_json(const ObservedValue& value) -> Json {
  if (value.is_tuple) {
    Json list = Json::array();
    for (const auto& item : value.items) list.push_back(value_json(item));
    return list;
  }
  if (value.scalar) return Json{{"scalar", print_expr(*value.scalar)}};
  if (!value.tensor) return nullptr;
  const auto& meta = value.tensor->meta;
  return Json{{"dtype", name(meta.dtype)},
              {"size", meta.sizes},
              {"stride", meta.strides},
              {"offset", meta.offset},
              {"sum", number_json(value.tensor->sum)},
              {"abs", number_json(value.tensor->abs_sum)},
              {"storage", value.tensor->storage}};
}

}  // namespace

auto debug_json(const Capture& capture, const DebugReport& report) -> std::string {
  Json json;
  json["schema"] = "assay.debug/1";
  json["source"] = capture.source_path;
  json["format"] = capture.format;
  const auto& counts = report.counts;
  json["verdict"] = name(state_of(report));
  json["counts"] = {{"nodes", counts.nodes},         {"checked", counts.checked},
                    {"recorded", counts.recorded},   {"undecided", counts.undecided},
                    {"unchecked", counts.unchecked}, {"skipped", counts.skipped},
                    {"failed", counts.failed},       {"random", counts.random},
                    {"roots", counts.roots},         {"inherited", counts.inherited},
                    {"notes", counts.notes},         {"sweep_points", counts.sweep_points}};
  json["findings"] = findings_json(report.findings);
  json["binding"] = Json::object();
  for (const auto& [symbol, value] : report.binding.values)
    if (const auto number = value.as_int()) json["binding"][std::string(symbol.name())] = *number;
  json["unbound"] = report.binding.unbound;
  json["not_checked"] = report.unchecked_targets;
  json["undecided"] = Json::array();
  for (const auto& open : report.undecided)
    json["undecided"].push_back({{"node", open.node_name},
                                 {"target", open.target},
                                 {"message", open.message},
                                 {"rests_on", open.inputs}});
  json["warnings"] = report.warnings;
  return dump(json);
}

auto prove_json(const Capture& capture, const ProveReport& report) -> std::string {
  const auto& env = capture.graph.env;
  const auto undecided = undecided_of(capture, report);
  const auto findings = findings_of(capture, report);
  Json json;
  json["schema"] = "assay.prove/1";
  json["source"] = capture.source_path;
  const bool found = !root_findings(findings).empty();
  const auto unjudged = unjudged_of(capture, report);
  const bool is_proved = undecided.empty() && unjudged.empty();
  json["verdict"] = found ? "findings" : (is_proved ? "proved" : "undecided");
  json["findings"] = findings_json(findings);
  json["undecided"] = undecided;
  json["not_judged"] = unjudged;
  if (report.guards_asked) {
    json["symbols"] = symbols_json(report.guards);
    json["guards"] = guards_json(env, report.guards);
    json["minimal"] = report.guards.minimal;
  }
  if (report.obligations) json["obligations"] = obligations_json(*report.obligations);
  if (report.bounds) json["bounds"] = bounds_json(capture.graph, *report.bounds);
  json["claims"] = Json::array();
  for (const auto& claim : report.claims) {
    auto entry = answer_json(claim.answer);
    entry["claim"] = claim.text;
    json["claims"].push_back(std::move(entry));
  }
  return dump(json);
}

auto programs_json(const std::vector<ProvedProgram>& programs, const std::string& file)
    -> std::string {
  const auto counts = count_obligations(programs);
  Json json = {{"schema", "assay.prove_trace/1"},
               {"file", file},
               {"counts",
                {{"proved", counts.proved},
                 {"refuted", counts.refuted},
                 {"unknown", counts.unknown},
                 {"proved_by_tier", counts.tiers}}},
               {"findings", Json::array()},
               {"programs", Json::array()}};
  for (const auto& program : programs) {
    const auto& report = program.report;
    for (const auto& finding : wrapper_findings(report))
      json["findings"].push_back({{"kind", info(finding.kind).name},
                                  {"program", program.name},
                                  {"target", finding.target},
                                  {"claimed", finding.claimed},
                                  {"message", finding.message},
                                  {"witness", finding.witness}});
    Json entry = {{"name", program.name},
                  {"statements", report.statements},
                  {"launches", report.launches},
                  {"assumptions", report.assumptions},
                  {"obligations", Json::array()},
                  {"statements_not_understood", Json::array()},
                  {"kernels_not_understood", Json::array()}};
    for (const auto& obligation : report.obligations)
      entry["obligations"].push_back(json_of(program, obligation));
    for (const auto& line : report.lines_not_understood)
      entry["statements_not_understood"].push_back(
          {{"line", line.line}, {"text", line.text}, {"reason", line.reason}});
    for (const auto& line : report.kernels_not_understood)
      entry["kernels_not_understood"].push_back(
          {{"line", line.line}, {"kernel", line.text}, {"reason", line.reason}});
    json["programs"].push_back(std::move(entry));
  }
  return dump(json);
}

auto run_json(const Capture& capture, const GraphRun& run, bool all,
              const std::string& chosen_sizes, const std::vector<std::string>& stood_in)
    -> std::string {
  Json values = Json::object();
  for (std::size_t i = 0; i < run.nodes.size(); ++i)
    if (const auto& node = capture.graph.nodes[i]; all || node.kind == NodeKind::output)
      values[node.name] = value_json(run.nodes[i].value);
  return dump({{"schema", "assay.run/1"},
               {"values", std::move(values)},
               {"chosen_sizes", chosen_sizes},
               {"stood_in", stood_in}});
}

}  // namespace assay
