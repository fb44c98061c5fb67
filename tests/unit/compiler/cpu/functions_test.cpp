// Functions of machine code against the C library's in a wider type.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numbers>
#include <random>

#include "tests/unit/compiler/cpu/one_kernel.h"

namespace assay {
namespace {

using Long = long double;

/// Units in the last place that results may be wrong by.
struct FunctionCase {
  TileOp op;
  double narrow, wide;
  Long (*exact)(Long);
};
auto exact_sigmoid(Long x) -> Long {
  return 1 / (1 + std::exp(-x));
}
auto exact_rsqrt(Long x) -> Long {
  return 1 / std::sqrt(x);
}
/// Newton's method from float64's own result.
auto inverse_erf(Long x) -> Long {
  const auto evaluate = tile_evaluate(TileOp::erfinv, DType::float64, DType::float64);
  const auto a = static_cast<double>(x);
  double start = 0;
  const TileLanes lanes{&a, 1};
  evaluate(std::span(&lanes, 1), &start, 1);
  if (!std::isfinite(start)) return start;
  Long y = start;
  for (int step = 0; step < 3; ++step) {
    const auto wrong = std::abs(x) < 0.5L
                           ? std::erf(y) - x
                           : ((1 - std::abs(x)) - std::erfc(std::abs(y))) * (x < 0 ? -1 : 1);
    y -= wrong * std::sqrt(std::numbers::pi_v<Long>) / 2 * std::exp(y * y);
  }
  return y;
}
using enum TileOp;
constexpr std::array kCases = {
    FunctionCase{exp, 1, 2, std::exp},          FunctionCase{exp2, 1, 2, std::exp2},
    FunctionCase{expm1, 1, 2, std::expm1},      FunctionCase{log, 1, 1, std::log},
    FunctionCase{log2, 1, 1, std::log2},        FunctionCase{log10, 1, 1, std::log10},
    FunctionCase{log1p, 1, 1, std::log1p},      FunctionCase{sqrt, 0, 0.5, std::sqrt},
    FunctionCase{sin, 1, 2, std::sin},          FunctionCase{cos, 1, 2, std::cos},
    FunctionCase{tan, 1, 3, std::tan},          FunctionCase{asin, 1, 3, std::asin},
    FunctionCase{acos, 1, 3, std::acos},        FunctionCase{atan, 1, 2, std::atan},
    FunctionCase{sinh, 1, 3, std::sinh},        FunctionCase{cosh, 1, 2, std::cosh},
    FunctionCase{tanh, 1, 3, std::tanh},        FunctionCase{asinh, 1, 3, std::asinh},
    FunctionCase{acosh, 1, 3, std::acosh},      FunctionCase{atanh, 1, 3, std::atanh},
    FunctionCase{erf, 1, 2, std::erf},          FunctionCase{erfc, 1, 4, std::erfc},
    FunctionCase{erfinv, 1, 4, inverse_erf},    FunctionCase{sigmoid, 2, 3, exact_sigmoid},
    FunctionCase{rsqrt, 1, 1.5, exact_rsqrt},   FunctionCase{floor, 0, 0, std::floor},
    FunctionCase{ceil, 0, 0, std::ceil},        FunctionCase{trunc, 0, 0, std::trunc},
    FunctionCase{round_away, 0, 0, std::round},
};

auto tensor_of(DType dtype, std::span<const double> values) -> Tensor {
  auto tensor = *Tensor::contiguous(dtype, {static_cast<std::int64_t>(values.size())});
  from_vector(tensor, values);
  return tensor;
}

class FunctionTest : public CpuTest {
 protected:
  static auto computed(TileOp op, DType dtype, const std::vector<std::vector<double>>& operands)
      -> std::vector<double> {
    const OneKernel kernel(kernel_of(tile_op_row(op), dtype, dtype));
    DatumList inputs;
    for (const auto& operand : operands) inputs.push_back({tensor_of(dtype, operand)});
    const auto count = static_cast<std::int64_t>(operands[0].size());
    auto out = *Tensor::contiguous(dtype, {count});
    inputs.insert(inputs.end(), {{out}, {Expr(count)}});
    run_native(kernel, inputs);
    return to_vector<double>(out);
  }
};

/// Distance in units of the result's own last place, of subnormal results too. Both may be NaN.
auto units(DType dtype, double result, Long exact) -> Long {
  const auto rounded = dtype == DType::float32 ? static_cast<double>(static_cast<float>(exact))
                                               : static_cast<double>(exact);
  if (result == rounded) return std::signbit(result) == std::signbit(rounded) ? 0 : 1e9L;
  if (std::isnan(result) || std::isnan(rounded))
    return std::isnan(result) && std::isnan(rounded) ? 0 : 1e9L;
  if (dtype == DType::float32) return distance(dtype, result, rounded);
  if (std::isinf(result) || std::isinf(rounded)) return 1e9L;
  const auto unit = std::max(std::ldexp(1.0, std::ilogb(rounded) - 52), 0x1p-1074);
  return std::abs(static_cast<Long>(result) - exact) / unit;
}

class FloatFunctionTest : public FunctionTest,
                          public ::testing::WithParamInterface<FunctionCase> {};

/// Every 4093rd float there is; ASSAY_FLOAT_STEP=1 tries all of them.
TEST_P(FloatFunctionTest, IsAsExactAsStated) {
  const auto* given = std::getenv("ASSAY_FLOAT_STEP");
  const auto step = given != nullptr ? std::strtoull(given, nullptr, 10) : 4093;
  ASSERT_GT(step, 0U);
  constexpr std::uint64_t kAll = std::uint64_t{1} << 32, kChunk = 1 << 20;
  const auto& one = GetParam();
  Long worst = 0;
  double at = 0;
  for (std::uint64_t bits = 0; bits < kAll;) {
    std::vector<double> values;
    for (; bits < kAll && values.size() < kChunk; bits += step)
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    const auto results = computed(one.op, DType::float32, {values});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto error = units(DType::float32, results[i], one.exact(values[i]));
      if (error > worst) worst = error, at = values[i];
    }
  }
  EXPECT_LE(worst, one.narrow) << at;
}
INSTANTIATE_TEST_SUITE_P(Functions, FloatFunctionTest, ::testing::ValuesIn(kCases),
                         [](const auto& one) {
                           return std::string(tile_op_row(one.param.op).name);
                         });

/// Arguments of every magnitude, near 1, and of the usual size.
auto wide_values(std::size_t count, std::uint32_t seed) -> std::vector<double> {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<double> values = {0.0,        -0.0,      1.0,       -1.0,
                                2.0,        0.5,       INFINITY,  -INFINITY,
                                NAN,        0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023,
                                -0x1p-1074, 27.0,      -27.0,     3.0};
  while (values.size() < count) {
    values.push_back(std::bit_cast<double>(random()));
    values.push_back(1 + unit(random) * 1e-3);
    values.push_back(unit(random));
    values.push_back(unit(random) * 40);
    values.push_back(unit(random) * 800);
    values.push_back(unit(random) * 0x1p40);
  }
  return values;
}

TEST_F(FunctionTest, Float64IsAsExactAsStated) {
  const auto values = wide_values(200'000, 5);
  for (const auto& one : kCases) {
    const auto results = computed(one.op, DType::float64, {values});
    Long worst = 0;
    double at = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (one.op == TileOp::sigmoid && values[i] < -709) continue;  // e^-x is infinite
      const auto error = units(DType::float64, results[i], one.exact(values[i]));
      if (error > worst) worst = error, at = values[i];
    }
    EXPECT_LE(worst, one.wide) << tile_op_row(one.op).name << " of " << at;
  }
}

/// The sum that GELU asks for is one function of its own: as near as two roundings are, 0 and 2 far
/// out.
TEST_F(FunctionTest, OneAndTheErrorFunction) {
  auto text = kernel_of(tile_op_row(erf), DType::float32, DType::float32);
  const auto store = text.find("  store");
  text.replace(store, std::string::npos,
               "  %9:float32[] = real(1) line 0\n  %10:float32[x] = add %2 %9 line 0\n"
               "  store(out) %0 %10 _ line 0\n}\n");
  std::vector<double> values = {0.0, -0.0, INFINITY, -INFINITY, 3e38, -3e38, -3.94, -3.96, 1e-40};
  for (float at = -6; at < 6; at += 0x1p-12F) values.push_back(at);
  auto out = *Tensor::contiguous(DType::float32, {static_cast<std::int64_t>(values.size())});
  run_native(OneKernel(text), {{tensor_of(DType::float32, values)},
                               {out},
                               {Expr(static_cast<std::int64_t>(values.size()))}});
  const auto results = to_vector<double>(out);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto exact = 1 + std::erf(static_cast<Long>(static_cast<float>(values[i])));
    ASSERT_NEAR(results[i], static_cast<double>(exact), 2e-7) << values[i];
    ASSERT_GE(results[i], 0) << values[i];
    ASSERT_TRUE(results[i] == 0 || values[i] > -4) << values[i];
  }
  auto nothing = *Tensor::contiguous(DType::float32, {1});
  run_native(
      OneKernel(text),
      {{tensor_of(DType::float32, std::vector<double>{NAN})}, {nothing}, {Expr(std::int64_t{1})}});
  EXPECT_TRUE(std::isnan(to_vector<double>(nothing)[0]));
}

