#include "minifier/oracle/program_oracle.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "minifier/oracle/child.h"
#include "minifier/oracle/temporary_folder.h"
#include "replay/runner/cut_program.h"
#include "replay/runner/programs.h"

namespace assay {
namespace {

using Failures = std::vector<std::string>;

auto lines_of_text(const std::string& text) -> Failures {
  Failures lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

/// "access-in-bounds in triton_poi_fused_0: tl.load(in_ptr0 + (x0), xmask)"
auto failure_of(const WrapperObligation& obligation) -> std::string {
  if (obligation.kernel.empty())
    return fmt::format("{}: {}", name(obligation.kind), obligation.statement);
  return fmt::format("{} in {}: {}", name(obligation.kind), obligation.kernel, obligation.access);
}

auto refutations(const std::string& text, const OpTable& table) -> Failures {
  Failures failures;
  const auto programs = prove_programs(text, "candidate", table);
  if (!programs) return failures;
  for (const auto& program : *programs) {
    // A candidate of which less is understood fails in another way.
    const auto& report = program.report;
    const auto dark = report.kernels_not_understood.size() + report.lines_not_understood.size();
    const auto beside = dark == 0 ? std::string() : fmt::format(" ({} not understood)", dark);
    for (const auto& obligation : report.obligations) {
      if (!std::holds_alternative<Refuted>(obligation.answer)) continue;
      const auto failure = failure_of(obligation) + beside;
      if (std::ranges::find(failures, failure) == failures.end()) failures.push_back(failure);
    }
  }
  return failures;
}

/// A function in a child each, whose answer comes back as lines.
auto in_child(std::function<Failures(const std::string&)> ask, OracleLimits limits)
    -> TextFailures {
  return [ask = std::move(ask), limits](const std::vector<std::string>& texts) {
    std::vector<ChildJob> jobs(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i)
      jobs[i].function = [&, i] { return fmt::format("{}", fmt::join(ask(texts[i]), "\n")); };
    std::vector<Failures> all;
    for (const auto& result : run_children(std::move(jobs), limits))
      all.push_back(lines_of_text(result.report));
    return all;
  };
}

/// A command that gets the text as minimal.py.
auto by_command(std::string command, std::function<std::string(const ChildResult&)> judge,
                OracleLimits limits) -> TextFailures {
  return [command = std::move(command), judge = std::move(judge),
          limits](const std::vector<std::string>& texts) {
    const std::vector<TemporaryFolder> folders(texts.size());
    std::vector<ChildJob> jobs(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto file = folders[i].path() / "minimal.py";
      std::ofstream(file, std::ios::binary) << texts[i];
      jobs[i].command = command;
      jobs[i].folder = folders[i].path().string();
      jobs[i].arguments = {file.string()};
    }
    std::vector<Failures> all;
    for (const auto& result : run_children(std::move(jobs), limits)) {
      const auto failure = judge(result);
      all.push_back(failure.empty() ? Failures() : Failures{failure});
    }
    return all;
  };
}

auto reproduces(const ChildResult& child) -> std::string {
  const auto observed = judged_by_exit(child);
  return observed.outcome == Outcome::fails ? observed.signature.error_class : std::string();
}

/// `torch.AcceleratorError: CUDA error: ...`: the name of an exception and a colon.
auto names_exception(std::string_view line) -> bool {
  const auto colon = line.find(':');
  const auto name = line.substr(0, colon);
  return colon != std::string_view::npos && !name.empty() &&
         name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.") ==
             std::string_view::npos &&
         (name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Interrupt"));
}

/// The signal, or the exception with its message: what Python prints last may explain it further.
auto exception_of(const ChildResult& child) -> std::string {
  if (child.timed_out || child.out_of_memory) return {};
  if (child.signal != 0) return signal_name(child.signal);
  if (child.exit_code == 0) return {};
  const auto lines = lines_of_text(child.output);
  if (lines.empty()) return fmt::format("exit {}", child.exit_code);
  const auto named = std::find_if(lines.rbegin(), lines.rend(), names_exception);
  constexpr std::size_t kMost = 200;
  return normalised(named == lines.rend() ? lines.back() : *named).substr(0, kMost);
}

}  // namespace

auto program_oracle(const ProgramOracleOptions& options, const OpTable& table)
    -> Result<TextFailures> {
  const auto colon = options.oracle.find(':');
  const auto kind = options.oracle.substr(0, colon);
  const auto rest = colon == std::string::npos ? std::string() : options.oracle.substr(colon + 1);
  if (kind == "run")
    return in_child([&table](const std::string& text) { return run_failures(text, table); },
                    options.limits);
  if (kind == "stage" && options.wrong != nullptr)
    return in_child(
        [&table, wrong = options.wrong](const std::string& text) {
          return wrong_launch_failures(text, *wrong, table);
        },
        options.limits);
  if (kind == "prove")
    return in_child([&table](const std::string& text) { return refutations(text, table); },
                    options.limits);
  if (kind == "exec" && !rest.empty()) return by_command(rest, reproduces, options.limits);
  if (kind == "torch" && rest.empty()) {
    // Questions are asked in folders of their own.
    const auto python = options.python.contains('/')
                            ? std::filesystem::absolute(options.python).string()
                            : options.python;
    ChildJob there;
    there.command = fmt::format("command -v '{}'", python);
    if (run_children({std::move(there)}, options.limits).front().exit_code != 0)
      return std::unexpected(Error{ErrorCode::missing_tool,
                                   fmt::format("--python: \"{}\" is no command", options.python)});
    return by_command(fmt::format("'{}' \"$1\"", python), exception_of, options.limits);
  }
  return std::unexpected(
      Error{ErrorCode::usage,
            fmt::format("--oracle: \"{}\" judges no compiled program: run[:FAULT], stage, "
                        "prove[:KIND], exec:COMMAND and torch do",
                        options.oracle)});
}

}  // namespace assay
