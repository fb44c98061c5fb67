#include <limits>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;

auto ops() -> OpRunner {
  return OpRunner({add_normalisation_rows, add_batch_norm_rows, add_softmax_rows, add_view_rows,
                   add_copy_rows, add_creation_rows, add_pointwise_rows, add_reduction_rows,
                   add_composite_rows});
}
const Datum kNone{};
auto ones(std::int64_t count) -> Datum {
  return {make_tensor({count}, Values(static_cast<std::size_t>(count), 1))};
}

TEST(LayerNorm, NormalisesTheLastDimensions) {
  auto run = ops();
  const DatumList args{Datum{make_tensor({2, 2}, {1, 3, 10, 30})}, ints({2}),
                       Datum{make_tensor({2}, {2, 2})}, Datum{make_tensor({2}, {0, 1})}, real(0)};
  expect_close(run.tensor("aten.native_layer_norm.default", args),
               make_tensor({2, 2}, {-2, 3, -2, 3}));
  expect_close(run.tensor("aten.native_layer_norm.default", args, 1), make_tensor({2, 1}, {2, 20}));
  expect_close(run.tensor("aten.native_layer_norm.default", args, 2),
               make_tensor({2, 1}, {1, 0.1}));
}

TEST(LayerNorm, ReducedPrecisionKeepsFloatStatisticsForFloatParameters) {
  auto run = ops();
  const auto statistics = [&](DType parameter) {
    return run
        .tensor("aten.native_layer_norm.default",
                {Datum{make_tensor({2, 2}, {1, 2, 3, 4}, DType::bfloat16)}, ints({2}),
                 Datum{make_tensor({2}, {1, 1}, parameter)}, kNone, real(1e-5)},
                1)
        .dtype();
  };
  EXPECT_EQ(statistics(DType::float32), DType::float32);
  EXPECT_EQ(statistics(DType::bfloat16), DType::bfloat16);
}

TEST(LayerNorm, ShapesThatDoNotEndInNormalizedShapeAreRefused) {
  EXPECT_FALSE(
      ops().try_run("aten.native_layer_norm.default",
                    {Datum{make_tensor({2, 2}, {1, 2, 3, 4})}, ints({3}), kNone, kNone, real(0)}));
}

TEST(LayerNorm, BackwardIsTheGradient) {
  auto run = ops();
  const auto x = random_tensor({3, 4}, 1);
  const auto weight = random_tensor({4}, 2);
  const auto bias = random_tensor({4}, 3);
  const auto outer = random_tensor({3, 4}, 4);
  const DatumList forward{Datum{x}, ints({4}), Datum{weight}, Datum{bias}, real(1e-3)};
  const auto results = run.run("aten.native_layer_norm.default", forward);
  const auto grads = run.run("aten.native_layer_norm_backward.default",
                             {Datum{outer}, Datum{x}, ints({4}), results[1], results[2],
                              Datum{weight}, Datum{bias}, flags({true, true, true})});
  const auto at = [&](std::size_t i) {
    return [&run, &forward, i](const Tensor& value) {
      auto args = forward;
      args[i] = Datum{value};
      return run.tensor("aten.native_layer_norm.default", args);
    };
  };
  expect_gradient(at(0), x, outer, *grads[0].real());
  expect_gradient(at(2), weight, outer, *grads[1].real());
  expect_gradient(at(3), bias, outer, *grads[2].real());
}

TEST(LayerNorm, UnwantedGradientsAreNone) {
  auto run = ops();
  const auto grads =
      run.run("aten.native_layer_norm_backward.default",
              {Datum{random_tensor({1, 2}, 1)}, Datum{random_tensor({1, 2}, 2)}, ints({2}),
               Datum{make_tensor({1, 1}, {0})}, Datum{make_tensor({1, 1}, {1})}, ones(2), kNone,
               flags({true, false, true})});
  EXPECT_TRUE(grads[0].real());
  EXPECT_TRUE(grads[1].is_none());
  EXPECT_TRUE(grads[2].is_none()) << "there is no bias";
}

