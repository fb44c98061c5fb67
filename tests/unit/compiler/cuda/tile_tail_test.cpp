// Columns in parts: the program that comes last makes the whole of them.
#include <gtest/gtest.h>

#include "compiler/cuda/gpu_code.h"
#include "compiler/program/text.h"
#include "core/shape/shape_env.h"

namespace assay {
namespace {

/// Sums over `reduced` of [n, m], in rows of m, to bfloat16.
auto sums(const char* kept, const char* reduced) -> std::string {
  return fmt::format(
      "kernel k \"reduction\"\nparam in buffer float32\nparam out buffer bfloat16\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis y {} exact max 1024 block (1) extent (n)\n"
      "axis x {} exact max 1024 block (1) extent (m)\nbody {{\n"
      "  %0:int64[x] = index(x) line 0\n  %1:int64[y] = index(y) line 0\n"
      "  %2:int64[] = param(m) line 0\n  %3:int64[y] = mul %1 %2 line 0\n"
      "  %4:int64[y x] = add %3 %0 line 0\n  %5:float32[y x] = load(in) %4 _ _ line 0\n"
      "  %6:float32[{}] = reduce(sum {}) %5 line 0\n  %7:bfloat16[{}] = cast %6 line 0\n"
      "  store(out) %{} %7 _ line 0\n}}\n",
      *kept == 'y' ? "parallel" : "reduction", *kept == 'x' ? "parallel" : "reduction", kept,
      reduced, kept, *kept == 'x' ? 0 : 1);
}

class TileTailTest : public ::testing::Test {
 protected:
  auto kernel(const std::string& text) -> const TileKernel& {
    auto made = parse_kernel(text, env_.pool());
    EXPECT_TRUE(made) << made.error().message;
    kernel_ = *std::move(made);
    return kernel_;
  }
  ShapeEnv env_;
  TileKernel kernel_;
};

TEST_F(TileTailTest, PartsOfColumnsAndTheirSumAreOneLaunch) {
  const GpuKernel gpu(kernel(sums("x", "y")));
  TileLaunch launch;
  launch.extents = {65536, 1024};
  auto split = gpu.split(launch);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->kernels.size(), 2);
  ASSERT_NE(split->together, nullptr);
  const auto parts = split->extents[0].back();
  split->join();
  ASSERT_EQ(split->kernels, (std::vector{split->together}));
  ASSERT_EQ(split->extents.size(), 1);
  launch.extents = split->extents[0];
  const auto& joined = *split->together;
  const auto key = joined.key(launch);
  auto variant = joined.variant(key);
  ASSERT_TRUE(variant) << variant.error().message;
  EXPECT_EQ(variant->kernel().name, "k");
  EXPECT_TRUE(verify(variant->kernel()).empty());
  // A counter for every tile of columns, and all its programs are counted.
  const auto shape = joined.shape(key, *variant, launch);
  ASSERT_TRUE(shape);
  EXPECT_EQ(split->counters, 1024 / (key.choice.neighbours * key.choice.threads.x));
  EXPECT_EQ(shape->grid[0], split->counters * parts);
  const auto text = print_kernel(variant->kernel());
  EXPECT_NE(text.find("arrive(arrived)"), std::string::npos);
  // Parts are fewer than rows: a thread has fewer of them at once.
  EXPECT_NE(text.find("axis r_round reduction max 8 "), std::string::npos);
  EXPECT_NE(text.find("axis r_round_tail reduction max 4 "), std::string::npos);
  const auto again = parse_kernel(text, env_.pool());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print_kernel(*again), text);
}

TEST_F(TileTailTest, PartsOfRowsAndOfAllAreTwo) {
  const GpuKernel rows(kernel(sums("y", "x")));
  TileLaunch launch;
  launch.extents = {2, 1 << 20};
  auto split = rows.split(launch);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->together, nullptr);
  split->join();
  EXPECT_EQ(split->kernels.size(), 2);
}

TEST_F(TileTailTest, StoresAreSeenBeforeTheProgramIsCounted) {
  const GpuKernel gpu(kernel(sums("x", "y")));
  TileLaunch launch;
  launch.extents = {65536, 1024};
  auto split = gpu.split(launch);
  ASSERT_TRUE(split && split->together != nullptr);
  launch.extents = split->extents[0];
  auto variant = split->together->variant(split->together->key(launch));
  ASSERT_TRUE(variant);
  if (const auto made = make_ptx({&*variant}, {.architecture = 90}); !made)
    GTEST_SKIP() << made.error().message;
  EXPECT_EQ(variant->not_compiled, "");
  const auto& ptx = variant->ptx;
  const auto counted = ptx.find("atom.acq_rel.gpu.global.inc.u32");
  ASSERT_NE(counted, std::string::npos);
  // All threads have stored before it, and wait for it before they read.
  const auto stored = ptx.rfind("st.global", counted), read = ptx.find("ld.global", counted);
  ASSERT_NE(stored, std::string::npos);
  ASSERT_NE(read, std::string::npos);
  EXPECT_LT(stored, ptx.rfind("bar.sync", counted));
  EXPECT_GT(read, ptx.find("bar.sync", counted));
  // Accesses are checked in two launches.
  ASSERT_TRUE(make_ptx({&*variant}, {.architecture = 90, .is_checked = true}));
  EXPECT_EQ(variant->not_compiled, "a tail has no checked code");
}

}  // namespace
}  // namespace assay
