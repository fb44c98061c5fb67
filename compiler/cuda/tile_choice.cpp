// Which tiles and threads a launch gets, by its extents alone. Of one kernel there are at most
// eleven codes: rows that fill all lanes, rows of whole runs, rows that begin anywhere, each of
// less than a warp or more and of few elements a thread or many, and what is too long to be kept or
// needs 64-bit positions; all else is threads, which a launch has as many of as it wants.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>

#include "compiler/cuda/tiling.h"

namespace assay {
namespace {

constexpr std::int64_t kPointwiseThreads = 128, kMostPointwise = 256, kColumnThreads = 256,
                       kRowThreads = 512, kClusterThreads = 128, kShortRowThreads = 128,
                       kLoopedThreads = 256;
/// What a thread asks for at once: lanes of rows, or all of their loads; of columns wide loads, or
/// single lanes, of all loads together.
constexpr int kFewLoads = 3, kLoopedLoads = 64;
constexpr std::int64_t kLoopedLanes = 32, kColumnLoads = 8, kColumnLanes = 32;
/// Whose threads would go over many rows one by one; and rows that columns are taken of two warps
/// wide.
constexpr std::int64_t kShortColumn = 1024, kLongRow = 512;
constexpr std::int64_t kKeptLanes = 32, kKeptLanesOfWindows = 8;  ///< of rows in registers
/// Of rows of wide elements that are no longer than this a thread keeps few: so many threads are at
/// work that nothing waits.
constexpr std::int64_t kFewKept = 8, kFewKeptRow = 4096, kWideNeighbours = 4;
/// The longest rows of narrow elements that begin where a wide access may: single stores of parts
/// of several rows cost more than lanes that are asked.
constexpr std::int64_t kShiftedRow = 2048;
constexpr std::int64_t kMostZ = 64;
constexpr std::int64_t kManyPrograms = 8192, kMostSteps = 4;  ///< over rows of elements
constexpr std::int64_t kFarthest = 1 << 25;  ///< that positions of 32 bits are moved
constexpr std::int64_t kPositions = 4;       ///< of windows that overlap
/// Longer ones that are read once need not be kept; others keep more per thread.
constexpr std::int64_t kShortRow = 8192;
/// Neighbours in the innermost of several axes of a row, where these are no more.
constexpr std::int64_t kShortRun = 4;
// Fixed blocks
constexpr std::int64_t kSquare = 32;  ///< both sides of a tile that is transposed
constexpr std::int64_t kTile = 512, kShortScan = 256, kScan = 2048, kScanWidth = 32;

auto tiles(std::int64_t extent, std::int64_t block) -> std::int64_t {
  return (extent + block - 1) / block;
}
auto power_of_two(std::int64_t at_least) -> std::int64_t {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(at_least, 1))));
}
auto floor_power_of_two(std::int64_t at_most) -> std::int64_t {
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(at_most, 1))));
}
/// Threads whose wide accesses are a line of memory, and programs that keep any GPU busy.
constexpr std::int64_t kLineThreads = 8, kBusyPrograms = 256;

