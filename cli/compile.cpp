// assay compile: a capture's graph as a program, with every decision and its reason.
#include "replay/runner/compile.h"
#include "cli/command.h"
#include "cli/operators.h"
#include "compiler/interpret/interpret.h"
#include "replay/bundle/open.h"
#include "replay/report/compile_report.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, at, graph;
  std::vector<std::string> ban;
  bool check = false, kernels = false, decisions = false, no_fusion = false, json = false;
};

/// Runs program and graph on the same inputs.
auto check(const Options& options, const Capture& capture, const CompiledGraph& compiled,
           const OpTable& table) -> Result<CompiledComparison> {
  Binding at;
  if (!options.at.empty()) {
    ASSAY_TRY(at, parse_binding(capture.graph.env, options.at));
  }
  ASSAY_TRY(const auto inputs, at.empty() ? recorded_inputs(capture) : inputs_at(capture, at));
  return compare_with_reference(capture.graph, compiled, Interpreter(table), inputs, table);
}

auto run_compile(const Options& options) -> Result<int> {
  if (!options.at.empty() && !options.check)
    return std::unexpected(Error{ErrorCode::usage, "--at is of --check"});
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  CompileOptions asked;
  asked.schedule.fuse = !options.no_fusion;
  asked.not_lowered = {options.ban.begin(), options.ban.end()};
  ASSAY_TRY(const auto compiled, compile_graph(capture, known.table, asked));
  std::optional<CompiledComparison> comparison;
  if (options.check) {
    ASSAY_TRY(comparison, check(options, capture, compiled, known.table));
  }
  const CompileReport report{capture.graph, compiled, comparison ? &*comparison : nullptr,
                             options.kernels, options.decisions};
  fmt::print("{}", options.json ? compile_json(report) : compile_text(report, paint()));
  return comparison && has_findings(*comparison) ? kFindings : kNothingFound;
}

}  // namespace

auto add_compile(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("FILE", &options->file, "graph text, repro script, capture JSON, .pt2 or bundle",
                   kRequired);
  arguments.option("--graph", &options->graph, kGraphHelp);
  arguments.flag("--kernels", options->kernels, "print the kernels");
  arguments.flag("--decisions", options->decisions, "print every decision with its reason");
  arguments.flag("--check", options->check,
                 "run the program, every access checked, and compare it with the graph");
  arguments.option("--at", &options->at, "with --check: at these sizes, e.g. s77=5");
  arguments.flag("--no-fusion", options->no_fusion, "one kernel per stored tensor");
  arguments.option("--library", &options->ban,
                   "call this operator instead of compiling it, e.g. aten.add.Tensor; repeatable");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    const auto result = run_compile(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