/// For negative arguments, between whose poles it crosses zero, the absolute error counts.
TEST_F(FunctionTest, LogarithmOfGamma) {
  auto values = wide_values(200'000, 6);
  for (const auto dtype : {DType::float32, DType::float64}) {
    if (dtype == DType::float32)
      for (auto& value : values) value = static_cast<float>(value);
    const auto results = computed(TileOp::lgamma, dtype, {values});
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto exact = std::lgamma(static_cast<Long>(values[i]));
      const auto error = units(dtype, results[i], exact);
      const auto room = dtype == DType::float32 ? 1e-6L : 1e-14L;
      const bool is_near = std::abs(exact - results[i]) <= room * std::max(1.0L, std::abs(exact));
      if (values[i] >= 0 || std::isinf(exact) || std::isnan(exact))
        ASSERT_LE(error, dtype == DType::float32 ? 1 : 5) << values[i] << ": " << results[i];
      else
        ASSERT_TRUE(is_near) << values[i] << ": " << results[i] << " against " << exact;
    }
  }
}

struct PairCase {
  TileOp op;
  double narrow, wide;
  Long (*exact)(Long, Long);
};
constexpr std::array kPairs = {
    PairCase{power, 1, 2, std::pow},           PairCase{TileOp::atan2, 1, 3, std::atan2},
    PairCase{TileOp::hypot, 1, 1, std::hypot}, PairCase{remainder, 0, 0, std::fmod},
    PairCase{copysign, 0, 0, std::copysign},
};

