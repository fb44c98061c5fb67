// Which tiles kernels get: few, by facts of a launch.
#include "compiler/cuda/tiling.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/program/text.h"
#include "core/shape/shape_env.h"

namespace assay {
namespace {

constexpr std::size_t kMostChoices = 4;

/// `%0` is the index of i, `%1` that of j.
auto kernel_of(std::string_view i, std::string_view j, std::string_view body) -> std::string {
  return fmt::format(
      "kernel k \"pointwise\"\nparam in buffer float32\nparam out buffer float32\n"
      "param n scalar int64\nparam m scalar int64\n"
      "axis i {} block (1) extent ({})\naxis j {} block (1) extent ({})\nbody {{\n"
      "  %0:int64[i] = index(i) line 0\n  %1:int64[j] = index(j) line 0\n"
      "  %2:int64[] = param(m) line 0\n  %3:int64[i] = mul %0 %2 line 0\n"
      "  %4:int64[i j] = add %3 %1 line 0\n  %5:float32[i j] = load(in) %4 _ _ line 0\n{}}}\n",
      i.substr(0, i.find(' ')) == "reduction" ? "reduction exact max 1024"
                                              : "parallel exact max 1024",
      i.substr(i.find(' ') + 1),
      j.substr(0, j.find(' ')) == "reduction" ? "reduction exact max 1024"
                                              : "parallel exact max 1024",
      j.substr(j.find(' ') + 1), body);
}
constexpr std::string_view kRowOf =
    "  %6:float32[i j] = load(out) %1 _ _ line 0\n  %7:float32[i j] = "
    "add %5 %6 line 0\n  store(in) %4 %7 _ line 0\n";
constexpr std::string_view kTransposed =
    "  %6:int64[] = param(n) line 0\n  %7:int64[j] = mul %1 %6 line 0\n"
    "  %8:int64[i j] = add %7 %0 line 0\n  store(out) %8 %5 _ line 0\n";
constexpr std::string_view kSumOfRows =
    "  %6:float32[i] = reduce(sum j) %5 line 0\n  store(out) %0 %6 _ line 0\n";
constexpr std::string_view kSumOfColumns =
    "  %6:float32[j] = reduce(sum i) %5 line 0\n  store(out) %1 %6 _ line 0\n";

struct Case {
  const char* name;
  std::string text;
};
auto cases() -> std::vector<Case> {
  return {{"rows", kernel_of("parallel n", "parallel m", kRowOf)},
          {"rows of 768", kernel_of("parallel n", "parallel 768", kRowOf)},
          {"transposed", kernel_of("parallel n", "parallel m", kTransposed)},
          {"transposed of 64", kernel_of("parallel n", "parallel 64", kTransposed)},
          {"sums of rows", kernel_of("parallel n", "reduction m", kSumOfRows)},
          {"sums of rows of 768", kernel_of("parallel n", "reduction 768", kSumOfRows)},
          {"sums of columns", kernel_of("reduction n", "parallel m", kSumOfColumns)},
          {"sums of columns of 64", kernel_of("reduction n", "parallel 64", kSumOfColumns)}};
}

constexpr std::int64_t kExtents[] = {
    1,   2,   3,   8,   12,  15,  16,  17,  31,   32,   33,   48,    64,    96,     100,
    128, 200, 256, 257, 384, 512, 768, 777, 1024, 2048, 2049, 10000, 16385, 100000, 1LL << 32};

TEST(Tiling, AKernelHasFourChoicesAtMost) {
  ShapeEnv env;
  for (const auto& one : cases()) {
    const auto kernel = parse_kernel(one.text, env.pool());
    ASSERT_TRUE(kernel) << one.name << ": " << kernel.error().message << "\n" << one.text;
    const auto plan = plan_tiles(*kernel);
    ASSERT_TRUE(plan) << one.name << ": " << plan.error().message;
    std::set<TileChoice> choices;
    for (const auto i : kExtents)
      for (const auto j : kExtents) {
        std::vector<std::int64_t> extents = {i, j};
        if (const auto fixed = kernel->axes[1].extent->as_int()) extents[1] = *fixed;
        const auto choice = choose_tiles(*plan, extents);
        choices.insert(choice);
        // What a choice takes for granted holds.
        if (!plan->loops.reduced.empty() && !choice.loops) {
          EXPECT_LE(extents[1], choice.block_r) << one.name << " " << i << " " << j;
        }
        EXPECT_EQ((plan->x ? extents[*plan->x] : extents[1]) % choice.run, 0) << one.name;
        EXPECT_TRUE(!choice.is_narrow || std::max(i, extents[1]) < 1LL << 31) << one.name;
      }
    EXPECT_LE(choices.size(), kMostChoices) << one.name;
    EXPECT_GE(choices.size(), 2U) << one.name;
  }
}

}  // namespace
}  // namespace assay
