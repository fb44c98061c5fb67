// Compiled programs, for `minify`.
#pragma once
#include <string>

#include "core/base/result.h"
#include "minifier/oracle/oracle.h"
#include "replay/bundle/bundle.h"

namespace assay::cli {

struct MinifyProgramOptions {
  std::string file, output;
  /// `run[:FAULT]`, `stage`, `prove[:KIND]`, `exec:COMMAND`, `torch`; without FAULT or KIND
  /// whatever comes first.
  std::string oracle = "run";
  std::string inputs;  ///< `stage`: file of recorded inputs; made up without
  std::string python = "python3";
  std::string trace;  ///< file that gets every candidate; empty: none
  OracleLimits limits;
  double max_seconds = 0;  ///< then the smallest so far is written; 0: no limit
  int max_calls = 0, workers = 1;
  bool calls_only = false;
  bool fresh = false;  ///< forget the answers of earlier runs
  bool json = false;
};
/// Cuts the first program of a log, or the wrapper, that fails, and writes it where `output` says:
/// a .py file, minimal.py in that folder with minimal.assay.zip beside it, or `-`.
[[nodiscard]] auto minify_programs(const MinifyProgramOptions& options,
                                   const ProgramBundle& program) -> Result<int>;

}  // namespace assay::cli
