#include "replay/runner/stage_constants.h"

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

}  // namespace

void StageConstants::add(const Node& node, const Datum& value) {
  if (node.target == "torch.tensor") made_.push_back(DatumCopier()(value));
}

void StageConstants::give(const Stage& stage, std::map<std::string, Datum>& attributes) const {
  if (!stage.graph) return;
  for (const auto& node : stage.graph->graph.nodes) {
    if (node.kind != NodeKind::get_attr) continue;
    const auto number = number_of(node.target);
    if (number && *number < made_.size() && is_as_claimed(made_[*number], node))
      attributes.try_emplace(node.target, made_[*number]);
  }
}

}  // namespace assay
