// Records of a run: the SQLite trace, and the bundle with its verdict.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "replay/interp/debug.h"
#include "replay/trace/trace.h"

namespace assay::cli {

//// Keys of what a recording has written.
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
/// A run that starts now.
[[nodiscard]] auto run_row(const std::string& command, const std::string& source,
                           const std::string& format, const std::string& options) -> RunRow;
/// Guards get their position as `seq`, and whether they hold at the binding.
[[nodiscard]] auto record_symbols(TraceWriter& writer, TraceId graph, const ShapeEnv& env,
                                  const Binding& binding) -> Result<void>;
/// Without a node.
[[nodiscard]] auto finding_row(TraceId run, const Finding& finding) -> FindingRow;

/// The options that decide a verdict; stored with it so that a replay runs the same.
struct VerdictOptions {
  std::string at;
  bool sweep = false;
};
/// Packs capture and verdict into a bundle file, replaced as a whole or not at all.
[[nodiscard]] auto record_bundle(const std::string& path, const Capture& capture,
                                 const DebugReport& report, const VerdictOptions& options,
                                 int exit_code) -> Result<void>;

/// A verdict: options, exit code, and one line per finding ("wrong-stride root add_3[0]").
struct Verdict {
  VerdictOptions options;
  int exit_code = 0;
  std::vector<std::string> findings;  ///< sorted; notes are left out
};
[[nodiscard]] auto verdict_of(const DebugReport& report, const VerdictOptions& options,
                              int exit_code) -> Verdict;
[[nodiscard]] auto verdict_json(const Verdict& verdict) -> std::string;
/// Errors: bad_input, unsupported (another schema version).
[[nodiscard]] auto parse_verdict(const std::string& json) -> Result<Verdict>;

}  // namespace assay::cli
