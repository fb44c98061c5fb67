// assay bench: how long a compiled graph takes, and how close to the machine's memory it comes.
#include <chrono>

#include "cli/command.h"
#include "cli/executors.h"
#include "cli/operators.h"
#include "replay/bundle/open.h"
#include "replay/report/compile_report.h"
#include "replay/runner/compile.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, at, graph;
  ExecutorOptions executor{.executor = "cpu"};
  int runs = 20;
  bool no_fusion = false, unbound = false, json = false;
};

auto seconds_since(std::chrono::steady_clock::time_point start) -> double {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

auto run_bench(const Options& options) -> Result<int> {
  if (options.runs < 1) return std::unexpected(Error{ErrorCode::usage, "--runs: at least 1"});
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  Binding at;
  if (!options.at.empty()) {
    ASSAY_TRY(at, parse_binding(capture.graph.env, options.at));
  }
  ASSAY_TRY(const auto given, at.empty() ? recorded_inputs(capture) : inputs_at(capture, at));
  const auto start = std::chrono::steady_clock::now();
  CompileOptions asked;
  asked.schedule.fuse = !options.no_fusion;
  ASSAY_TRY(const auto compiled, compile_graph(capture, known.table, asked));
  const double lowering = seconds_since(start);
  auto chosen = options.executor;
  chosen.bound = !options.unbound;
  ASSAY_TRY(const auto executor, make_executor(chosen, known.table));
  const auto middle = std::chrono::steady_clock::now();
  ASSAY_TRY(const auto program, executor->compile(compiled.program));
  const double code = seconds_since(middle);
  const auto inputs = program_inputs(capture.graph, given);
  ASSAY_TRY(const auto times, program->measure(inputs, options.runs));
  const auto& [seconds, bytes, copy, on_host] = times;
  const double rate = bytes / seconds;
  std::vector<std::string> on_host_items;
  for (const auto& [name, count] : on_host)
    on_host_items.push_back(fmt::format("\"{}\": {}", name, count));
  if (options.json)
    fmt::print(
        "{{\"executor\": \"{}\", \"median_s\": {:.9f}, \"bytes\": {:.0f}, \"bytes_per_s\": {:.0f}, "
        "\"copy_bytes_per_s\": {:.0f}, \"lowering_s\": {:.6f}, \"code_s\": {:.6f}, "
        "\"on_host\": {{{}}}}}\n",
        executor->name(), seconds, bytes, rate, copy, lowering, code,
        fmt::join(on_host_items, ", "));
  else
    fmt::print(
        "{}: {:.4f} ms (median of {}); {:.2f} GB/s of inputs and outputs, {:.0f} % of a copy\n"
        "compiled in {:.1f} ms: graph {:.1f}, kernels {:.1f}\n",
        executor->name(), seconds * 1e3, options.runs, rate / 1e9, 100 * rate / copy,
        (lowering + code) * 1e3, lowering * 1e3, code * 1e3);
  if (!options.json) fmt::print("{}", on_host_text(on_host));
  return kNothingFound;
}

}  // namespace

auto add_bench(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("FILE", &options->file, "graph text, repro script, capture JSON, .pt2 or bundle",
                   kRequired);
  arguments.option("--graph", &options->graph, kGraphHelp);
  arguments.option("--at", &options->at, "at these sizes, e.g. s77=68,s53=7");
  add_executor(arguments, options->executor);
  arguments.option("--runs", &options->runs, "how often it is run");
  arguments.flag("--no-fusion", options->no_fusion, "one kernel per stored tensor");
  arguments.flag("--unbound", options->unbound,
                 "evaluate the host side in every call, not once for these sizes");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    const auto result = run_bench(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
