#include <numbers>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

auto ops() -> OpRunner {
  return OpRunner({add_fft_rows});
}

/// The transform along the last dimension of a vector, by its definition.
auto naive_transform(const std::vector<Complex>& x, double sign) -> std::vector<Complex> {
  std::vector<Complex> result(x.size());
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t n = 0; n < x.size(); ++n)
      result[k] += x[n] * std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k * n) /
                                              static_cast<double>(x.size()));
  return result;
}

TEST(Fft, AgreesWithTheDefinitionAtEverySmallLength) {
  auto run = ops();
  for (std::int64_t length = 1; length <= 12; ++length) {
    const auto x = random_tensor({length}, 3, DType::complex128);
    const auto values = to_vector<Complex>(x);
    for (const bool forward : {true, false}) {
      const auto got = to_vector<Complex>(
          run.tensor("aten._fft_c2c.default", {Datum{x}, ints({0}), integer(0), flag(forward)}));
      const auto want = naive_transform(values, forward ? -1 : 1);
      for (std::size_t i = 0; i < want.size(); ++i)
        ASSERT_LE(std::abs(got[i] - want[i]), 1e-12) << "length " << length << ", element " << i;
    }
  }
}

/// Powers of two, products of small primes, primes; more lines than go together, along both
/// dimensions.
TEST(Fft, ManyLinesAgreeWithTheDefinition) {
  auto run = ops();
  constexpr std::int64_t kRows = 19;
  for (const std::int64_t length : {16, 27, 30, 64, 97, 105, 121, 128, 222, 384})
    for (const bool across : {true, false}) {
      const auto x =
          random_tensor(across ? Ints{length, kRows} : Ints{kRows, length}, 3, DType::complex128);
      const auto values = to_vector<Complex>(x);
      const auto got = to_vector<Complex>(run.tensor(
          "aten._fft_c2c.default", {Datum{x}, ints({across ? 0 : 1}), integer(0), flag(true)}));
      const auto at = [&](std::int64_t row, std::int64_t i) {
        return static_cast<std::size_t>(across ? i * kRows + row : row * length + i);
      };
      for (std::int64_t row = 0; row < kRows; ++row) {
        std::vector<Complex> line;
        for (std::int64_t i = 0; i < length; ++i) line.push_back(values[at(row, i)]);
        const auto want = naive_transform(line, -1);
        for (std::int64_t i = 0; i < length; ++i)
          ASSERT_LE(std::abs(got[at(row, i)] - want[static_cast<std::size_t>(i)]), 1e-11)
              << "length " << length << ", line " << row << ", element " << i;
      }
    }
}

TEST(Fft, TheInverseOfTheTransformIsTheInput) {
  auto run = ops();
  const auto x = random_tensor({3, 4, 5}, 1, DType::complex128);
  for (const std::int64_t mode : {1, 2}) {
    const auto there = run.tensor("aten._fft_c2c.default",
                                  {Datum{x}, ints({0, 2}), integer(mode == 1 ? 1 : 0), flag(true)});
    const auto back = run.tensor("aten._fft_c2c.default",
                                 {Datum{there}, ints({0, 2}), integer(mode), flag(false)});
    expect_close(back, x);
  }
}

TEST(Fft, RealTransformsKeepHalfAndComeBack) {
  auto run = ops();
  for (const std::int64_t length : {6, 7}) {
    const auto x = random_tensor({2, length, 3}, 2);
    const auto half =
        run.tensor("aten._fft_r2c.default", {Datum{x}, ints({0, 1}), integer(0), flag(true)});
    EXPECT_EQ(half.sizes(), (Ints{2, length / 2 + 1, 3}));
    const auto back = run.tensor("aten._fft_c2r.default",
                                 {Datum{half}, ints({0, 1}), integer(2), integer(length)});
    EXPECT_EQ(back.dtype(), DType::float64);
    expect_close(back, x);
  }
}

TEST(Fft, TheTwoSidedRealTransformIsTheComplexOne) {
  auto run = ops();
  const auto x = random_tensor({3, 5}, 2);
  auto z = *Tensor::contiguous(DType::complex128, {3, 5});
  copy_elems(x, z);
  expect_close(
      run.tensor("aten._fft_r2c.default", {Datum{x}, ints({0, 1}), integer(0), flag(false)}),
      run.tensor("aten._fft_c2c.default", {Datum{z}, ints({0, 1}), integer(0), flag(true)}));
}

TEST(Fft, TransformedDimensionsEndUpInnermost) {
  auto run = ops();
  const auto x = random_tensor({5, 6, 7}, 1, DType::complex64);
  const auto strides = [&](const Tensor& input, const Ints& dims) {
    return run.tensor("aten._fft_c2c.default", {Datum{input}, ints(dims), integer(0), flag(true)})
        .strides();
  };
  EXPECT_EQ(strides(x, {2}), (Ints{42, 7, 1}));
  EXPECT_EQ(strides(x, {1}), (Ints{42, 1, 6}));
  EXPECT_EQ(strides(x, {0}), (Ints{1, 35, 5}));
  EXPECT_EQ(strides(laid_out(x, {1, 0, 2}), {2}), (Ints{7, 35, 1}));
}

TEST(Fft, EveryLayoutOfTheInputGivesTheSameValues) {
  auto run = ops();
  const auto x = random_tensor({3, 4, 5}, 1, DType::complex128);
  const auto want =
      run.tensor("aten._fft_c2c.default", {Datum{x}, ints({1, 2}), integer(1), flag(true)});
  for (const auto& input : {reversed_and_spaced(x), laid_out(x, {1, 0, 2})})
    expect_close(
        run.tensor("aten._fft_c2c.default", {Datum{input}, ints({1, 2}), integer(1), flag(true)}),
        want);
}

TEST(Fft, RealInputsAreRefusedByTheComplexTransform) {
  EXPECT_FALSE(ops().try_run("aten._fft_c2c.default",
                             {Datum{random_tensor({4}, 1)}, ints({0}), integer(0), flag(true)}));
}

}  // namespace
}  // namespace assay
