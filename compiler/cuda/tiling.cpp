#include "compiler/cuda/tiling.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "compiler/program/access_steps.h"
#include "compiler/program/combine.h"
#include "compiler/program/kernel_builder.h"

namespace assay {
namespace {

constexpr std::int64_t kTile = 512;  ///< lanes of a tile without reduction: 128 threads
constexpr std::int64_t kColumnTile = 128, kColumnRows = 8;
constexpr std::array<std::int64_t, 4> kWidths = {512, 128, 32, 4};
constexpr std::array<std::int64_t, 8> kRows = {128, 256, 512, 1024, 2048, 4096, 8192, 16384};
constexpr std::int64_t kRowTile = 2048;  ///< lanes of a tile of short rows
constexpr std::int64_t kLoopedRow = 2048;
constexpr std::int64_t kReadAgain = 8192;  ///< the same where rows are read more than once

constexpr std::int64_t kSquare = 32;  ///< both sides of a tile that is transposed

struct Extents {
  std::int64_t x = 1, t = 1, y = 1, r = 1;
};
auto extents_of(const TilePlan& plan, const TileChoice& choice,
                const std::vector<std::int64_t>& extents) -> Extents {
  Extents all;
  for (const auto axis : plan.loops.parallel) {
    const bool is_t = choice.block_t > 0 && axis == plan.t;
    (axis == plan.x ? all.x : is_t ? all.t : all.y) *= extents[axis];
  }
  for (const auto axis : plan.loops.reduced) all.r *= extents[axis];
  return all;
}
auto tiles(std::int64_t extent, std::int64_t block) -> std::int64_t {
  return (extent + block - 1) / block;
}

class Tiler {
 public:
  Tiler(const TileKernel& kernel, const TilePlan& plan, const TileChoice& choice)
      : from_(kernel), tiles_(plan), plan_(plan.loops), choice_(choice) {}

  auto run() -> Result<TiledKernel> {
    b_.kernel().name = from_.name;
    b_.kernel().heuristic = from_.heuristic;
    b_.kernel().params = from_.params;
    b_.kernel().asserts_are_on = from_.asserts_are_on;
    for (const auto& axis : from_.axes) extents_.push_back(b_.scalar_param("extent_" + axis.name));
    axes();
    positions();
    if (plan_.reduced.empty() || !choice_.loops)
      whole();
    else
      passes();
    return TiledKernel{std::move(b_.kernel()), std::move(extents_)};
  }

 private:
  struct Axis {
    std::size_t number = 0;  ///< in the tile kernel
    TileId index = kNoTile, in_range = kNoTile;
    std::vector<std::size_t> of;  ///< exact axes, the fastest last
    TileId extent = kNoTile;
    std::int64_t block = 1;
  };

  // Axes
  [[nodiscard]] auto index_dtype() const -> DType {
    return choice_.is_narrow ? DType::int32 : DType::int64;
  }
  auto extent(std::size_t exact) -> TileId { return b_.param(extents_[exact], index_dtype()); }
  void axis(std::vector<std::size_t> of, const char* name, TileAxis::Kind kind,
            std::int64_t block) {
    if (of.empty()) return;
    Axis made;
    made.number = b_.kernel().axes.size();
    made.of = std::move(of);
    made.block = block;
    for (const auto exact : made.of) {
      const auto one = extent(exact);
      made.extent = made.extent == kNoTile ? one : b_.compute(TileOp::mul, {made.extent, one});
    }
    TileAxis tile;
    tile.name = name;
    tile.kind = kind;
    tile.block = Expr(block);
    tile.max_block = block;
    b_.kernel().axes.push_back(std::move(tile));
    axes_.push_back(std::move(made));
  }
  void axes() {
    const auto x = tiles_.x;
    const auto t = choice_.block_t > 0 ? tiles_.t : std::nullopt;
    std::vector<std::size_t> y;
    for (const auto one : plan_.parallel)
      if (one != x && one != t) y.push_back(one);
    using Kind = TileAxis::Kind;
    if (x) axis({*x}, "x", Kind::parallel, choice_.block_x);
    if (t) axis({*t}, "t", Kind::parallel, choice_.block_t);
    axis(std::move(y), "y", Kind::parallel, choice_.block_y);
    axis(plan_.reduced, "r", Kind::reduction, choice_.block_r);
  }

