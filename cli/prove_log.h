// assay prove for compiled programs: TORCH_TRACE logs and Inductor wrappers.
#pragma once
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace assay::cli {

struct ProveLogOptions {
  bool json = false;
  bool all = false;            ///< list every obligation, not only those that are not proved
  std::string smt_lib, trace;  ///< folder of scripts and SQLite file to write; empty: none
};

/// Whether `assay prove` should hand these bytes to prove_log.
[[nodiscard]] auto is_trace_or_wrapper(std::string_view bytes) -> bool;

/// Proves storage and index bounds of every Inductor program in the log, or of the wrapper; prints
/// the verdict and gives the exit code (findings before undecided).
/// Errors: of the readers; files that cannot be written.
[[nodiscard]] auto prove_log(std::string_view bytes, const std::string& name,
                             const ProveLogOptions& options) -> Result<int>;

}  // namespace assay::cli
