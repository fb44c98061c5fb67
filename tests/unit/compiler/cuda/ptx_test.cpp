// Code of kernels for GPUs: what is made without one, and that its absence is told.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/cuda/blocks.h"
#include "compiler/cuda/cuda.h"
#include "compiler/cuda/gpu_code.h"
#include "compiler/program/text.h"
#include "core/shape/shape_env.h"

namespace assay {
namespace {

class PtxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto made = make_ptx({}, {}); !made) GTEST_SKIP() << made.error().message;
  }
  /// Kernel, variant and code for axes of these extents, or of a choice.
  static auto made(const std::string& text, std::vector<std::int64_t> extents,
                   std::optional<TileChoice> choice = {}, const PtxOptions& options = {})
      -> GpuVariant {
    static ShapeEnv env;
    const auto kernel = parse_kernel(text, env.pool());
    EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message) << "\n" << text;
    const GpuKernel gpu(*kernel);
    TileLaunch launch;
    launch.extents = std::move(extents);
    auto variant =
        gpu.variant(choice ? GpuVariantKey{.choice = *choice, .blocks = {}} : gpu.key(launch));
    EXPECT_TRUE(variant) << (variant ? "" : variant.error().message);
    EXPECT_TRUE(make_ptx({&*variant}, options));
    EXPECT_TRUE(assembles(variant->ptx, options.architecture)) << variant->ptx;
    return *std::move(variant);
  }
  /// By ptxas, where CUDA's tools are installed.
  static auto assembles(const std::string& ptx, int architecture = 80) -> bool {
    if (ptx.empty() || std::system("command -v ptxas >/dev/null 2>&1") != 0) return true;
    const auto path =
        std::filesystem::temp_directory_path() / fmt::format("assay_ptx_{}.ptx", ::getpid());
    std::ofstream(path) << ptx;
    const auto status = std::system(
        fmt::format("ptxas -arch=sm_{} -o /dev/null {}", architecture, path.string()).c_str());
    std::filesystem::remove(path);
    return status == 0;
  }
};

constexpr std::string_view kScale =
    "kernel k \"pointwise\"\nparam in buffer float32\nparam out buffer float32\n"
    "param n scalar int64\naxis x parallel exact max 1024 block (1) extent (n)\nbody {\n"
    "  %0:int64[x] = index(x) line 0\n  %1:float32[x] = load(in) %0 _ _ line 0\n"
    "  %2:float32[x] = mul %1 %1 line 0\n  store(out) %0 %2 _ line 0\n}\n";
constexpr std::string_view kRows =
    "kernel k \"reduction\"\nparam in buffer float32\nparam out buffer float32\n"
    "param n scalar int64\nparam m scalar int64\n"
    "axis x parallel exact max 1024 block (1) extent (n)\n"
    "axis r reduction exact max 1024 block (1) extent (m)\nbody {\n"
    "  %0:int64[x] = index(x) line 0\n  %1:int64[r] = index(r) line 0\n"
    "  %2:int64[] = param(m) line 0\n  %3:int64[x] = mul %0 %2 line 0\n"
    "  %4:int64[x r] = add %3 %1 line 0\n  %5:float32[x r] = load(in) %4 _ _ line 0\n"
    "  %6:float32[x] = reduce(sum r) %5 line 0\n  store(out) %0 %6 _ line 0\n}\n";

constexpr std::string_view kTransposed =
    "kernel k \"pointwise\"\nparam in buffer float32\nparam out buffer float32\n"
    "param n scalar int64\nparam m scalar int64\n"
    "axis i parallel exact max 1024 block (1) extent (n)\n"
    "axis j parallel exact max 1024 block (1) extent (m)\nbody {\n"
    "  %0:int64[i] = index(i) line 0\n  %1:int64[j] = index(j) line 0\n"
    "  %2:int64[] = param(m) line 0\n  %3:int64[i] = mul %0 %2 line 0\n"
    "  %4:int64[i j] = add %3 %1 line 0\n  %5:int64[] = param(n) line 0\n"
    "  %6:int64[j] = mul %1 %5 line 0\n  %7:int64[i j] = add %6 %0 line 0\n"
    "  %8:float32[i j] = load(in) %4 _ _ line 0\n  store(out) %7 %8 _ line 0\n}\n";

