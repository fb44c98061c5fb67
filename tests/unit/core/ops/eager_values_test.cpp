// Small operators against what PyTorch 2.11 computes in eager mode.
#include <cmath>
#include <limits>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;
using Values = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

auto ops() -> OpRunner {
  return OpRunner({add_arrange_rows, add_view_rows, add_copy_rows, add_creation_rows,
                   add_pointwise_rows, add_unary_rows, add_composite_rows, add_reduction_rows,
                   add_adaptive_max_rows, add_random_rows, add_inplace_rows});
}
auto vector_of(const Values& values, DType dtype = DType::float64) -> Datum {
  return {make_tensor({static_cast<std::int64_t>(values.size())}, values, dtype)};
}
void expect_values(const Tensor& got, const Values& wanted) {
  const auto values = values_of(got);
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isnan(wanted[i]) || std::isinf(wanted[i]))
      EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(values[i]) : values[i] == wanted[i]) << i;
    else
      EXPECT_NEAR(values[i], wanted[i], 1e-12) << i;
}
auto matrix() -> Datum {
  return {make_tensor({2, 3}, {0, 1, 2, 3, 4, 5})};
}

TEST(EagerPointwise, OfOneOperand) {
  const Datum x = vector_of({-2.5, -0.3, 0, 0.4, 2.5});
  const Datum p = vector_of({0.1, 0.25, 0.5, 0.9, 1});
  struct Row {
    const char* overload;
    DatumList args;
    Values wanted;
  };
  const Row rows[] = {
      {"celu", {x, real(2)}, {-1.4269904062796197, -0.2785840471498844, 0, 0.4, 2.5}},
      {"hardshrink", {x}, {-2.5, 0, 0, 0, 2.5}},
      {"softshrink", {x}, {-2, 0, 0, 0, 2}},
      {"logit",
       {p, real(0.2)},
       {-1.3862943611198906, -1.0986122886681098, 0, 1.3862943611198908, 1.3862943611198908}},
      {"logit", {vector_of({0, 1})}, {-kInf, kInf}},
      {"special_entr",
       {p},
       {0.23025850929940456, 0.34657359027997264, 0.34657359027997264, 0.09482446409204366, 0}},
      {"special_entr", {vector_of({0, -1})}, {0, -kInf}},
      {"lgamma",
       {p},
       {2.252712651734206, 1.2880225246980774, 0.5723649429247001, 0.06637623973474295, 0}},
      {"angle", {x}, {3.141592653589793, 3.141592653589793, 0, 0, 0}},
      {"angle", {vector_of({-1, 1}, DType::int64)}, {3.1415927410125732, 0}},
      {"nan_to_num", {vector_of({kNan, kInf, -kInf, 1}, DType::float16)}, {0, 65504, -65504, 1}},
      {"nan_to_num", {vector_of({kNan, kInf}), real(7), real(8)}, {7, 8}}};
  auto run = ops();
  for (const auto& [overload, args, wanted] : rows) {
    SCOPED_TRACE(overload);
    expect_values(run.tensor(fmt::format("aten.{}.default", overload), args), wanted);
  }
  expect_values(run.tensor("aten.round.decimals", {vector_of({1.235, -0.045, 12.5}), integer(2)}),
                {1.24, -0.04, 12.5});
  expect_values(run.tensor("aten.round.decimals", {vector_of({125, -15}), integer(-1)}),
                {120, -20});
}

TEST(EagerPointwise, OfTwoOperands) {
  const Datum x = vector_of({-2.5, -0.3, 0, 0.4, 2.5});
  const Datum p = vector_of({0.1, 0.25, 0.5, 0.9, 1});
  const Datum i = vector_of({-6, 4, 0, 7}, DType::int64);
  const Datum j = vector_of({4, 6, 3, 64}, DType::int64);
  struct Row {
    const char* overload;
    Datum a, b;
    Values wanted;
  };
  const Row rows[] = {
      {"heaviside.default", x, p, {0, 0, 0.5, 1, 1}},
      {"special_xlog1py.default",
       x,
       p,
       {-0.23827544951081217, -0.06694306539426292, 0, 0.2567415544689579, 1.7328679513998633}},
      {"logaddexp2.default",
       x,
       p,
       {0.320253779618794, 1.0010524309378053, 1.2715533031636121, 1.671553303163612,
        2.936751795439824}},
      {"lcm.default", i, j, {12, 12, 0, 448}},
      {"bitwise_left_shift.Tensor", i, j, {-96, 256, 0, 0}},
      {"bitwise_right_shift.Tensor", i, j, {-1, 0, 0, 0}},
      {"bitwise_right_shift.Tensor", i, vector_of({-1, 1, 1, 1}, DType::int64), {-1, 2, 0, 3}},
      {"sub.Scalar", i, integer(2), {-8, 2, -2, 5}},
      {"rsub.Scalar", i, integer(2), {8, -2, 2, -5}},
      {"floor_divide.Scalar", i, integer(4), {-2, 1, 0, 1}}};
  auto run = ops();
  for (const auto& [overload, a, b, wanted] : rows) {
    SCOPED_TRACE(overload);
    expect_values(run.tensor(fmt::format("aten.{}", overload), {a, b}), wanted);
  }
}