TEST(GroupNorm, BackwardIsTheGradient) {
  auto run = ops();
  const auto x = random_tensor({2, 4, 3}, 1);
  const auto weight = random_tensor({4}, 2);
  const auto outer = random_tensor({2, 4, 3}, 3);
  const auto forward = [&](const Tensor& input, const Tensor& scale) {
    return run.run("aten.native_group_norm.default",
                   {Datum{input}, Datum{scale}, kNone, integer(2), integer(4), integer(3),
                    integer(2), real(1e-3)});
  };
  const auto results = forward(x, weight);
  const auto grads =
      run.run("aten.native_group_norm_backward.default",
              {Datum{outer}, Datum{x}, results[1], results[2], Datum{weight}, integer(2),
               integer(4), integer(3), integer(2), flags({true, true, true})});
  expect_gradient([&](const Tensor& v) { return *forward(v, weight)[0].real(); }, x, outer,
                  *grads[0].real());
  expect_gradient([&](const Tensor& v) { return *forward(x, v)[0].real(); }, weight, outer,
                  *grads[1].real());
}

TEST(BatchNorm, TrainingUpdatesRunningStatistics) {
  auto run = ops();
  const auto mean = make_tensor({1}, {10});
  const auto variance = make_tensor({1}, {1});
  const auto results = run.run("aten.native_batch_norm.default",
                               {Datum{make_tensor({2, 1}, {1, 3})}, kNone, kNone, Datum{mean},
                                Datum{variance}, flag(true), real(0.5), real(0)});
  expect_close(*results[0].real(), make_tensor({2, 1}, {-1, 1}));
  expect_close(*results[1].real(), make_tensor({1}, {2}));
  expect_close(mean, make_tensor({1}, {6}));
  expect_close(variance, make_tensor({1}, {1.5}));  // the batch's unbiased variance is 2
}

TEST(BatchNorm, TheFunctionalFormReturnsUpdatedStatistics) {
  auto run = ops();
  const auto mean = make_tensor({1}, {10});
  const auto results = run.run("aten._native_batch_norm_legit_functional.default",
                               {Datum{make_tensor({2, 1}, {1, 3})}, kNone, kNone, Datum{mean},
                                Datum{make_tensor({1}, {1})}, flag(true), real(0.5), real(0)});
  ASSERT_EQ(results.size(), 5);
  expect_close(*results[0].real(), make_tensor({2, 1}, {-1, 1}));
  expect_close(*results[3].real(), make_tensor({1}, {6}));
  expect_close(*results[4].real(), make_tensor({1}, {1.5}));
  expect_close(mean, make_tensor({1}, {10}));
}

TEST(BatchNorm, EvaluationLeavesThemAloneAndSavesNothing) {
  auto run = ops();
  const auto mean = make_tensor({1}, {1});
  const auto results = run.run("aten._native_batch_norm_legit_no_training.default",
                               {Datum{make_tensor({2, 1}, {1, 3})}, kNone, kNone, Datum{mean},
                                Datum{make_tensor({1}, {4})}, real(0.5), real(0)});
  expect_close(*results[0].real(), make_tensor({2, 1}, {0, 1}));
  EXPECT_EQ(results[1].real()->sizes(), Ints{0});
  expect_close(mean, make_tensor({1}, {1}));
}

TEST(BatchNorm, KeepsChannelsLastAndNoOtherPermutation) {
  auto run = ops();
  const auto x = random_tensor({2, 3, 4, 5}, 1);
  const auto strides = [&](const Tensor& input) {
    return run
        .tensor("aten.native_batch_norm.default",
                {Datum{input}, kNone, kNone, ones(3), ones(3), flag(false), real(0.1), real(1e-5)})
        .strides();
  };
  EXPECT_EQ(strides(channels_last(x)), (Ints{60, 1, 15, 3}));
  EXPECT_EQ(strides(laid_out(x, {0, 1, 3, 2})), (Ints{60, 20, 5, 1}));
}