/// With these lines in place of the store.
auto ending(std::string text, std::string_view lines) -> std::string {
  const auto store = text.find("  store(out)");
  return text.replace(store, text.find('\n', store) - store, lines);
}
/// Rows that are read again: each element less its row's largest.
auto centred() -> std::string {
  auto text = std::string(kRows);
  text.replace(text.find("sum r"), 5, "max r");
  return ending(text, "  %7:float32[x r] = sub %5 %6 line 0\n  store(out) %4 %7 _ line 0");
}

constexpr std::string_view kColumns =
    "kernel k \"reduction\"\nparam in buffer float32\nparam out buffer float32\n"
    "param n scalar int64\nparam m scalar int64\n"
    "axis r reduction exact max 1024 block (1) extent (n)\n"
    "axis x parallel exact max 1024 block (1) extent (m)\nbody {\n"
    "  %0:int64[x] = index(x) line 0\n  %1:int64[r] = index(r) line 0\n"
    "  %2:int64[] = param(m) line 0\n  %3:int64[r] = mul %1 %2 line 0\n"
    "  %4:int64[x r] = add %3 %0 line 0\n  %5:float32[x r] = load(in) %4 _ _ line 0\n"
    "  %6:float32[x] = reduce(sum r) %5 line 0\n  store(out) %0 %6 _ line 0\n}\n";

TEST_F(PtxTest, ContiguousAccessesAreWide) {
  const auto variant = made(std::string(kScale), {1 << 20});
  EXPECT_EQ(variant.not_compiled, "");
  EXPECT_NE(variant.ptx.find("ld.global.v4.b32"), std::string::npos);
  EXPECT_NE(variant.ptx.find("st.global.v4.b32"), std::string::npos);
  EXPECT_NE(variant.ptx.find(fmt::format(".maxntid {}", variant.layout.threads())),
            std::string::npos);
}

/// From compute capability 9.0 on; not where the result is wanted, nor in checked code.
TEST_F(PtxTest, SumsOfNeighboursGoFourAtATime) {
  const std::string head =
      "kernel k \"pointwise\"\nparam in buffer float32\nparam out buffer float32\n"
      "param n scalar int64\naxis x parallel exact max 1024 block (1) extent (n)\nbody {\n"
      "  %0:int64[x] = index(x) line 0\n  %1:float32[x] = load(in) %0 _ _ line 0\n"
      "  %2:float32[x] = atomic(out add) %0 %1 _ line 0\n";
  constexpr std::string_view kWide = "red.relaxed.gpu.global.add.v4.f32";
  auto sums = made(head + "}\n", {1 << 20});
  EXPECT_EQ(sums.ptx.find(kWide), std::string::npos);  // of 8.0
  ASSERT_TRUE(make_ptx({&sums}, {.architecture = 90}));
  EXPECT_NE(sums.ptx.find(kWide), std::string::npos);
  EXPECT_TRUE(assembles(sums.ptx, 90)) << sums.ptx;
  ASSERT_TRUE(make_ptx({&sums}, {.architecture = 90, .is_checked = true}));
  EXPECT_EQ(sums.ptx.find(kWide), std::string::npos);
  auto wanted = made(head + "  store(in) %0 %2 _ line 0\n}\n", {1 << 20});
  ASSERT_TRUE(make_ptx({&wanted}, {.architecture = 90}));
  EXPECT_EQ(wanted.ptx.find(kWide), std::string::npos);
}

/// Of rows with fixed blocks.
auto row_tile(std::int64_t rows, std::int64_t columns, std::int64_t run) -> TileChoice {
  TileChoice choice;
  choice.is_narrow = true;
  choice.block_y = rows;
  choice.block_r = columns;
  choice.run = run;
  return choice;
}

TEST_F(PtxTest, ShortRowsAreFoldedInAWarp) {
  const auto variant = made(std::string(kRows), {}, row_tile(16, 128, 4));
  EXPECT_EQ(variant.not_compiled, "");
  EXPECT_NE(variant.ptx.find("shfl.sync"), std::string::npos);
  EXPECT_EQ(variant.ptx.find("bar.sync"), std::string::npos);
}

