// Library calls beside the launches that take their place, in the checking interpreter.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/cuda/call_kernels.h"
#include "compiler/runtime/bound_run.h"
#include "tests/support/compiled.h"

namespace assay::testing {

inline auto op_table() -> const OpTable& {
  static const auto kRows = build_op_table();
  return kRows;
}

/// Launches of kernels that stand for calls, and of the program's own; what the interpreter says of
/// them is an error.
class CallDevice final : public BoundDevice {
 public:
  CallDevice(const CallKernels& kernels, const CompiledKernels& own)
      : kernels_(kernels), own_(own) {}
  [[nodiscard]] auto launch(const BoundProgram& bound, const BoundLaunch& launch,
                            const LaunchArguments& arguments, ProgramRun& run) const
      -> Result<void> override {
    const auto& name = bound.kernels[launch.kernel];
    const auto made = kernels_.find(name);
    const auto* const kernel = made ? made.get() : &own_.at(name).kernel();
    if (const auto broken = verify(*kernel); !broken.empty())
      return bad_input("{}: {}", kernel->name, broken[0]);
    ASSAY_TRY(const auto code, TileCode::compile(*kernel));
    const auto before = run.findings.size();
    ASSAY_TRY_VOID(run_tiles(code, launch, arguments, run));
    if (run.findings.size() > before)
      return bad_input("{}: {}", kernel->name, run.findings.back().message);
    return {};
  }

 private:
  const CallKernels& kernels_;
  const CompiledKernels& own_;
};

struct CallRuns {
  ProgramRun called, launched;
  std::size_t launches = 0, calls = 0;  ///< of the second
};
inline auto run_both(BoundGraph& graph, const CallKernels::IsTaken& is_taken = {})
    -> Result<CallRuns> {
  CallKernels kernels(op_table());
  const CallDevice device(kernels, graph.kernels);
  const BoundOptions options{.memory = {.redzone_bytes = 256}, .is_checked = true};
  CallRuns runs;
  ASSAY_TRY(runs.called, ReadyProgram(graph.bound, device, options).run(graph.inputs));
  auto expanded = graph.bound;
  kernels.expand(expanded, is_taken);
  for (const auto& step : expanded.steps) {
    runs.launches += std::holds_alternative<BoundLaunch>(step) ? 1U : 0U;
    runs.calls += std::holds_alternative<BoundCall>(step) ? 1U : 0U;
  }
  ASSAY_TRY(runs.launched, ReadyProgram(expanded, device, options).run(graph.inputs));
  if (!runs.launched.findings.empty())
    return bad_input("{}", runs.launched.findings.front().message);
  return runs;
}

}  // namespace assay::testing
