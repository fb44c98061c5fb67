// Rows of a trace: what a run or a proof leaves in the SQLite store.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "replay/interp/debug.h"
#include "replay/report/prove_report.h"
#include "replay/trace/trace.h"

namespace assay {

/// Keys of what a recording has written.
struct RecordedIds {
  TraceId run = 0;
  TraceId graph = 0;
  std::map<NodeId, TraceId> nodes;
};
/// Rows of a command's own, after all others.
using MoreRows = std::function<Result<void>(TraceWriter&, const RecordedIds&)>;

/// Writes graphs, nodes, claims, observations, findings, symbols, guards and environment. A report
/// without a run (of nodes) records no statuses and observations.
[[nodiscard]] auto record_trace(const std::string& path, const Capture& capture,
                                const DebugReport& report, const std::string& command,
                                const std::string& options, int exit_code,
                                const MoreRows& more = {}) -> Result<void>;

// The parts of record_trace, for what is not a capture.
/// A run that starts now, of this version of Assay.
[[nodiscard]] auto run_row(const std::string& command, const std::string& source,
                           const std::string& format, const std::string& options) -> RunRow;
/// Guards get their position as `seq`, and whether they hold at the binding.
[[nodiscard]] auto record_symbols(TraceWriter& writer, TraceId graph, const ShapeEnv& env,
                                  const Binding& binding) -> Result<void>;
/// A graph by itself: nodes, claims, edges and symbols. Of `row` graph text and hash are filled in.
[[nodiscard]] auto record_graph(TraceWriter& writer, const Graph& graph, GraphRow row)
    -> Result<RecordedIds>;
/// Counts equal messages and writes each once.
[[nodiscard]] auto record_problems(TraceWriter& writer, TraceId run, const std::string& kind,
                                   const std::vector<std::string>& messages) -> Result<void>;
/// Without a node.
[[nodiscard]] auto finding_row(TraceId run, const Finding& finding) -> FindingRow;
/// Sets verdict, tier, and witness or reason.
void fill_answer(ProofRow& row, const Answer& answer,
                 const std::function<std::string(const Refuted&)>& witness);

/// All verdicts of a proof, as rows behind those of a capture with the same nodes and guards.
[[nodiscard]] auto proof_rows(const Capture& capture, const ProveReport& report) -> MoreRows;

/// Writes a trace with findings, and every verdict with its tier and the guards it rests on.
[[nodiscard]] auto record_proofs(const std::string& path, const Capture& capture,
                                 const ProveReport& report, int exit_code) -> Result<void>;

}  // namespace assay
