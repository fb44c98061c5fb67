// Which tiles a kernel gets, by how much its elements load and by what is zero outside of them.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/cuda/splitting.h"
#include "compiler/cuda/tiling.h"
#include "compiler/program/text.h"
#include "core/shape/shape_env.h"

namespace assay {
namespace {

constexpr std::int64_t kRows = 65536, kColumns = 1024;

/// Rows of `loads` neighbours each; what they come to, by element or along a row.
auto window(int loads, bool is_reduced) -> std::string {
  const std::string across = is_reduced ? "r" : "x";
  auto text = fmt::format(
      "kernel k \"pointwise\"\nparam in buffer float32\nparam out buffer float32\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis y parallel exact max 1024 block (1) extent (n)\n"
      "axis {0} {1} exact max 1024 block (1) extent (m)\nbody {{\n"
      "  %0:int64[y] = index(y) line 0\n  %1:int64[{0}] = index({0}) line 0\n"
      "  %2:int64[] = param(m) line 0\n  %3:int64[y] = mul %0 %2 line 0\n"
      "  %4:int64[y {0}] = add %3 %1 line 0\n  %5:float32[y {0}] = load(in) %4 _ _ line 0\n",
      across, is_reduced ? "reduction" : "parallel");
  int next = 6, sum = 5;
  for (int k = 1; k < loads; ++k, next += 4, sum = next - 1)
    text += fmt::format(
        "  %{0}:int64[] = const({5}) line 0\n  %{1}:int64[y {4}] = add %4 %{0} line 0\n"
        "  %{2}:float32[y {4}] = load(in) %{1} _ _ line 0\n"
        "  %{3}:float32[y {4}] = add %{2} %{6} line 0\n",
        next, next + 1, next + 2, next + 3, across, k, sum);
  if (is_reduced)
    return text + fmt::format(
                      "  %{0}:float32[y] = reduce(sum r) %{1} line 0\n"
                      "  store(out) %0 %{0} _ line 0\n}}\n",
                      next, sum);
  return text + fmt::format("  store(out) %4 %{} _ line 0\n}}\n", sum);
}

/// Images whose fastest dimension is channels, 64 of them: each element is a sum of nine `apart`
/// columns from each other, from `step` times its own on, and of one of another image.
auto columns(int step, int apart) -> std::string {
  auto text = fmt::format(
      "kernel k \"pointwise\"\nparam in buffer float32\nparam out buffer float32\n"
      "param n scalar int64\nparam m scalar int64\nparam other buffer float32\n"
      "axis h parallel exact max 1024 block (1) extent (n)\n"
      "axis w parallel exact max 1024 block (1) extent (m)\n"
      "axis c parallel exact max 1024 block (1) extent (64)\nbody {{\n"
      "  %0:int64[h] = index(h) line 0\n  %1:int64[w] = index(w) line 0\n"
      "  %2:int64[c] = index(c) line 0\n  %3:int64[] = param(m) line 0\n"
      "  %4:int64[h] = mul %0 %3 line 0\n  %5:int64[] = const(64) line 0\n"
      "  %6:int64[h] = mul %4 %5 line 0\n  %7:int64[w] = mul %1 %5 line 0\n"
      "  %8:int64[] = const({}) line 0\n  %9:int64[w] = mul %7 %8 line 0\n"
      "  %10:int64[h w] = add %6 %9 line 0\n  %11:int64[h w c] = add %10 %2 line 0\n"
      "  %12:float32[h w c] = load(in) %11 _ _ line 0\n",
      step);
  int next = 13, sum = 12;
  for (int k = 1; k < 9; ++k, next += 4, sum = next - 1)
    text += fmt::format(
        "  %{0}:int64[] = const({4}) line 0\n  %{1}:int64[h w c] = add %11 %{0} line 0\n"
        "  %{2}:float32[h w c] = load(in) %{1} _ _ line 0\n"
        "  %{3}:float32[h w c] = add %{2} %{5} line 0\n",
        next, next + 1, next + 2, next + 3, 64 * apart * k, sum);
  return text + fmt::format(
                    "  %{0}:float32[h w c] = load(other) %11 _ _ line 0\n"
                    "  %{1}:float32[h w c] = add %{2} %{0} line 0\n"
                    "  store(out) %11 %{1} _ line 0\n}}\n",
                    next, next + 1, sum);
}

auto planned(const std::string& text) -> std::pair<TileKernel, TilePlan> {
  static ShapeEnv env;
  auto kernel = parse_kernel(text, env.pool());
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message) << "\n" << text;
  auto plan = plan_tiles(*kernel);
  EXPECT_TRUE(plan);
  return {*std::move(kernel), *std::move(plan)};
}
auto count_of(const TileRegion& region, const auto& is_one) -> int {
  int found = 0;
  for (const auto& one : region.body) {
    found += is_one(one) ? 1 : 0;
    for (const auto& inner : one.regions) found += count_of(inner, is_one);
  }
  return found;
}

TEST(TileChoice, ElementsOfFewLoadsAreTakenRowAfterRow) {
  for (const int loads : {1, 9}) {
    const auto [kernel, plan] = planned(window(loads, false));
    const bool is_little = loads == 1;
    EXPECT_EQ(plan.strides, is_little);
    const auto choice = choose_tiles(plan, {kRows, kColumns}, 1);
    const auto [x, y, z, ranks] = choice.threads;
    const auto tiles = kColumns / (x * choice.neighbours) * (kRows / y);
    const auto programs = tiled_programs(plan, choice, {kRows, kColumns});
    EXPECT_EQ(tiles / programs, is_little ? 4 : 1);
    using Grid = std::array<std::int64_t, 2>;
    const auto across = kColumns / (x * choice.neighbours);
    const auto grid = [&](std::int64_t rows) { return tiled_grid(plan, choice, {rows, kColumns}); };
    EXPECT_EQ(grid(kRows), is_little ? (Grid{across, programs / across}) : (Grid{programs, 1}));
    constexpr std::int64_t kMost = 65535;  // of the second dimension
    EXPECT_EQ(grid(y * kMost * 8)[1], is_little ? kMost : 1);
    // Of few there are as many as tiles.
    EXPECT_EQ(tiled_programs(plan, choice, {y, kColumns}), kColumns / (x * choice.neighbours));
    const auto tiled = tile_kernel(kernel, plan, choice);
    ASSERT_TRUE(tiled) << tiled.error().message;
    EXPECT_EQ(count_of(tiled->kernel.body,
                       [](const TileStatement& one) {
                         return std::holds_alternative<TileLoop>(one.what);
                       }),
              is_little ? 1 : 0);
  }
}

/// Elements of channels of positions, each channel with numbers of its own, which lie side by side.
TEST(TileChoice, NumbersThatRowsShareDoNotSayAlongWhatThreadsLie) {
  std::string text =
      "kernel k \"pointwise\"\nparam in buffer float32\nparam out buffer float32\n"
      "param n scalar int64\nparam m scalar int64\nparam numbers buffer float32\n"
      "axis c parallel exact max 1024 block (1) extent (n)\n"
      "axis w parallel exact max 1024 block (1) extent (m)\nbody {\n"
      "  %0:int64[c] = index(c) line 0\n  %1:int64[w] = index(w) line 0\n"
      "  %2:int64[] = param(m) line 0\n  %3:int64[c] = mul %0 %2 line 0\n"
      "  %4:int64[c w] = add %3 %1 line 0\n  %5:float32[c w] = load(in) %4 _ _ line 0\n";
  int next = 6, value = 5;
  for (int i = 0; i < 5; ++i, next += 2, value = next - 1)
    text += fmt::format(
        "  %{0}:float32[c] = load(numbers) %0 _ _ line 0\n"
        "  %{1}:float32[c w] = mul %{2} %{0} line 0\n",
        next, next + 1, value);
  text += fmt::format("  store(out) %4 %{} _ line 0\n}}\n", value);
  const auto [kernel, plan] = planned(text);
  ASSERT_TRUE(plan.x);
  EXPECT_EQ(kernel.axes[*plan.x].name, "w");
  EXPECT_FALSE(plan.t);
}

/// Rows that are kept from pass to pass.
auto kept_rows() -> std::string {
  auto text = window(1, true);
  const auto store = text.find("  store");
  text.insert(store,
              "  %8:float32[y r] = sub %5 %6 line 0\n  %9:float32[y] = reduce(max r) %8 line 0\n"
              "  %10:float32[y r] = sub %8 %9 line 0\n  store(in) %4 %10 _ line 0\n");
  return text;
}

/// Warps are as many as a row fills, no power of two; whatever else may be tried holds it too.
TEST(TileChoice, RowsHaveTheWarpsThatTheyFill) {
  const auto [kernel, plan] = planned(kept_rows());
  EXPECT_EQ(choose_tiles(plan, {kRows, 4100}, 1).threads, (TileThreads{.x = 32, .y = 5}));
  EXPECT_EQ(choose_tiles(plan, {kRows, 3072}, 1).threads, (TileThreads{.x = 32, .y = 12}));
  EXPECT_TRUE(choose_tiles(plan, {kRows, 3072}, 1).is_whole);
  EXPECT_TRUE(choose_tiles(plan, {kRows, 64}, 1).is_whole);
  EXPECT_FALSE(choose_tiles(plan, {kRows, 3076}, 1).is_whole);
  EXPECT_EQ(choose_tiles(plan, {kRows, 50256}, 8).threads,
            (TileThreads{.x = 32, .y = 7, .ranks = 8}));
  for (const std::int64_t columns : {1, 40, 1028, 3071, 4100, 9000, 50256, 50257})
    for (const auto& one : tile_candidates(plan, {kRows, columns}, 8)) {
      const auto& [x, y, z, ranks] = one.threads;
      EXPECT_TRUE(one.loops || x * y * ranks * one.neighbours * one.rounds >= columns)
          << columns << ": " << x << " x " << y << ", " << ranks << " blocks";
    }
}

auto kept_halves() -> std::string {
  auto text = kept_rows();
  for (auto at = text.find("float32"); at != std::string::npos; at = text.find("float32", at))
    text.replace(at, 7, "bfloat16");
  return text;
}

/// Short rows of two-byte elements that begin anywhere are read and written sixteen bytes at once,
/// from lanes before them on; not where that wants another warp.
TEST(TileChoice, ShortRowsOfHalvesBeginWhereWideAccessesMay) {
  const auto [kernel, plan] = planned(kept_halves());
  const std::map<std::int64_t, bool> shifted = {
      {25, true},   {26, false},   {77, true},    {197, true},  {249, true}, {250, false},
      {2039, true}, {2047, false}, {4099, false}, {200, false}, {16, false}};
  for (const auto& [columns, is_wide] : shifted) {
    const auto one = choose_tiles(plan, {kRows, columns}, 8);
    EXPECT_EQ(is_shifted(plan, one), is_wide) << columns;
    const auto& [x, y, z, ranks] = one.threads;
    EXPECT_GE(x * y * ranks * one.neighbours * one.rounds, columns + (is_wide ? 7 : 0)) << columns;
    EXPECT_EQ(one.neighbours > 1, is_wide || columns % 8 == 0) << columns;
  }
  const auto [wide_kernel, of_floats] = planned(kept_rows());
  EXPECT_FALSE(is_shifted(of_floats, choose_tiles(of_floats, {kRows, 197}, 8)));
}

/// One code serves many sizes.
TEST(TileChoice, RowsOfAnyLengthHaveFewCodes) {
  for (const auto& text : {kept_rows(), kept_halves()}) {
    const auto [kernel, plan] = planned(text);
    std::set<TileChoice> codes;
    for (const std::int64_t rows :
         {std::int64_t{1}, std::int64_t{40}, kRows, std::int64_t{1} << 32})
      for (std::int64_t columns = 1; columns < 200'000; columns += columns / 40 + 1)
        codes.insert(choose_tiles(plan, {rows, columns}, 8).code());
    for (std::int64_t columns = 4; columns < 200'000; columns *= 2)
      codes.insert(choose_tiles(plan, {kRows, columns}, 8).code());
    EXPECT_LE(codes.size(), 11U);  // as choose_tiles says
  }
}

/// Of tiles of elements little stands idle, parts of warps included; they read whole lines of
/// memory.
TEST(TileChoice, TilesAreAsWideAsRows) {
  const auto [kernel, plan] = planned(window(1, false));
  EXPECT_EQ(choose_tiles(plan, {kRows, kColumns}, 1).threads, (TileThreads{.x = 128}));
  EXPECT_EQ(choose_tiles(plan, {kRows, 64}, 1).threads, (TileThreads{.x = 16, .y = 8}));
  EXPECT_EQ(choose_tiles(plan, {kRows, 0}, 1).threads.x, 1);
  for (const std::int64_t columns : {132, 516, 1032, 2055, 4104, 5120}) {
    const auto choice = choose_tiles(plan, {kRows, columns}, 1);
    const auto& [x, y, z, ranks] = choice.threads;
    const auto before = is_shifted(plan, choice) ? choice.neighbours - 1 : 0;
    const auto wanted = (columns + before + choice.neighbours - 1) / choice.neighbours;
    const auto threads = (x * y + 31) / 32 * 32;
    const auto rows_of_threads = (wanted + x - 1) / x * threads;
    EXPECT_LE((rows_of_threads - wanted * y) * 16, rows_of_threads) << columns;
    EXPECT_LE(threads, 256);
    EXPECT_GE(x, 8);
    EXPECT_EQ(z * ranks, 1);
  }
}

/// The code of elements has few registers, so that many threads are at work; more where that would
/// not be enough.
TEST(TileChoice, ElementsHaveFewRegisters) {
  const auto registers = [](const std::string& before_store) {
    auto text = window(1, false);
    text.insert(text.find("  store"), before_store);
    const auto [kernel, plan] = planned(text);
    return most_registers(plan, choose_tiles(plan, {kRows, kColumns}, 1));
  };
  const std::string guarded =
      "  %6:bool[y x] = lt %4 %4 line 0\n  %7:float32[y x] = load(in) %4 %6 _ line 0\n";
  EXPECT_EQ(registers(""), 32);
  EXPECT_EQ(registers(guarded), 32);
  EXPECT_EQ(registers(guarded + "  %8:float32[y x] = load(in) %4 %6 _ line 0\n"), 40);
  EXPECT_EQ(registers("  %6:int64[y x] = cast %5 line 0\n"
                      "  %7:float32[y x] = load(in) %6 _ _ line 0\n"),
            40);
  EXPECT_EQ(registers("  %6:int64[y x] = rem %4 %4 line 0\n"), 0);
  EXPECT_EQ(registers("  %6:float64[y x] = cast %5 line 0\n"), 0);
}

/// Sums of columns of `in`, stored as float32.
auto sums_of_columns(const char* in) -> std::string {
  return fmt::format(
      "kernel k \"reduction\"\nparam in buffer {0}\nparam out buffer float32\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis r reduction exact max 1024 block (1) extent (n)\n"
      "axis x parallel exact max 1024 block (1) extent (m)\nbody {{\n"
      "  %0:int64[x] = index(x) line 0\n  %1:int64[r] = index(r) line 0\n"
      "  %2:int64[] = param(m) line 0\n  %3:int64[r] = mul %1 %2 line 0\n"
      "  %4:int64[x r] = add %3 %0 line 0\n  %5:{0}[x r] = load(in) %4 _ _ line 0\n"
      "  %6:float32[x r] = cast %5 line 0\n"
      "  %7:float32[x] = reduce(sum r) %6 line 0\n  store(out) %0 %7 _ line 0\n}}\n",
      in);
}

/// Columns are narrower where there would be few, if that makes enough of them, or if tiles are
/// whole lines.
TEST(TileChoice, FewColumnsAreNarrow) {
  const auto [kernel, plan] = planned(sums_of_columns("float32"));
  EXPECT_EQ(choose_tiles(plan, {1024, 65536}, 1).threads.x, 32);
  EXPECT_EQ(choose_tiles(plan, {4096, 16384}, 1).threads.x, 8);
  EXPECT_EQ(choose_tiles(plan, {16384, 4096}, 1).threads.x, 8);
  EXPECT_EQ(choose_tiles(plan, {16384, 4100}, 1).threads.x, 32);
  // What few parts make together: many threads go over short columns.
  EXPECT_EQ(choose_tiles(plan, {512, 256}, 1).threads, (TileThreads{.x = 8, .y = 32}));
  // As many as keep a GPU busy are not taken apart.
  EXPECT_FALSE(choose_split(plan.loops, {4096, 16384}, 256));
  EXPECT_EQ(choose_split(plan.loops, {4096, 16384}, 255)->parts, 2);
  EXPECT_EQ(choose_split(plan.loops, {65536, 1024}, 8)->parts, 33);
}

/// As many loads are on their way whatever an element is made of, and two blocks at work at once.
TEST(TileChoice, ColumnsAskForAsMuchAtOnce) {
  const auto choice = [](const char* loads, std::int64_t columns) {
    auto text = sums_of_columns("bfloat16");
    const std::string summed = "reduce(sum r) %6";
    text.replace(text.find(summed), summed.size(), "reduce(sum r) %9");
    text.insert(text.find("  %7"), fmt::format("{}  %9:float32[x r] = mul %6 %6 line 0\n", loads));
    const auto [kernel, plan] = planned(text);
    const auto made = choose_tiles(plan, {65536, columns}, 1);
    EXPECT_EQ(most_registers(plan, made), 128);
    return made;
  };
  constexpr auto kOfColumns = "  %8:bfloat16[x] = load(in) %0 _ _ line 0\n";
  constexpr auto kOfRows = "  %8:bfloat16[r] = load(in) %1 _ _ line 0\n";
  constexpr auto kOfAll = "  %8:bfloat16[x r] = load(in) %4 _ _ line 0\n";
  EXPECT_EQ(choice("", 1024).rounds, 8);
  EXPECT_EQ(choice(kOfColumns, 1024).rounds, 8);
  EXPECT_EQ(choice(kOfRows, 1024).rounds, 8);
  EXPECT_EQ(choice(kOfAll, 1024).rounds, 4);
  EXPECT_EQ(choice("", 1023).rounds, 32);
  EXPECT_EQ(choice(kOfAll, 1023).rounds, 16);
}

/// What is loaded for every element says how wide accesses are, not what is stored once a column.
TEST(TileChoice, NarrowElementsOfColumnsAreWide) {
  EXPECT_EQ(planned(sums_of_columns("float32")).second.neighbours, 4);
  EXPECT_EQ(planned(sums_of_columns("bfloat16")).second.neighbours, 8);
}

/// Positions of a row that share most of what they load are one thread's; where the row is shorter,
/// or its elements begin anywhere, each is another one's.
TEST(TileChoice, WindowsThatOverlapAreOneThreads) {
  const auto [kernel, plan] = planned(columns(1, 1));
  ASSERT_EQ(plan.w, 1U);
  const auto positions = [&](std::int64_t wide, std::int64_t channels) {
    return choose_tiles(plan, {kRows, wide, channels}, 1).positions;
  };
  EXPECT_EQ(positions(14, 64), 4);
  EXPECT_EQ(positions(4, 64), 4);
  EXPECT_EQ(positions(3, 64), 1);
  EXPECT_EQ(positions(14, 63), 1);
  const auto choice = choose_tiles(plan, {kRows, 14, 64}, 1);
  const auto across = 64 / (choice.neighbours * choice.threads.x);
  EXPECT_EQ(tiled_programs(plan, choice, {kRows, 14, 64}), 4 * across * kRows / choice.threads.y);
  // Rows of a warp share weights; where there are few of them it has more channels.
  EXPECT_EQ(choice.threads.x, 8);
  EXPECT_EQ(choose_tiles(plan, {4, 14, 1024}, 1).threads, (TileThreads{.x = 32, .y = 4}));
  std::set<std::int64_t> tried;
  for (const auto& one : tile_candidates(plan, {kRows, 14, 64}, 1)) tried.insert(one.positions);
  EXPECT_EQ(tried, (std::set<std::int64_t>{1, 2, 4}));
  // Nothing is asked of positions but whose they are, where something is stored or may have been.
  const auto tiled = tile_kernel(kernel, plan, choice);
  ASSERT_TRUE(tiled) << tiled.error().message;
  const auto& axes = tiled->kernel.axes;
  const auto at = std::ranges::find(axes, "w", &TileAxis::name) - axes.begin();
  EXPECT_EQ(tiled->places[static_cast<std::size_t>(at)], TilePlace::bits);
  for (const auto& one : tiled->kernel.body.body) {
    const auto* load = std::get_if<TileLoad>(&one.what);
    if (load == nullptr && !std::holds_alternative<TileStore>(one.what)) continue;
    const auto mask = one.operands[load != nullptr ? 1 : 2];
    const bool is_window = load != nullptr && load->param == 0;
    EXPECT_EQ((tiled->kernel.type(mask).axes >> at & 1U) == 0, is_window);
  }
}

TEST(TileChoice, WindowsThatShareLittleAreNot) {
  EXPECT_EQ(planned(columns(1, 1)).second.w, 1U);
  EXPECT_EQ(planned(columns(2, 1)).second.w, 1U);  // seven of nine
  EXPECT_EQ(planned(columns(6, 1)).second.w, std::nullopt);
  EXPECT_EQ(planned(columns(1, 2)).second.w, std::nullopt);
  EXPECT_EQ(planned(window(9, false)).second.w, std::nullopt);
}

TEST(TileChoice, RowsOfWindowsKeepFewLanesInSmallBlocks) {
  const auto [little, plan] = planned(window(1, true));
  const auto [many, wide] = planned(window(9, true));
  EXPECT_EQ(most_threads(plan), 512);
  EXPECT_EQ(most_threads(wide), 256);
  const auto choice = choose_tiles(wide, {kRows, kColumns}, 1);
  EXPECT_EQ(choice.neighbours * choice.rounds, 8);
  EXPECT_GE(choice.threads.x * choice.threads.y * 8, kColumns);
}

/// What a sum loads is zero outside of its rows already; what is computed of it may not be, nor is
/// what every lane of a row has.
TEST(TileChoice, SumsDoNotAskAgainWhatIsZero) {
  const auto selects = [](const std::string& text) {
    const auto [kernel, plan] = planned(text);
    const auto tiled = tile_kernel(kernel, plan, choose_tiles(plan, {kRows, kColumns - 8}, 1));
    EXPECT_TRUE(tiled);
    return count_of(tiled->kernel.body, [](const TileStatement& one) {
      const auto* compute = std::get_if<TileCompute>(&one.what);
      return compute != nullptr && compute->op == TileOp::select;
    });
  };
  const auto sums = window(1, true);
  EXPECT_EQ(selects(sums), 0);
  auto computed = sums;  // 1 where nothing was loaded
  computed.replace(computed.find("%6:float32[y] = reduce(sum r) %5"), 32,
                   "%7:float32[y r] = exp %5 line 0\n  %6:float32[y] = reduce(sum r) %7");
  EXPECT_EQ(selects(computed), 1);
  auto same = sums;  // one element for all lanes
  same.replace(same.find("load(in) %4"), 11, "load(in) %3");
  same.replace(same.find("%5:float32[y r] = load"), 22, "%5:float32[y] = load");
  EXPECT_EQ(selects(same), 1);
  const auto largest_of = [](std::string text) {
    text.replace(text.find("reduce(sum r)"), 13, "reduce(max r)");
    return text;
  };
  EXPECT_EQ(selects(largest_of(sums)), 0);      // what is loaded there is the smallest number
  EXPECT_EQ(selects(largest_of(computed)), 1);  // what is computed is made so
  EXPECT_EQ(selects(largest_of(same)), 1);
  // e to the difference to the largest is 0 where that is loaded; to another number it may not be.
  const auto powers_of = [&](const std::string& subtrahend) {
    auto text = largest_of(sums);
    const auto at = text.find("  store");
    return text.insert(at, "  %7:float32[y r] = sub %5 " + subtrahend +
                               " line 0\n  %8:float32[y r] = exp %7 line 0\n"
                               "  %9:float32[y] = reduce(sum r) %8 line 0\n");
  };
  EXPECT_EQ(selects(powers_of("%6")), 0);
  EXPECT_EQ(selects(powers_of("%5")), 1);
}

}  // namespace
}  // namespace assay
