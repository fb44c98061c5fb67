#include "replay/runner/log_inputs.h"

#include <algorithm>
#include <charconv>

namespace assay {
namespace {

/// Parameters of the compiled function by the name Dynamo gives their placeholder, `L_x_`: guards
/// say which local of the frame is which.
auto frame_positions(const TraceLog& log, const TraceCompilation& compilation)
    -> std::map<std::string, std::size_t> {
  std::map<std::string, std::size_t> positions;
  constexpr std::string_view kKey = "FrameLocalsGuardAccessor(key='";
  constexpr std::string_view kIndex = "framelocals_idx=";
  for (const auto& part : compilation.guard_trees) {
    const std::string_view text = log.events[part.event].payload;
    for (auto at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at + 1)) {
      const auto start = at + kKey.size();
      const auto end = text.find('\'', start);
      const auto index = text.find(kIndex, at);
      if (end == std::string_view::npos || index == std::string_view::npos) break;
      std::size_t position = 0;
      const auto digits = text.substr(index + kIndex.size());
      if (std::from_chars(digits.data(), digits.data() + digits.size(), position).ec == std::errc())
        positions[fmt::format("L_{}_", text.substr(start, end - start))] = position;
    }
  }
  return positions;
}

}  // namespace

auto role_of(std::string_view wrapper) -> std::string {
  const auto first = wrapper.substr(0, 400);
  for (const std::string_view role : {"backward", "forward", "inference"})
    if (first.contains(fmt::format("_{}']", role))) return std::string(role);
  return "inference";
}

auto input_plan(const TraceLog& log, const TraceCompilation& compilation, std::size_t count)
    -> InputPlan {
  InputPlan plan;
  auto positions = frame_positions(log, compilation);
  std::vector<std::string> names;
  for (const auto& part : compilation.graphs) {
    if (!part.name.starts_with("dynamo_output_graph")) continue;
    const std::string_view text = log.events[part.event].payload;
    const auto begin = text.find("def forward(");
    const auto end = text.find("):\n", begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    const auto header = text.substr(begin, end - begin);
    for (auto at = header.find(" L_"); at != std::string_view::npos;
         at = header.find(" L_", at + 1))
      names.emplace_back(header.substr(at + 1, header.find(':', at) - at - 1));
    break;
  }
  // A frame that was resumed has other locals before its arguments: their order is what counts.
  std::erase_if(positions, [&](const auto& known) {
    return std::ranges::find(names, known.first) == names.end();
  });
  if (std::ranges::any_of(positions, [&](const auto& known) { return known.second >= count; })) {
    std::vector<std::size_t> order;
    for (const auto& [name, position] : positions) order.push_back(position);
    std::ranges::sort(order);
    for (auto& [name, position] : positions)
      position = static_cast<std::size_t>(std::ranges::find(order, position) - order.begin());
  }
  for (const auto& [name, position] : positions)
    plan.locals[name.substr(2, name.size() - 3)] = position;
  for (const auto& name : names) {
    const auto known = positions.find(name);
    if (known == positions.end()) return {};
    plan.tensors.push_back(known->second);
  }
  return plan;
}

}  // namespace assay
