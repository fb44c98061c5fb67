// assay minify: the smallest capture that still fails the same way.
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "cli/command.h"
#include "cli/executed.h"
#include "cli/minify_program.h"
#include "cli/operators.h"
#include "cli/step_trace.h"
#include "compiler/prove/prover.h"
#include "compiler/read/wrapper.h"
#include "core/finding/finding.h"
#include "minifier/search/minify.h"
#include "replay/bundle/open.h"
#include "replay/formats/file.h"
#include "replay/report/link.h"
#include "replay/report/prove_report.h"
#include "replay/runner/asserted.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, graph, oracle = "debug", output = "minified", max_time, match = "normal";
  int workers = 1, max_calls = 0, confirm = 1;
  double timeout = 0;
  std::int64_t memory_mib = 8192;
  std::string trace, inputs;
  bool programs = false, json = false, calls_only = false, fresh = false, links = false;
  TorchOptions torch;
  ExecutorOptions executor;  ///< limits of executor:cuda
};

auto usage_error(std::string message) -> std::unexpected<Error> {
  return std::unexpected(Error{ErrorCode::usage, std::move(message)});
}

/// "90", "90s", "10m", "2h" in seconds.
auto parse_duration(const std::string& text) -> Result<double> {
  if (text.empty()) return 0.0;
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const auto unit = text.substr(end);
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (end == 0 || factor == 0 || !(value > 0))
    return usage_error(
        fmt::format("--max-time: \"{}\" is no duration such as 90s, 10m or 2h", text));
  return value * factor;
}

auto split(const std::string& text, char separator) -> std::vector<std::string> {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream stream(text);
  while (std::getline(stream, part, separator)) parts.push_back(part);
  return parts;
}

/// The prover as a source of small sizes: what refutes "there are none".
auto smallest_sizes() -> SmallestSizes {
  const auto prover = std::make_shared<Prover>();
  return [prover](const ShapeEnv& env,
                  const std::vector<Expr>& conditions) -> std::optional<Binding> {
    Query query{.claim = Expr::boolean(false), .assumptions = conditions, .ranges = env.ranges()};
    for (const auto& guard : env.guards())
      query.assumptions.push_back(env.replaced(guard.condition));
    const auto answer = prover->prove(query);
    const auto* refuted = std::get_if<Refuted>(&answer);
    return refuted ? std::optional(refuted->witness) : std::nullopt;
  };
}

/// What `assay prove` refutes.
auto refutations(const Capture& given) -> Result<std::vector<Finding>> {
  ASSAY_TRY(const auto known, table_for(given));
  Capture capture = given;
  capture.graph = with_asserted(std::move(capture.graph), known.table);
  return findings_of(capture, prove_capture(capture, known.table));
}

auto make_oracle(const Options& options, const OpTable& table) -> Result<std::unique_ptr<Oracle>> {
  const auto colon = options.oracle.find(':');
  const auto kind = options.oracle.substr(0, colon);
  const auto rest = colon == std::string::npos ? std::string() : options.oracle.substr(colon + 1);
  if ((kind == "debug" || kind == "prove") && !rest.empty() && !finding_kind(rest))
    return usage_error(fmt::format("--oracle: \"{}\" is no kind of finding", rest));
  if (kind == "debug") return debug_oracle(table, rest);
  if (kind == "prove") return finding_oracle("prove", refutations, rest);
  if (kind == "exec") {
    if (rest.empty()) return usage_error("--oracle: exec: needs a command");
    return exec_oracle(rest);
  }
  if (kind == "executor") {
    ASSAY_TRY(auto executed, parse_executed(rest));
    executed.executor.launch_timeout = options.executor.launch_timeout;
    ASSAY_TRY_VOID(make_executor(executed.executor, table));
    return executor_oracle(table, executed, options.oracle);
  }
  if (kind == "node" || kind == "chain") {
    if (rest.empty()) return usage_error("--oracle: node: needs names of nodes");
    return node_oracle(split(rest, ','), kind == "chain");
  }
  if (kind == "torch") {
    auto torch = options.torch;
    if (!rest.empty()) torch.mode = rest;
    return torch_oracle(std::move(torch));
  }
  return usage_error(
      fmt::format("--oracle: \"{}\" is none of debug[:KIND], prove[:KIND], exec:COMMAND, "
                  "executor:NAME[:FAULT], torch[:MODE], run[:FAULT], node:NAMES, chain:NAMES",
                  options.oracle));
}

/// How far the search is.
auto progress_line(const std::string& phase, int calls, const SessionCounts& counts, double seconds,
                   double max_seconds) -> std::string {
  const auto left = max_seconds > 0
                        ? fmt::format(", {:.0f} s left", std::max(0.0, max_seconds - seconds))
                        : std::string();
  return fmt::format("{}: {} left, {} asked, {} known, {:.1f}/s{}", phase, counted(calls, "call"),
                     counts.queries, counts.cached, counts.queries / std::max(seconds, 0.001),
                     left);
}

