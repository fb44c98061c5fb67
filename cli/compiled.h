// Running compiled programs, for `run` and `debug`.
#pragma once
#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "cli/executors.h"
#include "core/base/result.h"

namespace assay::cli {

struct CompiledOptions {
  std::string file, inputs, blocks;
  ExecutorOptions executor{.executor = {}};  ///< not named: interpret
  bool check = false, json = false;
};
void add_compiled(Arguments& arguments, CompiledOptions& options);
/// Runs a TORCH_TRACE log or wrapper, given as bytes, and prints. `judges`: findings and
/// differences from the answers are exit code 1, programs that did not run 5.
[[nodiscard]] auto run_compiled(const CompiledOptions& options, std::string_view bytes, bool judges)
    -> Result<int>;

}  // namespace assay::cli