/// The largest block of `most` threads or less of which no more than a sixteenth stands idle; else
/// the one of which least does. Each reads whole lines.
auto snug_width(std::int64_t extent, std::int64_t most) -> std::int64_t {
  auto best = std::min(most, power_of_two(extent));
  const auto total = [&](std::int64_t block) { return tiles(extent, block) * block; };
  for (auto block = best; block >= kLineThreads; block /= 2) {
    if (total(block) < total(best)) best = block;
    if (total(best) * 16 <= extent * 17) break;
  }
  return best;
}
/// The same with threads over rows, of which warps may have parts of several: the widest ones of
/// which no more than a sixteenth stands idle, warps that are not full included. Where tiles end
/// they share sectors of memory, so wide ones read and write less; that is worth it where as many
/// threads are at work as there may be.
auto snug_threads(std::int64_t extent) -> TileThreads {
  constexpr double kFew = 1.0 / 16;
  TileThreads best;
  double least = 1;
  extent = std::max<std::int64_t>(extent, 1);
  for (auto parts = tiles(extent, kPointwiseThreads);; ++parts) {
    TileThreads one{.x = tiles(extent, parts)};
    for (; one.x * one.y <= kMostPointwise; ++one.y) {
      const auto threads = tiles(one.x * one.y, kWarpThreads) * kWarpThreads;
      const auto idle =
          1 - static_cast<double>(extent * one.y) / static_cast<double>(parts * threads);
      const bool is_usual = threads <= kPointwiseThreads;
      if (idle < least || (is_usual && idle == least)) std::tie(least, best) = std::pair(idle, one);
    }
    if (least <= kFew || one.x <= kLineThreads) return best;
  }
}
/// The largest block of which not too much stands idle, at most `most`.
auto width(std::int64_t extent, std::int64_t most) -> std::int64_t {
  constexpr std::int64_t kLeast = 8;
  for (auto block = most; block > kLeast; block /= 2)
    if (extent >= block || tiles(extent, block) * block * 3 <= extent * 4) return block;
  return std::min({most, kLeast, power_of_two(extent)});
}

/// Extents by what the tiles make of them.
struct TileExtents {
  std::int64_t x = 1, t = 1, w = 1, y = 1, r = 1;
};
auto tile_extents(const TilePlan& plan, const TileChoice& choice,
                  const std::vector<std::int64_t>& extents) -> TileExtents {
  TileExtents all;
  for (const auto axis : plan.loops.parallel) {
    const bool is_t = choice.block_t > 0 && axis == plan.t;
    const bool is_w = choice.positions > 1 && axis == plan.w;
    (axis == plan.x ? all.x : is_t ? all.t : is_w ? all.w : all.y) *= extents[axis];
  }
  for (const auto axis : plan.loops.reduced) all.r *= extents[axis];
  return all;
}

auto is_row(const TilePlan& plan) -> bool {
  return !plan.x && !plan.loops.reduced.empty();
}
/// How many lanes rows may begin before their first element.
auto beyond(const TilePlan& plan, const TileChoice& choice) -> std::int64_t {
  return is_shifted(plan, choice) ? choice.neighbours - 1 : 0;
}

}  // namespace

auto column_rounds(const TilePlan& plan, std::int64_t at_once) -> std::int64_t {
  return floor_power_of_two(at_once / std::max(plan.loads, 1));
}
auto most_threads(const TilePlan& plan) -> std::int64_t {
  return is_row(plan) && plan.loads_little ? kRowThreads : kColumnThreads;
}

