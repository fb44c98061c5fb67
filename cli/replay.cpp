// assay replay: does a bundle's recorded verdict still hold?
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/operators.h"
#include "cli/report_files.h"
#include "replay/bundle/open.h"
#include "replay/report/debug_report.h"
#include "replay/report/link.h"
#include "replay/report/verdict.h"

namespace assay::cli {
namespace {

auto missing_from(const std::vector<std::string>& all, const std::vector<std::string>& some)
    -> std::vector<std::string> {
  std::vector<std::string> missing;
  std::ranges::set_difference(all, some, std::back_inserter(missing));
  return missing;
}

auto replay(const std::string& file, bool json, bool links) -> Result<int> {
  ASSAY_TRY(const auto bundle, open_bundle(file));
  std::optional<Verdict> recorded;
  if (!bundle.verdict_json.empty()) {
    ASSAY_TRY(recorded, parse_verdict(bundle.verdict_json));
  }
  DebugOptions options;
  const auto verdict_options = recorded ? recorded->options : VerdictOptions{};
  if (!verdict_options.at.empty()) {
    ASSAY_TRY(options.at, parse_binding(bundle.capture.graph.env, verdict_options.at));
  }
  options.sweep = verdict_options.sweep;
  ASSAY_TRY(const auto known, table_for(bundle.capture));
  ASSAY_TRY(const auto report, debug_capture(bundle.capture, known.table, options));
  const int exit = exit_code(state_of(report));
  const auto now = verdict_of(report, verdict_options, exit);
  const auto gone =
      recorded ? missing_from(recorded->findings, now.findings) : std::vector<std::string>{};
  const auto added =
      recorded ? missing_from(now.findings, recorded->findings) : std::vector<std::string>{};
  const bool holds = recorded && gone.empty() && added.empty() && recorded->exit_code == exit;
  if (json) {
    nlohmann::ordered_json out{
        {"schema", "assay.replay/1"},
        {"verdict_holds", recorded ? nlohmann::ordered_json(holds) : nullptr},
        {"gone", gone},
        {"added", added},
        {"findings", now.findings}};
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return !recorded || holds ? exit : kFindings;
  }
  if (!recorded)
    fmt::print("the bundle records no verdict; this is what a run finds today\n");
  else if (holds)
    fmt::print("{}\n", styled("the recorded verdict still holds", Style::green));
  else
    fmt::print("{}\n", styled("the recorded verdict no longer holds", Style::red));
  for (const auto& line : gone) fmt::print("  gone:  {}\n", line);
  for (const auto& line : added) fmt::print("  added: {}\n", line);
  fmt::print("\n{}", debug_text(bundle.capture, report, {.paint = paint()}));
  if (links) fmt::print("{}", links_text(report.findings, file));
  return !recorded || holds ? exit : kFindings;
}

}  // namespace

auto add_replay(Arguments& arguments) -> Action {
  struct Options {
    std::string file;
    bool json = false, links = false;
  };
  const auto options = std::make_shared<Options>();
  arguments.option("BUNDLE", &options->file, "a bundle written by import, debug or minify",
                   kRequired);
  arguments.flag("--json", options->json, "print JSON");
  arguments.flag("--links", options->links, kLinksHelp);
  return [options] {
    const auto result = replay(options->file, options->json, options->links);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
