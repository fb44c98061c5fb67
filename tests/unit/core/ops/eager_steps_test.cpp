// Operators that PyTorch makes of several, or whose kernels round on the way: what they lose there,
// against PyTorch 2.11 in eager mode.
#include "core/ops/randomness.h"
#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}
auto run(std::string_view overload, DatumList args) -> DatumList {
  const auto* row = table().find(overload);
  auto bound = bind_arguments(row->schema, std::move(args), {});
  EXPECT_TRUE(bound) << overload;
  RealDomain domain(table());
  auto result = domain.run(*row, *std::move(bound));
  EXPECT_TRUE(result) << overload << ": " << result.error().message;
  if (const auto* list = result->list()) return *list;
  return {*std::move(result)};
}
auto on_gpu(Tensor tensor) -> Datum {
  tensor.meta.device = {"cuda", 0};
  return {std::move(tensor)};
}
auto bfloats(const Values& values) -> Datum {
  return {make_tensor({std::ssize(values)}, values, DType::bfloat16)};
}

TEST(EagerSteps, LossesOfLogitsRoundEachStep) {
  const auto losses = run("aten.binary_cross_entropy_with_logits.default",
                          {bfloats({2.5, -3.25, 0.75, 9}), bfloats({.3, -2, .9, 1.7}),
                           bfloats({-3, 7.1, 2.3, 5.5}), bfloats({1.7, .2, 3, -4}), integer(0)});
  EXPECT_EQ(values_of(*losses[0].real()), (Values{-5.53125, -8.875, 2.65625, -34.75}));
}

TEST(EagerSteps, FarTailsOfTheNormalDistributionAreLost) {
  const auto tail =
      run("aten.special_ndtr.default", {Datum{make_tensor({2}, {-8.5, 0}, DType::float32)}});
  EXPECT_EQ(values_of(*tail[0].real()), (Values{0, 0.5}));
}

/// All dimensions go through one call, which has the layout.
TEST(EagerSteps, TransformsToRealNumbersAreOneCall) {
  const auto made = run("aten.fft_irfft2.default",
                        {on_gpu(random_tensor({5, 6, 7}, 3)), Datum{}, ints({0, -1}), Datum{}});
  EXPECT_EQ(made[0].real()->sizes(), (Ints{5, 6, 12}));
  EXPECT_EQ(made[0].real()->strides(), (Ints{12, 60, 1}));
  const auto cut = run("aten.fft_irfftn.default",
                       {Datum{random_tensor({4, 6}, 3)}, ints({2, 6}), Datum{}, Datum{}});
  const auto whole = run(
      "aten.fft_irfft.default",
      {run("aten.fft_ifft.default", {Datum{random_tensor({4, 6}, 3)}, integer(2), integer(0)})[0],
       integer(6)});
  expect_close(*cut[0].real(), *whole[0].real());
}

/// CUDA's gradients compute positions in the elements' type: 85.08 of 0 to 99 is 85 in bfloat16.
/// Its samples are computed in float32.
TEST(EagerSteps, GradientsOfSamplesRoundPositionsOnCuda) {
  Values peak(100, 0);
  peak[86] = 1;
  const auto input = on_gpu(make_tensor({1, 1, 1, 1, 100}, peak, DType::bfloat16));
  const auto grid = on_gpu(make_tensor({1, 1, 1, 1, 3}, {0.71875, 0, 0}, DType::bfloat16));
  const auto sample =
      run("aten.grid_sampler_3d.default", {input, grid, integer(0), integer(0), flag(true)});
  EXPECT_EQ(values_of(*sample[0].real()), (Values{0.078125}));
  const auto one = on_gpu(make_tensor({1, 1, 1, 1, 1}, {1}, DType::bfloat16));
  const auto slopes =
      run("aten.grid_sampler_3d_backward.default",
          {one, input, grid, integer(0), integer(0), flag(true), flags({true, true})});
  const auto of_input = values_of(*slopes[0].real());
  EXPECT_EQ(of_input[85], 1);
  EXPECT_EQ(of_input[86], 0);
  EXPECT_EQ(values_of(*slopes[1].real()), (Values{99 / 2., 0, 0}));
}