  /// Programs are numbered with the tiles of the first axis fastest.
  void positions() {
    TileId rest = kNoTile;
    for (auto& one : axes_) {
      if (b_.kernel().axes[one.number].kind != TileAxis::Kind::parallel) continue;
      const auto type = index_dtype();
      if (rest == kNoTile)
        rest = b_.compute(TileOp::cast, {b_.add(TileProgram{0}, {}, DType::int32, 0)}, type);
      auto tile = rest;
      if (const bool is_last = b_.kernel().axes.size() == one.number + 1 ||
                               b_.kernel().axes[one.number + 1].kind != TileAxis::Kind::parallel;
          !is_last) {
        const auto block = b_.number(type, one.block);
        const auto most = b_.compute(TileOp::add, {one.extent, b_.number(type, one.block - 1)});
        const auto count = b_.compute(TileOp::quotient, {most, block});
        tile = b_.compute(TileOp::remainder, {rest, count});
        rest = b_.compute(TileOp::quotient, {rest, count});
      }
      const auto origin = b_.compute(TileOp::mul, {tile, b_.number(type, one.block)});
      place(one, origin);
    }
    for (auto& one : axes_)
      if (b_.kernel().axes[one.number].kind == TileAxis::Kind::reduction && !choice_.loops)
        place(one, b_.number(index_dtype(), 0));
  }
  /// The axis' position is `origin` plus the lane; of what it is made of by division.
  void place(Axis& axis, TileId origin) {
    const auto bit = AxisSet{1} << axis.number;
    const auto lane = b_.add(TileLane{axis.number}, {}, index_dtype(), bit);
    axis.index = b_.compute(TileOp::add, {origin, lane});
    axis.in_range = b_.compute(TileOp::lt, {run_start(axis), axis.extent});
    auto rest = axis.index;
    for (auto at = axis.of.size(); at-- > 0;) {
      auto index = rest;
      if (at > 0) {
        const auto by = extent(axis.of[at]);
        index = b_.compute(TileOp::remainder, {rest, by});
        rest = b_.compute(TileOp::quotient, {rest, by});
      }
      exact_[axis.of[at]] = b_.compute(TileOp::cast, {index}, DType::int64);
    }
  }
  /// Where neighbours are in range together the first one is asked.
  auto run_start(const Axis& axis) -> TileId {
    const bool is_inner = tiles_.x
                              ? axis.of[0] == *tiles_.x
                              : b_.kernel().axes[axis.number].kind == TileAxis::Kind::reduction;
    if (choice_.run == 1 || !is_inner || axis.block < choice_.run) return axis.index;
    return b_.compute(TileOp::bit_and, {axis.index, b_.number(index_dtype(), -choice_.run)});
  }
  auto mask(AxisSet axes) -> TileId {
    TileId all = kNoTile;
    for (const auto& one : axes_)
      if ((axes >> one.number & 1U) != 0) all = b_.both(all, one.in_range);
    return all;
  }

