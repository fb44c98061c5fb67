// assay bench: how long a compiled graph takes, and how close to the machine's memory it comes.
#include "cli/command.h"
#include "cli/executors.h"
#include "cli/gpu_child.h"
#include "cli/operators.h"
#include "core/base/clock.h"
#include "replay/bundle/open.h"
#include "replay/report/compile_report.h"
#include "replay/runner/compile.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, graph;
  std::vector<std::string> at;
  ExecutorOptions executor{.executor = "cpu"};
  MeasureOptions measure;
  bool no_fusion = false, unbound = false, json = false;
};

/// What stands in front of the first measurement: once for all sizes.
struct Compilation {
  double lowering = 0, code = 0;  ///< s
};

auto map_json(const auto& map) -> std::string {
  std::vector<std::string> items;
  for (const auto& [name, value] : map) items.push_back(fmt::format("\"{}\": {}", name, value));
  return fmt::format("{{{}}}", fmt::join(items, ", "));
}

auto tuned_json(const TunedLaunch& launch) -> std::string {
  std::vector<std::string> tried;
  for (const auto& [way, seconds] : launch.tried)
    tried.push_back(fmt::format("{{\"way\": \"{}\", \"s\": {:.9f}}}", way, seconds));
  return fmt::format("{{\"kernel\": \"{}\", \"best\": {}, \"kept\": {}, \"tried\": [{}]}}",
                     launch.kernel, launch.best, launch.is_known, fmt::join(tried, ", "));
}

void print_json(std::string_view executor, const std::string& at, const ProgramTimes& times,
                const Compilation& compilation) {
  std::vector<std::string> tuned;
  for (const auto& one : times.tuned) tuned.push_back(tuned_json(one));
  fmt::print(
      "{{\"executor\": \"{}\", \"at\": \"{}\", \"median_s\": {:.9f}, \"bytes\": {:.0f}, "
      "\"bytes_per_s\": {:.0f}, \"copy_bytes_per_s\": {:.0f}, \"lowering_s\": {:.6f}, "
      "\"code_s\": {:.6f}, \"first_s\": {:.6f}, \"first_parts\": {}, \"second_parts\": {}, "
      "\"launch_s\": {:.9f}, "
      "\"library_call_s\": {:.9f}, \"on_host\": {}, \"changed_bytes\": {}, \"tuned\": [{}]}}\n",
      executor, at, times.seconds, times.bytes, times.bytes / times.seconds, times.copy_bytes_per_s,
      compilation.lowering, compilation.code, times.first_seconds, map_json(times.first_parts),
      map_json(times.second_parts), times.host.launch, times.host.library_call,
      map_json(times.on_host), times.changed_bytes ? std::to_string(*times.changed_bytes) : "null",
      fmt::join(tuned, ", "));
}

/// What was tried for a launch, the fastest first.
auto tuned_text(const TunedLaunch& launch) -> std::string {
  auto text = fmt::format("tuned {}: ", launch.kernel);
  if (launch.is_known) return text + fmt::format("{} (kept)\n", launch.tried.front().first);
  const auto& [usual, before] = launch.tried.front();
  const auto& [best, after] = launch.tried[launch.best];
  text += fmt::format("{:.2f} us {}, was {:.2f} us {}; {} tried\n", after * 1e6, best, before * 1e6,
                      usual, launch.tried.size());
  for (const auto& [way, seconds] : launch.tried)
    text += fmt::format("  {:9.2f} us  {}\n", seconds * 1e6, way);
  return text;
}

auto parts_text(const std::map<std::string, double>& parts) -> std::string {
  std::vector<std::string> texts;
  for (const auto& [part, seconds] : parts)
    texts.push_back(fmt::format("{} {:.2f}", part, seconds * 1e3));
  return fmt::format("{}", fmt::join(texts, ", "));
}