TEST(EagerPointwise, InPlaceFormsMayHaveNamesOfTheirOwn) {
  auto run = ops();
  for (const auto* overload : {"aten.pow_.Scalar", "aten.pow_.Tensor"}) {
    const Datum x = vector_of({1, 2, 3});
    const Datum exponent =
        overload == std::string("aten.pow_.Scalar") ? integer(2) : vector_of({2, 2, 2});
    expect_values(run.tensor(overload, {x, exponent}), {1, 4, 9});
    expect_values(*x.real(), {1, 4, 9});
  }
  const Datum x = vector_of({7, -7});
  expect_values(run.tensor("aten.floor_divide_.Tensor", {x, vector_of({2, 2})}), {3, -4});
  EXPECT_FALSE(run.try_run("aten.pow_.Tensor_Scalar", {x, integer(2)}));
}

TEST(EagerPointwise, ComplexNumbersOfTwoRealOnes) {
  auto run = ops();
  const auto made = to_vector<Complex>(
      run.tensor("aten.complex.default", {vector_of({1, 2}), vector_of({3, 4})}));
  EXPECT_EQ(made, (std::vector<Complex>{{1, 3}, {2, 4}}));
  const auto polar = run.tensor("aten.polar.default", {vector_of({0.1}), vector_of({-2.5})});
  EXPECT_EQ(polar.dtype(), DType::complex128);
  EXPECT_LT(
      std::abs(to_vector<Complex>(polar)[0] - Complex(-0.08011436155469337, -0.05984721441039566)),
      1e-15);
  const auto conj = run.tensor("aten._conj_physical.default", {Datum{polar}});
  EXPECT_EQ(to_vector<Complex>(conj)[0], std::conj(to_vector<Complex>(polar)[0]));
  // As autograd conjugates a factor that is a number.
  const auto number = run.tensor("aten._conj.default", {Datum{Complex(1, 2)}});
  EXPECT_EQ(number.rank(), 0);
  EXPECT_EQ(to_vector<Complex>(number), std::vector<Complex>{Complex(1, -2)});
  EXPECT_FALSE(
      run.try_run("aten.complex.default", {vector_of({1}), vector_of({1}, DType::float32)}))
      << "two real tensors of one dtype";
}

TEST(EagerScans, EqualElementsAndNaNMoveThePosition) {
  const Datum x = vector_of({3, 1, 3, kNan, 5});
  auto run = ops();
  const auto largest = run.run("aten.cummax.default", {x, integer(0)});
  expect_values(*largest.at(0).real(), {3, 3, 3, kNan, kNan});
  expect_values(*largest.at(1).real(), {0, 0, 2, 3, 3});
  const auto smallest = run.run("aten.cummin.default", {x, integer(0)});
  expect_values(*smallest.at(0).real(), {3, 1, 1, kNan, kNan});
  expect_values(*smallest.at(1).real(), {0, 1, 1, 3, 3});
  expect_values(
      run.tensor("aten.logcumsumexp.default", {vector_of({-2.5, -0.3, 0, 0.4, 2.5}), integer(0)}),
      {-2.5, -0.1949166802313041, 0.6004304055904071, 1.1983755439335984, 2.7406607741609452});
}

TEST(EagerReductions, TraceNormHistogram) {
  auto run = ops();
  expect_values(run.tensor("aten.trace.default", {matrix()}), {4});
  EXPECT_FALSE(run.try_run("aten.trace.default", {vector_of({1})}));
  expect_values(run.tensor("aten.norm.Scalar", {matrix(), integer(1)}), {15});
  expect_values(run.tensor("aten.norm.ScalarOpt_dim", {matrix(), Datum{}, ints({1})}),
                {std::sqrt(5.0), std::sqrt(50.0)});
  const Datum x = vector_of({-2.5, -0.3, 0, 0.4, 2.5});
  expect_values(run.tensor("aten.histc.default", {x, integer(4)}), {1, 1, 2, 1});
  expect_values(run.tensor("aten.histc.default", {x, integer(4), integer(-1), integer(1)}),
                {0, 1, 2, 0});
  EXPECT_FALSE(run.try_run("aten.histc.default", {x, integer(0)})) << "there is a bin";
}

