// Steps on the way to a graph's value count as right; what is none does not.
#include "replay/runner/known_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/graph/text.h"

namespace assay {
namespace {

auto tensor(const Ints& sizes, const std::vector<double>& values) -> Tensor {
  auto made = Tensor::contiguous(DType::float32, sizes).value();
  from_vector(made, std::span<const double>(values));
  return made;
}

/// Eight numbers, their sum, largest, variance.
const std::vector<double> kNumbers = {0.5, -1.25, 2, 0.75, 3, -0.5, 1, 0.25};

auto sum() -> double {
  return std::accumulate(kNumbers.begin(), kNumbers.end(), 0.0);
}
/// Sum of squared differences from the mean.
auto squares(std::size_t begin, std::size_t end) -> double {
  double mean = 0, total = 0;
  for (auto i = begin; i < end; ++i) mean += kNumbers[i] / static_cast<double>(end - begin);
  for (auto i = begin; i < end; ++i) total += (kNumbers[i] - mean) * (kNumbers[i] - mean);
  return total;
}
auto mean(std::size_t begin, std::size_t end) -> double {
  double mean = 0;
  for (auto i = begin; i < end; ++i) mean += kNumbers[i] / static_cast<double>(end - begin);
  return mean;
}

auto known() -> KnownValues {
  return KnownValues({Datum{tensor({8}, kNumbers)}, Datum{tensor({}, {sum()})},
                      Datum{tensor({}, {3})}, Datum{tensor({1}, {squares(0, 8) / 7})}});
}

TEST(KnownValues, AValueIsKnownInAnyShape) {
  EXPECT_TRUE(known().contains(Datum{tensor({2, 4}, kNumbers)}));
  auto other = kNumbers;
  other[3] += 0.01;
  EXPECT_FALSE(known().contains(Datum{tensor({2, 4}, other)}));
}

TEST(KnownValues, PartialSumsAndMaxima) {
  EXPECT_TRUE(known().has_part(tensor({2}, {mean(0, 4) * 4, mean(4, 8) * 4})));
  EXPECT_TRUE(known().has_part(tensor({2}, {2, 3})));
  EXPECT_FALSE(known().has_part(tensor({2}, {mean(0, 4) * 4, mean(4, 8) * 4 + 0.01})));
  EXPECT_FALSE(known().has_part(tensor({2}, {2, 2.5})));
}

TEST(KnownValues, ASumOfSquaresIsAVarianceTimesItsCount) {
  const KnownValues variances(
      {Datum{tensor({8}, kNumbers)}, Datum{tensor({}, {squares(0, 8) / 8})}});
  EXPECT_TRUE(variances.has_part(tensor({}, {squares(0, 8)})));
  EXPECT_FALSE(variances.has_part(tensor({}, {squares(0, 8) * 1.01})));
}

TEST(KnownValues, MomentsOfHalvesCombine) {
  const auto means = tensor({2}, {mean(0, 4), mean(4, 8)});
  const auto differences = tensor({2}, {squares(0, 4), squares(4, 8)});
  EXPECT_TRUE(known().has_moments(means, differences, tensor({2}, {4, 4})));
  EXPECT_FALSE(known().has_moments(means, differences, tensor({2}, {4, 5})));
  EXPECT_FALSE(known().has_moments(means, tensor({2}, {squares(0, 4), squares(4, 8) + 1}),
                                   tensor({2}, {4, 4})));
  // The variance of these is the same, but twelve elements there are none.
  EXPECT_FALSE(known().has_moments(means, tensor({2}, {1.5 * squares(0, 4), 1.5 * squares(4, 8)}),
                                   tensor({2}, {6, 6})));
}

TEST(WithoutAddends, AProductBeforeItsBias) {
  const auto graph = parse_graph(
                         "class G(torch.nn.Module):\n"
                         "    def forward(self, b: \"f32[2][1]cpu\", x: \"f32[1, 2][2, 1]cpu\", "
                         "w: \"f32[2, 2][2, 1]cpu\"):\n"
                         "        y: \"f32[1, 2][2, 1]cpu\" = "
                         "torch.ops.aten.addmm.default(b, x, w)\n"
                         "        z: \"f32[1, 2][2, 1]cpu\" = "
                         "torch.ops.aten.addmm.default(b, x, w, beta = 2)\n"
                         "        return (y, z)\n")
                         .value();
  std::vector<Datum> values(graph.nodes.size());
  values[0] = {tensor({2}, {10, 20})};
  values[1] = {tensor({1, 2}, {3, 4})};
  values[2] = {tensor({2, 2}, {1, 2, 5, 6})};
  const auto rests = without_addends(graph, values, build_op_table());
  ASSERT_EQ(rests.size(), 1U);
  EXPECT_EQ(to_vector<double>(*rests[0].real()), (std::vector<double>{23, 30}));
}

}  // namespace
}  // namespace assay
