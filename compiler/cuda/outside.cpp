#include "compiler/cuda/outside.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "compiler/program/combine.h"

namespace assay {
namespace {

auto is_extreme(const PlannedReduction& reduction) -> bool {
  return reduction.operands.size() == 1 &&
         (reduction.combine == TileCombine::max || reduction.combine == TileCombine::min);
}

}  // namespace

OutsideValues::OutsideValues(const TileKernel& kernel, const KernelPlan& plan)
    : kernel_(kernel), plan_(plan) {
  for (const auto& one : plan.statements)
    if (!one.reduction)
      for (const auto id : one.statement->results) makers_[id] = &one;
  for (const auto& reduction : plan.reductions) {
    if (!is_extreme(reduction)) continue;
    const auto id = root(reduction.operands[0]);
    const auto identity = combine_identity(reduction.combine, 0, kernel.type(id).dtype);
    const auto* number = std::get_if<double>(&identity);
    if (number != nullptr && varies(id)) fills_.emplace(id, *number);
  }
  for (const auto& one : plan.statements)
    if (const auto known = one.reduction ? std::nullopt : made(one))
      values_.emplace(one.statement->results[0], *known);
}

auto OutsideValues::fill(TileId id) const -> std::optional<double> {
  const auto found = fills_.find(id);
  if (found == fills_.end()) return std::nullopt;
  return found->second;
}

auto OutsideValues::is_identity(const PlannedReduction& reduction, std::size_t part) const -> bool {
  if (reduction.combine != TileCombine::sum && !is_extreme(reduction)) return false;
  const auto id = reduction.operands[part];
  const auto outside = value(id);
  const auto identity = combine_identity(reduction.combine, part, kernel_.type(id).dtype);
  const auto number = std::visit([](auto same) { return static_cast<double>(same); }, identity);
  return outside && outside->number == number;
}

auto OutsideValues::varies(TileId id) const -> bool {
  const auto found = makers_.find(id);
  return found != makers_.end() && std::ranges::any_of(plan_.reduced, [&](std::size_t axis) {
           return (found->second->axes >> axis & 1U) != 0;
         });
}

/// A load that is masked in those lanes, and has no number of its own.
auto OutsideValues::is_bare_load(const TileStatement& one) const -> bool {
  return std::holds_alternative<TileLoad>(one.what) && one.operands[2] == kNoTile &&
         varies(one.results[0]);
}

auto OutsideValues::root(TileId id) const -> TileId {
  for (auto at = id;;) {
    const auto found = makers_.find(at);
    if (found == makers_.end()) return id;
    const auto& one = *found->second->statement;
    // What a mask of its own leaves out is 0 and not the number of those lanes.
    if (is_bare_load(one) && one.operands[1] == kNoTile) return at;
    const auto* compute = std::get_if<TileCompute>(&one.what);
    if (compute == nullptr || compute->op != TileOp::cast) return id;
    at = one.operands[0];
    if (!is_floating(kernel_.type(at).dtype)) return id;
  }
}

auto OutsideValues::is_extreme_of(TileId id, TileId of) const -> bool {
  return std::ranges::any_of(plan_.reductions, [&](const PlannedReduction& reduction) {
    return is_extreme(reduction) && reduction.results[0] == id && root(reduction.operands[0]) == of;
  });
}

auto OutsideValues::value(TileId id) const -> std::optional<Value> {
  const auto found = values_.find(id);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

auto OutsideValues::made(const PlannedStatement& planned) const -> std::optional<Value> {
  const auto& one = *planned.statement;
  if (one.results.empty()) return std::nullopt;
  const auto id = one.results[0];
  if (const auto filled = fill(id)) return Value{*filled, id};
  if (is_bare_load(one)) return Value{0};
  if (const auto* constant = std::get_if<TileConstant>(&one.what))
    return Value{std::visit([](auto same) { return static_cast<double>(same); }, constant->value)};
  const auto* compute = std::get_if<TileCompute>(&one.what);
  return compute == nullptr ? std::nullopt : computed(compute->op, one);
}

auto OutsideValues::computed(TileOp op, const TileStatement& one) const -> std::optional<Value> {
  const auto first = value(one.operands[0]);
  if (!first) return std::nullopt;
  const auto& [a, of] = *first;
  if (op == TileOp::cast) {
    if (a != 0 && !is_floating(kernel_.type(one.results[0]).dtype)) return std::nullopt;
    return first;
  }
  if (op == TileOp::negate) return Value{-a, of};
  if (op == TileOp::absolute) return Value{std::abs(a), of};
  if (op == TileOp::exp && std::isinf(a) && a < 0) return Value{0};
  // Where the largest element is as infinite as this, all of its row is NaN anyway.
  if (op == TileOp::sub && std::isinf(a) && is_extreme_of(one.operands[1], of)) return first;
  if (op != TileOp::mul && op != TileOp::add && op != TileOp::sub) return std::nullopt;
  const auto second = value(one.operands[1]);
  if (!second || !std::isfinite(a) || !std::isfinite(second->number)) return std::nullopt;
  if (op == TileOp::mul && a * second->number == 0) return Value{0};
  if (op != TileOp::mul && a == 0 && second->number == 0) return Value{0};
  return std::nullopt;
}

}  // namespace assay
