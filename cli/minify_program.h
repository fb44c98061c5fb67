// Compiled programs, for `minify`.
#pragma once
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace assay::cli {

struct MinifyProgramOptions {
  std::string file, output;
  std::string fault;  ///< `--oracle run:FAULT`; empty: whatever comes first
  bool json = false;
};
/// Cuts the first program of a log, or the wrapper, in which a checked run finds something, and
/// writes it where `output` says: a .py file, minimal.py in that folder, or `-`.
[[nodiscard]] auto minify_programs(const MinifyProgramOptions& options, std::string_view bytes)
    -> Result<int>;

}  // namespace assay::cli
