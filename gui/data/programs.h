// A compiled program as a trace has it: what it launches, where its buffers stand, and why.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gui/data/cursor.h"

namespace assay {

struct LaunchFinding {
  std::string kind, message;
  std::int64_t kernel_line = 0;  ///< of the kernel's text, from 1; 0: none
};
struct LaunchFacts {
  TraceId id = 0, kernel = 0;  ///< kernel 0: a library call
  std::int64_t line = 0;       ///< of the program's text, from 1
  std::string kind, target, grid, extents, text;
  std::vector<Cursor> nodes;  ///< with graph, node and launch
  std::vector<std::string> names;
  std::vector<std::string> reads, writes;  ///< buffers; both where it changes one in place
  std::vector<LaunchFinding> findings;     ///< of a run
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
  TraceId id = 0;  ///< 0: none
  std::string name, text, sizes;
  bool is_planned = false;
  std::int64_t arena_bytes = 0, live_bytes = 0, sum_bytes = 0;
  std::vector<LaunchFacts> launches;  ///< by step
  std::vector<DecisionFacts> decisions;
  std::vector<BufferFacts> buffers;
  std::vector<std::pair<TraceId, std::string>> all;  ///< programs of the trace, by id with name
};

/// A program of the trace, the first for 0. Errors: of SQLite.
[[nodiscard]] auto read_program(const TraceReader& reader, TraceId id = 0) -> Result<ProgramFacts>;
/// The program that a place belongs to, where it is another than `shown`; else none (id 0).
[[nodiscard]] auto read_program_at(const TraceReader& reader, const Cursor& cursor, TraceId shown)
    -> Result<ProgramFacts>;

/// By step: bytes of the buffers in the arena that live then, each once: one that takes its
/// operand's place counts where the operand no longer does.
[[nodiscard]] auto live_bytes(const ProgramFacts& program) -> std::vector<std::int64_t>;
/// The step that belongs to a place: of the launch, else the first that computes the node; -1:
/// none.
[[nodiscard]] auto step_of(const ProgramFacts& program, const Cursor& cursor) -> std::int64_t;

}  // namespace assay
