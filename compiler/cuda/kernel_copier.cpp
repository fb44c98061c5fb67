#include "compiler/cuda/kernel_copier.h"

#include <algorithm>
#include <utility>

namespace assay {

KernelCopier::KernelCopier(const TileKernel& kernel, const KernelPlan& plan)
    : from_(kernel), plan_(plan) {
  for (const auto axis : plan.reduced) reduced_ |= AxisSet{1} << axis;
  for (const auto& planned : plan.statements)
    if (!planned.reduction)
      for (const auto id : planned.statement->results) makers_[id] = planned.statement;
}

void KernelCopier::start(KernelBuilder& b, const std::string& part) {
  b_ = &b;
  b.start_as_part(from_, part);
  needed_.clear();
  values_.clear();
}

auto KernelCopier::place_of_row() -> TileId {
  auto place = b_->number(DType::int64, 0);
  for (std::size_t i = 0; i < plan_.parallel.size(); ++i) {
    const auto axis = plan_.parallel[i];
    const auto extent = b_->scalar_param("extent_" + from_.axes[axis].name);
    const auto at = index(axis);
    if (i == 0) {
      place = at;
      continue;
    }
    const auto before = b_->compute(TileOp::mul, {place, b_->param(extent, DType::int64)});
    place = b_->compute(TileOp::add, {before, at});
  }
  return place;
}

auto KernelCopier::index(std::size_t axis) -> TileId {
  return b_->add(TileIndex{axis}, {}, DType::int64, AxisSet{1} << axis);
}

void KernelCopier::store(std::size_t param, TileId at, TileId value) {
  TileStatement one;
  one.what = TileStore{param};
  one.operands = {at, value, kNoTile};
  b_->append(std::move(one));
}

void KernelCopier::need(TileId id) {
  if (id == kNoTile || !needed_.insert(id).second || given_.contains(id)) return;
  need_operands(*makers_.at(id));
}

void KernelCopier::need_operands(const TileStatement& one) {
  for (const auto id : one.operands) need(id);
}

auto KernelCopier::is_needed(const TileStatement& one) const -> bool {
  return std::ranges::any_of(one.results, [&](TileId id) { return needed_.contains(id); });
}

auto KernelCopier::value(TileId id) const -> TileId {
  return id == kNoTile ? id : values_.at(id);
}

void KernelCopier::copy(const TileStatement& one) {
  if (const auto other = instead(one)) {
    values_[one.results[0]] = *other;
    return;
  }
  auto made = one;
  for (auto& operand : made.operands) operand = value(operand);
  guard(made);
  b_->set_line(one.line);
  for (auto& result : made.results) {
    const auto& type = from_.type(result);
    const auto here = b_->value(type.dtype, b_->axes_of(made.operands) | type.axes);
    values_[std::exchange(result, here)] = here;
  }
  b_->append(std::move(made));
}

}  // namespace assay