void print_result(const MinifyResult& result, const std::string& folder) {
  const auto& before = result.original.graph;
  if (!result.reproduced) {
    fmt::print("{}: the capture does not fail under {} ({} asked)\n",
               styled("nothing to minify", Style::yellow), result.oracle,
               counted(result.queries + result.cached, "time"));
    return;
  }
  fmt::print("{}: {}\n", styled("minified", Style::green), to_string(result.wanted));
  fmt::print("  calls      {} -> {}{}\n", before.call_count(), result.minimal.graph.call_count(),
             result.one_minimal ? "  (none can be left out)" : "");
  fmt::print("  oracle     {}: {} asked, {} already known, {:.1f} s\n", result.oracle,
             result.queries, result.cached, result.seconds);
  if (result.failure_rate < 1)
    fmt::print("  flaky      fails in {:.0f} % of {} runs\n", 100 * result.failure_rate,
               result.confirmations);
  if (!result.fails_iff.empty()) fmt::print("  fails iff  {}\n", result.fails_iff);
  for (const auto& other : result.others) fmt::print("  also met   {}\n", to_string(other));
  for (const auto& warning : result.warnings) fmt::print("  warning    {}\n", warning);
  if (!result.complete)
    fmt::print("  {}\n", styled("stopped by the budget: run again to go on", Style::yellow));
  fmt::print("{}\n", (std::filesystem::path(folder) / "repro.py").string());
}

auto match_level(const std::string& text) -> Result<MatchLevel> {
  if (text == "strict") return MatchLevel::strict;
  if (text == "normal") return MatchLevel::normal;
  if (text == "loose") return MatchLevel::loose;
  return usage_error(fmt::format("--match: \"{}\" is none of strict, normal, loose", text));
}

/// A failure of a compiled program, not of a graph: `--oracle run` and `stage`, `--programs`, and
/// wrappers, which hold nothing else.
auto is_about_programs(const Options& options, std::string_view bytes) -> bool {
  if (options.programs || options.oracle == "run" || options.oracle == "stage" ||
      options.oracle.starts_with("run:"))
    return true;
  return is_wrapper(bytes);
}

auto minify_compiled(const Options& options, const ProgramBundle& program) -> Result<int> {
  if (!holds_programs(program.text))
    return usage_error(fmt::format("{}: the file holds no compiled program",
                                   options.programs ? "--programs" : "--oracle " + options.oracle));
  if (!options.inputs.empty() && options.oracle != "stage")
    return usage_error("--inputs is of --oracle stage");
  MinifyProgramOptions settings{.file = options.file,
                                .output = options.output,
                                .oracle = options.oracle == "debug" ? "run" : options.oracle,
                                .inputs = options.inputs,
                                .python = options.torch.python,
                                .trace = options.trace,
                                .limits = {.memory_bytes = options.memory_mib << 20},
                                .max_seconds = 0,
                                .max_calls = options.max_calls,
                                .workers = options.workers,
                                .calls_only = options.calls_only,
                                .fresh = options.fresh,
                                .json = options.json};
  ASSAY_TRY(settings.max_seconds, parse_duration(options.max_time));
  if (options.timeout > 0) settings.limits.seconds = options.timeout;
  return minify_programs(settings, program);
}

auto minify_file(const Options& options) -> Result<int> {
  if (const auto program = open_program(options.file);
      program && is_about_programs(options, program->text))
    return minify_compiled(options, *program);
  MinifyOptions settings;
  ASSAY_TRY(settings.budget.seconds, parse_duration(options.max_time));
  ASSAY_TRY(settings.match, match_level(options.match));
  settings.budget.calls = options.max_calls;
  settings.confirmations = options.confirm;
  settings.values = !options.calls_only;
  settings.limits.workers = options.workers;
  settings.limits.memory_bytes = options.memory_mib << 20;
  settings.default_timeout = options.timeout <= 0;
  settings.smallest_sizes = smallest_sizes();
  if (options.timeout > 0) settings.limits.seconds = options.timeout;
  ASSAY_TRY(auto capture, open_capture(options.file, options.graph));
  ASSAY_TRY(const auto known, table_for(capture));
  const auto& table = known.table;
  ASSAY_TRY(const auto oracle, make_oracle(options, table));
  const std::filesystem::path folder = options.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return bad_input("{}: {}", folder.string(), error.message());
  const auto answers = folder / "answers.sqlite";
  if (options.fresh) std::filesystem::remove(answers, error);
  ASSAY_TRY(auto store, AnswerStore::open(answers));
  std::ofstream log(folder / "log.jsonl", std::ios::trunc);
  settings.log = [&](const std::string& line) {
    log << line << '\n' << std::flush;
  };  // readable while it runs
  Progress progress;
  settings.progress = [&](const std::string& phase, int calls, const SessionCounts& counts) {
    progress.show([&](double seconds) {
      return progress_line(phase, calls, counts, seconds, settings.budget.seconds);
    });
  };
  std::optional<StepTrace> trace;
  if (!options.trace.empty()) {
    ASSAY_TRY(trace,
              StepTrace::create(options.trace, options.file, capture.format, options.oracle));
    ASSAY_TRY_VOID(trace->add("original", capture));
    settings.on_step = [&](const MinifyStep& step) { trace->add(step); };
  }
  ASSAY_TRY(const auto result, minify(std::move(capture), *oracle, store, table, settings));
  ASSAY_TRY_VOID(write_result(result, folder));
  if (options.json)
    fmt::print("{}", summary_json(result));
  else
    print_result(result, options.output);
  if (result.reproduced && options.oracle.starts_with("executor:") && !options.json) {
    ASSAY_TRY(auto executed, parse_executed(options.oracle.substr(9)));
    executed.executor.launch_timeout = options.executor.launch_timeout;
    ASSAY_TRY(const auto blame, blame_text(result.minimal, table, executed));
    fmt::print("  decisions  {}\n", blame);
  }
  const int exit = !result.complete ? kUndecided : result.reproduced ? kFindings : kNothingFound;
  if (trace) {
    ASSAY_TRY_VOID(trace->add("minimal", result.minimal));
    ASSAY_TRY_VOID(trace->finish(result.warnings, result.seconds, exit));
  }
  if (options.links && !options.json)
    fmt::print("link: {}\n",
               to_string(Link{std::filesystem::absolute(options.trace.empty()
                                                            ? options.output + "/minimal.assay.zip"
                                                            : options.trace)
                                  .lexically_normal()
                                  .string(),
                              ""}));
  return exit;
}

}  // namespace