TEST(BatchNorm, CudnnKeepsNoOtherPermutation) {
  auto run = ops();
  auto x = laid_out(random_tensor({2, 3, 4, 5}, 1), {0, 1, 3, 2});
  const auto strides = [&](const Datum& bias) {
    return run
        .tensor("aten.batch_norm.default", {Datum{x}, ones(3), bias, kNone, kNone, flag(true),
                                            real(0.1), real(1e-5), flag(true)})
        .strides();
  };
  const Ints kept = x.strides(), packed = {60, 20, 5, 1};
  EXPECT_EQ(strides(ones(3)), packed);
  x.meta.device.type = "cuda";
  EXPECT_EQ(strides(ones(3)), packed);
  EXPECT_EQ(strides(kNone), kept) << "a kernel of PyTorch's own";
}

TEST(BatchNorm, BackwardIsTheGradient) {
  auto run = ops();
  const auto x = random_tensor({3, 2, 2}, 1);
  const auto weight = random_tensor({2}, 2);
  const auto outer = random_tensor({3, 2, 2}, 3);
  const auto forward = [&](const Tensor& input) {
    return run.run("aten.native_batch_norm.default", {Datum{input}, Datum{weight}, kNone, kNone,
                                                      kNone, flag(true), real(0.1), real(1e-3)});
  };
  const auto results = forward(x);
  const auto grads = run.run("aten.native_batch_norm_backward.default",
                             {Datum{outer}, Datum{x}, Datum{weight}, kNone, kNone, results[1],
                              results[2], flag(true), real(1e-3), flags({true, true, true})});
  expect_gradient([&](const Tensor& v) { return *forward(v)[0].real(); }, x, outer,
                  *grads[0].real());
}

TEST(Softmax, IsContiguousForEveryInput) {
  auto run = ops();
  const auto x = random_tensor({2, 3, 4}, 1);
  for (const auto* name : {"aten._softmax.default", "aten._log_softmax.default"}) {
    const auto want = run.tensor(name, {Datum{x}, integer(1), flag(false)});
    const auto got = run.tensor(name, {Datum{reversed_and_spaced(x)}, integer(1), flag(false)});
    expect_close(got, want);
    EXPECT_EQ(got.strides(), (Ints{12, 4, 1}));
  }
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  expect_close(ops().tensor("aten._softmax.default",
                            {Datum{make_tensor({2}, {1000, 1000})}, integer(0), flag(false)}),
               make_tensor({2}, {0.5, 0.5}));
}

TEST(Softmax, BackwardIsTheGradient) {
  auto run = ops();
  const auto x = random_tensor({2, 3}, 1);
  const auto outer = random_tensor({2, 3}, 2);
  for (const std::string stem : {"aten._softmax", "aten._log_softmax"}) {
    const auto forward = [&](const Tensor& v) {
      return run.tensor(stem + ".default", {Datum{v}, integer(1), flag(false)});
    };
    const auto grad =
        run.tensor(stem + "_backward_data.default",
                   {Datum{outer}, Datum{forward(x)}, integer(1), Datum{DType::float64}});
    expect_gradient(forward, x, outer, grad);
  }
}

TEST(SafeSoftmax, RowsWithoutAnyFiniteElementAreZero) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_close(ops().tensor("aten._safe_softmax.default",
                            {Datum{make_tensor({2, 2}, {-kInfinity, -kInfinity, 0, -kInfinity})},
                             integer(1)}),
               make_tensor({2, 2}, {0, 0, 1, 0}));
}

TEST(WeightNorm, BackwardIsTheGradient) {
  auto run = ops();
  const auto v = random_tensor({2, 3}, 1);
  const auto g = random_tensor({2, 1}, 2);
  const auto outer = random_tensor({2, 3}, 3);
  const auto forward = [&](const Tensor& at) {
    return run.run("aten._weight_norm_interface.default", {Datum{at}, Datum{g}, integer(0)});
  };
  const auto results = forward(v);
  const auto grads = run.run("aten._weight_norm_interface_backward.default",
                             {Datum{outer}, Datum{v}, Datum{g}, results[1], integer(0)});
  expect_gradient([&](const Tensor& at) { return *forward(at)[0].real(); }, v, outer,
                  *grads[0].real());
}

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  expect_close(ops().tensor("aten.rms_norm.default",
                            {Datum{make_tensor({1, 2}, {3, 4})}, ints({2}), kNone, real(0)}),
               make_tensor({1, 2}, {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)}));
}

}  // namespace
}  // namespace assay
