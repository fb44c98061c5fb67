#include "replay/report/debug_report.h"

#include <algorithm>
#include <span>

namespace assay {
namespace {

auto verdict(const DebugReport& report, const Paint& paint) -> std::string {
  if (report.counts.roots > 0) {
    const auto roots = root_findings(report.findings);
    const auto& first = *roots.front();
    return paint(fmt::format("{}: ", counted(report.counts.roots, "root finding")), Style::red) +
           fmt::format("{}: {}", first.node_name.empty() ? "the capture" : first.node_name,
                       info(first.kind).title);
  }
  if (report.counts.inherited > 0) return paint("findings without a root", Style::red);
  const auto& counts = report.counts;
  if (counts.blind() == 0) return paint("nothing found", Style::green);
  const auto seen = counts.checked + counts.recorded;
  if (seen == 0)
    return paint(fmt::format("nothing could be checked of {}", counted(counts.nodes, "node")),
                 Style::yellow);
  return paint(fmt::format("nothing found in the {} of {} that could be checked", seen,
                           counted(counts.nodes, "node")),
               Style::yellow);
}

/// What stayed open: operators first, then what rests on made-up data.
auto open_questions(const DebugReport& report, const DebugText& options) -> std::string {
  std::string text;
  std::size_t lines = 0;
  const auto row = [&](std::string_view what, const std::string& line) {
    if (lines++ < options.limit)
      text += fmt::format("{}{}\n", options.paint(fmt::format("{}: ", what), Style::yellow), line);
  };
  for (const auto& target : report.unchecked_targets) row("not checked", target);
  for (const auto& open : report.undecided) {
    auto line = fmt::format("{}: {}", open.node_name, open.message);
    if (!open.inputs.empty())
      line += fmt::format(
          "; rests on {}, which the capture does not hold",
          fmt::join(std::span(open.inputs).first(std::min<std::size_t>(open.inputs.size(), 3)),
                    ", "));
    row("undecided", line);
  }
  if (lines > options.limit)
    text += fmt::format("  ... and {} more (--all shows them)\n", lines - options.limit);
  return text;
}

auto counts_line(const DebugReport& report) -> std::string {
  const auto& counts = report.counts;
  auto text = fmt::format("{} checked of {}", counts.checked + counts.recorded,
                          counted(counts.nodes, "node"));
  const auto add = [&](int count, std::string_view what) {
    if (count > 0) text += fmt::format(", {} {}", count, what);
  };
  add(counts.recorded, "of these against the recording alone");
  add(counts.unchecked, "not checked");
  add(counts.skipped, "skipped behind those");
  add(counts.undecided, "undecided");
  add(counts.failed, "failed");
  add(counts.inherited, "inherited findings");
  add(counts.notes, counts.notes == 1 ? "note" : "notes");
  add(counts.sweep_points, "sweep points");
  return text;
}

template <class Filter>
auto list_some(const DebugReport& report, const DebugText& options, Filter&& wanted)
    -> std::string {
  std::string text;
  std::size_t shown = 0;
  std::size_t hidden = 0;
  for (const auto& finding : report.findings) {
    if (!wanted(finding)) continue;
    if (shown < options.limit) {
      text += describe(finding, options.paint) + "\n";
      ++shown;
    } else {
      ++hidden;
    }
  }
  if (hidden > 0)
    text += fmt::format("  ... and {} more (--all shows them, --json has them)\n", hidden);
  return text;
}

auto is_root(const Finding& finding) -> bool {
  return finding.blame == Blame::root && info(finding.kind).severity == Severity::finding;
}
auto is_note(const Finding& finding) -> bool {
  return info(finding.kind).severity == Severity::note;
}

}  // namespace

auto state_of(const DebugReport& report) -> ReportState {
  if (report.counts.roots + report.counts.inherited > 0) return ReportState::findings;
  return report.counts.blind() > 0 ? ReportState::undecided : ReportState::clean;
}

auto debug_text(const Capture& capture, const DebugReport& report, const DebugText& options)
    -> std::string {
  auto text = fmt::format("{}\n", verdict(report, options.paint));
  if (report.counts.roots == 0) text += open_questions(report, options);
  text += "\n";
  text += list_some(report, options, is_root);
  if (report.counts.roots == 0)
    text += list_some(report, options, [](const Finding& f) { return !is_root(f) && !is_note(f); });
  if (options.notes) text += list_some(report, options, is_note);
  text += counts_line(report) + "\n";
  const auto binding = to_string(report.binding.values, [&] {
    std::vector<Expr> integers;  // float symbols of modules would drown the sizes
    for (const auto& symbol : capture.graph.env.symbols())
      if (symbol.kind == SymbolKind::backed || symbol.kind == SymbolKind::unbacked)
        integers.push_back(symbol.expr);
    return integers;
  }());
  if (!capture.graph.env.symbols().empty() && !binding.empty()) text += "sizes: " + binding + "\n";
  if (report.counts.roots > 0) text += open_questions(report, options);
  for (const auto& warning : report.warnings)
    text += options.paint("warning: ", Style::yellow) + warning + "\n";
  return text;
}

}  // namespace assay
