// The memory of a compiled graph at given sizes.
#pragma once
#include <string>
#include <vector>

#include "compiler/runtime/memory_plan.h"
#include "core/ops/op_table.h"

namespace assay {

struct CompiledGraph;
struct Graph;
struct RunInputs;

struct ProgramMemory {
  BoundProgram bound;
  MemoryPlan plan;
  std::vector<std::string> broken;  ///< what check_plan says
};

/// Binds a program to inputs, of which only layouts count, and plans its temporaries. The program
/// must outlive the result. Errors: of compile_kernels and bind_program.
[[nodiscard]] auto plan_program(const HostProgram& program, const DatumList& inputs,
                                const OpTable& table, const MemoryPlanOptions& options = {})
    -> Result<ProgramMemory>;
/// The same at the sizes that the program's text gives for its inputs.
[[nodiscard]] auto plan_as_recorded(const HostProgram& program, const OpTable& table)
    -> Result<ProgramMemory>;

/// Binds the program to these inputs and plans its temporaries; every reuse becomes a decision of
/// `compiled`. Errors: of bind_program.
[[nodiscard]] auto plan_compiled(const Graph& graph, CompiledGraph& compiled,
                                 const RunInputs& inputs, const OpTable& table,
                                 const MemoryPlanOptions& options) -> Result<ProgramMemory>;

}  // namespace assay