/// Pairs of specials, of anything, and of numbers whose results are neither 0 nor infinite.
auto operand_pairs(DType dtype, std::size_t count) -> std::array<std::vector<double>, 2> {
  std::array<std::vector<double>, 2> pairs;
  const std::vector<double> specials = {0.0,      -0.0,       1.0,  -1.0, 0.5,   -0.5,
                                        2.0,      -2.0,       3.0,  -3.0, 1e-40, -1e-40,
                                        INFINITY, -INFINITY,  NAN,  3e38, -3e38, 0x1p-126,
                                        0x1p-149, 16777217.0, 1e15, 1.5,  -2.5};
  const auto add = [&](double a, double b) {
    const bool is_narrow = dtype == DType::float32;
    pairs[0].push_back(is_narrow ? static_cast<float>(a) : a);
    pairs[1].push_back(is_narrow ? static_cast<float>(b) : b);
  };
  for (const auto a : specials)
    for (const auto b : specials) add(a, b);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> unit(-1, 1);
  const auto any = [&] {
    return dtype == DType::float32 ? std::bit_cast<float>(static_cast<std::uint32_t>(random()))
                                   : std::bit_cast<double>(random());
  };
  while (pairs[0].size() < count) {
    add(any(), any());
    add(std::exp(unit(random) * 5), unit(random) * 20);
    add(1 + unit(random) * 1e-4, unit(random) * 1e5);
    add(-std::floor(std::abs(unit(random)) * 30), std::floor(unit(random) * 40));
    add(unit(random), unit(random));
    const auto a = any();
    add(a, a * unit(random));
  }
  return pairs;
}

TEST_F(FunctionTest, FunctionsOfTwo) {
  for (const auto dtype : {DType::float32, DType::float64}) {
    const auto [a, b] = operand_pairs(dtype, 2'000'000);
    for (const auto& one : kPairs) {
      const auto results = computed(one.op, dtype, {a, b});
      Long worst = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const auto error = units(dtype, results[i], one.exact(a[i], b[i]));
        if (error > worst) worst = error, at = i;
      }
      EXPECT_LE(worst, dtype == DType::float32 ? one.narrow : one.wide)
          << tile_op_row(one.op).name << " of " << a[at] << " and " << b[at] << ": " << results[at]
          << " instead of " << static_cast<double>(one.exact(a[at], b[at]));
    }
  }
}

