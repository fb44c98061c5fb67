// Where PyTorch 2.15 rounds on the way, its CPU kernels' numbers digit by digit.
#include <cmath>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;
using enum DType;

auto run() -> OpRunner {
  return OpRunner({add_grid_sampler_rows, add_histogram_rows, add_reduction_rows, add_resample_rows,
                   add_antialias_rows, add_batch_norm_rows, add_loss_rows, add_distance_rows,
                   add_special_rows, add_linalg_other_rows, add_sort_rows});
}
auto complex_matrix(const std::vector<Complex>& values, Ints sizes) -> Datum {
  auto tensor = *Tensor::contiguous(complex128, std::move(sizes));
  from_vector<Complex>(tensor, values);
  return {std::move(tensor)};
}
auto none() -> Datum {
  return {};
}

TEST(Rounding, GridSamplingOfHalvesRoundsEveryStep) {
  auto ops = run();
  const Datum x{
      make_tensor({1, 1, 3, 4},
                  {1.5, -2.25, 3.125, 0.7001953125, -1.2998046875, 2.900390625, -0.4499511719,
                   4.1015625, 1.099609375, -3.30078125, 2.19921875, 0.1500244141},
                  float16)};
  const Datum grid{make_tensor({1, 2, 2, 2},
                               {-0.9301757812, 0.4099121094, 0.330078125, -0.7700195312,
                                0.7202148438, 0.1800537109, -0.1500244141, 0.9599609375},
                               float16)};
  const auto sample = [&](int mode, int padding, bool corners) {
    return values_of(ops.tensor("aten.grid_sampler_2d.default",
                                {x, grid, integer(mode), integer(padding), flag(corners)}));
  };
  const std::pair<Values, Values> rows[] = {
      {sample(0, 0, true), {-0.2453613281, 2.287109375, 1.9853515625, -1.634765625}},
      {sample(0, 2, false), {0.1767578125, 2.736328125, 2.873046875, -2.201171875}},
      {sample(2, 0, true), {-0.4836425781, 2.607421875, 2.31640625, -2.2265625}},
      {sample(2, 2, false), {0.134765625, 3.58203125, 3.322265625, -3.681640625}}};
  for (const auto& [got, wanted] : rows)
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-9) << i;
}

TEST(Rounding, DeepGridsAreSampledCubically) {
  Values x;
  for (int i = 1; i < 28; ++i) x.push_back(std::sin(i));
  const auto got =
      values_of(run().tensor("aten.grid_sampler_3d.default",
                             {Datum{make_tensor({1, 1, 3, 3, 3}, x)},
                              Datum{make_tensor({1, 1, 1, 2, 3}, {.2, -.4, .6, -.7, .1, -.35})},
                              integer(2), integer(0), flag(true)}));
  EXPECT_NEAR(got[0], -0.037230033, 1e-6);
  EXPECT_NEAR(got[1], 0.1653488429, 1e-6);
}

TEST(Rounding, BinsAreFoundByDivisionInTheDtype) {
  auto ops = run();
  const Datum v{
      make_tensor({11}, {1.23, 4.56, 8.37, 9.99, 0.07, 3.3, 5.79, 2.4, 7.77, 6.661, 0.5}, float16)};
  const auto counts =
      values_of(ops.tensor("aten.histc.default", {v, integer(100), integer(0), integer(10)}));
  Ints filled;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) filled.push_back(static_cast<std::int64_t>(i));
  EXPECT_EQ(filled, (Ints{0, 5, 12, 24, 33, 45, 57, 66, 77, 83, 99}));

  // Columns whose ends are half a step away, in float32 not quite.
  const Datum row{make_tensor({1, 2}, {-8.478373527526855, -1.7658}, float32)};
  const auto pairs =
      values_of(ops.tensor("aten._histogramdd_from_bin_cts.default", {row, ints({3, 2})}));
  EXPECT_EQ(pairs, (Values{0, 0, 0, 1, 0, 0}));
}

TEST(Rounding, BytesAreResampledInWholeNumbersColumnsFirst) {
  auto ops = run();
  const Datum image{
      make_tensor({1, 1, 3, 4}, {4, 9, 250, 3, 17, 80, 1, 255, 66, 31, 5, 200}, uint8)};
  const auto resampled = [&](const char* name, const Ints& sizes, bool corners) {
    return values_of(ops.tensor(name, {image, ints(sizes), flag(corners)}));
  };
  EXPECT_EQ(resampled("aten.upsample_bilinear2d.default", {5, 6}, false),
            (Values{4,  7,   49,  210, 127, 3,  9,  24,  56,  132, 127, 104, 17, 49,  67,
                    14, 128, 255, 46,  49,  43, 11, 113, 222, 66,  49,  27,  9,  103, 200}));
  EXPECT_EQ(resampled("aten.upsample_bilinear2d.default", {2, 3}, true),
            (Values{4, 130, 3, 66, 18, 200}));
  EXPECT_EQ(resampled("aten.upsample_bicubic2d.default", {5, 3}, false),
            (Values{0, 165, 26, 9, 104, 114, 27, 23, 217, 50, 0, 202, 64, 0, 168}));
  EXPECT_EQ(resampled("aten._upsample_bilinear2d_aa.default", {2, 2}, false),
            (Values{41, 114, 42, 103}));
  EXPECT_EQ(resampled("aten._upsample_bicubic2d_aa.default", {2, 2}, false),
            (Values{36, 121, 37, 106}));
}

