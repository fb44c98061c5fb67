// What tiles make of a kernel's axes, by its accesses and reductions.
#include <algorithm>
#include <functional>
#include <map>

#include "compiler/cuda/tile_overlap.h"
#include "compiler/cuda/tiling.h"
#include "compiler/program/access_steps.h"
#include "compiler/program/combine.h"

namespace assay {
namespace {
/// Elements of the largest type among accesses that go through memory along the axis; of those that
/// are made for every element of columns, where there are some, since the others are few.
auto neighbours_along(const TileKernel& kernel, const KernelPlan& plan, const AccessSteps& steps,
                      std::size_t axis) -> std::int64_t {
  constexpr std::int64_t kAccessBytes = 16;
  AxisSet reduced = 0;
  for (const auto one : plan.reduced) reduced |= AxisSet{1} << one;
  const auto is_along = [&](const TileStatement* one) {
    return steps.step(one->operands[0], axis) == 1;
  };
  const auto is_often = [&](const TileStatement* one) {
    return is_along(one) && (kernel.type(one->operands[0]).axes & reduced) != 0;
  };
  const bool has_often = std::ranges::any_of(steps.accesses(), is_often);
  std::int64_t largest = 0;
  for (const auto* one : steps.accesses()) {
    if (!(has_often ? is_often(one) : is_along(one))) continue;
    std::visit(
        [&]<class T>(const T& what) {
          if constexpr (requires { what.param; } && !std::is_same_v<T, TileSearch>)
            largest = std::max<std::int64_t>(largest, size_bytes(kernel.params[what.param].dtype));
        },
        one->what);
  }
  return largest == 0 ? 1 : std::max<std::int64_t>(kAccessBytes / largest, 1);
}
/// The index of a store, or else of a load, that goes through memory along the axis and stands
/// elsewhere in each row, which nothing that is read says.
auto aligned_by(const TileKernel& kernel, const AccessSteps& steps, std::size_t axis) -> TileId {
  const std::function<bool(TileId)> is_plain = [&](TileId id) {
    const auto* maker = steps.maker(id);
    if (maker == nullptr || is_floating(kernel.type(id).dtype)) return false;
    if (std::holds_alternative<TileCompute>(maker->what))
      return std::ranges::all_of(maker->operands, is_plain);
    return std::holds_alternative<TileIndex>(maker->what) ||
           std::holds_alternative<TileConstant>(maker->what) ||
           std::holds_alternative<TileParamValue>(maker->what);
  };
  const auto others = ~(AxisSet{1} << axis);
  for (const bool stores : {true, false})
    for (const auto* one : steps.accesses()) {
      const auto index = one->operands[0];
      const bool is_store = std::holds_alternative<TileStore>(one->what);
      const bool is_load = std::holds_alternative<TileLoad>(one->what);
      if ((stores ? is_store : is_load) && steps.step(index, axis) == 1 &&
          (kernel.type(index).axes & others) != 0 && is_plain(index))
        return index;
    }
  return kNoTile;
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
/// Registers of the machine that the thread of an element does with, so that as many threads are at
/// work as there may be: it is memory that they wait for. More where several loads are guarded each
/// by itself, or one says where another is. 0 where places are made by divisions, or numbers are
/// wide: what that takes would be kept in memory.
auto element_registers(const TileKernel& kernel, const KernelPlan& plan) -> int {
  constexpr int kFew = 32, kMore = 40;
  constexpr TileOp kDivisions[] = {TileOp::quotient, TileOp::remainder, TileOp::floor_quotient,
                                   TileOp::floor_remainder};
  std::set<TileId> loaded;  // what rests on a load
  int guarded = 0;
  bool is_indirect = false, divides = plan.parallel.size() > 2;
  for (const auto& planned : plan.statements) {
    const auto& one = *planned.statement;
    const auto is_loaded = [&](TileId id) { return loaded.contains(id); };
    const auto* compute = std::get_if<TileCompute>(&one.what);
    const bool is_load = std::holds_alternative<TileLoad>(one.what);
    if (is_load && one.operands[1] != kNoTile) ++guarded;
    is_indirect = is_indirect || (is_load && is_loaded(one.operands[0]));
    if (is_load || std::ranges::any_of(one.operands, is_loaded))
      loaded.insert(one.results.begin(), one.results.end());
    for (const auto id : one.results) {
      const auto& [of, axes] = kernel.type(id);
      const bool is_division =
          compute != nullptr && !is_floating(of) && std::ranges::count(kDivisions, compute->op) > 0;
      divides = divides || (axes != 0 && (is_division || of == DType::float64));
    }
  }
  if (divides) return 0;
  return guarded > 1 || is_indirect ? kMore : kFew;
}
/// Whether it is a reduction, or one of them needs it.
auto is_needed(const PlannedStatement& one, const std::set<TileId>& needed) -> bool {
  return one.reduction || std::ranges::any_of(one.statement->results,
                                              [&](TileId id) { return needed.contains(id); });
}
/// Registers of the machine that a row's thread does with: where one value per element at most is
/// kept from one pass to the next. 0: it takes what it wants.
auto row_registers(const TileKernel& kernel, const KernelPlan& plan) -> int {
  constexpr int kOfHalves = 48, kOfMore = 96;
  if (plan.levels <= 2) return 0;
  const auto varies = [&](AxisSet axes) {
    return std::ranges::any_of(plan.reduced,
                               [&](std::size_t axis) { return (axes >> axis & 1U) != 0; });
  };
  // Code makes all else for the last pass, in portions.
  const auto needed = needed_by_reductions(plan);
  const auto level = [&](const PlannedStatement& one) {
    return is_needed(one, needed) ? one.level : plan.levels - 1;
  };
  struct Life {
    int made = 0, last = 0;  ///< levels; of uses
    bool is_load = false, is_used = false;
  };
  std::map<TileId, Life> lives;
  for (const auto& one : plan.statements) {
    const auto& operands =
        one.reduction ? plan.reductions[*one.reduction].operands : one.statement->operands;
    for (const auto id : operands) {
      const auto known = lives.find(id);
      if (known == lives.end()) continue;
      known->second.last = std::max(known->second.last, level(one));
      known->second.is_used = true;
    }
    if (one.reduction || !varies(one.axes)) continue;
    for (const auto id : one.statement->results)
      if (is_floating(kernel.type(id).dtype))
        lives[id] = {.made = level(one),
                     .is_load = std::holds_alternative<TileLoad>(one.statement->what)};
  }
  for (int pass = 0; pass + 1 < plan.levels; ++pass) {
    const auto kept = std::ranges::count_if(lives, [&](const auto& one) {
      const auto& life = one.second;
      return life.is_used && life.made <= pass && life.last > pass;
    });
    if (kept > 1) return 0;
  }
  std::vector<TileId> loads;
  int of_elements = 0;
  for (const auto& [id, life] : lives) {
    if (!life.is_load) continue;
    loads.push_back(id);
    of_elements += life.made == 0 ? 1 : 0;
  }
  if (of_elements > 1) return kOfMore;
  // Where halves are all that is read, functions are short ones and nothing waits behind.
  const bool is_of_halves = loads.size() == 1 && is_half(kernel.type(loads[0]).dtype) &&
                            AccessSteps(kernel).stores_halves();
  return is_of_halves ? kOfHalves : kRegistersOfOneLoad;
}
/// Registers of the machine that the thread of columns does with: two blocks are at work at once,
/// for which parts are made.
constexpr int kColumnRegisters = 128;
/// Whether elements are made of a few loads each. Many are a window, which leaves no registers for
/// what a loop over rows keeps.
auto loads_little(const TilePlan& plan) -> bool {
  constexpr std::int64_t kFew = 8;
  return std::ranges::count_if(plan.loops.statements, [](const PlannedStatement& one) {
           return !one.reduction && std::holds_alternative<TileLoad>(one.statement->what);
         }) <= kFew;
}
/// Loads of each element of a row, or of each of columns `x`.
auto loads_along(const KernelPlan& plan, std::optional<std::size_t> x) -> int {
  AxisSet reduced = 0;
  for (const auto axis : plan.reduced) reduced |= AxisSet{1} << axis;
  return static_cast<int>(std::ranges::count_if(plan.statements, [&](const PlannedStatement& one) {
    return !one.reduction && std::holds_alternative<TileLoad>(one.statement->what) &&
           (one.axes & reduced) != 0 && (!x || (one.axes >> *x & 1U) != 0);
  }));
}
/// Buffers of which an element loads many, so that no result may stand over them.
auto windows(const KernelPlan& plan) -> std::set<std::size_t> {
  std::map<std::size_t, int> loads;
  std::set<std::size_t> all;
  for (const auto& one : plan.statements)
    if (const auto* load = std::get_if<TileLoad>(&one.statement->what))
      if (++loads[load->param] >= kWindowLoads) all.insert(load->param);
  for (const auto& one : plan.statements) {
    if (const auto* store = std::get_if<TileStore>(&one.statement->what)) all.erase(store->param);
    if (const auto* atomic = std::get_if<TileAtomic>(&one.statement->what))
      all.erase(atomic->param);
  }
  return all;
}
}  // namespace

auto plan_tiles(const TileKernel& kernel, std::optional<TileClip> clip) -> Result<TilePlan> {
  TilePlan plan;
  plan.clip = clip;
  ASSAY_TRY(plan.loops, plan_kernel(kernel));
  if (clip && (plan.loops.reduced.empty() || plan.loops.reduced.front() != clip->axis))
    return unsupported("what is clipped is not the slowest of the reduced axes");
  plan.is_placed = may_be_placed(plan.loops);
  plan.windows = windows(plan.loops);
  plan.loads_little = loads_little(plan);
  if (plan.loads_little)
    plan.registers = plan.loops.reduced.empty() ? element_registers(kernel, plan.loops)
                                                : row_registers(kernel, plan.loops);
  if (plan.loops.vector_axis >= 0 && !plan.loops.vector_is_reduced)
    plan.x = static_cast<std::size_t>(plan.loops.vector_axis);
  plan.loads = loads_along(plan.loops, plan.x);
  if (plan.loops.vector_axis < 0) return plan;
  const AccessSteps steps(kernel);
  const auto inner = static_cast<std::size_t>(plan.loops.vector_axis);
  plan.neighbours = neighbours_along(kernel, plan.loops, steps, inner);
  plan.aligned_by = aligned_by(kernel, steps, inner);
  if (!plan.x) return plan;
  if (!plan.loops.reduced.empty()) plan.registers = plan.loads_little ? kColumnRegisters : 0;
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
  // Rows that are threads are a third axis.
  if (plan.is_placed && !plan.loads_little && !plan.t && plan.loops.parallel.size() > 2)
    plan.w = overlapping_axis(kernel, plan.loops.parallel, inner);
  return plan;
}

}  // namespace assay
