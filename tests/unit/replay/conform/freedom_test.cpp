// Results that PyTorch leaves open: another right one passes, a wrong one does not.
#include <gtest/gtest.h>

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

TEST_F(FreedomTest, EveryFreedomIsOfAnOperatorOfTheTable) {
  for (const auto& freedom : freedoms())
    EXPECT_NE(table_.find(freedom.overload), nullptr) << freedom.overload;
}

}  // namespace
}  // namespace assay
