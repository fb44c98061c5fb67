#include "compiler/cuda/tiling.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace assay {
namespace {

constexpr std::int64_t kTile = 512;  ///< lanes of a tile without reduction: 128 threads
constexpr std::int64_t kColumnTile = 128, kColumnRows = 8;
constexpr std::array<std::int64_t, 4> kWidths = {512, 128, 32, 4};
constexpr std::array<std::int64_t, 7> kRows = {128, 256, 512, 1024, 2048, 4096, 8192};
constexpr std::int64_t kRowTile = 2048;  ///< lanes of a tile of short rows
constexpr std::int64_t kLoopedRow = 2048;

struct Extents {
  std::int64_t x = 1, y = 1, r = 1;
};
auto x_axis(const KernelPlan& plan) -> std::optional<std::size_t> {
  if (plan.vector_axis < 0 || plan.vector_is_reduced) return std::nullopt;
  return static_cast<std::size_t>(plan.vector_axis);
}
auto extents_of(const KernelPlan& plan, const std::vector<std::int64_t>& extents) -> Extents {
  Extents all;
  const auto x = x_axis(plan);
  for (const auto axis : plan.parallel) (axis == x ? all.x : all.y) *= extents[axis];
  for (const auto axis : plan.reduced) all.r *= extents[axis];
  return all;
}
auto tiles(std::int64_t extent, std::int64_t block) -> std::int64_t {
  return (extent + block - 1) / block;
}

class Tiler {
 public:
  Tiler(const TileKernel& kernel, const KernelPlan& plan, const TileChoice& choice)
      : from_(kernel), plan_(plan), choice_(choice) {}

  auto run() -> Result<TiledKernel> {
    out_.name = from_.name;
    out_.heuristic = from_.heuristic;
    out_.params = from_.params;
    out_.asserts_are_on = from_.asserts_are_on;
    for (const auto& axis : from_.axes) {
      TileParam param;
      param.name = "extent_" + axis.name;
      param.kind = TileParam::Kind::scalar;
      param.dtype = DType::int64;
      extents_.push_back(out_.params.size());
      out_.params.push_back(std::move(param));
    }
    body_ = &out_.body.body;
    axes();
    positions();
    if (plan_.reduced.empty() || !choice_.loops)
      whole();
    else
      passes();
    return TiledKernel{std::move(out_), std::move(extents_)};
  }

 private:
  struct Axis {
    std::size_t number = 0;  ///< in the tile kernel
    TileId index = kNoTile, in_range = kNoTile;
    std::vector<std::size_t> of;  ///< exact axes, the fastest last
    TileId extent = kNoTile;
    std::int64_t block = 1;
  };

  // Statements
  auto add(decltype(TileStatement::what) what, std::vector<TileId> operands, DType dtype,
           AxisSet axes) -> TileId {
    const auto id = static_cast<TileId>(out_.values.size());
    out_.values.push_back({{dtype, axes}, {}});
    TileStatement one;
    one.what = std::move(what);
    one.operands = std::move(operands);
    one.results = {id};
    one.line = line_;
    body_->push_back(std::move(one));
    return id;
  }
  auto axes_of(const std::vector<TileId>& ids) const -> AxisSet {
    AxisSet axes = 0;
    for (const auto id : ids)
      if (id != kNoTile) axes |= out_.type(id).axes;
    return axes;
  }
  auto compute(TileOp op, const std::vector<TileId>& operands, std::optional<DType> to = {})
      -> TileId {
    const bool is_truth = tile_op_row(op).result == TileResult::boolean;
    const auto dtype = to ? *to : is_truth ? DType::boolean : out_.type(operands.back()).dtype;
    return add(TileCompute{op}, operands, dtype, axes_of(operands));
  }
  auto number(DType dtype, std::int64_t value) -> TileId {
    if (is_floating(dtype))
      return add(TileConstant{static_cast<double>(value)}, {}, dtype, 0);
    return add(TileConstant{value}, {}, dtype, 0);
  }
  auto both(TileId a, TileId b) -> TileId {
    if (a == kNoTile || b == kNoTile) return a == kNoTile ? b : a;
    return compute(TileOp::bit_and, {a, b});
  }

