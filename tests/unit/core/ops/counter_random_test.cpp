#include "core/ops/counter_random.h"

#include <gtest/gtest.h>

#include "core/ops/generator.h"

namespace assay {
namespace {

// Known answers of the Random123 distribution (philox4x32, 10 rounds).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(0xffffffffffffffffULL, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, UniformNumbersLieBelowOne) {
  for (std::uint64_t offset = 0; offset < 1000; ++offset) {
    const auto value = philox_uniform(3, offset);
    EXPECT_GE(value, 0.0F);
    EXPECT_LT(value, 1.0F);
  }
}

}  // namespace
}  // namespace assay
