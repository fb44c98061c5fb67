// The first look: what is wrong, in one sentence, and the node where it begins.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "gui/data/cursor.h"
#include "replay/trace/trace.h"

namespace assay {

struct TriageFinding {
  TraceId id = 0;
  Cursor cursor;
  std::string kind, title, blame, severity, message, claimed, observed, rule, witness;
  std::string node, target, call, file, function, code;
  std::int64_t line = 0;
  std::string launch;                              ///< kernel or operator of the step that met it
  std::int64_t program_line = 0, kernel_line = 0;  ///< in their texts, from 1; 0: none
  /// Who is to blame, as far as anyone is.
  [[nodiscard]] auto who() const -> const std::string& { return node.empty() ? launch : node; }
  [[nodiscard]] auto is_note() const -> bool { return severity == "note"; }
};

struct TriageCounts {
  std::int64_t roots = 0, inherited = 0, notes = 0;
  std::int64_t proved = 0, refuted = 0, unknown = 0;  ///< proofs
  std::int64_t nodes = 0;
  std::int64_t candidates = 0, same = 0, calls = 0, least_calls = 0;  ///< of a reduction
  bool counts_lines = false;  ///< it reduced a program: these are lines, not calls
};

struct TriageGraph {
  TraceId id = 0;
  std::string name, kind;
  std::int64_t nodes = 0;
};

struct Triage {
  std::string sentence;  ///< one line, verdict first
  std::string details;   ///< counts and sizes
  bool is_clean = false;
  TriageCounts counts;
  std::vector<TriageFinding> findings;  ///< roots first, then in execution order; the worst 500
  std::vector<TriageGraph> graphs;
  std::map<std::string, std::int64_t> problems;  ///< by kind
  std::string failure;                           ///< that a reduction keeps
  std::string command, source, format, tool, started;
};

[[nodiscard]] auto read_triage(const TraceReader& reader) -> Result<Triage>;

}  // namespace assay