  // Axes
  [[nodiscard]] auto index_dtype() const -> DType {
    return choice_.is_narrow ? DType::int32 : DType::int64;
  }
  auto extent(std::size_t exact) -> TileId {
    auto id = add(TileParamValue{extents_[exact]}, {}, DType::int64, 0);
    return choice_.is_narrow ? compute(TileOp::cast, {id}, DType::int32) : id;
  }
  void axis(std::vector<std::size_t> of, const char* name, TileAxis::Kind kind,
            std::int64_t block) {
    if (of.empty()) return;
    Axis made;
    made.number = out_.axes.size();
    made.of = std::move(of);
    made.block = block;
    for (const auto exact : made.of) {
      const auto one = extent(exact);
      made.extent = made.extent == kNoTile ? one : compute(TileOp::mul, {made.extent, one});
      axis_of_[exact] = made.number;
    }
    TileAxis tile;
    tile.name = name;
    tile.kind = kind;
    tile.block = Expr(block);
    tile.max_block = block;
    out_.axes.push_back(std::move(tile));
    axes_.push_back(std::move(made));
  }
  void axes() {
    const auto x = x_axis(plan_);
    std::vector<std::size_t> y;
    for (const auto one : plan_.parallel)
      if (one != x) y.push_back(one);
    using Kind = TileAxis::Kind;
    if (x) axis({*x}, "x", Kind::parallel, choice_.block_x);
    axis(std::move(y), "y", Kind::parallel, choice_.block_y);
    axis(plan_.reduced, "r", Kind::reduction, choice_.block_r);
  }

  /// Programs are numbered with the tiles of the first axis fastest.
  void positions() {
    TileId rest = kNoTile;
    for (auto& one : axes_) {
      if (out_.axes[one.number].kind != TileAxis::Kind::parallel) continue;
      const auto type = index_dtype();
      if (rest == kNoTile)
        rest = compute(TileOp::cast, {add(TileProgram{0}, {}, DType::int32, 0)}, type);
      auto tile = rest;
      if (const bool is_last = out_.axes.size() == one.number + 1 ||
                               out_.axes[one.number + 1].kind != TileAxis::Kind::parallel;
          !is_last) {
        const auto block = number(type, one.block);
        const auto most = compute(TileOp::add, {one.extent, number(type, one.block - 1)});
        const auto count = compute(TileOp::quotient, {most, block});
        tile = compute(TileOp::remainder, {rest, count});
        rest = compute(TileOp::quotient, {rest, count});
      }
      const auto origin = compute(TileOp::mul, {tile, number(type, one.block)});
      place(one, origin);
    }
    for (auto& one : axes_)
      if (out_.axes[one.number].kind == TileAxis::Kind::reduction && !choice_.loops)
        place(one, number(index_dtype(), 0));
  }
  /// The axis' position is `origin` plus the lane; of what it is made of by division.
  void place(Axis& axis, TileId origin) {
    const auto bit = AxisSet{1} << axis.number;
    const auto lane = add(TileLane{axis.number}, {}, index_dtype(), bit);
    axis.index = compute(TileOp::add, {origin, lane});
    axis.in_range = compute(TileOp::lt, {axis.index, axis.extent});
    auto rest = axis.index;
    for (auto at = axis.of.size(); at-- > 0;) {
      auto index = rest;
      if (at > 0) {
        const auto by = extent(axis.of[at]);
        index = compute(TileOp::remainder, {rest, by});
        rest = compute(TileOp::quotient, {rest, by});
      }
      exact_[axis.of[at]] = compute(TileOp::cast, {index}, DType::int64);
    }
  }
  auto mask(AxisSet axes) -> TileId {
    TileId all = kNoTile;
    for (const auto& one : axes_)
      if ((axes >> one.number & 1U) != 0) all = both(all, one.in_range);
    return all;
  }

  // Statements of the kernel
  [[nodiscard]] auto value(TileId id) const -> TileId {
    return id == kNoTile ? kNoTile : values_.at(id);
  }
  void translate(const TileStatement& one) {
    line_ = one.line;
    std::vector<TileId> operands;
    for (const auto id : one.operands) operands.push_back(value(id));
    if (const auto* index = std::get_if<TileIndex>(&one.what)) {
      const auto id = exact_.at(index->axis);
      const auto wanted = from_.type(one.results[0]).dtype;
      values_[one.results[0]] =
          wanted == DType::int64 ? id : compute(TileOp::cast, {id}, wanted);
      return;
    }
    const bool is_store = std::holds_alternative<TileStore>(one.what);
    if (is_store || std::holds_alternative<TileLoad>(one.what)) {
      auto& guard = operands[is_store ? 2 : 1];
      auto over = axes_of({operands[0], guard});
      if (is_store) over |= out_.type(operands[1]).axes;
      guard = both(guard, mask(over));
    }
    if (is_store) {
      TileStatement made = one;
      made.operands = std::move(operands);
      body_->push_back(std::move(made));
      return;
    }
    const auto dtype = from_.type(one.results[0]).dtype;
    const auto over = axes_of(operands);
    values_[one.results[0]] = add(one.what, std::move(operands), dtype, over);
  }

