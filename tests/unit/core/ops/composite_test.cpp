#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;

auto ops() -> OpRunner {
  return OpRunner({add_composite_rows, add_backward_rows, add_loss_rows, add_margin_loss_rows,
                   add_softmax_rows, add_view_rows, add_copy_rows, add_creation_rows,
                   add_pointwise_rows, add_unary_rows, add_reduction_rows, add_inplace_rows});
}
auto shares(const Tensor& a, const Tensor& b) -> bool {
  return a.storage == b.storage;
}

TEST(To, ReturnsSelfWhereNothingChanges) {
  auto run = ops();
  const auto x = random_tensor({2, 3}, 1);
  EXPECT_TRUE(shares(run.tensor("aten.to.dtype", {Datum{x}, Datum{DType::float64}}), x));
  EXPECT_FALSE(shares(
      run.tensor("aten.to.dtype", {Datum{x}, Datum{DType::float64}, flag(false), flag(true)}), x));
  const auto converted = run.tensor("aten.to.dtype", {Datum{x}, Datum{DType::float32}});
  EXPECT_FALSE(shares(converted, x));
  EXPECT_EQ(converted.dtype(), DType::float32);
}

TEST(Contiguous, CopiesOnlyWhatIsNot) {
  auto run = ops();
  const auto x = random_tensor({2, 3}, 1);
  EXPECT_TRUE(shares(run.tensor("aten.contiguous.default", {Datum{x}}), x));
  const auto transposed = laid_out(x, {1, 0});
  const auto packed = run.tensor("aten.contiguous.default", {Datum{transposed}});
  EXPECT_FALSE(shares(packed, transposed));
  EXPECT_EQ(packed.strides(), (Ints{3, 1}));
  expect_close(packed, x);
}

TEST(Reshape, IsAViewWhereTheStridesAllowIt) {
  auto run = ops();
  const auto x = random_tensor({2, 3, 4}, 1);
  const auto view = run.tensor("aten.reshape.default", {Datum{x}, ints({6, -1})});
  EXPECT_TRUE(shares(view, x));
  EXPECT_EQ(view.sizes(), (Ints{6, 4}));
  const auto permuted = laid_out(x, {2, 1, 0});
  const auto copy = run.tensor("aten.reshape.default", {Datum{permuted}, ints({24})});
  EXPECT_FALSE(shares(copy, permuted));
  EXPECT_EQ(values_of(copy), values_of(x));
  EXPECT_FALSE(run.try_run("aten.reshape.default", {Datum{x}, ints({5, -1})}));
}

TEST(Flatten, OfOneDimensionIsSelfAndOfNoneHasOne) {
  auto run = ops();
  const auto x = random_tensor({2, 3, 4}, 1);
  EXPECT_EQ(run.tensor("aten.flatten.using_ints", {Datum{x}, integer(1), integer(-1)}).sizes(),
            (Ints{2, 12}));
  EXPECT_EQ(run.tensor("aten.flatten.using_ints", {Datum{x}, integer(1), integer(1)}).sizes(),
            x.sizes());
  EXPECT_EQ(run.tensor("aten.flatten.using_ints", {Datum{make_tensor({}, {1})}}).sizes(), Ints{1});
  EXPECT_EQ(run.tensor("aten.unflatten.int", {Datum{x}, integer(2), ints({2, -1})}).sizes(),
            (Ints{2, 3, 2, 2}));
}

TEST(Chunk, LastChunkMayBeSmaller) {
  auto run = ops();
  const auto parts = run.run("aten.chunk.default", {Datum{random_tensor({7}, 1)}, integer(3)});
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[2].real()->sizes(), Ints{1});
  EXPECT_EQ(run.run("aten.chunk.default", {Datum{random_tensor({4}, 1)}, integer(3)}).size(), 2U);
}

TEST(Movedim, MovesOneAndKeepsTheOrderOfOthers) {
  auto run = ops();
  const auto x = random_tensor({2, 3, 4}, 1);
  EXPECT_EQ(run.tensor("aten.movedim.int", {Datum{x}, integer(0), integer(2)}).sizes(),
            (Ints{3, 4, 2}));
  EXPECT_EQ(run.tensor("aten.movedim.intlist", {Datum{x}, ints({0, 1}), ints({-1, 0})}).sizes(),
            (Ints{3, 4, 2}));
}