namespace {

/// Threads that hold a whole row; nothing where it is too long.
auto row_threads(const TilePlan& plan, const TileChoice& choice, const TileExtents& all,
                 std::int64_t most_ranks) -> std::optional<TileThreads> {
  // Rows of nothing have a result as well.
  const auto length = std::max<std::int64_t>(all.r, 1) + beyond(plan, choice);
  auto holders = power_of_two(tiles(length, choice.neighbours * choice.rounds));
  TileThreads threads;
  // One row fills a warp at least; several share one.
  if (plan.loops.parallel.empty()) holders = std::max(holders, kWarpThreads);
  // Of a cluster's blocks more are at work at once where they are smaller.
  if (holders > most_threads(plan)) {
    const auto threads_each = std::max(holders / most_ranks, kClusterThreads);
    if (threads_each > most_threads(plan)) return std::nullopt;
    threads.ranks = holders / threads_each;
  }
  holders /= threads.ranks;
  threads.x = std::min(holders, kWarpThreads);
  // As many warps as the row has.
  const auto lanes = threads.x * threads.ranks * choice.neighbours * choice.rounds;
  threads.y = std::min(tiles(length, lanes), holders / threads.x);
  holders = threads.x * threads.y;
  if (plan.loops.parallel.empty()) return threads;
  const auto rows = std::min(power_of_two(all.y), kShortRowThreads / holders);
  threads.z = std::clamp(std::max(rows, kWarpThreads / holders), std::int64_t{1}, kMostZ);
  return threads;
}

/// Threads of a row.
auto holders(const TileChoice& choice) -> std::int64_t {
  return choice.threads.x * choice.threads.y * choice.threads.ranks;
}

/// What depends on a row's threads, of those who keep it.
void set_threads(const TilePlan& plan, TileChoice& choice, const TileThreads& threads,
                 const TileExtents& all) {
  choice.threads = threads;
  choice.fills_warps = threads.x == kWarpThreads;
  const auto lanes = threads.x * threads.y * threads.ranks * choice.neighbours * choice.rounds;
  choice.is_whole = lanes == all.r && !plan.clip && !is_shifted(plan, choice);
}

/// Rows in pieces. What is read again is too long to be kept, and has one code for all sizes.
auto looped(const TilePlan& plan, TileChoice choice) -> TileChoice {
  choice.loops = true;
  if (plan.loops.levels > 2) choice.run = choice.neighbours = 1;
  if (choice.neighbours == 1) choice.is_narrow = false;
  // Of what is made of many loads all are there at once.
  const auto lanes =
      plan.loads <= kFewLoads ? kLoopedLanes : floor_power_of_two(kLoopedLoads / plan.loads);
  choice.rounds = std::max<std::int64_t>(lanes / choice.neighbours, 1);
  choice.threads = {.x = kWarpThreads, .y = kLoopedThreads / kWarpThreads};
  choice.fills_warps = true;
  choice.is_whole = false;
  return choice;
}

auto row_choice(const TilePlan& plan, TileChoice choice, const TileExtents& all,
                std::int64_t most_ranks) -> TileChoice {
  const bool is_read_again = plan.loops.levels > 2;
  const bool keeps_few = plan.registers == kRegistersOfOneLoad &&
                         plan.neighbours <= kWideNeighbours && all.r <= kFewKeptRow;
  const auto lanes = !plan.loads_little ? kKeptLanesOfWindows : keeps_few ? kFewKept : kKeptLanes;
  const auto kept = [&](TileChoice one) -> std::optional<TileChoice> {
    one.rounds = std::max<std::int64_t>(lanes / one.neighbours, 1);
    const auto threads = row_threads(plan, one, all, most_ranks);
    if (threads) set_threads(plan, one, *threads, all);
    return threads ? std::optional(one) : std::nullopt;
  };
  if (!choice.is_narrow || (!is_read_again && all.r > kShortRow)) return looped(plan, choice);
  const auto usual = kept(choice);
  // What else is read would have to be moved; and the lanes before a row shall not want more warps.
  auto wide = choice;
  wide.neighbours = plan.neighbours;
  const bool is_worth_it =
      is_read_again && plan.loads == 1 && plan.neighbours > kWideNeighbours && all.r <= kShiftedRow;
  if (is_worth_it && is_shifted(plan, wide))
    if (const auto shifted = kept(wide);
        shifted && (!usual || holders(*shifted) <= holders(*usual)))
      return *shifted;
  return usual ? *usual : looped(plan, choice);
}

auto column_choice(const TilePlan& plan, TileChoice choice, const TileExtents& all) -> TileChoice {
  choice.loops = true;
  const auto at_once = choice.neighbours > 1 ? kColumnLoads : kColumnLanes;
  choice.rounds = column_rounds(plan, at_once);
  auto& threads = choice.threads;
  const auto across = tiles(all.x, choice.neighbours);
  threads.x = width(across, kWarpThreads);
  // Single elements of long rows: what warps share at their ends is read once.
  if (choice.neighbours == 1 && all.x >= kLongRow) threads.x = 2 * kWarpThreads;
  // Narrower ones where there are few, if that makes enough of them, or if they are whole lines, of
  // which fewer parts are made then; and of short columns.
  const auto programs = [&](std::int64_t x) { return tiles(across, x) * all.y; };
  const bool is_better = programs(kLineThreads) >= kBusyPrograms || all.r <= kShortColumn ||
                         all.x % (kLineThreads * choice.neighbours) == 0;
  if (choice.neighbours > 1 && programs(threads.x) < kBusyPrograms && is_better)
    threads.x = std::min(threads.x, kLineThreads);
  threads.y = std::min(kColumnThreads / threads.x, power_of_two(tiles(all.r, choice.rounds)));
  threads.z = std::clamp(std::min(kColumnThreads / (threads.x * threads.y), power_of_two(all.y)),
                         std::int64_t{1}, kMostZ);
  return choice;
}

auto pointwise_choice(const TilePlan& plan, TileChoice choice,
                      const std::vector<std::int64_t>& extents) -> TileChoice {
  choice.neighbours = plan.x ? plan.neighbours : 1;
  if (plan.w && choice.run > 1 && extents[*plan.w] >= kPositions) choice.positions = kPositions;
  const auto all = tile_extents(plan, choice, extents);
  const bool has_rows = plan.x && plan.loops.parallel.size() > 1;
  auto& threads = choice.threads;
  if (has_rows) {
    // Rows share weights, whose elements are lines apart from channel to channel, and most columns:
    // as many as may be are a warp's, where each reads whole lines.
    const auto most = choice.positions > 1
                          ? std::max(kPointwiseThreads / power_of_two(all.y), kLineThreads)
                          : kPointwiseThreads;
    const auto extent = tiles(all.x + beyond(plan, choice), choice.neighbours);
    const bool is_snug = plan.loads_little && choice.neighbours > 1;
    threads.x = is_snug ? snug_width(extent, most) : width(extent, most);
    threads.y = kPointwiseThreads / threads.x;
    if (is_snug && plan.registers > 0) threads = snug_threads(extent);
  } else {
    const auto extent = plan.x ? all.x : all.y;
    threads.x =
        std::clamp(power_of_two(tiles(extent, choice.neighbours)), kWarpThreads, kPointwiseThreads);
  }
  return choice;
}

/// Both sides of a tile are read and written along rows; of narrow elements rows are longer.
auto square(const TilePlan& plan, TileChoice choice) -> TileChoice {
  constexpr std::int64_t kNarrow = 8, kNarrowRegisters = 16;
  const bool is_narrow = plan.neighbours >= kNarrow && choice.run > 1;
  choice.block_x = choice.block_t = is_narrow ? 2 * kSquare : kSquare;
  if (is_narrow) choice.registers = kNarrowRegisters;
  return choice;
}

auto scan_choice(const TilePlan& plan, TileChoice choice, const TileExtents& all) -> TileChoice {
  choice.run = 1;
  if (plan.loops.reduced.empty()) {
    choice.block_x = plan.x ? kTile : 1;
    choice.block_y = kTile / choice.block_x;
  } else if (plan.x) {
    choice.loops = true;
    choice.block_x = kScanWidth;
    choice.block_r = kScanWidth;
  } else {
    choice.loops = !choice.is_narrow || all.r > kScan;
    choice.block_r = !choice.loops && all.r <= kShortScan ? kShortScan : kScan;
    choice.block_y = kScan / choice.block_r;
  }
  return choice;
}

}  // namespace