auto add_minify(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("FILE", &options->file, "any input", kRequired);
  arguments.option("--graph", &options->graph, kGraphHelp);
  arguments.option(
      "--oracle", &options->oracle,
      "what judges a candidate: debug[:KIND] or prove[:KIND] (a root finding of that "
      "command), "
      "exec:COMMAND (gets repro.py and the bundle; exit code 0 reproduces, 1 does not, "
      "125 invalid, 64-113 another failure), torch[:compile|accuracy|crash], "
      "executor:NAME[:FAULT[@NODE]] (compiled and run there, cpu, cuda or interpret, it differs "
      "from "
      "its graph, or a launch hangs or faults), "
      "run[:FAULT] (of compiled programs: what `run --check` finds), "
      "stage (of a TORCH_TRACE log: the launch that gives something else than its graph; prove, "
      "exec and torch judge programs too, the latter get minimal.py), "
      "node:NAMES or chain:NAMES (these calls are there; for benchmarks)",
      kShowsDefault);
  arguments.option("-o,--output", &options->output,
                   "folder for the result, also holds the answers; with run: or a .py file",
                   kShowsDefault);
  arguments.option("-j,--workers", &options->workers, "oracle calls at the same time",
                   {.one_of = {}, .range = {1, 256}});
  arguments.option("--max-time", &options->max_time, "stop after, e.g. 90s, 10m, 2h");
  arguments.option("--max-calls", &options->max_calls, "stop after so many oracle calls");
  arguments.option("--timeout", &options->timeout,
                   "seconds of one oracle call (default: 10 times the first, 1 to 300)");
  add_launch_timeout(arguments, options->executor);
  arguments.option("--memory", &options->memory_mib, "MiB of one oracle call", kShowsDefault);
  arguments.option("--match", &options->match, "how alike failures must be: strict, normal, loose",
                   kShowsDefault);
  arguments.option("--confirm", &options->confirm, "runs that measure how often it fails",
                   {.one_of = {}, .range = {1, 1000}});
  arguments.flag("--programs", options->programs,
                 "of a log: cut its compiled programs, not its graphs; of a wrapper always");
  arguments.option("--inputs", &options->inputs,
                   "stage: file of recorded inputs and answers, as for `debug`");
  arguments.flag("--calls-only", options->calls_only,
                 "leave sizes, data and arguments as they are");
  arguments.flag("--fresh", options->fresh, "forget the answers of earlier runs");
  arguments.option("--python", &options->torch.python, "torch: interpreter with PyTorch");
  arguments.option("--torch-worker", &options->torch.worker,
                   "torch: another torch_worker.py than the built-in one");
  arguments.option("--backend", &options->torch.check.backend, "torch: backend of torch.compile");
  arguments.option("--dynamic", &options->torch.check.dynamic,
                   "torch: true or false; PyTorch decides");
  arguments.option("--tolerance", &options->torch.check.tolerance, "torch: of accuracy");
  arguments.option("--torch-options", &options->torch.check.options,
                   "torch: options of torch.compile, a JSON object");
  arguments.option("--trace", &options->trace,
                   "write every candidate into this SQLite trace while it runs, for the viewer");
  arguments.flag("--links", options->links, "print a link into the viewer");
  arguments.flag("--json", options->json, "print the summary as JSON");
  return [options] {
    const auto result = minify_file(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
