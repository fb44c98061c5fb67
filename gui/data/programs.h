// A compiled program as a trace has it: what it launches, where its buffers stand, and why.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gui/data/cursor.h"

namespace assay {

struct LaunchFacts {
  TraceId id = 0, kernel = 0;  ///< kernel 0: a library call
  std::int64_t line = 0;       ///< of the program's text, from 1
  std::string kind, target, grid, extents, text;
  std::vector<Cursor> nodes;  ///< with graph, node and launch
  std::vector<std::string> names;
  std::vector<std::string> reads, writes;  ///< buffers; both where it changes one in place
};
struct DecisionFacts {
  std::string kind, verdict, subject, other, reason;
  Cursor cursor;  ///< of the node, if it is about one
};
struct BufferFacts {
  std::string name, kind, dtype, written_over;
  std::int64_t bytes = 0;
  std::optional<std::int64_t> offset;  ///< in the arena, in bytes
  std::int64_t first = -1, last = -1;  ///< steps that use it; -1: none
};
struct ProgramFacts {
  TraceId id = 0;  ///< 0: the trace has no program
  std::string name, text, sizes;
  bool is_planned = false;
  std::int64_t arena_bytes = 0, live_bytes = 0, sum_bytes = 0;
  std::vector<LaunchFacts> launches;  ///< by step
  std::vector<DecisionFacts> decisions;
  std::vector<BufferFacts> buffers;
};

/// The first program of the trace. Errors: of SQLite.
[[nodiscard]] auto read_program(const TraceReader& reader) -> Result<ProgramFacts>;

/// By step: bytes of the buffers in the arena that live then, each once: one that takes its
/// operand's place counts where the operand no longer does.
[[nodiscard]] auto live_bytes(const ProgramFacts& program) -> std::vector<std::int64_t>;
/// The step that belongs to a place: of the launch, else the first that computes the node; -1:
/// none.
[[nodiscard]] auto step_of(const ProgramFacts& program, const Cursor& cursor) -> std::int64_t;

}  // namespace assay
