// Rows of programs exported without decompositions, against what PyTorch computes.
#include <cmath>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;

auto run() -> OpRunner {
  return OpRunner({add_window_rows, add_vision_rows, add_fake_quantize_rows, add_linalg_norm_rows,
                   add_fft_rows, add_view_rows, add_copy_rows, add_creation_rows, add_padding_rows,
                   add_pointwise_rows, add_unary_rows, add_arrange_rows, add_reduction_rows,
                   add_name_rows, add_linalg_factor_rows, add_composite_rows});
}
void expect_near(const Values& got, const Values& wanted, double within = 1e-6) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], within) << i;
}

TEST(Windows, ArePeriodicUnlessAskedNotTo) {
  auto ops = run();
  expect_near(values_of(ops.tensor("aten.hann_window.default", {integer(4)})), {0, 0.5, 1, 0.5});
  expect_near(values_of(ops.tensor("aten.hann_window.periodic", {integer(4), flag(false)})),
              {0, 0.75, 0.75, 0});
  expect_near(values_of(ops.tensor("aten.hamming_window.periodic_alpha_beta",
                                   {integer(4), flag(true), real(0.6), real(0.3)})),
              {0.3, 0.6, 0.9, 0.6});
  expect_near(values_of(ops.tensor("aten.bartlett_window.default", {integer(4)})),
              {0, 0.5, 1, 0.5});
  expect_near(values_of(ops.tensor("aten.blackman_window.default", {integer(4)})),
              {0, 0.34, 1, 0.34});
  expect_near(values_of(ops.tensor("aten.kaiser_window.default", {integer(1)})), {1});
}

TEST(ShortTimeFourier, TheInverseGivesTheSignalBack) {
  auto ops = run();
  const Datum signal{random_tensor({2, 30}, 5)};
  const Datum window{ops.tensor("aten.hann_window.default", {integer(8), Datum{DType::float64}})};
  const auto spectrum = ops.tensor("aten.stft.center", {signal,
                                                        integer(8),
                                                        integer(3),
                                                        integer(8),
                                                        window,
                                                        flag(true),
                                                        Datum{std::string("reflect")},
                                                        flag(false),
                                                        {},
                                                        flag(true)});
  EXPECT_EQ(spectrum.sizes(), (Ints{2, 5, 11}));
  const auto back = ops.tensor("aten.istft.default", {Datum{spectrum},
                                                      integer(8),
                                                      integer(3),
                                                      integer(8),
                                                      window,
                                                      flag(true),
                                                      flag(false),
                                                      {},
                                                      integer(30)});
  expect_near(values_of(back), values_of(*signal.real()), 1e-12);
}

TEST(Vision, SuppressionKeepsTheBestOfBoxesThatCoverEachOther) {
  const Datum boxes{make_tensor({3, 4}, {0, 0, 10, 10, 1, 1, 10, 10, 20, 20, 30, 30})};
  const Datum scores{make_tensor({3}, {0.5, 0.9, 0.7})};
  EXPECT_EQ(values_of(run().tensor("torchvision.nms.default", {boxes, scores, real(0.5)})),
            (Values{1, 2}));
  EXPECT_EQ(values_of(run().tensor("torchvision.nms.default", {boxes, scores, real(0.9)})),
            (Values{1, 2, 0}));
}

TEST(Vision, RegionsAreMeansOfSamples) {
  Values image(16);
  for (std::size_t i = 0; i < 16; ++i) image[i] = static_cast<double>(i);
  const auto got = run().tensor(
      "torchvision.roi_align.default",
      {Datum{make_tensor({1, 1, 4, 4}, image)}, Datum{make_tensor({1, 5}, {0, 0, 0, 4, 4})},
       real(1), integer(2), integer(2), integer(1), flag(true)});
  expect_near(values_of(got), {2.5, 4.5, 10.5, 12.5});
}

TEST(Vision, AnIdentityGridHasTheCentresOfPixels) {
  const Datum theta{make_tensor({1, 2, 3}, {1, 0, 0, 0, 1, 0})};
  expect_near(values_of(run().tensor("aten.affine_grid_generator.default",
                                     {theta, ints({1, 1, 1, 2}), flag(false)})),
              {-0.5, 0, 0.5, 0});
}