auto TileChoice::code() const -> TileChoice {
  auto same = *this;
  same.threads = {};
  return same;
}

auto most_registers(const TilePlan& plan, const TileChoice& choice) -> int {
  constexpr int kOfSingleLanes = 8;  ///< that are asked one by one
  constexpr int kOfFew = 32;
  if (plan.registers == 0 || !choice.is_placed()) return 0;
  if (!is_row(plan)) return plan.registers;
  if (choice.loops) return 0;
  // Each lane's place by a division of its own would be kept in memory.
  if (choice.run == 1 && plan.loops.reduced.size() > 1) return 0;
  if (plan.registers == kRegistersOfOneLoad && choice.neighbours * choice.rounds <= kFewKept)
    return kOfFew;
  return plan.registers + (choice.run == plan.neighbours ? 0 : kOfSingleLanes);
}

auto is_shifted(const TilePlan& plan, const TileChoice& choice) -> bool {
  return choice.is_placed() && choice.run == 1 && choice.neighbours > 1 &&
         plan.aligned_by != kNoTile &&
         (plan.loops.reduced.empty() ||
          (is_row(plan) && plan.loops.reduced.size() == 1 && !choice.loops && !plan.clip));
}

auto tiled_grid(const TilePlan& plan, const TileChoice& choice,
                const std::vector<std::int64_t>& extents) -> std::array<std::int64_t, 2> {
  const auto all = tile_extents(plan, choice, extents);
  if (!choice.is_placed())
    return {tiles(all.x, choice.block_x) * tiles(all.t, std::max<std::int64_t>(choice.block_t, 1)) *
                tiles(all.y, choice.block_y),
            1};
  const auto& threads = choice.threads;
  const bool has_reduction = !plan.loops.reduced.empty();
  const bool has_rows = plan.loops.parallel.size() > (plan.x ? 1U : 0U);
  const auto down = has_reduction ? threads.z : plan.x ? threads.y : threads.x;
  const auto rows = has_rows ? tiles(all.y, down) * tiles(all.w, choice.positions) : 1;
  if (!plan.x) return {rows, 1};
  const auto across = tiles(all.x + beyond(plan, choice), choice.neighbours * threads.x);
  if (!plan.strides) return {across * rows, 1};
  // Where there are enough programs each takes several rows, or as many as the grid makes it.
  const auto each = std::clamp(across * rows / kManyPrograms, std::int64_t{1}, kMostSteps);
  return {across, std::min(tiles(rows, each), kMostProgramsDown)};
}

