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

/// A statement in the trace.
struct RecordedStatement {
  std::int64_t line = 0;  ///< of the recorded text, from 1
  TraceId launch = 0;     ///< 0: it launches nothing
  TraceId node = 0;       ///< the only one that it computes; 0: none or several
};
struct RecordedProgram {
  TraceId graph = 0;
  std::map<int, RecordedStatement> statements;  ///< by HostOp::line
  std::map<const HostOp*, TraceId> launches;
  std::map<std::string, const HostOp*> last_writer;  ///< by buffer, of what `written` tells
};

/// Findings of the run stand at their launch, and at the node where it computes only one.
[[nodiscard]] auto record_program(TraceWriter& writer, const ProgramRecord& record)
    -> Result<RecordedProgram>;

/// Sets line, launch and node of what was found at the statement with that HostOp::line.
void place_at(const RecordedProgram& program, int line, FindingRow& row);

/// One row each; exactly one of the keys is set.
[[nodiscard]] auto record_values(TraceWriter& writer, std::optional<TraceId> node,
                                 std::optional<TraceId> launch, const std::string& source,
                                 const std::vector<FirstValues>& values) -> Result<void>;

}  // namespace assay
