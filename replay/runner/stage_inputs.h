// What the stages of a compilation are run on.
#pragma once
#include <optional>
#include <span>

#include "replay/formats/program_answers.h"
#include "replay/runner/stage_run.h"

namespace assay {

struct StageInputs {
  StageValues values;                       ///< "input 2", "tangent of output 0"
  std::map<std::string, Datum> attributes;  ///< constants of graphs, from the log's repro scripts
  std::vector<std::string> made_up;         ///< inputs whose contents were filled
  /// By input of the function's graph: its position among the recorded ones.
  std::vector<std::optional<std::size_t>> recorded;
  std::map<std::string, Expr> sizes;  ///< symbols by name, in a pool that `env` keeps
  ShapeEnv env;
};

/// The stage whose inputs are the function's: Dynamo's graph, else the first that takes them; null
/// if there is none.
[[nodiscard]] auto first_stage(std::span<const Stage> stages) -> const Stage*;

/// The recorded inputs, else fills at the recorded sizes or at those of `at` (symbols by name).
/// Whole numbers are filled as large as the first stage runs with, below 8: they may be indices.
/// Errors: bad_input (other inputs than recorded, sizes that cannot be).
[[nodiscard]] auto stage_inputs(const TraceLog& log, const TraceCompilation& compilation,
                                std::span<const Stage> stages, const ProgramAnswers* answers,
                                const std::map<std::string, Expr>& at, const OpTable& table)
    -> Result<StageInputs>;

/// Adds tangents of outputs in the layouts that stages claim for them: as recorded, else fills.
void add_tangents(std::span<const Stage> stages, const ProgramAnswers* answers,
                  StageInputs& inputs);

}  // namespace assay
