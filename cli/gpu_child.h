// Work on a GPU in a child process. A launch that never ends, or that takes its process' work on
// the GPU along, ends the child, and the parent says which launch it was.
#pragma once
#include <functional>
#include <string>
#include <variant>

#include "cli/executors.h"
#include "compiler/program/executor.h"

namespace assay::cli {

/// Why a child on a GPU has no answer.
struct GpuFailure {
  /// launch_hangs or launch_faults, with kernel, line and statement where they are known, or a
  /// message alone.
  RunFinding finding;
  bool is_finding = false;  ///< else: the child died, or only launches issued at once do not end
  /// The same at all sizes: what a reduction knows the failure by.
  std::string signature;
  bool has_died = false;
};

/// Runs the work of a subcommand. With `--executor cuda` that is a child's, which has the standard
/// streams, and `options.watch` is set in it. Where launches were issued at once, a second child
/// issues them one by one, in silence, to learn which of them it is. Gives the exit code. To be
/// called before there are threads, or anything of the GPU.
[[nodiscard]] auto run_guarded(ExecutorOptions& options, bool json,
                               const std::function<int()>& work) -> int;

/// The answer of `ask`, for a GPU from a child. Nobody looks for the launch: hanging costs the
/// limit once. In a process that is watched already, or for other executors: a call.
[[nodiscard]] auto ask_guarded(const ExecutorOptions& options,
                               const std::function<std::string(const ExecutorOptions&)>& ask)
    -> std::variant<std::string, GpuFailure>;

}  // namespace assay::cli
