#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

auto ops() -> OpRunner {
  return OpRunner({add_convolution_rows, add_view_rows});
}

/// The parameters of aten.convolution after the tensors.
struct Params {
  Ints stride, padding, dilation;
  bool transposed = false;
  Ints output_padding;
  std::int64_t groups = 1;
};
auto plain(std::size_t spatial) -> Params {
  return {Ints(spatial, 1), Ints(spatial, 0), Ints(spatial, 1), false, Ints(spatial, 0), 1};
}
auto convolve(OpRunner& run, const Tensor& x, const Tensor& w, const Params& p,
              const Datum& bias = {}) -> Tensor {
  return run.tensor("aten.convolution.default",
                    {Datum{x}, Datum{w}, bias, ints(p.stride), ints(p.padding), ints(p.dilation),
                     flag(p.transposed), ints(p.output_padding), integer(p.groups)});
}
auto gradients(OpRunner& run, const Tensor& grad, const Tensor& x, const Tensor& w, const Params& p)
    -> DatumList {
  return run.run(
      "aten.convolution_backward.default",
      {Datum{grad}, Datum{x}, Datum{w}, Datum{}, ints(p.stride), ints(p.padding), ints(p.dilation),
       flag(p.transposed), ints(p.output_padding), integer(p.groups), flags({true, true, true})});
}

