#include <algorithm>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;

auto ops() -> OpRunner {
  return OpRunner({add_index_rows, add_scatter_rows, add_sort_rows, add_arrange_rows, add_view_rows,
                   add_copy_rows, add_creation_rows, add_pointwise_rows, add_unary_rows,
                   add_composite_rows});
}
auto index_of(const Values& values) -> Tensor {
  return make_tensor({static_cast<std::int64_t>(values.size())}, values, DType::int64);
}
auto iota(Ints sizes) -> Tensor {
  Values values(static_cast<std::size_t>(numel(sizes)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return make_tensor(std::move(sizes), values);
}
auto list(std::initializer_list<Datum> items) -> Datum {
  return {DatumList(items)};
}

TEST(Index, NegativePositionsCountFromTheEnd) {
  const auto result =
      ops().tensor("aten.index.Tensor", {Datum{iota({4})}, list({Datum{index_of({-1, 0, -4})}})});
  EXPECT_EQ(values_of(result), (Values{3, 0, 0}));
}

TEST(Index, NeighbouringIndicesStayInPlace) {
  const Datum rows{index_of({0, 1})};
  const auto result = ops().tensor(
      "aten.index.Tensor", {Datum{iota({2, 3, 2, 2})}, list({Datum{}, rows, rows, Datum{}})});
  EXPECT_EQ(result.sizes(), (Ints{2, 2, 2}));
  EXPECT_EQ(values_of(result), (Values{0, 1, 6, 7, 12, 13, 18, 19}));
}

TEST(Index, SeparatedIndicesComeFirst) {
  const Datum rows{index_of({0, 1, 1})};
  const auto result =
      ops().tensor("aten.index.Tensor", {Datum{iota({2, 4, 2})}, list({rows, Datum{}, rows})});
  EXPECT_EQ(result.sizes(), (Ints{3, 4}));
  EXPECT_EQ(values_of(result), (Values{0, 2, 4, 6, 9, 11, 13, 15, 9, 11, 13, 15}));
}

TEST(Index, TheResultKeepsTheMemoryOrderOfTheDimensionsLeft) {
  const auto self = laid_out(iota({2, 3, 4}), {2, 1, 0});  // the first dimension is innermost
  const auto result =
      ops().tensor("aten.index.Tensor", {Datum{self}, list({Datum{}, Datum{index_of({2, 0})}})});
  EXPECT_EQ(result.sizes(), (Ints{2, 2, 4}));
  EXPECT_EQ(result.strides(), (Ints{1, 2, 4}));
  EXPECT_EQ(values_of(result)[0], 8);
}

TEST(Index, AMaskSelectsItsTrueElements) {
  const auto mask = make_tensor({2, 2}, {0, 1, 1, 0}, DType::boolean);
  const auto result =
      ops().tensor("aten.index.Tensor", {Datum{iota({2, 2, 2})}, list({Datum{mask}})});
  EXPECT_EQ(values_of(result), (Values{2, 3, 4, 5}));
}

TEST(Index, APositionOutOfRangeIsRefused) {
  const auto result =
      ops().try_run("aten.index.Tensor", {Datum{iota({4})}, list({Datum{index_of({4})}})});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("out of bounds"), std::string::npos);
}

TEST(Index, AMaskOfAnotherShapeIsRefused) {
  const auto mask = make_tensor({3}, {1, 0, 1}, DType::boolean);
  EXPECT_FALSE(ops().try_run("aten.index.Tensor", {Datum{iota({4})}, list({Datum{mask}})}));
}

TEST(IndexPut, ReplacesOrAccumulates) {
  const Datum at = list({Datum{index_of({1, 1})}});
  const auto values = make_tensor({2}, {10, 20});
  auto run = ops();
  EXPECT_EQ(values_of(run.tensor("aten.index_put.default", {Datum{iota({3})}, at, Datum{values}})),
            (Values{0, 20, 2}));
  EXPECT_EQ(values_of(run.tensor("aten.index_put.default",
                                 {Datum{iota({3})}, at, Datum{values}, flag(true)})),
            (Values{0, 31, 2}));
}

TEST(IndexPut, OneValueGoesEverywhere) {
  const auto mask = make_tensor({2, 2}, {1, 0, 0, 1}, DType::boolean);
  const auto result =
      ops().tensor("aten.index_put.default",
                   {Datum{iota({2, 2})}, list({Datum{mask}}), Datum{make_tensor({}, {9})}});
  EXPECT_EQ(values_of(result), (Values{9, 1, 2, 9}));
}

TEST(Index, MovesEveryBitOfAnElement) {
  // A signalling NaN pattern and a large integer survive: no conversion takes place.
  auto nan = *Tensor::contiguous(DType::float32, {1});
  *nan.data<std::uint32_t>() = 0x7FA00001U;
  auto run = ops();
  const auto moved = run.tensor("aten.index.Tensor", {Datum{nan}, list({Datum{index_of({0})}})});
  EXPECT_EQ(*moved.data<std::uint32_t>(), 0x7FA00001U);
  auto large = *Tensor::contiguous(DType::int64, {1});
  *large.data<std::int64_t>() = (std::int64_t{1} << 62) + 1;
  const auto kept = run.tensor("aten.flip.default", {Datum{large}, ints({0})});
  EXPECT_EQ(*kept.data<std::int64_t>(), (std::int64_t{1} << 62) + 1);
}

TEST(Gather, ReadsAlongTheDimension) {
  const auto index = make_tensor({2, 1}, {2, 0}, DType::int64);
  const auto result =
      ops().tensor("aten.gather.default", {Datum{iota({2, 3})}, integer(1), Datum{index}});
  EXPECT_EQ(values_of(result), (Values{2, 3}));
  EXPECT_FALSE(ops().try_run(
      "aten.gather.default",
      {Datum{iota({2, 3})}, integer(1), Datum{make_tensor({2, 1}, {3, 0}, DType::int64)}}));
}

TEST(Scatter, WritesAlongTheDimensionIntoAContiguousCopy) {
  const auto self = laid_out(iota({2, 2}), {1, 0});
  const auto index = make_tensor({1, 2}, {1, 0}, DType::int64);
  const auto source = make_tensor({1, 2}, {10, 20});
  const auto result =
      ops().tensor("aten.scatter.src", {Datum{self}, integer(0), Datum{index}, Datum{source}});
  EXPECT_EQ(values_of(result), (Values{0, 20, 10, 3}));
  EXPECT_EQ(result.strides(), (Ints{2, 1}));
}

TEST(ScatterReduce, KnowsItsReductions) {
  const auto index = index_of({0, 0});
  const auto source = make_tensor({2}, {3, 4});
  const auto self = make_tensor({2}, {5, 7});
  auto run = ops();
  const auto reduced = [&](const char* how, bool include_self) {
    return values_of(
        run.tensor("aten.scatter_reduce.two", {Datum{self}, integer(0), Datum{index}, Datum{source},
                                               Datum{std::string(how)}, flag(include_self)}));
  };
  EXPECT_EQ(reduced("sum", true), (Values{12, 7}));
  EXPECT_EQ(reduced("prod", false), (Values{12, 7}));
  EXPECT_EQ(reduced("mean", true), (Values{4, 7}));
  EXPECT_EQ(reduced("amax", false), (Values{4, 7}));
  EXPECT_EQ(reduced("amin", true), (Values{3, 7}));
  EXPECT_FALSE(
      run.try_run("aten.scatter_reduce.two", {Datum{self}, integer(0), Datum{index}, Datum{source},
                                              Datum{std::string("median")}, flag(true)}));
}

TEST(SliceScatter, KeepsStridesOffsetAndStorageSize) {
  const auto base = iota({12});
  const auto self = *base.view(DType::float64, {4}, {2}, 1);  // 1, 3, 5, 7
  const auto result =
      ops().tensor("aten.slice_scatter.default", {Datum{self}, Datum{make_tensor({2}, {50, 60})},
                                                  integer(0), integer(0), integer(4), integer(2)});
  EXPECT_EQ(values_of(result), (Values{50, 3, 60, 7}));
  EXPECT_EQ(result.strides(), Ints{2});
  EXPECT_EQ(result.meta.offset, 1);
  EXPECT_EQ(result.storage->size_bytes(), base.storage->size_bytes());
  EXPECT_EQ(values_of(base)[1], 1) << "self must not change";
}

TEST(SelectScatter, OfAnExpandedTensorIsDense) {
  const auto expanded = *make_tensor({1}, {2}).view(DType::float64, {3}, {0}, 0);
  const auto result =
      ops().tensor("aten.select_scatter.default",
                   {Datum{expanded}, Datum{make_tensor({}, {9})}, integer(0), integer(1)});
  EXPECT_EQ(values_of(result), (Values{2, 9, 2}));
  EXPECT_EQ(result.strides(), Ints{1});
}

TEST(Nonzero, ListsPositionsColumnByColumn) {
  const auto result =
      ops().tensor("aten.nonzero.default", {Datum{make_tensor({2, 2}, {0, 1, 1, 1})}});
  EXPECT_EQ(values_of(result), (Values{0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(result.strides(), (Ints{1, 3}));
}

TEST(MaskedScatter, TakesSourceElementsInOrder) {
  const auto mask = make_tensor({3}, {1, 0, 1}, DType::boolean);
  auto run = ops();
  EXPECT_EQ(values_of(run.tensor("aten.masked_scatter.default",
                                 {Datum{iota({3})}, Datum{mask}, Datum{make_tensor({2}, {7, 8})}})),
            (Values{7, 1, 8}));
  EXPECT_FALSE(run.try_run("aten.masked_scatter.default",
                           {Datum{iota({3})}, Datum{mask}, Datum{make_tensor({1}, {7})}}));
}

TEST(Embedding, BackwardSkipsThePaddingRowAndCanShareByFrequency) {
  auto run = ops();
  const auto index = index_of({0, 2, 2});
  const auto grad = make_tensor({3, 1}, {1, 2, 4});
  const auto sums = [&](std::int64_t padding, bool by_frequency) {
    return values_of(
        run.tensor("aten.embedding_dense_backward.default",
                   {Datum{grad}, Datum{index}, integer(3), integer(padding), flag(by_frequency)}));
  };
  EXPECT_EQ(sums(-1, false), (Values{1, 0, 6}));
  EXPECT_EQ(sums(2, false), (Values{1, 0, 0}));
  EXPECT_EQ(sums(-1, true), (Values{1, 0, 3}));
}

TEST(Sort, IsStableAndPutsNanLast) {
  auto run = ops();
  const Datum self{make_tensor({5}, {2, NAN, 1, 2, -1})};
  const auto order =
      values_of(run.tensor("aten.sort.stable", {self, flag(true), integer(0), flag(false)}, 1));
  EXPECT_EQ(order, (Values{4, 2, 0, 3, 1}));
  const auto reverse =
      values_of(run.tensor("aten.sort.stable", {self, flag(true), integer(0), flag(true)}, 1));
  EXPECT_EQ(reverse, (Values{1, 0, 3, 2, 4}));
}

TEST(Topk, SmallestComeAscending) {
  const auto values = ops().tensor(
      "aten.topk.default",
      {Datum{make_tensor({4}, {4, 1, 3, 2})}, integer(2), integer(0), flag(false), flag(true)});
  EXPECT_EQ(values_of(values), (Values{1, 2}));
}

TEST(Median, IsTheLowerOneAndNanWins) {
  auto run = ops();
  EXPECT_EQ(values_of(run.tensor("aten.median.default", {Datum{make_tensor({4}, {4, 1, 3, 2})}})),
            Values{2});
  EXPECT_TRUE(std::isnan(
      values_of(run.tensor("aten.median.default", {Datum{make_tensor({2}, {NAN, 1})}}))[0]));
  EXPECT_EQ(values_of(run.tensor("aten.nanmedian.default", {Datum{make_tensor({2}, {NAN, 1})}})),
            Values{1});
}

TEST(Searchsorted, SidesDifferOnEqualElements) {
  auto run = ops();
  const Datum sorted{make_tensor({3}, {1, 2, 2})};
  const Datum wanted{make_tensor({2}, {2, 3})};
  EXPECT_EQ(values_of(run.tensor("aten.searchsorted.Tensor", {sorted, wanted})), (Values{1, 3}));
  EXPECT_EQ(
      values_of(run.tensor("aten.searchsorted.Tensor", {sorted, wanted, flag(false), flag(true)})),
      (Values{3, 3}));
}

TEST(Unique, GivesInverseAndCounts) {
  auto run = ops();
  const DatumList args{Datum{make_tensor({4}, {3, 1, 3, 2})}, flag(true), flag(true), flag(true)};
  EXPECT_EQ(values_of(run.tensor("aten._unique2.default", args, 0)), (Values{1, 2, 3}));
  EXPECT_EQ(values_of(run.tensor("aten._unique2.default", args, 1)), (Values{2, 0, 2, 1}));
  EXPECT_EQ(values_of(run.tensor("aten._unique2.default", args, 2)), (Values{1, 1, 2}));
}

TEST(Roll, WrapsAround) {
  auto run = ops();
  EXPECT_EQ(values_of(run.tensor("aten.roll.default", {Datum{iota({4})}, ints({1}), ints({0})})),
            (Values{3, 0, 1, 2}));
  EXPECT_EQ(values_of(run.tensor("aten.roll.default", {Datum{iota({2, 2})}, ints({1}), ints({})})),
            (Values{3, 0, 1, 2}));
}

TEST(PixelShuffle, AndBack) {
  auto run = ops();
  const Datum self{iota({1, 4, 1, 2})};
  const auto shuffled = run.tensor("aten.pixel_shuffle.default", {self, integer(2)});
  EXPECT_EQ(values_of(shuffled), (Values{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(values_of(run.tensor("aten.pixel_unshuffle.default", {Datum{shuffled}, integer(2)})),
            values_of(*self.real()));
}

TEST(UnfoldBackward, OverlappingWindowsAddUp) {
  const auto result = ops().tensor(
      "aten.unfold_backward.default",
      {Datum{make_tensor({2, 2}, {1, 2, 3, 4})}, ints({3}), integer(0), integer(2), integer(1)});
  EXPECT_EQ(values_of(result), (Values{1, 5, 4}));
}

/// The value on any layout of self is the value on a contiguous self.
TEST(Index, LayoutsOfSelfDoNotMatter) {
  auto run = ops();
  const auto self = random_tensor({2, 3, 4}, 7);
  const auto index = make_tensor({2, 3, 1}, {3, 0, 1, 2, 2, 0}, DType::int64);
  const auto mask = make_tensor(
      {2, 3, 4}, Values{1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0},
      DType::boolean);
  const std::vector<std::pair<const char*, DatumList>> calls{
      {"aten.index.Tensor", {list({Datum{}, Datum{index_of({2, 0})}, Datum{index_of({1, 3})}})}},
      {"aten.index_select.default", {integer(1), Datum{index_of({2, 2, 0})}}},
      {"aten.gather.default", {integer(2), Datum{index}}},
      {"aten.scatter_add.default", {integer(2), Datum{index}, Datum{random_tensor({2, 3, 1}, 8)}}},
      {"aten.masked_select.default", {Datum{mask}}},
      {"aten.take.default", {Datum{index}}},
      {"aten.sort.default", {integer(1), flag(true)}},
      {"aten.flip.default", {ints({0, 2})}},
      {"aten.roll.default", {ints({1, 2}), ints({0, 2})}},
      {"aten.triu.default", {integer(1)}},
      {"aten.nonzero.default", {}},
      {"aten.kthvalue.default", {integer(2), integer(0)}}};
  for (const auto& [name, rest] : calls) {
    DatumList args{Datum{self}};
    args.insert(args.end(), rest.begin(), rest.end());
    const auto want = run.tensor(name, args);
    for (const auto& other : {laid_out(self, {2, 0, 1}), reversed_and_spaced(self)}) {
      args[0] = Datum{other};
      SCOPED_TRACE(name);
      expect_close(run.tensor(name, args), want);
    }
  }
}

}  // namespace
}  // namespace assay
