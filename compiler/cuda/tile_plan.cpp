// What tiles make of a kernel's axes, by its accesses and reductions.
#include <algorithm>
#include <map>

#include "compiler/cuda/tiling.h"
#include "compiler/program/access_steps.h"
#include "compiler/program/combine.h"

namespace assay {
namespace {
/// Elements of the largest type among accesses that go through memory along the axis.
auto neighbours_along(const TileKernel& kernel, const AccessSteps& steps, std::size_t axis)
    -> std::int64_t {
  constexpr std::int64_t kAccessBytes = 16;
  std::int64_t largest = 0;
  for (const auto* one : steps.accesses()) {
    if (steps.step(one->operands[0], axis) != 1) continue;
    std::visit(
        [&]<class T>(const T& what) {
          if constexpr (requires { what.param; } && !std::is_same_v<T, TileSearch>)
            largest = std::max<std::int64_t>(largest, size_bytes(kernel.params[what.param].dtype));
        },
        one->what);
  }
  return largest == 0 ? 1 : std::max<std::int64_t>(kAccessBytes / largest, 1);
}
/// Parts of a reduced axis are folded one after the other.
auto may_be_placed(const KernelPlan& plan) -> bool {
  const bool has_scan = std::ranges::any_of(plan.statements, [](const PlannedStatement& one) {
    return !one.reduction && std::holds_alternative<TileScan>(one.statement->what);
  });
  return !has_scan && std::ranges::all_of(plan.reductions, [](const PlannedReduction& one) {
    return is_commutative(one.combine);
  });
}
/// Registers are what rows have too little of: whether one value per element at most is kept from
/// one pass to the next. What is loaded for the last pass alone, which code makes in portions, is
/// not kept.
auto keeps_one(const TileKernel& kernel, const KernelPlan& plan) -> bool {
  if (plan.levels <= 2) return false;
  const auto varies = [&](AxisSet axes) {
    return std::ranges::any_of(plan.reduced,
                               [&](std::size_t axis) { return (axes >> axis & 1U) != 0; });
  };
  struct Life {
    int made = 0, first = 0, last = 0;  ///< levels; of uses
    bool is_load = false, is_used = false;
  };
  std::map<TileId, Life> lives;
  for (const auto& one : plan.statements) {
    const auto& operands =
        one.reduction ? plan.reductions[*one.reduction].operands : one.statement->operands;
    for (const auto id : operands) {
      const auto known = lives.find(id);
      if (known == lives.end()) continue;
      auto& life = known->second;
      life.first = life.is_used ? std::min(life.first, one.level) : one.level;
      life.last = std::max(life.last, one.level);
      life.is_used = true;
    }
    if (one.reduction || !varies(one.axes)) continue;
    for (const auto id : one.statement->results)
      if (is_floating(kernel.type(id).dtype))
        lives[id] = {.made = one.level,
                     .is_load = std::holds_alternative<TileLoad>(one.statement->what)};
  }
  for (int level = 0; level + 1 < plan.levels; ++level) {
    const auto kept = std::ranges::count_if(lives, [&](const auto& one) {
      const auto& life = one.second;
      const bool is_late = life.is_load && life.first == plan.levels - 1;
      return life.is_used && !is_late && life.made <= level && life.last > level;
    });
    if (kept > 1) return false;
  }
  return true;
}
/// Whether elements are made of a few loads each. Many are a window, which leaves no registers for
/// what a loop over rows keeps.
auto loads_little(const TilePlan& plan) -> bool {
  constexpr std::int64_t kFew = 8;
  return std::ranges::count_if(plan.loops.statements, [](const PlannedStatement& one) {
           return !one.reduction && std::holds_alternative<TileLoad>(one.statement->what);
         }) <= kFew;
}
}  // namespace

auto plan_tiles(const TileKernel& kernel, std::optional<TileClip> clip) -> Result<TilePlan> {
  TilePlan plan;
  plan.clip = clip;
  ASSAY_TRY(plan.loops, plan_kernel(kernel));
  if (clip && (plan.loops.reduced.empty() || plan.loops.reduced.front() != clip->axis))
    return unsupported("what is clipped is not the slowest of the reduced axes");
  plan.is_placed = may_be_placed(plan.loops);
  constexpr std::int64_t kLanes = 32, kLanesOfWindows = 8;
  plan.loads_little = loads_little(plan);
  plan.row_lanes = plan.loads_little ? kLanes : kLanesOfWindows;
  plan.keeps_one = plan.loads_little && keeps_one(kernel, plan.loops);
  if (plan.loops.vector_axis < 0) return plan;
  const AccessSteps steps(kernel);
  const auto inner = static_cast<std::size_t>(plan.loops.vector_axis);
  plan.neighbours = neighbours_along(kernel, steps, inner);
  if (plan.loops.vector_is_reduced) return plan;
  plan.x = inner;
  plan.strides = plan.is_placed && plan.loops.reduced.empty() && plan.loops.parallel.size() > 1 &&
                 plan.loads_little;
  if (!plan.loops.reduced.empty()) return plan;
  const auto scores = steps.scores();
  int best = 0;
  for (const auto axis : plan.loops.parallel) {
    if (axis == plan.x || scores[axis] <= best) continue;
    best = scores[axis];
    plan.t = axis;
  }
  return plan;
}

}  // namespace assay
