#include "cli/executed.h"

#include "cli/command.h"
#include "replay/report/compile_report.h"
#include "replay/runner/decision_blame.h"

namespace assay::cli {
namespace {

auto compared(const Capture& capture, const OpTable& table, const ExecutorOptions& options,
              const RunInputs& inputs, const CompiledGraph& compiled)
    -> Result<CompiledComparison> {
  ASSAY_TRY(const auto executor, make_executor(options, table));
  return compare_with_reference(capture.graph, compiled, *executor, inputs, table);
}

}  // namespace

auto debug_executed(const Capture& capture, const OpTable& table, const ExecutorOptions& executor,
                    const Binding& at) -> Result<bool> {
  ASSAY_TRY(const auto inputs, at.empty() ? recorded_inputs(capture) : inputs_at(capture, at));
  ASSAY_TRY(const auto compiled, compile_graph(capture, table));
  ASSAY_TRY(const auto comparison, compared(capture, table, executor, inputs, compiled));
  fmt::print("on {}: {}", executor.executor, check_text(comparison, paint()));
  if (!has_findings(comparison)) return false;
  const auto differs = [&](const CompileVariant& variant) -> Result<bool> {
    const DecisionFilter filter{{}, variant.fusions, true};
    CompileOptions asked;
    asked.schedule.is_forbidden = [&](const CompileDecision& decision) {
      return forbids(filter, decision);
    };
    auto chosen = executor;
    chosen.reuse = variant.reuse;
    chosen.vectors = variant.vectors;
    chosen.bound = variant.bound;
    ASSAY_TRY(const auto other, compile_graph(capture, table, asked));
    ASSAY_TRY(const auto found, compared(capture, table, chosen, inputs, other));
    return has_findings(found);
  };
  ASSAY_TRY(const auto blame, blame_decisions(compiled.decisions, differs));
  if (blame.needed.empty())
    fmt::print("it differs without any choice of the compiler too ({} runs)\n", blame.runs);
  else
    fmt::print("it differs only with {} ({} runs)\n", fmt::join(blame.needed, ", "), blame.runs);
  return true;
}

}  // namespace assay::cli