TEST(EagerArrange, DiagonalOfNewZeros) {
  auto run = ops();
  const auto below = run.tensor("aten.diag_embed.default", {matrix(), integer(-1)});
  EXPECT_EQ(below.sizes(), (Ints{2, 4, 4}));
  expect_values(run.tensor("aten.select.int", {Datum{below}, integer(0), integer(0)}),
                {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0});
  EXPECT_EQ(run.tensor("aten.diag_embed.default", {matrix(), integer(1), integer(0), integer(-1)})
                .strides(),
            (Ints{8, 4, 1}));
  EXPECT_FALSE(
      run.try_run("aten.diag_embed.default", {matrix(), integer(0), integer(1), integer(-2)}));
  expect_values(run.tensor("prims.rev.default", {matrix(), ints({0})}), {3, 4, 5, 0, 1, 2});
}

TEST(EagerPooling, AdaptiveMaximumAndWhereItStood) {
  const Datum x{make_tensor({1, 1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4})};
  auto run = ops();
  const auto pooled = run.run("aten.adaptive_max_pool2d.default", {x, ints({2, 3})});
  expect_values(*pooled.at(0).real(), {5, 6, 6, 5, 6, 6});
  expect_values(*pooled.at(1).real(), {5, 6, 6, 5, 6, 6});
  const Datum ones{make_tensor({1, 1, 2, 3}, Values(6, 1))};
  expect_values(run.tensor("aten.adaptive_max_pool2d_backward.default", {ones, x, pooled.at(1)}),
                {0, 0, 0, 0, 0, 2, 4, 0, 0, 0, 0, 0});
}

TEST(EagerSolutions, HalfABlockOfPivotsIsRefused) {
  auto run = OpRunner({add_creation_rows, add_linalg_solve_rows});
  const Datum ld = run.run("aten.eye.default", {integer(3)}).at(0);
  const Datum b = run.run("aten.eye.default", {integer(3)}).at(0);
  EXPECT_TRUE(
      run.try_run("aten.linalg_ldl_solve.default", {ld, vector_of({1, -3, -3}, DType::int32), b}));
  for (const auto& pivots : {Values{1, 2, -3}, Values{-2, 2, 3}})
    EXPECT_FALSE(
        run.try_run("aten.linalg_ldl_solve.default", {ld, vector_of(pivots, DType::int32), b}));
}

TEST(EagerItems, AreReadFromTheData) {
  auto run = ops();
  const auto item = [&](const Datum& x) { return run.run("aten.item.default", {x}).at(0); };
  EXPECT_EQ(*item(vector_of({-3}, DType::int64)).scalar(), Expr(-3));
  EXPECT_EQ(*item(vector_of({0.5})).scalar(), Expr::real(0.5));
  EXPECT_EQ(*item(vector_of({1}, DType::boolean)).scalar(), Expr::boolean(true));
  EXPECT_FALSE(run.try_run("aten.item.default", {vector_of({1, 2})})) << "one element";
  const auto complex =
      run.run("aten._local_scalar_dense.default", {vector_of({1}, DType::complex64)});
  EXPECT_EQ(std::get<Complex>(complex.at(0).value), Complex(1));
  const auto equal = [&](const Datum& a, const Datum& b) {
    return *run.run("aten.equal.default", {a, b}).at(0).scalar();
  };
  EXPECT_EQ(equal(vector_of({1, 2}), vector_of({1, 2})), Expr::boolean(true));
  EXPECT_EQ(equal(vector_of({1, kNan}), vector_of({1, kNan})), Expr::boolean(false));
  EXPECT_EQ(equal(vector_of({1}), matrix()), Expr::boolean(false));
}

TEST(EagerItems, AreNewSymbolsBeforeTheyAreRead) {
  OpTable table;
  add_composite_rows(table);
  ExprPool pool;
  ShapeContext context;
  context.set_pool(pool);
  FakeDomain domain(table, context);
  const auto item = [&](DType dtype) {
    FakeTensor fake;
    fake.meta.dtype = dtype;
    auto result = domain.run(*table.find("aten.item.default"), {Datum{fake}});
    EXPECT_TRUE(result);
    return *result->scalar();
  };
  EXPECT_EQ(item(DType::int64).type(), ExprType::integer);
  EXPECT_EQ(item(DType::float32).type(), ExprType::real);
  EXPECT_EQ(item(DType::boolean).type(), ExprType::boolean);
  EXPECT_EQ(context.made_symbols().size(), 3U);
}

TEST(EagerRandom, FunctionalFormsLeaveTheirInput) {
  auto run = ops();
  for (const auto* overload : {"aten.uniform.default", "aten.normal_functional.default",
                               "aten.exponential.default", "aten.random.default"}) {
    const Datum x = vector_of({7, 7, 7, 7, 7, 7, 7, 7});
    const auto drawn = run.tensor(overload, {x});
    EXPECT_NE(values_of(drawn), values_of(*x.real())) << overload;
    expect_values(*x.real(), Values(8, 7));
  }
}

}  // namespace
}  // namespace assay