  [[nodiscard]] auto r() -> Axis& { return axes_.back(); }
  auto identity(TileCombine combine, std::size_t part, DType of) -> TileId {
    using enum TileCombine;
    const auto extreme = [&](bool is_low) {
      if (is_floating(of))
        return add(TileConstant{is_low ? -std::numeric_limits<double>::infinity()
                                       : std::numeric_limits<double>::infinity()},
                   {}, of, 0);
      if (of == DType::boolean) return number(of, is_low ? 0 : 1);
      const auto bits = 8 * size_bytes(of);
      const bool is_signed = info(of).kind == DTypeKind::signed_integer;
      if (!is_signed) return number(of, is_low || bits == 64 ? (is_low ? 0 : -1) : (std::int64_t{1} << bits) - 1);
      const auto most = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
      return number(of, is_low ? -most - 1 : most);
    };
    if (part == 1) return number(of, INT64_MAX);
    if (combine == max || combine == argmax) return extreme(true);
    if (combine == min || combine == argmin) return extreme(false);
    return number(of, combine == product || combine == all ? 1 : 0);
  }
  auto reduced(const PlannedReduction& planned, std::vector<TileId> operands) {
    std::vector<TileId> results;
    const auto bit = AxisSet{1} << r().number;
    TileStatement one;
    one.what = TileReduce{planned.combine, r().number};
    for (std::size_t i = 0; i < planned.results.size(); ++i) {
      const auto id = static_cast<TileId>(out_.values.size());
      const auto of = from_.type(planned.results[i]).dtype;
      out_.values.push_back({{of, axes_of(operands) & ~bit}, {}});
      one.results.push_back(id);
      values_[planned.results[i]] = id;
    }
    one.operands = std::move(operands);
    one.line = line_;
    body_->push_back(std::move(one));
  }

  /// The reduced axes stand in the tile; what is loaded stays in registers.
  void whole() {
    for (const auto& planned : plan_.statements) {
      if (!planned.reduction) {
        translate(*planned.statement);
        continue;
      }
      line_ = planned.statement->line;
      const auto& reduction = plan_.reductions[*planned.reduction];
      std::vector<TileId> operands;
      for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
        const auto id = value(reduction.operands[part]);
        const auto none = identity(reduction.combine, part, out_.type(id).dtype);
        operands.push_back(compute(TileOp::select, {r().in_range, id, none}));
      }
      reduced(reduction, std::move(operands));
    }
  }

