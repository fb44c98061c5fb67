// Running compiled programs, for `run` and `debug`.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "cli/executors.h"
#include "core/base/result.h"

namespace assay {
class RandomState;
}

namespace assay::cli {

struct CompiledOptions {
  std::string file, inputs, blocks, seed;
  ExecutorOptions executor{.executor = {}};  ///< not named: interpret
  bool check = false, json = false;
};
void add_compiled(Arguments& arguments, CompiledOptions& options);
/// Generators with the seed that --seed names; null without. Errors: usage.
[[nodiscard]] auto seeded_generators(const CompiledOptions& options)
    -> Result<std::shared_ptr<RandomState>>;
/// Runs a TORCH_TRACE log or wrapper, given as bytes, and prints. `judges`: findings and
/// differences from the answers are exit code 1, programs that did not run 5.
[[nodiscard]] auto run_compiled(const CompiledOptions& options, std::string_view bytes, bool judges)
    -> Result<int>;

}  // namespace assay::cli
