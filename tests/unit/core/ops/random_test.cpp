#include <algorithm>
#include <numeric>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

auto ops() -> OpRunner {
  return OpRunner(
      {add_random_rows, add_copy_rows, add_creation_rows, add_pointwise_rows, add_view_rows});
}
auto mean_of(const std::vector<double>& values) -> double {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(Random, TwoRunsGiveTheSame) {
  auto run = ops();
  const auto first = run.tensor("aten.rand.default", {ints({16})});
  EXPECT_EQ(values_of(first), values_of(run.tensor("aten.rand.default", {ints({16})})));
  EXPECT_NE(values_of(first)[0], values_of(first)[1]);
}

TEST(Random, UniformStaysInItsRange) {
  auto self = make_tensor({1000}, std::vector<double>(1000, 0));
  ops().run("aten.uniform_.default", {Datum{self}, real(-2), real(6)});
  const auto values = values_of(self);
  EXPECT_GE(std::ranges::min(values), -2);
  EXPECT_LT(std::ranges::max(values), 6);
  EXPECT_NEAR(mean_of(values), 2, 0.5);
}

TEST(Random, NormalHasItsMeanAndDeviation) {
  const auto values =
      values_of(ops().tensor("aten.normal.float_float", {real(3), real(0.5), ints({4000})}));
  const double mean = mean_of(values);
  double variance = 0;
  for (const double value : values) variance += (value - mean) * (value - mean) / 4000;
  EXPECT_NEAR(mean, 3, 0.05);
  EXPECT_NEAR(variance, 0.25, 0.03);
}

TEST(Random, IntegersHitEveryValueOfTheRange) {
  const auto result = ops().tensor("aten.randint.low", {integer(-1), integer(3), ints({200})});
  EXPECT_EQ(result.dtype(), DType::int64);
  auto values = values_of(result);
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  EXPECT_EQ(values, (std::vector<double>{-1, 0, 1, 2}));
  EXPECT_FALSE(ops().try_run("aten.randint.low", {integer(3), integer(3), ints({2})}));
}

TEST(Random, PermutationsHoldEveryIndexOnce) {
  auto values = values_of(ops().tensor("aten.randperm.default", {integer(50)}));
  EXPECT_FALSE(std::ranges::is_sorted(values));
  std::ranges::sort(values);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<double>(i));
}

TEST(Random, BernoulliFollowsItsProbability) {
  auto run = ops();
  const Datum self{make_tensor({1000}, std::vector<double>(1000, 0))};
  EXPECT_EQ(mean_of(values_of(run.tensor("aten.bernoulli.p", {self, real(1)}))), 1);
  EXPECT_EQ(mean_of(values_of(run.tensor("aten.bernoulli.p", {self, real(0)}))), 0);
  EXPECT_NEAR(mean_of(values_of(run.tensor("aten.bernoulli.p", {self, real(0.3)}))), 0.3, 0.05);
}

TEST(Random, MultinomialWithoutReplacementNeverRepeats) {
  auto run = ops();
  auto drawn = values_of(
      run.tensor("aten.multinomial.default", {Datum{make_tensor({4}, {1, 0, 5, 2})}, integer(3)}));
  std::ranges::sort(drawn);
  EXPECT_EQ(drawn, (std::vector<double>{0, 2, 3})) << "a category of weight 0 is not drawn";
}

TEST(Dropout, EvaluationReturnsTheInputItself) {
  auto run = ops();
  const auto x = random_tensor({2, 3}, 1);
  EXPECT_EQ(run.tensor("aten.dropout.default", {Datum{x}, real(0.5), flag(false)}).storage,
            x.storage);
  EXPECT_NE(run.tensor("aten.dropout.default", {Datum{x}, real(0.5), flag(true)}).storage,
            x.storage);
}

TEST(Dropout, ScalesWhatItKeeps) {
  auto run = ops();
  const auto x = make_tensor({100}, std::vector<double>(100, 3));
  const auto results = run.run("aten.native_dropout.default", {Datum{x}, real(0.25), flag(true)});
  const auto values = values_of(*results[0].real());
  const auto mask = values_of(*results[1].real());
  EXPECT_EQ(results[1].real()->dtype(), DType::boolean);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_DOUBLE_EQ(values[i], mask[i] * 4);
  EXPECT_NEAR(mean_of(mask), 0.75, 0.15);
}

TEST(Random, LikesKeepADenseLayout) {
  const auto x = laid_out(random_tensor({2, 3, 4}, 1), {2, 0, 1});
  auto run = ops();
  EXPECT_EQ(run.tensor("aten.randn_like.default", {Datum{x}}).strides(), x.strides());
  EXPECT_EQ(run.tensor("aten.bernoulli.p", {Datum{x}, real(0.5)}).strides(), (Ints{12, 4, 1}));
}

TEST(Random, OtherFormsDrawTheSameNumbers) {
  OpRunner run({add_random_rows, add_copy_rows, add_creation_rows, add_pointwise_rows,
                add_view_rows, add_prims_rows, add_out_rows});
  const auto x = random_tensor({3, 7}, 1);
  const auto empty = [] { return Datum{make_tensor({3, 7}, std::vector<double>(21, 0))}; };
  const Datum device{Device{.type = "cpu", .index = -1}}, dtype{DType::float64};

  const auto normal = run.tensor("aten.normal_functional.default", {Datum{x}, real(1), real(2)});
  expect_close(run.tensor("aten.normal.out", {Datum{x}, real(1), real(2), {}, empty()}), normal, 0);
  expect_close(run.tensor("prims.normal.default",
                          {ints({3, 7}), real(1), real(2), dtype, device, flag(false)}),
               normal, 0);
  expect_close(run.tensor("prims.uniform.default",
                          {ints({3, 7}), real(1), real(2), dtype, device, ints({7, 1})}),
               run.tensor("aten.uniform_.default", {empty(), real(1), real(2)}), 0);

  const auto noise = empty(), other = empty();
  const auto slopes = run.tensor("aten.rrelu_with_noise.default",
                                 {Datum{x}, noise, real(0.1), real(0.4), flag(true)});
  expect_close(run.tensor("aten.rrelu_with_noise.out",
                          {Datum{x}, other, real(0.1), real(0.4), flag(true), {}, empty()}),
               slopes, 0);
  expect_close(*other.real(), *noise.real(), 0);

  const auto kept = run.run("aten._fused_dropout.default", {Datum{x}, real(0.75)});
  const auto dropped = run.run("aten.native_dropout.default", {Datum{x}, real(0.25), flag(true)});
  EXPECT_EQ(kept[1].real()->dtype(), DType::uint8);
  for (const std::size_t i : {0U, 1U}) expect_close(*kept[i].real(), *dropped[i].real(), 0);
}

}  // namespace
}  // namespace assay