  [[nodiscard]] auto varies(const PlannedStatement& planned) const -> bool {
    return std::ranges::any_of(plan_.reduced, [&](std::size_t axis) {
      return (planned.axes >> axis & 1U) != 0;
    });
  }
  [[nodiscard]] static auto is_target(const PlannedStatement& planned) -> bool {
    return planned.reduction || std::holds_alternative<TileStore>(planned.statement->what);
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
    one.operands = {number(index_dtype(), 0), r().extent, number(index_dtype(), r().block)};
    TileRegion region;
    const auto fresh = [&](DType dtype, AxisSet axes) {
      out_.values.push_back({{dtype, axes}, {}});
      return static_cast<TileId>(out_.values.size() - 1);
    };
    region.params.push_back(fresh(index_dtype(), 0));
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
        one.operands.push_back(identity(reduction.combine, part, of));
        row.before.push_back(fresh(of, every));
        row.after.push_back(fresh(of, every));
        region.params.push_back(row.before.back());
        one.results.push_back(row.after.back());
      }
    }
    const auto outer = values_;
    auto* outside = body_;
    body_ = &region.body;
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
        region.yields.push_back(compute(
            TileOp::select, {r().in_range, made[part], carried[at].before[part]}));
      ++at;
    }
    body_ = outside;
    values_ = outer;
    one.regions.push_back(std::move(region));
    body_->push_back(std::move(one));
    at = 0;
    for (const auto* target : targets)
      if (target->reduction) reduced(plan_.reductions[*target->reduction], carried[at++].after);
  }

  /// Lane by lane; of extremes with an index the first one stays.
  auto combined(TileCombine combine, const std::vector<TileId>& a, const std::vector<TileId>& b)
      -> std::vector<TileId> {
    struct Row {
      TileCombine combine;
      TileOp of_truth, of_numbers;
    };
    constexpr std::array kCombines = {
        Row{TileCombine::sum, TileOp::bit_or, TileOp::add},
        Row{TileCombine::product, TileOp::bit_and, TileOp::mul},
        Row{TileCombine::min, TileOp::bit_and, TileOp::minimum},
        Row{TileCombine::max, TileOp::bit_or, TileOp::maximum},
        Row{TileCombine::any, TileOp::bit_or, TileOp::bit_or},
        Row{TileCombine::all, TileOp::bit_and, TileOp::bit_and},
        Row{TileCombine::bit_xor, TileOp::bit_xor, TileOp::bit_xor},
    };
    const auto of = out_.type(a[0]).dtype;
    for (const auto& row : kCombines)
      if (row.combine == combine)
        return {compute(of == DType::boolean ? row.of_truth : row.of_numbers, {a[0], b[0]})};
    const auto op = combine == TileCombine::argmax ? TileOp::gt : TileOp::lt;
    auto better = compute(op, {b[0], a[0]});
    auto same = compute(TileOp::eq, {a[0], b[0]});
    if (is_floating(of)) {
      const auto a_nan = compute(TileOp::is_nan, {a[0]});
      const auto b_nan = compute(TileOp::is_nan, {b[0]});
      const auto only_b = compute(TileOp::bit_and, {b_nan, compute(TileOp::bit_not, {a_nan})});
      better = compute(TileOp::bit_or, {better, only_b});
      same = compute(TileOp::bit_or, {same, compute(TileOp::bit_and, {a_nan, b_nan})});
      better = compute(TileOp::bit_and,
                       {better, compute(TileOp::bit_not, {compute(TileOp::bit_and, {a_nan, compute(TileOp::bit_not, {b_nan})})})});
    }
    const auto earlier = compute(TileOp::lt, {b[1], a[1]});
    better = compute(TileOp::bit_or, {better, compute(TileOp::bit_and, {same, earlier})});
    return {compute(TileOp::select, {better, b[0], a[0]}),
            compute(TileOp::select, {better, b[1], a[1]})};
  }

  const TileKernel& from_;
  const KernelPlan& plan_;
  TileChoice choice_;
  TileKernel out_;
  std::vector<std::size_t> extents_;
  std::vector<TileStatement>* body_ = nullptr;
  std::vector<Axis> axes_;
  std::map<std::size_t, std::size_t> axis_of_;
  std::map<std::size_t, TileId> exact_;
  std::map<TileId, TileId> values_;
  int line_ = 0;
};

}  // namespace

auto tiled_programs(const KernelPlan& plan, const TileChoice& choice,
                    const std::vector<std::int64_t>& extents) -> std::int64_t {
  const auto all = extents_of(plan, extents);
  return tiles(all.x, choice.block_x) * tiles(all.y, choice.block_y);
}

auto tile_kernel(const TileKernel& kernel, const KernelPlan& plan, const TileChoice& choice)
    -> Result<TiledKernel> {
  return Tiler(kernel, plan, choice).run();
}

auto choose_tiles(const KernelPlan& plan, const std::vector<std::int64_t>& extents) -> TileChoice {
  const auto all = extents_of(plan, extents);
  constexpr std::int64_t kNarrow = std::numeric_limits<std::int32_t>::max() - (1 << 16);
  TileChoice choice;
  choice.is_narrow = std::max({all.x, all.y, all.r}) < kNarrow;
  const auto width = [&](std::int64_t extent, std::int64_t most) {
    for (const auto block : kWidths)
      if (block <= most && (extent >= block || tiles(extent, block) * block * 3 <= extent * 4))
        return block;
    return kWidths.back();
  };
  if (plan.reduced.empty()) {
    choice.block_x = x_axis(plan) ? width(all.x, kTile) : 1;
    choice.block_y = kTile / choice.block_x;
    return choice;
  }
  if (x_axis(plan)) {
    choice.loops = true;
    choice.block_x = width(all.x, kColumnTile);
    choice.block_r = kColumnTile * kColumnRows / choice.block_x;
    return choice;
  }
  choice.loops = all.r > kRows.back();
  choice.block_r = kLoopedRow;
  if (!choice.loops)
    choice.block_r = *std::ranges::find_if(kRows, [&](auto block) { return block >= all.r; });
  choice.block_y = std::max<std::int64_t>(kRowTile / choice.block_r, 1);
  return choice;
}

}  // namespace assay
