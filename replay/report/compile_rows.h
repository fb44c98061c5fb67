// A compiled graph as rows of a trace: program, decisions, and what a check found.
#pragma once
#include <optional>
#include <string>

#include "compiler/prove/wrapper_bounds.h"
#include "replay/report/trace_rows.h"
#include "replay/runner/compile.h"
#include "replay/runner/program_memory.h"

namespace assay {

struct CompileRecord {
  const Capture& capture;
  const CompiledGraph& compiled;
  const ProgramMemory* memory = nullptr;  ///< bound from `compiled`; null: no step has sizes
  std::string not_planned = {};           ///< why there is no memory
  std::string sizes = {};                 ///< of the plan
  const CompiledComparison* comparison = nullptr;  ///< null: not run
  const ComparedValues* values = nullptr;          ///< null: not recorded
  const WrapperReport* proofs = nullptr;           ///< null: nothing was proved
};

/// Writes a trace with the capture's graph and its program. An output that differs is a finding at
/// its node and at the launch that wrote it.
[[nodiscard]] auto record_compiled(const std::string& path, const CompileRecord& record,
                                   int exit_code) -> Result<void>;

}  // namespace assay
