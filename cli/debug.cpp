// assay debug: which node lies.
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/operators.h"
#include "cli/report_files.h"
#include "replay/bundle/open.h"
#include "replay/formats/file.h"
#include "replay/report/link.h"
#include "replay/report/trace_rows.h"
#include "replay/report/verdict.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, at, graph, trace, bundle;
  bool sweep = false, json = false, nan = false, all = false, notes = false;
  bool allow_unchecked = false, links = false;
  ReportFiles files;
  CompiledOptions compiled;
};

auto run_debug(const Options& options) -> Result<int> {
  if (!options.compiled.inputs.empty()) {
    ASSAY_TRY(const auto bytes, read_file(options.file));
    if (!holds_programs(bytes))
      return std::unexpected(Error{ErrorCode::usage, "--inputs is of TORCH_TRACE logs"});
    auto asked = options.compiled;
    asked.file = options.file;
    asked.json = options.json;
    return run_compiled(asked, bytes, true);
  }
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  DebugOptions debug;
  if (!options.at.empty()) {
    ASSAY_TRY(debug.at, parse_binding(capture.graph.env, options.at));
  }
  debug.sweep = options.sweep;
  debug.find_not_finite = options.nan;
  Progress progress("running");
  debug.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  ASSAY_TRY(auto report, debug_capture(capture, known.table, debug));
  report.warnings.insert(report.warnings.end(), known.inferred.begin(), known.inferred.end());
  const int exit = exit_code(state_of(report), options.allow_unchecked);
  if (!options.trace.empty())
    ASSAY_TRY_VOID(record_trace(options.trace, capture, report, "debug", options.at, exit));
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
  return exit;
}

}  // namespace

auto add_debug(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();  // the parsed command line outlives this call
  arguments.option("FILE", &options->file, "graph text, repro script, capture JSON, .pt2 or bundle",
                   kRequired);
  arguments.option("--at", &options->at, "run at these sizes instead, e.g. s77=68,s53=7");
  arguments.option("--graph", &options->graph, kGraphHelp);
  arguments.flag("--sweep", options->sweep, "also run at boundary sizes that the guards admit");
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
    const auto result = run_debug(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
