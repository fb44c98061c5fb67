// assay run: execute a capture and print its outputs.

#include "replay/interp/run.h"
#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/executors.h"
#include "cli/gpu_child.h"
#include "cli/operators.h"
#include "core/expr/text.h"
#include "replay/bundle/open.h"
#include "replay/formats/detect.h"
#include "replay/formats/file.h"
#include "replay/formats/torch_trace.h"
#include "replay/interp/chosen_numbers.h"
#include "replay/report/compile_report.h"
#include "replay/report/run_report.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, at, graph;
  bool stats = false, json = false;
  CompiledOptions compiled;
};

/// The first node that did not run, as an error of the right kind.
auto first_failure(const Capture& capture, const GraphRun& run) -> Result<void> {
  for (std::size_t i = 0; i < run.nodes.size(); ++i) {
    const auto& record = run.nodes[i];
    if (record.status == NodeStatus::ran || record.status == NodeStatus::recorded ||
        record.status == NodeStatus::skipped)
      continue;
    const auto text = fmt::format("node {}: {}", capture.graph.nodes[i].name, record.message);
    return std::unexpected(Error{
        record.status == NodeStatus::unchecked ? ErrorCode::unsupported : ErrorCode::bad_input,
        text});
  }
  return {};
}

/// Calls that Assay did not run itself: their recorded layouts stand in, with made-up contents.
auto stood_in(const Capture& capture, const GraphRun& run) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < run.nodes.size(); ++i)
    if (run.nodes[i].status == NodeStatus::recorded)
      lines.push_back(fmt::format("{}: {}", capture.graph.nodes[i].name, run.nodes[i].message));
  return lines;
}

/// Compiles the graph and runs the program.
auto run_compiled_graph(const Options& options, const Capture& capture, const RunInputs& inputs,
                        const OpTable& table) -> Result<int> {
  if (options.stats || options.json)
    return std::unexpected(Error{ErrorCode::usage, "--stats and --json are without --executor"});
  ASSAY_TRY(const auto executor, make_executor(options.compiled.executor, table));
  ASSAY_TRY(const auto compiled, compile_graph(capture, table));
  ASSAY_TRY(const auto program, executor->compile(compiled.program));
  ProgramRunOptions asked;
  ASSAY_TRY(asked.random, seeded_generators(options.compiled, &capture));
  ASSAY_TRY(const auto run, program->run(program_inputs(capture.graph, inputs), asked));
  fmt::print("{}", outputs_text(run));
  for (const auto& finding : run.findings)
    fmt::print("{} {}: {}\n", name(finding.fault), finding.statement, finding.message);
  return run.findings.empty() ? kNothingFound : kFindings;
}

auto run_file(const Options& options) -> Result<int> {
  ASSAY_TRY(const auto program, open_program(options.file));
  const auto& compiled = options.compiled;
  if (holds_programs(program.text) && options.graph.empty() && options.at.empty()) {
    auto asked = compiled;
    asked.file = options.file;
    asked.json = options.json;
    const bool has_answers = !compiled.inputs.empty() || !program.inputs_json.empty();
    return run_compiled(asked, program, compiled.check || has_answers);
  }
  if (detect_format(program.text) == InputFormat::torch_trace && options.graph.empty()) {
    const auto log = read_torch_trace(program.text);
    const auto failed = log ? trace_failures(*log) : std::string();
    return std::unexpected(Error{
        ErrorCode::unsupported,
        fmt::format("{}: the log has no compiled program (inductor_output_code){}", options.file,
                    failed.empty() ? "; --graph runs one of its graphs, `assay show` lists them"
                                   : failed)});
  }
  if (compiled.check || !compiled.inputs.empty() || !compiled.blocks.empty() ||
      !compiled.bundle.empty() || !compiled.trace.empty())
    return std::unexpected(
        Error{ErrorCode::usage,
              "--check, --inputs, --blocks, --bundle and --trace are of compiled programs; `assay "
              "debug` and `assay compile` trace captures"});
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  Binding at;
  if (!options.at.empty()) {
    ASSAY_TRY(at, parse_binding(capture.graph.env, options.at));
  }
  ASSAY_TRY(const auto known, table_for(capture));
  auto given = at.empty() ? recorded_inputs(capture) : inputs_at(capture, at);
  ASSAY_TRY(const auto inputs, with_chosen_numbers(std::move(given), capture.graph, known.table));
  if (!inputs.chosen_sizes.empty() && !options.json) fmt::print("{}\n", inputs.chosen_sizes);
  if (!options.compiled.executor.executor.empty())
    return run_compiled_graph(options, capture, inputs, known.table);
  ASSAY_TRY(const auto random, seeded_generators(compiled, &capture));
  Progress progress("running");
  const auto run = run_graph(
      capture.graph, inputs, known.table,
      {.stand_ins = at.empty() && !capture.observed.empty(),
       .statistics = true,
       .recorded = at.empty() ? &capture.observed : nullptr,
       .random = random,
       .progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); }});
  ASSAY_TRY_VOID(first_failure(capture, run));
  const auto not_run = stood_in(capture, run);
  for (const auto& line : not_run)
    fmt::print(stderr,
               "assay: warning: not run, its recorded layout stands in with made-up "
               "contents: {}\n",
               line);
  fmt::print("{}", options.json
                       ? run_json(capture, run, options.stats, inputs.chosen_sizes, not_run)
                       : run_text(capture, run, options.stats));
  return kNothingFound;
}

}  // namespace

auto add_run(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("FILE", &options->file, "any input", kRequired);
  arguments.option("--at", &options->at, "run at these sizes, e.g. s77=5");
  arguments.option("--graph", &options->graph, kGraphHelp);
  arguments.flag("--stats", options->stats, "print every node, not only the outputs");
  arguments.flag("--check", options->compiled.check,
                 "of compiled programs: exit code 1 where an access is wrong");
  arguments.option("--trace", &options->compiled.trace,
                   "of compiled programs: write launches, findings and first values as an SQLite "
                   "trace for the viewer");
  add_compiled(arguments, options->compiled);
  arguments.option("--bundle", &options->compiled.bundle,
                   "of compiled programs: pack program, inputs and verdict into a bundle");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    return run_guarded(options->compiled.executor, options->json, [&] {
      const auto result = run_file(*options);
      return result ? *result : report_error(result.error());
    });
  };
}

}  // namespace assay::cli
