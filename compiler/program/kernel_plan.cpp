#include "compiler/program/kernel_plan.h"

#include <algorithm>
#include <map>

#include "compiler/program/access_steps.h"

namespace assay {
namespace {

class Planner {
 public:
  explicit Planner(const TileKernel& kernel) : kernel_(kernel) {}

  auto run() -> Result<KernelPlan> {
    for (const auto& axis : kernel_.axes)
      if (!axis.exact) return unsupported("the axis {} is not exact", axis.name);
    ASSAY_TRY_VOID(merge_reductions());
    levels_.assign(kernel_.values.size(), 0);
    for (const auto& statement : kernel_.body.body) ASSAY_TRY_VOID(add(statement));
    order_axes();
    find_tiles();
    return std::move(plan_);
  }

 private:
  /// A reduction whose results only the next one of the same kind reads is absorbed by it, if that
  /// one goes over other axes: what is summed over one twice is summed as often as it is long.
  auto merge_reductions() -> Result<void> {
    std::map<TileId, int> uses;
    std::map<TileId, const TileStatement*> made_by;
    for (const auto& one : kernel_.body.body) {
      for (const auto id : one.operands) ++uses[id];
      if (std::holds_alternative<TileReduce>(one.what))
        for (const auto id : one.results) made_by[id] = &one;
    }
    for (const auto& one : kernel_.body.body) {
      const auto* reduce = std::get_if<TileReduce>(&one.what);
      if (const auto* scan = std::get_if<TileScan>(&one.what)) reduced_ |= AxisSet{1} << scan->axis;
      if (reduce == nullptr) continue;
      reduced_ |= AxisSet{1} << reduce->axis;
      const auto before = made_by.find(one.operands[0]);
      auto& operands = operands_of_[&one];
      operands = one.operands;
      axes_of_[&one] = AxisSet{1} << reduce->axis;
      if (before == made_by.end()) continue;
      const auto* inner = before->second;
      const bool is_same =
          std::get<TileReduce>(inner->what).combine == reduce->combine &&
          inner->results == one.operands && (axes_of_[inner] >> reduce->axis & 1U) == 0 &&
          std::ranges::all_of(one.operands, [&](TileId id) { return uses[id] == 1; });
      if (!is_same) continue;
      absorbed_[inner] = true;
      operands = operands_of_[inner];
      axes_of_[&one] |= axes_of_[inner];
    }
    for (const auto& [statement, axes] : axes_of_)
      if (!absorbed_.contains(statement) && axes != reduced_)
        return unsupported("reductions over different axes");
    return {};
  }

  [[nodiscard]] static auto is_known(TileCombine combine) -> bool {
    return combine != TileCombine::welford && combine != TileCombine::online_softmax &&
           combine != TileCombine::region;
  }
  /// A scan is a value of the pass that it is computed in; what stands before it is carried.
  auto check_scan(const TileStatement& one) const -> Result<void> {
    const auto* scan = std::get_if<TileScan>(&one.what);
    if (scan == nullptr) return {};
    if (scan->is_reverse || one.operands.size() != 1 || !is_known(scan->combine))
      return unsupported("a scan of this kind");
    if (reduced_ != AxisSet{1} << scan->axis)
      return unsupported("a scan among reductions over other axes");
    return {};
  }

  auto add(const TileStatement& one) -> Result<void> {
    if (absorbed_.contains(&one)) return {};
    PlannedStatement planned;
    planned.statement = &one;
    int level = 0;
    const auto& operands = operands_of_.contains(&one) ? operands_of_.at(&one) : one.operands;
    for (const auto id : operands) {
      if (id == kNoTile) continue;
      level = std::max(level, levels_[static_cast<std::size_t>(id)]);
      planned.axes |= kernel_.type(id).axes;
    }
    planned.level = level;
    if (const auto* reduce = std::get_if<TileReduce>(&one.what)) {
      if (!is_known(reduce->combine)) return unsupported("a reduction of this kind");
      planned.reduction = plan_.reductions.size();
      planned.axes |= reduced_;
      plan_.reductions.push_back({reduce->combine, operands, one.results, level});
      for (const auto id : one.results) levels_[static_cast<std::size_t>(id)] = level + 1;
      plan_.levels = std::max(plan_.levels, level + 2);
    } else if (std::holds_alternative<TileStore>(one.what) ||
               std::holds_alternative<TileAtomic>(one.what) ||
               std::holds_alternative<TileAssert>(one.what)) {
      plan_.levels = std::max(plan_.levels, level + 1);
      if (const auto* atomic = std::get_if<TileAtomic>(&one.what)) {
        if (!atomic->is_exchange && atomic->op != TileOp::add)
          return unsupported("an atomic operation of this kind");
        plan_.is_serial = true;
      }
    } else if (std::holds_alternative<TileConstant>(one.what) ||
               std::holds_alternative<TileParamValue>(one.what) ||
               std::holds_alternative<TileIndex>(one.what) ||
               std::holds_alternative<TileCompute>(one.what) ||
               std::holds_alternative<TileLoad>(one.what) ||
               std::holds_alternative<TileScan>(one.what) ||
               (std::holds_alternative<TileRandom>(one.what) && one.results.size() == 1)) {
      ASSAY_TRY_VOID(check_scan(one));
      const auto id = one.results[0];
      planned.axes = kernel_.type(id).axes;
      levels_[static_cast<std::size_t>(id)] = level;
      plan_.levels = std::max(plan_.levels, level + 1);
    } else {
      return unsupported("a statement that has no code yet");
    }
    plan_.statements.push_back(planned);
    return {};
  }

