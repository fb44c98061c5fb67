// Rules of operators without a row, inferred from recorded calls.
#include "core/ops/inferred.h"

#include <gtest/gtest.h>

#include "core/ops/domain.h"
#include "core/ops/formula.h"

namespace assay {
namespace {

auto tensor(Ints sizes, Ints strides = {}, DType dtype = DType::float32, int storage = 0,
            std::int64_t offset = 0) -> Datum {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.sizes.assign(sizes.begin(), sizes.end());
  if (strides.empty() && !sizes.empty()) strides = contiguous_strides(sizes);
  meta.strides.assign(strides.begin(), strides.end());
  meta.offset = offset;
  return {FakeTensor{std::move(meta), storage}};
}
auto number(std::int64_t value) -> Datum {
  return {Expr(value)};
}
auto fresh(Ints sizes, Ints strides = {}, DType dtype = DType::float32) -> Datum {
  return tensor(std::move(sizes), std::move(strides), dtype, 9);
}

struct Recording {
  std::string schema;
  std::vector<OperatorSample> samples;
  void call(DatumList args, Datum result) {
    samples.push_back(
        {static_cast<std::int64_t>(samples.size()) + 1, std::move(args), std::move(result)});
  }
  auto infer() const -> InferredRule {
    auto parsed = parse_schema(schema);
    EXPECT_TRUE(parsed) << schema;
    auto rule = infer_rule(*parsed, samples);
    rule.schema_text = schema;
    return rule;
  }
};

/// What the inferred row gives for these arguments, or its error.
auto applied(const InferredRule& rule, DatumList args) -> Result<Datum> {
  OpTable table;
  table.add_owned(inferred_row(std::make_shared<const InferredRule>(rule)), rule.schema_text);
  ShapeContext context;
  FakeDomain domain(table, context);
  return domain.run(*table.rows().front(), std::move(args));
}

auto sizes_of(const Result<Datum>& result) -> Dims {
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result && result->fake() ? result->fake()->meta.sizes : Dims{};
}
auto strides_of(const Result<Datum>& result) -> Dims {
  return result && result->fake() ? result->fake()->meta.strides : Dims{};
}

TEST(Inferred, PaddingFollowsItsArgument) {
  Recording r{"my::pad(Tensor x, int pad) -> Tensor", {}};
  r.call({tensor({3, 5}), number(2)}, fresh({3, 9}));
  r.call({tensor({4, 7}), number(1)}, fresh({4, 9}));
  r.call({tensor({2, 11}), number(3)}, fresh({2, 17}));
  r.call({tensor({6, 6}), number(5)}, fresh({6, 16}));
  const auto rule = r.infer();
  ASSERT_EQ(rule.state, InferenceState::confirmed) << rule.reason;
  EXPECT_EQ(sizes_of(applied(rule, {tensor({8, 20}), number(7)})), (Dims{8, 34}));
  EXPECT_GE(rule.held_back, 1);
  EXPECT_NE(rule.formula.find("2*pad + x.size(1)"), std::string::npos) << rule.formula;
}

TEST(Inferred, RulesHoldOnSymbols) {
  Recording r{"my::halve(Tensor x) -> Tensor", {}};
  r.call({tensor({3, 5})}, fresh({3, 2}));
  r.call({tensor({4, 8})}, fresh({4, 4}));
  r.call({tensor({7, 9})}, fresh({7, 4}));
  r.call({tensor({2, 12})}, fresh({2, 6}));
  const auto rule = r.infer();
  ASSERT_EQ(rule.state, InferenceState::confirmed) << rule.reason;
  ExprPool pool;
  const auto s0 = pool.symbol("s0");
  const auto s1 = pool.symbol("s1");
  auto input = tensor({1, 1});
  auto& meta = std::get<FakeTensor>(input.value).meta;
  meta.sizes = {s0, s1};
  meta.strides = {s1, 1};
  const auto result = applied(rule, {input});
  EXPECT_EQ(sizes_of(result), (Dims{s0, floor_div(s1, 2)}));
}

TEST(Inferred, LayoutsThatFollowTheInputAreKept) {
  Recording r{"my::same(Tensor x) -> Tensor", {}};
  r.call({tensor({3, 5})}, fresh({3, 5}));
  r.call({tensor({4, 7}, {1, 4})}, fresh({4, 7}, {1, 4}));
  r.call({tensor({6, 2})}, fresh({6, 2}));
  r.call({tensor({5, 3}, {1, 5})}, fresh({5, 3}, {1, 5}));
  const auto rule = r.infer();
  ASSERT_EQ(rule.state, InferenceState::confirmed) << rule.reason;
  EXPECT_EQ(strides_of(applied(rule, {tensor({8, 9}, {1, 8})})), (Dims{1, 8}));
  EXPECT_EQ(strides_of(applied(rule, {tensor({8, 9})})), (Dims{9, 1}));
}

TEST(Inferred, RowMajorInputsDoNotTellLayoutsApart) {
  Recording r{"my::same(Tensor x) -> Tensor", {}};
  r.call({tensor({3, 5})}, fresh({3, 5}));
  r.call({tensor({4, 7})}, fresh({4, 7}));
  r.call({tensor({6, 2})}, fresh({6, 2}));
  r.call({tensor({5, 3})}, fresh({5, 3}));
  r.call({tensor({9, 4})}, fresh({9, 4}));
  const auto rule = r.infer();
  ASSERT_EQ(rule.state, InferenceState::confirmed) << rule.reason;
  EXPECT_TRUE(applied(rule, {tensor({8, 9})}));  // all agree here
  const auto permuted = applied(rule, {tensor({8, 9}, {1, 8})});
  ASSERT_FALSE(permuted);
  EXPECT_EQ(permuted.error().code, ErrorCode::unsupported);
}

TEST(Inferred, WhatNeverVariedIsNotAConstant) {
  Recording r{"my::widen(Tensor x) -> Tensor", {}};
  r.call({tensor({4, 5})}, fresh({4, 5}));
  r.call({tensor({4, 7})}, fresh({4, 7}));
  r.call({tensor({4, 2})}, fresh({4, 2}));
  const auto rule = r.infer();
  ASSERT_EQ(rule.state, InferenceState::confirmed) << rule.reason;
  EXPECT_TRUE(applied(rule, {tensor({4, 9})}));
  EXPECT_FALSE(applied(rule, {tensor({5, 9})}));  // 4, or x.size(0)?
}

TEST(Inferred, SizesThatDependOnDataAreRefused) {
  Recording r{"my::pick(Tensor x) -> Tensor", {}};
  r.call({tensor({8})}, fresh({3}));
  r.call({tensor({8})}, fresh({5}));
  r.call({tensor({16})}, fresh({5}));
  r.call({tensor({16})}, fresh({11}));
  const auto rule = r.infer();
  EXPECT_EQ(rule.state, InferenceState::refuted);
  EXPECT_NE(rule.reason.find("size 0"), std::string::npos) << rule.reason;
  EXPECT_TRUE(rule.spaces.empty());
}

TEST(Inferred, TwoCallsDecideNothing) {
  Recording r{"my::same(Tensor x) -> Tensor", {}};
  r.call({tensor({3, 5})}, fresh({3, 5}));
  r.call({tensor({4, 7})}, fresh({4, 7}));
  EXPECT_EQ(r.infer().state, InferenceState::undecided);
}

TEST(Inferred, ViewsShareTheStorageOfTheirBase) {
  Recording r{"my::drop(Tensor(a) x, int n) -> Tensor(a)", {}};
  r.call({tensor({9, 4}), number(2)}, tensor({7, 4}, {4, 1}, DType::float32, 0, 8));
  r.call({tensor({8, 5}), number(1)}, tensor({7, 5}, {5, 1}, DType::float32, 0, 5));
  r.call({tensor({12, 3}), number(4)}, tensor({8, 3}, {3, 1}, DType::float32, 0, 12));
  r.call({tensor({11, 6}), number(5)}, tensor({6, 6}, {6, 1}, DType::float32, 0, 30));
  const auto rule = r.infer();
  ASSERT_EQ(rule.state, InferenceState::confirmed) << rule.reason;
  const auto result = applied(rule, {tensor({20, 7}, {}, DType::float32, 3), number(6)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->fake()->storage, 3);
  EXPECT_EQ(result->fake()->meta.offset, Expr(42));
  EXPECT_EQ(sizes_of(result), (Dims{14, 7}));
}

TEST(Inferred, SeveralResultsOfOtherTypes) {
  Recording r{"my::stats(Tensor x) -> (Tensor, Tensor)", {}};
  for (const auto& [n, m] : {std::pair{3, 5}, {4, 9}, {7, 2}, {6, 8}})
    r.call({tensor({n, m})}, {DatumList{fresh({n}), fresh({n, m}, {}, DType::int64)}});
  const auto rule = r.infer();
  ASSERT_EQ(rule.state, InferenceState::confirmed) << rule.reason;
  const auto result = applied(rule, {tensor({5, 11})});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(result->list());
  EXPECT_EQ((*result->list())[1].fake()->meta.dtype, DType::int64);
  EXPECT_EQ((*result->list())[1].fake()->meta.sizes, (Dims{5, 11}));
}

TEST(Formula, WindowsOfConvolutions) {
  std::vector<FormulaPoint> points;
  for (const auto& [x, k, s, p] :
       {std::array{10, 3, 2, 1}, {17, 5, 3, 2}, {9, 2, 1, 0}, {23, 4, 5, 3}, {30, 7, 2, 2}})
    points.push_back({{x, k, s, p}, (x + 2 * p - k) / s + 1});
  const auto found = fitting_formulas(points);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().shape, FormulaShape::padded);
}

TEST(Formula, TheSimplestThatFitsIsKeptWithItsEquals) {
  const std::vector<FormulaPoint> points{{{4, 4}, 4}, {{6, 6}, 6}};
  const auto found = fitting_formulas(points);
  ASSERT_GE(found.size(), 2U);  // one argument cannot be told from the other
  for (const auto& formula : {found[0], found[1]}) EXPECT_EQ(formula.shape, FormulaShape::feature);
  EXPECT_NE(found[0].of[0], found[1].of[0]);
}

TEST(Inferred, ACoincidenceOfSimplerNumbersDecidesNothing) {
  // Rounded up to `m`; but all results happen to be multiples of 4.
  Recording r{"my::round_up(Tensor x, int m) -> Tensor", {}};
  r.call({tensor({3}), number(4)}, fresh({4}));
  r.call({tensor({7}), number(8)}, fresh({8}));
  r.call({tensor({9}), number(6)}, fresh({12}));
  r.call({tensor({17}), number(5)}, fresh({20}));
  r.call({tensor({21}), number(8)}, fresh({24}));
  const auto rule = r.infer();
  const bool is_sure = rule.state == InferenceState::confirmed &&
                       applied(rule, {tensor({13}), number(7)}).has_value();
  EXPECT_FALSE(is_sure);  // 14, and not 16
  r.call({tensor({13}), number(7)}, fresh({14}));
  const auto better = r.infer();
  ASSERT_EQ(better.state, InferenceState::confirmed) << better.reason;
  EXPECT_EQ(sizes_of(applied(better, {tensor({20}), number(9)})), Dims{27});
}

TEST(Formula, NothingFitsWhatIsNoFunction) {
  const std::vector<FormulaPoint> points{{{4}, 4}, {{4}, 5}};
  EXPECT_TRUE(fitting_formulas(points).empty());
}

}  // namespace
}  // namespace assay
