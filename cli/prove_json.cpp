// The report of `assay prove` as JSON, schema assay.prove/1.
#include <nlohmann/json.hpp>

#include "cli/prove_report.h"
#include "core/expr/text.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

auto sizes_json(const Binding& sizes) -> Json {
  std::map<std::string, Json> sorted;
  for (const auto& [symbol, value] : sizes) {
    if (const auto number = value.as_int())
      sorted[std::string(symbol.name())] = *number;
    else if (const auto real = value.as_number())
      sorted[std::string(symbol.name())] = *real;
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

auto findings_json(const Capture& capture, const ProveReport& report) -> Json {
  Json findings = Json::array();
  for (const auto& finding : findings_of(capture, report))
    findings.push_back(
        {{"kind", info(finding.kind).name},
         {"severity", info(finding.kind).severity == Severity::note ? "note" : "finding"},
         {"node", finding.node_name},
         {"target", finding.target},
         {"leaf", finding.leaf},
         {"message", finding.message},
         {"claimed", finding.claimed},
         {"observed", finding.observed},
         {"rule", finding.rule},
         {"witness", finding.witness}});
  return findings;
}

}  // namespace

auto prove_json(const Capture& capture, const ProveReport& report) -> std::string {
  const auto& env = capture.graph.env;
  const auto undecided = undecided_of(capture, report);
  Json json;
  json["schema"] = "assay.prove/1";
  json["source"] = capture.source_path;
  const bool found = !root_findings(findings_of(capture, report)).empty();
  json["verdict"] = found ? "findings" : (undecided.empty() ? "proved" : "undecided");
  json["findings"] = findings_json(capture, report);
  json["undecided"] = undecided;
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
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::cli
