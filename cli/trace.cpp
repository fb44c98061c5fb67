// assay trace: everything the viewer shows, in one file.
#include "cli/command.h"
#include "cli/operators.h"
#include "cli/report_files.h"
#include "replay/bundle/open.h"
#include "replay/formats/detect.h"
#include "replay/formats/file.h"
#include "replay/report/node_values.h"
#include "replay/report/programs.h"
#include "replay/report/prove_report.h"
#include "replay/report/trace_rows.h"
#include "replay/report/verdict.h"
#include "replay/runner/asserted.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, output, at, graph;
  bool prove = false;
};

auto trace_programs(const Options& options, std::string_view bytes) -> Result<int> {
  const auto table = build_op_table();
  std::vector<ProvedProgram> programs;  // a log may hold graphs alone
  if (holds_programs(bytes)) {
    ASSAY_TRY(programs, prove_programs(bytes, options.file, table));
  }
  const int exit = exit_code(state_of(programs));
  ASSAY_TRY_VOID(record_programs(options.output, options.file, bytes, programs, table, exit));
  return exit;
}

auto trace_file(const Options& options) -> Result<int> {
  ASSAY_TRY(const auto program, open_program(options.file));
  const auto& bytes = program.text;
  if (holds_programs(bytes) || detect_format(bytes) == InputFormat::torch_trace)
    return trace_programs(options, bytes);
  ASSAY_TRY(auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  DebugOptions debug;
  if (!options.at.empty()) {
    ASSAY_TRY(debug.at, parse_binding(capture.graph.env, options.at));
  }
  Progress progress("running");
  NodeValues values;
  debug.tap = values.tap();
  debug.progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
  ASSAY_TRY(auto report, debug_capture(capture, known.table, debug));
  report.warnings.insert(report.warnings.end(), known.inferred.begin(), known.inferred.end());
  int exit = exit_code(state_of(report));
  if (!options.prove) {
    ASSAY_TRY_VOID(record_trace(options.output, capture, report, "trace", options.at, exit,
                                values.rows(capture, report)));
    return exit;
  }
  progress.show([](double) { return std::string("proving"); }, true);
  capture.graph = with_asserted(std::move(capture.graph), known.table);
  const auto proofs = prove_capture(capture, known.table, {});
  for (auto& finding : findings_of(capture, proofs)) report.findings.push_back(std::move(finding));
  if (state_of(capture, proofs) == ReportState::findings) exit = kFindings;
  const auto proved = proof_rows(capture, proofs);
  ASSAY_TRY_VOID(record_trace(options.output, capture, report, "trace", options.at, exit,
                              values.rows(capture, report, proved)));
  return exit;
}

}  // namespace

auto add_trace(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option(
      "FILE", &options->file,
      "graph text, repro script, capture JSON, .pt2, bundle, TORCH_TRACE log or wrapper",
      kRequired);
  arguments.option("-o,--output", &options->output, "the trace to write", kRequired);
  arguments.flag("--prove", options->prove, "also prove guards and storage bounds of a capture");
  arguments.option("--at", &options->at, "run at these sizes instead, e.g. s77=68,s53=7");
  arguments.option("--graph", &options->graph, kGraphHelp);
  return [options] {
    const auto result = trace_file(*options);
    if (!result) return report_error(result.error());
    fmt::print("{}\n", options->output);
    return *result;
  };
}

}  // namespace assay::cli