  // Statements of the kernel
  [[nodiscard]] auto value(TileId id) const -> TileId {
    return id == kNoTile ? kNoTile : values_.at(id);
  }
  void translate(const TileStatement& one) {
    b_.set_line(one.line);
    std::vector<TileId> operands;
    for (const auto id : one.operands) operands.push_back(value(id));
    if (const auto* index = std::get_if<TileIndex>(&one.what)) {
      const auto id = exact_.at(index->axis);
      const auto wanted = from_.type(one.results[0]).dtype;
      values_[one.results[0]] =
          wanted == DType::int64 ? id : b_.compute(TileOp::cast, {id}, wanted);
      return;
    }
    const bool is_atomic = std::holds_alternative<TileAtomic>(one.what);
    const bool is_store = is_atomic || std::holds_alternative<TileStore>(one.what);
    const bool is_assert = std::holds_alternative<TileAssert>(one.what);
    if (is_store || is_assert || std::holds_alternative<TileLoad>(one.what)) {
      auto& guard = operands[is_store ? 2 : 1];
      auto over = b_.axes_of({operands[0], guard});
      if (is_store) over |= b_.type(operands[1]).axes;
      guard = b_.both(guard, mask(over));
    }
    if (is_store || is_assert) {
      TileStatement made = one;
      if (is_atomic) {
        made.results = {b_.value(from_.type(one.results[0]).dtype, b_.axes_of(operands))};
        values_[one.results[0]] = made.results[0];
      }
      made.operands = std::move(operands);
      b_.append(std::move(made));
      return;
    }
    const auto dtype = from_.type(one.results[0]).dtype;
    if (const auto* known = std::get_if<TileScan>(&one.what))
      return scan(one.results[0], known->combine, operands[0]);
    const auto over = b_.axes_of(operands);
    values_[one.results[0]] = b_.add(one.what, std::move(operands), dtype, over);
  }
  /// Over the tile; in a loop what stands before it comes in, and what follows it gets the sum.
  void scan(TileId result, TileCombine combine, TileId operand) {
    const auto of = b_.type(operand).dtype;
    const auto bit = AxisSet{1} << r().number;
    const auto scanned = [&](TileId of_lanes) {
      return b_.add(TileScan{combine, r().number}, {of_lanes}, of, b_.axes_of({of_lanes}) | bit);
    };
    const auto before = before_.find(result);
    if (before == before_.end()) {
      values_[result] = scanned(operand);
      return;
    }
    const auto none = b_.identity(combine, 0, of);
    const auto inside = b_.compute(TileOp::select, {r().in_range, operand, none});
    values_[result] = combined(combine, {before->second}, {scanned(inside)})[0];
    const auto sum = b_.reduce(combine, r().number, {inside});
    after_[result] = combined(combine, {before->second}, sum)[0];
  }

  [[nodiscard]] auto r() -> Axis& { return axes_.back(); }
  void reduced(const PlannedReduction& planned, std::vector<TileId> operands) {
    const auto made = b_.reduce(planned.combine, r().number, std::move(operands));
    for (std::size_t i = 0; i < made.size(); ++i) values_[planned.results[i]] = made[i];
  }

  /// The reduced axes stand in the tile; what is loaded stays in registers.
  void whole() {
    for (const auto& planned : plan_.statements) {
      if (!planned.reduction) {
        translate(*planned.statement);
        continue;
      }
      b_.set_line(planned.statement->line);
      const auto& reduction = plan_.reductions[*planned.reduction];
      std::vector<TileId> operands;
      for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
        const auto id = value(reduction.operands[part]);
        const auto none = b_.identity(reduction.combine, part, b_.type(id).dtype);
        operands.push_back(b_.compute(TileOp::select, {r().in_range, id, none}));
      }
      reduced(reduction, std::move(operands));
    }
  }

  [[nodiscard]] auto varies(const PlannedStatement& planned) const -> bool {
    return std::ranges::any_of(plan_.reduced,
                               [&](std::size_t axis) { return (planned.axes >> axis & 1U) != 0; });
  }
  [[nodiscard]] static auto is_target(const PlannedStatement& planned) -> bool {
    return planned.reduction || std::holds_alternative<TileStore>(planned.statement->what) ||
           std::holds_alternative<TileAtomic>(planned.statement->what) ||
           std::holds_alternative<TileAssert>(planned.statement->what);
  }
  [[nodiscard]] auto operands_of(const PlannedStatement& planned) const
      -> const std::vector<TileId>& {
    return planned.reduction ? plan_.reductions[*planned.reduction].operands
                             : planned.statement->operands;
  }

