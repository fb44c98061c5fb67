// When two values differ by more than rounding.
#include "replay/runner/stage_rounding.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/graph/text.h"
#include "core/ops/op_table.h"

namespace assay {
namespace {

auto tensor(DType dtype, double value) -> Datum {
  auto made = Tensor::contiguous(dtype, {1}).value();
  from_vector(made, std::span<const double>(std::array{value}));
  return Datum{std::move(made)};
}

auto message_of(DType dtype, double expected, double actual) -> std::string {
  return compare_values(tensor(dtype, expected), tensor(dtype, actual), true, {}).message;
}

TEST(CompareValues, WhatHardwareFlushesIsZero) {
  EXPECT_EQ(message_of(DType::float32, 3e-45, 0), "");
  EXPECT_EQ(message_of(DType::float32, 4e-38, 0), "");
  EXPECT_EQ(message_of(DType::float64, 4e-308, 0), "");
}

TEST(CompareValues, WhatNothingFlushesIsNot) {
  EXPECT_NE(message_of(DType::float32, 1e-36, 0), "");
  EXPECT_NE(message_of(DType::float64, 4e-38, 0), "");
  EXPECT_NE(message_of(DType::float32, 1, 1.001), "");
  EXPECT_EQ(message_of(DType::float32, 1, 1.0000001), "");
}

/// Is 16 plus `distance` further from 16 than this noise explains?
auto is_told(double distance, double noise, double narrow_noise) -> bool {
  const Rounding rounding{
      .reference = {16}, .noise = {noise}, .narrow_noise = {narrow_noise}, .jumps = {0}};
  const auto far = compare_values(tensor(DType::float32, 16), tensor(DType::float32, 16 + distance),
                                  true, [&](RoundingRuns) { return &rounding; });
  return !far.message.empty();
}

TEST(CompareValues, NarrowFloatsRoundByChanceAndWideSumsInOneDirection) {
  EXPECT_FALSE(is_told(0.1, 0, 0.01));
  EXPECT_TRUE(is_told(0.3, 0, 0.01));
  EXPECT_FALSE(is_told(0.3, 0.01, 0));
  EXPECT_TRUE(is_told(1, 0.01, 0));
}

TEST(CompareValues, AValueIsJudgedByItsDistanceToTheExactOne) {
  const auto is_told = [](double expected, double actual) {
    const Rounding rounding{.reference = {16}, .noise = {0.001}, .narrow_noise = {0}, .jumps = {0}};
    return !compare_values(tensor(DType::float32, expected), tensor(DType::float32, actual), true,
                           [&](RoundingRuns) { return &rounding; })
                .message.empty();
  };
  EXPECT_FALSE(is_told(16.05, 15.95));  // either is off by less than the noise explains
  EXPECT_TRUE(is_told(16.05, 15.9));
  EXPECT_TRUE(is_told(17, 16));  // the expected one is wrong, which makes no other right
}

TEST(CompareValues, WhatTheGraphItselfRoundsToIsNoTruth) {
  const auto is_told = [](double native, double actual) {
    const Rounding rounding{
        .reference = {16}, .native = {native}, .noise = {0.001}, .narrow_noise = {0}, .jumps = {0}};
    return !compare_values(tensor(DType::float32, 17), tensor(DType::float32, actual), true,
                           [&](RoundingRuns) { return &rounding; })
                .message.empty();
  };
  EXPECT_FALSE(is_told(17, 16));  // a comparison that only exact numbers decide so
  EXPECT_TRUE(is_told(17, 16.5));
  EXPECT_TRUE(is_told(16, 16));  // 17 is somebody else's
}

/// Whether 16 and 16.4 differ, and how often it was measured, where many runs find more noise:
/// first few, then few with jumps.
TEST(CompareValues, WhatNearlyExplainsADifferenceIsMeasuredAgain) {
  constexpr double kFew = 0.01, kMany = 0.02;  // times 32
  const auto compared = [](double actual, double many) {
    const Rounding few{.reference = {16}, .noise = {kFew / 2}, .narrow_noise = {0}, .jumps = {0}};
    const Rounding more{.reference = {16}, .noise = {many / 2}, .narrow_noise = {0}, .jumps = {0}};
    std::vector<RoundingRuns> asked;
    const auto distance = compare_values(tensor(DType::float32, 16), tensor(DType::float32, actual),
                                         true, [&](RoundingRuns runs) {
                                           asked.push_back(runs);
                                           return runs == RoundingRuns::many ? &more : &few;
                                         });
    return std::pair(distance.message.empty(), asked.size());
  };
  EXPECT_EQ(compared(16.2, kMany), std::pair(true, std::size_t{1}));
  EXPECT_EQ(compared(16.4, kMany), std::pair(true, std::size_t{3}));
  EXPECT_EQ(compared(16.4, kFew), std::pair(false, std::size_t{3}));
  EXPECT_EQ(compared(20, kMany), std::pair(false, std::size_t{2}));  // far off
}

/// A truth value for each of `count` elements; these are false.
auto truths(std::size_t count, std::span<const std::size_t> but) -> Datum {
  auto made = Tensor::contiguous(DType::boolean, {static_cast<std::int64_t>(count)}).value();
  std::vector<double> values(count, 1);
  for (const auto i : but) values[i] = 0;
  from_vector(made, std::span<const double>(values));
  return Datum{std::move(made)};
}

TEST(CompareValues, RareTiesOfManyAreUndecidedWhereOthersMove) {
  constexpr std::size_t kCount = 70000;
  Rounding rounding;
  rounding.reference.assign(kCount, 1);
  rounding.noise.assign(kCount, 0);
  rounding.narrow_noise.assign(kCount, 0);
  rounding.jumps.assign(kCount, 0);
  const auto compared = [&](std::span<const std::size_t> but) {
    return compare_values(truths(kCount, {}), truths(kCount, but), true,
                          [&](RoundingRuns) { return &rounding; });
  };
  const std::array<std::size_t, 1> one = {5};
  const std::array<std::size_t, 2> two = {5, 9};
  EXPECT_NE(compared(one).message, "");  // no comparison of rounded numbers
  rounding.noise[7] = 1;
  EXPECT_EQ(compared(one).message, "");
  EXPECT_EQ(compared(one).ties, 1);
  EXPECT_NE(compared(two).message, "");
  EXPECT_EQ(compared(two).ties, 0);
}

struct Input {
  Ints sizes;
  std::vector<double> values;
  /// All the same.
  static auto of(const Ints& sizes, double value) -> Input {
    std::int64_t count = 1;
    for (const auto size : sizes) count *= size;
    return {sizes, std::vector<double>(static_cast<std::size_t>(count), value)};
  }
};
/// Of the one result of a graph, whose text begins with its parameters.
auto measured(const std::string& graph, const std::vector<Input>& given,
              RoundedBy by = RoundedBy::assay, RoundingRuns runs = RoundingRuns::few) -> Rounding {
  static const auto kTable = build_op_table();
  Stage stage;
  stage.graph.emplace();
  stage.graph->graph =
      parse_graph("class G(torch.nn.Module):\n    def forward(self, " + graph).value();
  stage.outputs = {"output 0"};
  StageValues inputs;
  for (const auto& [sizes, values] : given) {
    auto made = values.empty() ? Tensor::contiguous(DType::bfloat16, {1}).value()
                               : Tensor::contiguous(DType::float32, sizes).value();
    if (!values.empty()) from_vector(made, std::span<const double>(values));
    stage.inputs.push_back(fmt::format("input {}", stage.inputs.size()));
    inputs[stage.inputs.back()] = {Datum{std::move(made)}, Randomness::none, {}};
  }
  return measure_rounding(stage, inputs, {}, kTable, by, runs).at("output 0");
}

/// Largest noise of a convolution of ones on this device.
auto noise_of_convolution(std::string_view device, RoundedBy by) -> double {
  const auto graph = fmt::format(
      "x: \"f32[1, 2, 5][10, 5, 1]{0}\", w: \"f32[3, 2, 3][6, 3, 1]{0}\"):\n"
      "        y: \"f32[1, 3, 3][9, 3, 1]{0}\" = torch.ops.aten.convolution.default(x, w, None, "
      "[1], [0], [1], False, [0], 1)\n        return (y,)\n",
      device);
  const auto of = measured(graph, {Input::of({1, 2, 5}, 1), Input::of({3, 2, 3}, 1)}, by);
  return std::ranges::max(of.noise) + std::ranges::max(of.narrow_noise);
}

TEST(MeasureRounding, TiesMoveAsFarAsNumbersMay) {
  const auto noise = measured(
                         "x: \"f32[4][1]cpu\"):\n"
                         "        a: \"f32[4][1]cpu\" = torch.ops.aten.mul.Tensor(x, 3)\n"
                         "        y: \"b8[4][1]cpu\" = torch.ops.aten.gt.Scalar(a, 3)\n"
                         "        return (y,)\n",
                         {{{4}, {1.0, 1 + 1e-6, 1 + 1e-4, 2.0}}})
                         .noise;
  EXPECT_EQ(noise[0], 1);  // 3 is as often below as above
  EXPECT_EQ(noise[1], 1);  // some twenty roundings away
  EXPECT_EQ(noise[2], 0);
  EXPECT_EQ(noise[3], 0);
}

/// A maximum that was found in float32 is looked for where it came from, as the gradients of `amax`
/// are made: in float64 it is nowhere, and all divided by how often there is one.
TEST(MeasureRounding, WhatIsLookedForIsFoundWhereItWas) {
  const auto rounding = measured(
      "x: \"f32[4][1]cpu\", m: \"f32[1][1]cpu\"):\n"
      "        a: \"f32[4][1]cpu\" = torch.ops.aten.div.Tensor(x, 3)\n"
      "        e: \"b8[4][1]cpu\" = torch.ops.aten.eq.Tensor(a, m)\n"
      "        n: \"i64[1][1]cpu\" = torch.ops.aten.sum.dim_IntList(e, [0], True)\n"
      "        d: \"f32[1][1]cpu\" = torch.ops.aten.div.Tensor(m, n)\n"
      "        y: \"f32[4][1]cpu\" = torch.ops.aten.mul.Tensor(d, e)\n        return (y,)\n",
      {{{4}, {1, 2, 0.5, 1}}, {{1}, {static_cast<double>(2.F / 3.F)}}});
  EXPECT_NEAR(rounding.reference[1].real(), 2.0 / 3, 1e-7);
  EXPECT_EQ(rounding.reference[0], Complex(0));
  EXPECT_GT(rounding.noise[1], 1e-8);
  EXPECT_EQ(rounding.noise[2], 0);
}

TEST(MeasureRounding, DifferencesOfProductsRoundBefore) {
  const auto rounding = measured(
      "x: \"f32[3][1]cpu\"):\n"
      "        y: \"f32[3][1]cpu\" = torch.ops.aten.linalg_cross.default(x, x)\n"
      "        return (y,)\n",
      {{{3}, {1, 2, 3}}});
  EXPECT_EQ(rounding.reference[0], Complex(0));
  EXPECT_GT(rounding.noise[0], 1e-8);
  EXPECT_LT(rounding.noise[0], 1e-5);
}

/// Between many points by a product, whose roundings a root makes large where two are one.
TEST(MeasureRounding, DistancesOfManyPointsAreRootsOfRoundings) {
  const auto noise_of = [](std::string_view more, int points) {
    const auto graph = fmt::format(
        "x: \"f32[{0}, 2][2, 1]cpu\"):\n"
        "        y: \"f32[{0}, {0}][{0}, 1]cpu\" = torch.ops.aten.cdist.default(x, x{1})\n"
        "        return (y,)\n",
        points, more);
    return measured(graph, {Input::of({points, 2}, 3)}).noise[0];
  };
  EXPECT_GT(noise_of("", 30), 1e-4);
  EXPECT_GT(noise_of(", 2.0, None", 30), 1e-4);
  EXPECT_LT(noise_of("", 20), 1e-5);
  EXPECT_LT(noise_of(", 1.0", 30), 1e-5);
  EXPECT_LT(noise_of(", 2.0, 2", 30), 1e-5) << "without a product";
}

/// 1 + erf(x / sqrt 2) has few digits where x is well below 0.
TEST(MeasureRounding, GeluIsItsSteps) {
  const auto noise_of = [](std::string_view how, std::string_view dtype) {
    const auto graph = fmt::format(
        "x: \"f32[64][1]cpu\"):\n"
        "        a: \"{0}[64][1]cpu\" = torch.ops.aten._to_copy.default(x, dtype = torch.{1})\n"
        "        b: \"{0}[64][1]cpu\" = torch.ops.aten.sub.Tensor(a, 4)\n"
        "        y: \"{0}[64][1]cpu\" = torch._C._nn.gelu(b{2})\n"
        "        return (y,)\n",
        dtype == "float32" ? "f32" : "bf16", dtype, how);
    return measured(graph, {Input::of({64}, 1)});
  };
  for (const auto* how : {"", ", approximate = 'tanh'"}) {
    const auto wide = noise_of(how, "float32");
    EXPECT_GT(wide.noise[0], 1e-8) << how;
    EXPECT_LT(wide.noise[0], 1e-5) << how;
    EXPECT_NEAR(wide.reference[0].real(),
                std::string_view(how).empty() ? -0.004049694095 : -0.003637392082, 1e-9)
        << how;
    EXPECT_LT(noise_of(how, "bfloat16").narrow_noise[0], 1e-3) << how;
  }
}

/// The last bits of a rounded number mean nothing, those of an input all.
TEST(MeasureRounding, BitsAreThoseOfTheNumbersOwnDtype) {
  const auto bits_of = [](std::string_view what) {
    const auto graph = fmt::format(
        "x: \"f32[64][1]cpu\"):\n"
        "        a: \"f32[64][1]cpu\" = torch.ops.aten.div.Tensor(x, 3)\n"
        "        b: \"i32[64][1]cpu\" = torch.ops.aten.view.dtype({}, torch.int32)\n"
        "        c: \"i32[64][1]cpu\" = torch.ops.aten.bitwise_and.Scalar(b, 255)\n"
        "        y: \"f32[64][1]cpu\" = torch.ops.aten.div.Tensor(c, 255)\n"
        "        return (y,)\n",
        what);
    return measured(graph, {Input::of({64}, 1)});
  };
  const auto rounded = bits_of("a"), exact = bits_of("x");
  EXPECT_TRUE(rounded.is_of_bits);
  EXPECT_NEAR(rounded.reference[0].real(), 171.0 / 255, 1e-6);  // of 1/3: 0x3eaaaaab
  EXPECT_GT(rounded.noise[0], 0.5 / 255);
  EXPECT_EQ(exact.reference[0], Complex(0));
  EXPECT_LT(exact.noise[0], 1e-6);
}

TEST(CompareValues, WhatRestsOnBitsThatMoveIsEither) {
  const auto is_told = [](double noise, bool is_of_bits) {
    const Rounding rounding{.reference = {16},
                            .noise = {noise},
                            .narrow_noise = {0},
                            .jumps = {0},
                            .is_of_bits = is_of_bits};
    return !compare_values(tensor(DType::float32, 16), tensor(DType::float32, 200), true,
                           [&](RoundingRuns) { return &rounding; })
                .message.empty();
  };
  EXPECT_FALSE(is_told(1, true));
  EXPECT_TRUE(is_told(0, true));
  EXPECT_TRUE(is_told(1, false));
}

TEST(MeasureRounding, ManyRunsFindElementsThatFewHardlyMove) {
  const auto ends = [](RoundingRuns runs) {
    return std::ranges::minmax(
        measured("x: \"f32[256][1]cpu\", y: \"f32[256][1]cpu\"):\n"
                 "        a: \"f32[256][1]cpu\" = torch.ops.aten.exp.default(x)\n"
                 "        b: \"f32[256][1]cpu\" = torch.ops.aten.exp.default(y)\n"
                 "        c: \"f32[256][1]cpu\" = torch.ops.aten.sub.Tensor(a, b)\n"
                 "        return (c,)\n",
                 {Input::of({256}, 1), Input::of({256}, 0.5)}, RoundedBy::assay, runs)
            .noise);
  };
  const auto few = ends(RoundingRuns::few), many = ends(RoundingRuns::many);
  EXPECT_LT(few.min, 0.6 * few.max);
  EXPECT_GT(many.min, 1.2 * few.min);
  EXPECT_LT(many.max, 2 * few.max);
}

/// Equal inputs are off each by its own: what is left of their difference is noise.
TEST(MeasureRounding, InputsRoundApart) {
  const auto rounding = measured(
      "x: \"f32[4][1]cpu\", w: \"f32[4][1]cpu\"):\n"
      "        y: \"f32[4][1]cpu\" = torch.ops.aten.sub.Tensor(x, w)\n        return (y,)\n",
      {Input::of({4}, 1), Input::of({4}, 1)});
  EXPECT_EQ(std::ranges::max(rounding.reference, {}, [](auto z) { return std::abs(z); }), 0.0);
  EXPECT_GT(std::ranges::max(rounding.noise), std::ldexp(1.0, -25));
  EXPECT_LT(std::ranges::max(rounding.noise), std::ldexp(1.0, -22));
}

/// Strides alone, or values as well.
TEST(CompareValues, WhatDiffersInStridesAloneIsSaidSo) {
  const auto made = [](const Ints& strides, double last) {
    auto tensor = Tensor::allocate(DType::float32, {2, 2}, strides, {}).value();
    const std::vector<double> values = {1, 2, 3, last};
    from_vector(tensor, std::span<const double>(values));
    return Datum{tensor};
  };
  const auto compared = [&](const Datum& actual) {
    return compare_values(made({2, 1}, 4), actual, true, nullptr);
  };
  EXPECT_TRUE(compared(made({4, 1}, 4)).is_of_strides);
  EXPECT_FALSE(compared(made({4, 1}, 5)).is_of_strides);
  EXPECT_NE(compared(made({4, 1}, 5)).message, "");
  EXPECT_FALSE(compared(made({2, 1}, 5)).is_of_strides);
}

TEST(MeasureRounding, SumsOfManyTermsRoundMore) {
  const auto noise = [](int terms) {
    const auto same = 1 / std::sqrt(terms);
    const auto graph = fmt::format(
        "x: \"f32[1, {0}][{0}, 1]cpu\", w: \"f32[{0}, 1][1, 1]cpu\"):\n"
        "        y: \"f32[1, 1][1, 1]cpu\" = torch.ops.aten.mm.default(x, w)\n"
        "        return (y,)\n",
        terms);
    return std::ranges::max(
        measured(graph, {Input::of({1, terms}, same), Input::of({terms, 1}, same)}).noise);
  };
  EXPECT_GT(noise(6400), 5 * noise(64));  // of results that are 1
}

/// Of as many terms as there are the rounding is that of those that meet in one place.
TEST(MeasureRounding, SumsOfManyInOnePlaceRoundMore) {
  const auto noise = [](std::string_view index) {
    const auto graph = fmt::format(
        "x: \"f32[1024][1]cpu\", y: \"f32[6400, 1][1, 1]cpu\"):\n"
        "        n: \"i64[6400][1]cpu\" = torch.ops.aten.arange.default(6400)\n"
        "        i: \"i64[6400][1]cpu\" = torch.ops.aten.{}\n"
        "        z: \"f32[1024, 1][1, 1]cpu\" = torch.ops.aten.view.default(x, [1024, 1])\n"
        "        a: \"f32[1024, 1][1, 1]cpu\" = torch.ops.aten.index_add.default(z, 0, i, y)\n"
        "        return (a,)\n",
        index);
    return measured(graph, {Input::of({1024}, 0), Input::of({6400, 1}, 1)}).noise[0];
  };
  const double all = 6400, few = 7;  // that come to the first place
  EXPECT_GT(noise("mul.Tensor(n, 0)") / all, 5 * noise("remainder.Scalar(n, 1024)") / few);
}

TEST(MeasureRounding, ADeviceMayRoundTheOperandsOfConvolutions) {
  const auto exact = noise_of_convolution("cuda:0", RoundedBy::assay);
  EXPECT_GT(exact, 0);
  EXPECT_LT(exact, 1e-5);
  EXPECT_EQ(noise_of_convolution("cpu", RoundedBy::device), exact);
  EXPECT_GT(noise_of_convolution("cuda:0", RoundedBy::device), 10 * exact);
}

/// Operands that cancel: roundings of the result are none, those of operands are.
TEST(MeasureRounding, WhatADeviceRoundsIsNotTheResult) {
  const auto graph = [](std::string_view device) {
    return fmt::format(
        "x: \"f32[1, 2, 3][6, 3, 1]{0}\", w: \"f32[1, 2, 3][6, 3, 1]{0}\"):\n"
        "        y: \"f32[1, 1, 1][1, 1, 1]{0}\" = torch.ops.aten.convolution.default(x, w, None, "
        "[1], [0], [1], False, [0], 1)\n        return (y,)\n",
        device);
  };
  const std::vector<Input> cancelling = {{{1, 2, 3}, {3, 3, 3, -3, -3, -3}},
                                         Input::of({1, 2, 3}, 1)};
  const auto noise = [&](std::string_view device) {
    return measured(graph(device), cancelling, RoundedBy::device).narrow_noise[0];
  };
  EXPECT_EQ(noise("cpu"), 0);
  EXPECT_GT(noise("cuda:0"), 1e-4);
  EXPECT_LT(noise("cuda:0"), 0.02);  // 2^-11 of 18, both operands
}

/// The gradient of relu is all or nothing where what goes in is nearly 0.
TEST(MeasureRounding, JumpsAreFoundWithLargerRoundings) {
  const std::string graph =
      "x: \"f32[3][1]cpu\", g: \"f32[3][1]cpu\"):\n"
      "        a: \"f32[3][1]cpu\" = torch.ops.aten.mul.Tensor(x, 3)\n"
      "        b: \"f32[3][1]cpu\" = torch.ops.aten.sub.Tensor(a, 3)\n"
      "        c: \"b8[3][1]cpu\" = torch.ops.aten.le.Scalar(b, 0)\n"
      "        y: \"f32[3][1]cpu\" = torch.ops.aten.masked_fill.Scalar(g, c, 0)\n"
      "        return (y,)\n";
  const std::vector<Input> given = {{{3}, {1 + 1.2e-6, 1 + 1e-3, 2.0}}, Input::of({3}, 100)};
  const auto few = measured(graph, given);
  EXPECT_LT(few.noise[0], 1e-3);  // ten roundings away
  EXPECT_EQ(few.jumps[0], 0);
  const auto measured_jumps =
      measured(graph, given, RoundedBy::assay, RoundingRuns::with_jumps).jumps;
  EXPECT_NEAR(measured_jumps[0], 100, 1e-2);
  EXPECT_LT(measured_jumps[1], 1e-2);
  EXPECT_LT(measured_jumps[2], 1e-2);
}

TEST(CompareValues, AJumpExplainsWhatNoiseDoesNot) {
  const auto is_told = [](double jump) {
    const Rounding few{.reference = {16}, .noise = {0.001}, .narrow_noise = {0}, .jumps = {0}};
    auto more = few;
    more.jumps = {jump};
    return !compare_values(
                tensor(DType::float32, 16), tensor(DType::float32, 0), true,
                [&](RoundingRuns runs) { return runs == RoundingRuns::few ? &few : &more; })
                .message.empty();
  };
  EXPECT_TRUE(is_told(0));
  EXPECT_TRUE(is_told(8));
  EXPECT_FALSE(is_told(16));
}

/// Kernels of halves add up in halves what meets in one place, where graphs widen it first.
TEST(MeasureRounding, DevicesAddInHalvesWhatMeets) {
  const std::string graph =
      "x: \"f32[1, 1][1, 1]cuda:0\", y: \"f32[400, 1][1, 1]cuda:0\", h: \"bf16[1][1]cuda:0\"):\n"
      "        n: \"i64[400][1]cuda:0\" = torch.ops.aten.arange.default(400)\n"
      "        i: \"i64[400][1]cuda:0\" = torch.ops.aten.mul.Tensor(n, 0)\n"
      "        a: \"f32[1, 1][1, 1]cuda:0\" = torch.ops.aten.index_add.default(x, 0, i, y)\n"
      "        return (a,)\n";
  const auto noise = [&](RoundedBy by) {
    const auto of = measured(graph, {Input::of({1, 1}, 0), Input::of({400, 1}, 1), {}}, by);
    return (of.noise[0] + of.narrow_noise[0]) / 400;
  };
  EXPECT_LT(noise(RoundedBy::assay), 1e-5);
  EXPECT_GT(noise(RoundedBy::device), 0.05);
}

}  // namespace
}  // namespace assay
