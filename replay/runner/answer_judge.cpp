#include "replay/runner/answer_judge.h"

#include <algorithm>
#include <charconv>
#include <ranges>

#include "replay/runner/stage_constants.h"

namespace assay {
namespace {

constexpr std::string_view kGradient = "gradient of input ";
constexpr std::string_view kInput = "input ";
constexpr std::string_view kAfter = " after";

}  // namespace

void AnswerJudge::prepare() {
  if (is_prepared_) return;
  is_prepared_ = true;
  stages_ = read_stages(log_, compilation_, table_);
  auto inputs = stage_inputs(log_, compilation_, stages_, &answers_, {}, table_);
  if (!inputs) return;
  recorded_ = inputs->recorded;
  if (!inputs->made_up.empty()) return;
  add_tangents(stages_, &answers_, *inputs);
  add_constants(stages_, *inputs, table_);
  inputs_ = *std::move(inputs);
}

auto AnswerJudge::stage_name(const std::string& what) const -> std::optional<std::string> {
  for (const auto& [before, after] : {std::pair{kGradient, std::string_view()}, {kInput, kAfter}}) {
    if (!what.starts_with(before) || !what.ends_with(after)) continue;
    std::size_t position = 0;
    std::from_chars(what.data() + before.size(), what.data() + what.size(), position);
    const auto found = std::ranges::find(recorded_, std::optional(position));
    if (found == recorded_.end()) return std::nullopt;
    return fmt::format("{}{}{}", before, found - recorded_.begin(), after);
  }
  return what;
}

auto AnswerJudge::stage_of(const std::string& name) const -> const Stage* {
  using enum StageRole;
  const bool is_gradient = name.starts_with(kGradient);
  for (const auto& stage : stages_ | std::views::reverse) {
    if (!stage.graph) continue;
    if (is_gradient ? stage.role == joint : stage.role == forward || stage.role == inference)
      return &stage;
  }
  return nullptr;
}

auto AnswerJudge::rounding(const Stage& stage, const std::string& name, RoundingRuns runs)
    -> const Rounding* {
  const auto [known, is_new] = roundings_.try_emplace({&stage, runs});
  if (is_new)
    known->second = measure_rounding(stage, inputs_->values, inputs_->attributes, table_,
                                     RoundedBy::device, runs);
  const auto found = known->second.find(name);
  return found == known->second.end() ? nullptr : &found->second;
}

auto AnswerJudge::is_open(const Stage& stage, const std::string& name) -> bool {
  const auto [known, is_new] = values_.try_emplace(&stage);
  if (is_new) known->second = run_stage(stage, inputs_->values, inputs_->attributes, table_).values;
  const auto found = known->second.find(name);
  return found != known->second.end() && found->second.is_open;
}

auto AnswerJudge::input_positions() -> std::optional<std::vector<std::optional<std::size_t>>> {
  prepare();
  for (const auto& stage : stages_) {
    if (!stage.program || stage.role == StageRole::backward) continue;
    std::vector<std::optional<std::size_t>> positions;
    for (const auto& name : stage.inputs) {
      std::size_t k = 0;
      if (!name.starts_with(kInput)) return std::nullopt;
      std::from_chars(name.data() + kInput.size(), name.data() + name.size(), k);
      positions.push_back(k < recorded_.size() ? recorded_[k] : std::nullopt);
    }
    return positions;
  }
  return std::nullopt;
}

auto AnswerJudge::position_of(const std::string& result) const -> std::optional<std::size_t> {
  for (const auto& stage : stages_) {
    if (!stage.program || stage.role == StageRole::backward) continue;
    const auto at = std::ranges::find(stage.outputs, result);
    if (at == stage.outputs.end()) return std::nullopt;
    return static_cast<std::size_t>(at - stage.outputs.begin());
  }
  return std::nullopt;
}

auto AnswerJudge::position_of_output(std::size_t k) -> std::optional<std::size_t> {
  prepare();
  return position_of(fmt::format("output {}", k));
}

auto AnswerJudge::position_of_written(std::size_t input) -> std::optional<std::size_t> {
  prepare();
  for (std::size_t k = 0; k < recorded_.size(); ++k)
    if (recorded_[k] == input) return position_of(fmt::format("input {} after", k));
  return std::nullopt;
}

auto AnswerJudge::tangents() -> std::optional<std::vector<Tangent>> {
  prepare();
  constexpr std::string_view kTangent = "tangent of ", kOutput = "output ", kInput = "input ";
  for (const auto& stage : stages_) {
    if (stage.role != StageRole::joint || !stage.graph) continue;
    std::vector<Tangent> result;
    for (const auto& name : stage.inputs) {
      if (!name.starts_with("tangent")) continue;
      const auto of = name.starts_with(kTangent) ? name.substr(kTangent.size()) : std::string();
      const bool is_output = of.starts_with(kOutput);
      const auto wanted = is_output ? of : of + " after";
      const auto at = std::ranges::find(stage.outputs, wanted);
      if ((!is_output && !of.starts_with(kInput)) || at == stage.outputs.end())
        return std::vector<Tangent>();
      auto& tangent = result.emplace_back();
      tangent.position =
          static_cast<std::size_t>(std::count_if(stage.outputs.begin(), at, std::not_fn(is_token)));
      if (is_output)
        std::from_chars(of.data() + kOutput.size(), of.data() + of.size(),
                        tangent.output.emplace());
    }
    return result;
  }
  return std::nullopt;
}

auto AnswerJudge::judge(const std::string& what, const Tensor& actual,
                        const AnsweredTensor& expected) -> AnswerVerdict {
  prepare();
  if (!inputs_ || !expected.has_data) return AnswerVerdict::differs;
  const auto name = stage_name(what);
  const auto* stage = name ? stage_of(*name) : nullptr;
  if (stage == nullptr) return AnswerVerdict::differs;
  if (is_open(*stage, *name)) return AnswerVerdict::open;
  if (rounding(*stage, *name, RoundingRuns::few) == nullptr) return AnswerVerdict::differs;
  const auto distance =
      compare_values(Datum{expected.tensor}, Datum{actual}, true,
                     [&](RoundingRuns runs) { return rounding(*stage, *name, runs); });
  return distance.message.empty() ? AnswerVerdict::rounding : AnswerVerdict::differs;
}

}  // namespace assay
