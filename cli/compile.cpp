// assay compile: a capture's graph as a program, with every decision and its reason.
#include "replay/runner/compile.h"

#include "cli/command.h"
#include "cli/executors.h"
#include "cli/operators.h"
#include "cli/report_files.h"
#include "compiler/cuda/gpu_code.h"
#include "replay/bundle/open.h"
#include "replay/report/compile_report.h"
#include "replay/formats/file.h"
#include "replay/report/programs.h"
#include "replay/runner/execute.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, at, graph;
  ExecutorOptions executor;
  std::vector<std::string> ban;
  bool check = false, prove = false, all = false, kernels = false, decisions = false,
       no_fusion = false, ptx = false, json = false;
  int architecture = 80;
};

/// Runs program and graph on the same inputs.
auto check(const Options& options, const Capture& capture, const CompiledGraph& compiled,
           const OpTable& table) -> Result<CompiledComparison> {
  Binding at;
  if (!options.at.empty()) {
    ASSAY_TRY(at, parse_binding(capture.graph.env, options.at));
  }
  ASSAY_TRY(const auto inputs, at.empty() ? recorded_inputs(capture) : inputs_at(capture, at));
  ASSAY_TRY(const auto executor, make_executor(options.executor, table));
  return compare_with_reference(capture.graph, compiled, *executor, inputs, table);
}

/// Prints what is proved about the program.
auto prove(const Options& options, const Capture& capture, const CompiledGraph& compiled) -> int {
  std::vector<ProvedProgram> programs;
  programs.push_back({options.file, 0, {}, prove_compiled(capture.graph, compiled)});
  fmt::print("{}", options.json ? programs_json(programs, options.file)
                                : programs_text(programs, options.all, paint()));
  return exit_code(state_of(programs));
}

/// PTX of a capture's program, or of programs that a log or wrapper holds. Needs no GPU.
auto print_ptx(const Options& options) -> Result<int> {
  ASSAY_TRY(const auto bytes, read_file(options.file));
  if (holds_programs(bytes)) {
    ASSAY_TRY(const auto programs, read_programs(bytes, options.file));
    for (const auto& one : programs) {
      ASSAY_TRY(const auto text, ptx_text(one.program, options.architecture));
      fmt::print("// {}\n{}", one.name, text);
    }
    return kNothingFound;
  }
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  ASSAY_TRY(const auto compiled, compile_graph(capture, known.table, {}));
  ASSAY_TRY(const auto text, ptx_text(compiled.program, options.architecture));
  fmt::print("{}", text);
  return kNothingFound;
}

auto run_compile(const Options& options) -> Result<int> {
  if (options.ptx) return print_ptx(options);
  if (!options.at.empty() && !options.check)
    return std::unexpected(Error{ErrorCode::usage, "--at is of --check"});
  if (options.prove && options.check)
    return std::unexpected(Error{ErrorCode::usage, "--check or --prove, one at a time"});
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  CompileOptions asked;
  asked.schedule.fuse = !options.no_fusion;
  asked.not_lowered = {options.ban.begin(), options.ban.end()};
  ASSAY_TRY(const auto compiled, compile_graph(capture, known.table, asked));
  if (options.prove) return prove(options, capture, compiled);
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
  arguments.flag("--prove", options->prove,
                 "prove every access in bounds for all sizes, instead of printing the program");
  arguments.flag("--all", options->all,
                 "with --prove: every obligation, not only those not proved");
  add_executor(arguments, options->executor);
  arguments.option("--at", &options->at, "with --check: at these sizes, e.g. s77=5");
  arguments.flag("--no-fusion", options->no_fusion, "one kernel per stored tensor");
  arguments.option("--library", &options->ban,
                   "call this operator instead of compiling it, e.g. aten.add.Tensor; repeatable");
  arguments.flag("--ptx", options->ptx,
                 "print the code of the kernels for NVIDIA GPUs; FILE may be a log or wrapper");
  arguments.option("--architecture", &options->architecture,
                   "with --ptx: compute capability, e.g. 90");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    const auto result = run_compile(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
