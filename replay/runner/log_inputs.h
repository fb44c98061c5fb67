// What a TORCH_TRACE log says about the inputs of its programs.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replay/formats/program_answers.h"
#include "replay/formats/torch_trace.h"

namespace assay {

/// "backward", "forward" or "inference", by the wrapper's `# AOT ID: ['0_forward']`.
[[nodiscard]] auto role_of(std::string_view wrapper) -> std::string;

/// How the inputs of the forward program follow from the function's.
struct InputPlan {
  /// Position of each tensor, in order; nothing for one that was not recorded.
  std::vector<std::optional<std::size_t>> tensors;
  std::map<std::string, std::size_t> placeholders;  ///< "L_x_" -> position
};
/// Are recorded answers those of more than the program of the log that they may be of
/// (is_in_parts)? What is left of a function is the whole of it only if nothing before wrote into
/// what the function was given. Null: nothing was recorded.
[[nodiscard]] auto are_of_parts(const TraceLog& log, const std::vector<TraceCompilation>& all,
                                const ProgramAnswers* answers) -> bool;

/// By the placeholders that were recorded with the inputs, else by what guards say of the
/// function's parameters, of which one may stand for several inputs (`*args`). No `tensors` where
/// neither names every tensor; then they come in the function's order.
[[nodiscard]] auto input_plan(const TraceLog& log, const TraceCompilation& compilation,
                              std::span<const AnsweredInput> inputs) -> InputPlan;

/// What Dynamo calls the placeholder of a source: `L['xs'][0]` is `L_xs_0_`
/// (torch/_dynamo/output_graph.py).
[[nodiscard]] auto placeholder_of(std::string_view source) -> std::string;

}  // namespace assay
