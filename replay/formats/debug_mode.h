// Logs of torch.utils._debug_mode.DebugMode.save_logs: what a run called, with checksums of the
// tensors, and where two runs part.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace assay {

struct DebugModeCall {
  std::string kind;      ///< "op", "triton_kernel", "annotate", ...
  std::string name;      ///< "aten::addmm"
  std::string operands;  ///< as printed: "t: f32[8], t: f32[3, 4]"
  std::string result;    ///< likewise
  std::string where;     ///< innermost frame of its stack; empty if not recorded
  int depth = 0;         ///< calls around it
  /// Checksums (by default L1 norms in float64), in order; empty where none were logged.
  std::vector<double> inputs, outputs;
};

/// Is this such a log? Looks at its format member only.
[[nodiscard]] auto is_debug_mode_log(std::string_view text) -> bool;

/// Calls in their order. Errors: bad_input (no such log), unsupported (another version).
[[nodiscard]] auto read_debug_mode_log(std::string_view text) -> Result<std::vector<DebugModeCall>>;

/// Two runs side by side. A pair has the same name and prints the same result layout.
struct RunAlignment {
  struct Step {
    std::optional<std::size_t> a, b;  ///< both of a pair, one of a call that only one run has
  };
  std::vector<Step> steps;  ///< in the order of both runs
  bool is_exact = true;     ///< false: the runs differ in so many calls that some stay unpaired
};
[[nodiscard]] auto align_runs(const std::vector<DebugModeCall>& a,
                              const std::vector<DebugModeCall>& b) -> RunAlignment;

/// A pair whose outputs differ by more than `tolerance`, relative to the larger.
struct Divergence {
  std::size_t a = 0, b = 0;
  bool is_root = false;  ///< its inputs agree, so it is where the difference comes from
  double relative = 0;   ///< the largest relative difference of outputs
};
/// All of them, in order.
[[nodiscard]] auto divergences(const std::vector<DebugModeCall>& a,
                               const std::vector<DebugModeCall>& b, const RunAlignment& alignment,
                               double tolerance) -> std::vector<Divergence>;

}  // namespace assay
