// assay debug: which node lies.
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/executed.h"
#include "cli/gpu_child.h"
#include "cli/operators.h"
#include "cli/report_files.h"
#include "core/graph/annotation.h"
#include "replay/bundle/open.h"
#include "replay/formats/detect.h"
#include "replay/formats/file.h"
#include "replay/formats/torch_trace.h"
#include "replay/report/link.h"
#include "replay/report/node_values.h"
#include "replay/report/stages_report.h"
#include "replay/report/trace_rows.h"
#include "replay/report/verdict.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, at, graph, trace, bundle;
  bool sweep = false, json = false, nan = false, all = false, notes = false;
  bool allow_unchecked = false, links = false, stages = false;
  ReportFiles files;
  CompiledOptions compiled;
};

/// Every stage of a log's compilations.
auto run_stages(const Options& options, const ProgramBundle& program) -> Result<int> {
  const auto& bytes = program.text;
  const VerdictOptions verdict{.at = options.at, .sweep = options.sweep};
  auto asked = options.compiled;
  asked.file = options.file;
  Progress progress("running");
  ASSAY_TRY(const auto report, stages_of(asked, program, verdict));
  const int exit = exit_code(state_of(report), options.allow_unchecked);
  if (!options.trace.empty())
    ASSAY_TRY_VOID(record_stages(options.trace, options.file, bytes, report, exit));
  if (!options.bundle.empty())
    ASSAY_TRY_VOID(pack_program(options.bundle, asked, program, verdict_of(report, verdict, exit)));
  const auto findings = findings_of(report);
  ASSAY_TRY_VOID(write_report_files(options.files, "assay debug", test_cases(report),
                                    sarif_results(findings, options.file), progress.seconds()));
  fmt::print("{}", options.json ? stages_json(report, options.file) : stages_text(report, paint()));
  if (options.links && !options.json) fmt::print("{}", links_text(findings, options.file));
  return exit;
}

auto run_debug(const Options& options) -> Result<int> {
  if (!options.compiled.inputs.empty() || options.stages) {
    if (!options.compiled.seed.empty())
      return std::unexpected(Error{ErrorCode::usage, "--seed is of captures"});
    ASSAY_TRY(const auto program, open_program(options.file));
    if (detect_format(program.text) == InputFormat::torch_trace && options.compiled.blocks.empty())
      return run_stages(options, program);
    if (options.stages || !holds_programs(program.text))
      return std::unexpected(Error{
          ErrorCode::usage,
          fmt::format("{} is of TORCH_TRACE logs", options.stages ? "--stages" : "--inputs")});
    auto asked = options.compiled;
    asked.file = options.file;
    asked.json = options.json;
    asked.bundle = options.bundle;
    return run_compiled(asked, program, true);
  }
  if (options.json && !options.compiled.executor.executor.empty())
    return std::unexpected(Error{ErrorCode::usage, "--json is without --executor"});
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  DebugOptions debug;
  if (!options.at.empty()) {
    ASSAY_TRY(debug.at, parse_binding(capture.graph.env, options.at));
  }
  debug.sweep = options.sweep;
  debug.find_not_finite = options.nan;
  ASSAY_TRY(debug.random, seeded_generators(options.compiled, &capture));
  if (debug.random && !options.at.empty())
    return std::unexpected(Error{ErrorCode::usage, "--seed is of the recorded run, without --at"});
  Progress progress("running");
  NodeValues values;
  if (!options.trace.empty()) debug.tap = values.tap();
  debug.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  ASSAY_TRY(auto report, debug_capture(capture, known.table, debug));
  report.warnings.insert(report.warnings.end(), known.inferred.begin(), known.inferred.end());
  const int exit = exit_code(state_of(report), options.allow_unchecked);
  if (!options.trace.empty())
    ASSAY_TRY_VOID(record_trace(options.trace, capture, report, "debug", options.at, exit,
                                values.rows(capture, report)));
  if (!options.bundle.empty())
    ASSAY_TRY_VOID(
        record_bundle(options.bundle, capture, report, {options.at, options.sweep}, exit));
  ASSAY_TRY_VOID(write_report_files(options.files, "assay debug", test_cases(capture, report),
                                    sarif_results(report.findings, capture.source_path),
                                    progress.seconds()));
  if (options.json)
    fmt::print("{}", debug_json(capture, report));
  else
    fmt::print("{}", debug_text(capture, report,
                                {.notes = options.notes,
                                 .limit = options.all ? SIZE_MAX : 10,
                                 .paint = paint()}));
  if (options.links && !options.json) fmt::print("{}", links_text(report.findings, options.file));
  if (options.compiled.executor.executor.empty()) return exit;
  ExecutedOptions executed;
  executed.executor = options.compiled.executor;
  executed.at = debug.at;
  ASSAY_TRY(const bool differs, debug_executed(capture, known.table, executed));
  return differs ? kFindings : exit;
}

}  // namespace

auto add_debug(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();  // the parsed command line outlives this call
  arguments.option("FILE", &options->file,
                   "graph text, repro script, capture JSON, .pt2 or bundle; with --stages or "
                   "--inputs a TORCH_TRACE log",
                   kRequired);
  arguments.option("--at", &options->at, "run at these sizes instead, e.g. s77=68,s53=7");
  arguments.option("--graph", &options->graph, kGraphHelp);
  arguments.flag("--sweep", options->sweep, "also run at boundary sizes that the guards admit");
  arguments.flag("--stages", options->stages,
                 "of a log: run every stage of each compilation on the same inputs, also with "
                 "--inputs");
  arguments.flag("--nan", options->nan, "report the first NaN or infinity");
  arguments.flag("--notes", options->notes, "list notes too (insignificant strides and the like)");
  arguments.flag("--all", options->all, "show every finding, not only the first ten");
  arguments.flag("--allow-unchecked", options->allow_unchecked,
                 "exit code 0 instead of 5 where nothing was found but nodes stayed unchecked");
  arguments.flag("--json", options->json, "print the report as JSON");
  arguments.flag("--links", options->links, kLinksHelp);
  add_compiled(arguments, options->compiled);
  add_report_files(arguments, options->files);
  arguments.option("--trace", &options->trace, "write an SQLite trace of the run");
  arguments.option("--bundle", &options->bundle, "pack input and verdict into a bundle");
  return [options] {
    return run_guarded(options->compiled.executor, options->json, [&] {
      const auto result = run_debug(*options);
      return result ? *result : report_error(result.error());
    });
  };
}

}  // namespace assay::cli
