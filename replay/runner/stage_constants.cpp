#include "replay/runner/stage_constants.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace assay {
namespace {

constexpr std::string_view kConstant = "_tensor_constant";

auto number_of(std::string_view name) -> std::optional<std::size_t> {
  if (!name.starts_with(kConstant)) return std::nullopt;
  name.remove_prefix(kConstant.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(number)
                                                                  : std::nullopt;
}

auto is_as_claimed(const Datum& value, const Node& node) -> bool {
  const auto* tensor = value.real();
  const auto* claim = node.claim.tensor();
  if (tensor == nullptr || claim == nullptr || claim->dtype != tensor->dtype() ||
      claim->device.type != tensor->meta.device.type ||
      claim->sizes.size() != tensor->sizes().size())
    return false;
  for (std::size_t d = 0; d < tensor->sizes().size(); ++d)
    if (!claim->sizes[d].is_int(tensor->sizes()[d])) return false;
  return true;
}

/// Calls `use` with each attribute that is such a constant, and its number.
template <class Use>
void for_each_constant(const std::vector<Stage>& stages, const Use& use) {
  for (const auto& stage : stages)
    for (const auto& node : stage.graph ? stage.graph->graph.nodes : std::vector<Node>())
      if (const auto number = number_of(node.target); number && node.kind == NodeKind::get_attr)
        use(node, *number);
}

}  // namespace

void add_constants(const std::vector<Stage>& stages, StageInputs& inputs, const OpTable& table) {
  bool is_wanted = false;
  for_each_constant(stages, [&](const Node& node, std::size_t) {
    is_wanted = is_wanted || !inputs.attributes.contains(node.target);
  });
  const auto function = std::ranges::find_if(stages, [](const Stage& stage) {
    return stage.role == StageRole::function && stage.graph.has_value();
  });
  if (!is_wanted || function == stages.end()) return;
  std::vector<Datum> made;
  StageTaps taps;
  taps.node = [&](std::size_t i, const Datum& value) {
    if (function->graph->graph.nodes[i].target == "torch.tensor")
      made.push_back(DatumCopier()(value));
  };
  (void)run_stage(*function, inputs.values, inputs.attributes, table, taps);
  for_each_constant(stages, [&](const Node& node, std::size_t number) {
    if (number < made.size() && is_as_claimed(made[number], node))
      inputs.attributes.try_emplace(node.target, made[number]);
  });
}

}  // namespace assay