TEST(Rounding, ABatchOfOneKeepsTheRoundingOfItsShift) {
  const auto one = [](double value) { return Datum{make_tensor({1}, {value}, float32)}; };
  const Datum x{make_tensor({1, 1}, {-8.478373527526855}, float32)};
  const auto got = run().tensor("aten.native_batch_norm.default",
                                {x, one(-4.3228044509887695), one(-2.400455951690674), none(),
                                 none(), flag(true), real(0.5), real(1e-5)});
  EXPECT_EQ(values_of(got)[0], -2.4008336067199707);
}

TEST(Rounding, RunningStatisticsThatShareAnElementAreUpdatedInTurn) {
  const auto shared = [](double value) {
    auto tensor = make_tensor({1}, {value}, float32);
    return *tensor.view(float32, {2}, {0}, 0);
  };
  const auto mean = shared(2);
  const auto variance = shared(3);
  run().run("aten.native_batch_norm.default",
            {Datum{make_tensor({3, 2}, {1, 2, 3, 5, 4, -1}, float32)}, none(), none(), Datum{mean},
             Datum{variance}, flag(true), real(.25), real(1e-5)});
  EXPECT_NEAR(values_of(mean)[0], 2.125, 1e-6);
  EXPECT_NEAR(values_of(variance)[0], 4.375, 1e-6);
}

TEST(Rounding, AnEmptyBatchNeedsNoParameters) {
  const auto nothing = [] { return Datum{make_tensor({0}, {}, float32)}; };
  const auto results = run().run("aten.native_batch_norm.default",
                                 {Datum{make_tensor({0, 1}, {}, float32)}, nothing(), nothing(),
                                  nothing(), nothing(), flag(false), real(.5), real(1e-5)});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[1].real()->sizes(), Ints{0});
}

TEST(Rounding, SoftMarginsOfHalvesOverflow) {
  const auto got = values_of(run().tensor(
      "aten.soft_margin_loss_backward.default",
      {Datum{make_tensor({}, {1}, float16)}, Datum{make_tensor({3}, {-20, 2, -1}, float16)},
       Datum{make_tensor({3}, {1, -3, 2}, float16)}, integer(2)}));
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], 2.9921875);
  EXPECT_EQ(got[2], -1.76171875);
}

TEST(Rounding, ScalingByPowersKeepsZeroAndInfinity) {
  const auto inf = std::numeric_limits<double>::infinity();
  const auto got =
      run().tensor("aten.ldexp.Tensor", {Datum{make_tensor({3}, {3, 0, inf}, float16)},
                                         Datum{make_tensor({3}, {2, 2000, -2000}, int64)}});
  EXPECT_EQ(got.dtype(), float16);
  EXPECT_EQ(values_of(got), (Values{12, 0, inf}));
}

TEST(Rounding, TheMedianOfNothingIsAConvertedNan) {
  auto ops = run();
  const auto median = [&](DType dtype) {
    return values_of(ops.tensor("aten.median.default", {Datum{make_tensor({0}, {}, dtype)}}))[0];
  };
  EXPECT_TRUE(std::isnan(median(float32)));
  EXPECT_EQ(median(int64), -9223372036854775808.0);
  EXPECT_EQ(median(int32), -2147483648.0);
  EXPECT_EQ(median(uint8), 0);
}

TEST(ComplexNumbers, NormsScansAndInverses) {
  auto ops = run();
  const auto z =
      complex_matrix({{.3, 1}, {-1, 2}, {2, -.5}, {.5, .1}, {.25, -.2}, {-.75, .3}}, {2, 3});
  const auto close = [](const Tensor& got, const std::vector<Complex>& wanted) {
    const auto values = to_vector<Complex>(got);
    ASSERT_EQ(values.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_LT(std::abs(values[i] - wanted[i]), 1e-7) << i;
  };
  close(ops.tensor("aten.renorm.default", {z, integer(2), integer(0), real(1)}),
        {{0.0932955628, 0.3109851970},
         {-0.3109851970, 0.6219703940},
         {0.6219703940, -0.1554925985},
         {0.4962916156, 0.0992583246},
         {0.2481458078, -0.1985166492},
         {-0.7444374234, 0.2977749812}});
  close(ops.tensor("aten.logcumsumexp.default", {z, integer(1)}), {{0.3, 1},
                                                                   {0.4569572560, 1.1972930405},
                                                                   {1.9958590399, -0.2854560353},
                                                                   {0.5, 0.1},
                                                                   {1.0648235554, -0.0312080948},
                                                                   {1.2091226125, 0.0146533324}});
  // Of a Hermitian matrix the lower triangle counts, and of its diagonal the real part.
  close(ops.tensor("aten.linalg_pinv.atol_rtol_tensor",
                   {complex_matrix({{2, 1}, {1, -1}, {1, 1}, {3, -2}}, {2, 2}), none(), none(),
                    flag(true)}),
        {{0.75, 0}, {-0.25, 0.25}, {-0.25, -0.25}, {0.5, 0}});
}

/// What the repro scripts of bundles fill with, in PyTorch.
TEST(Fills, PartsOfComplexNumbersAreElementsOfTheirOwn) {
  auto tensor = Tensor::contiguous(DType::complex64, {3}).value();
  fill_storage(*tensor.storage, DType::complex64, {.seed = 1, .lo = -1, .hi = 1});
  const auto values = to_vector<Complex>(tensor);
  const std::array<Complex, 3> expected = {
      Complex{0.7033, 0.4830}, {0.7492, 0.3070}, {0.3139, -0.5207}};
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_LT(std::abs(values[i] - expected[i]), 1e-4) << i;
}

}  // namespace
}  // namespace assay
