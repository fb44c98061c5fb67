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
    const auto* load = cast_load(reduction.operands[0]);
    if (load == nullptr || load->statement->operands[1] != kNoTile) continue;
    const auto id = load->statement->results[0];
    const auto identity = combine_identity(reduction.combine, 0, kernel.type(id).dtype);
    if (const auto* number = std::get_if<double>(&identity)) fills_.emplace(id, *number);
  }
  for (const auto& one : plan.statements)
    if (const auto known = one.reduction ? std::nullopt : made(one))
      values_.emplace(one.statement->results[0], *known);
}

auto OutsideValues::fill(TileId load) const -> std::optional<double> {
  const auto found = fills_.find(load);
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

/// One that is masked in those lanes, and has no number of its own.
auto OutsideValues::is_bare_load(const PlannedStatement& one) const -> bool {
  return std::holds_alternative<TileLoad>(one.statement->what) &&
         one.statement->operands[2] == kNoTile &&
         std::ranges::any_of(plan_.reduced,
                             [&](std::size_t axis) { return (one.axes >> axis & 1U) != 0; });
}

auto OutsideValues::cast_load(TileId id) const -> const PlannedStatement* {
  const auto found = makers_.find(id);
  if (found == makers_.end()) return nullptr;
  const auto* made = found->second;
  if (is_bare_load(*made)) return made;
  const auto* compute = std::get_if<TileCompute>(&made->statement->what);
  if (compute == nullptr || compute->op != TileOp::cast) return nullptr;
  const auto from = made->statement->operands[0];
  return is_floating(kernel_.type(from).dtype) && is_floating(kernel_.type(id).dtype)
             ? cast_load(from)
             : nullptr;
}

auto OutsideValues::is_extreme_of(TileId id, TileId load) const -> bool {
  return std::ranges::any_of(plan_.reductions, [&](const PlannedReduction& reduction) {
    const auto* made = is_extreme(reduction) ? cast_load(reduction.operands[0]) : nullptr;
    return made != nullptr && made->statement->results[0] == load && reduction.results[0] == id;
  });
}

auto OutsideValues::value(TileId id) const -> std::optional<Value> {
  const auto found = values_.find(id);
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

auto OutsideValues::made(const PlannedStatement& planned) const -> std::optional<Value> {
  const auto& one = *planned.statement;
  if (is_bare_load(planned)) return Value{fill(one.results[0]).value_or(0), one.results[0]};
  if (const auto* constant = std::get_if<TileConstant>(&one.what))
    return Value{std::visit([](auto same) { return static_cast<double>(same); }, constant->value)};
  const auto* compute = std::get_if<TileCompute>(&one.what);
  return compute == nullptr ? std::nullopt : computed(compute->op, one);
}

auto OutsideValues::computed(TileOp op, const TileStatement& one) const -> std::optional<Value> {
  const auto first = value(one.operands[0]);
  if (!first) return std::nullopt;
  const auto& [a, load] = *first;
  if (op == TileOp::cast) {
    if (a != 0 && !is_floating(kernel_.type(one.results[0]).dtype)) return std::nullopt;
    return first;
  }
  if (op == TileOp::negate) return Value{-a, load};
  if (op == TileOp::absolute) return Value{std::abs(a), load};
  if (op == TileOp::exp && std::isinf(a) && a < 0) return Value{0};
  // Where the largest element is as infinite as this, all of its row is NaN anyway.
  if (op == TileOp::sub && std::isinf(a) && is_extreme_of(one.operands[1], load)) return first;
  if (op != TileOp::mul && op != TileOp::add && op != TileOp::sub) return std::nullopt;
  const auto second = value(one.operands[1]);
  if (!second || !std::isfinite(a) || !std::isfinite(second->number)) return std::nullopt;
  if (op == TileOp::mul && a * second->number == 0) return Value{0};
  if (op != TileOp::mul && a == 0 && second->number == 0) return Value{0};
  return std::nullopt;
}

}  // namespace assay
