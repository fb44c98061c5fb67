#include "replay/runner/stage_constants.h"

#include <algorithm>
#include <charconv>
#include <map>
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

/// A number that is put into a tensor, as an element of it; nothing of other calls.
auto number_put_in(const Node& node, const std::map<NodeId, DType>& dtypes)
    -> std::optional<Datum> {
  constexpr std::size_t kArgs = 3;
  if (node.target != "operator.setitem" || node.args.size() != kArgs) return std::nullopt;
  const auto* into = std::get_if<NodeId>(&node.args[0].value);
  const auto* number = std::get_if<Expr>(&node.args[2].value);
  const auto dtype = into == nullptr ? dtypes.end() : dtypes.find(*into);
  const auto value = number == nullptr ? std::nullopt : number->as_number();
  if (dtype == dtypes.end() || !value) return std::nullopt;
  auto made = Tensor::contiguous(dtype->second, {});
  if (!made) return std::nullopt;
  from_vector(*made, std::span<const double>(&*value, 1));
  return Datum{*std::move(made)};
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
  std::map<NodeId, DType> dtypes;
  taps.node = [&](std::size_t i, const Datum& value) {
    const auto& node = function->graph->graph.nodes[i];
    if (node.target == "torch.tensor") made.push_back(DatumCopier()(value));
    if (auto number = number_put_in(node, dtypes)) made.push_back(*std::move(number));
    if (const auto* tensor = value.real()) dtypes[node.id] = tensor->dtype();
  };
  (void)run_stage(*function, inputs.values, inputs.attributes, table, taps);
  for_each_constant(stages, [&](const Node& node, std::size_t number) {
    if (number < made.size() && is_as_claimed(made[number], node))
      inputs.attributes.try_emplace(node.target, made[number]);
  });
}

}  // namespace assay
