#include "replay/interp/rule_probe.h"

#include <algorithm>
#include <map>

namespace assay {

auto RuleProbe::run(const Node& node, const std::function<Datum(NodeId)>& operand) const
    -> Result<ProbeResult> {
  ExprPool pool;
  ShapeContext context;
  context.set_pool(pool);
  FakeDomain domain(table_, context);
  std::map<NodeId, Datum> values;
  int next_storage = -2;  // storages of the rule's own are numbered from 0
  const auto renumber = [&](const auto& self, Datum& datum) -> void {
    if (auto* fake = std::get_if<FakeTensor>(&datum.value); fake && fake->storage < 0)
      fake->storage = next_storage--;
    if (auto* list = std::get_if<DatumList>(&datum.value))
      for (auto& item : *list) self(self, item);
  };
  const auto lookup = [&](NodeId id) -> const Datum* {
    const auto [entry, is_new] = values.try_emplace(id);
    if (is_new) {
      entry->second = operand(id);
      renumber(renumber, entry->second);
    }
    return &entry->second;
  };
  ASSAY_TRY(auto value, run_node(graph_, node, domain, lookup));
  const bool depends_on_data = !context.made_symbols().empty();
  if (depends_on_data) return ProbeResult{{}, true};  // its symbols die with the pool
  return ProbeResult{std::move(value), false};
}

auto fake_of(const ObservedValue& value) -> Datum {
  if (value.tensor) return {FakeTensor{to_claim(value.tensor->meta), -1}};
  if (value.scalar) return {*value.scalar};
  if (!value.is_tuple) return {};
  DatumList items;
  for (const auto& item : value.items) items.push_back(fake_of(item));
  return {std::move(items)};
}

auto same_layout(const Datum& fake, const ObservedValue& value) -> bool {
  if (const auto* tensor = fake.fake()) {
    if (!value.tensor) return false;
    const auto meta = to_claim(value.tensor->meta);
    return tensor->meta.dtype == meta.dtype && tensor->meta.sizes == meta.sizes &&
           tensor->meta.strides == meta.strides && tensor->meta.offset == meta.offset;
  }
  if (const auto* list = fake.list())
    return value.is_tuple && std::ranges::equal(*list, value.items, same_layout);
  if (fake.scalar()) return value.scalar && *fake.scalar() == *value.scalar;
  return !value.tensor && !value.scalar && !value.is_tuple;
}

}  // namespace assay
