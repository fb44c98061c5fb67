// The recorded verdict of a bundle, and whether a later run agrees.
#pragma once
#include <string>
#include <vector>

#include "replay/formats/capture.h"
#include "replay/interp/debug.h"
#include "replay/runner/execute.h"
#include "replay/runner/stages.h"

namespace assay {

/// The options that decide a verdict; stored with it so that a replay runs the same.
struct VerdictOptions {
  std::string at = {};
  bool sweep = false;
  std::string command = "debug";       ///< "run": a compiled program, every access checked
  std::string blocks = {}, seed = {};  ///< of run
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
/// Wrong accesses, programs that did not end, values that differ from the recorded ones.
[[nodiscard]] auto verdict_of(const LogExecution& execution, const VerdictOptions& options,
                              int exit_code) -> Verdict;
/// Stages that differ, with their node or launch.
[[nodiscard]] auto verdict_of(const StageReport& report, const VerdictOptions& options,
                              int exit_code) -> Verdict;
[[nodiscard]] auto verdict_json(const Verdict& verdict) -> std::string;
/// Errors: bad_input, unsupported (another schema version).
[[nodiscard]] auto parse_verdict(const std::string& json) -> Result<Verdict>;

}  // namespace assay
