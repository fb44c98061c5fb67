#include "cli/findings.h"

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

auto place(const Finding& finding) -> std::string {
  if (!finding.origin || finding.origin->file.empty()) return {};
  const auto& origin = *finding.origin;
  auto text = origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file;
  if (!origin.function.empty()) text += " in " + origin.function;
  return text;
}

auto headline(const Finding& finding) -> std::string {
  const auto where =
      finding.node_name.empty() ? std::string("the capture") : finding.node_name + finding.leaf;
  const auto what = finding.target.empty() || finding.target == finding.node_name
                        ? std::string()
                        : " = " + finding.target;
  return fmt::format("{}{}  [{}]", where, what, info(finding.kind).name);
}

auto rows(const Finding& finding) -> std::string {
  std::string text;
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("    {:<9}{}\n", name, value);
  };
  row("claimed", finding.claimed_value.empty()
                     ? finding.claimed
                     : fmt::format("{}  = {}", finding.claimed, finding.claimed_value));
  row("real", finding.observed);
  row("rule", finding.rule);
  row("sizes", finding.witness);
  row("source", place(finding));
  if (finding.origin) {
    row("code", finding.origin->code);
    row("module", finding.origin->module);
  }
  std::string dirty;
  for (const auto& name : finding.dirty_operands) dirty += (dirty.empty() ? "" : ", ") + name;
  row("follows", dirty);
  return text;
}

auto describe(const Finding& finding) -> std::string {
  return fmt::format("  {}\n    {}\n{}", styled(headline(finding), Style::bold), finding.message,
                     rows(finding));
}

auto verdict(const DebugReport& report) -> std::string {
  if (report.counts.roots > 0) {
    const auto roots = root_findings(report.findings);
    const auto& first = *roots.front();
    return styled(fmt::format("{}: ", counted(report.counts.roots, "root finding")), Style::red) +
           fmt::format("{}: {}", first.node_name.empty() ? "the capture" : first.node_name,
                       info(first.kind).title);
  }
  if (report.counts.inherited > 0) return styled("findings without a root", Style::red);
  const auto& counts = report.counts;
  if (counts.blind() == 0) return styled("nothing found", Style::green);
  const auto seen = counts.checked + counts.recorded;
  if (seen == 0)
    return styled(fmt::format("nothing could be checked of {}", counted(counts.nodes, "node")),
                  Style::yellow);
  return styled(fmt::format("nothing found in the {} of {} that could be checked", seen,
                            counted(counts.nodes, "node")),
                Style::yellow);
}

/// What stayed open: operators first, then what rests on made-up data.
auto open_questions(const DebugReport& report, std::size_t limit) -> std::string {
  std::string text;
  std::size_t lines = 0;
  const auto row = [&](std::string_view what, const std::string& line) {
    if (lines++ < limit)
      text += fmt::format("{}{}\n", styled(fmt::format("{}: ", what), Style::yellow), line);
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
  if (lines > limit) text += fmt::format("  ... and {} more (--all shows them)\n", lines - limit);
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
auto list_some(const DebugReport& report, std::size_t limit, Filter&& wanted) -> std::string {
  std::string text;
  std::size_t shown = 0;
  std::size_t hidden = 0;
  for (const auto& finding : report.findings) {
    if (!wanted(finding)) continue;
    if (shown < limit) {
      text += describe(finding) + "\n";
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

auto exit_of(const DebugReport& report, bool allow_unchecked) -> int {
  if (report.counts.roots + report.counts.inherited > 0) return kFindings;
  return report.counts.blind() > 0 && !allow_unchecked ? kUndecided : kNothingFound;
}

auto print_report(const Capture& capture, const DebugReport& report, const ReportOptions& options)
    -> std::string {
  auto text = fmt::format("{}\n", verdict(report));
  if (report.counts.roots == 0) text += open_questions(report, options.limit);
  text += "\n";
  text += list_some(report, options.limit, is_root);
  if (report.counts.roots == 0)
    text += list_some(report, options.limit,
                      [](const Finding& f) { return !is_root(f) && !is_note(f); });
  if (options.notes) text += list_some(report, options.limit, is_note);
  text += counts_line(report) + "\n";
  const auto binding = to_string(report.binding.values, [&] {
    std::vector<Expr> integers;  // float symbols of modules would drown the sizes
    for (const auto& symbol : capture.graph.env.symbols())
      if (symbol.kind == SymbolKind::backed || symbol.kind == SymbolKind::unbacked)
        integers.push_back(symbol.expr);
    return integers;
  }());
  if (!capture.graph.env.symbols().empty() && !binding.empty()) text += "sizes: " + binding + "\n";
  if (report.counts.roots > 0) text += open_questions(report, options.limit);
  for (const auto& warning : report.warnings)
    text += styled("warning: ", Style::yellow) + warning + "\n";
  return text;
}

auto report_json(const Capture& capture, const DebugReport& report) -> std::string {
  Json json;
  json["schema"] = "assay.debug/1";
  json["source"] = capture.source_path;
  json["format"] = capture.format;
  const auto& counts = report.counts;
  json["verdict"] = counts.roots + counts.inherited > 0 ? "findings"
                    : counts.blind() > 0                ? "undecided"
                                                        : "clean";
  json["counts"] = {{"nodes", counts.nodes},         {"checked", counts.checked},
                    {"recorded", counts.recorded},   {"undecided", counts.undecided},
                    {"unchecked", counts.unchecked}, {"skipped", counts.skipped},
                    {"failed", counts.failed},       {"random", counts.random},
                    {"roots", counts.roots},         {"inherited", counts.inherited},
                    {"notes", counts.notes},         {"sweep_points", counts.sweep_points}};
  json["findings"] = Json::array();
  for (const auto& finding : report.findings) {
    Json entry;
    entry["kind"] = info(finding.kind).name;
    entry["severity"] = is_note(finding) ? "note" : "finding";
    entry["blame"] = finding.blame == Blame::root ? "root" : "inherited";
    entry["node"] = finding.node_name;
    entry["target"] = finding.target;
    entry["leaf"] = finding.leaf;
    entry["message"] = finding.message;
    entry["claimed"] = finding.claimed;
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
    json["findings"].push_back(std::move(entry));
  }
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
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay::cli
