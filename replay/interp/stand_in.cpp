#include "replay/interp/stand_in.h"

#include <algorithm>

#include "replay/interp/compare.h"
#include "replay/interp/inputs.h"

namespace assay {
namespace {

void note_group(int group, const Datum& value, std::map<int, std::shared_ptr<Storage>>& groups) {
  if (group >= 0 && value.real()) groups.try_emplace(group, value.real()->storage);
}

}  // namespace

void StandIns::learn(const Observation& recorded, const Datum& value) {
  note_group(recorded.alias_group, value, recorded_);
  const auto* list = value.list();
  for (std::size_t i = 0; list && i < std::min(list->size(), recorded.items.size()); ++i)
    learn(recorded.items[i], (*list)[i]);
}

void StandIns::learn(const Claim& claim, const Datum& value) {
  note_group(claim.alias_group, value, claimed_);
  const auto* list = value.list();
  const auto* items = claim.items();
  for (std::size_t i = 0; list && items && i < std::min(list->size(), items->size()); ++i)
    learn((*items)[i], (*list)[i]);
}

auto StandIns::from_recording(const Observation& recorded) -> std::optional<Datum> {
  if (recorded.tensor) return make(*recorded.tensor, recorded_, recorded.alias_group);
  if (recorded.scalar) return Datum{*recorded.scalar};
  if (!recorded.is_tuple) return std::nullopt;
  DatumList items;
  for (const auto& item : recorded.items) items.push_back(from_recording(item).value_or(Datum{}));
  return Datum{std::move(items)};
}

auto StandIns::from_claim(const Claim& claim, const Binding& binding) -> std::optional<Datum> {
  if (const auto* meta = claim.tensor()) {
    auto layout = evaluate_claim(*meta, binding);
    if (!layout) return std::nullopt;
    return make(*std::move(layout), claimed_, claim.alias_group);
  }
  if (const auto* scalar = claim.scalar()) {
    const auto value = evaluate(*scalar, binding);
    return value ? std::optional(Datum{*value}) : std::nullopt;
  }
  const auto* items = claim.items();
  if (!items) return std::nullopt;
  DatumList list;
  for (const auto& item : *items) {
    auto value = item.empty() ? std::optional(Datum{}) : from_claim(item, binding);
    if (!value) return std::nullopt;
    list.push_back(*std::move(value));
  }
  return Datum{std::move(list)};
}

auto StandIns::make(RealMeta meta, Groups& groups, int group) -> std::optional<Datum> {
  const auto shared = groups.find(group);
  if (group >= 0 && shared != groups.end() && !shortage_of(meta, shared->second->size_bytes())) {
    meta.storage_bytes = shared->second->size_bytes();
    return Datum{Tensor{shared->second, std::move(meta)}};
  }
  if (std::ranges::any_of(meta.sizes, [](std::int64_t size) { return size < 0; }))
    return std::nullopt;
  auto tensor = filled_tensor(std::move(meta), seed_++);
  if (!tensor) return std::nullopt;
  if (group >= 0) groups[group] = tensor->storage;
  return Datum{*std::move(tensor)};
}

}  // namespace assay