  void passes() {
    for (int level = 0; level < plan_.levels; ++level) {
      for (const auto& planned : plan_.statements)
        if (!planned.reduction && planned.level == level && !varies(planned))
          translate(*planned.statement);
      pass(level);
    }
  }

  void pass(int level) {
    std::vector<const PlannedStatement*> targets;
    std::set<TileId> wanted;
    for (const auto& planned : plan_.statements) {
      if (!is_target(planned) || planned.level != level || !varies(planned)) continue;
      targets.push_back(&planned);
      for (const auto id : operands_of(planned)) wanted.insert(id);
    }
    if (targets.empty()) return;
    std::vector<const PlannedStatement*> slice;
    for (auto at = plan_.statements.rbegin(); at != plan_.statements.rend(); ++at) {
      if (is_target(*at) || !varies(*at) || !wanted.contains(at->statement->results[0])) continue;
      slice.insert(slice.begin(), &*at);
      for (const auto id : at->statement->operands) wanted.insert(id);
    }
    loop(slice, targets);
  }

  /// One carried value per operand of a reduction, lane by lane; folded when the loop is over.
  void loop(const std::vector<const PlannedStatement*>& slice,
            const std::vector<const PlannedStatement*>& targets) {
    TileStatement one;
    one.what = TileLoop{};
    one.operands = {b_.number(index_dtype(), 0), r().extent, b_.number(index_dtype(), r().block)};
    TileRegion region;
    region.params.push_back(b_.value(index_dtype(), 0));
    struct Carried {
      std::vector<TileId> before, after;
    };
    std::vector<Carried> carried;
    AxisSet every = 0;
    for (const auto& axis : axes_) every |= AxisSet{1} << axis.number;
    for (const auto* target : targets) {
      if (!target->reduction) continue;
      const auto& reduction = plan_.reductions[*target->reduction];
      auto& row = carried.emplace_back();
      for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
        const auto of = from_.type(reduction.operands[part]).dtype;
        one.operands.push_back(b_.identity(reduction.combine, part, of));
        row.before.push_back(b_.value(of, every));
        row.after.push_back(b_.value(of, every));
        region.params.push_back(row.before.back());
        one.results.push_back(row.after.back());
      }
    }
    // What the tiles before this one combine to, without the axis.
    std::vector<TileId> scans;
    for (const auto* planned : slice) {
      const auto* scan = std::get_if<TileScan>(&planned->statement->what);
      if (scan == nullptr) continue;
      scans.push_back(planned->statement->results[0]);
      const auto of = from_.type(scans.back()).dtype;
      const auto apart = every & ~(AxisSet{1} << r().number);
      one.operands.push_back(b_.identity(scan->combine, 0, of));
      region.params.push_back(before_[scans.back()] = b_.value(of, apart));
      one.results.push_back(b_.value(of, apart));
    }
    const auto outer = values_;
    auto* outside = b_.redirect(&region.body);
    place(r(), region.params[0]);
    for (const auto* planned : slice) translate(*planned->statement);
    std::size_t at = 0;
    for (const auto* target : targets) {
      if (!target->reduction) {
        translate(*target->statement);
        continue;
      }
      const auto& reduction = plan_.reductions[*target->reduction];
      std::vector<TileId> now;
      for (const auto id : reduction.operands) now.push_back(value(id));
      const auto made = combined(reduction.combine, carried[at].before, now);
      for (std::size_t part = 0; part < made.size(); ++part)
        region.yields.push_back(
            b_.compute(TileOp::select, {r().in_range, made[part], carried[at].before[part]}));
      ++at;
    }
    for (const auto id : scans) region.yields.push_back(after_.at(id));
    before_.clear();
    b_.redirect(outside);
    values_ = outer;
    one.regions.push_back(std::move(region));
    b_.append(std::move(one));
    at = 0;
    for (const auto* target : targets)
      if (target->reduction) reduced(plan_.reductions[*target->reduction], carried[at++].after);
  }

