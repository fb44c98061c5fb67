// assay replay: does a bundle's recorded verdict still hold?
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/operators.h"
#include "cli/report_files.h"
#include "replay/bundle/open.h"
#include "replay/report/debug_report.h"
#include "replay/report/executions.h"
#include "replay/report/link.h"
#include "replay/report/stages_report.h"
#include "replay/report/verdict.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

auto missing_from(const std::vector<std::string>& all, const std::vector<std::string>& some)
    -> std::vector<std::string> {
  std::vector<std::string> missing;
  std::ranges::set_difference(all, some, std::back_inserter(missing));
  return missing;
}

/// A run of today beside what was recorded.
struct Replayed {
  std::optional<Verdict> recorded;
  Verdict now;
  std::string text;  ///< of the run
};

auto recorded_verdict(const std::string& json) -> Result<std::optional<Verdict>> {
  if (json.empty()) return std::nullopt;
  ASSAY_TRY(auto verdict, parse_verdict(json));
  return verdict;
}

/// Prints both; the exit code of today's run, or 1 where the verdict no longer holds.
auto compare(const Replayed& run, bool json) -> int {
  const auto& recorded = run.recorded;
  const auto& now = run.now;
  const auto gone =
      recorded ? missing_from(recorded->findings, now.findings) : std::vector<std::string>{};
  const auto added =
      recorded ? missing_from(now.findings, recorded->findings) : std::vector<std::string>{};
  const bool holds =
      recorded && gone.empty() && added.empty() && recorded->exit_code == now.exit_code;
  const int exit = !recorded || holds ? now.exit_code : kFindings;
  if (json) {
    nlohmann::ordered_json out{
        {"schema", "assay.replay/1"},
        {"verdict_holds", recorded ? nlohmann::ordered_json(holds) : nullptr},
        {"gone", gone},
        {"added", added},
        {"findings", now.findings}};
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return exit;
  }
  if (!recorded)
    fmt::print("the bundle records no verdict; this is what a run finds today\n");
  else if (holds)
    fmt::print("{}\n", styled("the recorded verdict still holds", Style::green));
  else
    fmt::print("{}\n", styled("the recorded verdict no longer holds", Style::red));
  for (const auto& line : gone) fmt::print("  gone:  {}\n", line);
  for (const auto& line : added) fmt::print("  added: {}\n", line);
  fmt::print("\n{}", run.text);
  return exit;
}

/// Every stage of a log's compilations, or a checked run of its programs, as the verdict says.
auto replay_program(const std::string& file, const ProgramBundle& program, bool json)
    -> Result<int> {
  Replayed run;
  ASSAY_TRY(run.recorded, recorded_verdict(program.verdict_json));
  const auto options = run.recorded ? run.recorded->options : VerdictOptions{.command = "run"};
  CompiledOptions asked;
  asked.file = file;
  asked.blocks = options.blocks;
  asked.seed = options.seed;
  if (options.command == "run") {
    ASSAY_TRY(const auto execution, execute_compiled(asked, program));
    run.now = verdict_of(execution, options, exit_code(execution, true));
    run.text = executions_text(execution, paint());
    return compare(run, json);
  }
  ASSAY_TRY(const auto report, stages_of(asked, program, options));
  run.now = verdict_of(report, options, exit_code(state_of(report)));
  run.text = stages_text(report, paint());
  return compare(run, json);
}

auto replay(const std::string& file, bool json, bool links) -> Result<int> {
  ASSAY_TRY(const auto program, open_program(file));
  if (holds_programs(program.text)) return replay_program(file, program, json);
  ASSAY_TRY(const auto bundle, open_bundle(file));
  Replayed run;
  ASSAY_TRY(run.recorded, recorded_verdict(bundle.verdict_json));
  DebugOptions options;
  const auto verdict_options = run.recorded ? run.recorded->options : VerdictOptions{};
  if (!verdict_options.at.empty()) {
    ASSAY_TRY(options.at, parse_binding(bundle.capture.graph.env, verdict_options.at));
  }
  options.sweep = verdict_options.sweep;
  ASSAY_TRY(const auto known, table_for(bundle.capture));
  ASSAY_TRY(const auto report, debug_capture(bundle.capture, known.table, options));
  run.now = verdict_of(report, verdict_options, exit_code(state_of(report)));
  run.text = debug_text(bundle.capture, report, {.paint = paint()});
  const int exit = compare(run, json);
  if (links && !json) fmt::print("{}", links_text(report.findings, file));
  return exit;
}

}  // namespace

auto add_replay(Arguments& arguments) -> Action {
  struct Options {
    std::string file;
    bool json = false, links = false;
  };
  const auto options = std::make_shared<Options>();
  arguments.option("BUNDLE", &options->file, "a bundle written by import, debug, run or minify",
                   kRequired);
  arguments.flag("--json", options->json, "print JSON");
  arguments.flag("--links", options->links, kLinksHelp);
  return [options] {
    const auto result = replay(options->file, options->json, options->links);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
