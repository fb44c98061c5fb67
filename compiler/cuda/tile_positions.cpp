#include "compiler/cuda/tile_positions.h"

#include <algorithm>

namespace assay {
namespace {

/// Largest blocks of placed axes, for whoever reads the kernel; launches have their own.
constexpr std::int64_t kMostThreads = 512, kMostZ = 64;

}  // namespace

auto TilePositions::start(std::vector<std::size_t> of, const char* name, TileAxis::Kind kind)
    -> TilePositions::Axis* {
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

void TilePositions::part(Axis* axis, const char* name, std::int64_t block, TilePlace place) {
  if (axis == nullptr) return;
  TileAxis tile;
  tile.name = name;
  tile.kind = axis->kind;
  tile.block = Expr(block);
  tile.max_block = block;
  Part made;
  made.number = b_.kernel().axes.size();
  if (place == TilePlace::bits)
    made.lanes = b_.number(DType::int32, block);
  else if (place == TilePlace::thread_x && choice_.fills_warps)
    made.lanes = b_.number(DType::int32, kWarpThreads);
  else
    made.lanes = b_.param(made_.threads[static_cast<std::size_t>(place) - 1], DType::int32);
  if (axis->parts.empty()) axis->neighbours = place == TilePlace::bits ? block : 1;
  axis->lanes =
      axis->lanes == kNoTile ? made.lanes : b_.compute(TileOp::mul, {axis->lanes, made.lanes});
  axis->block = to_index(axis->lanes);
  axis->parts.push_back(made);
  b_.kernel().axes.push_back(std::move(tile));
  if (choice_.is_placed()) made_.places.push_back(place);
}

void TilePositions::axes() {
  using Kind = TileAxis::Kind;
  const auto x = tiles_.x;
  const auto t = choice_.block_t > 0 ? tiles_.t : std::nullopt;
  const auto w = choice_.positions > 1 ? tiles_.w : std::nullopt;
  std::vector<std::size_t> y;
  for (const auto one : plan_.parallel)
    if (one != x && one != t && one != w) y.push_back(one);
  axes_.reserve(5);
  auto* across = x ? start({*x}, "x", Kind::parallel) : nullptr;
  auto* turned = t ? start({*t}, "t", Kind::parallel) : nullptr;
  auto* along = w ? start({*w}, "w", Kind::parallel) : nullptr;
  auto* down = start(std::move(y), "y", Kind::parallel);
  auto* reduced = start(plan_.reduced, "r", Kind::reduction);
  if (!choice_.is_placed()) {
    part(across, "x", choice_.block_x, TilePlace::bits);
    part(turned, "t", choice_.block_t, TilePlace::bits);
    part(down, "y", choice_.block_y, TilePlace::bits);
    part(reduced, "r", choice_.block_r, TilePlace::bits);
    return;
  }
  // The innermost axis: neighbours, threads. Rows go on with registers, blocks and warps, so that
  // all blocks of a cluster have as much to do; of columns warps and registers are rows.
  part(across, "x", choice_.neighbours, TilePlace::bits);
  part(across, "x_thread", kMostThreads, TilePlace::thread_x);
  part(along, "w", choice_.positions, TilePlace::bits);
  if (along != nullptr) along->ends_whole = true;
  const bool is_row = reduced != nullptr && across == nullptr;
  if (is_row) part(reduced, "r", choice_.neighbours, TilePlace::bits);
  if (is_row) part(reduced, "r_thread", kMostThreads, TilePlace::thread_x);
  if (is_row) part(reduced, "r_round", choice_.rounds, TilePlace::bits);
  if (is_row) part(reduced, "r_rank", kMostRanks, TilePlace::rank);
  part(reduced, "r_row", kMostThreads, TilePlace::thread_y);
  if (!is_row) part(reduced, "r_round", choice_.rounds, TilePlace::bits);
  part(down, "y", kMostZ,
       reduced != nullptr  ? TilePlace::thread_z
       : across != nullptr ? TilePlace::thread_y
                           : TilePlace::thread_x);
  for (auto* inner : {across, is_row ? reduced : nullptr})
    if (inner != nullptr) inner->is_shifted = is_shifted(tiles_, choice_);
  strides_ = tiles_.strides && choice_.block_t == 0 && down != nullptr;
}

/// The grid has a dimension of its own for them: nothing is divided.
void TilePositions::strided_positions() {
  const auto number = [&](int dimension, bool is_count) {
    const auto made = b_.add(TileProgram{dimension, is_count}, {}, DType::int32, 0);
    return b_.compute(TileOp::cast, {made}, index_dtype());
  };
  first_ = b_.compute(TileOp::mul, {number(0, false), axes_[0].block});
  rows_from_ = b_.compute(TileOp::mul, {number(1, false), axes_[1].block});
  stride_ = number(1, true);
  if (!axes_[0].is_shifted) place(axes_[0], first_);
}

void TilePositions::positions() {
  if (strides_) return strided_positions();
  std::vector<TileId> origins;
  TileId rest = kNoTile;
  const auto type = index_dtype();
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto& one = axes_[i];
    if (one.kind != TileAxis::Kind::parallel) continue;
    if (rest == kNoTile)
      rest = b_.compute(TileOp::cast, {b_.add(TileProgram{0}, {}, DType::int32, 0)}, type);
    auto tile = rest;
    const bool is_last = i + 1 == axes_.size() || axes_[i + 1].kind != one.kind;
    if (!is_last || tiles_.is_tail) {
      const auto before = b_.number(type, (one.is_shifted ? one.neighbours : 1) - 2);
      const auto most =
          b_.compute(TileOp::add, {one.extent, b_.compute(TileOp::add, {one.block, before})});
      const auto count = of_naturals(TileOp::quotient, most, one.block);
      tile = of_naturals(TileOp::remainder, rest, count);
      rest = of_naturals(TileOp::quotient, rest, count);
    }
    origins.push_back(b_.compute(TileOp::mul, {tile, one.block}));
  }
  // What is shifted asks the others where it is.
  for (const bool is_shifted : {false, true})
    for (std::size_t i = 0; i < origins.size(); ++i)
      if (axes_[i].is_shifted == is_shifted) place(axes_[i], origins[i]);
  if (tiles_.clip) clip(*tiles_.clip);
  if (!plan_.reduced.empty() && !choice_.loops) place(r(), b_.number(index_dtype(), 0));
}

void TilePositions::clip(const TileClip& of) {
  const auto length = b_.compute(
      TileOp::bit_and, {b_.param(of.length, DType::int64), b_.number(DType::int64, -kPartGrain)});
  const auto before = b_.compute(TileOp::mul, {exact_.at(of.parts_axis), length});
  const auto rest = b_.compute(TileOp::sub, {b_.param(of.whole, DType::int64), before});
  auto meant =
      b_.compute(TileOp::cast, {b_.compute(TileOp::minimum, {length, rest})}, index_dtype());
  for (const auto exact : r().of)
    if (exact != of.axis) meant = b_.compute(TileOp::mul, {meant, extent(exact)});
  r().extent = meant;
}

auto TilePositions::of_naturals(TileOp op, TileId a, TileId b) -> TileId {
  const auto of = b_.type(a).dtype;
  if (of != DType::int32) return b_.compute(op, {a, b});
  return b_.compute(TileOp::cast, {b_.compute(op, {without_sign(a), without_sign(b)})}, of);
}

auto TilePositions::sum(TileId a, TileId b) -> TileId {
  if (a == kNoTile || b == kNoTile) return a == kNoTile ? b : a;
  return b_.compute(TileOp::add, {a, b});
}

auto TilePositions::lanes_of(const Axis& axis) -> Lanes {
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

auto TilePositions::at_start(TileId id, const Axis& axis) -> TileId {
  const auto& one = *steps_.maker(id);
  const auto of = from_.type(id).dtype;
  if (const auto* index = std::get_if<TileIndex>(&one.what)) {
    if (std::ranges::find(axis.of, index->axis) != axis.of.end()) return b_.number(of, 0);
    const auto at = exact_.at(index->axis);
    return of == DType::int64 ? at : b_.compute(TileOp::cast, {at}, of);
  }
  std::vector<TileId> operands;
  for (const auto operand : one.operands) operands.push_back(at_start(operand, axis));
  const auto over = b_.axes_of(operands);
  return b_.add(one.what, std::move(operands), of, over);
}

auto TilePositions::beyond(const Axis& axis) -> TileId {
  const auto start = at_start(tiles_.aligned_by, axis);
  const auto mask = b_.number(from_.type(tiles_.aligned_by).dtype, axis.neighbours - 1);
  return b_.compute(TileOp::cast, {b_.compute(TileOp::bit_and, {start, mask})}, index_dtype());
}

void TilePositions::place(Axis& axis, TileId origin) {
  if (axis.ends_whole) return place_whole(axis, origin);
  const auto lanes = lanes_of(axis);
  const auto lane = sum(lanes.thread, lanes.registers);
  // Where neighbours are in range together the first one is asked.
  const bool has_runs = axis.is_inner && choice_.run > 1 && choice_.run == axis.neighbours;
  const auto asked = has_runs ? lanes.runs : lanes.registers;
  if (axis.is_shifted) origin = b_.compute(TileOp::sub, {origin, beyond(axis)});
  auto first = origin;  // of the thread's lanes
  for (const auto one : {lanes.thread, lanes.registers})
    if (one != kNoTile) {
      axis.index = b_.compute(TileOp::add, {first, to_index(one)});
      if (one == lanes.thread) first = axis.index;
    }
  // Of a loop the limits of registers are the same each time; else, or where few are asked one by
  // one, they would only be kept.
  const bool are_asked = has_runs || axis.neighbours == 1;
  const bool has_limits = choice_.is_placed() && choice_.loops && asked != kNoTile && are_asked;
  const bool is_whole = choice_.is_whole && axis.kind == TileAxis::Kind::reduction;
  const auto in_tile = choice_.is_placed() ? sum(lanes.thread, asked) : run_start(axis, lane);
  if (is_whole) {
    axis.in_range = kNoTile;
  } else if (choice_.is_narrow) {
    axis.in_range = has_limits ? b_.compute(TileOp::lt, {first, less(axis.extent, asked)})
                    : choice_.is_placed()
                        ? b_.compute(TileOp::lt, {sum(first, asked), axis.extent})
                        : b_.compute(TileOp::lt, {run_start(axis, axis.index), axis.extent});
    if (axis.is_shifted)  // what is below zero is large without a sign
      axis.in_range = b_.compute(TileOp::lt, {without_sign(axis.index), without_sign(axis.extent)});
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
  // Of several axes the innermost one has whole runs, if any has.
  const bool divides_runs =
      has_runs && choice_.is_placed() && axis.of.size() > 1 && axis.neighbours > 1;
  set_exact(axis,
            divides_runs ? sum(first, lanes.runs == kNoTile ? kNoTile : to_index(lanes.runs))
                         : axis.index,
            divides_runs ? axis.neighbours : 1);
}

/// `at`: where runs of so many lanes begin, or every lane.
void TilePositions::set_exact(const Axis& axis, TileId at, std::int64_t run) {
  const auto by_run = [&](TileId id) {
    return run == 1 ? id : of_naturals(TileOp::quotient, id, b_.number(b_.type(id).dtype, run));
  };
  auto rest = by_run(at);
  for (auto i = axis.of.size(); i-- > 0;) {
    auto index = rest;
    const bool is_innermost = i + 1 == axis.of.size();
    if (i > 0) {
      const auto by = is_innermost ? by_run(extent(axis.of[i])) : extent(axis.of[i]);
      index = of_naturals(TileOp::remainder, rest, by);
      rest = of_naturals(TileOp::quotient, rest, by);
    }
    if (is_innermost && run > 1)
      index = b_.compute(TileOp::add,
                         {b_.compute(TileOp::mul, {index, b_.number(b_.type(index).dtype, run)}),
                          to_index(own_lane(axis.parts[0]))});
    exact_[axis.of[i]] = b_.compute(TileOp::cast, {index}, DType::int64);
  }
}

void TilePositions::place_whole(Axis& axis, TileId origin) {
  const auto last = b_.compute(TileOp::sub, {axis.extent, axis.block});
  const auto from = b_.compute(TileOp::minimum, {origin, last});
  axis.index = b_.compute(TileOp::add, {from, to_index(own_lane(axis.parts[0]))});
  axis.is_own = b_.compute(TileOp::le, {origin, axis.index});
  exact_[axis.of[0]] = b_.compute(TileOp::cast, {axis.index}, DType::int64);
}

auto TilePositions::near(TileId distance) -> TileId {
  constexpr std::int64_t kFar = 1 << 30;
  const auto most = b_.compute(TileOp::minimum, {distance, b_.number(DType::int64, kFar)});
  const auto both = b_.compute(TileOp::maximum, {most, b_.number(DType::int64, -kFar)});
  return b_.compute(TileOp::cast, {both}, DType::int32);
}

auto TilePositions::run_start(const Axis& axis, TileId index) -> TileId {
  if (choice_.run == 1 || !axis.is_inner || axis.neighbours < choice_.run) return index;
  return b_.compute(TileOp::bit_and, {index, b_.number(b_.type(index).dtype, -choice_.run)});
}

auto TilePositions::set_of(const Axis& axis) -> AxisSet {
  AxisSet set = 0;
  for (const auto& part : axis.parts) set |= AxisSet{1} << part.number;
  return set;
}

auto TilePositions::mask(AxisSet axes, bool is_own) -> TileId {
  TileId all = kNoTile;
  for (const auto& one : axes_) {
    if ((axes & set_of(one)) == 0) continue;
    all = b_.both(all, one.in_range);
    if (is_own) all = b_.both(all, one.is_own);
  }
  return all;
}

}  // namespace assay
