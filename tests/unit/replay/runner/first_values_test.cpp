#include "replay/runner/first_values.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace assay {
namespace {

auto row_major(DType dtype, Ints sizes) -> Tensor {
  auto tensor = Tensor::contiguous(dtype, std::move(sizes));
  EXPECT_TRUE(tensor);
  return *tensor;
}

TEST(FirstValues, FollowTheOrderOfIndicesNotOfMemory) {
  auto tensor = row_major(DType::float32, {3, 2});
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  from_vector<double>(tensor, values);
  const auto turned = tensor.view(DType::float32, {2, 3}, {1, 2}, 0);
  ASSERT_TRUE(turned);
  const auto found = first_values({*turned});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].elements, "1, 3, 5, 2, 4, 6");
  EXPECT_EQ(found[0].layout, to_string(turned->meta));
  EXPECT_EQ(found[0].leaf, "");
}

TEST(FirstValues, StopAfterSixteenAndSayThatThereIsMore) {
  auto tensor = row_major(DType::int64, {17});
  std::vector<std::int64_t> values(17);
  std::iota(values.begin(), values.end(), -1);
  from_vector<std::int64_t>(tensor, values);
  const auto found = first_values({tensor});
  EXPECT_EQ(found.at(0).elements, "-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, ...");
}

TEST(FirstValues, AreWrittenAsTheirDtypeReads) {
  auto number = row_major(DType::float32, {3});
  from_vector<double>(number, std::vector<double>{std::numeric_limits<double>::quiet_NaN(),
                                                  -std::numeric_limits<double>::infinity(), 0.1});
  auto truth = row_major(DType::boolean, {2});
  from_vector<std::int64_t>(truth, std::vector<std::int64_t>{0, 1});
  const auto found = first_values({DatumList{{number}, {Expr(3)}, {DatumList{{truth}}}}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].elements, "nan, -inf, 0.1");
  EXPECT_EQ(found[1].leaf, "[1]");
  EXPECT_EQ(found[1].elements, "3");
  EXPECT_EQ(found[2].leaf, "[2][0]");
  EXPECT_EQ(found[2].elements, "False, True");
}

TEST(FirstValues, OfNothingAreNone) {
  EXPECT_TRUE(first_values({}).empty());
  EXPECT_EQ(first_values({row_major(DType::float32, {0, 4})}).at(0).elements, "");
}

}  // namespace
}  // namespace assay