TEST(Convolution, SumsTheInputUnderTheKernel) {
  auto run = ops();
  const auto x = make_tensor({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto w = make_tensor({1, 1, 2, 2}, {1, 10, 100, 1000});
  const auto result = convolve(run, x, w, plain(2), Datum{make_tensor({1}, {0.5})});
  EXPECT_EQ(values_of(result), (std::vector<double>{5421.5, 6532.5, 8754.5, 9865.5}));
}

TEST(Convolution, StridePaddingAndDilationPlaceTheTaps) {
  auto run = ops();
  auto p = plain(1);
  p.stride = {2};
  p.padding = {1};
  p.dilation = {2};
  const auto x = make_tensor({1, 1, 5}, {1, 2, 3, 4, 5});
  const auto w = make_tensor({1, 1, 2}, {1, 10});
  // Taps at (-1, 1), (1, 3), (3, 5): 10*2, 2+10*4, 4+padding.
  EXPECT_EQ(values_of(convolve(run, x, w, p)), (std::vector<double>{20, 42, 4}));
}

TEST(Convolution, AKernelOfOneInTheMiddleIsTheIdentity) {
  auto run = ops();
  for (const std::size_t spatial : {1U, 2U, 3U}) {
    Ints sizes{2, 3};
    Ints kernel{3, 1};
    sizes.resize(spatial + 2, 5);
    kernel.resize(spatial + 2, 3);
    const auto x = random_tensor(sizes, 7);
    std::vector<double> taps(static_cast<std::size_t>(numel(kernel)), 0);
    const auto plane = taps.size() / 3;
    for (std::size_t c = 0; c < 3; ++c) taps[c * plane + plane / 2] = 1;
    auto p = plain(spatial);
    p.padding = Ints(spatial, 1);
    p.groups = 3;
    expect_close(convolve(run, x, make_tensor(kernel, taps), p), x);
  }
}

TEST(Convolution, GroupsAreConvolutionsOfTheirOwn) {
  auto run = ops();
  const auto x = random_tensor({1, 4, 5, 5}, 1);
  const auto w = random_tensor({6, 2, 3, 3}, 2);
  auto p = plain(2);
  p.groups = 2;
  const auto whole = values_of(convolve(run, x, w, p));
  p.groups = 1;
  const auto half = *x.view(DType::float64, {1, 2, 5, 5}, {100, 25, 5, 1}, 50);
  const auto weights = *w.view(DType::float64, {3, 2, 3, 3}, {18, 9, 3, 1}, 54);
  const auto second = values_of(convolve(run, half, weights, p));
  ASSERT_EQ(whole.size(), 2 * second.size());
  for (std::size_t i = 0; i < second.size(); ++i)
    EXPECT_NEAR(whole[second.size() + i], second[i], 1e-12);
}

TEST(Convolution, EveryLayoutOfTheOperandsGivesTheSameValues) {
  auto run = ops();
  const auto x = random_tensor({2, 4, 6, 5}, 1);
  const auto w = random_tensor({3, 4, 3, 2}, 2);
  const auto want = convolve(run, x, w, plain(2));
  for (const auto& input : {channels_last(x), reversed_and_spaced(x), laid_out(x, {2, 0, 3, 1})})
    for (const auto& weight : {w, channels_last(w), reversed_and_spaced(w)})
      expect_close(convolve(run, input, weight, plain(2)), want);
}

TEST(Convolution, ChannelsLastOfEitherOperandReachesTheResult) {
  auto run = ops();
  const auto x = random_tensor({2, 4, 6, 5}, 1, DType::float32);
  const auto w = random_tensor({3, 4, 3, 3}, 2, DType::float32);
  EXPECT_EQ(convolve(run, x, w, plain(2)).strides(), (Ints{36, 12, 3, 1}));
  EXPECT_EQ(convolve(run, channels_last(x), w, plain(2)).strides(), (Ints{36, 1, 9, 3}));
  EXPECT_EQ(convolve(run, x, channels_last(w), plain(2)).strides(), (Ints{36, 1, 9, 3}));
}

TEST(Convolution, ThreeDimensionsKeepChannelsLastOnlyInOneDnn) {
  auto run = ops();
  const auto w = random_tensor({2, 2, 2, 2, 2}, 2, DType::float32);
  const auto batch = channels_last(random_tensor({2, 2, 3, 3, 3}, 1, DType::float32));
  const auto single = channels_last(random_tensor({1, 2, 3, 3, 3}, 1, DType::float32));
  EXPECT_EQ(convolve(run, batch, w, plain(3)).strides(), (Ints{16, 1, 8, 4, 2}));
  EXPECT_EQ(convolve(run, single, w, plain(3)).strides(), (Ints{16, 8, 4, 2, 1}));
}

TEST(Convolution, TransposedIsTheAdjoint) {
  auto run = ops();
  auto p = plain(2);
  p.stride = {2, 1};
  p.padding = {1, 0};
  const auto x = random_tensor({1, 4, 5, 4}, 1);
  const auto w = random_tensor({6, 2, 3, 2}, 2);
  p.groups = 2;
  const auto y = convolve(run, x, w, p);
  const auto z = random_tensor(y.sizes(), 3);
  p.transposed = true;
  const auto back = convolve(run, z, w, p);
  ASSERT_EQ(back.sizes(), x.sizes());
  const auto dot = [](const Tensor& a, const Tensor& b) {
    const auto u = values_of(a);
    const auto v = values_of(b);
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += u[i] * v[i];
    return sum;
  };
  EXPECT_NEAR(dot(y, z), dot(x, back), 1e-12);
}

TEST(Convolution, OutputPaddingGrowsTheEnd) {
  auto run = ops();
  auto p = plain(1);
  p.transposed = true;
  p.stride = {2};
  p.output_padding = {1};
  const auto result =
      convolve(run, make_tensor({1, 1, 2}, {1, 2}), make_tensor({1, 1, 2}, {1, 10}), p);
  EXPECT_EQ(values_of(result), (std::vector<double>{1, 10, 2, 20, 0}));
}

TEST(ConvolutionBackward, AgreesWithFiniteDifferences) {
  auto run = ops();
  for (const bool transposed : {false, true})
    for (const std::int64_t groups : {1, 2}) {
      auto p = plain(2);
      p.stride = {2, 1};
      p.padding = {1, 1};
      p.dilation = {1, 2};
      p.transposed = transposed;
      p.groups = groups;
      const auto x = random_tensor({2, 4, 5, 4}, 1);
      const auto w = random_tensor({4, 4 / groups, 2, 2}, 2);
      const auto y = convolve(run, x, w, p);
      const auto grad = random_tensor(y.sizes(), 3);
      const auto grads = gradients(run, reversed_and_spaced(grad), x, w, p);
      ASSERT_EQ(grads.size(), 3U);
      expect_gradient([&](const Tensor& at) { return convolve(run, at, w, p); }, x, grad,
                      *grads[0].real());
      expect_gradient([&](const Tensor& at) { return convolve(run, x, at, p); }, w, grad,
                      *grads[1].real());
      const auto bias = make_tensor({4}, {0, 0, 0, 0});
      expect_gradient([&](const Tensor& at) { return convolve(run, x, w, p, Datum{at}); }, bias,
                      grad, *grads[2].real());
    }
}

TEST(ConvolutionBackward, OneChannelPerGroupAgreesWithFiniteDifferences) {
  auto run = ops();
  auto p = plain(2);
  p.groups = 3;
  p.stride = {1, 2};
  p.padding = {1, 1};
  const auto x = random_tensor({1, 3, 4, 5}, 1);
  const auto w = random_tensor({6, 1, 3, 3}, 2);
  const auto grad = random_tensor(convolve(run, x, w, p).sizes(), 3);
  const auto grads = gradients(run, grad, x, w, p);
  expect_gradient([&](const Tensor& at) { return convolve(run, at, w, p); }, x, grad,
                  *grads[0].real());
  expect_gradient([&](const Tensor& at) { return convolve(run, x, at, p); }, w, grad,
                  *grads[1].real());
}

TEST(ConvolutionBackward, MaskedGradientsAreNone) {
  auto run = ops();
  const auto x = random_tensor({1, 1, 3}, 1);
  const auto w = random_tensor({1, 1, 2}, 2);
  const auto grads = run.run(
      "aten.convolution_backward.default",
      {Datum{random_tensor({1, 1, 2}, 3)}, Datum{x}, Datum{w}, Datum{}, ints({1}), ints({0}),
       ints({1}), flag(false), ints({0}), integer(1), flags({false, true, false})});
  ASSERT_EQ(grads.size(), 3U);
  EXPECT_TRUE(grads[0].is_none());
  EXPECT_TRUE(grads[1].real());
  EXPECT_TRUE(grads[2].is_none());
}

TEST(Convolution, ColumnsInSeveralChunksGiveTheSameValues) {
  auto run = ops();
  // 64 * 9 taps by 100 columns per row: the column buffer holds 18 of the 100 rows.
  constexpr std::int64_t kSide = 102;
  const auto x = random_tensor({1, 64, kSide, kSide}, 1);
  const auto w = random_tensor({1, 64, 3, 3}, 2);
  const auto whole = convolve(run, x, w, plain(2));
  for (const std::int64_t row : {0, 17, 18, 55, 99}) {
    const auto band =
        *x.view(DType::float64, {1, 64, 3, kSide}, contiguous_strides(x.sizes()), row * kSide);
    const auto want = values_of(convolve(run, band, w, plain(2)));
    const auto got = values_of(whole);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[static_cast<std::size_t>(row) * 100 + i], want[i], 1e-10);
  }
}

TEST(Convolution, Conv2dTakesAnInputWithoutBatch) {
  auto run = ops();
  const auto x = random_tensor({2, 5, 5}, 1);
  const auto w = random_tensor({3, 2, 3, 3}, 2);
  const auto single = run.tensor("aten.conv2d.default", {Datum{x}, Datum{w}});
  const auto batched = *x.view(DType::float64, {1, 2, 5, 5}, {50, 25, 5, 1}, 0);
  EXPECT_EQ(single.sizes(), (Ints{3, 3, 3}));
  EXPECT_EQ(values_of(single), values_of(convolve(run, batched, w, plain(2))));
}

}  // namespace
}  // namespace assay
