#include "core/ops/counter_random.h"

#include <gtest/gtest.h>

#include "core/ops/generator.h"
#include "tests/support/run_op.h"

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

TEST(InductorRandom, ANumberIsAFunctionOfItsSeedAndPosition) {
  testing::OpRunner ops({add_inductor_random_rows});
  auto seed = *Tensor::contiguous(DType::int64, {});
  from_vector(seed, std::span<const std::int64_t>(std::array<std::int64_t, 1>{-77}));
  const auto numbers =
      ops.tensor("prims.inductor_random.default",
                 {testing::ints({2, 3}), Datum{seed}, Datum{std::string("rand")}, Datum{Expr(5)}});
  std::vector<double> expected;
  for (std::uint64_t i = 5; i < 11; ++i)
    expected.push_back(philox_cpu_uniform(static_cast<std::uint64_t>(-77), i));
  EXPECT_EQ(testing::values_of(numbers), expected);
}

TEST(InductorRandom, ASeedIsOneNumber) {
  testing::OpRunner ops({add_inductor_random_rows});
  const auto seeds = *Tensor::contiguous(DType::int64, {0});
  const auto refused = ops.try_run(
      "prims.inductor_randint.default",
      {Datum{Expr(0)}, Datum{Expr(9)}, testing::ints({2}), Datum{seeds}, Datum{Expr(0)}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace assay
