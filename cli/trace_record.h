// Records of a run: the SQLite trace, and the bundle with its verdict.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "replay/interp/debug.h"
#include "replay/trace/trace.h"

namespace assay::cli {

/// Rows of a command's own, after all others: gets the run and the keys of its nodes.
using MoreRows =
    std::function<Result<void>(TraceWriter&, TraceId run, const std::map<NodeId, TraceId>& nodes)>;

/// Writes graphs, nodes, claims, observations, findings, symbols, guards and environment. A report
/// without a run (of nodes) records no statuses and observations.
[[nodiscard]] auto record_trace(const std::string& path, const Capture& capture,
                                const DebugReport& report, const std::string& command,
                                const std::string& options, int exit_code,
                                const MoreRows& more = {}) -> Result<void>;

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
