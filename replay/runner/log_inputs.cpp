#include "replay/runner/log_inputs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "replay/runner/execute.h"

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
        positions[placeholder_of(fmt::format("L['{}']", text.substr(start, end - start)))] =
            position;
    }
  }
  return positions;
}

/// Names of the tensors that Dynamo's graph takes, in its order.
auto tensor_placeholders(const TraceLog& log, const TraceCompilation& compilation)
    -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& part : compilation.graphs) {
    if (!part.name.starts_with("dynamo_output_graph")) continue;
    const std::string_view text = log.events[part.event].payload;
    const auto begin = text.find("def forward(");
    const auto end = text.find("):\n", begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    const auto header = text.substr(begin, end - begin);
    for (auto at = header.find(" L_"); at != std::string_view::npos;
         at = header.find(" L_", at + 1)) {
      const auto colon = header.find(':', at);
      if (colon == std::string_view::npos) break;
      const bool is_number = header.substr(colon).starts_with(": \"Sym(");  // `eps` of a module
      if (!is_number) names.emplace_back(header.substr(at + 1, colon - at - 1));
    }
    break;
  }
  return names;
}

/// The parameter that a placeholder is an element of, `L_xs_` for `L_xs_2_`, and which one.
struct ElementOf {
  std::string parameter;
  std::size_t index = 0;
};
auto element_of(std::string_view name) -> std::optional<ElementOf> {
  if (!name.ends_with('_')) return std::nullopt;
  const auto start = name.find_last_of('_', name.size() - 2);
  if (start == std::string_view::npos) return std::nullopt;
  const auto digits = name.substr(start + 1, name.size() - start - 2);
  ElementOf result{std::string(name.substr(0, start + 1)), 0};
  const auto* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, result.index);
  if (digits.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return result;
}

/// Position of each of `names` among `count` inputs, as far as guards say it.
auto guarded_positions(const TraceLog& log, const TraceCompilation& compilation,
                       std::span<const std::string> names, std::size_t count)
    -> std::map<std::string, std::size_t> {
  auto parameters = frame_positions(log, compilation);
  const auto is_used = [&](const std::string& parameter) {
    return std::ranges::any_of(names, [&](const std::string& name) {
      const auto element = element_of(name);
      return name == parameter || (element && element->parameter == parameter);
    });
  };
  // A frame that was resumed has other locals before its arguments: their order is what counts.
  std::erase_if(parameters, [&](const auto& known) { return !is_used(known.first); });
  if (std::ranges::any_of(parameters, [&](const auto& known) { return known.second >= count; })) {
    std::vector<std::size_t> order;
    for (const auto& [name, position] : parameters) order.push_back(position);
    std::ranges::sort(order);
    for (auto& [name, position] : parameters)
      position = static_cast<std::size_t>(std::ranges::find(order, position) - order.begin());
  }
  auto result = parameters;
  for (const auto& name : names)
    if (const auto element = element_of(name); element && !parameters.contains(name))
      if (const auto known = parameters.find(element->parameter); known != parameters.end())
        result[name] = known->second + element->index;
  return result;
}

}  // namespace

auto are_of_parts(const TraceLog& log, const std::vector<TraceCompilation>& all,
                  const ProgramAnswers* answers) -> bool {
  if (is_in_parts(log, all)) return true;
  const auto answered = answered_compilations(all);
  if (answers == nullptr || !answers->eager || answered.empty()) return false;
  const auto& after = answers->eager->inputs_after;
  if (!is_resumed(log, *answered.back())) return false;
  for (std::size_t i = 0; i < std::min(after.size(), answers->inputs.size()); ++i) {
    const auto changed = compare_tensors(answers->inputs[i].tensor, after[i]);
    if (!changed.message.empty() || changed.error > 0) return true;
  }
  return false;
}

auto role_of(std::string_view wrapper) -> std::string {
  const auto first = wrapper.substr(0, 400);
  for (const std::string_view role : {"backward", "forward", "inference"})
    if (first.contains(fmt::format("_{}']", role))) return std::string(role);
  return "inference";
}

auto placeholder_of(std::string_view source) -> std::string {
  std::string name;
  for (const char c : source) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      name += c;
    else if (!name.ends_with('_'))
      name += '_';
  }
  return name;
}

auto input_plan(const TraceLog& log, const TraceCompilation& compilation,
                std::span<const AnsweredInput> inputs) -> InputPlan {
  InputPlan plan;
  const auto names = tensor_placeholders(log, compilation);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const auto& name : inputs[i].placeholders) plan.placeholders[name] = i;
  const bool is_recorded = !plan.placeholders.empty();
  if (!is_recorded) plan.placeholders = guarded_positions(log, compilation, names, inputs.size());
  for (const auto& name : names) {
    const auto known = plan.placeholders.find(name);
    if (known == plan.placeholders.end() && !is_recorded) {
      plan.tensors.clear();
      break;
    }
    plan.tensors.push_back(known == plan.placeholders.end() ? std::nullopt
                                                            : std::optional(known->second));
  }
  return plan;
}

}  // namespace assay