/// Powers of 0 are exp(y log(0)), but for numbers that have a shorter way.
TEST(EagerSteps, PowersOfComplexZero) {
  auto zero = *Tensor::contiguous(DType::complex64, {1}), exponent = zero;
  exponent.storage = std::make_shared<Storage>(zero.storage->size_bytes());
  from_vector<Complex>(zero, std::vector{Complex(0)});
  const auto by_tensor = [&](Complex y) {
    from_vector<Complex>(exponent, std::vector{y});
    return to_vector<Complex>(
        *run("aten.pow.Tensor_Tensor", {Datum{zero}, Datum{exponent}})[0].real())[0];
  };
  EXPECT_TRUE(std::isnan(by_tensor({0, 1}).real()));
  EXPECT_TRUE(std::isnan(by_tensor({0, 0}).imag()));
  EXPECT_EQ(by_tensor({1, 1}), Complex(0));
  EXPECT_TRUE(std::isinf(by_tensor({-1, 0}).real()));
  const auto by_number = [&](double y) {
    return to_vector<Complex>(*run("aten.pow.Tensor_Scalar", {Datum{zero}, real(y)})[0].real())[0];
  };
  EXPECT_EQ(by_number(0), Complex(1));
  EXPECT_EQ(by_number(0.5), Complex(0));
  EXPECT_EQ(by_number(2), Complex(0));
}

/// cuBLAS exchanges rows of several matrices by modulus, LAPACK by |re| + |im|: 4 or 2.5 + 2.5 i.
TEST(EagerSteps, PivotsOfComplexMatrices) {
  auto matrices = *Tensor::contiguous(DType::complex64, {2, 2, 2});
  const std::vector<Complex> one = {4, 1, Complex(2.5, 2.5), 2};
  auto both = one;
  both.insert(both.end(), one.begin(), one.end());
  from_vector<Complex>(matrices, both);
  const auto pivots = [](const Datum& of) {
    return to_vector<std::int64_t>(
        *run("aten.linalg_lu_factor_ex.default", {of, flag(true), flag(false)})[1].real());
  };
  EXPECT_EQ(pivots({matrices}), (Ints{2, 2, 2, 2}));
  EXPECT_EQ(pivots(on_gpu(matrices)), (Ints{1, 2, 1, 2}));
  auto single = *Tensor::contiguous(DType::complex64, {2, 2});
  from_vector<Complex>(single, one);
  EXPECT_EQ(pivots(on_gpu(single)), (Ints{2, 2}));
}

/// The first pivot that is 0 is told; nothing is divided by it.
TEST(EagerSteps, SingularComplexMatricesHaveFactors) {
  auto matrices = *Tensor::contiguous(DType::complex64, {2, 2, 2});
  const std::vector<Complex> values = {0, 1, 0, 2, 1, 0, 0, 1};
  from_vector<Complex>(matrices, values);
  const auto made =
      run("aten.linalg_lu_factor_ex.default", {on_gpu(matrices), flag(true), flag(false)});
  EXPECT_EQ(to_vector<Complex>(*made[0].real()), values);
  EXPECT_EQ(to_vector<std::int64_t>(*made[1].real()), (Ints{1, 2, 1, 2}));
  EXPECT_EQ(to_vector<std::int64_t>(*made[2].real()), (Ints{1, 0}));
}

TEST(EagerSteps, ForcedStridesCopyOnlyWhatHasOthers) {
  const Datum x{make_tensor({2, 3}, {1, 2, 3, 4, 5, 6})};
  const auto same = run("prims.inductor_force_stride_order.default", {x, ints({3, 1})});
  EXPECT_EQ(same[0].real()->storage, x.real()->storage);
  const auto other = run("prims.inductor_force_stride_order.default", {x, ints({1, 2})});
  EXPECT_EQ(other[0].real()->strides(), (Ints{1, 2}));
  EXPECT_EQ(values_of(*other[0].real()), (Values{1, 2, 3, 4, 5, 6}));
}

TEST(EagerSteps, ContractionsKeepWholeNumbersTypes) {
  const auto a = make_tensor({1, 1, 1}, {3}, DType::int32);
  const auto b = make_tensor({2, 1, 2}, {1, 2, 3, 4}, DType::int32);
  const auto made = run("aten.tensordot.default", {Datum{a}, Datum{b}, ints({0, 1}), ints({2, 0})});
  EXPECT_EQ(made[0].real()->dtype(), DType::int32);
  EXPECT_EQ(values_of(*made[0].real()), (Values{30}));
}

TEST(Randomness, IsAMatterOfTheProbabilityThatElementsAreDropped) {
  const auto* row = table().find("aten.scaled_dot_product_attention.default");
  const auto of = [&](double probability, bool has_seed) {
    const Datum x{random_tensor({1, 1, 2, 2}, 1)};
    const auto args = bind_arguments(row->schema, {x, x, x, Datum{}, real(probability)}, {});
    return randomness(*row, *args, has_seed);
  };
  EXPECT_EQ(of(0, false), Randomness::none);
  EXPECT_EQ(of(0.5, false), Randomness::numbers);
  EXPECT_EQ(of(0.5, true), Randomness::none);
}

}  // namespace
}  // namespace assay
