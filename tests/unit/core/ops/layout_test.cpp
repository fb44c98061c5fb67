// Layouts and values that PyTorch 2.11 produces in eager mode on permuted inputs, where operators
// that look alike differ.
#include <cmath>
#include <numeric>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

auto ops() -> OpRunner {
  return OpRunner({add_index_rows, add_sort_rows, add_arrange_rows, add_view_rows, add_copy_rows,
                   add_creation_rows, add_pointwise_rows, add_unary_rows, add_composite_rows,
                   add_loss_rows, add_reduction_rows, add_assemble_rows, add_inplace_rows});
}
auto counted(Ints sizes) -> Tensor {
  std::vector<double> values(static_cast<std::size_t>(numel(sizes)));
  std::iota(values.begin(), values.end(), 0.0);
  return make_tensor(std::move(sizes), values);
}

/// [2, 3, 4] with strides [3, 1, 6].
auto permuted() -> Tensor {
  return laid_out(counted({2, 3, 4}), {2, 0, 1});
}

TEST(EagerLayout, MaskedFillIsRowMajorWhateverItsInput) {
  const auto mask =
      laid_out(make_tensor({2, 3, 4}, std::vector<double>(24, 1), DType::boolean), {2, 1, 0});
  auto run = ops();
  const auto filled =
      run.tensor("aten.masked_fill.Scalar", {Datum{permuted()}, Datum{mask}, real(2)});
  EXPECT_EQ(filled.strides(), (Ints{12, 4, 1}));
  EXPECT_EQ(values_of(filled), std::vector<double>(24, 2));
  EXPECT_FALSE(run.try_run("aten.masked_fill.Tensor",
                           {Datum{permuted()}, Datum{mask}, Datum{make_tensor({1}, {2})}}))
      << "value must have no dimensions";
}

TEST(EagerLayout, ANumberToATensorsPowerIsRowMajor) {
  auto run = ops();
  EXPECT_EQ(run.tensor("aten.pow.Scalar", {real(2), Datum{permuted()}}).strides(),
            (Ints{12, 4, 1}));
  EXPECT_EQ(run.tensor("aten.pow.Tensor_Scalar", {Datum{permuted()}, real(2)}).strides(),
            (Ints{3, 1, 6}));
}

TEST(EagerLayout, ReversedSubtractionPrefersTheSecondOperand) {
  const Datum a{permuted()};
  const Datum b{laid_out(counted({2, 3, 4}), {1, 0, 2})};
  auto run = ops();
  EXPECT_EQ(run.tensor("aten.sub.Tensor", {a, b}).strides(), (Ints{3, 1, 6}));
  EXPECT_EQ(run.tensor("aten.rsub.Tensor", {a, b}).strides(), (Ints{4, 8, 1}));
}

TEST(EagerLayout, AbsOfComplexNumbersKeepsTheStrideOfASingleRow) {
  auto run = ops();
  const auto abs = [&](DType dtype) {
    return run.tensor("aten.abs.default", {Datum{*Tensor::allocate(dtype, {1, 4}, {9, 1})}})
        .strides();
  };
  EXPECT_EQ(abs(DType::complex64), (Ints{9, 1}));
  EXPECT_EQ(abs(DType::float32), (Ints{4, 1}));
}

TEST(EagerLayout, StackSplitsADimensionOfCat) {
  const Datum x{channels_last(counted({1, 2, 1, 4}))};
  const Ints expected[] = {
      {8, 2, 1, 8, 2}, {6, 2, 1, 24, 6}, {2, 1, 8, 8, 2}, {2, 1, 24, 8, 2}, {24, 12, 12, 3, 1}};
  for (int dim = 0; dim < 5; ++dim) {
    auto run = ops();
    const auto at = [&](int d) {
      return run.tensor("aten.stack.default", {Datum{DatumList{x, x, x}}, integer(d)});
    };
    EXPECT_EQ(at(dim).strides(), expected[dim]) << dim;
    EXPECT_EQ(at(dim - 5).strides(), expected[dim]) << dim - 5;
  }
}

TEST(EagerLayout, PixelUnshuffleClonesAnEmptyImageWhateverTheFactor) {
  auto run = ops();
  const auto image = laid_out(counted({1, 1, 6, 6}), {3, 0, 1, 2});
  EXPECT_EQ(run.tensor("aten.pixel_unshuffle.default", {Datum{image}, integer(1)}).strides(),
            (Ints{36, 36, 6, 1}));
  EXPECT_EQ(run.tensor("aten.pixel_unshuffle.default", {Datum{counted({1, 0, 4, 4})}, integer(2)})
                .sizes(),
            (Ints{1, 0, 4, 4}));
}

TEST(EagerLayout, ViewCopyTakesStridesThatAllowNoView) {
  auto run = ops();
  EXPECT_FALSE(run.try_run("aten.view.default", {Datum{permuted()}, ints({4, 6})}));
  const auto copy = run.tensor("aten.view_copy.default", {Datum{permuted()}, ints({4, 6})});
  EXPECT_EQ(copy.strides(), (Ints{6, 1}));
  EXPECT_EQ(values_of(copy), values_of(counted({4, 6})));
}