/// Bit by bit what the table says.
TEST_F(FunctionTest, ExactFunctionsOfTwoAreTheTables) {
  for (const auto dtype : {DType::float32, DType::float64}) {
    const auto [a, b] = operand_pairs(dtype, 200'000);
    for (const auto op : {nextafter, floor_remainder, floor_quotient, minimum_number,
                          maximum_number, minimum, maximum}) {
      const auto results = computed(op, dtype, {a, b});
      const auto count = static_cast<std::int64_t>(a.size());
      auto expected = *Tensor::contiguous(dtype, {count});
      const OneKernel kernel(kernel_of(tile_op_row(op), dtype, dtype));
      kernel.run(Interpreter(table()),
                 {{tensor_of(dtype, a)}, {tensor_of(dtype, b)}, {expected}, {Expr(count)}});
      const auto exact = to_vector<double>(expected);
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_TRUE(results[i] == exact[i] || (std::isnan(results[i]) && std::isnan(exact[i])))
            << tile_op_row(op).name << " of " << a[i] << " and " << b[i] << ": " << results[i]
            << " instead of " << exact[i];
    }
  }
}

/// All pairs of edges and random numbers of every width, and conversions from floats.
TEST_F(FunctionTest, IntegersAreTheTables) {
  using enum DType;
  constexpr std::array kWhole = {uint8, int8, uint16, int16, uint32, int32, uint64, int64};
  std::mt19937_64 random(3);
  for (const auto dtype : kWhole) {
    const auto bits = static_cast<unsigned>(8 * size_bytes(dtype));
    std::vector<std::uint64_t> values = {0,
                                         1,
                                         2,
                                         3,
                                         7,
                                         31,
                                         32,
                                         33,
                                         63,
                                         64,
                                         65,
                                         ~0ULL,
                                         ~1ULL,
                                         1ULL << (bits - 1),
                                         (1ULL << (bits - 1)) - 1};
    for (int i = 0; i < 40; ++i) values.push_back(random() >> (random() % 64));
    const auto many = static_cast<std::int64_t>(values.size() * values.size());
    auto a = *Tensor::contiguous(dtype, {many}), b = *Tensor::contiguous(dtype, {many});
    const auto bytes_a = a.storage->bytes(), bytes_b = b.storage->bytes();
    const auto width = static_cast<std::size_t>(size_bytes(dtype));
    for (std::size_t i = 0; i < values.size() * values.size(); ++i) {
      std::memcpy(&bytes_a[i * width], &values[i / values.size()], width);
      std::memcpy(&bytes_b[i * width], &values[i % values.size()], width);
    }
    for (const auto op : {quotient, remainder, floor_quotient, floor_remainder, high_product,
                          shift_left, shift_right, minimum_number, maximum_number, absolute, mul}) {
      const auto& row = tile_op_row(op);
      const OneKernel kernel(kernel_of(row, dtype, dtype));
      auto mine = *Tensor::contiguous(dtype, {many}), theirs = *Tensor::contiguous(dtype, {many});
      DatumList inputs = {{a}};
      if (row.operands == 2) inputs.push_back({b});
      auto others = inputs;
      inputs.insert(inputs.end(), {{mine}, {Expr(many)}});
      others.insert(others.end(), {{theirs}, {Expr(many)}});
      run_native(kernel, inputs);
      kernel.run(Interpreter(table()), others);
      EXPECT_TRUE(std::ranges::equal(mine.storage->bytes(), theirs.storage->bytes()))
          << row.name << " of " << name(dtype);
    }
  }
  for (const auto from : {float32, float64})
    for (const auto to : kWhole) {
      const auto [a, unused] = operand_pairs(from, 20'000);
      const auto count = static_cast<std::int64_t>(a.size());
      const OneKernel kernel(kernel_of(tile_op_row(cast), from, to));
      auto mine = *Tensor::contiguous(to, {count}), theirs = *Tensor::contiguous(to, {count});
      run_native(kernel, {{tensor_of(from, a)}, {mine}, {Expr(count)}});
      kernel.run(Interpreter(table()), {{tensor_of(from, a)}, {theirs}, {Expr(count)}});
      EXPECT_EQ(to_vector<std::int64_t>(mine), to_vector<std::int64_t>(theirs))
          << name(from) << " to " << name(to);
    }
}

}  // namespace
}  // namespace assay
