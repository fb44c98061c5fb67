#include "compiler/cuda/tile_tail.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/program/kernel_builder.h"

namespace assay {
namespace {

/// Loads of a thread at once: parts are few, and wider than what they are made of.
constexpr std::int64_t kTailLoads = 4;

/// Statements of one tile kernel behind those of another, of the same parameters and with axes of
/// the same names.
class Joiner {
 public:
  Joiner(TiledKernel parts, const TiledKernel& tail) : made_(std::move(parts)), tail_(tail) {
    b_.kernel() = std::move(made_.kernel);
  }

  auto run(const TileTail& tail, const TileChoice& choice) -> Result<TiledKernel> {
    for (std::size_t i = 0; i < tail_.kernel.axes.size(); ++i) axes_.push_back(axis(i));
    TileStatement one;
    one.what = TileIf{};
    one.operands = {is_last(tail, choice)};
    one.regions.push_back(region(tail_.kernel.body));
    one.regions.emplace_back();
    b_.append(std::move(one));
    made_.kernel = std::move(b_.kernel());
    return std::move(made_);
  }

 private:
  /// The one of the same name, unless a thread has other registers along it.
  auto axis(std::size_t of_tail) -> std::size_t {
    auto& all = b_.kernel().axes;
    auto wanted = tail_.kernel.axes[of_tail];
    const auto same = std::ranges::find(all, wanted.name, &TileAxis::name);
    if (same != all.end() && same->max_block == wanted.max_block)
      return static_cast<std::size_t>(same - all.begin());
    wanted.name += "_tail";
    all.push_back(std::move(wanted));
    made_.places.push_back(tail_.places[of_tail]);
    return all.size() - 1;
  }
  /// Programs are numbered with tiles of columns fastest.
  auto is_last(const TileTail& tail, const TileChoice& choice) -> TileId {
    const auto of = choice.is_narrow ? DType::int32 : DType::int64;
    const auto as = [&](TileId id, DType dtype) {
      return b_.type(id).dtype == dtype ? id : b_.compute(TileOp::cast, {id}, dtype);
    };
    const auto block = b_.compute(
        TileOp::mul, {b_.param(made_.threads.front(), of), b_.number(of, choice.neighbours)});
    const auto most = b_.compute(TileOp::add, {b_.param(made_.extents[*tail.plan.x], of),
                                               b_.compute(TileOp::sub, {block, b_.number(of, 1)})});
    const auto groups = b_.compute(TileOp::quotient, {most, block});
    const auto program = as(b_.add(TileProgram{0}, {}, DType::int32, 0), of);
    const auto programs = as(b_.add(TileProgram{0, true}, {}, DType::int32, 0), of);
    const auto group = as(b_.compute(TileOp::remainder, {program, groups}), DType::int32);
    const auto parts = as(b_.compute(TileOp::quotient, {programs, groups}), DType::int32);
    return b_.add(TileArrive{tail.counter}, {group, parts}, DType::boolean, 0);
  }

  auto set(AxisSet axes) const -> AxisSet {
    AxisSet made = 0;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if ((axes >> i & 1U) != 0) made |= AxisSet{1} << axes_[i];
    return made;
  }
  auto value(TileId id) -> TileId {
    if (id == kNoTile) return kNoTile;
    const auto [known, is_new] = values_.try_emplace(id, kNoTile);
    const auto& type = tail_.kernel.type(id);
    if (is_new) known->second = b_.value(type.dtype, set(type.axes));
    return known->second;
  }
  void rename(std::vector<TileId>& ids) {
    for (auto& id : ids) id = value(id);
  }
  auto region(const TileRegion& of) -> TileRegion {
    TileRegion made;
    made.params = of.params;
    made.yields = of.yields;
    rename(made.params);
    for (const auto& statement : of.body) {
      auto& one = made.body.emplace_back(statement);
      rename(one.operands);
      rename(one.results);
      if (auto* lane = std::get_if<TileLane>(&one.what)) lane->axis = axes_.at(lane->axis);
      if (auto* reduce = std::get_if<TileReduce>(&one.what)) reduce->axis = axes_.at(reduce->axis);
      for (auto& inner : one.regions) inner = region(TileRegion(inner));
    }
    rename(made.yields);
    return made;
  }

  TiledKernel made_;
  const TiledKernel& tail_;
  KernelBuilder b_;
  std::vector<std::size_t> axes_;  ///< of the kernel, by axis of the tail
  std::map<TileId, TileId> values_;
};

}  // namespace

auto plan_tail(const SplitKernel& split, const TilePlan& plan) -> std::optional<TileTail> {
  auto tail = plan_tiles(split.second);
  if (!tail || !plan.is_placed || !tail->is_placed || !plan.x || tail->x != plan.x)
    return std::nullopt;
  // Columns and parts.
  if (plan.loops.parallel.size() != 2 || tail->loops.levels != 2) return std::nullopt;
  // What the first kernel reduces is one element of the second.
  std::erase_if(tail->loops.parallel, [&](std::size_t axis) {
    return std::ranges::find(plan.loops.reduced, axis) != plan.loops.reduced.end();
  });
  tail->is_tail = true;
  return TileTail{&split.second, *std::move(tail), split.counter};
}

auto with_tail(TiledKernel parts, const TileTail& tail, const TileChoice& choice)
    -> Result<TiledKernel> {
  auto of_tail = choice;
  of_tail.rounds = std::min(choice.rounds, column_rounds(tail.plan, kTailLoads));
  ASSAY_TRY(const auto made, tile_kernel(*tail.kernel, tail.plan, of_tail));
  return Joiner(std::move(parts), made).run(tail, choice);
}

}  // namespace assay
