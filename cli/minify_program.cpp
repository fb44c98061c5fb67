#include "cli/minify_program.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/compiled.h"
#include "cli/step_trace.h"
#include "core/base/clock.h"
#include "minifier/oracle/program_oracle.h"
#include "minifier/oracle/store.h"
#include "minifier/search/minify_program.h"
#include "replay/formats/file.h"
#include "replay/runner/wrapper_lines.h"

namespace assay::cli {
namespace {

/// A program that fails, and how.
struct Failing {
  ProgramText program;
  std::string failure;
};

auto first_failing(const std::vector<ProgramText>& programs, const std::string& wanted,
                   const TextFailures& failures) -> std::optional<Failing> {
  for (const auto& program : programs) {
    const auto all = failures({program.text});
    for (const auto& failure : all.front())
      if (wanted.empty() || failure.starts_with(wanted)) return Failing{program, failure};
  }
  return std::nullopt;
}

/// What is cut, and the oracle that says whether it still fails.
struct Task {
  std::string name;  ///< of the oracle
  TextFailures failures;
  std::optional<WrongLaunch> wrong;  ///< of `stage`
  std::optional<Failing> failing;
};

/// "run:out-of-bounds": the oracle, and what its failure must begin with.
auto wanted_of(const std::string& oracle) -> std::pair<std::string, std::string> {
  const auto colon = oracle.find(':');
  if (colon == std::string::npos || oracle.starts_with("exec:")) return {oracle, ""};
  return {oracle.substr(0, colon), oracle.substr(colon + 1)};
}

auto find_wrong_launch(const MinifyProgramOptions& options, const ProgramBundle& program,
                       const OpTable& table) -> Result<std::optional<WrongLaunch>> {
  CompiledOptions asked;
  asked.file = options.file;
  asked.inputs = options.inputs;
  ASSAY_TRY(const auto answers, answers_for(asked, program));
  return wrong_launch(program.text, options.file, table,
                      {.answers = answers ? &*answers : nullptr, .at = {}, .sweep = false});
}

/// Fills `task`, which the oracle refers to.
auto prepare(const MinifyProgramOptions& options, const ProgramBundle& given, const OpTable& table,
             Task& task) -> Result<void> {
  const auto [name, wanted] = wanted_of(options.oracle);
  task.name = name;
  if (name == "stage") {
    ASSAY_TRY(task.wrong, find_wrong_launch(options, given, table));
    if (!task.wrong) return {};
    task.failing = Failing{task.wrong->program, task.wrong->failure};
  }
  auto limits = options.limits;
  limits.workers = options.workers;
  ASSAY_TRY(
      task.failures,
      program_oracle({name, task.wrong ? &*task.wrong : nullptr, options.python, limits}, table));
  if (task.wrong) return {};
  ASSAY_TRY(const auto programs, program_texts(given.text, options.file));
  task.failing = first_failing(programs, wanted, task.failures);
  return {};
}

auto settings_of(const MinifyProgramOptions& options, const Task& task) -> MinifyProgramSettings {
  MinifyProgramSettings settings;
  settings.calls_only = options.calls_only;
  settings.may_fail_otherwise = task.name == "torch";
  settings.has_masks = task.name != "run" && task.name != "prove";
  settings.has_launches = task.name == "torch" || task.name.starts_with("exec:");
  if (!task.wrong) return settings;
  // The same elements are wanted, so sizes stay; and which launch it is, is known.
  settings.cut = cut_options(*task.wrong);
  settings.has_sizes = !task.wrong->wrote;
  settings.suspect_line = task.wrong->line;
  return settings;
}

/// The wrapper as a bundle; of the oracle `run` with the verdict of a checked run.
auto pack(const std::filesystem::path& folder, const std::string& oracle, const std::string& text)
    -> Result<void> {
  const ProgramBundle bundle{.source_path = "minimal.py", .text = text};
  const auto path = (folder / "minimal.assay.zip").string();
  if (oracle != "run") {
    ASSAY_TRY(const auto bytes, write_bundle(bundle));
    return write_file_atomically(path, bytes);
  }
  CompiledOptions asked;
  asked.file = "minimal.py";
  ASSAY_TRY(const auto execution, execute_compiled(asked, bundle));
  const VerdictOptions options{.command = "run"};
  return pack_program(path, asked, bundle,
                      verdict_of(execution, options, exit_code(execution, true)));
}

/// Is the result a folder? Then it holds the answers too.
auto is_folder(const std::string& output) -> bool {
  return output != "-" && std::filesystem::path(output).extension() != ".py";
}

auto written(const MinifiedProgram& reduced, const std::string& output, const std::string& oracle)
    -> Result<std::string> {
  const std::filesystem::path given = output;
  const bool is_file = !is_folder(output);
  const auto file = is_file ? given : given / "minimal.py";
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  std::ofstream stream(file, std::ios::binary);
  stream << reduced.text;
  if (!stream.flush()) return bad_input("{}: cannot be written", file.string());
  if (!is_file) ASSAY_TRY_VOID(pack(given, oracle, reduced.text));
  return file.string();
}

auto json_of(const MinifiedProgram& reduced, const std::string& program, const std::string& file)
    -> nlohmann::ordered_json {
  return {
      {"program", program},
      {"failure", reduced.failure},
      {"launches", {{"before", reduced.launches_before}, {"after", reduced.launches}}},
      {"statements", {{"before", reduced.statements_before}, {"after", reduced.statements}}},
      {"kernel_lines", {{"before", reduced.kernel_lines_before}, {"after", reduced.kernel_lines}}},
      {"patches", reduced.patches},
      {"fails_iff", reduced.fails_iff},
      {"asked", reduced.asked},
      {"complete", reduced.is_complete},
      {"file", file}};
}

/// "3 loads, 1 operand"
auto patches_text(const std::map<std::string, int>& patches) -> std::string {
  std::vector<std::string> parts;
  for (const auto& [kind, count] : patches)
    parts.push_back(counted(count, kind, kind == "axis" ? "axes" : ""));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print(const MinifiedProgram& reduced, const std::string& program, const Task& task,
           const std::string& file) {
  fmt::print("{}: {}\n", styled("minified", Style::green), reduced.failure);
  if (task.wrong) fmt::print("  stage         {}\n", task.wrong->stage);
  fmt::print("  program       {}\n", program);
  fmt::print("  launches      {} -> {}\n", reduced.launches_before, reduced.launches);
  fmt::print("  statements    {} -> {}\n", reduced.statements_before, reduced.statements);
  fmt::print("  kernel lines  {} -> {}\n", reduced.kernel_lines_before, reduced.kernel_lines);
  if (!reduced.patches.empty()) fmt::print("  replaced      {}\n", patches_text(reduced.patches));
  if (!reduced.fails_iff.empty()) fmt::print("  fails iff     {}\n", reduced.fails_iff);
  fmt::print("  oracle        {}: {} asked\n", task.name, reduced.asked);
  if (!reduced.is_complete) fmt::print("  {}\n", styled("stopped by the budget", Style::yellow));
  fmt::print("{}\n", file);
}

void print_nothing(const std::string& oracle, const std::string& file) {
  const auto what = oracle == "run"     ? std::string("a checked run finds nothing in")
                    : oracle == "stage" ? std::string("every stage agrees in")
                                        : fmt::format("--oracle {} finds nothing in", oracle);
  fmt::print("{}: {} {}\n", styled("nothing to minify", Style::yellow), what, file);
}

/// Answers of earlier runs with this oracle on this failure, in the folder of the result.
auto stored_answers(const MinifyProgramOptions& options, const Task& task) -> Result<TextAnswers> {
  if (!is_folder(options.output)) return TextAnswers();
  const std::filesystem::path folder = options.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return bad_input("{}: {}", folder.string(), error.message());
  const auto file = folder / "answers.sqlite";
  if (options.fresh) std::filesystem::remove(file, error);
  ASSAY_TRY(auto opened, AnswerStore::open(file));
  const auto store = std::make_shared<AnswerStore>(std::move(opened));
  // Wrong elements are what they are for these inputs.
  const auto elements = task.wrong ? text_key(task.wrong->elements) : 0;
  const auto identity = fmt::format("program {} {} {} {:016x}", options.oracle, options.python,
                                    task.failing->failure, elements);
  return TextAnswers{
      .find = [=](const std::string& text) -> std::optional<std::vector<std::string>> {
        const auto known = store->find(identity, text_key(text), 0);
        return known ? std::optional(lines_of(known->output)) : std::nullopt;
      },
      .add =
          [=](const std::string& text, const std::vector<std::string>& failures) {
            Observed seen;
            seen.outcome = failures.empty() ? Outcome::passes : Outcome::fails;
            seen.output = fmt::format("{}", fmt::join(failures, "\n"));
            store->add(identity, text_key(text), 0, seen);
          }};
}

/// The trace with the program that fails, which is its first step.
auto traced(const MinifyProgramOptions& options, const Failing& failing) -> Result<StepTrace> {
  ASSAY_TRY(auto trace, StepTrace::create(options.trace, options.file, "program", options.oracle));
  const auto& text = failing.program.text;
  ASSAY_TRY_VOID(trace.add("original", text));
  MinifyStep given{.phase = "original", .key = text_key(text), .calls = lines_in(text)};
  given.observed.outcome = Outcome::fails;
  given.observed.signature.message = failing.failure;
  given.is_wanted = true;
  given.text = text;
  trace.add(given);
  return trace;
}

}  // namespace

auto minify_programs(const MinifyProgramOptions& options, const ProgramBundle& program)
    -> Result<int> {
  const auto table = build_op_table();
  Task task;
  ASSAY_TRY_VOID(prepare(options, program, table, task));
  if (!task.failing) {
    print_nothing(options.oracle, options.file);
    return kNothingFound;
  }
  const auto start = Clock::now();
  Progress progress;
  TextBudget budget{
      .workers = options.workers,
      .max_seconds = options.max_seconds,
      .max_calls = options.max_calls,
      .progress = [&](int asked) {
        progress.show([&](double) { return fmt::format("minifying: {} asked", asked); });
      }};
  std::optional<StepTrace> trace;
  if (!options.trace.empty()) {
    ASSAY_TRY(trace, traced(options, *task.failing));
    budget.on_step = [&](const MinifyStep& step) { trace->add(step); };
  }
  ASSAY_TRY(auto answers, stored_answers(options, task));
  TextOracle oracle(task.failing->failure, task.failures, std::move(budget), std::move(answers));
  const auto& failing = task.failing->program;
  auto done = minify_program(failing.text, table, oracle, settings_of(options, task));
  if (!done) return with_context(std::move(done).error(), failing.name);
  const int exit = done->is_complete ? kFindings : kUndecided;
  if (trace) {
    ASSAY_TRY_VOID(trace->add("minimal", done->text));
    ASSAY_TRY_VOID(trace->finish({}, seconds_since(start), exit));
  }
  if (options.output == "-") {
    fmt::print("{}", done->text);
    return exit;
  }
  ASSAY_TRY(const auto file, written(*done, options.output, task.name));
  if (options.json)
    fmt::print("{}\n", json_of(*done, failing.name, file).dump(2));
  else
    print(*done, failing.name, task, file);
  return exit;
}

}  // namespace assay::cli
