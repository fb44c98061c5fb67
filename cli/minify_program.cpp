#include "cli/minify_program.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "core/base/clock.h"
#include "minifier/oracle/program_oracle.h"
#include "minifier/search/minify_text.h"
#include "replay/runner/cut_program.h"

namespace assay::cli {
namespace {

/// A program that fails, and how.
struct Failing {
  ProgramText program;
  std::string failure;
};

struct Reduced {
  std::string program, text, failure;
  int launches_before = 0, launches = 0;      ///< and library calls
  int statements_before = 0, statements = 0;  ///< lines of `call`
  int kernel_lines_before = 0, kernel_lines = 0;
  int asked = 0;
  bool is_complete = true;  ///< the budget was enough
};

auto first_failing(const std::vector<ProgramText>& programs, const std::string& wanted,
                   const TextFailures& failures) -> std::optional<Failing> {
  for (const auto& program : programs)
    for (const auto& failure : failures(program.text))
      if (wanted.empty() || failure.starts_with(wanted)) return Failing{program, failure};
  return std::nullopt;
}

auto everything(int count) -> Kept {
  Kept kept;
  for (int i = 0; i < count; ++i) kept.push_back(i);
  return kept;
}

/// Lines of the kernels that are left. A text in which none can go stays as it is.
void cut_kernels(Reduced& reduced, TextOracle& oracle) {
  const CutKernels kernels(reduced.text);
  reduced.kernel_lines_before = reduced.kernel_lines = kernels.count();
  const auto kept = minimal_parts(
      {kernels.count(), [&](const Kept& part) { return kernels.text(part); }}, oracle);
  const auto text = kernels.text(kept);
  if (!text || !oracle.fails(*text)) return;
  reduced.text = *text;
  reduced.kernel_lines = static_cast<int>(kept.size());
}

/// A question beyond the budget finds nothing, so that what was found so far stays.
class Budget {
 public:
  Budget(const MinifyProgramOptions& options, TextFailures failures)
      : options_(options), failures_(std::move(failures)) {}
  auto ask(const std::string& text) -> std::vector<std::string> {
    const auto seconds = seconds_since(start_);
    is_spent_ = is_spent_ || (options_.max_calls > 0 && asked_ >= options_.max_calls) ||
                (options_.max_seconds > 0 && seconds >= options_.max_seconds);
    if (is_spent_) return {};
    ++asked_;
    progress_.show([&](double) { return fmt::format("minifying: {} asked", asked_); });
    return failures_(text);
  }
  [[nodiscard]] auto asked() const -> int { return asked_; }
  [[nodiscard]] auto is_spent() const -> bool { return is_spent_; }

 private:
  const MinifyProgramOptions& options_;
  TextFailures failures_;
  Clock::time_point start_ = Clock::now();
  Progress progress_;
  int asked_ = 0;
  bool is_spent_ = false;
};

/// Statements of `call` first, then lines of the kernels that are left.
auto reduce(const Failing& failing, const OpTable& table, Budget& budget) -> Result<Reduced> {
  Reduced reduced;
  reduced.program = failing.program.name;
  reduced.failure = failing.failure;
  const auto failures = [&](const std::string& text) { return budget.ask(text); };
  TextOracle oracle(failing.failure, failures);
  ASSAY_TRY(const auto program, CutProgram::create(failing.program.text, table));
  const auto all = everything(program.count());
  if (!oracle.fails(program.text(all)))
    return unsupported("{}: written out, the program does not fail as it did",
                       failing.program.name);
  const auto kept = minimal_parts(
      {program.count(), [&](const Kept& part) { return std::optional(program.text(part)); }},
      oracle);
  reduced.launches_before = program.launches(all);
  reduced.launches = program.launches(kept);
  reduced.statements_before = program.statements(all);
  reduced.statements = program.statements(kept);
  reduced.text = program.text(kept);
  cut_kernels(reduced, oracle);
  reduced.asked = budget.asked();
  reduced.is_complete = !budget.is_spent();
  return reduced;
}

auto written(const Reduced& reduced, const std::string& output) -> Result<std::string> {
  const std::filesystem::path given = output;
  const auto file = given.extension() == ".py" ? given : given / "minimal.py";
  std::error_code error;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
  std::ofstream stream(file, std::ios::binary);
  stream << reduced.text;
  if (!stream.flush()) return bad_input("{}: cannot be written", file.string());
  return file.string();
}

auto json_of(const Reduced& reduced, const std::string& file) -> nlohmann::ordered_json {
  return {
      {"program", reduced.program},
      {"failure", reduced.failure},
      {"launches", {{"before", reduced.launches_before}, {"after", reduced.launches}}},
      {"statements", {{"before", reduced.statements_before}, {"after", reduced.statements}}},
      {"kernel_lines", {{"before", reduced.kernel_lines_before}, {"after", reduced.kernel_lines}}},
      {"asked", reduced.asked},
      {"complete", reduced.is_complete},
      {"file", file}};
}

void print(const Reduced& reduced, const std::string& oracle, const std::string& file) {
  fmt::print("{}: {}\n", styled("minified", Style::green), reduced.failure);
  fmt::print("  program       {}\n", reduced.program);
  fmt::print("  launches      {} -> {}\n", reduced.launches_before, reduced.launches);
  fmt::print("  statements    {} -> {}\n", reduced.statements_before, reduced.statements);
  fmt::print("  kernel lines  {} -> {}\n", reduced.kernel_lines_before, reduced.kernel_lines);
  fmt::print("  oracle        {}: {} asked\n", oracle, reduced.asked);
  if (!reduced.is_complete) fmt::print("  {}\n", styled("stopped by the budget", Style::yellow));
  fmt::print("{}\n", file);
}

/// "run:out-of-bounds": the oracle, and what its failure must begin with.
auto wanted_of(const std::string& oracle) -> std::pair<std::string, std::string> {
  const auto colon = oracle.find(':');
  if (colon == std::string::npos || oracle.starts_with("exec:")) return {oracle, ""};
  return {oracle.substr(0, colon), oracle.substr(colon + 1)};
}

}  // namespace

auto minify_programs(const MinifyProgramOptions& options, std::string_view bytes) -> Result<int> {
  const auto table = build_op_table();
  const auto [name, wanted] = wanted_of(options.oracle);
  ASSAY_TRY(auto failures, program_oracle({name, options.python, options.limits}, table));
  ASSAY_TRY(const auto programs, program_texts(bytes, options.file));
  const auto failing = first_failing(programs, wanted, failures);
  if (!failing) {
    fmt::print("{}: {} finds nothing in {}\n", styled("nothing to minify", Style::yellow),
               name == "run" ? "a checked run" : "--oracle " + options.oracle,
               counted(std::ssize(programs), "program"));
    return kNothingFound;
  }
  Budget budget(options, std::move(failures));
  ASSAY_TRY(const auto reduced, reduce(*failing, table, budget));
  const int exit = reduced.is_complete ? kFindings : kUndecided;
  if (options.output == "-") {
    fmt::print("{}", reduced.text);
    return exit;
  }
  ASSAY_TRY(const auto file, written(reduced, options.output));
  if (options.json)
    fmt::print("{}\n", json_of(reduced, file).dump(2));
  else
    print(reduced, name, file);
  return exit;
}

}  // namespace assay::cli
