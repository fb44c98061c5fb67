// Functions of floats that kernels in C++ and Triton call, as operations of the table. Internal to
// compiler/read.
#pragma once
#include <bit>
#include <functional>
#include <numbers>
#include <string_view>
#include <utility>

#include "compiler/program/op_table.h"
#include "core/base/result.h"

namespace assay {

/// How a reader makes values of its own kind.
template <class Value>
struct FloatOps {
  std::function<Result<Value>(TileOp, const Value&)> apply;
  std::function<Result<Value>(std::string_view, const Value&, const Value&)> binary;
  std::function<Result<Value>(const Value&, const Value&, const Value&)> select;
  std::function<Result<Value>(const Value&, DType)> bitcast;
  std::function<Result<Value>(const Value&, DType)> convert;
  std::function<Value(double, DType)> real;
  std::function<Value(std::int64_t, DType)> integer;
};

/// exp(x^2) erfc(x), whose factors leave float64's range from 26 on: there the first terms of its
/// series (Abramowitz and Stegun 7.1.23). x is float64, and so is the result.
template <class Value>
auto scaled_erfc(const FloatOps<Value>& ops, const Value& x) -> Result<Value> {
  constexpr double kFar = 25;
  const auto real = [&](double number) { return ops.real(number, DType::float64); };
  ASSAY_TRY(const auto square, ops.binary("*", x, x));
  ASSAY_TRY(const auto power, ops.apply(TileOp::exp, square));
  ASSAY_TRY(const auto rest, ops.apply(TileOp::erfc, x));
  ASSAY_TRY(const auto near, ops.binary("*", power, rest));
  ASSAY_TRY(const auto twice, ops.binary("*", real(2), square));
  ASSAY_TRY(const auto y, ops.binary("/", real(1), twice));
  auto sum = real(1);
  for (const double factor : {5.0, 3.0, 1.0}) {
    ASSAY_TRY(const auto scaled, ops.binary("*", real(factor), y));
    ASSAY_TRY(const auto term, ops.binary("*", scaled, sum));
    ASSAY_TRY(sum, ops.binary("-", real(1), term));
  }
  ASSAY_TRY(const auto leading, ops.binary("/", real(std::numbers::inv_sqrtpi), x));
  ASSAY_TRY(const auto far, ops.binary("*", leading, sum));
  ASSAY_TRY(const auto is_near, ops.binary("<", x, real(kFar)));
  return ops.select(is_near, near, far);
}

/// How a float's bits are divided.
struct FloatBits {
  DType dtype, integer;
  std::int64_t fraction, bias;  ///< bits of the fraction; what is added to exponents
  [[nodiscard]] auto exponents() const -> std::int64_t { return 2 * bias + 1; }
};
inline constexpr FloatBits kSingle = {DType::float32, DType::int32, 23, 127};
inline constexpr FloatBits kDouble = {DType::float64, DType::int64, 52, 1023};

/// ldexp(x, n): x times 2 to the power of n, rounded once, in steps of which only the last one
/// rounds; of float32 every product is exact. x is float64, and so is the result; n is int64.
template <class Value>
auto times_power_of_2(const FloatOps<Value>& ops, Value x, Value n) -> Result<Value> {
  // A step down leaves 53 bits of room, so that what is rounded is rounded by the last product.
  constexpr std::int64_t kUp = 1023, kDown = -969;
  const auto integer = [&](std::int64_t number) { return ops.integer(number, DType::int64); };
  const auto power = [&](const Value& exponent) -> Result<Value> {
    ASSAY_TRY(const auto whole, ops.convert(exponent, DType::int64));
    ASSAY_TRY(const auto biased, ops.binary("+", whole, integer(kDouble.bias)));
    ASSAY_TRY(const auto placed, ops.binary("<<", biased, integer(kDouble.fraction)));
    return ops.bitcast(placed, DType::float64);
  };
  const auto outside = [&](const Value& high, const Value& low,
                           const Value& within) -> Result<Value> {
    ASSAY_TRY(const auto is_high, ops.binary(">", n, integer(kUp)));
    ASSAY_TRY(const auto is_low, ops.binary("<", n, integer(1 - kUp)));
    ASSAY_TRY(const auto rest, ops.select(is_low, low, within));
    return ops.select(is_high, high, rest);
  };
  for (int step = 0; step < 2; ++step) {
    ASSAY_TRY(const auto by, outside(integer(kUp), integer(kDown), integer(0)));
    ASSAY_TRY(const auto factor, power(by));
    ASSAY_TRY(x, ops.binary("*", x, factor));
    ASSAY_TRY(n, ops.binary("-", n, by));
  }
  ASSAY_TRY(const auto last, outside(integer(kUp), integer(1 - kUp), n));
  ASSAY_TRY(const auto factor, power(last));
  return ops.binary("*", x, factor);
}

/// frexp(x): the part within [0.5, 1), and the power of two, an integer of as many bits; of 0,
/// infinity and NaN itself and 0. x is float32 or float64, as `bits` has it.
template <class Value>
auto parts_of_float(const FloatOps<Value>& ops, const FloatBits& bits, const Value& x)
    -> Result<std::pair<Value, Value>> {
  constexpr std::int64_t kUp = 64;  // numbers without a leading 1 get one
  const auto real = [&](double number) { return ops.real(number, bits.dtype); };
  const auto integer = [&](std::int64_t number) { return ops.integer(number, bits.integer); };
  const auto least = std::bit_cast<double>(std::int64_t{kDouble.bias + 1 - bits.bias} << 52);
  ASSAY_TRY(const auto size, ops.apply(TileOp::absolute, x));
  ASSAY_TRY(const auto is_small, ops.binary("<", size, real(least)));
  ASSAY_TRY(const auto raised, ops.binary("*", x, real(0x1p64)));
  ASSAY_TRY(const auto from, ops.select(is_small, raised, x));
  ASSAY_TRY(const auto whole, ops.bitcast(from, bits.integer));
  ASSAY_TRY(const auto shifted, ops.binary(">>", whole, integer(bits.fraction)));
  ASSAY_TRY(const auto field, ops.binary("&", shifted, integer(bits.exponents())));
  ASSAY_TRY(const auto rest, ops.binary("&", whole, integer(~(bits.exponents() << bits.fraction))));
  ASSAY_TRY(const auto halved, ops.binary("|", rest, integer((bits.bias - 1) << bits.fraction)));
  ASSAY_TRY(const auto down,
            ops.select(is_small, integer(bits.bias - 1 + kUp), integer(bits.bias - 1)));
  ASSAY_TRY(const auto exponent, ops.binary("-", field, down));
  ASSAY_TRY(const auto is_zero, ops.binary("==", x, real(0)));
  ASSAY_TRY(const auto is_beyond, ops.binary("==", field, integer(bits.exponents())));
  ASSAY_TRY(const auto within, ops.bitcast(halved, bits.dtype));
  ASSAY_TRY(const auto split, ops.select(is_zero, x, within));
  ASSAY_TRY(auto mantissa, ops.select(is_beyond, x, split));
  ASSAY_TRY(const auto of_split, ops.select(is_zero, integer(0), exponent));
  ASSAY_TRY(auto power, ops.select(is_beyond, integer(0), of_split));
  return std::pair(std::move(mantissa), std::move(power));
}

}  // namespace assay