TEST(Narrow, IsCheckedAgainstTheSize) {
  auto run = ops();
  const Datum x{make_tensor({4}, {0, 1, 2, 3})};
  EXPECT_EQ(values_of(run.tensor("aten.narrow.default", {x, integer(0), integer(-3), integer(2)})),
            (Values{1, 2}));
  EXPECT_FALSE(run.try_run("aten.narrow.default", {x, integer(0), integer(3), integer(2)}));
}

TEST(Diff, RepeatsAndPrepends) {
  auto run = ops();
  const Datum x{make_tensor({4}, {1, 4, 9, 16})};
  EXPECT_EQ(values_of(run.tensor("aten.diff.default", {x, integer(2)})), (Values{2, 2}));
  EXPECT_EQ(values_of(run.tensor("aten.diff.default",
                                 {x, integer(1), integer(0), Datum{make_tensor({1}, {0})}})),
            (Values{1, 3, 5, 7}));
}

TEST(Meshgrid, IndexingSwapsTheFirstTwo) {
  auto run = ops();
  const DatumList axes{Datum{make_tensor({2}, {1, 2})}, Datum{make_tensor({3}, {3, 4, 5})}};
  const auto ij = run.run("aten.meshgrid.indexing", {Datum{axes}, Datum{std::string("ij")}});
  const auto xy = run.run("aten.meshgrid.indexing", {Datum{axes}, Datum{std::string("xy")}});
  EXPECT_EQ(values_of(*ij[0].real()), (Values{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values_of(*xy[0].real()), (Values{1, 2, 1, 2, 1, 2}));
}

TEST(Assertions, FailWhereTheyDoNotHold) {
  auto run = ops();
  const Datum x{make_tensor({2, 3}, Values(6, 1), DType::float32)};
  EXPECT_TRUE(run.try_run("aten._assert_tensor_metadata.default",
                          {x, ints({2, 3}), ints({3, 1}), Datum{DType::float32}}));
  EXPECT_FALSE(run.try_run("aten._assert_tensor_metadata.default", {x, ints({2, 4})}));
  EXPECT_FALSE(run.try_run("aten._assert_tensor_metadata.default",
                           {x, Datum{}, Datum{}, Datum{DType::float64}}));
  EXPECT_TRUE(run.try_run("aten._assert_scalar.default", {flag(true), Datum{std::string("no")}}));
  const auto failed =
      run.try_run("aten._assert_scalar.default", {flag(false), Datum{std::string("sizes agree")}});
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("sizes agree"), std::string::npos);
  EXPECT_FALSE(run.try_run("aten._assert_async.default", {Datum{make_tensor({}, {0})}}));
  EXPECT_FALSE(
      run.try_run("aten.sym_constrain_range.default", {integer(5), integer(0), integer(4)}));
}

TEST(ActivationGradients, AreTheGradients) {
  auto run = ops();
  const auto x = make_tensor({6}, {-3.5, -1.3, -0.2, 0.3, 1.7, 4.1});
  const auto outer = random_tensor({6}, 2);
  struct Pair {
    const char *forward, *backward;
    DatumList forward_rest, backward_rest;
  };
  const std::vector<Pair> pairs{
      {"aten.silu.default", "aten.silu_backward.default", {}, {}},
      {"aten.mish.default", "aten.mish_backward.default", {}, {}},
      {"aten.gelu.default", "aten.gelu_backward.default", {}, {}},
      {"aten.gelu.default",
       "aten.gelu_backward.default",
       {Datum{std::string("tanh")}},
       {Datum{std::string("tanh")}}},
      {"aten.hardswish.default", "aten.hardswish_backward.default", {}, {}},
      {"aten.hardsigmoid.default", "aten.hardsigmoid_backward.default", {}, {}},
      {"aten.hardtanh.default",
       "aten.hardtanh_backward.default",
       {integer(-1), integer(1)},
       {integer(-1), integer(1)}},
      {"aten.leaky_relu.default",
       "aten.leaky_relu_backward.default",
       {real(0.1)},
       {real(0.1), flag(false)}},
      {"aten.softplus.default",
       "aten.softplus_backward.default",
       {integer(2), integer(5)},
       {integer(2), integer(5)}},
      {"aten.relu.default", "aten.threshold_backward.default", {}, {integer(0)}}};
  for (const auto& pair : pairs) {
    const auto forward = [&](const Tensor& v) {
      DatumList args{Datum{v}};
      args.insert(args.end(), pair.forward_rest.begin(), pair.forward_rest.end());
      return run.tensor(pair.forward, args);
    };
    DatumList args{Datum{outer}, Datum{x}};
    args.insert(args.end(), pair.backward_rest.begin(), pair.backward_rest.end());
    SCOPED_TRACE(pair.backward);
    expect_gradient(forward, x, outer, run.tensor(pair.backward, args));
  }
}

TEST(ActivationGradients, OfEluSigmoidAndTanh) {
  auto run = ops();
  const auto x = make_tensor({4}, {-2, -0.5, 0.5, 2});
  const auto outer = random_tensor({4}, 2);
  const auto elu = [&](const Tensor& v) {
    return run.tensor("aten.elu.default", {Datum{v}, real(1.5), real(2), real(0.5)});
  };
  const DatumList numbers{real(1.5), real(2), real(0.5)};
  expect_gradient(elu, x, outer,
                  run.tensor("aten.elu_backward.default", {Datum{outer}, numbers[0], numbers[1],
                                                           numbers[2], flag(false), Datum{x}}));
  expect_gradient(elu, x, outer,
                  run.tensor("aten.elu_backward.default", {Datum{outer}, numbers[0], numbers[1],
                                                           numbers[2], flag(true), Datum{elu(x)}}));
  for (const std::string stem : {"aten.sigmoid", "aten.tanh"}) {
    const auto forward = [&](const Tensor& v) { return run.tensor(stem + ".default", {Datum{v}}); };
    expect_gradient(forward, x, outer,
                    run.tensor(stem + "_backward.default", {Datum{outer}, Datum{forward(x)}}));
  }
}

TEST(Glu, BackwardIsTheGradient) {
  auto run = ops();
  const auto x = random_tensor({2, 4, 3}, 1);
  const auto outer = random_tensor({2, 2, 3}, 2);
  const auto forward = [&](const Tensor& v) {
    return run.tensor("aten.glu.default", {Datum{v}, integer(1)});
  };
  expect_gradient(forward, x, outer,
                  run.tensor("aten.glu_backward.default", {Datum{outer}, Datum{x}, integer(1)}));
  EXPECT_FALSE(run.try_run("aten.glu.default", {Datum{x}, integer(2)})) << "3 is odd";
}

TEST(Losses, BackwardIsTheGradient) {
  auto run = ops();
  const auto x = random_tensor({2, 3}, 1);
  const auto target = random_tensor({2, 3}, 2);
  const auto one = make_tensor({}, {1});
  for (const std::string stem :
       {"aten.mse_loss", "aten.smooth_l1_loss", "aten.huber_loss", "aten.soft_margin_loss"}) {
    const bool has_shape = stem.find("l1") != stem.npos || stem.find("huber") != stem.npos;
    const auto forward = [&](const Tensor& v) {
      DatumList args{Datum{v}, Datum{target}, integer(1)};
      if (has_shape) args.push_back(real(0.5));
      return run.tensor(stem + ".default", args);
    };
    DatumList args{Datum{one}, Datum{x}, Datum{target}, integer(1)};
    if (has_shape) args.push_back(real(0.5));
    SCOPED_TRACE(stem);
    expect_gradient(forward, x, one, run.tensor(stem + "_backward.default", args));
  }
}

TEST(NllLoss, IgnoresALabelAndWeighsClasses) {
  auto run = ops();
  const Datum x{make_tensor({3, 2}, {-1, -2, -3, -4, -5, -6})};
  const Datum labels{make_tensor({3}, {0, 1, -100}, DType::int64)};
  const Datum weight{make_tensor({2}, {1, 3})};
  const auto results =
      run.run("aten.nll_loss_forward.default", {x, labels, weight, integer(1), integer(-100)});
  EXPECT_DOUBLE_EQ(values_of(*results[0].real())[0], (1 * 1 + 3 * 4) / 4.0);
  EXPECT_DOUBLE_EQ(values_of(*results[1].real())[0], 4);
  const Datum wrong{make_tensor({3}, {0, 2, 1}, DType::int64)};
  EXPECT_FALSE(
      run.try_run("aten.nll_loss_forward.default", {x, wrong, weight, integer(1), integer(-100)}));
}

TEST(CrossEntropy, OfEqualLogitsIsTheLogarithmOfTheClasses) {
  const auto loss = ops().tensor(
      "aten.cross_entropy_loss.default",
      {Datum{make_tensor({2, 4}, Values(8, 3))}, Datum{make_tensor({2}, {0, 3}, DType::int64)}});
  EXPECT_NEAR(values_of(loss)[0], std::log(4), 1e-12);
}

}  // namespace
}  // namespace assay
