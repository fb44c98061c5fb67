// Executors by name, for subcommands that run compiled graphs.
#pragma once
#include <memory>
#include <string>

#include "cli/arguments.h"
#include "compiler/program/executor.h"
#include "compiler/runtime/cuda/launch_watch.h"
#include "core/base/result.h"
#include "core/ops/op_table.h"

namespace assay::cli {

struct ExecutorOptions {
  std::string executor = "interpret";
  int threads = 0;
  bool reuse = true;    ///< of the memory of temporaries
  bool vectors = true;  ///< false: scalar code
  /// Of cpu: around temporaries, which start as poison; of cuda: every access in bounds.
  bool redzones = false;
  bool tf32 = false;  ///< of cuda: convolutions may round to it
  bool tune = false;  ///< of cuda
  bool bound = true;  ///< false: the host side is evaluated in every call
  bool no_code_cache = false;
  /// Of cuda, in s: a launch that takes longer hangs, 0: none does.
  double launch_timeout = 10;
  cuda::LaunchWatch* watch = nullptr;  ///< in a child that uses the GPU (gpu_child.h)
};

void add_launch_timeout(Arguments& arguments, ExecutorOptions& options);
void add_executor(Arguments& arguments, ExecutorOptions& options);
/// Errors: usage (an unknown name), missing_tool later, when a program is compiled.
[[nodiscard]] auto make_executor(const ExecutorOptions& options, const OpTable& table)
    -> Result<std::unique_ptr<Executor>>;

}  // namespace assay::cli
