#include "replay/runner/program_memory.h"

namespace assay {

auto plan_compiled(const Graph& graph, CompiledGraph& compiled, const RunInputs& inputs,
                   const OpTable& table, const MemoryPlanOptions& options)
    -> Result<ProgramMemory> {
  ASSAY_TRY(const auto kernels, compile_kernels(compiled.program));
  ProgramMemory memory;
  ASSAY_TRY(memory.bound,
            bind_program(compiled.program, kernels, table, program_inputs(graph, inputs)));
  memory.plan = plan_memory(memory.bound, options);
  memory.broken = check_plan(memory.bound, memory.plan);
  for (const auto& made : memory.plan.decisions)
    compiled.decisions.push_back(
        {CompileDecision::Kind::reuse, made.accepted, made.buffer, made.other, made.reason});
  return memory;
}

}  // namespace assay
