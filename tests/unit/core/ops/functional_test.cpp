// Functions that exported programs call without decomposition, against PyTorch 2.11 in eager mode.
#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;

auto ops() -> OpRunner {
  return OpRunner({add_functional_rows, add_arrange_rows, add_view_rows, add_copy_rows,
                   add_creation_rows, add_pointwise_rows, add_unary_rows, add_composite_rows,
                   add_reduction_rows, add_scatter_rows, add_backward_rows, add_convolution_rows,
                   add_padding_rows, add_fft_rows, add_random_rows, add_pooling_rows,
                   add_adaptive_max_rows, add_loss_rows, add_inplace_rows});
}
auto vector_of(const Values& values) -> Datum {
  return {make_tensor({static_cast<std::int64_t>(values.size())}, values)};
}
auto list(std::initializer_list<Datum> items) -> Datum {
  return {DatumList(items)};
}

TEST(Functional, OtherNamesRunTheSameOperator) {
  auto run = ops();
  EXPECT_EQ(values_of(run.tensor("aten.absolute.default", {vector_of({-1, 2})})), (Values{1, 2}));
  EXPECT_EQ(
      values_of(run.tensor("aten.clip.default", {vector_of({-1, 5}), integer(0), integer(2)})),
      (Values{0, 2}));
  EXPECT_EQ(values_of(run.tensor("aten.concat.default",
                                 {list({vector_of({1}), vector_of({2, 3})}), integer(0)})),
            (Values{1, 2, 3}));
}

TEST(Functional, ActivationsInPlaceWriteTheirInput) {
  auto run = ops();
  const Datum x = vector_of({-1, 3, 9});
  EXPECT_EQ(values_of(run.tensor("aten.relu6_.default", {x})), (Values{0, 3, 6}));
  EXPECT_EQ(values_of(*x.real()), (Values{0, 3, 6}));
  const auto kept = run.tensor("aten.dropout_.default", {x, real(0.5), flag(false)});
  EXPECT_EQ(kept.storage, x.real()->storage);
  EXPECT_EQ(values_of(kept), (Values{0, 3, 6}));
  const auto none = run.tensor("aten.dropout_.default", {x, real(1), flag(true)});
  EXPECT_EQ(none.storage, x.real()->storage);
  EXPECT_EQ(values_of(*x.real()), (Values{0, 0, 0}));
}

TEST(Functional, PreluHasOneSlopePerChannel) {
  auto run = ops();
  const Datum x{make_tensor({1, 2, 2}, {-1, 1, -1, 1})};
  EXPECT_EQ(values_of(run.tensor("aten.prelu.default", {x, vector_of({2, 3})})),
            (Values{-2, 1, -3, 1}));
}

TEST(Functional, SamePaddingThatDoesNotSplitGoesToTheEnd) {
  auto run = ops();
  const Datum x{make_tensor({1, 1, 3}, {1, 2, 3})};
  const Datum w{make_tensor({1, 1, 2}, {1, 10})};
  const auto same =
      run.tensor("aten.conv1d.padding", {x, w, Datum{}, ints({1}), Datum{std::string("same")}});
  EXPECT_EQ(values_of(same), (Values{21, 32, 3}));
  EXPECT_FALSE(
      run.try_run("aten.conv1d.padding", {x, w, Datum{}, ints({1}), Datum{std::string("full")}}));
}

TEST(Functional, TransposedConvolutionTakesAnInputWithoutBatch) {
  auto run = ops();
  const auto result =
      run.tensor("aten.conv_transpose1d.default",
                 {Datum{make_tensor({1, 2}, {1, 2})}, Datum{make_tensor({1, 1, 2}, {1, 10})}});
  EXPECT_EQ(result.sizes(), (Ints{1, 3}));
  EXPECT_EQ(values_of(result), (Values{1, 12, 20}));
}

TEST(Functional, SpreadWithAndWithoutBias) {
  auto run = ops();
  const Datum x{make_tensor({2, 2}, {1, 3, 2, 6})};
  EXPECT_EQ(values_of(run.tensor("aten.var.dim", {x, ints({1})})), (Values{2, 8}));
  EXPECT_EQ(values_of(run.tensor("aten.var.dim", {x, ints({1}), flag(false)})), (Values{1, 4}));
  EXPECT_EQ(values_of(run.tensor("aten.std_mean.dim", {x, ints({1}), flag(false)}, 1)),
            (Values{2, 4}));
}

TEST(Functional, StacksRaiseTheRankFirst) {
  auto run = ops();
  const Datum rows = list({vector_of({1, 2}), vector_of({3, 4})});
  EXPECT_EQ(values_of(run.tensor("aten.hstack.default", {rows})), (Values{1, 2, 3, 4}));
  EXPECT_EQ(run.tensor("aten.vstack.default", {rows}).sizes(), (Ints{2, 2}));
  EXPECT_EQ(run.tensor("aten.dstack.default", {rows}).sizes(), (Ints{1, 2, 2}));
  EXPECT_EQ(values_of(run.tensor("aten.column_stack.default", {rows})), (Values{1, 3, 2, 4}));
}

TEST(Functional, RepeatsAndClasses) {
  auto run = ops();
  EXPECT_EQ(
      values_of(run.tensor("aten.repeat_interleave.self_int", {vector_of({1, 2}), integer(2)})),
      (Values{1, 1, 2, 2}));
  const Datum labels{make_tensor({2}, {2, 0}, DType::int64)};
  EXPECT_EQ(values_of(run.tensor("aten.one_hot.default", {labels, integer(3)})),
            (Values{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(values_of(run.tensor("aten.one_hot.default", {labels})),
            values_of(run.tensor("aten.one_hot.default", {labels, integer(3)})))
      << "without a number of classes they end with the largest label";
}

TEST(Functional, RealTransformsCutPadAndReturn) {
  auto run = ops();
  const Datum x = vector_of({1, 2, 4, 8});
  const Datum half{run.tensor("aten.fft_rfft.default", {x})};
  expect_close(run.tensor("aten.fft_irfft.default", {half}), *x.real());
  const Datum padded{run.tensor("aten.fft_rfft.default", {x, integer(6)})};
  expect_close(run.tensor("aten.fft_irfft.default", {padded}),
               make_tensor({6}, {1, 2, 4, 8, 0, 0}));
  const Datum whole{run.tensor("aten.fft_fft.default", {x})};
  const Datum back{run.tensor("aten.fft_ifft.default", {whole})};
  expect_close(run.tensor("aten.real.default", {back}), *x.real());
}

TEST(Functional, CosineSimilarityBroadcasts) {
  auto run = ops();
  const Datum a{make_tensor({2, 2}, {1, 0, 3, 4})};
  const auto angle = run.tensor("aten.cosine_similarity.default", {a, vector_of({0, 2})});
  EXPECT_EQ(values_of(angle), (Values{0, 0.8}));
}

}  // namespace
}  // namespace assay
