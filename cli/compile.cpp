// assay compile: a capture's graph as a program, with every decision and its reason.
#include "replay/runner/compile.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/executors.h"
#include "cli/gpu_child.h"
#include "cli/operators.h"
#include "cli/report_files.h"
#include "compiler/cuda/gpu_code.h"
#include "replay/bundle/open.h"
#include "replay/formats/file.h"
#include "replay/report/compile_report.h"
#include "replay/report/compile_rows.h"
#include "replay/report/programs.h"
#include "replay/runner/decisions.h"
#include "replay/runner/execute.h"
#include "replay/runner/mutants.h"
#include "replay/runner/program_memory.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, at, graph, fault, decisions_of, trace;
  ExecutorOptions executor;
  std::vector<std::string> library, ban, only;
  bool check = false, prove = false, all = false, kernels = false, decisions = false,
       memory = false, no_fusion = false, no_reuse = false, ptx = false, mutants = false,
       json = false;
  int architecture = 80;
};

/// A compiled graph with what it was made from.
struct Job {
  Capture capture;
  OpTable table;
  CompiledGraph compiled;
  std::optional<Fault> fault;
  std::optional<WrapperReport> proofs = {};
};

auto inputs_of(const Options& options, const Capture& capture) -> Result<RunInputs> {
  if (options.at.empty()) return recorded_inputs(capture);
  ASSAY_TRY(const auto at, parse_binding(capture.graph.env, options.at));
  return inputs_at(capture, at);
}

/// What the options say about choices of the compiler.
auto compile_options(const Options& options) -> Result<CompileOptions> {
  CompileOptions asked;
  asked.schedule.fuse = !options.no_fusion;
  asked.not_lowered = {options.library.begin(), options.library.end()};
  DecisionFilter filter;
  for (const auto& text : options.ban) {
    ASSAY_TRY(filter.banned.emplace_back(), parse_decision(text));
  }
  for (const auto& text : options.only) {
    ASSAY_TRY(filter.only.emplace_back(), parse_decision(text));
  }
  filter.has_only = !options.only.empty();
  if (!options.decisions_of.empty()) {
    ASSAY_TRY(const auto text, read_file(options.decisions_of));
    ASSAY_TRY(const auto accepted, read_decisions(text, options.decisions_of));
    filter.only.insert(filter.only.end(), accepted.begin(), accepted.end());
    filter.has_only = true;
  }
  asked.schedule.is_forbidden = [filter](const CompileDecision& decision) {
    return forbids(filter, decision);
  };
  if (!options.fault.empty()) {
    const auto at = options.fault.find('@');
    if (at != std::string::npos) asked.fault_at = options.fault.substr(at + 1);
    asked.fault = find_fault(options.fault.substr(0, at));
    if (!asked.fault) {
      std::vector<std::string_view> names;
      for (const auto& row : fault_rows()) names.push_back(row.name);
      return std::unexpected(Error{
          ErrorCode::usage, fmt::format("--fault {}: {}", options.fault, fmt::join(names, ", "))});
    }
    if (row(*asked.fault).place == FaultPlace::claims)
      return std::unexpected(
          Error{ErrorCode::usage,
                fmt::format("--fault {}: it is about what graphs claim; --mutants plants it",
                            options.fault)});
  }
  return asked;
}

auto executor_of(const Options& options, const Job& job) -> Result<std::unique_ptr<Executor>> {
  auto chosen = options.executor;
  chosen.reuse = !options.no_reuse;
  return make_executor(chosen, job.table);
}

/// Runs program and graph on the same inputs.
auto check(const Options& options, const Job& job) -> Result<CompiledComparison> {
  ASSAY_TRY(const auto inputs, inputs_of(options, job.capture));
  ASSAY_TRY(const auto executor, executor_of(options, job));
  return compare_with_reference(job.capture.graph, job.compiled, *executor, inputs, job.table,
                                job.fault == Fault::blind_compare);
}

