// Block products on GPUs: who holds what, and the code of every dtype and shape.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/cuda/dot_layout.h"
#include "compiler/cuda/gpu_code.h"
#include "compiler/program/text.h"
#include "core/shape/shape_env.h"

namespace assay {
namespace {

struct Product {
  std::string of = "float16", sum = "float32";
  int m = 64, n = 64, k = 32;
  bool may_round = false, is_turned = false;  ///< b is read along k
  std::string instruction = {};               ///< that the code must have
  bool exists = true;                         ///< else there is no code
};

/// out(m, n) = in float of a(m, k) b(k, n), one tile.
auto text_of(const Product& p) -> std::string {
  const auto place = [](int row, int line, int at, const char* axes, int stride, const char* over) {
    return fmt::format(
        "  %{0}:int32[] = const({1}) line 0\n  %{2}:int32[{3}] = mul %{4} %{0} line 0\n"
        "  %{5}:int32[{6}] = add %{2} %{7} line 0\n",
        row + 100, stride, row + 110, axes, line, row + 120, over, at);
  };
  return fmt::format(
             "kernel k \"template\"\nparam a buffer {0}\nparam b buffer {0}\nparam out buffer {1}\n"
             "axis m parallel max {2} block ({2})\naxis n parallel max {3} block ({3})\n"
             "axis k reduction max {4} block ({4})\nbody {{\n"
             "  %0:int32[m] = lane(m) line 0\n  %1:int32[n] = lane(n) line 0\n"
             "  %2:int32[k] = lane(k) line 0\n",
             p.of, p.sum, p.m, p.n, p.k) +
         place(0, 0, 2, "m", p.k, "m k") +
         (p.is_turned ? place(1, 1, 2, "n", p.k, "n k") : place(1, 2, 1, "k", p.n, "n k")) +
         place(2, 0, 1, "m", p.n, "m n") +
         fmt::format(
             "  %3:{0}[m k] = load(a) %120 _ _ line 1\n  %4:{0}[n k] = load(b) %121 _ _ line 2\n"
             "  %5:{1}[m n] = dot(k{2}) %3 %4 _ line 3\n  store(out) %122 %5 _ line 4\n}}\n",
             p.of, p.sum, p.may_round ? " rounded" : "");
}

auto kernel_of(const Product& p) -> TileKernel {
  static ShapeEnv env;
  auto kernel = parse_kernel(text_of(p), env.pool());
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message) << "\n" << text_of(p);
  return kernel ? *std::move(kernel) : TileKernel();
}

auto thread_part(const TileLayout& layout, std::size_t axis, int thread) -> std::int64_t {
  std::int64_t offset = 0;
  for (const auto& part : layout.thread_parts(axis))
    offset |= ((thread >> part.first) & ((1 << part.count) - 1)) << part.to;
  return offset;
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16": c0 and c1 are in row group = lane >> 2, c2 and c3
// in group + 8, columns (lane mod 4) * 2 + (i & 1).
TEST(DotLayout, ResultsAreFragments) {
  const auto kernel = kernel_of({.m = 64, .n = 32});
  const auto axes = dot_axes(kernel);
  ASSERT_TRUE(axes && *axes);
  const auto layout = dot_layout(kernel, **axes, {64, 32, 32});
  ASSERT_TRUE(layout) << layout.error().message;
  ASSERT_TRUE(has_fragments(*layout, **axes));
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(thread_part(*layout, 0, lane) + layout->register_offset(0, i),
                lane / 4 + (i < 2 ? 0 : 8));
      EXPECT_EQ(thread_part(*layout, 1, lane) + layout->register_offset(1, i),
                lane % 4 * 2 + (i & 1));
    }
}

TEST(DotLayout, EveryElementIsHeldEquallyOften) {
  for (const int m : {1, 2, 8, 16, 32, 64, 128, 256})
    for (const int n : {1, 4, 8, 16, 64, 128, 256})
      for (const int k : {1, 8, 16, 64, 128}) {
        if (m * n > 32768 || m * k > 32768 || n * k > 32768) continue;
        const auto kernel = kernel_of({.m = m, .n = n, .k = k});
        const auto axes = dot_axes(kernel);
        ASSERT_TRUE(axes && *axes);
        const auto layout = dot_layout(kernel, **axes, {m, n, k});
        ASSERT_TRUE(layout) << layout.error().message;
        std::map<std::pair<std::int64_t, std::int64_t>, int> held;
        for (int thread = 0; thread < layout->threads(); ++thread)
          for (int i = 0; i < layout->registers(); ++i)
            ++held[{thread_part(*layout, 0, thread) + layout->register_offset(0, i),
                    thread_part(*layout, 1, thread) + layout->register_offset(1, i)}];
        ASSERT_EQ(std::ssize(held), m * n) << m << " " << n << " " << k;
        for (const auto& [place, times] : held) {
          ASSERT_LT(place.first, m);
          ASSERT_LT(place.second, n);
          ASSERT_EQ(times, 1 << std::popcount(layout->copy_mask()));
        }
        const auto operand = operand_layout(*layout, 0, 2, m, k, 2, 2);
        ASSERT_TRUE(operand) << operand.error().message;
        EXPECT_EQ(operand->threads(), layout->threads());
      }
}

class DotTest : public ::testing::TestWithParam<Product> {
 protected:
  void SetUp() override {
    if (const auto made = make_ptx({}, {}); !made) GTEST_SKIP() << made.error().message;
  }
  static auto assembles(const std::string& ptx) -> bool {
    if (std::system("command -v ptxas >/dev/null 2>&1") != 0) return true;
    const auto path =
        std::filesystem::temp_directory_path() / fmt::format("assay_dot_{}.ptx", ::getpid());
    std::ofstream(path) << ptx;
    const auto status =
        std::system(fmt::format("ptxas -arch=sm_80 -o /dev/null {}", path.string()).c_str());
    std::filesystem::remove(path);
    return status == 0;
  }
};

TEST_P(DotTest, HasCode) {
  const auto& p = GetParam();
  const auto kernel = kernel_of(p);
  ASSERT_TRUE(verify(kernel).empty()) << verify(kernel)[0];
  const GpuKernel gpu(kernel);
  for (const bool is_checked : {false, true}) {
    auto variant = gpu.variant(gpu.key({}));
    ASSERT_EQ(variant.has_value() || !p.exists, true) << variant.error().message;
    if (!variant) return;
    ASSERT_TRUE(make_ptx({&*variant}, {.is_checked = is_checked}));
    ASSERT_EQ(variant->not_compiled.empty(), p.exists) << variant->not_compiled;
    if (!p.exists) continue;
    EXPECT_NE(variant->ptx.find(p.instruction), std::string::npos) << variant->ptx;
    EXPECT_EQ(variant->ptx.find("mma.sync") != std::string::npos,
              p.instruction.starts_with("mma.sync"));
    EXPECT_TRUE(assembles(variant->ptx));
  }
}

const std::string kHalf = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
const std::string kBrain = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
const std::string kRounded = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
INSTANTIATE_TEST_SUITE_P(
    , DotTest,
    ::testing::Values(
        Product{.instruction = kHalf}, Product{.of = "bfloat16", .instruction = kBrain},
        Product{.of = "float32", .instruction = "fma.rn.f32"},
        Product{.of = "float32", .may_round = true, .instruction = kRounded},
        Product{.of = "float64", .sum = "float64", .m = 32, .n = 32, .instruction = "fma.rn.f64"},
        Product{.of = "int8", .sum = "int32", .instruction = "mad.lo.s32"},
        Product{.m = 16, .n = 8, .k = 16, .instruction = kHalf},
        Product{.m = 16, .n = 16, .k = 128, .instruction = kHalf},
        Product{.m = 128, .n = 128, .k = 32, .instruction = kHalf},
        Product{.m = 128, .n = 64, .k = 64, .is_turned = true, .instruction = kHalf},
        Product{.of = "float32",
                .m = 128,
                .n = 32,
                .k = 16,
                .may_round = true,
                .is_turned = true,
                .instruction = kRounded},
        // Too small for a fragment.
        Product{.m = 8, .n = 64, .k = 16, .instruction = "fma.rn.f32"},
        Product{.m = 16, .n = 16, .k = 8, .instruction = "fma.rn.f32"},
        Product{.of = "float32", .m = 256, .n = 128, .k = 64, .instruction = "", .exists = false}),
    [](const auto& one) {
      const Product& p = one.param;
      return fmt::format("{}_{}_{}_{}{}{}", p.of, p.m, p.n, p.k, p.may_round ? "_rounded" : "",
                         p.is_turned ? "_turned" : "");
    });

}  // namespace
}  // namespace assay
