// What judges a compiled program, which is a text: the signatures of its failures.
#pragma once
#include <memory>
#include <string>

#include "core/ops/op_table.h"
#include "minifier/oracle/oracle.h"
#include "minifier/search/minify_text.h"
#include "replay/runner/wrong_launch.h"

namespace assay {

struct ProgramOracleOptions {
  /// `run` (what a checked run finds), `stage` (`wrong` still gives the same wrong elements),
  /// `prove` (bounds that are refuted), `exec:COMMAND` (gets minimal.py; exit codes as for graphs)
  /// or `torch` (minimal.py ends with an exception or signal).
  std::string oracle = "run";
  const WrongLaunch* wrong = nullptr;  ///< of `stage`; must outlive the result
  std::string python = "python3";      ///< of `torch`
  OracleLimits limits;                 ///< of one question
};

/// Each question is a child process of its own, so that what hangs or crashes is no more than a
/// text without that failure. `table` must outlive the result. Errors: usage.
[[nodiscard]] auto program_oracle(const ProgramOracleOptions& options, const OpTable& table)
    -> Result<TextFailures>;

}  // namespace assay
