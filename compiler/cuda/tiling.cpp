#include "compiler/cuda/tiling.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/cuda/outside.h"
#include "compiler/program/combine.h"
#include "compiler/program/kernel_builder.h"

namespace assay {
namespace {

/// Largest blocks of placed axes, for whoever reads the kernel; launches have their own.
constexpr std::int64_t kMostThreads = 512, kMostZ = 64;

class Tiler {
 public:
  Tiler(const TileKernel& kernel, const TilePlan& plan, const TileChoice& choice)
      : from_(kernel),
        tiles_(plan),
        plan_(plan.loops),
        choice_(choice),
        outside_(kernel, plan.loops) {}

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
  /// An axis of the tile kernel.
  struct Part {
    std::size_t number = 0;
    TileId lanes = kNoTile;  ///< how many
  };
  struct Axis {
    const char* name = "";
    TileAxis::Kind kind = TileAxis::Kind::parallel;
    std::vector<Part> parts;  ///< the fastest first
    TileId index = kNoTile, in_range = kNoTile;
    std::vector<std::size_t> of;  ///< exact axes, the fastest last
    TileId extent = kNoTile;
    TileId lanes = kNoTile, block = kNoTile;  ///< how many a tile has, in 32 bits and as an index
    std::int64_t neighbours = 1;              ///< lanes that the innermost part has
    bool is_inner = false;                    ///< most is contiguous along it
    bool is_shifted = false;                  ///< rows begin where a wide access may
  };

  // Axes
  [[nodiscard]] auto index_dtype() const -> DType {
    return choice_.is_narrow ? DType::int32 : DType::int64;
  }
  auto to_index(TileId id) -> TileId {
    return choice_.is_narrow ? id : b_.compute(TileOp::cast, {id}, DType::int64);
  }
  auto extent(std::size_t exact) -> TileId { return b_.param(made_.extents[exact], index_dtype()); }
  auto start(std::vector<std::size_t> of, const char* name, TileAxis::Kind kind) -> Axis* {
    if (of.empty()) return nullptr;
    auto& made = axes_.emplace_back();
    made.name = name;
    made.kind = kind;
    made.of = std::move(of);
    for (const auto exact : made.of) {
      const auto one = extent(exact);
      made.extent = made.extent == kNoTile ? one : b_.compute(TileOp::mul, {made.extent, one});
    }
    made.is_inner = tiles_.x ? made.of[0] == *tiles_.x : kind == TileAxis::Kind::reduction;
    return &made;
  }
  /// Slower than the parts before it.
  void part(Axis* axis, const char* name, std::int64_t block, TilePlace place) {
    if (axis == nullptr) return;
    TileAxis tile;
    tile.name = name;
    tile.kind = axis->kind;
    tile.block = Expr(block);
    tile.max_block = block;
    Part made;
    made.number = b_.kernel().axes.size();
    made.lanes = place == TilePlace::bits
                     ? b_.number(DType::int32, block)
                     : b_.param(made_.threads[static_cast<std::size_t>(place) - 1], DType::int32);
    if (axis->parts.empty()) axis->neighbours = place == TilePlace::bits ? block : 1;
    axis->lanes =
        axis->lanes == kNoTile ? made.lanes : b_.compute(TileOp::mul, {axis->lanes, made.lanes});
    axis->block = to_index(axis->lanes);
    axis->parts.push_back(made);
    b_.kernel().axes.push_back(std::move(tile));
    if (choice_.is_placed()) made_.places.push_back(place);
  }
  void axes() {
    using Kind = TileAxis::Kind;
    const auto x = tiles_.x;
    const auto t = choice_.block_t > 0 ? tiles_.t : std::nullopt;
    std::vector<std::size_t> y;
    for (const auto one : plan_.parallel)
      if (one != x && one != t) y.push_back(one);
    axes_.reserve(4);
    auto* across = x ? start({*x}, "x", Kind::parallel) : nullptr;
    auto* turned = t ? start({*t}, "t", Kind::parallel) : nullptr;
    auto* down = start(std::move(y), "y", Kind::parallel);
    auto* reduced = start(plan_.reduced, "r", Kind::reduction);
    if (!choice_.is_placed()) {
      part(across, "x", choice_.block_x, TilePlace::bits);
      part(turned, "t", choice_.block_t, TilePlace::bits);
      part(down, "y", choice_.block_y, TilePlace::bits);
      part(reduced, "r", choice_.block_r, TilePlace::bits);
      return;
    }
    // The innermost axis: neighbours, threads. Rows go on with warps, blocks and registers; of
    // columns these are rows.
    part(across, "x", choice_.neighbours, TilePlace::bits);
    part(across, "x_thread", kMostThreads, TilePlace::thread_x);
    const bool is_row = reduced != nullptr && across == nullptr;
    if (is_row) part(reduced, "r", choice_.neighbours, TilePlace::bits);
    if (is_row) part(reduced, "r_thread", kMostThreads, TilePlace::thread_x);
    if (reduced != nullptr) part(reduced, "r_row", kMostThreads, TilePlace::thread_y);
    if (is_row) part(reduced, "r_rank", kMostRanks, TilePlace::rank);
    part(reduced, "r_round", choice_.rounds, TilePlace::bits);
    part(down, "y", kMostZ,
         reduced != nullptr  ? TilePlace::thread_z
         : across != nullptr ? TilePlace::thread_y
                             : TilePlace::thread_x);
    if (across != nullptr) across->is_shifted = is_shifted(tiles_, choice_);
    strides_ = tiles_.strides && choice_.block_t == 0 && down != nullptr;
  }

