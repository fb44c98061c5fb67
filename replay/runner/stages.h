// Which stage of a compilation broke the meaning: every stage is run on the same inputs and
// compared with the last one that was right.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/finding/finding.h"
#include "core/ops/op_table.h"
#include "replay/formats/program_answers.h"
#include "replay/runner/stage_blame.h"

namespace assay {

enum class StageState : std::uint8_t {
  agrees,   ///< with the stage before, or it is the first
  differs,  ///< from the stage before
  follows,  ///< gives what an earlier stage that differs gives
  not_run,
};
[[nodiscard]] auto name(StageState state) -> std::string_view;

struct StageRow {
  std::string name;
  StageRole role = StageRole::function;
  int log_line = 0;
  std::int64_t size = 0;  ///< nodes that are calls, or launches and library calls
  bool is_program = false;
  StageState state = StageState::agrees;
  std::string reason;        ///< of not_run; of follows the stage
  int compared = 0;          ///< values
  int layouts_only = 0;      ///< of values that are random or that PyTorch leaves open
  double largest_ratio = 0;  ///< distance to what rounding allows
};

/// A stage that differs. The finding has node or buffer, operator or kernel, both values.
struct StageProblem {
  Finding finding;
  std::string stage, before;  ///< `before` may be "eager" or "compiled", what was recorded
  std::string value;          ///< "output 0"
  StageDistance distance;     ///< of that value
  StageBlame blame;
  int log_line = 0;         ///< of the node or launch, 0 if it is not known
  DatumList inputs;         ///< of a program: what `call` got, in its order
  bool is_decided = false;  ///< false: it rests on inputs that were made up
};

/// One compilation at one binding.
struct CompilationStages {
  std::string name;                  ///< "0/0"
  std::string witness;               ///< "s27 = 8, s77 = 6"
  std::vector<std::string> made_up;  ///< inputs
  std::vector<StageRow> rows;
  std::vector<StageProblem> problems;
  int answers = 0;  ///< recorded values that were compared
  /// Dynamo broke the function into several graphs; recorded answers are of the whole one, so that
  /// none was compared.
  bool is_part = false;
  std::string error;  ///< why nothing ran
};

struct StageReport {
  std::vector<CompilationStages> compilations;
  std::vector<std::string> warnings;
};

struct StageOptions {
  /// Of the last compilation that has a program. Of a function in parts the inputs alone, which the
  /// first of them gets.
  const ProgramAnswers* answers = nullptr;
  std::map<std::string, Expr> at;  ///< symbols by name; their pool must live on
  bool sweep = false;
};

/// Errors: bad_input naming `name`; unsupported where a log holds no compilation with a graph.
[[nodiscard]] auto debug_stages(std::string_view bytes, const std::string& name,
                                const OpTable& table, const StageOptions& options)
    -> Result<StageReport>;

}  // namespace assay
