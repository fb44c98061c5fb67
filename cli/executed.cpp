#include "cli/executed.h"

#include "cli/command.h"
#include "cli/gpu_child.h"
#include "minifier/oracle/observed_json.h"
#include "replay/report/compile_report.h"
#include "replay/runner/decision_blame.h"

namespace assay::cli {
namespace {

auto inputs_of(const Capture& capture, const ExecutedOptions& options) -> Result<RunInputs> {
  return options.at.empty() ? recorded_inputs(capture) : inputs_at(capture, options.at);
}

auto compared(const Capture& capture, const OpTable& table, const ExecutedOptions& options,
              const CompiledGraph& compiled) -> Result<CompiledComparison> {
  ASSAY_TRY(const auto inputs, inputs_of(capture, options));
  ASSAY_TRY(const auto executor, make_executor(options.executor, table));
  return compare_with_reference(capture.graph, compiled, *executor, inputs, table);
}

auto compiled_with(const Capture& capture, const OpTable& table, const ExecutedOptions& options)
    -> Result<CompiledGraph> {
  CompileOptions asked;
  asked.fault = options.fault;
  asked.fault_at = options.fault_at;
  return compile_graph(capture, table, asked);
}

/// The first difference, or the first wrong access.
auto signature_of(const CompiledComparison& comparison) -> Signature {
  Signature signature;
  signature.stage = "executor";
  for (const auto& finding : comparison.run.findings) {
    signature.error_class = name(finding.fault);
    return signature;
  }
  signature.error_class = "differs";
  signature.numeric = "mismatch";
  return signature;
}

auto judge_here(const Capture& capture, const OpTable& table, const ExecutedOptions& options)
    -> Observed {
  Observed seen;
  const auto compiled = compiled_with(capture, table, options);
  if (!compiled) {
    // A fault that finds nothing to be wrong about leaves a right program.
    seen.outcome = compiled.error().code == ErrorCode::bad_input && options.fault
                       ? Outcome::passes
                       : Outcome::invalid;
    seen.output = compiled.error().message;
    return seen;
  }
  const auto comparison = compared(capture, table, options, *compiled);
  if (!comparison) {
    seen.outcome = Outcome::invalid;
    seen.output = comparison.error().message;
    return seen;
  }
  if (!has_findings(*comparison)) return seen;
  seen.outcome = Outcome::fails;
  seen.signature = signature_of(*comparison);
  seen.output = check_text(*comparison, {});
  return seen;
}

/// A launch that hangs or faults is a failure with a class of its own.
auto judge(const Capture& capture, const OpTable& table, const ExecutedOptions& options)
    -> Observed {
  const auto answer = ask_guarded(options.executor, [&](const ExecutorOptions& executor) {
    auto watched = options;
    watched.executor = executor;
    return to_json(judge_here(capture, table, watched));
  });
  if (const auto* text = std::get_if<std::string>(&answer))
    if (auto seen = observed_from_json(*text)) return *std::move(seen);
  const auto* failure = std::get_if<GpuFailure>(&answer);
  if (failure == nullptr) return {.outcome = Outcome::invalid, .output = "no answer"};
  Observed seen{.outcome = Outcome::fails, .output = failure->finding.message};
  seen.signature.stage = failure->has_died ? "crash" : "executor";
  seen.signature.error_class =
      failure->has_died ? failure->signature : std::string(name(failure->finding.fault));
  if (!failure->has_died) seen.signature.message = failure->signature;
  return seen;
}

/// Does the program differ, or hang or fault? Errors: of running it.
auto differs_guarded(const Capture& capture, const OpTable& table, const ExecutedOptions& options,
                     const CompiledGraph& compiled) -> Result<bool> {
  const std::string yes = "yes", no = "no";
  const auto answer = ask_guarded(options.executor, [&](const ExecutorOptions& executor) {
    auto watched = options;
    watched.executor = executor;
    const auto found = compared(capture, table, watched, compiled);
    return !found ? found.error().message : has_findings(*found) ? yes : no;
  });
  const auto* text = std::get_if<std::string>(&answer);
  if (text == nullptr) return true;
  if (*text != yes && *text != no) return unsupported("{}", *text);
  return *text == yes;
}

}  // namespace

auto parse_executed(const std::string& text) -> Result<ExecutedOptions> {
  ExecutedOptions options;
  const auto colon = text.find(':');
  options.executor.executor = text.substr(0, colon);
  if (colon == std::string::npos) return options;
  const auto rest = text.substr(colon + 1);
  const auto at = rest.find('@');
  const auto fault = rest.substr(0, at);
  if (at != std::string::npos) options.fault_at = rest.substr(at + 1);
  options.fault = find_fault(fault);
  if (!options.fault)
    return std::unexpected(Error{ErrorCode::usage, fmt::format("\"{}\" is no fault", fault)});
  const auto place = row(*options.fault).place;
  if (place != FaultPlace::program && place != FaultPlace::lowered && place != FaultPlace::graph)
    return std::unexpected(Error{
        ErrorCode::usage, fmt::format("\"{}\" leaves what programs compute as it is", fault)});
  return options;
}

auto blame_text(const Capture& capture, const OpTable& table, const ExecutedOptions& options)
    -> Result<std::string> {
  const auto differs = [&](const CompileVariant& variant) -> Result<bool> {
    const DecisionFilter filter{{}, variant.fusions, true};
    CompileOptions asked;
    asked.fault = options.fault;
    asked.fault_at = options.fault_at;
    asked.schedule.merge = variant.merge;
    asked.schedule.is_forbidden = [&](const CompileDecision& decision) {
      return forbids(filter, decision);
    };
    auto other = options;
    other.executor.reuse = variant.reuse;
    other.executor.vectors = variant.vectors;
    other.executor.bound = variant.bound;
    const auto compiled = compile_graph(capture, table, asked);
    if (!compiled && options.fault && compiled.error().code == ErrorCode::bad_input) return false;
    if (!compiled) return std::unexpected(compiled.error());
    return differs_guarded(capture, table, other, *compiled);
  };
  ASSAY_TRY(const auto compiled, compiled_with(capture, table, options));
  ASSAY_TRY(const auto blame, blame_decisions(compiled.decisions, differs));
  if (blame.needed.empty())
    return fmt::format("it differs with every choice of the compiler off too ({} runs)",
                       blame.runs);
  return fmt::format("it differs only with {} ({} runs)", fmt::join(blame.needed, ", "),
                     blame.runs);
}

auto debug_executed(const Capture& capture, const OpTable& table, const ExecutedOptions& options)
    -> Result<bool> {
  ASSAY_TRY(const auto compiled, compiled_with(capture, table, options));
  ASSAY_TRY(const auto comparison, compared(capture, table, options, compiled));
  fmt::print("on {}: {}", options.executor.executor, check_text(comparison, paint()));
  if (!has_findings(comparison)) return false;
  ASSAY_TRY(const auto blame, blame_text(capture, table, options));
  fmt::print("{}\n", blame);
  return true;
}

auto executor_oracle(const OpTable& table, const ExecutedOptions& options,
                     const std::string& identity) -> std::unique_ptr<Oracle> {
  return function_oracle(identity, [&table, options](const Capture& capture) {
    return judge(capture, table, options);
  });
}

}  // namespace assay::cli