/// Plants every fault and prints who saw it.
auto print_mutants(const Options& options, const Job& job) -> Result<int> {
  ASSAY_TRY(const auto inputs, inputs_of(options, job.capture));
  MutantOptions asked;
  asked.is_blind = job.fault == Fault::blind_compare;
  const auto elsewhere = options.at.empty() ? inputs_elsewhere(job.capture) : std::nullopt;
  asked.elsewhere = elsewhere ? &*elsewhere : nullptr;
  ASSAY_TRY(const auto mutants, plant_faults(job.capture, inputs, job.table, asked));
  for (const auto& mutant : mutants) {
    const auto& fault = row(mutant.fault);
    if (mutant.is_planted)
      fmt::print("{:<16} {:<8} {}{}\n", fault.name, name(fault.catcher),
                 mutant.is_seen ? "seen" : "not seen",
                 mutant.said.empty() ? "" : ": " + mutant.said.front());
  }
  const auto missed = not_seen(mutants);
  const auto planted = std::ranges::count_if(mutants, &Mutant::is_planted);
  fmt::print("{} of {} faults have something to be about here, {} are seen\n", planted,
             mutants.size(), planted - std::ssize(missed));
  return missed.empty() ? kNothingFound : kFindings;
}

/// In a run of its own: whoever looks on changes how an executor runs.
auto values_of(const Options& options, const Job& job) -> Result<ComparedValues> {
  ASSAY_TRY(const auto inputs, inputs_of(options, job.capture));
  ASSAY_TRY(const auto executor, executor_of(options, job));
  return compared_values(job.capture.graph, job.compiled, *executor, inputs, job.table);
}

auto plan(const Options& options, Job& job) -> Result<ProgramMemory> {
  ASSAY_TRY(const auto inputs, inputs_of(options, job.capture));
  MemoryPlanOptions asked;
  asked.reuse = !options.no_reuse;
  asked.dies_early = job.fault == Fault::early_death;
  return plan_compiled(job.capture.graph, job.compiled, inputs, job.table, asked);
}

/// Prints what is proved about the program, which stays with the job.
auto prove(const Options& options, Job& job) -> int {
  std::vector<ProvedProgram> programs;
  job.proofs = prove_compiled(job.capture.graph, job.compiled);
  programs.push_back({options.file, 0, {}, *job.proofs});
  fmt::print("{}", options.json ? programs_json(programs, options.file)
                                : programs_text(programs, options.all, paint()));
  return exit_code(state_of(programs));
}

/// Writes the program with what is known of it. Where it cannot be bound to sizes, without them.
auto write_trace(const Options& options, Job& job, std::optional<ProgramMemory>& memory,
                 const CompiledComparison* comparison, int exit) -> Result<void> {
  if (options.trace.empty()) return {};
  std::string not_planned;
  if (!memory) {
    auto made = plan(options, job);
    if (made)
      memory = std::move(*made);
    else
      not_planned = made.error().message;
  }
  std::optional<ComparedValues> values;
  if (comparison != nullptr) {
    ASSAY_TRY(values, values_of(options, job));
  }
  auto sizes = options.at;
  if (const auto inputs = inputs_of(options, job.capture); inputs && sizes.empty())
    sizes = inputs->chosen_sizes.empty() ? "as recorded" : inputs->chosen_sizes;
  return record_compiled(
      options.trace,
      {job.capture, job.compiled, memory ? &*memory : nullptr, not_planned, sizes, comparison,
       values ? &*values : nullptr, job.proofs ? &*job.proofs : nullptr},
      exit);
}

/// PTX of a capture's program, or of programs that a log or wrapper holds. Needs no GPU.
auto print_ptx(const Options& options) -> Result<int> {
  const PtxOptions ptx{.architecture = options.architecture,
                       .is_checked = options.executor.redzones};
  ASSAY_TRY(const auto program, open_program(options.file));
  if (holds_programs(program.text)) {
    ASSAY_TRY(const auto programs, read_programs(program.text, options.file));
    for (const auto& one : programs) {
      ASSAY_TRY(const auto text, ptx_text(one.program, ptx));
      fmt::print("// {}\n{}", one.name, text);
    }
    return kNothingFound;
  }
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  ASSAY_TRY(const auto asked, compile_options(options));
  ASSAY_TRY(auto compiled, compile_graph(capture, known.table, asked));
  std::map<std::string, std::vector<std::int64_t>> extents;
  if (!options.at.empty()) {
    ASSAY_TRY(const auto inputs, inputs_of(options, capture));
    ASSAY_TRY(const auto memory, plan_compiled(capture.graph, compiled, inputs, known.table, {}));
    for (const auto& step : memory.bound.steps)
      if (const auto* launch = std::get_if<BoundLaunch>(&step))
        extents.try_emplace(memory.bound.kernels[launch->kernel], launch->extents);
  }
  ASSAY_TRY(const auto text, ptx_text(compiled.program, ptx, extents));
  fmt::print("{}", text);
  return kNothingFound;
}

