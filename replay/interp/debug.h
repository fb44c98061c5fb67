// DebugInterpreter: compares what a capture claims with what is there, at every node.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/finding/finding.h"
#include "replay/interp/binding.h"
#include "replay/interp/run.h"
#include "replay/interp/symbolic.h"

namespace assay {

struct DebugOptions {
  Binding at;                    ///< sizes to run at; empty: the recorded inputs
  bool sweep = false;            ///< also run at the boundary sizes the guards admit
  bool find_not_finite = false;  ///< report the first NaN or infinity
  bool symbolic = true;          ///< run the rules on symbols too
  /// Generators whose seed is known, for the run on the recorded inputs: numbers and sizes that
  /// random values decide are those of the recorded run. Null: operators draw numbers of their own.
  std::shared_ptr<RandomState> random = nullptr;
  /// RunOptions::tap of the run on the recorded inputs; at other sizes contents are not computed.
  std::function<void(std::size_t, const Datum&)> tap = {};
  std::function<void(std::size_t, std::size_t)> progress;
};

/// A difference or a failure that accuses nobody, because it rests on something made up.
struct Undecided {
  NodeId node;
  std::string node_name;
  std::string target;
  std::string message;              ///< what was found
  std::vector<std::string> inputs;  ///< what would have to be recorded to decide it
};

struct DebugCounts {
  int nodes = 0, random = 0;
  int checked = 0;    ///< run by Assay and compared, or nothing to compare
  int recorded = 0;   ///< no row: compared with the recording alone
  int unchecked = 0;  ///< neither
  int skipped = 0;    ///< an operand has no value at all
  int failed = 0;
  int undecided = 0;
  int roots = 0, inherited = 0, notes = 0;
  int sweep_points = 0;  ///< bindings run by --sweep
  /// Nodes with a claim that nobody could compare with anything.
  [[nodiscard]] auto blind() const -> int { return unchecked + skipped + undecided; }
};

struct DebugReport {
  std::vector<Finding> findings;     ///< in node order; roots and inherited, findings and notes
  std::vector<Undecided> undecided;  ///< in node order
  DebugCounts counts;
  SymbolBinding binding;
  GraphRun run;  ///< of the first (or only) binding
  std::optional<SymbolicRun> symbolic;
  std::vector<std::string> unchecked_targets;  ///< what was not checked and why, with counts
  std::vector<std::string> warnings;
};

/// Never stops at the first mismatch. Errors: bad_input when the inputs cannot be made.
[[nodiscard]] auto debug_capture(const Capture& capture, const OpTable& table,
                                 const DebugOptions& options) -> Result<DebugReport>;

/// The comparison alone, on a run that was made before (claims do not influence a run).
[[nodiscard]] auto debug_run(const Capture& capture, const OpTable& table, GraphRun run,
                             const DebugOptions& options) -> DebugReport;

/// The bindings `--sweep` tries: 0, 1, 2, hint, k*m-1, k*m, k*m+1 around every constant divisor m
/// of a Mod or FloorDiv over the symbol, and one large value, as far as ranges and guards admit.
[[nodiscard]] auto sweep_bindings(const Graph& graph, const Binding& base) -> std::vector<Binding>;

}  // namespace assay
