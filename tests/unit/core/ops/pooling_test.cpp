#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

auto ops() -> OpRunner {
  return OpRunner({add_pooling_rows, add_resample_rows, add_view_rows, add_reduction_rows});
}

TEST(AveragePool, CountsPaddingUnlessTold) {
  auto run = ops();
  const Datum x{make_tensor({1, 1, 2, 2}, {1, 2, 3, 4})};
  const auto pool = [&](bool count_padding) {
    return values_of(run.tensor(
        "aten.avg_pool2d.default",
        {x, ints({2, 2}), ints({2, 2}), ints({1, 1}), flag(false), flag(count_padding)}));
  };
  EXPECT_EQ(pool(true), (std::vector<double>{0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(pool(false), (std::vector<double>{1, 2, 3, 4}));
}

TEST(AveragePool, CeilModeAddsAPartialWindowThatDividesByWhatItCovers) {
  auto run = ops();
  const Datum x{make_tensor({1, 1, 1, 3}, {1, 2, 6})};
  const auto result = run.tensor("aten.avg_pool2d.default",
                                 {x, ints({1, 2}), ints({1, 2}), ints({0, 0}), flag(true)});
  EXPECT_EQ(values_of(result), (std::vector<double>{1.5, 6}));
}

TEST(AveragePool, BackwardAgreesWithFiniteDifferences) {
  auto run = ops();
  const auto x = random_tensor({1, 2, 5, 4}, 1);
  const DatumList params{ints({3, 2}), ints({2, 1}), ints({1, 0}),
                         flag(true),   flag(false),  Datum{}};
  const auto pool = [&](const Tensor& at) {
    DatumList args{Datum{at}};
    args.insert(args.end(), params.begin(), params.end());
    return run.tensor("aten.avg_pool2d.default", args);
  };
  const auto grad = random_tensor(pool(x).sizes(), 2);
  DatumList args{Datum{grad}, Datum{x}};
  args.insert(args.end(), params.begin(), params.end());
  expect_gradient(pool, x, grad, run.tensor("aten.avg_pool2d_backward.default", args));
}

TEST(AdaptivePool, SplitsUnevenInputsIntoOverlappingParts) {
  auto run = ops();
  const Datum x{make_tensor({1, 1, 5}, {1, 2, 3, 4, 5})};
  const auto result = run.tensor("aten._adaptive_avg_pool2d.default", {x, ints({1, 3})});
  EXPECT_EQ(values_of(result), (std::vector<double>{1.5, 3, 4.5}));
}

TEST(AdaptivePool, BackwardAgreesWithFiniteDifferences) {
  auto run = ops();
  const auto x = random_tensor({2, 2, 5, 3}, 1);
  const auto pool = [&](const Tensor& at) {
    return run.tensor("aten._adaptive_avg_pool2d.default", {Datum{at}, ints({3, 4})});
  };
  const auto grad = random_tensor({2, 2, 3, 4}, 2);
  expect_gradient(
      pool, x, grad,
      run.tensor("aten._adaptive_avg_pool2d_backward.default", {Datum{grad}, Datum{x}}));
}

TEST(AdaptivePool, SizeOneIsTheMeanInTheLayoutOfThePool) {
  auto run = ops();
  const auto x = random_tensor({2, 3, 4, 5}, 1);
  const auto plain = run.tensor("aten.adaptive_avg_pool2d.default", {Datum{x}, ints({1, 1})});
  const auto last =
      run.tensor("aten.adaptive_avg_pool2d.default", {Datum{channels_last(x)}, ints({1, 1})});
  EXPECT_EQ(plain.strides(), (Ints{3, 1, 1, 1}));
  EXPECT_EQ(last.strides(), (Ints{3, 1, 3, 3}));
  expect_close(last, plain);
  expect_close(plain, run.tensor("aten._adaptive_avg_pool2d.default", {Datum{x}, ints({1, 1})}));
}

TEST(MaxPool, GivesTheFirstLargestElementAndItsIndexInThePlane) {
  auto run = ops();
  const Datum x{make_tensor({1, 1, 2, 4}, {1, 5, 5, 0, 2, 3, -1, 7})};
  const auto results = run.run("aten.max_pool2d_with_indices.default", {x, ints({2, 2})});
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(values_of(*results[0].real()), (std::vector<double>{5, 7}));
  EXPECT_EQ(values_of(*results[1].real()), (std::vector<double>{1, 7}));
}

TEST(MaxPool, NanWins) {
  auto run = ops();
  const Datum x{make_tensor({1, 1, 1, 3}, {1, NAN, 3})};
  const auto results = run.run("aten.max_pool2d_with_indices.default", {x, ints({1, 3})});
  EXPECT_TRUE(std::isnan(values_of(*results[0].real())[0]));
  EXPECT_EQ(values_of(*results[1].real()), std::vector<double>{1});
}

TEST(MaxPool, PaddingNeverWins) {
  auto run = ops();
  const Datum x{make_tensor({1, 1, 1, 2}, {-3, -4})};
  const auto results = run.run("aten.max_pool2d_with_indices.default",
                               {x, ints({1, 2}), ints({1, 2}), ints({0, 1})});
  EXPECT_EQ(values_of(*results[0].real()), (std::vector<double>{-3, -4}));
}

TEST(MaxPool, BackwardAgreesWithFiniteDifferences) {
  auto run = ops();
  const auto x = random_tensor({1, 2, 5, 6}, 1);
  const auto pool = [&](const Tensor& at) {
    return run.tensor("aten.max_pool2d.default",
                      {Datum{at}, ints({3, 3}), ints({1, 2}), ints({1, 1})});
  };
  const auto indices = run.run("aten.max_pool2d_with_indices.default",
                               {Datum{x}, ints({3, 3}), ints({1, 2}), ints({1, 1})})[1];
  const auto grad = random_tensor(pool(x).sizes(), 2);
  const auto back = run.tensor("aten.max_pool2d_with_indices_backward.default",
                               {Datum{grad}, Datum{x}, ints({3, 3}), ints({1, 2}), ints({1, 1}),
                                ints({1, 1}), flag(false), indices});
  expect_gradient(pool, x, grad, back);
}

TEST(MaxPool, AnIndexOutsideTheInputAddsNothing) {
  auto run = ops();
  const auto result =
      run.try_run("aten.max_pool2d_with_indices_backward.default",
                  {Datum{make_tensor({1, 1, 1}, {1})}, Datum{make_tensor({1, 1, 2}, {1, 2})},
                   ints({1, 2}), ints({1, 2}), ints({0, 0}), ints({1, 1}), flag(false),
                   Datum{make_tensor({1, 1, 1}, {2}, DType::int64)}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(values_of(*result->real()), (std::vector<double>{0, 0}));
}

TEST(MaxPool, OffsetsAreTheIndicesSeenFromTheWindow) {
  auto run = ops();
  const Datum x{random_tensor({2, 3, 7, 6}, 5)};
  const DatumList params{ints({3, 2}), ints({2, 2}), ints({1, 0}), ints({1, 2})};
  DatumList args{x};
  args.insert(args.end(), params.begin(), params.end());
  args.push_back(flag(false));
  const auto indices = run.tensor("aten.max_pool2d_with_indices.default", args, 1);
  const auto offsets = run.tensor("prims._low_memory_max_pool_with_offsets.default", args, 1);
  EXPECT_EQ(offsets.dtype(), DType::int8);
  for (const auto offset : values_of(offsets)) EXPECT_LT(offset, 6);
  const auto back =
      run.tensor("prims._low_memory_max_pool_offsets_to_indices.default",
                 {Datum{offsets}, params[0], ints({7, 6}), params[1], params[2], params[3]});
  EXPECT_EQ(values_of(back), values_of(indices));
}

TEST(MaxPool, OlderNamesOfOffsetsSpeakOfPlanesAlone) {
  auto run = ops();
  const Datum x{random_tensor({2, 3, 7, 6}, 5)};
  const DatumList params{ints({3, 2}), ints({2, 2}), ints({1, 0}), ints({1, 1})};
  DatumList args{x};
  args.insert(args.end(), params.begin(), params.end());
  args.push_back(flag(false));
  const auto indices = run.tensor("aten.max_pool2d_with_indices.default", args, 1);
  const auto offsets = run.tensor("prims._low_memory_max_pool2d_with_offsets.default", args, 1);
  EXPECT_EQ(offsets.dtype(), DType::int8);
  const auto back =
      run.tensor("prims._low_memory_max_pool2d_offsets_to_indices.default",
                 {Datum{offsets}, Datum{Expr(2)}, Datum{Expr(6)}, params[1], params[2]});
  EXPECT_EQ(values_of(back), values_of(indices));
}

TEST(Pooling, EveryLayoutOfTheInputGivesTheSameValues) {
  auto run = ops();
  const auto x = random_tensor({2, 3, 6, 5}, 9);
  for (const auto* overload : {"aten.avg_pool2d.default", "aten.max_pool2d.default"}) {
    const auto want = run.tensor(overload, {Datum{x}, ints({2, 3}), ints({1, 2})});
    for (const auto& input : {channels_last(x), reversed_and_spaced(x), laid_out(x, {3, 1, 0, 2})})
      expect_close(run.tensor(overload, {Datum{input}, ints({2, 3}), ints({1, 2})}), want);
    EXPECT_EQ(run.tensor(overload, {Datum{channels_last(x)}, ints({2, 3}), ints({1, 2})}).strides(),
              (Ints{30, 1, 6, 3}));
  }
}

TEST(MaxPool, AVolumeWithoutBatchKeepsItsChannelsInnermost) {
  auto run = ops();
  const auto x = random_tensor({3, 4, 6, 5}, 1);
  const auto pool = [&](const Tensor& input) {
    return run.tensor("aten.max_pool3d.default", {Datum{input}, ints({2, 2, 2})});
  };
  EXPECT_EQ(pool(x).strides(), (Ints{12, 6, 2, 1}));
  EXPECT_EQ(pool(laid_out(x, {1, 2, 3, 0})).strides(), (Ints{1, 18, 6, 3}));
  expect_close(pool(laid_out(x, {1, 2, 3, 0})), pool(x));
}

TEST(Pooling, AWindowLargerThanTheInputIsRefused) {
  const auto result = ops().try_run("aten.avg_pool2d.default",
                                    {Datum{random_tensor({1, 1, 2, 2}, 1)}, ints({3, 3})});
  EXPECT_FALSE(result);
}

TEST(Resample, NearestRepeatsAndLinearBlends) {
  auto run = ops();
  const Datum x{make_tensor({1, 1, 3}, {0, 3, 9})};
  EXPECT_EQ(values_of(run.tensor("aten.upsample_nearest1d.default", {x, ints({6})})),
            (std::vector<double>{0, 0, 3, 3, 9, 9}));
  EXPECT_EQ(values_of(run.tensor("aten.upsample_linear1d.default", {x, ints({5}), flag(true)})),
            (std::vector<double>{0, 1.5, 3, 6, 9}));
}

TEST(Resample, BackwardAgreesWithFiniteDifferences) {
  auto run = ops();
  const auto x = random_tensor({1, 2, 4, 3}, 1);
  const auto grad = random_tensor({1, 2, 5, 7}, 2);
  for (const auto* name : {"aten.upsample_bilinear2d", "aten.upsample_bicubic2d"})
    for (const bool corners : {false, true}) {
      const auto f = [&](const Tensor& at) {
        return run.tensor(std::string(name) + ".default", {Datum{at}, ints({5, 7}), flag(corners)});
      };
      expect_gradient(f, x, grad,
                      run.tensor(std::string(name) + "_backward.default",
                                 {Datum{grad}, ints({5, 7}), ints({1, 2, 4, 3}), flag(corners)}));
    }
}

}  // namespace
}  // namespace assay