TEST(FakeQuantize, ScalesThatAreLearntHaveGradients) {
  auto ops = run();
  const Datum x{make_tensor({4}, {0.1, 0.26, -3, 3}, DType::float32)};
  const Datum scale{make_tensor({1}, {0.1}, DType::float32)};
  const Datum zero{make_tensor({1}, {0}, DType::float32)};
  const Datum grad{make_tensor({4}, {1, 1, 1, 1}, DType::float32)};
  expect_near(values_of(ops.tensor("aten._fake_quantize_learnable_per_tensor_affine.default",
                                   {x, scale, zero, integer(-10), integer(10)})),
              {0.1, 0.3, -1, 1});
  const auto grads = ops.run("aten._fake_quantize_learnable_per_tensor_affine_backward.default",
                             {grad, x, scale, zero, integer(-10), integer(10), real(1)});
  expect_near(values_of(*grads[0].real()), {1, 1, 0, 0});
  expect_near(values_of(*grads[1].real()), {0.4}, 1e-5);  // 0 + 0.4 - 10 + 10
  expect_near(values_of(*grads[2].real()), {-0.2});
}

TEST(FakeQuantize, IntegersTravelWithoutTheirScale) {
  auto ops = run();
  const Datum x{make_tensor({3}, {0.1, -0.26, 90}, DType::float32)};
  const auto q =
      ops.tensor("quantized_decomposed.quantize_per_tensor.default",
                 {x, real(0.1), integer(3), integer(-128), integer(127), Datum{DType::int8}});
  EXPECT_EQ(q.dtype(), DType::int8);
  EXPECT_EQ(values_of(q), (Values{4, 0, 127}));
  expect_near(values_of(ops.tensor("quantized_decomposed.dequantize_per_tensor.default",
                                   {Datum{q}, real(0.1), integer(3), integer(-128), integer(127),
                                    Datum{DType::int8}})),
              {0.1, -0.3, 12.4}, 1e-5);
}

TEST(MatrixNorms, OfEveryOrder) {
  auto ops = run();
  const Datum a{make_tensor({2, 2}, {1, -2, 3, 4})};
  const auto norm = [&](double order) {
    return values_of(ops.tensor("aten.linalg_matrix_norm.default", {a, real(order)}))[0];
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(norm(1), 6);
  EXPECT_EQ(norm(-1), 4);
  EXPECT_EQ(norm(inf), 7);
  EXPECT_EQ(norm(-inf), 3);
  EXPECT_NEAR(norm(2) * norm(-2), 10, 1e-12);  // |det|
  expect_near(values_of(ops.tensor("aten.linalg_norm.default", {a})), {std::sqrt(30.0)});
  const auto kept = ops.tensor("aten.linalg_matrix_norm.str_ord",
                               {a, Datum{std::string("nuc")}, ints({-2, -1}), flag(true)});
  EXPECT_EQ(kept.sizes(), (Ints{1, 1}));
  EXPECT_NEAR(values_of(kept)[0], norm(2) + norm(-2), 1e-12);
}

TEST(GroupedProducts, GroupsAreRowsColumnsOrSums) {
  auto ops = run();
  const Datum a{make_tensor({2, 2}, {1, 2, 3, 4}, DType::float32)};
  const Datum stack{make_tensor({2, 2, 2}, {1, 0, 0, 1, 2, 0, 0, 2}, DType::float32)};
  const Datum ends{make_tensor({2}, {1, 2}, DType::int32)};
  const auto rows = ops.tensor("aten._grouped_mm.default", {a, stack, ends});
  EXPECT_EQ(values_of(rows), (Values{1, 2, 6, 8}));
  EXPECT_EQ(rows.strides(), (Ints{4, 1}));  // 16 bytes
  EXPECT_EQ(values_of(ops.tensor("aten._grouped_mm.default", {stack, a, ends})),
            (Values{1, 4, 3, 8}));
  EXPECT_EQ(values_of(ops.tensor("aten._grouped_mm.default", {a, a, ends})),
            (Values{1, 2, 3, 6, 6, 8, 12, 16}));
}

}  // namespace
}  // namespace assay