  /// Lane by lane; of extremes with an index the first one stays.
  auto combined(TileCombine combine, const std::vector<TileId>& a, const std::vector<TileId>& b)
      -> std::vector<TileId> {
    const auto of = b_.type(a[0]).dtype;
    if (const auto op = combine_op(combine, of)) return {b_.compute(*op, {a[0], b[0]})};
    const auto op = combine == TileCombine::argmax ? TileOp::gt : TileOp::lt;
    auto better = b_.compute(op, {b[0], a[0]});
    auto same = b_.compute(TileOp::eq, {a[0], b[0]});
    if (is_floating(of)) {
      const auto a_nan = b_.compute(TileOp::is_nan, {a[0]});
      const auto b_nan = b_.compute(TileOp::is_nan, {b[0]});
      const auto only_b =
          b_.compute(TileOp::bit_and, {b_nan, b_.compute(TileOp::bit_not, {a_nan})});
      better = b_.compute(TileOp::bit_or, {better, only_b});
      same = b_.compute(TileOp::bit_or, {same, b_.compute(TileOp::bit_and, {a_nan, b_nan})});
    }
    const auto earlier = b_.compute(TileOp::lt, {b[1], a[1]});
    better = b_.compute(TileOp::bit_or, {better, b_.compute(TileOp::bit_and, {same, earlier})});
    return {b_.compute(TileOp::select, {better, b[0], a[0]}),
            b_.compute(TileOp::select, {better, b[1], a[1]})};
  }

  const TileKernel& from_;
  const TilePlan& tiles_;
  const KernelPlan& plan_;
  TileChoice choice_;
  KernelBuilder b_;
  std::vector<std::size_t> extents_;
  std::vector<Axis> axes_;
  std::map<std::size_t, TileId> exact_;
  std::map<TileId, TileId> values_;
  std::map<TileId, TileId> before_, after_;  ///< of scans, by result: from one tile to the next
};

}  // namespace

auto plan_tiles(const TileKernel& kernel) -> Result<TilePlan> {
  TilePlan plan;
  ASSAY_TRY(plan.loops, plan_kernel(kernel));
  if (plan.loops.vector_axis < 0 || plan.loops.vector_is_reduced) return plan;
  plan.x = static_cast<std::size_t>(plan.loops.vector_axis);
  if (!plan.loops.reduced.empty()) return plan;
  const auto scores = AccessSteps(kernel).scores();
  int best = 0;
  for (const auto axis : plan.loops.parallel) {
    if (axis == plan.x || scores[axis] <= best) continue;
    best = scores[axis];
    plan.t = axis;
  }
  return plan;
}

auto tiled_programs(const TilePlan& plan, const TileChoice& choice,
                    const std::vector<std::int64_t>& extents) -> std::int64_t {
  const auto all = extents_of(plan, choice, extents);
  return tiles(all.x, choice.block_x) * tiles(all.t, std::max<std::int64_t>(choice.block_t, 1)) *
         tiles(all.y, choice.block_y);
}

auto tile_kernel(const TileKernel& kernel, const TilePlan& plan, const TileChoice& choice)
    -> Result<TiledKernel> {
  return Tiler(kernel, plan, choice).run();
}