void print_text(std::string_view executor, const std::string& at, const ProgramTimes& times,
                const MeasureOptions& measured) {
  const auto in_a_row =
      measured.burst > 1 ? fmt::format(", {} calls in a row", measured.burst) : std::string();
  const auto rate = times.bytes / times.seconds;
  fmt::print(
      "{}{}{}: {:.4f} ms (median of {}{}); {:.2f} GB/s of inputs and outputs, {:.0f} % of a copy\n",
      executor, at.empty() ? "" : " at ", at, times.seconds * 1e3, measured.runs, in_a_row,
      rate / 1e9, 100 * rate / times.copy_bytes_per_s);
  if (times.first_seconds > 0) {
    fmt::print(
        "first call at these sizes {:.2f} ms: {}; of the host {:.2f} us per launch, {:.2f} us "
        "per library call\n",
        times.first_seconds * 1e3, parts_text(times.first_parts), times.host.launch * 1e6,
        times.host.library_call * 1e6);
    if (!times.second_parts.empty())
      fmt::print("the second one makes graphs: {}\n", parts_text(times.second_parts));
  }
  if (times.changed_bytes.value_or(0) > 0)
    fmt::print("outputs of a later call differ from the first one's in {} bytes\n",
               *times.changed_bytes);
  fmt::print("{}", on_host_text(times.on_host));
  for (const auto& one : times.tuned) fmt::print("{}", tuned_text(one));
}

auto run_bench(const Options& options) -> Result<int> {
  if (options.measure.runs < 1 || options.measure.burst < 1)
    return std::unexpected(Error{ErrorCode::usage, "--runs and --burst: at least 1"});
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  std::vector<Binding> bindings;
  for (const auto& text : options.at) {
    ASSAY_TRY(bindings.emplace_back(), parse_binding(capture.graph.env, text));
  }
  const auto start = Clock::now();
  CompileOptions asked;
  asked.schedule.fuse = !options.no_fusion;
  ASSAY_TRY(const auto compiled, compile_graph(capture, known.table, asked));
  Compilation compilation{.lowering = seconds_since(start)};
  auto chosen = options.executor;
  chosen.bound = !options.unbound;
  ASSAY_TRY(const auto executor, make_executor(chosen, known.table));
  const auto middle = Clock::now();
  ASSAY_TRY(const auto program, executor->compile(compiled.program));
  compilation.code = seconds_since(middle);
  const auto measure = [&](const std::string& at, const RunInputs& given) -> Result<void> {
    const auto inputs = program_inputs(capture.graph, given);
    ASSAY_TRY(const auto times, program->measure(inputs, options.measure));
    if (options.json)
      print_json(executor->name(), at, times, compilation);
    else
      print_text(executor->name(), at, times, options.measure);
    std::fflush(stdout);
    return {};
  };
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    ASSAY_TRY(const auto given, inputs_at(capture, bindings[i]));
    ASSAY_TRY_VOID(measure(options.at[i], given));
  }
  if (bindings.empty()) {
    ASSAY_TRY(const auto given, recorded_inputs(capture));
    ASSAY_TRY_VOID(measure({}, given));
  }
  if (!options.json)
    fmt::print("compiled in {:.1f} ms: graph {:.1f}, kernels {:.1f}\n",
               (compilation.lowering + compilation.code) * 1e3, compilation.lowering * 1e3,
               compilation.code * 1e3);
  return kNothingFound;
}

}  // namespace

auto add_bench(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("FILE", &options->file, "graph text, repro script, capture JSON, .pt2 or bundle",
                   kRequired);
  arguments.option("--graph", &options->graph, kGraphHelp);
  arguments.option(
      "--at", &options->at,
      "at these sizes, e.g. s77=68,s53=7; repeatable: one compilation, sizes in this order");
  add_executor(arguments, options->executor);
  arguments.option("--runs", &options->measure.runs, "how often it is run");
  arguments.option("--burst", &options->measure.burst,
                   "calls of a run, one right after the other: its time is their mean");
  arguments.flag("--no-fusion", options->no_fusion, "one kernel per stored tensor");
  arguments.flag(
      "--tf32", options->executor.tf32,
      "with --executor cuda: convolutions may round to TF32, as PyTorch's do by default");
  arguments.flag("--redzones", options->executor.redzones,
                 "checked, to see what that costs: with --executor cpu redzones and poison around "
                 "temporaries, with cuda every access");
  arguments.flag("--unbound", options->unbound,
                 "evaluate the host side in every call, not once for these sizes");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    return run_guarded(options->executor, options->json, [&] {
      const auto result = run_bench(*options);
      return result ? *result : report_error(result.error());
    });
  };
}

}  // namespace assay::cli
