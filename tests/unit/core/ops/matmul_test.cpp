#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

auto ops() -> OpRunner {
  return OpRunner({add_matmul_rows, add_view_rows, add_copy_rows, add_pointwise_rows});
}

TEST(Matmul, MmMultipliesRowsByColumns) {
  const auto result =
      ops().tensor("aten.mm.default", {Datum{make_tensor({2, 3}, {1, 2, 3, 4, 5, 6})},
                                       Datum{make_tensor({3, 2}, {7, 8, 9, 10, 11, 12})}});
  EXPECT_EQ(values_of(result), (std::vector<double>{58, 64, 139, 154}));
  EXPECT_EQ(result.strides(), (Ints{2, 1}));
}

TEST(Matmul, IntegerProductsWrap) {
  const auto big = make_tensor({1, 1}, {100}, DType::int8);
  const auto result = ops().tensor("aten.mm.default", {Datum{big}, Datum{big}});
  EXPECT_EQ(values_of(result), std::vector<double>{16});  // 10000 modulo 256
}

TEST(Matmul, EveryLayoutOfTheOperandsGivesTheSameProduct) {
  auto run = ops();
  for (const auto dtype : {DType::float32, DType::float64, DType::int64, DType::complex64}) {
    const auto a = random_tensor({3, 4, 5}, 1, dtype);
    const auto b = random_tensor({3, 5, 2}, 2, dtype);
    const auto want = run.tensor("aten.bmm.default", {Datum{a}, Datum{b}});
    for (const auto& left :
         {laid_out(a, {0, 2, 1}), laid_out(a, {1, 0, 2}), reversed_and_spaced(a)})
      for (const auto& right :
           {laid_out(b, {0, 2, 1}), laid_out(b, {2, 0, 1}), reversed_and_spaced(b)}) {
        const auto got = run.tensor("aten.bmm.default", {Datum{left}, Datum{right}});
        expect_close(got, want, dtype == DType::float64 ? 1e-12 : 1e-5);
        EXPECT_EQ(got.strides(), (Ints{8, 2, 1}));
      }
  }
}

TEST(Matmul, AnExpandedOperandIsReadThroughItsZeroStrides) {
  auto run = ops();
  const auto one = make_tensor({1, 1}, {2});
  const auto expanded = *one.view(DType::float64, {3, 4}, {0, 0}, 0);
  const auto b = random_tensor({4, 2}, 3);
  const auto got = run.tensor("aten.mm.default", {Datum{expanded}, Datum{b}});
  const auto all = make_tensor({3, 4}, std::vector<double>(12, 2));
  expect_close(got, run.tensor("aten.mm.default", {Datum{all}, Datum{b}}));
}

TEST(Matmul, AddmmScalesAndBroadcastsSelf) {
  const auto result = ops().tensor(
      "aten.addmm.default", {Datum{make_tensor({2}, {1, 10})}, Datum{make_tensor({2, 1}, {1, 2})},
                             Datum{make_tensor({1, 2}, {3, 4})}, integer(2), integer(-1)});
  EXPECT_EQ(values_of(result), (std::vector<double>{-1, 16, -4, 12}));
}

TEST(Matmul, BetaZeroIgnoresNansOfSelf) {
  auto run = ops();
  const auto nan = make_tensor({1, 1}, {NAN});
  const auto two = make_tensor({1, 1}, {2});
  const auto ignored =
      run.tensor("aten.addmm.default", {Datum{nan}, Datum{two}, Datum{two}, integer(0)});
  EXPECT_EQ(values_of(ignored), std::vector<double>{4});
  const auto kept =
      run.tensor("aten.addmm.default", {Datum{nan}, Datum{two}, Datum{two}, integer(1)});
  EXPECT_TRUE(std::isnan(values_of(kept)[0]));
}

TEST(Matmul, AnEmptyInnerDimensionGivesZeros) {
  const auto result = ops().tensor(
      "aten.mm.default", {Datum{make_tensor({2, 0}, {})}, Datum{make_tensor({0, 3}, {})}});
  EXPECT_EQ(values_of(result), std::vector<double>(6, 0));
}

TEST(Matmul, SizesThatDoNotFitAreRefused) {
  const Datum a{make_tensor({2, 3}, std::vector<double>(6, 1))};
  const auto result = ops().try_run("aten.mm.default", {a, a});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("inner sizes"), std::string::npos)
      << result.error().message;
}

TEST(Matmul, VdotConjugatesItsFirstOperand) {
  auto z = *Tensor::contiguous(DType::complex128, {1});
  const std::vector<Complex> i{Complex(0, 1)};
  from_vector<Complex>(z, i);
  auto run = ops();
  const auto dot = to_vector<Complex>(run.tensor("aten.dot.default", {Datum{z}, Datum{z}}));
  const auto vdot = to_vector<Complex>(run.tensor("aten.vdot.default", {Datum{z}, Datum{z}}));
  EXPECT_EQ(dot[0], Complex(-1, 0));
  EXPECT_EQ(vdot[0], Complex(1, 0));
}

TEST(Matmul, AddrFollowsTheLayoutOfSelf) {
  auto run = ops();
  const Datum column{random_tensor({3}, 1)};
  const Datum row{random_tensor({4}, 2)};
  const auto self = random_tensor({3, 4}, 3);
  const auto plain = run.tensor("aten.addr.default", {Datum{self}, column, row});
  const auto transposed =
      run.tensor("aten.addr.default", {Datum{laid_out(self, {1, 0})}, column, row});
  EXPECT_EQ(plain.strides(), (Ints{4, 1}));
  EXPECT_EQ(transposed.strides(), (Ints{1, 3}));
  expect_close(transposed, plain);
}

TEST(Matmul, LinearAddsTheBiasToEveryRow) {
  auto run = ops();
  const auto result =
      run.tensor("aten.linear.default", {Datum{make_tensor({1, 2, 2}, {1, 2, 3, 4})},
                                         Datum{make_tensor({3, 2}, {1, 0, 0, 1, 1, 1})},
                                         Datum{make_tensor({3}, {10, 20, 30})}});
  EXPECT_EQ(result.sizes(), (Ints{1, 2, 3}));
  EXPECT_EQ(values_of(result), (std::vector<double>{11, 22, 33, 13, 24, 37}));
}

TEST(Matmul, OneDimensionalOperandsLoseTheirDimension) {
  auto run = ops();
  const Datum v{make_tensor({2}, {1, 2})};
  const Datum m{make_tensor({2, 2}, {1, 2, 3, 4})};
  EXPECT_EQ(values_of(run.tensor("aten.matmul.default", {v, v})), (std::vector<double>{5}));
  EXPECT_EQ(values_of(run.tensor("aten.matmul.default", {m, v})), (std::vector<double>{5, 11}));
  EXPECT_EQ(values_of(run.tensor("aten.matmul.default", {v, m})), (std::vector<double>{7, 10}));
}

}  // namespace
}  // namespace assay