auto choose_tiles(const TilePlan& plan, const std::vector<std::int64_t>& extents) -> TileChoice {
  TileChoice choice;
  const auto all = extents_of(plan, choice, extents);
  constexpr std::int64_t kNarrow = std::numeric_limits<std::int32_t>::max() - (1 << 16);
  choice.is_narrow = std::max({all.x, all.y, all.r}) < kNarrow;
  const auto inner = plan.x ? all.x : all.r;
  choice.run = inner % 8 == 0 ? 8 : inner % 4 == 0 ? 4 : 1;
  const auto width = [&](std::int64_t extent, std::int64_t most) {
    for (const auto block : kWidths)
      if (block <= most && (extent >= block || tiles(extent, block) * block * 3 <= extent * 4))
        return block;
    return kWidths.back();
  };
  if (plan.loops.reduced.empty()) {
    if (plan.t && std::min(all.x, extents[*plan.t]) >= kSquare / 2) {
      choice.block_x = choice.block_t = kSquare;
      return choice;
    }
    choice.block_x = plan.x ? width(all.x, kTile) : 1;
    choice.block_y = kTile / choice.block_x;
    return choice;
  }
  if (plan.x) {
    choice.loops = true;
    choice.block_x = width(all.x, kColumnTile);
    choice.block_r = kColumnTile * kColumnRows / choice.block_x;
    return choice;
  }
  // What is read once need not be kept; of what is read again more is worth keeping.
  constexpr std::int64_t kReadOnce = 8192;
  choice.loops = all.r > (plan.loops.levels > 2 ? kRows.back() : kReadOnce);
  choice.block_r = plan.loops.levels > 2 ? kReadAgain : kLoopedRow;
  if (!choice.loops)
    choice.block_r = *std::ranges::find_if(kRows, [&](auto block) { return block >= all.r; });
  choice.block_y = std::max<std::int64_t>(kRowTile / choice.block_r, 1);
  choice.is_alone = !choice.loops && all.y == 1;
  return choice;
}

namespace {
/// Lanes of a thread to try; 0: what the layout would take.
constexpr std::array<std::int64_t, 3> kRegisters = {0, 8, 32};

/// Half, the same and double.
auto around(std::int64_t block) -> std::array<std::int64_t, 3> {
  return {block, std::max<std::int64_t>(block / 2, 1), block * 2};
}

/// Tiles to try, threads aside.
auto tile_shapes(const TilePlan& plan, const Extents& all, const TileChoice& usual)
    -> std::vector<TileChoice> {
  std::vector<TileChoice> shapes = {usual};
  const auto add = [&](auto change) {
    auto other = usual;
    change(other);
    shapes.push_back(other);
  };
  if (plan.loops.reduced.empty()) {
    if (usual.block_t > 0) return shapes;
    for (const auto tile : {kTile / 2, 2 * kTile, 4 * kTile})
      add([&](TileChoice& one) {
        if (usual.block_x == kTile) one.block_x = std::min(tile, kTile * 2);
        one.block_y = std::max<std::int64_t>(tile / one.block_x, 1);
      });
    return shapes;
  }
  if (plan.x) {
    for (const auto width : kWidths)
      if (width <= kColumnTile && width <= 2 * all.x)
        add([&](TileChoice& one) {
          one.block_x = width;
          one.block_r = kColumnTile * kColumnRows / width;
        });
    for (const auto rows : around(usual.block_r)) add([&](TileChoice& one) { one.block_r = rows; });
    return shapes;
  }
  if (!usual.loops)
    for (const auto lanes : around(kRowTile))
      add([&](TileChoice& one) {
        one.block_y = std::max<std::int64_t>(lanes / one.block_r, 1);
        one.is_alone = usual.is_alone && one.block_y == usual.block_y;
      });
  for (const auto row : around(usual.loops ? usual.block_r : kLoopedRow))
    if (all.r > row)
      add([&](TileChoice& one) {
        one.loops = true;
        one.is_alone = false;
        one.block_r = row;
        one.block_y = std::max<std::int64_t>(kRowTile / row, 1);
      });
  return shapes;
}
}  // namespace

auto tile_candidates(const TilePlan& plan, const std::vector<std::int64_t>& extents)
    -> std::vector<TileChoice> {
  const auto usual = choose_tiles(plan, extents);
  std::vector<TileChoice> all;
  for (const auto& shape : tile_shapes(plan, extents_of(plan, usual, extents), usual))
    for (const auto registers : kRegisters) {
      auto one = shape;
      one.registers = registers;
      if (std::ranges::find(all, one) == all.end()) all.push_back(one);
    }
  return all;
}

}  // namespace assay
