#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;

auto ops() -> OpRunner {
  return OpRunner({add_padding_rows, add_view_rows, add_copy_rows, add_creation_rows});
}

TEST(ConstantPad, NegativePadsCutAndOthersFill) {
  const auto result =
      ops().tensor("aten.constant_pad_nd.default",
                   {Datum{make_tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, ints({-1, 1, 1, 0}), real(9)});
  EXPECT_EQ(result.sizes(), (Ints{3, 3}));
  EXPECT_EQ(values_of(result), (Values{9, 9, 9, 2, 3, 9, 5, 6, 9}));
}

TEST(ConstantPad, GrowingFollowsTheSuggestedFormatShrinkingTheNarrowedView) {
  auto run = ops();
  const auto image = channels_last(random_tensor({2, 3, 4, 5}, 1));
  EXPECT_EQ(run.tensor("aten.constant_pad_nd.default", {Datum{image}, ints({1, 1})}).strides(),
            (Ints{84, 1, 21, 3}));
  const auto permuted = laid_out(random_tensor({4, 2, 3}, 2), {1, 2, 0});
  EXPECT_EQ(run.tensor("aten.constant_pad_nd.default", {Datum{permuted}, ints({0, 0})}).strides(),
            permuted.strides());
  EXPECT_EQ(run.tensor("aten.constant_pad_nd.default", {Datum{permuted}, ints({1, 0})}).strides(),
            (Ints{8, 4, 1}));
}

TEST(ConstantPad, CuttingMoreThanThereIsIsRefused) {
  EXPECT_FALSE(ops().try_run("aten.constant_pad_nd.default",
                             {Datum{make_tensor({2}, {1, 2})}, ints({-2, -1})}));
}

TEST(ReflectionPad, MirrorsWithoutRepeatingTheEdge) {
  auto run = ops();
  EXPECT_EQ(values_of(run.tensor("aten.reflection_pad1d.default",
                                 {Datum{make_tensor({1, 4}, {1, 2, 3, 4})}, ints({2, 1})})),
            (Values{3, 2, 1, 2, 3, 4, 3}));
  EXPECT_FALSE(run.try_run("aten.reflection_pad1d.default",
                           {Datum{make_tensor({1, 2}, {1, 2})}, ints({2, 0})}));
}

TEST(ReplicationPad, RepeatsTheEdgeAndCropsWhereNegative) {
  EXPECT_EQ(values_of(ops().tensor("aten.replication_pad1d.default",
                                   {Datum{make_tensor({1, 3}, {1, 2, 3})}, ints({2, -1})})),
            (Values{1, 1, 1, 2}));
}

/// The layout that fake kernels get wrong: eager keeps channels-last.
TEST(Padding, KeepsTheFormatOfImages) {
  auto run = ops();
  const auto image = random_tensor({2, 3, 4, 4}, 1);
  for (const std::string name : {"aten.reflection_pad2d", "aten.replication_pad2d"}) {
    const auto want = run.tensor(name + ".default", {Datum{image}, ints({1, 2, 0, 1})});
    EXPECT_EQ(want.strides(), (Ints{105, 35, 7, 1}));
    const auto got =
        run.tensor(name + ".default", {Datum{channels_last(image)}, ints({1, 2, 0, 1})});
    EXPECT_EQ(got.strides(), (Ints{105, 1, 21, 3}));
    expect_close(got, want);
    const auto grad = run.tensor(name + "_backward.default",
                                 {Datum{want}, Datum{channels_last(image)}, ints({1, 2, 0, 1})});
    EXPECT_EQ(grad.strides(), (Ints{48, 1, 12, 3}));
  }
}

TEST(Padding, OneDimensionIsAlwaysContiguous) {
  const auto x = laid_out(random_tensor({2, 3, 4}, 1), {0, 2, 1});
  EXPECT_EQ(ops().tensor("aten.replication_pad1d.default", {Datum{x}, ints({1, 1})}).strides(),
            (Ints{18, 6, 1}));
}

TEST(Padding, BackwardIsTheGradient) {
  auto run = ops();
  const auto x2 = random_tensor({1, 2, 3, 3}, 1);
  const auto x3 = random_tensor({1, 1, 3, 2, 3}, 2);
  for (const std::string family : {"aten.reflection_pad", "aten.replication_pad"})
    for (const bool three : {false, true}) {
      const auto& x = three ? x3 : x2;
      const auto pads = ints(three ? Ints{1, 2, 1, 0, 0, 1} : Ints{2, 1, 0, 1});
      const auto name = family + (three ? "3d" : "2d");
      const auto forward = [&](const Tensor& v) {
        return run.tensor(name + ".default", {Datum{v}, pads});
      };
      const auto outer = random_tensor(forward(x).sizes(), 5);
      const auto grad = run.tensor(name + "_backward.default", {Datum{outer}, Datum{x}, pads});
      SCOPED_TRACE(name);
      expect_gradient(forward, x, outer, grad);
    }
}

TEST(Pad, KnowsItsModes) {
  auto run = ops();
  const Datum x{make_tensor({1, 3}, {1, 2, 3})};
  const auto padded = [&](const char* mode) {
    return values_of(run.tensor("aten.pad.default", {x, ints({1, 1}), Datum{std::string(mode)}}));
  };
  EXPECT_EQ(padded("constant"), (Values{0, 1, 2, 3, 0}));
  EXPECT_EQ(padded("reflect"), (Values{2, 1, 2, 3, 2}));
  EXPECT_EQ(padded("replicate"), (Values{1, 1, 2, 3, 3}));
  EXPECT_EQ(padded("circular"), (Values{3, 1, 2, 3, 1}));
  EXPECT_FALSE(run.try_run("aten.pad.default", {x, ints({1, 1}), Datum{std::string("edge")}}));
}

TEST(MaxUnpool, PutsElementsBack) {
  auto run = ops();
  const auto index = make_tensor({1, 1, 1, 2}, {3, 0}, DType::int64);
  EXPECT_EQ(
      values_of(run.tensor("aten.max_unpool2d.default",
                           {Datum{make_tensor({1, 1, 1, 2}, {5, 6})}, Datum{index}, ints({2, 2})})),
      (Values{6, 0, 0, 5}));
  EXPECT_FALSE(run.try_run("aten.max_unpool2d.default",
                           {Datum{make_tensor({1, 1, 1, 2}, {5, 6})}, Datum{index}, ints({1, 2})}));
}

}  // namespace
}  // namespace assay
