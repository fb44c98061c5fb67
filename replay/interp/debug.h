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
  std::function<void(std::size_t, std::size_t)> progress;
};

struct DebugCounts {
  int nodes = 0, checked = 0, unchecked = 0, skipped = 0, failed = 0, random = 0;
  int roots = 0, inherited = 0, notes = 0;
  int sweep_points = 0;  ///< bindings run by --sweep
};

struct DebugReport {
  std::vector<Finding> findings;  ///< in node order; roots and inherited, findings and notes
  DebugCounts counts;
  SymbolBinding binding;
  GraphRun run;  ///< of the first (or only) binding
  std::optional<SymbolicRun> symbolic;
  std::vector<std::string> unchecked_targets;  ///< operators without a row, with counts
  std::vector<std::string> warnings;
};

/// Never stops at the first mismatch. Errors: bad_input when the inputs cannot be made.
[[nodiscard]] auto debug_capture(const Capture& capture, const OpTable& table,
                                 const DebugOptions& options) -> Result<DebugReport>;

/// The comparison alone, on a run that was made before (claims do not influence a run).
[[nodiscard]] auto debug_run(const Capture& capture, GraphRun run, const DebugOptions& options)
    -> DebugReport;

/// The bindings `--sweep` tries: 0, 1, 2, hint, k*m-1, k*m, k*m+1 around every constant divisor m
/// of a Mod or FloorDiv over the symbol, and one large value, as far as ranges and guards admit.
[[nodiscard]] auto sweep_bindings(const Graph& graph, const Binding& base) -> std::vector<Binding>;

}  // namespace assay