auto count(const std::string& text, std::string_view part) -> int {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Four neighbours over 32 threads: 2 + 1 + 1 + 1 + 1 shuffles to fold threads, 2 for neighbours.
TEST_F(PtxTest, ThreadsShareTheRegistersThatTheyFold) {
  const auto variant = made(std::string(kRows), {}, row_tile(16, 128, 4));
  const auto rows = variant.layout.registers() >> variant.layout.contiguous_bits;
  EXPECT_EQ(count(variant.ptx, "shfl.sync"), 8 * rows);
  // Of a maximum no order matters: registers first.
  auto largest = std::string(kRows);
  largest.replace(largest.find("sum r"), 5, "max r");
  EXPECT_EQ(count(made(largest, {}, row_tile(16, 128, 4)).ptx, "shfl.sync"), 5 * rows);
}

/// Of a placed row registers are folded first, then a warp, its warps and a cluster's blocks.
TEST_F(PtxTest, RowsOfAnyLengthHaveOneCode) {
  auto variant = made(std::string(kRows), {1 << 16, 128});
  constexpr int kWarpSteps = 5;
  EXPECT_EQ(count(variant.ptx, "shfl.sync"), 2 * kWarpSteps);  // no clusters in 8.0
  EXPECT_EQ(count(variant.ptx, "barrier.cluster"), 0);
  ASSERT_TRUE(make_ptx({&variant}, {.architecture = 90}));
  EXPECT_EQ(count(variant.ptx, "shfl.sync"), 3 * kWarpSteps);
  EXPECT_EQ(count(variant.ptx, "barrier.cluster.arrive"), 1);  // all have begun
  EXPECT_EQ(count(variant.ptx, "st.async"), 1);
  EXPECT_EQ(count(variant.ptx, "mbarrier.try_wait"), 1);
  EXPECT_TRUE(assembles(variant.ptx, 90)) << variant.ptx;
  ASSERT_TRUE(make_ptx({&variant}, {.architecture = 90, .is_checked = true}));
  EXPECT_EQ(variant.not_compiled, "");
  EXPECT_TRUE(assembles(variant.ptx, 90)) << variant.ptx;
}

/// Shares of exponentials, from elements of one dtype to another.
auto shares(std::string_view from, std::string_view to) -> std::string {
  return fmt::format(
      "kernel k \"reduction\"\nparam in buffer {0}\nparam out buffer {1}\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis x parallel exact max 1024 block (1) extent (n)\n"
      "axis r reduction exact max 1024 block (1) extent (m)\nbody {{\n"
      "  %0:int64[x] = index(x) line 0\n  %1:int64[r] = index(r) line 0\n"
      "  %2:int64[] = param(m) line 0\n  %3:int64[x] = mul %0 %2 line 0\n"
      "  %4:int64[x r] = add %3 %1 line 0\n  %5:{0}[x r] = load(in) %4 _ _ line 0\n"
      "  %6:float32[x r] = cast %5 line 0\n  %7:float32[x] = reduce(max r) %6 line 0\n"
      "  %8:float32[x r] = sub %6 %7 line 0\n  %9:float32[x r] = exp %8 line 0\n"
      "  %10:float32[x] = reduce(sum r) %9 line 0\n  %11:float32[x r] = div %9 %10 line 0\n"
      "  %12:{1}[x r] = cast %11 line 0\n  store(out) %4 %12 _ line 0\n}}\n",
      from, to);
}

/// A word holds two elements from memory on; exponentials are the GPU's own where nothing wider is
/// stored, whose error would be seen.
TEST_F(PtxTest, TwoByteElementsGoInPairs) {
  const auto halves = made(shares("bfloat16", "bfloat16"), {1 << 16, 4096});
  const auto lanes = halves.layout.registers();
  EXPECT_EQ(lanes, 32);
  EXPECT_EQ(count(halves.ptx, "max.NaN.bf16x2"), lanes / 2 - 1);
  EXPECT_EQ(count(halves.ptx, "ex2.approx.ftz.f32"), lanes);
  const auto stored_wide = made(shares("bfloat16", "float32"), {1 << 16, 8192});
  EXPECT_EQ(count(stored_wide.ptx, "max.NaN.bf16x2"), lanes / 2 - 1);
  EXPECT_EQ(count(stored_wide.ptx, "ex2.approx"), 0);
  // So are their quotients, of which none is a call, and nothing else needs registers.
  for (const auto* rounded : {"div.rn", "rcp.rn"}) {
    EXPECT_EQ(count(halves.ptx, rounded), 0);
    EXPECT_GT(count(stored_wide.ptx, rounded), 0);
  }
  EXPECT_EQ(count(halves.ptx, "div.full.f32"), 2 * lanes);  // straight on, or asked for
  EXPECT_EQ(count(halves.ptx, ".maxnreg 48"), 1);
  EXPECT_EQ(count(stored_wide.ptx, ".maxnreg 64"), 1);
  EXPECT_EQ(count(made(shares("float16", "float16"), {1 << 16, 4096}).ptx, "max.NaN.f16x2"),
            lanes / 2 - 1);
  EXPECT_EQ(count(made(shares("float32", "float32"), {1 << 16, 4096}).ptx, "max.NaN.bf16x2"), 0);
}

/// What a warp decides together is decided where all of its threads are, which an assembler that
/// moves a vote to where some are does not keep.
TEST_F(PtxTest, ThreadsAskForTheirOwnLanes) {
  EXPECT_EQ(count(made(shares("float32", "float32"), {19, 27}).ptx, "vote"), 0);
  EXPECT_EQ(count(made(shares("bfloat16", "float32"), {1 << 16, 1000}).ptx, "vote"), 0);
}

/// Threads that keep few elements of a row take few registers, so that as many as there may be are
/// at work.
TEST_F(PtxTest, ThreadsOfShortRowsTakeFewRegisters) {
  const auto few = made(shares("float32", "float32"), {1 << 16, 4096});
  EXPECT_EQ(few.layout.registers(), 8);
  EXPECT_EQ(count(few.ptx, ".maxnreg 32"), 1);
  const auto many = made(shares("float32", "float32"), {1 << 16, 4100});
  EXPECT_EQ(many.layout.registers(), 32);
  EXPECT_EQ(count(many.ptx, ".maxnreg 64"), 1);
}

/// What columns read is read once: it leaves the cache of the multiprocessor to others.
TEST_F(PtxTest, ElementsOfColumnsAreNotCached) {
  const auto uncached = [](std::string_view kernel, int architecture) {
    const PtxOptions options{.architecture = architecture};
    return count(made(std::string(kernel), {1 << 16, 1024}, {}, options).ptx, "L1::no_allocate.v4");
  };
  EXPECT_GT(uncached(kColumns, 90), 0);
  EXPECT_EQ(uncached(kColumns, 80) + uncached(kRows, 90), 0);
}

/// Code for GPUs that have it waits for what is before it; nothing stands before that.
TEST_F(PtxTest, LaunchesThatBeginEarlyWait) {
  const auto text = [](const PtxOptions& options) {
    return made(shares("float32", "float32"), {64, 64}, {}, options).ptx;
  };
  const auto waiting = text({.architecture = 90});
  const auto at = waiting.find("griddepcontrol.wait;");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(waiting.substr(0, at).find("ld.global"), std::string::npos);
  EXPECT_EQ(count(text({.architecture = 80}), "griddepcontrol"), 0);
  EXPECT_EQ(count(text({.architecture = 90, .is_checked = true}), "griddepcontrol"), 0);
}

/// Squares are added as they are made, and what was loaded to products, where only halves are
/// stored.
TEST_F(PtxTest, ProductsAndSumsOfHalvesAreRoundedOnce) {
  const auto spread = [](std::string_view stored) {
    return ending(centred(), fmt::format("  %8:float32[x r] = mul %7 %7 line 0\n"
                                         "  %9:float32[x] = reduce(sum r) %8 line 0\n"
                                         "  %10:float32[x r] = mul %7 %9 line 0\n"
                                         "  %11:float32[r] = load(in) %1 _ _ line 0\n"
                                         "  %12:float32[x r] = add %10 %11 line 0\n"
                                         "  %13:{}[x r] = cast %12 line 0\n"
                                         "  store(out) %4 %13 _ line 0",
                                         stored));
  };
  auto halves = spread("bfloat16");
  const std::string buffer = "param out buffer float32";
  halves.replace(halves.find(buffer), buffer.size(), "param out buffer bfloat16");
  const auto made_halves = made(halves, {1 << 14, 8192});
  const auto lanes = made_halves.layout.registers();
  EXPECT_GE(count(made_halves.ptx, "fma.rn.f32"), lanes / 2 + lanes);
  EXPECT_EQ(count(made(spread("float32"), {1 << 14, 8192}).ptx, "fma.rn.f32"), 0);
}

/// Of rows that fill all lanes only the row is asked for; where it is one and all is aligned,
/// accesses behind the last reduction stand in a row without a question.
TEST_F(PtxTest, WholeRowsAskNothing) {
  const auto whole = made(shares("float32", "float32"), {1 << 16, 8192});
  const auto part = made(shares("float32", "float32"), {1 << 16, 8188});
  const auto runs = whole.layout.registers() >> whole.layout.contiguous_bits;
  EXPECT_LE(count(whole.ptx, "setp.lt.s32"), 3);
  EXPECT_GE(count(part.ptx, "setp.lt.s32"), runs);
  EXPECT_EQ(count(whole.ptx, "\tst.global.v4.f32"), runs);
  EXPECT_EQ(count(part.ptx, "\tst.global.v4.f32"), 0);
}

/// What is read behind the last reduction is on its way before what is written ahead of it.
TEST_F(PtxTest, PortionsOfRowsAreReadAhead) {
  const auto text = ending(centred(),
                           "  %8:float32[r] = load(in) %1 _ _ line 0\n"
                           "  %9:float32[x r] = add %7 %8 line 0\n  store(out) %4 %9 _ line 0");
  const auto variant = made(text, {1 << 16, 8192});
  constexpr int kRunsOfPortion = 2;
  const auto first_store = variant.ptx.find("\tst.global.v4.f32");
  ASSERT_NE(first_store, std::string::npos);
  const auto block = variant.ptx.rfind("$L__", first_store);
  EXPECT_EQ(count(variant.ptx.substr(block, first_store - block), "\tld.global.v4"),
            2 * kRunsOfPortion);
}

/// Rows of whole runs ask once per run whether they are in range.
TEST_F(PtxTest, NeighboursAreInRangeTogether) {
  const auto whole = made(std::string(kRows), {1 << 16, 120});
  const auto runs = whole.layout.registers() >> whole.layout.contiguous_bits;
  EXPECT_EQ(whole.layout.contiguous_bits, 2);
  EXPECT_GE(count(whole.ptx, "setp.lt.s32"), runs);
  EXPECT_LE(count(whole.ptx, "setp.lt.s32"), runs + 2);  // and the row
  EXPECT_EQ(made(std::string(kRows), {1 << 16, 121}).layout.contiguous_bits, 0);
  EXPECT_EQ(made(std::string(kScale), {121}).layout.contiguous_bits, 2);
}

/// Of rows that begin anywhere lanes are apart by constants, and those of whole groups are not
/// asked.
TEST_F(PtxTest, SingleLanesAreAskedTogether) {
  const auto variant = made(centred(), {1 << 16, 2047});
  EXPECT_EQ(variant.layout.contiguous_bits, 0);
  const auto lanes = variant.layout.registers();
  constexpr int kWarpBytes = 32 * 4;
  for (int lane = 1; lane < lanes; ++lane)
    EXPECT_NE(variant.ptx.find(fmt::format("+{}]", lane * kWarpBytes)), std::string::npos) << lane;
  EXPECT_EQ(count(variant.ptx, "ld.global.f32"), lanes);   // of groups that are meant
  EXPECT_EQ(count(variant.ptx, " ld.global.b32"), lanes);  // of others
  // Rows of less than a warp have as many threads as the launch says.
  EXPECT_EQ(made(centred(), {1 << 16, 127}).ptx.find(fmt::format("+{}]", kWarpBytes)),
            std::string::npos);
}

/// Squares of differences are not 0 where no lane is meant: they are chosen eight at a time, behind
/// a question whether any need be.
TEST_F(PtxTest, SingleLanesAreChosenTogether) {
  const auto text =
      ending(centred(),
             "  %8:float32[x r] = mul %7 %7 line 0\n"
             "  %9:float32[x] = reduce(sum r) %8 line 0\n  store(out) %0 %9 _ line 0");
  const auto variant = made(text, {1 << 16, 2047});
  constexpr int kTogether = 8, kOfOthers = 4;  // by warps
  EXPECT_GE(count(variant.ptx, "selp.f32"), variant.layout.registers());
  constexpr std::string_view kBlock = "$L__BB";
  for (std::size_t begin = 0; begin != std::string::npos;) {
    const auto end = variant.ptx.find(kBlock, begin + kBlock.size());
    EXPECT_LE(count(variant.ptx.substr(begin, end - begin), "selp.f32"), kTogether + kOfOthers);
    begin = end;
  }
}

/// What is chosen where a load is not meant is what it gives there, unless the load is used as it
/// is too.
TEST_F(PtxTest, LoadsGiveWhatIsChosenForThem) {
  const auto text = [](const char* stored) {
    auto kernel = std::string(kScale);
    kernel.resize(kernel.find("  %1:float32"));
    return kernel +
           "  %1:int64[] = const(5) line 0\n  %2:bool[x] = le %1 %0 line 0\n"
           "  %3:float32[x] = load(in) %0 %2 _ line 0\n  %4:float32[] = real(2.5) line 0\n"
           "  %5:float32[x] = select %2 %3 %4 line 0\n  %6:float32[x] = add %5 " +
           stored + " line 0\n  store(out) %0 %6 _ line 0\n}\n";
  };
  const auto has_select = [&](const char* stored) {
    const auto variant = made(text(stored), {1 << 20});
    return print_kernel(variant.kernel()).find(" select ") != std::string::npos;
  };
  EXPECT_FALSE(has_select("%4"));
  EXPECT_TRUE(has_select("%3"));
}

/// Rows of n bfloat16 elements, three places on; those are loaded of which `meant` says so: %6 is
/// true from 3 on, %8 below n - 3.
auto bounded(const char* meant) -> std::string {
  return fmt::format(
      "kernel k \"pointwise\"\nparam in buffer bfloat16\nparam out buffer bfloat16\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis y parallel exact max 1024 block (1) extent (m)\n"
      "axis x parallel exact max 1024 block (1) extent (n)\nbody {{\n"
      "  %0:int64[x] = index(x) line 0\n  %1:int64[y] = index(y) line 0\n"
      "  %2:int64[] = param(n) line 0\n  %3:int64[y] = mul %1 %2 line 0\n"
      "  %4:int64[y x] = add %3 %0 line 0\n  %5:int64[] = const(3) line 0\n"
      "  %6:bool[x] = le %5 %0 line 0\n  %7:int64[] = sub %2 %5 line 0\n"
      "  %8:bool[x] = lt %0 %7 line 0\n  %9:bool[x] = {} line 0\n"
      "  %10:int64[y x] = sub %4 %5 line 0\n"
      "  %11:bfloat16[y x] = load(in) %10 %9 _ line 0\n"
      "  store(out) %4 %11 _ line 0\n}}\n",
      meant);
}

/// Of conditions on neighbours the first and the last one that is meant are known, by numbers of 32
/// bits where positions are; so none is asked for by itself, nor loaded.
TEST_F(PtxTest, BoundsOfNeighboursAreOneSpan) {
  for (const auto* rest : {"and %6 %8", "not %8"}) {
    const auto variant = made(bounded(rest), {1 << 10, 2047});
    EXPECT_EQ(variant.layout.contiguous_bits, 3);
    EXPECT_EQ(count(variant.ptx, "ld.global.b16"), 0) << rest;
    EXPECT_EQ(count(variant.ptx, "ld.global.v4.b32"), 3) << rest;  // in place, or around it
    const auto in_loop = variant.ptx.substr(variant.ptx.find("ld.global"));
    EXPECT_EQ(count(in_loop, ".s64 \t%p"), 1) << rest;        // whether it is aligned
    EXPECT_EQ(count(variant.ptx, "setp.lt.s64"), 0) << rest;  // nor whether rows go on
    EXPECT_EQ(count(variant.ptx, "div."), 0) << rest;         // nor where they are
  }
}

/// A half that is stored by itself is rounded to the bits it is stored from.
TEST_F(PtxTest, SingleHalvesAreStoredAsTheyAreRounded) {
  const auto variant = made(shares("bfloat16", "bfloat16"), {1 << 10, 2047});
  EXPECT_GT(count(variant.ptx, "st.global.b16"), 0);
  EXPECT_EQ(count(variant.ptx, "mov.b32 {tmp, %rs"), 0);
}

/// Elements have few registers, so that many threads are at work; what checks them needs more.
TEST_F(PtxTest, CheckedCodeHasAllRegisters) {
  auto variant = made(std::string(kScale), {1 << 20});
  EXPECT_EQ(count(variant.ptx, ".maxnreg 32"), 1);
  ASSERT_TRUE(make_ptx({&variant}, {.is_checked = true}));
  EXPECT_EQ(count(variant.ptx, ".maxnreg"), 0);
}

/// Sixteen bytes are neighbours, more than are made at a time behind a row's last reduction.
TEST_F(PtxTest, RowsOfBytesHaveCode) {
  auto text = centred();
  for (auto at = text.find("float32"); at != std::string::npos; at = text.find("float32"))
    text.replace(at, std::string_view("float32").size(), "int8");
  const auto variant = made(text, {1 << 16, 1024});
  EXPECT_EQ(variant.layout.contiguous_bits, 4);
  EXPECT_EQ(variant.not_compiled, "");
  EXPECT_GT(count(variant.ptx, "st.global.v4.b32"), 0);
}

/// One reciprocal a row, and a division per lane only where numbers are too large or too small.
TEST_F(PtxTest, ARowIsDividedByOneReciprocal) {
  const auto text = ending(std::string(kRows),
                           "  %7:float32[x r] = div %5 %6 line 0\n  store(out) %4 %7 _ line 0");
  const auto variant = made(text, {1 << 16, 128});
  EXPECT_EQ(variant.not_compiled, "");
  EXPECT_EQ(count(variant.ptx, "rcp.rn.f32"), 1);
}

TEST_F(PtxTest, LongRowsAreFoldedThroughSharedMemory) {
  const auto variant = made(std::string(kRows), {4, 100000});
  EXPECT_EQ(variant.not_compiled, "");
  EXPECT_NE(variant.ptx.find("bar.sync"), std::string::npos);
  EXPECT_NE(variant.ptx.find("ld.shared"), std::string::npos);
}

TEST_F(PtxTest, CheckedCodeComparesEveryIndex) {
  auto variant = made(std::string(kScale), {1 << 20});
  ASSERT_TRUE(make_ptx({&variant}, {.is_checked = true}));
  EXPECT_EQ(variant.not_compiled, "");
  EXPECT_TRUE(assembles(variant.ptx)) << variant.ptx;
  EXPECT_NE(variant.ptx.find("atom."), std::string::npos);
  // Who wrote an element before: only stores ask so, and only checked code.
  EXPECT_NE(variant.ptx.find("exch.b64"), std::string::npos);
  EXPECT_EQ(made(std::string(kScale), {1 << 20}).ptx.find("exch.b64"), std::string::npos);
  std::vector<std::uint64_t> values;
  add_memory(variant.kernel(), {{.offset = 64, .size = 4096}, {.size = 400, .shadow = 4096}}, 1,
             values);
  constexpr auto kLaunch = std::uint64_t{1} << 48U;
  EXPECT_EQ(values, (std::vector<std::uint64_t>{static_cast<std::uint64_t>(-16), 1008, 0, kLaunch,
                                                0, 100, 4096, kLaunch}));
}

TEST(GpuRecords, SayWhatHappened) {
  TileKernel kernel;
  kernel.name = "k";
  kernel.params.emplace_back().name = "in_ptr0";
  EXPECT_FALSE(finding_of({}, kernel));
  const auto outside =
      finding_of({.line = 8, .param = 0, .element = -3, .fault = GpuFault::out_of_bounds}, kernel);
  ASSERT_TRUE(outside);
  EXPECT_EQ(outside->fault, RunFault::out_of_bounds);
  EXPECT_EQ(outside->kernel_line, 7);
  EXPECT_EQ(outside->param, "in_ptr0");
  EXPECT_EQ(finding_of({.line = 1}, kernel)->fault, RunFault::device_assert);
  const auto collision =
      finding_of({.line = 8, .param = 0, .element = 5, .fault = GpuFault::write_conflict}, kernel);
  EXPECT_EQ(collision->fault, RunFault::write_conflict);
  EXPECT_EQ(collision->message,
            "element 5 of in_ptr0 is written by two programs of the grid, or by two lanes of one");
}

TEST_F(PtxTest, TransposedStoresAreWideToo) {
  const auto variant = made(std::string(kTransposed), {1000, 1000});
  EXPECT_EQ(variant.not_compiled, "");
  EXPECT_NE(variant.ptx.find("ld.global.v4.b32"), std::string::npos);
  EXPECT_NE(variant.ptx.find("st.shared"), std::string::npos);
  EXPECT_NE(variant.ptx.find("st.global.v4.b32"), std::string::npos);
}

/// As CpuTest.EveryOperationIsTheTables, without running it.
TEST_F(PtxTest, EveryOperationOfLanesHasCode) {
  int tried = 0;
  for (const auto& row : tile_ops()) {
    if (row.op == TileOp::cast || row.op == TileOp::bitcast) continue;
    for (const auto dtype : {DType::boolean, DType::int32, DType::int64, DType::float16,
                             DType::bfloat16, DType::float32, DType::float64}) {
      const bool is_select = row.result == TileResult::select;
      const auto to = row.result == TileResult::boolean ? DType::boolean : dtype;
      if (tile_evaluate(row.op, lane_dtype(dtype), lane_dtype(to)) == nullptr) continue;
      std::string text = "kernel k \"pointwise\"\n", loads, operands;
      for (int i = 0; i < row.operands; ++i) {
        const auto of = is_select && i == 0 ? DType::boolean : dtype;
        text += fmt::format("param p{} buffer {}\n", i, name(of));
        loads += fmt::format("  %{}:{}[x] = load(p{}) %0 _ _ line 0\n", i + 1, name(of), i);
        operands += fmt::format(" %{}", i + 1);
      }
      text += fmt::format(
          "param out buffer {}\nparam n scalar int64\n"
          "axis x parallel exact max 1024 block (1) extent (n)\nbody {{\n"
          "  %0:int64[x] = index(x) line 0\n{}  %{}:{}[x] = {}{} line 0\n"
          "  store(out) %0 %{} _ line 0\n}}\n",
          name(to), loads, row.operands + 1, name(to), row.name, operands, row.operands + 1);
      const auto without = row.has_code ? "" : fmt::format("{} has no code yet", row.name);
      EXPECT_EQ(made(text, {1000}).not_compiled, without) << row.name << " of " << name(dtype);
      ++tried;
    }
  }
  EXPECT_GT(tried, 200);
}

TEST(Splitting, FewLongRowsAreReducedInParts) {
  ShapeEnv env;
  const auto kernel = parse_kernel(kRows, env.pool());
  ASSERT_TRUE(kernel);
  const GpuKernel gpu(*kernel);
  TileLaunch launch;
  launch.extents = {2, 1 << 20};
  const auto split = gpu.split(launch);
  ASSERT_TRUE(split);
  for (const auto* part : split->kernels) EXPECT_TRUE(verify(part->kernel()).empty());
  const auto parts = split->extents[0].back();
  EXPECT_GT(parts, 16);
  EXPECT_GE(parts * split->extents[0][1], 1 << 20);  // nothing is left out
  // Only where all runs are whole may the first of one stand for its neighbours.
  launch.extents = {2, (1 << 20) + 8};
  EXPECT_EQ(gpu.split(launch)->kernels[0], split->kernels[0]);
  launch.extents = {2, (1 << 20) + 1};
  EXPECT_NE(gpu.split(launch)->kernels[0], split->kernels[0]);
  launch.extents = {100000, 1000};
  EXPECT_FALSE(gpu.split(launch));
}

/// Code of all launches of a kernel, by facts of them.
TEST(GpuVariants, OfAKernelThereAreSevenAtMost) {
  ShapeEnv env;
  const auto again = centred();
  for (const auto& text : {kRows, std::string_view(again), kTransposed, kColumns, kScale}) {
    const auto kernel = parse_kernel(text, env.pool());
    ASSERT_TRUE(kernel) << kernel.error().message;
    for (const std::int64_t ranks : {1, 8}) {
      const GpuKernel gpu(*kernel, ranks);
      std::set<GpuVariantKey> codes;
      std::set<TileThreads> threads;
      for (const std::int64_t rows : {1, 2, 7, 64, 1001, 1 << 20})
        for (std::int64_t step = 2; step < (std::int64_t{1} << 34); step += 1 + step / 6) {
          const auto columns = step % 2 == 0 ? step / 2 : step / 2 * 4;  // every other one whole
          TileLaunch launch;
          launch.extents = {rows, columns};
          if (text == kScale) launch.extents = {rows * columns};
          const auto key = gpu.key(launch);
          codes.insert(key.code());
          threads.insert(key.choice.threads);
          const auto& [x, y, z, blocks] = key.choice.threads;
          EXPECT_LE(x * y * z, 512);
          EXPECT_LE(z, 64);
          EXPECT_LE(blocks, ranks);
        }
      EXPECT_LE(codes.size(), 7U) << text;
      EXPECT_GE(codes.size(), 2U) << text;
      EXPECT_GE(threads.size(), 3U) << text;
    }
  }
}

TEST_F(PtxTest, UnknownArchitecturesAreRefused) {
  GpuVariant none;
  const auto refused = make_ptx({&none}, {.architecture = 35});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("3.5"), std::string::npos);
}

TEST(Cuda, AMachineWithoutGpuIsToldSo) {
  const auto driver = cuda::Driver::open();
  if (driver) GTEST_SKIP() << "this machine has a GPU: " << (*driver)->facts().name;
  EXPECT_EQ(driver.error().code, ErrorCode::missing_tool);
  EXPECT_TRUE(driver.error().message.starts_with("no GPU: ")) << driver.error().message;
}

}  // namespace
}  // namespace assay
