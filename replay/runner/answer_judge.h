// What a program gave against what was recorded, where they are not the same.
#pragma once
#include <map>
#include <optional>

#include "replay/runner/stage_inputs.h"
#include "replay/runner/stage_rounding.h"

namespace assay {

enum class AnswerVerdict : std::uint8_t {
  differs,
  rounding,  ///< as far away as rounding explains, of the device that gave the answers too
  open,      ///< rests on a result that PyTorch leaves open on these inputs
};

/// Measures a compilation's graphs on the recorded inputs; nothing happens before it is asked.
class AnswerJudge {
 public:
  AnswerJudge(const TraceLog& log, const TraceCompilation& compilation,
              const ProgramAnswers& answers, const OpTable& table)
      : log_(log), compilation_(compilation), answers_(answers), table_(table) {}

  /// `what` is "output 2", "input 0 after" or "gradient of input 1", by position among the recorded
  /// inputs. Where no graph runs, values that are not the same differ.
  [[nodiscard]] auto judge(const std::string& what, const Tensor& actual,
                           const AnsweredTensor& expected) -> AnswerVerdict;

  /// By input of the program of the first pass: its position among the recorded inputs, nothing for
  /// numbers. Nothing at all where the log does not say which input is which.
  [[nodiscard]] auto input_positions() -> std::optional<std::vector<std::optional<std::size_t>>>;

  /// Where a result of the function stands among those of the program of the first pass, and where
  /// what it wrote into a recorded input does, if that is a result. Nothing where the log does not
  /// say.
  [[nodiscard]] auto position_of_output(std::size_t k) -> std::optional<std::size_t>;
  [[nodiscard]] auto position_of_written(std::size_t input) -> std::optional<std::size_t>;

  /// Of what the backward pass takes tangents.
  struct Tangent {
    std::size_t position = 0;  ///< among the results of the forward program
    /// Of the function's outputs; nothing: what was written into an input.
    std::optional<std::size_t> output = {};
  };
  /// In its order; none where it takes others too (of the base of several views), of which nobody
  /// recorded any. Nothing where the log does not say.
  [[nodiscard]] auto tangents() -> std::optional<std::vector<Tangent>>;

 private:
  void prepare();
  [[nodiscard]] auto position_of(const std::string& result) const -> std::optional<std::size_t>;
  /// The name that stages have for it; nothing where they have none.
  [[nodiscard]] auto stage_name(const std::string& what) const -> std::optional<std::string>;
  [[nodiscard]] auto stage_of(const std::string& name) const -> const Stage*;
  auto rounding(const Stage& stage, const std::string& name, RoundingRuns runs) -> const Rounding*;
  auto is_open(const Stage& stage, const std::string& name) -> bool;

  const TraceLog& log_;
  const TraceCompilation& compilation_;
  const ProgramAnswers& answers_;
  const OpTable& table_;
  bool is_prepared_ = false;
  std::vector<Stage> stages_;
  std::optional<StageInputs> inputs_;                 ///< where all contents are known
  std::vector<std::optional<std::size_t>> recorded_;  ///< StageInputs::recorded
  std::map<std::pair<const Stage*, RoundingRuns>, Roundings> roundings_;
  std::map<const Stage*, StageValues> values_;
};

}  // namespace assay
