// Results that PyTorch leaves open: another right one passes, a wrong one does not.
#include <gtest/gtest.h>

#include <cmath>

#include "core/ops/domain.h"
#include "replay/conform/freedom.h"

namespace assay {
namespace {

const Device kCuda{.type = "cuda", .index = -1};

auto tensor(Ints sizes, const std::vector<double>& values, const Device& device = {},
            DType dtype = DType::float64) -> Tensor {
  auto strides = contiguous_strides(sizes);
  auto result = *Tensor::allocate(dtype, std::move(sizes), std::move(strides), device);
  from_vector<double>(result, values);
  return result;
}
/// A copy of a result with f done to its elements in row-major order.
template <class F>
auto changed(const Datum& datum, const F& f) -> Datum {
  auto values = to_vector<Complex>(*datum.real());
  f(values);
  auto copy = *Tensor::allocate(datum.real()->dtype(), datum.real()->sizes(),
                                contiguous_strides(datum.real()->sizes()));
  from_vector<Complex>(copy, values);
  return {std::move(copy)};
}

class FreedomTest : public ::testing::Test {
 protected:
  /// What our own row gives for these arguments.
  auto run(std::string_view overload, DatumList args) -> DatumList {
    row_ = table_.find(overload);
    args_ = *bind_arguments(row_->schema, std::move(args), {});
    const auto result = *RealDomain(table_).run(*row_, args_);
    return result.list() ? *result.list() : DatumList{result};
  }
  auto judge(const DatumList& actual, const DatumList& expected) -> Difference {
    return find_freedom(row_->name())
        ->judge(
            {.row = *row_, .table = table_, .args = args_, .actual = actual, .expected = expected});
  }
  /// `other` means the same as what we give, `wrong` does not, whichever side it is on.
  void expect_told_apart(const DatumList& ours, const DatumList& other, const DatumList& wrong) {
    EXPECT_EQ(judge(ours, other), std::nullopt);
    EXPECT_EQ(judge(other, ours), std::nullopt);
    EXPECT_NE(judge(wrong, ours), std::nullopt);
    EXPECT_NE(judge(ours, wrong), std::nullopt);
  }
  OpTable table_ = build_op_table();
  const OpRow* row_ = nullptr;
  DatumList args_;
};

const std::vector<double> kSymmetric{2, 1, 0, 1, 3, 1, 0, 1, 4};
const std::vector<double> kSquare{1, 2, 0, 3, 1, 1, 0, 2, 4};

void flip_first_column(std::vector<Complex>& m) {
  for (std::size_t row = 0; row < 3; ++row) m[3 * row] = -m[3 * row];
}
void flip_first_row(std::vector<Complex>& m) {
  for (std::size_t col = 0; col < 3; ++col) m[col] = -m[col];
}
void bend(std::vector<Complex>& m) {
  m[4] += 0.01;
}

TEST_F(FreedomTest, SignsOfEigenvectorsAreFree) {
  const auto ours = run("aten._linalg_eigh.default", {Datum{tensor({3, 3}, kSymmetric)}});
  expect_told_apart(ours, {ours[0], changed(ours[1], flip_first_column)},
                    {ours[0], changed(ours[1], bend)});
  EXPECT_NE(judge({changed(ours[0], [](auto& l) { l[0] += 0.01; }), ours[1]}, ours), std::nullopt);
}

TEST_F(FreedomTest, SignsOfSingularVectorsAreFreeInPairs) {
  const auto ours = run("aten._linalg_svd.default", {Datum{tensor({3, 3}, kSquare)}});
  expect_told_apart(
      ours, {changed(ours[0], flip_first_column), ours[1], changed(ours[2], flip_first_row)},
      {changed(ours[0], flip_first_column), ours[1], ours[2]});
}

TEST_F(FreedomTest, EigenvaluesComeInAnyOrderWithTheirVectors) {
  const auto ours = run("aten.linalg_eig.default", {Datum{tensor({3, 3}, kSquare)}});
  const auto values = changed(ours[0], [](auto& l) { std::swap(l[0], l[2]); });
  const auto vectors = changed(ours[1], [](auto& v) {
    for (std::size_t row = 0; row < 3; ++row) std::swap(v[3 * row], v[3 * row + 2]);
  });
  expect_told_apart(ours, {values, vectors}, {values, ours[1]});
}

TEST_F(FreedomTest, QrIsFreeInSigns) {
  const auto ours = run("aten.linalg_qr.default", {Datum{tensor({3, 3}, kSquare)}});
  expect_told_apart(ours, {changed(ours[0], flip_first_column), changed(ours[1], flip_first_row)},
                    {changed(ours[0], flip_first_column), ours[1]});
}

TEST_F(FreedomTest, AFactorOfAnotherMatrixIsNoLu) {
  const auto ours = run("aten.linalg_lu_factor_ex.default", {Datum{tensor({3, 3}, kSquare)}});
  EXPECT_EQ(judge(ours, ours), std::nullopt);
  EXPECT_NE(judge({changed(ours[0], bend), ours[1], ours[2]}, ours), std::nullopt);
}

TEST_F(FreedomTest, IndicesAreFreeAmongEqualElementsOnly) {
  const auto ours = run("aten.sort.default", {Datum{tensor({4}, {1, 0, 1, 2})}});
  const auto index = [](std::vector<double> at) {
    return Datum{tensor({4}, at, {}, DType::int64)};
  };
  expect_told_apart(ours, {ours[0], index({1, 2, 0, 3})}, {ours[0], index({2, 1, 0, 3})});
  EXPECT_NE(judge({ours[0], index({1, 2, 2, 3})}, ours), std::nullopt) << "named twice";
  EXPECT_NE(judge({ours[0], index({1, 2, 0, 4})}, ours), std::nullopt) << "out of range";
}

TEST_F(FreedomTest, OneOfTheMostFrequentElementsIsTheMode) {
  const auto ours = run("aten.mode.default", {Datum{tensor({5}, {7, 5, 7, 5, 3})}});
  const auto result = [](double value, double at) {
    return DatumList{Datum{tensor({}, {value})}, Datum{tensor({}, {at}, {}, DType::int64)}};
  };
  expect_told_apart(ours, result(7, 2), result(3, 4));
  EXPECT_NE(judge(result(7, 1), ours), std::nullopt) << "the index names another element";
}

TEST_F(FreedomTest, Tf32LeavesOutDigitsAndNoMore) {
  const auto x = tensor({1, 1, 2, 2}, {1, -1, 2, 3}, kCuda, DType::float32);
  const auto w = tensor({1, 1, 2, 2}, {1, 1, 1, 1}, kCuda, DType::float32);
  const auto ours = run(
      "aten.convolution.default",
      {Datum{x}, Datum{w}, Datum{}, int_list(Ints{1, 1}), int_list(Ints{0, 0}),
       int_list(Ints{1, 1}), Datum{Expr::boolean(false)}, int_list(Ints{0, 0}), Datum{Expr(1)}});
  const auto off_by = [&](double part) {
    return DatumList{changed(ours[0], [&](auto& y) { y[0] += part * 7; })};  // 7: the sizes' sum
  };
  expect_told_apart(ours, off_by(0.9 / 1024), off_by(1.1 / 1024));
}

TEST_F(FreedomTest, UnitaryFactorsAreFreeWithoutFullRank) {
  const auto ours = run("aten.linalg_polar.default", {Datum{tensor({2, 2}, {1, 2, 1, 2})}});
  const auto h = to_vector<double>(*ours[1].real());
  // A reflection of what H maps to nothing: U (I - 2 n n^T) with n = (2, -1) / sqrt(5).
  const auto u = to_vector<double>(*ours[0].real());
  const double n[] = {2 / std::sqrt(5.0), -1 / std::sqrt(5.0)};
  std::vector<double> other(4);
  for (std::size_t i = 0; i < 2; ++i) {
    const double along = u[2 * i] * n[0] + u[2 * i + 1] * n[1];
    for (std::size_t j = 0; j < 2; ++j) other[2 * i + j] = u[2 * i + j] - 2 * along * n[j];
  }
  expect_told_apart(ours, {Datum{tensor({2, 2}, other)}, ours[1]},
                    {Datum{tensor({2, 2}, {1, 0, 0, 1})}, ours[1]});
}

TEST_F(FreedomTest, ASingularMatrixHasNoInverseToCompare) {
  const auto ours = run("aten.linalg_inv_ex.default", {Datum{tensor({2, 2}, {1, 2, 2, 4})}});
  const Datum other{tensor({2, 2}, {1, 2, 3, 4})};
  const Datum claims_one{tensor({}, {0}, {}, DType::int32)};
  expect_told_apart(ours, {other, ours[1]}, {other, claims_one});
  const auto regular = run("aten.linalg_inv_ex.default", {Datum{tensor({2, 2}, {1, 2, 3, 4})}});
  EXPECT_NE(judge({other, regular[1]}, regular), std::nullopt);
}

TEST_F(FreedomTest, LogAlphaIsWrittenUpToTheLengths) {
  const Datum probs{tensor({3, 1, 3}, std::vector<double>(9, -1.0986))};
  const auto ours = run("aten._ctc_loss.default",
                        {probs, Datum{tensor({1, 2}, {1, 2}, {}, DType::int64)}, int_list(Ints{2}),
                         int_list(Ints{1}), Datum{Expr(0)}, Datum{Expr::boolean(false)}});
  const auto past = changed(ours[1], [](auto& table) { table.back() = 7; });
  const auto inside = changed(ours[1], [](auto& table) { table[0] = 7; });
  expect_told_apart(ours, {ours[0], past}, {ours[0], inside});
}

TEST_F(FreedomTest, OnlyWhatPyTorchReadsBeyondItsOperandsIsFree) {
  const auto other = [](const DatumList& results) {
    return changed(results[0], [](auto& values) { values[0] += 1; });
  };
  const auto expanded = *tensor({3}, {1, 5, 2}).view(DType::float64, {3, 3}, {0, 1}, 0);
  for (const bool shared : {true, false}) {
    const Datum self = shared ? Datum{expanded} : Datum{tensor({3, 3}, kSquare)};
    const auto ours = run("aten.median.dim", {self, Datum{Expr(0)}});
    EXPECT_EQ(judge({other(ours), ours[1]}, ours) == std::nullopt, shared);
  }
  for (const std::int64_t batch : {0, 2}) {
    const auto count = static_cast<std::size_t>(batch);
    const auto ours = run("aten.multi_margin_loss.default",
                          {Datum{tensor({batch, 2}, std::vector<double>(2 * count, 1))},
                           Datum{tensor({batch}, std::vector<double>(count), {}, DType::int64)}});
    EXPECT_EQ(judge({other(ours)}, ours) == std::nullopt, batch == 0);
  }
  for (const bool dense : {true, false}) {
    auto query = tensor({1, 1, 2, 2}, {1, 2, 3, 4});
    if (!dense) query.meta.strides = {4, 4, 1, 2};
    const auto ours = run("aten._scaled_dot_product_flash_attention_for_cpu.default",
                          {Datum{query}, Datum{query}, Datum{query}});
    EXPECT_EQ(judge({other(ours), ours[1]}, ours) == std::nullopt, !dense);
  }
}

TEST_F(FreedomTest, EveryFreedomIsOfAnOperatorOfTheTable) {
  for (const auto& freedom : freedoms())
    EXPECT_NE(table_.find(freedom.overload), nullptr) << freedom.overload;
}

}  // namespace
}  // namespace assay