auto run_compile(const Options& options) -> Result<int> {
  if (options.ptx) return print_ptx(options);
  if (!options.at.empty() && !options.check && !options.memory && !options.mutants &&
      options.trace.empty())
    return std::unexpected(
        Error{ErrorCode::usage, "--at is of --check, --memory, --mutants and --trace"});
  if (options.prove && options.check && options.json)
    return std::unexpected(Error{ErrorCode::usage, "--json: --check or --prove, one at a time"});
  ASSAY_TRY(const auto asked, compile_options(options));
  ASSAY_TRY(auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(auto known, table_for(capture));
  Job job{std::move(capture), std::move(known.table), {}, asked.fault};
  if (options.mutants) return print_mutants(options, job);
  ASSAY_TRY(job.compiled, compile_graph(job.capture, job.table, asked));
  for (const auto& line : job.compiled.not_ended)
    fmt::print(stderr, "assay: warning: simplification: {}\n", line);
  int exit = job.compiled.not_ended.empty() ? kNothingFound : kFindings;
  std::optional<ProgramMemory> memory;
  if (options.prove) {
    exit = std::max(exit, prove(options, job));
    if (!options.check) {
      ASSAY_TRY_VOID(write_trace(options, job, memory, nullptr, exit));
      return exit;
    }
  }
  if (options.memory) {
    ASSAY_TRY(memory, plan(options, job));
  }
  std::optional<CompiledComparison> comparison;
  if (options.check) {
    ASSAY_TRY(comparison, check(options, job));
  }
  if (options.prove) {
    fmt::print("{}", check_text(*comparison, paint()));
  } else {
    const CompileReport report{
        job.capture.graph, job.compiled,      comparison ? &*comparison : nullptr,
        options.kernels,   options.decisions, memory ? &*memory : nullptr};
    fmt::print("{}", options.json ? compile_json(report) : compile_text(report, paint()));
  }
  if ((comparison && has_findings(*comparison)) || (memory && !memory->broken.empty()))
    exit = kFindings;
  ASSAY_TRY_VOID(write_trace(options, job, memory, comparison ? &*comparison : nullptr, exit));
  return exit;
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
  arguments.flag("--redzones", options->executor.redzones,
                 "with --executor cpu: redzones and poison around temporaries; with cuda: every "
                 "access in bounds");
  arguments.option("--at", &options->at,
                   "with --check, --memory, --ptx or --trace: at these sizes, e.g. s77=5");
  arguments.flag("--memory", options->memory, "print where temporaries stand in their arena");
  arguments.option("--trace", &options->trace,
                   "write program, decisions and memory as an SQLite trace for the viewer; with "
                   "--check what it found and first values, with --prove every verdict too");
  arguments.flag("--no-fusion", options->no_fusion, "one kernel per stored tensor");
  arguments.flag("--no-reuse", options->no_reuse, "a place of its own for every temporary");
  arguments.option("--library", &options->library,
                   "call this operator instead of compiling it, e.g. aten.add.Tensor; repeatable");
  arguments.option(
      "--ban", &options->ban,
      "forbid a decision: fuse:NODE, fuse:NODE:KERNEL, merge:NODE or store:NODE; repeatable");
  arguments.option("--only", &options->only,
                   "allow only these decisions of their kind, written as with --ban; repeatable");
  arguments.option("--decisions-of", &options->decisions_of,
                   "allow only what was accepted there: output of --decisions --json");
  arguments.option(
      "--fault", &options->fault,
      "make the program wrong on purpose, to see who notices, e.g. short-storage; of a "
      "kernel's code also NAME@NODE: only where that node is computed");
  arguments.flag("--mutants", options->mutants,
                 "plant every such fault in turn and print which of the tools see it");
  arguments.flag("--ptx", options->ptx,
                 "print the code of the kernels for NVIDIA GPUs; FILE may be a log or wrapper");
  arguments.option("--architecture", &options->architecture,
                   "with --ptx: compute capability, e.g. 90");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    return run_guarded(options->executor, options->json, [&] {
      const auto result = run_compile(*options);
      return result ? *result : report_error(result.error());
    });
  };
}

}  // namespace assay::cli