  /// The axis along which most accesses are contiguous is vectorised, and stands innermost.
  void order_axes() {
    auto score = AccessSteps(kernel_).scores();
    for (std::size_t axis = 0; axis < score.size(); ++axis) {
      if (const auto& extent = kernel_.axes[axis].extent; extent && extent->is_int(1))
        score[axis] = -1000;
      if (plan_.vector_axis < 0 ||
          score[axis] >= score[static_cast<std::size_t>(plan_.vector_axis)])
        plan_.vector_axis = static_cast<int>(axis);
    }
    for (std::size_t axis = 0; axis < score.size(); ++axis)
      if (static_cast<int>(axis) != plan_.vector_axis) list_of(axis).push_back(axis);
    if (plan_.vector_axis < 0) return;
    const auto axis = static_cast<std::size_t>(plan_.vector_axis);
    plan_.vector_is_reduced = (reduced_ >> axis & 1U) != 0;
    list_of(axis).push_back(axis);
  }
  /// Loads that are contiguous along another axis than the stores are taken as whole vectors along
  /// it and transposed in registers.
  void find_tiles() {
    const AccessSteps steps(kernel_);
    constexpr std::size_t kStatements = 32;  // they are repeated for each row of a tile
    if (plan_.is_serial || reduced_ != 0 || plan_.parallel.size() < 2 ||
        plan_.statements.size() > kStatements)
      return;
    const auto vector_axis = plan_.parallel.back();
    for (const auto other : plan_.parallel) {
      if (other == vector_axis) continue;
      bool any = false;
      for (auto& one : plan_.statements) {
        if (!std::holds_alternative<TileLoad>(one.statement->what)) continue;
        const auto index = one.statement->operands[0];
        const auto along = steps.step(index, vector_axis);
        one.is_tiled = one.statement->operands[1] == kNoTile && along != 0 && along != 1 &&
                       steps.step(index, other) == 1 && is_arithmetic(steps, index);
        any = any || one.is_tiled;
      }
      if (!any) continue;
      plan_.has_tiles = true;
      std::erase(plan_.parallel, other);
      plan_.parallel.insert(plan_.parallel.end() - 1, other);
      return;
    }
  }
  /// Whether an index is made of indices, numbers and parameters alone.
  auto is_arithmetic(const AccessSteps& steps, TileId id) const -> bool {
    const auto* made = steps.maker(id);
    if (made == nullptr || kernel_.type(id).dtype != DType::int64) return false;
    if (std::holds_alternative<TileCompute>(made->what))
      return std::ranges::all_of(made->operands,
                                 [&](TileId one) { return is_arithmetic(steps, one); });
    return std::holds_alternative<TileIndex>(made->what) ||
           std::holds_alternative<TileConstant>(made->what) ||
           std::holds_alternative<TileParamValue>(made->what);
  }
  auto list_of(std::size_t axis) -> std::vector<std::size_t>& {
    return (reduced_ >> axis & 1U) != 0 ? plan_.reduced : plan_.parallel;
  }

  const TileKernel& kernel_;
  KernelPlan plan_;
  AxisSet reduced_ = 0;
  std::vector<int> levels_;
  std::map<const TileStatement*, std::vector<TileId>> operands_of_;
  std::map<const TileStatement*, AxisSet> axes_of_;
  std::map<const TileStatement*, bool> absorbed_;
};

}  // namespace

auto is_chain(const TileStatement& one) -> bool {
  if (std::holds_alternative<TileRandom>(one.what)) return true;
  const auto* what = std::get_if<TileCompute>(&one.what);
  return what != nullptr && ((what->op >= TileOp::exp && what->op <= TileOp::sigmoid &&
                              what->op != TileOp::sqrt && what->op != TileOp::rsqrt) ||
                             what->op == TileOp::power);
}

auto plan_kernel(const TileKernel& kernel) -> Result<KernelPlan> {
  return Planner(kernel).run();
}

auto needed_by_reductions(const KernelPlan& plan) -> std::set<TileId> {
  std::set<TileId> needed;
  for (auto at = plan.statements.rbegin(); at != plan.statements.rend(); ++at) {
    const auto& operands =
        at->reduction ? plan.reductions[*at->reduction].operands : at->statement->operands;
    if (at->reduction ||
        std::ranges::any_of(at->statement->results, [&](TileId id) { return needed.contains(id); }))
      needed.insert(operands.begin(), operands.end());
  }
  return needed;
}

}  // namespace assay
