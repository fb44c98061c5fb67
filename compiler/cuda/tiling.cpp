#include "compiler/cuda/tiling.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/cuda/outside.h"
#include "compiler/cuda/tile_positions.h"
#include "compiler/program/combine.h"

namespace assay {
namespace {

class Tiler : TilePositions {
 public:
  Tiler(const TileKernel& kernel, const TilePlan& plan, const TileChoice& choice)
      : TilePositions(kernel, plan, choice),
        outside_(kernel, plan.loops),
        needed_(needed_by_reductions(plan.loops)) {}

  auto run() -> Result<TiledKernel> {
    b_.kernel().name = from_.name;
    b_.kernel().heuristic = from_.heuristic;
    b_.kernel().params = from_.params;
    b_.kernel().asserts_are_on = from_.asserts_are_on;
    for (const auto& axis : from_.axes)
      made_.extents.push_back(b_.scalar_param("extent_" + axis.name));
    if (choice_.is_placed())
      for (const auto* name : {"threads_x", "threads_y", "threads_z", "ranks"})
        made_.threads.push_back(b_.scalar_param(name));
    axes();
    positions();
    find_fills();
    if (strides_)
      rows();
    else if (plan_.reduced.empty() || !choice_.loops)
      whole();
    else
      passes();
    made_.kernel = std::move(b_.kernel());
    return std::move(made_);
  }

 private:
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
      const auto* load = std::get_if<TileLoad>(&one.what);
      const bool is_own = load == nullptr ? is_store : !tiles_.windows.contains(load->param);
      guard = b_.both(guard, mask(over, is_own));
      if (load != nullptr && operands[2] == kNoTile) operands[2] = filling(one.results[0]);
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
    if (const auto known = filled_.find(one.results[0]); known != filled_.end()) {
      values_[one.results[0]] = value(known->second);
      return;
    }
    const auto dtype = from_.type(one.results[0]).dtype;
    if (const auto* known = std::get_if<TileScan>(&one.what))
      return scan(one.results[0], known->combine, operands[0]);
    const auto over = b_.axes_of(operands);
    auto& made = values_[one.results[0]] = b_.add(one.what, std::move(operands), dtype, over);
    const auto fill = outside_.fill(one.results[0]);
    if (fill && !std::holds_alternative<TileLoad>(one.what) && r().in_range != kNoTile)
      made = b_.compute(TileOp::select,
                        {r().in_range, made, b_.add(TileConstant{*fill}, {}, dtype, 0)});
  }
  /// The number that a load gives where it is not meant; null: 0, or whatever is there next to what
  /// is meant.
  auto filling(TileId id) -> TileId {
    const auto of = from_.type(id).dtype;
    if (const auto fill = outside_.fill(id)) return b_.add(TileConstant{*fill}, {}, of, 0);
    if (const auto fill = fills_.find(id); fill != fills_.end())
      return b_.add(fill->second, {}, of, 0);
    const bool has_parts = choice_.neighbours > choice_.run && outside_.varies(id);
    return has_parts && needed_.contains(id) ? b_.number(of, 0) : kNoTile;
  }
  /// A constant that is chosen where a load is not meant is what the load gives there.
  void find_fills() {
    if (!plan_.reduced.empty()) return;
    std::map<TileId, const TileStatement*> makers;
    std::map<TileId, int> uses;
    for (const auto& planned : plan_.statements) {
      for (const auto id : planned.statement->operands) ++uses[id];
      for (const auto id : planned.statement->results) makers[id] = planned.statement;
    }
    for (const auto& [id, one] : makers) {
      const auto* compute = std::get_if<TileCompute>(&one->what);
      if (compute == nullptr || compute->op != TileOp::select) continue;
      const auto load = makers.find(one->operands[1]), other = makers.find(one->operands[2]);
      if (load == makers.end() || other == makers.end() || uses[load->first] > 1) continue;
      const auto& guards = load->second->operands;
      const auto* constant = std::get_if<TileConstant>(&other->second->what);
      if (constant == nullptr || !std::holds_alternative<TileLoad>(load->second->what) ||
          guards[1] != one->operands[0] || guards[2] != kNoTile)
        continue;
      filled_[id] = one->operands[1];
      fills_.emplace(one->operands[1], *constant);
    }
  }
  /// Over the tile; in a loop what stands before it comes in, and what follows it gets the sum.
  void scan(TileId result, TileCombine combine, TileId operand) {
    const auto of = b_.type(operand).dtype;
    const auto number = r().parts[0].number;
    const auto bit = AxisSet{1} << number;
    const auto scanned = [&](TileId of_lanes) {
      return b_.add(TileScan{combine, number}, {of_lanes}, of, b_.axes_of({of_lanes}) | bit);
    };
    const auto before = before_.find(result);
    if (before == before_.end()) {
      values_[result] = scanned(operand);
      return;
    }
    const auto none = b_.identity(combine, 0, of);
    const auto inside = b_.compute(TileOp::select, {r().in_range, operand, none});
    values_[result] = b_.combined(combine, {before->second}, {scanned(inside)})[0];
    const auto sum = b_.reduce(combine, number, {inside});
    after_[result] = b_.combined(combine, {before->second}, sum)[0];
  }

