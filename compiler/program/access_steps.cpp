#include "compiler/program/access_steps.h"

#include <algorithm>
#include <bit>
#include <set>

namespace assay {

AccessSteps::AccessSteps(const TileKernel& kernel) : kernel_(kernel) {
  visit(kernel.body);
}

void AccessSteps::visit(const TileRegion& region) {
  for (const auto& one : region.body) {
    for (const auto id : one.results) makers_[id] = &one;
    for (const auto id : one.operands) users_[id].push_back(&one);
    if (std::holds_alternative<TileLoad>(one.what) || std::holds_alternative<TileStore>(one.what) ||
        std::holds_alternative<TileAtomic>(one.what)) {
      accesses_.push_back(&one);
      regions_[&one] = &region;
    }
    for (const auto& inner : one.regions) visit(inner);
  }
  for (const auto id : region.yields) users_[id].push_back(nullptr);
}

auto AccessSteps::maker(TileId id) const -> const TileStatement* {
  const auto known = makers_.find(id);
  return known == makers_.end() ? nullptr : known->second;
}

auto AccessSteps::constant(TileId id) const -> std::optional<std::int64_t> {
  const auto made = makers_.find(id);
  if (made == makers_.end()) return std::nullopt;
  if (const auto* value = std::get_if<TileConstant>(&made->second->what))
    if (const auto* number = std::get_if<std::int64_t>(&value->value)) return *number;
  if (const auto* param = std::get_if<TileParamValue>(&made->second->what))
    return kernel_.params[param->param].fixed;
  return std::nullopt;
}

auto AccessSteps::step(TileId index, std::size_t axis) const -> std::optional<std::int64_t> {
  if ((kernel_.type(index).axes >> axis & 1U) == 0) return 0;
  const auto made = makers_.find(index);
  if (made == makers_.end()) return std::nullopt;
  const auto& one = *made->second;
  if (std::holds_alternative<TileIndex>(one.what) || std::holds_alternative<TileLane>(one.what))
    return 1;
  const auto* compute = std::get_if<TileCompute>(&one.what);
  if (compute == nullptr) return std::nullopt;
  if (compute->op == TileOp::cast && !is_floating(kernel_.type(one.operands[0]).dtype))
    return step(one.operands[0], axis);
  if (one.operands.size() != 2) return std::nullopt;
  const auto a = step(one.operands[0], axis);
  const auto b = step(one.operands[1], axis);
  if (!a || !b) return std::nullopt;
  if (compute->op == TileOp::add) return *a + *b;
  if (compute->op == TileOp::sub) return *a - *b;
  if (compute->op != TileOp::mul || (*a != 0 && *b != 0)) return std::nullopt;
  const auto by = constant(one.operands[*a == 0 ? 0 : 1]);
  return by ? std::optional(*by * (*a + *b)) : std::nullopt;
}

auto AccessSteps::rests_on(TileId id, bool (*is_so)(const TileStatement* makes)) const -> bool {
  std::vector<TileId> pending = {id};
  std::set<TileId> seen;
  while (!pending.empty()) {
    const auto next = pending.back();
    pending.pop_back();
    if (next == kNoTile || !seen.insert(next).second) continue;
    const auto* makes = maker(next);
    if (is_so(makes)) return true;
    if (makes != nullptr)
      pending.insert(pending.end(), makes->operands.begin(), makes->operands.end());
  }
  return false;
}

auto AccessSteps::scatters_one_value(const TileStatement& store) const -> bool {
  const auto is_data = [](const TileStatement* makes) {
    return makes != nullptr && std::holds_alternative<TileLoad>(makes->what);
  };
  // What is loaded may have been written by then.
  const auto varies = [](const TileStatement* makes) {
    return makes == nullptr || !(std::holds_alternative<TileConstant>(makes->what) ||
                                 std::holds_alternative<TileParamValue>(makes->what) ||
                                 std::holds_alternative<TileCompute>(makes->what));
  };
  return std::holds_alternative<TileStore>(store.what) && rests_on(store.operands[0], is_data) &&
         !rests_on(store.operands[1], varies);
}

auto AccessSteps::is_taken_by(TileId mask, TileId value) const -> bool {
  const auto users = users_.find(value);
  return users == users_.end() ||
         std::ranges::all_of(users->second, [&](const TileStatement* user) {
           const auto* what = user == nullptr ? nullptr : std::get_if<TileCompute>(&user->what);
           if (what == nullptr) return false;
           if (what->op == TileOp::cast) return is_taken_by(mask, user->results[0]);
           return what->op == TileOp::select && user->operands[0] == mask &&
                  user->operands[1] == value && user->operands[2] != value;
         });
}

auto AccessSteps::takes_numbers_alone(const TileStatement& store) const -> bool {
  if (!std::holds_alternative<TileStore>(store.what) || store.operands[2] == kNoTile) return false;
  return std::ranges::all_of(accesses_, [&](const TileStatement* one) {
    const bool is_beside =
        std::holds_alternative<TileLoad>(one->what) && regions_.at(one) == regions_.at(&store);
    return !is_beside || kernel_.type(one->results[0]).axes != 0 ||
           is_taken_by(store.operands[2], one->results[0]);
  });
}

auto AccessSteps::stores_halves() const -> bool {
  return std::ranges::all_of(accesses_, [&](const TileStatement* one) {
    if (std::holds_alternative<TileLoad>(one->what)) return true;
    const auto* store = std::get_if<TileStore>(&one->what);
    return store != nullptr && is_half(kernel_.params[store->param].dtype);
  });
}

auto AccessSteps::scores() const -> std::vector<int> {
  constexpr int kAlong = 4, kOfEveryElement = 16;
  const auto axes_of = [&](const TileStatement* one) {
    return kernel_.type(one->operands[0]).axes;
  };
  int most = 0;
  for (const auto* one : accesses_) most = std::max(most, std::popcount(axes_of(one)));
  std::vector<int> score(kernel_.axes.size(), 0);
  for (const auto* one : accesses_)
    for (std::size_t axis = 0; axis < score.size(); ++axis) {
      if ((axes_of(one) >> axis & 1U) == 0) continue;
      const auto by = step(one->operands[0], axis);
      const auto weight = std::popcount(axes_of(one)) == most ? kOfEveryElement : 1;
      score[axis] += weight * (by == 1 ? kAlong : by == 0 ? 0 : -1);
    }
  return score;
}

}  // namespace assay
