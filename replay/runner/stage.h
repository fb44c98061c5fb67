// The stages of one compilation: the graphs that a TORCH_TRACE log holds, and the program.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/program/program.h"
#include "replay/formats/torch_trace.h"
#include "replay/runner/user_kernels.h"

namespace assay {

/// What a stage takes and gives, in terms of the compiled function.
enum class StageRole : std::uint8_t {
  function,   ///< Dynamo's graph: outputs and mutated inputs, no gradients
  joint,      ///< outputs and gradients, from inputs and tangents
  inference,  ///< outputs
  forward,    ///< outputs and what is saved for the backward stage
  backward,   ///< gradients, from what was saved and tangents
};
[[nodiscard]] auto name(StageRole role) -> std::string_view;

/// A graph or a program. Its inputs and outputs have names that all stages share: "input 2",
/// "tangent of output 0", "saved 3", "output 1", "gradient of input 2"; empty where a stage gives
/// nothing.
struct Stage {
  std::string name;  ///< "aot_joint_graph", "inductor_output_code#2"
  StageRole role = StageRole::function;
  int log_line = 0;  ///< of the event; the payload's first line is the next
  std::optional<Capture> graph;
  std::optional<HostProgram> program;
  std::string not_read;  ///< why it has neither
  std::vector<std::string> inputs, outputs;
  /// Of graphs that Inductor has rewritten: where strides do not allow a view it makes a copy.
  bool views_may_copy = false;
  std::shared_ptr<const UserKernels> kernels = {};  ///< that a graph may launch; null: none
  [[nodiscard]] auto has_same_names(const Stage& other) const -> bool;
};

/// Of an input or output: a token, which only orders calls with effects.
[[nodiscard]] auto is_token(const std::string& name) -> bool;

/// Stages in order of the log. The last attempt's log events count. A stage that cannot be read is
/// there with its reason. `table` must outlive the stages.
[[nodiscard]] auto read_stages(const TraceLog& log, const TraceCompilation& compilation,
                               const OpTable& table) -> std::vector<Stage>;

}  // namespace assay
