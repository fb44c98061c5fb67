#include "cli/prove_report.h"

#include <algorithm>

#include "cli/command.h"
#include "core/expr/text.h"
#include "replay/interp/binding.h"

namespace assay::cli {
namespace {

constexpr std::size_t kLimit = 10;  ///< rows of one kind that are shown without --all

auto sizes_text(const Binding& sizes, const std::vector<Expr>& conditions) -> std::string {
  std::vector<Expr> symbols;
  for (const Expr& e : conditions)
    for (const Expr& symbol : e.symbols())
      if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
  if (symbols.empty()) return {};
  return to_string(sizes, symbols);
}

auto guard_line(const ShapeEnv& env, std::size_t index) -> std::string {
  const Guard& guard = env.guards()[index];
  const auto text = guard.text.empty() ? print_expr(guard.condition) : guard.text;
  return guard.where.empty() ? text : fmt::format("{}   @ {}", text, guard.where);
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

auto place(const Finding& finding) -> std::string {
  if (!finding.origin || finding.origin->file.empty()) return {};
  return fmt::format("{}:{}", finding.origin->file, finding.origin->line);
}

auto describe(const Finding& finding) -> std::string {
  auto head = finding.node_name.empty() ? finding.leaf : finding.node_name + finding.leaf;
  if (head.empty()) head = "the guards";
  if (!finding.target.empty() && finding.target != finding.node_name)
    head += " = " + finding.target;
  auto text = fmt::format(
      "  {}\n    {}\n", styled(fmt::format("{}  [{}]", head, info(finding.kind).name), Style::bold),
      finding.message);
  const bool guards = finding.kind == FindingKind::over_specialised ||
                      finding.kind == FindingKind::contradicting_guards ||
                      finding.kind == FindingKind::strong_guard;
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("    {:<9}{}\n", name, value);
  };
  row("sizes", finding.witness);
  row(guards ? "guards" : (finding.kind == FindingKind::missing_guard ? "needs" : "claimed"),
      finding.claimed);
  row("then", finding.observed);
  row(finding.kind == FindingKind::missing_guard ? "and" : "rule", finding.rule);
  row("source", place(finding));
  if (finding.origin) row("code", finding.origin->code);
  return text;
}

auto symbol_row(const ShapeEnv& env, const SymbolFacts& facts) -> std::string {
  const auto* symbol = env.find(facts.symbol);
  auto text = fmt::format("  {:<6} in [{}, {}]", facts.symbol.name(), print_expr(facts.range.low),
                          print_expr(facts.range.high));
  if (facts.residue.modulus > 1)
    text += fmt::format(", {} mod {}", facts.residue.remainder, facts.residue.modulus);
  if (symbol && symbol->hint) text += fmt::format(", hint {}", print_expr(*symbol->hint));
  if (symbol && !symbol->sources.empty()) text += ", " + symbol->sources.front();
  text += "\n";
  auto by = facts.low_by;
  for (const auto* more : {&facts.high_by, &facts.residue_by})
    for (const auto index : *more)
      if (std::ranges::find(by, index) == by.end()) by.push_back(index);
  for (const auto index : by) text += fmt::format("         by {}\n", guard_line(env, index));
  return text;
}

auto is_size(const Expr& symbol) -> bool {
  return symbol.type() == ExprType::integer;
}

auto guards_text(const ShapeEnv& env, const ProveReport& report, bool all) -> std::string {
  std::string text;
  int unbounded = 0;
  for (const auto& facts : report.guards.symbols) {
    if (!is_size(facts.symbol)) continue;
    const bool bounded = facts.range != Interval{} || facts.residue.modulus > 1;
    if (bounded || all)
      text += symbol_row(env, facts);
    else
      ++unbounded;
  }
  if (unbounded > 0) text += fmt::format("  {} that may be any integer\n", unbounded);
  if (!text.empty()) text = "symbols\n" + text;
  if (report.guards.guards.empty()) return text;
  text += "guards that say everything\n";
  std::size_t shown = 0;
  for (const auto index : report.guards.minimal) {
    if (!all && shown++ == kLimit) {
      text += fmt::format("  ... and {} more\n", report.guards.minimal.size() - kLimit);
      break;
    }
    text += fmt::format("  {}\n", guard_line(env, index));
  }
  if (report.guards.minimal.empty()) text += "  none: ranges and replacements do\n";
  for (std::size_t i = 0; all && i < report.guards.guards.size(); ++i) {
    const auto& decision = report.guards.guards[i];
    text += fmt::format("  {:<13} {}\n", name(decision.verdict), guard_line(env, i));
    for (const auto by : decision.by) text += fmt::format("{:>16}by {}\n", "", guard_line(env, by));
  }
  return text;
}

auto guard_counts(const ProveReport& report) -> std::string {
  std::array<int, 6> counts{};
  for (const auto& decision : report.guards.guards)
    ++counts[static_cast<std::size_t>(decision.verdict)];
  auto text = counted(std::ssize(report.guards.guards), "guard") + ":";
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      text += fmt::format(" {} {},", counts[i], name(static_cast<GuardVerdict>(i)));
  text.back() = '\n';
  if (!report.stronger.empty())
    text += fmt::format("{} than the graph needs (--notes)\n",
                        counted(std::ssize(report.stronger), "guard says more", "guards say more"));
  return text;
}

auto obligation_counts(const ObligationReport& o) -> std::string {
  auto text = fmt::format("{}: {} by ranges, {} by guards", counted(o.total, "obligation"),
                          o.from_ranges, o.implied);
  if (o.harmless > 0) text += fmt::format(", {} without effect on the result", o.harmless);
  if (!o.missing.empty()) text += fmt::format(", {} missing", o.missing.size());
  if (!o.undecided.empty()) text += fmt::format(", {} undecided", o.undecided.size());
  if (o.assumed > 0) text += fmt::format("; {} about data-dependent sizes", o.assumed);
  return text + "\n";
}

auto bound_counts(const BoundsReport& bounds) -> std::string {
  int proved = 0, refuted = 0;
  for (const auto& check : bounds.checks) {
    proved += std::holds_alternative<Proved>(check.answer) ? 1 : 0;
    refuted += std::holds_alternative<Refuted>(check.answer) ? 1 : 0;
  }
  const auto all = std::ssize(bounds.checks);
  auto text = fmt::format("{}: {} proved, {} refuted, {} undecided", counted(all, "bound"), proved,
                          refuted, all - proved - refuted);
  if (bounds.without_rule > 0)
    text += fmt::format("; {} of unknown storage", counted(bounds.without_rule, "tensor"));
  if (const auto taken = std::ssize(bounds.taken_to_fit); taken > 0)
    text += fmt::format("; {} taken to fit 64 bits", counted(taken, "calculated size"));
  return text + "\n";
}

auto counts_text(const ProveReport& report) -> std::string {
  return (report.guards_asked ? guard_counts(report) : "") +
         (report.obligations ? obligation_counts(*report.obligations) : "") +
         (report.bounds ? bound_counts(*report.bounds) : "");
}

auto claims_text(const ShapeEnv& env, const ProveReport& report) -> std::string {
  std::string text;
  for (const auto& claim : report.claims)
    if (const auto* proved = std::get_if<Proved>(&claim.answer)) {
      text += fmt::format("  {}\n    proved by {}\n", styled(claim.text, Style::bold),
                          name(proved->tier));
      for (const auto index : proved->needed)
        text += fmt::format("    {:<9}{}\n", "guard", guard_line(env, index));
    }
  return text;
}

}  // namespace

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

auto print_prove(const Capture& capture, const ProveReport& report, const ProveText& options)
    -> std::string {
  const bool all = options.all;
  const auto findings = findings_of(capture, report);
  const auto roots = root_findings(findings);
  const auto undecided = undecided_of(capture, report);
  std::string text;
  if (!roots.empty())
    text = styled(counted(std::ssize(roots), "finding") + ": ", Style::red) +
           std::string(info(roots.front()->kind).title);
  else if (!undecided.empty())
    text = styled(fmt::format("undecided: {}", counted(std::ssize(undecided), "condition")),
                  Style::yellow);
  else
    text = styled("proved for all sizes", Style::green);
  text += "\n\n";
  std::size_t shown = 0;
  for (const auto& finding : findings) {
    if (info(finding.kind).severity == Severity::note && !options.notes) continue;
    if (!all && shown++ == kLimit) {
      text += fmt::format("  ... and {} more (--all shows them, --json has them)\n\n",
                          findings.size() - kLimit);
      break;
    }
    text += describe(finding) + "\n";
  }
  text += claims_text(capture.graph.env, report);
  if (report.guards_asked) text += guards_text(capture.graph.env, report, all);
  for (std::size_t i = 0; i < undecided.size() && (all || i < kLimit); ++i)
    text += styled("undecided: ", Style::yellow) + undecided[i] + "\n";
  return text + counts_text(report);
}

}  // namespace assay::cli
