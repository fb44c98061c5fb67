#include <limits>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

constexpr auto kFlash = "aten._scaled_dot_product_flash_attention_for_cpu.default";
constexpr auto kFlashBackward = "aten._scaled_dot_product_flash_attention_for_cpu_backward.default";

auto ops() -> OpRunner {
  return OpRunner(
      {add_attention_rows, add_view_rows, add_copy_rows, add_creation_rows, add_pointwise_rows});
}

struct Operands {
  Tensor query = random_tensor({2, 3, 5, 4}, 1);
  Tensor key = random_tensor({2, 3, 6, 4}, 2);
  Tensor value = random_tensor({2, 3, 6, 4}, 3);
  Tensor mask = random_tensor({5, 6}, 4);
};

/// softmax(scale * q k^T + mask) v for one query row, written out.
auto attend(const Operands& o, std::size_t head, std::size_t row, bool causal, double scale)
    -> std::vector<double> {
  const auto q = values_of(o.query);
  const auto k = values_of(o.key);
  const auto v = values_of(o.value);
  const auto m = values_of(o.mask);
  std::vector<double> result(4, 0);
  double total = 0;
  for (std::size_t j = 0; j < 6; ++j) {
    if (causal && j > row) break;
    double score = m[row * 6 + j];
    for (std::size_t i = 0; i < 4; ++i)
      score += scale * q[(head * 5 + row) * 4 + i] * k[(head * 6 + j) * 4 + i];
    total += std::exp(score);
    for (std::size_t i = 0; i < 4; ++i) result[i] += std::exp(score) * v[(head * 6 + j) * 4 + i];
  }
  for (auto& value : result) value /= total;
  return result;
}

TEST(Attention, IsTheSoftmaxWeightedMeanOfTheValues) {
  auto run = ops();
  const Operands o;
  for (const bool causal : {false, true}) {
    const auto out =
        values_of(run.tensor(kFlash, {Datum{o.query}, Datum{o.key}, Datum{o.value}, real(0),
                                      flag(causal), Datum{o.mask}, real(0.3)}));
    for (const std::size_t head : {0U, 4U})
      for (std::size_t row = 0; row < 5; ++row) {
        const auto want = attend(o, head, row, causal, 0.3);
        for (std::size_t i = 0; i < 4; ++i)
          ASSERT_NEAR(out[(head * 5 + row) * 4 + i], want[i], 1e-12);
      }
  }
}

TEST(Attention, TheOutputIsLaidOutLikeTheQueryAndTheSumsByPosition) {
  auto run = ops();
  const Operands o;
  const auto plain = run.run(kFlash, {Datum{o.query}, Datum{o.key}, Datum{o.value}});
  const auto by_position =
      run.run(kFlash, {Datum{laid_out(o.query, {0, 2, 1, 3})}, Datum{o.key}, Datum{o.value}});
  EXPECT_EQ(plain[0].real()->strides(), (Ints{60, 20, 4, 1}));
  EXPECT_EQ(by_position[0].real()->strides(), (Ints{60, 4, 12, 1}));
  EXPECT_EQ(plain[1].real()->strides(), (Ints{15, 1, 3}));
  expect_close(*by_position[0].real(), *plain[0].real());
  expect_close(*by_position[1].real(), *plain[1].real());
}

TEST(Attention, ARowMaskedThroughoutIsZero) {
  auto run = ops();
  const Operands o;
  std::vector<double> values(30, 0);
  std::fill_n(values.begin() + 6, 6, -INFINITY);
  const auto results = run.run(kFlash, {Datum{o.query}, Datum{o.key}, Datum{o.value}, real(0),
                                        flag(false), Datum{make_tensor({5, 6}, values)}});
  const auto out = values_of(*results[0].real());
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(out[i], 0);
  EXPECT_NE(out[0], 0);
}

TEST(Attention, BackwardAgreesWithFiniteDifferences) {
  auto run = ops();
  const Operands o;
  const auto grad = random_tensor(o.query.sizes(), 5);
  for (const bool causal : {false, true}) {
    const auto forward = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return run.run(kFlash, {Datum{q}, Datum{k}, Datum{v}, real(0), flag(causal), Datum{o.mask}});
    };
    const auto saved = forward(o.query, o.key, o.value);
    const auto grads = run.run(
        kFlashBackward, {Datum{reversed_and_spaced(grad)}, Datum{o.query}, Datum{o.key},
                         Datum{o.value}, saved[0], saved[1], real(0), flag(causal), Datum{o.mask}});
    ASSERT_EQ(grads.size(), 3U);
    const auto first = [](const DatumList& results) { return *results[0].real(); };
    expect_gradient([&](const Tensor& at) { return first(forward(at, o.key, o.value)); }, o.query,
                    grad, *grads[0].real());
    expect_gradient([&](const Tensor& at) { return first(forward(o.query, at, o.value)); }, o.key,
                    grad, *grads[1].real());
    expect_gradient([&](const Tensor& at) { return first(forward(o.query, o.key, at)); }, o.value,
                    grad, *grads[2].real());
    EXPECT_EQ(grads[1].real()->strides(), (Ints{72, 4, 12, 1}));
  }
}

TEST(Attention, MoreRowsThanABlockAgreeWithOneRowAtATime) {
  auto run = ops();
  const auto query = random_tensor({1, 1, 300, 4}, 1);
  const auto key = random_tensor({1, 1, 7, 4}, 2);
  const auto out = values_of(run.tensor(kFlash, {Datum{query}, Datum{key}, Datum{key}}));
  for (const std::int64_t row : {0, 127, 128, 299}) {
    const auto one = *query.view(DType::float64, {1, 1, 1, 4}, {4, 4, 4, 1}, row * 4);
    const auto want = values_of(run.tensor(kFlash, {Datum{one}, Datum{key}, Datum{key}}));
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(out[static_cast<std::size_t>(row) * 4 + i], want[i], 1e-12);
  }
}

TEST(Attention, ABoolMaskForbidsWhereItIsFalse) {
  auto run = ops();
  const Operands o;
  std::vector<double> allowed(30, 1);
  std::vector<double> added(30, 0);
  for (std::size_t i = 0; i < 30; i += 4) {
    allowed[i] = 0;
    added[i] = -std::numeric_limits<double>::infinity();
  }
  const auto attention = [&](const Tensor& mask) {
    return run.tensor("aten.scaled_dot_product_attention.default",
                      {Datum{o.query}, Datum{o.key}, Datum{o.value}, Datum{mask}});
  };
  expect_close(attention(make_tensor({5, 6}, allowed, DType::boolean)),
               attention(make_tensor({5, 6}, added)));
}

}  // namespace
}  // namespace assay