  /// Programs are numbered with the tiles of the first axis fastest.
  void positions() {
    std::vector<TileId> origins;
    TileId rest = kNoTile;
    const auto type = index_dtype();
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const auto& one = axes_[i];
      if (one.kind != TileAxis::Kind::parallel) continue;
      if (rest == kNoTile)
        rest = b_.compute(TileOp::cast, {b_.add(TileProgram{0}, {}, DType::int32, 0)}, type);
      auto tile = rest;
      const bool is_first = origins.empty();
      const bool is_last = i + 1 == axes_.size() || axes_[i + 1].kind != one.kind;
      if (!is_last) {
        const auto before = b_.number(type, (one.is_shifted ? one.neighbours : 1) - 2);
        const auto most =
            b_.compute(TileOp::add, {one.extent, b_.compute(TileOp::add, {one.block, before})});
        const auto count = b_.compute(TileOp::quotient, {most, one.block});
        tile = b_.compute(TileOp::remainder, {rest, count});
        rest = b_.compute(TileOp::quotient, {rest, count});
        if (is_first && strides_) {
          const auto programs = b_.add(TileProgram{0, true}, {}, DType::int32, 0);
          stride_ =
              b_.compute(TileOp::quotient, {b_.compute(TileOp::cast, {programs}, type), count});
        }
      }
      origins.push_back(b_.compute(TileOp::mul, {tile, one.block}));
    }
    if (strides_) {
      if (!axes_[0].is_shifted) place(axes_[0], origins[0]);
      first_ = origins[0];
      rows_from_ = origins[1];
      return;
    }
    // What is shifted asks the others where it is.
    for (const bool is_shifted : {false, true})
      for (std::size_t i = 0; i < origins.size(); ++i)
        if (axes_[i].is_shifted == is_shifted) place(axes_[i], origins[i]);
    if (tiles_.clip) clip(*tiles_.clip);
    if (!plan_.reduced.empty() && !choice_.loops) place(r(), b_.number(index_dtype(), 0));
  }
  /// Of the reduced axes, whose slowest one is clipped, what is meant.
  void clip(const TileClip& of) {
    const auto length = b_.compute(
        TileOp::bit_and, {b_.param(of.length, DType::int64), b_.number(DType::int64, -kPartGrain)});
    const auto before = b_.compute(TileOp::mul, {exact_.at(of.parts_axis), length});
    const auto rest = b_.compute(TileOp::sub, {b_.param(of.whole, DType::int64), before});
    auto meant = b_.compute(TileOp::cast, {b_.compute(TileOp::minimum, {length, rest})},
                            index_dtype());
    for (const auto exact : r().of)
      if (exact != of.axis) meant = b_.compute(TileOp::mul, {meant, extent(exact)});
    r().extent = meant;
  }
  /// Lanes of an axis, as a sum of what a thread has and what its registers do; null: 0.
  struct Lanes {
    TileId thread = kNoTile, registers = kNoTile;
    TileId runs = kNoTile;  ///< of registers: to the first of each run
  };
  auto sum(TileId a, TileId b) -> TileId {
    if (a == kNoTile || b == kNoTile) return a == kNoTile ? b : a;
    return b_.compute(TileOp::add, {a, b});
  }
  auto less(TileId from, TileId by) -> TileId {
    return by == kNoTile ? from : b_.compute(TileOp::sub, {from, by});
  }
  auto own_lane(const Part& part) -> TileId {
    return b_.add(TileLane{part.number}, {}, DType::int32, AxisSet{1} << part.number);
  }
  auto lanes_of(const Axis& axis) -> Lanes {
    Lanes lanes;
    const bool has_neighbours = place_of(axis.parts[0]) == TilePlace::bits;
    TileId stride = kNoTile;
    for (std::size_t at = has_neighbours ? 1 : 0; at < axis.parts.size(); ++at) {
      const auto& part = axis.parts[at];
      auto own = own_lane(part);
      if (stride != kNoTile) own = b_.compute(TileOp::mul, {own, stride});
      auto& into = place_of(part) == TilePlace::bits ? lanes.registers : lanes.thread;
      into = sum(into, own);
      stride = stride == kNoTile ? part.lanes : b_.compute(TileOp::mul, {stride, part.lanes});
    }
    if (!has_neighbours) return lanes;
    for (auto* one : {&lanes.thread, &lanes.registers})
      if (*one != kNoTile) *one = b_.compute(TileOp::mul, {*one, axis.parts[0].lanes});
    lanes.runs = lanes.registers;
    lanes.registers = sum(lanes.registers, own_lane(axis.parts[0]));
    return lanes;
  }
  /// The axis' position is `origin` plus the lane; of what it is made of by division. Lanes and
  /// what they are compared with have 32 bits: how far it is from the origin to the end.
  void place(Axis& axis, TileId origin) {
    const auto lanes = lanes_of(axis);
    const auto lane = sum(lanes.thread, lanes.registers);
    // Where neighbours are in range together the first one is asked.
    const bool has_runs = axis.is_inner && choice_.run > 1 && choice_.run == axis.neighbours;
    const auto asked = has_runs ? lanes.runs : lanes.registers;
    if (axis.is_shifted) {
      const auto down = std::ranges::find_if(
          axes_, [](const Axis& one) { return std::string_view(one.name) == "y"; });
      const auto first = b_.compute(TileOp::mul, {down->index, axis.extent});
      const auto beyond =
          b_.compute(TileOp::bit_and, {first, b_.number(index_dtype(), axis.neighbours - 1)});
      origin = b_.compute(TileOp::sub, {origin, beyond});
    }
    auto first = origin;  // of the thread's lanes
    for (const auto one : {lanes.thread, lanes.registers})
      if (one != kNoTile) {
        axis.index = b_.compute(TileOp::add, {first, to_index(one)});
        if (one == lanes.thread) first = axis.index;
      }
    // Of a loop the limits of registers are the same each time; else they would only be kept.
    const bool has_limits = choice_.is_placed() && choice_.loops && asked != kNoTile;
    const auto in_tile = choice_.is_placed() ? sum(lanes.thread, asked) : run_start(axis, lane);
    if (choice_.is_narrow) {
      axis.in_range =
          has_limits ? b_.compute(TileOp::lt, {first, less(axis.extent, asked)})
          : choice_.is_placed()
              ? b_.compute(TileOp::lt, {sum(first, asked), axis.extent})
              : b_.compute(TileOp::lt, {run_start(axis, axis.index), axis.extent});
      if (axis.is_shifted)  // what is below zero is large without a sign
        axis.in_range =
            b_.compute(TileOp::lt, {without_sign(axis.index), without_sign(axis.extent)});
    } else {
      const auto rest = near(b_.compute(TileOp::sub, {axis.extent, origin}));
      axis.in_range = b_.compute(TileOp::lt, {in_tile, rest});
      if (axis.is_shifted) {
        const auto before = near(b_.compute(TileOp::sub, {b_.number(DType::int64, 0), origin}));
        const auto skipped = b_.compute(TileOp::maximum, {before, b_.number(DType::int32, 0)});
        axis.in_range = b_.compute(
            TileOp::lt,
            {without_sign(b_.compute(TileOp::sub, {lane, skipped})),
             without_sign(b_.compute(TileOp::maximum, {b_.compute(TileOp::sub, {rest, skipped}),
                                                       b_.number(DType::int32, 0)}))});
      }
    }
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
  auto without_sign(TileId id) -> TileId { return b_.compute(TileOp::cast, {id}, DType::uint32); }
  /// A distance in 32 bits: what is farther than any lane is as far as that.
  auto near(TileId distance) -> TileId {
    constexpr std::int64_t kFar = 1 << 30;
    const auto most = b_.compute(TileOp::minimum, {distance, b_.number(DType::int64, kFar)});
    const auto both = b_.compute(TileOp::maximum, {most, b_.number(DType::int64, -kFar)});
    return b_.compute(TileOp::cast, {both}, DType::int32);
  }
  /// Where neighbours are in range together the first one is asked.
  auto run_start(const Axis& axis, TileId index) -> TileId {
    if (choice_.run == 1 || !axis.is_inner || axis.neighbours < choice_.run)
      return index;
    return b_.compute(TileOp::bit_and, {index, b_.number(b_.type(index).dtype, -choice_.run)});
  }
  [[nodiscard]] static auto set_of(const Axis& axis) -> AxisSet {
    AxisSet set = 0;
    for (const auto& part : axis.parts) set |= AxisSet{1} << part.number;
    return set;
  }
  auto mask(AxisSet axes) -> TileId {
    TileId all = kNoTile;
    for (const auto& one : axes_)
      if ((axes & set_of(one)) != 0) all = b_.both(all, one.in_range);
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
      if (!is_store && !is_assert)
        if (const auto fill = outside_.fill(one.results[0]); fill && choice_.neighbours <= choice_.run)
          operands[2] = b_.add(TileConstant{*fill}, {}, from_.type(one.results[0]).dtype, 0);
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

  [[nodiscard]] auto r() -> Axis& { return axes_.back(); }
  [[nodiscard]] auto r() const -> const Axis& { return axes_.back(); }
  [[nodiscard]] auto place_of(const Part& part) const -> TilePlace {
    return made_.places.empty() ? TilePlace::bits : made_.places[part.number];
  }
  void reduced(const PlannedReduction& planned, std::vector<TileId> operands) {
    // A thread's own registers first, then from the nearest threads to the farthest.
    std::vector<std::size_t> order;
    for (const bool is_own : {true, false})
      for (const auto& part : r().parts)
        if ((place_of(part) == TilePlace::bits) == is_own) order.push_back(part.number);
    for (const auto number : order) operands = b_.reduce(planned.combine, number, operands);
    for (std::size_t i = 0; i < operands.size(); ++i) values_[planned.results[i]] = operands[i];
  }

  /// Whether lanes that are not meant change nothing. Of what is meant in part all is read.
  [[nodiscard]] auto takes_in_others(const PlannedReduction& reduction, std::size_t part) const
      -> bool {
    return choice_.neighbours <= choice_.run && outside_.is_identity(reduction, part);
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
        operands.push_back(takes_in_others(reduction, part)
                               ? id
                               : b_.compute(TileOp::select, {r().in_range, id, none}));
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
    const auto wide = [&](TileId id) { return b_.compute(TileOp::cast, {id}, DType::int64); };
    const auto begin = wide(rows_from_), end = wide(down.extent);
    const auto step = b_.compute(TileOp::mul, {wide(stride_), wide(down.block)});
    std::set<TileId> before;
    if (!across.is_shifted) before = loads_before(down);
    const auto is_before = [&](const PlannedStatement& one) {
      return !is_target(one) && before.contains(one.statement->results[0]);
    };
    for (const auto& planned : plan_.statements)
      if (is_before(planned)) translate(*planned.statement);
    TileStatement one;
    one.what = TileLoop{};
    one.operands = {begin, end, step};
    TileRegion region;
    region.params.push_back(b_.value(DType::int64, 0));
    auto* outside = b_.redirect(&region.body);
    place(down, b_.compute(TileOp::cast, {region.params[0]}, index_dtype()));
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

  /// Carries a value per operand of a reduction, lane by lane; folded when the loop is over. Tiles
  /// that are whole come first and ask nothing, unless a scan goes through all in order.
  void loop(const Planned& slice, const Planned& targets) {
    Carried carried;
    for (const auto* target : targets) {
      if (!target->reduction) continue;
      const auto& reduction = plan_.reductions[*target->reduction];
      auto& row = carried.emplace_back();
      for (std::size_t part = 0; part < reduction.operands.size(); ++part)
        row.push_back(b_.identity(reduction.combine, part,
                                  from_.type(reduction.operands[part]).dtype));
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
      if (target->reduction) reduced(plan_.reductions[*target->reduction], carried[at++]);
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
    for (const auto& row : entering) {
      auto& within = inside.emplace_back();
      auto& behind = after.emplace_back();
      for (const auto id : row) {
        const auto of = b_.type(id).dtype;
        one.operands.push_back(id);
        within.push_back(b_.value(of, every));
        behind.push_back(b_.value(of, every));
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
      std::vector<TileId> now;
      for (const auto id : reduction.operands) now.push_back(value(id));
      const auto made = b_.combined(reduction.combine, inside[at], now);
      for (std::size_t part = 0; part < made.size(); ++part)
        region.yields.push_back(
            is_whole || takes_in_others(reduction, part)
                ? made[part]
                : b_.compute(TileOp::select, {r().in_range, made[part], inside[at][part]}));
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

  const TileKernel& from_;
  const TilePlan& tiles_;
  const KernelPlan& plan_;
  TileChoice choice_;
  OutsideValues outside_;
  KernelBuilder b_;
  TiledKernel made_;
  std::vector<Axis> axes_;
  std::map<std::size_t, TileId> exact_;
  std::map<TileId, TileId> values_;
  bool strides_ = false;  ///< over rows of elements
  TileId first_ = kNoTile, rows_from_ = kNoTile, stride_ = kNoTile;
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
