#include "minifier/oracle/program_oracle.h"

#include <algorithm>
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

/// A function in a child, whose answer comes back as lines.
auto in_child(std::function<Failures(const std::string&)> ask, OracleLimits limits)
    -> TextFailures {
  return [ask = std::move(ask), limits](const std::string& text) {
    ChildJob job;
    job.function = [&] { return fmt::format("{}", fmt::join(ask(text), "\n")); };
    const auto results = run_children({std::move(job)}, limits);
    return lines_of_text(results.front().report);
  };
}

/// A command that gets the text as minimal.py.
auto by_command(std::string command, std::function<std::string(const ChildResult&)> judge,
                OracleLimits limits) -> TextFailures {
  return [command = std::move(command), judge = std::move(judge), limits](const std::string& text) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "minimal.py";
    std::ofstream(file, std::ios::binary) << text;
    ChildJob job;
    job.command = command;
    job.folder = folder.path().string();
    job.arguments = {file.string()};
    const auto failure = judge(run_children({std::move(job)}, limits).front());
    return failure.empty() ? Failures() : Failures{failure};
  };
}

auto reproduces(const ChildResult& child) -> std::string {
  const auto observed = judged_by_exit(child);
  return observed.outcome == Outcome::fails ? observed.signature.error_class : std::string();
}

/// The signal, or the exception with its message, which Python prints last.
auto exception_of(const ChildResult& child) -> std::string {
  if (child.timed_out || child.out_of_memory) return {};
  if (child.signal != 0) return signal_name(child.signal);
  if (child.exit_code == 0) return {};
  const auto lines = lines_of_text(child.output);
  constexpr std::size_t kMost = 200;
  return lines.empty() ? fmt::format("exit {}", child.exit_code)
                       : normalised(lines.back()).substr(0, kMost);
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
  if (kind == "prove")
    return in_child([&table](const std::string& text) { return refutations(text, table); },
                    options.limits);
  if (kind == "exec" && !rest.empty()) return by_command(rest, reproduces, options.limits);
  if (kind == "torch" && rest.empty())
    return by_command(fmt::format("'{}' \"$1\"", options.python), exception_of, options.limits);
  return std::unexpected(
      Error{ErrorCode::usage,
            fmt::format("--oracle: \"{}\" judges no compiled program: run[:FAULT], prove[:KIND], "
                        "exec:COMMAND and torch do",
                        options.oracle)});
}

}  // namespace assay