  void reduced(const PlannedReduction& planned, std::vector<TileId> operands,
               std::optional<std::size_t> folded = {}) {
    // A thread's own registers first, then from the nearest threads to the farthest.
    auto order = r().parts;
    std::ranges::stable_sort(order, {}, [&](const Part& part) { return place_of(part); });
    for (const auto& part : order)
      if (part.number != folded) operands = b_.reduce(planned.combine, part.number, operands);
    for (std::size_t i = 0; i < operands.size(); ++i) values_[planned.results[i]] = operands[i];
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
        const bool takes_all = r().in_range == kNoTile || outside_.is_identity(reduction, part);
        operands.push_back(takes_all ? id : b_.compute(TileOp::select, {r().in_range, id, none}));
      }
      reduced(reduction, std::move(operands));
    }
  }

  /// Loads that do not vary from row to row, where they are few, and what they rest on.
  [[nodiscard]] auto loads_before(const Axis& down) const -> std::set<TileId> {
    constexpr std::int64_t kFew = 2;
    const auto is_load = [](const PlannedStatement& one) {
      return !one.reduction && std::holds_alternative<TileLoad>(one.statement->what);
    };
    std::set<TileId> all;
    for (const auto& one : plan_.statements)
      if (is_load(one) && std::ranges::none_of(down.of, [&](std::size_t axis) {
            return (one.axes >> axis & 1U) != 0;
          }))
        all.insert(one.statement->results[0]);
    if (std::ssize(all) > kFew) return {};
    for (auto at = plan_.statements.rbegin(); at != plan_.statements.rend(); ++at)
      if (!is_target(*at) && all.contains(at->statement->results[0]))
        all.insert(at->statement->operands.begin(), at->statement->operands.end());
    return all;
  }
  /// Elements: a program goes on with the rows that are as many further as there are programs.
  void rows() {
    auto& across = axes_[0];
    auto& down = axes_[1];
    // There are always some: code need not ask which way it goes.
    const auto step = b_.compute(TileOp::maximum, {b_.compute(TileOp::mul, {stride_, down.block}),
                                                   b_.number(index_dtype(), 1)});
    std::set<TileId> before;
    if (!across.is_shifted) before = loads_before(down);
    const auto is_before = [&](const PlannedStatement& one) {
      return !is_target(one) && before.contains(one.statement->results[0]);
    };
    for (const auto& planned : plan_.statements)
      if (is_before(planned)) translate(*planned.statement);
    TileStatement one;
    one.what = TileLoop{};
    one.operands = {rows_from_, down.extent, step};
    TileRegion region;
    region.params.push_back(b_.value(index_dtype(), 0));
    auto* outside = b_.redirect(&region.body);
    place(down, region.params[0]);
    if (across.is_shifted) place(across, first_);
    for (const auto& planned : plan_.statements)
      if (!is_before(planned)) translate(*planned.statement);
    b_.redirect(outside);
    one.regions.push_back(std::move(region));
    b_.append(std::move(one));
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

  using Planned = std::vector<const PlannedStatement*>;
  /// Lane by lane, of each operand of each target that is a reduction.
  using Carried = std::vector<std::vector<TileId>>;

  /// A thread's other registers along the reduced axis, of which a loop keeps the sum alone: fewer
  /// registers, so that more loads are on their way. Nothing where that cannot be.
  [[nodiscard]] auto folded_part(const PlannedReduction& reduction) const
      -> std::optional<std::size_t> {
    const bool varies =
        std::ranges::all_of(reduction.operands, [&](TileId id) { return outside_.varies(id); });
    if (!choice_.is_placed() || reduction.combine == TileCombine::region || !varies)
      return std::nullopt;
    const auto is_own = [&](const Part& part) { return place_of(part) == TilePlace::bits; };
    return std::ranges::find_if(r().parts.rbegin(), r().parts.rend(), is_own)->number;
  }
  /// What there was and what a tile has.
  auto taken_in(const PlannedReduction& reduction, const std::vector<TileId>& before, bool is_whole)
      -> std::vector<TileId> {
    const auto folded = folded_part(reduction);
    std::vector<TileId> now;
    for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
      auto id = value(reduction.operands[part]);
      if (folded && !is_whole && !outside_.is_identity(reduction, part)) {
        const auto none = b_.identity(reduction.combine, part, b_.type(id).dtype);
        id = b_.compute(TileOp::select, {r().in_range, id, none});
      }
      now.push_back(id);
    }
    if (folded)
      return b_.combined(reduction.combine, before, b_.reduce(reduction.combine, *folded, now));
    auto made = b_.combined(reduction.combine, before, now);
    for (std::size_t part = 0; part < made.size() && !is_whole; ++part)
      if (!outside_.is_identity(reduction, part))
        made[part] = b_.compute(TileOp::select, {r().in_range, made[part], before[part]});
    return made;
  }

  /// Carries a value per operand of a reduction, lane by lane; folded when the loop is over. Tiles
  /// that are whole come first and ask nothing, unless a scan goes through all in order.
  void loop(const Planned& slice, const Planned& targets) {
    Carried carried;
    for (const auto* target : targets) {
      if (!target->reduction) continue;
      const auto& reduction = plan_.reductions[*target->reduction];
      auto& row = carried.emplace_back();
      for (std::size_t part = 0; part < reduction.operands.size(); ++part)
        row.push_back(
            b_.identity(reduction.combine, part, from_.type(reduction.operands[part]).dtype));
    }
    const bool has_scan = std::ranges::any_of(slice, [](const PlannedStatement* one) {
      return std::holds_alternative<TileScan>(one->statement->what);
    });
    auto begin = b_.number(index_dtype(), 0);
    if (!has_scan) {
      const auto rest = b_.compute(TileOp::remainder, {r().extent, r().block});
      const auto end = b_.compute(TileOp::sub, {r().extent, rest});
      carried = loop(slice, targets, {begin, end}, true, carried);
      begin = end;
    }
    carried = loop(slice, targets, {begin, r().extent}, false, carried);
    std::size_t at = 0;
    for (const auto* target : targets)
      if (target->reduction) {
        const auto& reduction = plan_.reductions[*target->reduction];
        reduced(reduction, carried[at++], folded_part(reduction));
      }
  }
  auto loop(const Planned& slice, const Planned& targets, std::pair<TileId, TileId> range,
            bool is_whole, const Carried& entering) -> Carried {
    TileStatement one;
    one.what = TileLoop{};
    one.operands = {range.first, range.second, r().block};
    TileRegion region;
    region.params.push_back(b_.value(index_dtype(), 0));
    AxisSet every = 0;
    for (const auto& axis : axes_) every |= set_of(axis);
    Carried inside, after;
    auto next = targets.begin();
    for (const auto& row : entering) {
      while (!(*next)->reduction) ++next;
      const auto folded = folded_part(plan_.reductions[*(*next++)->reduction]);
      const auto over = folded ? every & ~(AxisSet{1} << *folded) : every;
      auto& within = inside.emplace_back();
      auto& behind = after.emplace_back();
      for (const auto id : row) {
        const auto of = b_.type(id).dtype;
        one.operands.push_back(id);
        within.push_back(b_.value(of, over));
        behind.push_back(b_.value(of, over));
        region.params.push_back(within.back());
        one.results.push_back(behind.back());
      }
    }
    // What the tiles before this one combine to, without the axis.
    std::vector<TileId> scans;
    for (const auto* planned : slice) {
      const auto* scan = std::get_if<TileScan>(&planned->statement->what);
      if (scan == nullptr) continue;
      scans.push_back(planned->statement->results[0]);
      const auto of = from_.type(scans.back()).dtype;
      const auto apart = every & ~set_of(r());
      one.operands.push_back(b_.identity(scan->combine, 0, of));
      region.params.push_back(before_[scans.back()] = b_.value(of, apart));
      one.results.push_back(b_.value(of, apart));
    }
    const auto outer = values_;
    auto* outside = b_.redirect(&region.body);
    place(r(), region.params[0]);
    if (is_whole) r().in_range = kNoTile;
    for (const auto* planned : slice) translate(*planned->statement);
    std::size_t at = 0;
    for (const auto* target : targets) {
      if (!target->reduction) {
        translate(*target->statement);
        continue;
      }
      const auto& reduction = plan_.reductions[*target->reduction];
      std::ranges::copy(taken_in(reduction, inside[at], is_whole),
                        std::back_inserter(region.yields));
      ++at;
    }
    for (const auto id : scans) region.yields.push_back(after_.at(id));
    before_.clear();
    b_.redirect(outside);
    values_ = outer;
    one.regions.push_back(std::move(region));
    b_.append(std::move(one));
    return after;
  }

  OutsideValues outside_;
  const std::set<TileId> needed_;         ///< by reductions
  std::map<TileId, TileConstant> fills_;  ///< by load
  std::map<TileId, TileId> filled_;       ///< selections that such loads are
  std::map<TileId, TileId> values_;
  std::map<TileId, TileId> before_, after_;  ///< of scans, by result: from one tile to the next
};

}  // namespace

auto tile_kernel(const TileKernel& kernel, const TilePlan& plan, const TileChoice& choice)
    -> Result<TiledKernel> {
  return Tiler(kernel, plan, choice.code()).run();
}

auto tile_blocks(const TiledKernel& kernel, const TileChoice& choice) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> blocks;
  const auto& [x, y, z, ranks] = choice.threads;
  for (std::size_t axis = 0; axis < kernel.kernel.axes.size(); ++axis) {
    const auto place = kernel.places.empty() ? TilePlace::bits : kernel.places[axis];
    blocks.push_back(place == TilePlace::bits
                         ? kernel.kernel.axes[axis].max_block
                         : std::array{x, y, z, ranks}[static_cast<std::size_t>(place) - 1]);
  }
  return blocks;
}

}  // namespace assay
