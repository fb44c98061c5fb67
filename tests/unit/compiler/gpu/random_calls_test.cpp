// Random operators as kernels of our own, in the checking interpreter, beside the operator's
// kernel, which draws what PyTorch draws on CUDA.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "tests/unit/compiler/gpu/call_runs.h"

namespace assay {
namespace {

struct Row {
  std::string name, inputs, body;
  std::string outputs = "v";
  double tolerance = 0;  ///< of logarithms and angles, as a part of the number or of one
  std::size_t calls = 0;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.body;
}

class RandomCalls : public ::testing::TestWithParam<Row> {};

TEST_P(RandomCalls, DrawWhatTheOperatorDraws) {
  const auto& row = GetParam();
  auto made = testing::bound_graph({row.inputs, row.body, row.outputs}, testing::op_table());
  ASSERT_TRUE(made) << made.error().message;
  const auto both = testing::run_both(*made);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->calls, row.calls);
  EXPECT_GE(both->launches + both->calls, 1U);
  for (std::size_t k = 0; k < both->called.outputs.size(); ++k) {
    const auto& got = *both->launched.outputs[k].real();
    const auto& expected = *both->called.outputs[k].real();
    ASSERT_EQ(got.meta, expected.meta);
    const auto x = to_vector<double>(got), y = to_vector<double>(expected);
    std::size_t differing = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (std::fabs(x[i] - y[i]) > row.tolerance * std::max(1.0, std::fabs(y[i]))) ++differing;
    EXPECT_EQ(differing, 0U) << "of " << x.size() << ", result " << k;
    // A generator that always gives the same number would not be noticed otherwise.
    if (x.size() > 1000) {
      const auto [least, most] = std::ranges::minmax(x);
      EXPECT_LT(least, most);
    }
  }
}

constexpr auto kOnGpu = "device = device(type='cuda', index=0), pin_memory = False";
auto factory(std::string name, const std::string& call, double tolerance = 0) -> Row {
  return {std::move(name), "x: f32[1]cuda:0", fmt::format("v = aten.{}, {})", call, kOnGpu), "v",
          tolerance};
}
auto dropout(std::string name, const std::string& input) -> Row {
  return {std::move(name), "x: " + input,
          "m = aten.native_dropout.default(x, 0.3, True)\nv = m[0]\ni = m[1]", "v, i"};
}
auto in_place(std::string name, const std::string& input, const std::string& call,
              double tolerance = 0) -> Row {
  return {std::move(name), "x: " + input, "v = aten." + call, "v", tolerance};
}

constexpr double kFloats = 4e-6, kHalves = 1e-2;

INSTANTIATE_TEST_SUITE_P(
    Rows, RandomCalls,
    ::testing::Values(
        factory("rand", "rand.default([5, 7]"),
        // Beyond what a GPU holds at once: threads draw again.
        factory("rand_of_many", "rand.default([1100001]"),
        factory("rand_bf16", "rand.default([3000], dtype = torch.bfloat16"),
        factory("randn", "randn.default([40, 33]", kFloats),
        factory("randn_f16", "randn.default([4099], dtype = torch.float16", kHalves),
        factory("randint", "randint.low(-3, 17, [1000]"),
        factory("randint_wide", "randint.low(-5, 9000000000, [2001]"),
        factory("randint_of_all", "randint.low(-9223372036854775808, 9223372036854775807, [3]"),
        factory("randint_i32", "randint.default(10, [70], dtype = torch.int32"),
        Row{"bernoulli_p", "x: f32[8, 1, 1]cuda:0", "v = aten.bernoulli.p(x, 0.9)"},
        Row{"bernoulli_p_bf16", "x: bf16[3000]cuda:0", "v = aten.bernoulli.p(x, 0.2)"},
        Row{"bernoulli_of_each", "x: f32[5000]cuda:0",
            "p = aten.sigmoid.default(x)\nv = aten.bernoulli.default(p)"},
        Row{"rand_like_of_channels_last", "x: f32[2, 3, 5, 4][60, 1, 12, 3]cuda:0",
            "v = aten.rand_like.default(x)"},
        in_place("uniform_in_a_range", "f32[999]cuda:0", "uniform.default(x, -1.5, 2.5)"),
        in_place("normal_by_mean", "f32[1030]cuda:0", "normal_functional.default(x, 3.0, 0.5)",
                 kFloats),
        in_place("exponential", "f32[1030]cuda:0", "exponential.default(x, 0.7)", kFloats),
        dropout("dropout_by_one", "f32[999]cuda:0"), dropout("dropout_by_two", "f32[1002]cuda:0"),
        dropout("dropout_by_four", "f32[64, 100]cuda:0"),
        dropout("dropout_by_eight", "bf16[64, 100]cuda:0"),
        dropout("dropout_of_many", "bf16[600, 2048]cuda:0"),
        dropout("dropout_of_many_by_two", "bf16[600001, 2]cuda:0"),
        dropout("dropout_transposed", "f16[64, 100][1, 64]cuda:0"),
        // What stays a call
        Row{"rand_f64", "x: f32[1]cuda:0",
            fmt::format("v = aten.rand.default([50], dtype = torch.float64, {})", kOnGpu), "v", 0,
            1},
        Row{"rand_on_the_cpu", "x: f32[1]",
            "v = aten.rand.default([50], device = device(type='cpu'), pin_memory = False)", "v", 0,
            1},
        Row{"dropout_in_evaluation", "x: f32[50]cuda:0",
            "m = aten.native_dropout.default(x, 0.3, False)\nv = m[0]", "v", 0, 1}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace assay
