// When two values differ by more than rounding.
#include "replay/runner/stage_rounding.h"

#include <gtest/gtest.h>

#include <array>

namespace assay {
namespace {

auto message_of(DType dtype, double expected, double actual) -> std::string {
  const auto tensor = [&](double value) {
    auto made = Tensor::contiguous(dtype, {1}).value();
    from_vector(made, std::span<const double>(std::array{value}));
    return Datum{std::move(made)};
  };
  return compare_values(tensor(expected), tensor(actual), true, {}).message;
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

}  // namespace
}  // namespace assay