TEST(EagerLayout, DistinctSlicesAreMovedBackToTheirDimension) {
  const auto x = counted({2, 3, 4});
  const Ints expected[] = {{12, 4, 1}, {4, 8, 1}, {3, 1, 6}};
  auto run = ops();
  for (int dim = 0; dim < 3; ++dim)
    for (const auto& result : {run.tensor("aten.unique_dim.default", {Datum{x}, integer(dim)}),
                               run.tensor("aten.unique_consecutive.default",
                                          {Datum{x}, flag(false), flag(false), integer(dim)})}) {
      EXPECT_EQ(result.strides(), expected[dim]);
      EXPECT_EQ(values_of(result), values_of(x));
    }
}

TEST(EagerValues, RangesTakeBoolsAndWholeEnds) {
  auto run = ops();
  const auto range = run.tensor("aten.arange.start_step", {flag(false), flag(true), flag(true)});
  EXPECT_EQ(values_of(range), std::vector<double>{0});
  const Datum int64{DType::int64};
  const auto whole =
      run.tensor("aten.linspace.default", {real(4.3), integer(0), integer(50), int64});
  EXPECT_EQ(values_of(whole)[1], 3);
  const Datum complex64{DType::complex64};
  const auto complex =
      run.tensor("aten.linspace.default", {integer(0), integer(1), integer(5), complex64});
  EXPECT_EQ(to_vector<Complex>(complex)[1], Complex(0.25));
}

TEST(EagerValues, NumbersAreWrappedToTheIntegersTheyMeet) {
  auto run = ops();
  const Datum bytes{make_tensor({3}, {255, 1, 44}, DType::uint8)};
  EXPECT_EQ(values_of(run.tensor("aten.eq.Scalar", {bytes, integer(-1)})),
            (std::vector<double>{1, 0, 0}));
}

TEST(EagerValues, QuotientsAreRoundedBeforeTheyAreTruncated) {
  auto run = ops();
  const auto bf16 = [](const std::vector<double>& values) {
    return Datum{make_tensor({2}, values, DType::bfloat16)};
  };
  const auto quotient = run.tensor(
      "aten.div.Tensor_mode",
      {bf16({-6.3125, 5.84375}), bf16({1.0546875, 1.0546875}), Datum{std::string("trunc")}});
  EXPECT_EQ(values_of(quotient), (std::vector<double>{-6, 5}));
}

TEST(EagerValues, SoftMarginLossOverflowsInSixteenBits) {
  auto run = ops();
  const Datum x{make_tensor({2}, {-4, 1}, DType::float16)};
  const Datum target{make_tensor({2}, {3, 1}, DType::float16)};
  const auto losses =
      values_of(run.tensor("aten.soft_margin_loss.default", {x, target, integer(0)}));
  EXPECT_TRUE(std::isinf(losses[0]));
  EXPECT_NEAR(losses[1], 0.3132, 1e-4);
  EXPECT_TRUE(std::isinf(values_of(run.tensor("aten.soft_margin_loss.default", {x, target}))[0]));
}

TEST(EagerValues, ComplexForms) {
  const auto complex = [](const std::vector<Complex>& values) {
    auto tensor =
        *Tensor::contiguous(DType::complex128, {static_cast<std::int64_t>(values.size())});
    from_vector<Complex>(tensor, values);
    return tensor;
  };
  const Datum z{complex({{0.3, 0.4}, {-2, 1}})};
  auto run = ops();
  const std::pair<const char*, std::vector<Complex>> rows[] = {
      {"aten.exp2.default",
       {{1.184126211560744, 0.33698914167254423}, {0.19230972534099303, 0.1597403190784087}}},
      {"aten.expm1.default",
       {{0.2433022950695026, 0.5256597791969788}, {-0.9268780344019404, 0.1138807140643681}}},
      {"aten.log1p.default",
       {{0.30759281954511664, 0.2984989315861793}, {0.34657359027997264, 2.356194490192345}}},
      {"aten.log2.default", {{-1, 1.3378042124509764}, {1.1609640474436813, 3.8634580356017056}}},
      {"aten.sinc.default",
       {{1.0701700220757462, -0.42000252232156654}, {0.7352155820749952, -1.4704311641499914}}}};
  for (const auto& [name, wanted] : rows) {
    SCOPED_TRACE(name);
    expect_close(run.tensor(name, {z}), complex(wanted));
  }
  const Complex sum{0.3808664557937579, 0.4522364799774712};
  const auto swapped = run.tensor("aten.flip.default", {z, ints({0})});
  expect_close(run.tensor("aten.logaddexp.default", {z, Datum{swapped}}), complex({sum, sum}));
  expect_close(complex({sum}), run.tensor("aten.logsumexp.default", {z, ints({0}), flag(true)}));
}

}  // namespace
}  // namespace assay
