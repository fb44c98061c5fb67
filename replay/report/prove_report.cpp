#include "replay/report/prove_report.h"

#include <algorithm>
#include <map>

#include "core/expr/text.h"
#include "replay/interp/binding.h"
#include "replay/report/guard_line.h"

namespace assay {
namespace {

auto sizes_text(const Binding& sizes, const std::vector<Expr>& conditions) -> std::string {
  std::vector<Expr> symbols;
  for (const Expr& e : conditions)
    for (const Expr& symbol : e.symbols())
      if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
  if (symbols.empty()) return {};
  return to_string(sizes, symbols);
}

auto guard_lines(const ShapeEnv& env, const std::vector<std::size_t>& indices) -> std::string {
  std::string text;
  for (const auto index : indices) text += (text.empty() ? "" : "; ") + guard_line(env, index);
  return text;
}

auto blank_for(const Graph& graph, NodeId id) -> Finding {
  Finding finding;
  if (const auto* node = graph.find(id)) {
    finding.node = id;
    finding.node_name = node->name;
    finding.target = node->target;
    finding.origin = node->origin;
  }
  return finding;
}

auto missing_finding(const Graph& graph, const MissingGuard& missing) -> Finding {
  auto finding = blank_for(graph, NodeId{missing.obligation.node});
  finding.kind = FindingKind::missing_guard;
  finding.claimed = print_expr(missing.obligation.condition);
  finding.observed = missing.consequence;
  finding.rule = missing.run;
  finding.message =
      fmt::format("no guard says what the rule relies on ({})", missing.obligation.why);
  finding.witness = sizes_text(missing.witness, {missing.obligation.condition});
  return finding;
}

auto bytes_at(const Expr& bytes, const Binding& sizes) -> std::string {
  const auto value = evaluate(bytes, sizes);
  return value ? print_expr(*value) : "?";
}

auto bound_finding(const Graph& graph, const BoundCheck& check, const Refuted& refuted) -> Finding {
  auto finding = blank_for(graph, check.node);
  finding.leaf = check.leaf;
  finding.claimed = check.layout;
  finding.witness =
      sizes_text(refuted.witness, {check.condition, check.needed_bytes, check.storage_bytes});
  const auto* owner = graph.find(check.owner);
  const auto whose = owner ? owner->name : "?";
  if (check.kind == BoundKind::overlap) {
    finding.kind = FindingKind::internal_overlap;
    finding.message =
        fmt::format("{} is written, but several of its indices name one element", whose);
    return finding;
  }
  finding.kind = FindingKind::out_of_bounds;
  if (check.kind == BoundKind::offset) {
    finding.message = fmt::format("the layout starts before the storage of {}", whose);
    return finding;
  }
  const auto at = [&](const Binding& sizes) {
    return fmt::format("{} bytes needed, the storage of {} has {}",
                       bytes_at(check.needed_bytes, sizes), whose,
                       bytes_at(check.storage_bytes, sizes));
  };
  finding.message = at(refuted.witness);
  const auto recorded = completed(graph.env, {});
  const auto holds = evaluate(check.condition, recorded);
  if (holds && holds->as_bool() == false && recorded != refuted.witness)
    finding.observed = fmt::format("at the recorded sizes, {}: {}",
                                   sizes_text(recorded, {check.condition}), at(recorded));
  finding.rule = fmt::format("needs {} bytes of {}", print_expr(check.needed_bytes),
                             print_expr(check.storage_bytes));
  return finding;
}

void add_guard_findings(const ShapeEnv& env, const ProveReport& report,
                        std::vector<Finding>& findings) {
  if (!report.guards.contradiction.empty()) {
    Finding finding;
    finding.kind = FindingKind::contradicting_guards;
    finding.message = "no sizes pass all guards";
    finding.claimed = guard_lines(env, report.guards.contradiction);
    findings.push_back(std::move(finding));
  }
  for (const auto& special : report.guards.specialisations) {
    Finding finding;
    finding.kind = FindingKind::over_specialised;
    finding.leaf = special.symbol.name();
    finding.message =
        fmt::format("{} can only be {}", special.symbol.name(), fmt::join(special.values, " or "));
    finding.claimed = guard_lines(env, special.guards);
    findings.push_back(std::move(finding));
  }
}

auto contradicted_finding(const Graph& graph, const ContradictedClaim& claim) -> Finding {
  auto finding = blank_for(graph, claim.node);
  finding.kind = claim.kind;
  finding.leaf = claim.leaf;
  finding.claimed = claim.claimed;
  finding.rule = claim.ruled;
  const auto word = std::string(info(claim.kind).name);
  finding.message = fmt::format("claimed {} {}, the rule gives {}", word.substr(word.find('-') + 1),
                                claim.claimed_part, claim.ruled_part);
  return finding;
}

auto stronger_note(const ShapeEnv& env, const StrongerGuard& stronger) -> Finding {
  Finding finding;
  finding.kind = FindingKind::strong_guard;
  finding.claimed = guard_line(env, stronger.guard);
  std::string enough;
  for (const Expr& e : stronger.replacement) enough += (enough.empty() ? "" : "; ") + print_expr(e);
  finding.rule =
      enough.empty() ? "nothing in the graph relies on it" : "enough would be: " + enough;
  finding.witness = sizes_text(stronger.excluded, {env.guards()[stronger.guard].condition});
  finding.message = "the graph works at sizes that only this guard excludes";
  return finding;
}

}  // namespace

auto guard_line(const ShapeEnv& env, std::size_t index) -> std::string {
  const Guard& guard = env.guards()[index];
  const auto text = guard.text.empty() ? print_expr(guard.condition) : guard.text;
  return guard.where.empty() ? text : fmt::format("{}   @ {}", text, guard.where);
}

auto findings_of(const Capture& capture, const ProveReport& report) -> std::vector<Finding> {
  const auto& graph = capture.graph;
  std::vector<Finding> findings;
  for (const auto& claim : report.claims)
    if (const auto* refuted = std::get_if<Refuted>(&claim.answer)) {
      Finding finding;
      finding.kind = FindingKind::claim_refuted;
      finding.leaf = claim.text;
      finding.message = "does not follow from guards and ranges";
      finding.witness = sizes_text(completed(graph.env, refuted->witness), {claim.condition});
      findings.push_back(std::move(finding));
    }
  add_guard_findings(graph.env, report, findings);
  if (report.obligations)
    for (const auto& claim : report.obligations->contradicted)
      findings.push_back(contradicted_finding(graph, claim));
  if (report.obligations && capture.guards_recorded)
    for (const auto& missing : report.obligations->missing)
      findings.push_back(missing_finding(graph, missing));
  if (report.bounds)
    for (const auto& check : report.bounds->checks)
      if (const auto* refuted = std::get_if<Refuted>(&check.answer))
        findings.push_back(bound_finding(graph, check, *refuted));
  for (const auto& stronger : report.stronger)
    findings.push_back(stronger_note(graph.env, stronger));
  return findings;
}

auto undecided_of(const Capture& capture, const ProveReport& report) -> std::vector<std::string> {
  const auto& graph = capture.graph;
  std::vector<std::string> lines;
  const auto add = [&](std::string_view what, const std::string& text, Tier tier,
                       const std::string& reason) {
    lines.push_back(fmt::format("{} {}: {} ({})", what, text, reason, name(tier)));
  };
  for (std::size_t i = 0; i < report.guards.guards.size(); ++i)
    if (const auto& d = report.guards.guards[i]; d.verdict == GuardVerdict::undecided)
      add("guard", guard_line(graph.env, i), d.tier, d.reason);
  if (report.obligations)
    for (const auto& u : report.obligations->undecided)
      add("obligation",
          fmt::format("{} ({})", print_expr(u.obligation.condition), u.obligation.why), u.tier,
          u.reason);
  if (report.obligations && !capture.guards_recorded)
    for (const auto& missing : report.obligations->missing)
      lines.push_back(
          fmt::format("obligation {} of {}: the input holds no guards that could say it",
                      print_expr(missing.obligation.condition),
                      blank_for(graph, NodeId{missing.obligation.node}).node_name));
  if (report.bounds)
    for (const auto& check : report.bounds->checks)
      if (const auto* unknown = std::get_if<Unknown>(&check.answer)) {
        const auto* node = graph.find(check.node);
        add(name(check.kind),
            fmt::format("of {}{} {}", node ? node->name : "?", check.leaf, check.layout),
            unknown->tier, unknown->reason);
      }
  for (const auto& claim : report.claims)
    if (const auto* unknown = std::get_if<Unknown>(&claim.answer))
      add("claim", claim.text, unknown->tier, unknown->reason);
  return lines;
}

auto unjudged_of(const Capture& capture, const ProveReport& report) -> std::vector<std::string> {
  if (!report.obligations) return {};
  std::map<std::string, int> times;
  std::vector<std::string> order;
  for (const auto& [id, reason] : report.obligations->unjudged) {
    const auto* node = capture.graph.find(id);
    const auto& who = node->kind == NodeKind::call_function ? node->target : node->name;
    auto line = fmt::format("{}: {}", who, reason);
    if (++times[line] == 1) order.push_back(std::move(line));
  }
  for (auto& line : order)
    if (const int count = times[line]; count > 1) line += fmt::format(" ({} nodes)", count);
  return order;
}

auto state_of(const Capture& capture, const ProveReport& report) -> ReportState {
  if (!root_findings(findings_of(capture, report)).empty()) return ReportState::findings;
  const bool is_whole =
      undecided_of(capture, report).empty() && unjudged_of(capture, report).empty();
  return is_whole ? ReportState::clean : ReportState::undecided;
}

}  // namespace assay
