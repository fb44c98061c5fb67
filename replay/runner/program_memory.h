// The memory of a compiled graph at given sizes.
#pragma once
#include <string>
#include <vector>

#include "compiler/runtime/memory_plan.h"
#include "replay/runner/compile.h"

namespace assay {

struct ProgramMemory {
  BoundProgram bound;
  MemoryPlan plan;
  std::vector<std::string> broken;  ///< what check_plan says
};

/// Binds the program to these inputs and plans its temporaries; every reuse becomes a decision of
/// `compiled`. Errors: of bind_program.
[[nodiscard]] auto plan_compiled(const Graph& graph, CompiledGraph& compiled,
                                 const RunInputs& inputs, const OpTable& table,
                                 const MemoryPlanOptions& options) -> Result<ProgramMemory>;

}  // namespace assay
