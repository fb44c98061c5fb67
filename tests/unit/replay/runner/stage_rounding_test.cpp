// When two values differ by more than rounding.
#include "replay/runner/stage_rounding.h"

#include <gtest/gtest.h>

#include <array>

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
  const Rounding rounding{.reference = {16}, .noise = {noise}, .narrow_noise = {narrow_noise}};
  const auto far = compare_values(tensor(DType::float32, 16), tensor(DType::float32, 16 + distance),
                                  true, [&] { return &rounding; });
  return !far.message.empty();
}

TEST(CompareValues, NarrowFloatsRoundByChanceAndWideSumsInOneDirection) {
  EXPECT_FALSE(is_told(0.1, 0, 0.01));
  EXPECT_TRUE(is_told(0.3, 0, 0.01));
  EXPECT_FALSE(is_told(0.3, 0.01, 0));
  EXPECT_TRUE(is_told(1, 0.01, 0));
}

/// Largest noise of a convolution of ones on this device.
auto noise_of_convolution(std::string_view device, RoundedBy by) -> double {
  Stage stage;
  stage.graph.emplace();
  stage.graph->graph =
      parse_graph(fmt::format("class G(torch.nn.Module):\n"
                              "    def forward(self, x: \"f32[1, 2, 5][10, 5, 1]{0}\", w: \"f32[3, "
                              "2, 3][6, 3, 1]{0}\"):\n"
                              "        y: \"f32[1, 3, 3][9, 3, 1]{0}\" = "
                              "torch.ops.aten.convolution.default(x, w, None, [1], "
                              "[0], [1], False, [0], 1)\n        return (y,)\n",
                              device))
          .value();
  stage.inputs = {"input 0", "input 1"};
  stage.outputs = {"output 0"};
  StageValues inputs;
  for (const auto& [name, sizes] : {std::pair{"input 0", Ints{1, 2, 5}}, {"input 1", {3, 2, 3}}}) {
    auto tensor = Tensor::contiguous(DType::float32, sizes).value();
    const std::vector<double> ones(static_cast<std::size_t>(tensor.numel()), 1);
    from_vector(tensor, std::span<const double>(ones));
    inputs[name] = {Datum{std::move(tensor)}, false, {}};
  }
  static const auto kTable = build_op_table();
  const auto roundings = measure_rounding(stage, inputs, {}, kTable, by);
  const auto found = roundings.find("output 0");
  return found == roundings.end() ? -1 : std::ranges::max(found->second.noise);
}

TEST(MeasureRounding, ADeviceMayRoundTheOperandsOfConvolutions) {
  const auto exact = noise_of_convolution("cuda:0", RoundedBy::assay);
  EXPECT_GT(exact, 0);
  EXPECT_LT(exact, 1e-5);
  EXPECT_EQ(noise_of_convolution("cpu", RoundedBy::device), exact);
  EXPECT_GT(noise_of_convolution("cuda:0", RoundedBy::device), 10 * exact);
}

}  // namespace
}  // namespace assay
