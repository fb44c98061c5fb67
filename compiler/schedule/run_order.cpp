#include "compiler/schedule/run_order.h"

#include <algorithm>

namespace assay {

namespace {
constexpr std::size_t kBits = 64;
}

auto RunOrder::has(const Set& set, std::size_t unit) -> bool {
  return unit / kBits < set.size() && (set[unit / kBits] >> unit % kBits & 1U) != 0;
}
void RunOrder::insert(Set& set, std::size_t unit) {
  if (set.size() <= unit / kBits) set.resize(unit / kBits + 1);
  set[unit / kBits] |= std::uint64_t{1} << unit % kBits;
}
void RunOrder::insert(Set& set, const Set& others) {
  if (set.size() < others.size()) set.resize(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) set[i] |= others[i];
}

void RunOrder::add_unit() {
  before_.emplace_back();
}

void RunOrder::add(std::size_t later, std::size_t earlier) {
  if (later == earlier || has(before_[later], earlier)) return;
  auto gained = before_[earlier];
  insert(gained, earlier);
  insert(before_[later], gained);
  for (auto& before : before_)
    if (has(before, later)) insert(before, gained);
}

auto RunOrder::is_behind(std::size_t later, std::size_t earlier) const -> bool {
  return later == earlier || has(before_[later], earlier);
}

void RunOrder::merge(std::size_t into, std::size_t gone) {
  insert(before_[into], before_[gone]);
  auto gained = before_[into];
  insert(gained, into);
  for (auto& before : before_)
    if (has(before, into) || has(before, gone)) insert(before, gained);
  before_[gone].clear();
}

}  // namespace assay
