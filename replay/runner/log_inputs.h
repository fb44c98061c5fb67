// What a TORCH_TRACE log says about the inputs of its programs.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "replay/formats/torch_trace.h"

namespace assay {

/// "backward", "forward" or "inference", by the wrapper's `# AOT ID: ['0_forward']`.
[[nodiscard]] auto role_of(std::string_view wrapper) -> std::string;

/// How the inputs of the forward program follow from the function's.
struct InputPlan {
  std::vector<std::size_t> tensors;           ///< position of each tensor, in order
  std::map<std::string, std::size_t> locals;  ///< "x" -> position
};
/// Empty where the guards do not name every tensor; then tensors come in the function's order.
/// `count` is how many inputs the function has.
[[nodiscard]] auto input_plan(const TraceLog& log, const TraceCompilation& compilation,
                              std::size_t count) -> InputPlan;

}  // namespace assay