auto tiled_programs(const TilePlan& plan, const TileChoice& choice,
                    const std::vector<std::int64_t>& extents) -> std::int64_t {
  const auto [across, down] = tiled_grid(plan, choice, extents);
  return across * down;
}

auto choose_tiles(const TilePlan& plan, const std::vector<std::int64_t>& extents,
                  std::int64_t most_ranks) -> TileChoice {
  TileChoice choice;
  const auto all = tile_extents(plan, choice, extents);
  // As far from 2^31 as code may move positions and limits (codegen/gpu_affine), and as programs go
  // on with rows.
  static_assert(kMostProgramsDown * kMostPointwise < kFarthest);
  constexpr std::int64_t kNarrow = std::numeric_limits<std::int32_t>::max() - kFarthest;
  choice.is_narrow = std::max({all.x, all.y, all.r}) < kNarrow;
  // Of rows over several axes the innermost one.
  const auto& reduced = plan.loops.reduced;
  const auto inner = plan.x ? all.x : reduced.empty() ? all.r : extents[reduced.back()];
  const auto is_whole = [&](std::int64_t extent) { return extent % plan.neighbours == 0; };
  choice.run = choice.is_narrow && is_whole(inner) ? plan.neighbours : 1;
  // Short runs are better than none where each would be divided.
  if (choice.is_narrow && choice.run == 1 && reduced.size() > 1 && !plan.x &&
      inner % kShortRun == 0)
    choice.run = std::min(kShortRun, plan.neighbours);
  if (plan.loops.reduced.empty() && plan.t && choice.is_narrow) {
    const auto other = extents[*plan.t];
    if (!is_whole(other)) choice.run = 1;
    const bool is_large = std::min(all.x, other) >= kSquare / 2;
    if (is_large) return square(plan, choice);
    choice.run = 1;
  }
  if (!plan.is_placed) return scan_choice(plan, choice, all);
  if (plan.loops.reduced.empty()) return pointwise_choice(plan, choice, extents);
  // The last part may end anywhere, but begins as others do.
  choice.neighbours = choice.run > 1 ? choice.run : 1;
  const bool is_clipped = !plan.x && plan.clip && plan.clip->axis == reduced.back();
  if (is_clipped && plan.clip->run < choice.run) choice.run = 1;
  return plan.x ? column_choice(plan, choice, all) : row_choice(plan, choice, all, most_ranks);
}

