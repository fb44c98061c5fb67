// A compiled program as rows of a trace: its text, kernels, steps and memory, what a run of it
// found, and the first values that it left.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "replay/report/trace_rows.h"
#include "replay/runner/first_values.h"
#include "replay/runner/program_memory.h"

namespace assay {

struct ProgramRecord {
  const HostProgram& program;
  /// Run, name, compilation. Without a text it gets the statements, one a line, linked to nodes.
  GraphRow row;
  const std::map<std::string, TraceId>& nodes;  ///< that it may come from, by name
  /// Of library calls, by HostOp::line; null: nothing is known of them.
  const std::map<int, std::string>* call_nodes = nullptr;
  const ProgramMemory* memory = nullptr;  ///< null: steps have no sizes
  std::string sizes = {};                 ///< "s77 = 5", of memory and run
  const ProgramRun* run = nullptr;        ///< null: not run
  const WrittenValues* written = nullptr;
};

struct RecordedProgram {
  TraceId graph = 0;
  std::map<const HostOp*, TraceId> launches;
  std::map<std::string, const HostOp*> last_writer;  ///< by buffer, of what `written` tells
};

/// Findings of the run stand at their launch, and at the node where it computes only one.
[[nodiscard]] auto record_program(TraceWriter& writer, const ProgramRecord& record)
    -> Result<RecordedProgram>;

/// One row each; exactly one of the keys is set.
[[nodiscard]] auto record_values(TraceWriter& writer, std::optional<TraceId> node,
                                 std::optional<TraceId> launch, const std::string& source,
                                 const std::vector<FirstValues>& values) -> Result<void>;

}  // namespace assay
