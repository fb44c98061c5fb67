#include "replay/runner/open_results.h"

#include <algorithm>
#include <functional>

#include "replay/runner/undefined_results.h"

namespace assay {
namespace {

void visit_tensors(const Datum& datum, const std::function<void(const Tensor&)>& visit) {
  if (const auto* tensor = datum.real()) visit(*tensor);
  if (const auto* list = datum.list())
    for (const auto& item : *list) visit_tensors(item, visit);
}

/// The whole numbers behind the first of several results, or those that are the only one.
auto indices_of(const Datum& result) -> Datum {
  const auto* list = result.list();
  return list == nullptr ? result : Datum{DatumList(list->begin() + 1, list->end())};
}

}  // namespace

void OpenResults::called(const OpRow& row, const DatumList& args, const Datum& result) {
  const auto part = undefined_part(row, args);
  if (part == UndefinedPart::nothing) return;
  kept_.push_back(part == UndefinedPart::all ? result : indices_of(result));
  insert(kept_.back());
}

void OpenResults::add(const Node& node, const Datum& value) {
  if (node.kind == NodeKind::output) return;               // together they are what each of them is
  const bool is_part = node.target == "operator.getitem";  // of several results some may be open
  bool is_open = has(value);
  for (const auto id : operands(node))
    is_open = is_open || nodes_.contains(id) || (!is_part && has(seen_[id]));
  if (is_open) {
    // A node of several results is as open as they are.
    if (value.list() == nullptr) nodes_.insert(node.id);
    const bool is_made = std::ranges::any_of(
        operands(node), [&](NodeId id) { return nodes_.contains(id) || has(seen_[id]); });
    if (value.list() == nullptr || is_made) insert(value);
  }
  seen_[node.id] = value;
}

auto OpenResults::of(NodeId id) const -> const Datum* {
  const auto known = seen_.find(id);
  return known == seen_.end() ? nullptr : &known->second;
}

auto OpenResults::has(const Datum& value) const -> bool {
  bool found = false;
  visit_tensors(value, [&](const Tensor& tensor) {
    found = found || memory_.contains(tensor.storage.get());
  });
  return found;
}

void OpenResults::insert(const Datum& value) {
  visit_tensors(value, [&](const Tensor& tensor) { memory_.insert(tensor.storage.get()); });
}

}  // namespace assay
