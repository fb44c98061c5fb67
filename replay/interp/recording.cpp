#include "replay/interp/recording.h"

#include <algorithm>

#include "core/expr/text.h"

namespace assay {
namespace {

/// What eager execution recorded, in the shape of a run's observation.
/// `groups`: take the recorded sharing of storage too (it was recorded for every tensor).
auto from_recording(const Observation& recorded, const ObservedValue& own, bool groups)
    -> ObservedValue {
  ObservedValue value = own;
  if (recorded.tensor && own.tensor) {
    value.tensor->meta = *recorded.tensor;  // with a device only where that was recorded
    value.tensor->meta.storage_bytes =
        std::max(recorded.tensor->storage_bytes, own.tensor->meta.storage_bytes);
    if (groups) value.tensor->storage = recorded.alias_group;
  } else if (recorded.scalar && own.scalar) {
    value.scalar = recorded.scalar;
  } else if (recorded.items.size() == own.items.size()) {
    for (std::size_t i = 0; i < own.items.size(); ++i)
      value.items[i] = from_recording(recorded.items[i], own.items[i], groups);
  }
  return value;
}

/// Does every tensor of the value have a recorded alias group?
auto has_groups(const Observation& recorded) -> bool {
  if (recorded.tensor) return recorded.alias_group >= 0;
  return std::ranges::all_of(recorded.items, has_groups);
}

void forget_devices(ObservedValue& value) {
  if (value.tensor) value.tensor->meta.device = Device{.type = "", .index = -1};
  for (auto& item : value.items) forget_devices(item);
}

}  // namespace

auto describe(const ObservedValue& value) -> std::string {
  if (value.is_tuple) return fmt::format("a tuple of {}", value.items.size());
  if (value.tensor) return to_string(value.tensor->meta);
  return value.scalar ? print_expr(*value.scalar) : "None";
}

void forget_devices(GraphRun& run) {
  for (auto& node : run.nodes) forget_devices(node.value);
}

auto merge_recording(const Capture& capture, GraphRun& run) -> std::vector<RecordingDifference> {
  const auto& nodes = capture.graph.nodes;
  const auto recording_of = [&](std::size_t i) -> const Observation* {
    const auto found = capture.observed.find(nodes[i].id);
    return found == capture.observed.end() ? nullptr : &found->second;
  };
  bool groups = true;
  for (std::size_t i = 0; i < nodes.size() && groups; ++i) {
    const auto* recorded = recording_of(i);
    groups = recorded && has_groups(*recorded);
  }
  std::vector<RecordingDifference> differences;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto* recorded = recording_of(i);
    auto& record = run.nodes[i];
    const bool stands_in = record.status == NodeStatus::recorded;
    if (!recorded || (record.status != NodeStatus::ran && !stands_in)) continue;
    auto merged = from_recording(*recorded, record.value, groups);
    auto compared = merged;  // devices are the recording's alone
    forget_devices(compared);
    if (record.refused)
      differences.push_back({i, describe(compared), "error: " + record.message});
    else if (auto own = describe(record.value); own != describe(compared))
      differences.push_back({i, describe(compared), std::move(own)});
    record.value = std::move(merged);
  }
  return differences;
}

}  // namespace assay