namespace {

/// All launches of a code that reach the same lanes with other threads.
auto other_threads(const TilePlan& plan, const TileChoice& usual, const TileExtents& all,
                   std::int64_t most_ranks) -> std::vector<TileChoice> {
  std::vector<TileChoice> made;
  const auto add = [&](auto change) {
    auto one = usual;
    change(one.threads);
    const auto& [x, y, z, ranks] = one.threads;
    const auto count = x * y * z;
    if (std::min({x, y, z, ranks}) < 1 || z > kMostZ || ranks > most_ranks ||
        count < kWarpThreads || count > most_threads(plan))
      return;
    if (is_row(plan) && !one.loops) set_threads(plan, one, one.threads, all);
    made.push_back(one);
  };
  if (is_row(plan) && !usual.loops) {
    if (usual.threads.x == kWarpThreads)
      for (const std::int64_t by : {2, 4}) {
        if (usual.threads.y >= by)
          add([&](TileThreads& t) { t.y = tiles(t.y, by), t.ranks *= by; });
        add([&](TileThreads& t) { t.y *= by, t.ranks /= by; });
      }
    if (!plan.loops.parallel.empty())
      for (const std::int64_t rows : {usual.threads.z / 2, usual.threads.z * 2})
        if (rows <= power_of_two(all.y)) add([&](TileThreads& t) { t.z = rows; });
    return made;
  }
  if (plan.loops.reduced.empty() && !(plan.x && plan.loops.parallel.size() > 1)) {
    for (const std::int64_t threads : {64, 256}) add([&](TileThreads& t) { t.x = threads; });
    return made;
  }
  for (const std::int64_t by : {2, 4}) {
    add([&](TileThreads& t) { t.y *= by; });
    add([&](TileThreads& t) { t.y /= by; });
    if (!is_row(plan)) {
      add([&](TileThreads& t) { t.x /= by, t.y *= by; });
      if (usual.threads.x * by <= kWarpThreads) add([&](TileThreads& t) { t.x *= by, t.y /= by; });
    }
  }
  return made;
}

}  // namespace

auto tile_candidates(const TilePlan& plan, const std::vector<std::int64_t>& extents,
                     std::int64_t most_ranks) -> std::vector<TileChoice> {
  const auto usual = choose_tiles(plan, extents, most_ranks);
  std::vector<TileChoice> all = {usual};
  if (!usual.is_placed()) {
    for (const std::int64_t registers : {4, 8, 16}) {
      all.push_back(usual);
      all.back().registers = registers;
    }
    return all;
  }
  const auto sizes = tile_extents(plan, usual, extents);
  std::ranges::copy(other_threads(plan, usual, sizes, most_ranks), std::back_inserter(all));
  for (auto positions = usual.positions / 2; positions >= 1; positions /= 2) {
    all.push_back(usual);
    all.back().positions = positions;
  }
  if (!is_row(plan)) return all;
  // A thread keeps half or double; a row is read once per pass.
  for (const auto rounds : {usual.rounds / 2, usual.rounds * 2}) {
    auto one = usual;
    one.rounds = rounds;
    if (rounds < 1) continue;
    if (!usual.loops) {
      const auto threads = row_threads(plan, one, sizes, most_ranks);
      if (!threads) continue;
      set_threads(plan, one, *threads, sizes);
    }
    all.push_back(one);
  }
  if (usual.loops) return all;
  if (sizes.r > 2 * kShortRow) all.push_back(looped(plan, usual));
  return all;
}

}  // namespace assay
