// The report of `assay prove` for people.
#include <algorithm>
#include <array>

#include "core/expr/text.h"
#include "replay/report/guard_line.h"
#include "replay/report/prove_report.h"

namespace assay {
namespace {

constexpr std::size_t kLimit = 10;  ///< rows of one kind that are shown without --all

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

auto judged_part(const ObligationReport& obligations) -> std::string {
  const auto judged = obligations.calls - std::ssize(obligations.unjudged);
  const auto calls = counted(obligations.calls, "call");
  return judged == 0 ? fmt::format("nothing could be proved of {}", calls)
                     : fmt::format("proved for all sizes in the {} of {} that a rule judges",
                                   judged, calls);
}

auto counts_text(const ProveReport& report) -> std::string {
  return (report.guards_asked ? guard_counts(report) : "") +
         (report.obligations ? obligation_counts(*report.obligations) : "") +
         (report.bounds ? bound_counts(*report.bounds) : "");
}

auto claims_text(const ShapeEnv& env, const ProveReport& report, const Paint& paint)
    -> std::string {
  std::string text;
  for (const auto& claim : report.claims)
    if (const auto* proved = std::get_if<Proved>(&claim.answer)) {
      text += fmt::format("  {}\n    proved by {}\n", paint(claim.text, Style::bold),
                          name(proved->tier));
      for (const auto index : proved->needed)
        text += fmt::format("    {:<9}{}\n", "guard", guard_line(env, index));
    }
  return text;
}

}  // namespace

auto prove_text(const Capture& capture, const ProveReport& report, const ProveText& options)
    -> std::string {
  const bool all = options.all;
  const auto findings = findings_of(capture, report);
  const auto roots = root_findings(findings);
  const auto undecided = undecided_of(capture, report);
  const auto unjudged = unjudged_of(capture, report);
  std::string text;
  if (!roots.empty())
    text = options.paint(counted(std::ssize(roots), "finding") + ": ", Style::red) +
           std::string(info(roots.front()->kind).title);
  else if (!undecided.empty())
    text = options.paint(fmt::format("undecided: {}", counted(std::ssize(undecided), "condition")),
                         Style::yellow);
  else if (!unjudged.empty())
    text = options.paint(judged_part(*report.obligations), Style::yellow);
  else
    text = options.paint("proved for all sizes", Style::green);
  text += "\n\n";
  std::size_t shown = 0;
  for (const auto& finding : findings) {
    if (info(finding.kind).severity == Severity::note && !options.notes) continue;
    if (!all && shown++ == kLimit) {
      text += fmt::format("  ... and {} more (--all shows them, --json has them)\n\n",
                          findings.size() - kLimit);
      break;
    }
    text += describe(finding, options.paint) + "\n";
  }
  text += claims_text(capture.graph.env, report, options.paint);
  if (report.guards_asked) text += guards_text(capture.graph.env, report, all);
  for (std::size_t i = 0; i < undecided.size() && (all || i < kLimit); ++i)
    text += options.paint("undecided: ", Style::yellow) + undecided[i] + "\n";
  for (std::size_t i = 0; i < unjudged.size() && (all || i < kLimit); ++i)
    text += options.paint("not judged: ", Style::yellow) + unjudged[i] + "\n";
  return text + counts_text(report);
}

}  // namespace assay
