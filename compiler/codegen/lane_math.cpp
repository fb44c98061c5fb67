#include "compiler/codegen/lane_math.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "compiler/codegen/lane_functions.h"

namespace assay {
namespace {

namespace narrow = lane::narrow;
using lane::Wide;
using llvm::Value;

/// In float64 for results that are rounded to float32.
namespace quick {

/// x = k*ln 2 + r, Taylor's series in r (|r| < 0.347, the rest is below 1e-11), 2^k by its bits.
/// Beyond 200 every result of float32 is 0 or infinite anyway.
auto exp(Wide x) -> Wide {
  const auto y = clamp(x, -200, 200);
  const auto k = nearest(y * std::numbers::log2e);
  const auto r = fma(k, y.like(-std::numbers::ln2), y);
  constexpr auto kTaylor = [] {
    std::array<double, 10> series{};
    double factorial = 1;
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (i > 0) factorial *= static_cast<double>(i);
      series[i] = 1 / factorial;
    }
    return series;
  }();
  return polynomial(r, kTaylor) * power_of_two(integer_of(k), y);
}

/// Of positive normal numbers: x = m*2^k with m in [sqrt(1/2), sqrt(2)); log m =
/// 2 artanh((m-1)/(m+1)), its series to the 13th power (the rest is below 1e-12).
auto log_positive(Wide x) -> Wide {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const auto raw = bits_of(x);
  const auto k = (raw - kRootHalf).shifted_right(52);
  const auto m = from_bits(raw - (k << 52U), x);
  const auto s = (m - 1) / (m + 1);
  constexpr std::array<double, 7> kSeries = {2.0,     2.0 / 3,  2.0 / 5, 2.0 / 7,
                                             2.0 / 9, 2.0 / 11, 2.0 / 13};
  return fma(float_of(k, x), x.like(std::numbers::ln2), s * polynomial(s * s, kSeries));
}
auto log(Wide x) -> Wide {
  const auto known = select(x == 0, -INFINITY, select(x == INFINITY, x, log_positive(x)));
  return select(x >= 0, known, NAN);
}
auto power(Wide x, Wide y) -> Wide {
  return lane::power_of(x, y, quick::exp(log_positive(magnitude(x)) * y));
}
auto hypot(Wide x, Wide y) -> Wide {
  const auto is_infinite = (magnitude(x) == INFINITY) | (magnitude(y) == INFINITY);
  return select(is_infinite, INFINITY, square_root(fma(x, x, y * y)));
}

auto sinh(Wide x) -> Wide {
  const auto e = quick::exp(x);
  const auto small = x + x * x * x * (1.0 / 6);
  return select(magnitude(x) < 1e-3, small, (e - x.like(1) / e) * 0.5);
}
auto cosh(Wide x) -> Wide {
  const auto e = quick::exp(x);
  return (e + x.like(1) / e) * 0.5;
}
auto log2(Wide x) -> Wide {
  return quick::log(x) * std::numbers::log2e;
}
auto log10(Wide x) -> Wide {
  return quick::log(x) * std::numbers::log10e;
}

}  // namespace quick

/// Functions of one or two floats. `wide` is float64's; `narrow` is float32's, where that is not
/// `wide` rounded once.
enum class Narrow : std::uint8_t { rounded, native };  ///< computed in float64, or in float32
struct FunctionRow {
  TileOp op;
  Wide (*wide)(Wide);
  Wide (*narrow)(Wide);
  Narrow how = Narrow::rounded;
  bool narrow_keeps_nan = false;
};
struct PairRow {
  TileOp op;
  Wide (*wide)(Wide, Wide);
  Wide (*narrow)(Wide, Wide);
  Narrow how = Narrow::rounded;
};
constexpr std::array kFunctions = {
    FunctionRow{TileOp::exp, lane::exp, narrow::exp, Narrow::native, true},
    FunctionRow{TileOp::exp2, lane::exp2, narrow::exp2, Narrow::native, true},
    FunctionRow{TileOp::expm1, lane::expm1, narrow::expm1, Narrow::native, true},
    FunctionRow{TileOp::log, lane::log, narrow::log, Narrow::native, true},
    FunctionRow{TileOp::log2, lane::log2, quick::log2},
    FunctionRow{TileOp::log10, lane::log10, quick::log10},
    FunctionRow{TileOp::log1p, lane::log1p, narrow::log1p, Narrow::native, true},
    FunctionRow{TileOp::sin, lane::sin, narrow::sin, Narrow::native, true},
    FunctionRow{TileOp::cos, lane::cos, narrow::cos, Narrow::native, true},
    FunctionRow{TileOp::tan, lane::tan, lane::tan},
    FunctionRow{TileOp::asin, lane::asin, lane::asin},
    FunctionRow{TileOp::acos, lane::acos, lane::acos},
    FunctionRow{TileOp::atan, lane::atan, lane::atan},
    FunctionRow{TileOp::sinh, lane::sinh, quick::sinh},
    FunctionRow{TileOp::cosh, lane::cosh, quick::cosh},
    FunctionRow{TileOp::tanh, lane::tanh, narrow::tanh, Narrow::native, true},
    FunctionRow{TileOp::asinh, lane::asinh, lane::asinh},
    FunctionRow{TileOp::acosh, lane::acosh, lane::acosh},
    FunctionRow{TileOp::atanh, lane::atanh, lane::atanh},
    FunctionRow{TileOp::erf, lane::erf, narrow::erf, Narrow::native, true},
    FunctionRow{TileOp::erfc, lane::erfc, lane::erfc},
    FunctionRow{TileOp::erfinv, lane::erfinv, lane::erfinv},
    FunctionRow{TileOp::lgamma, lane::lgamma, lane::lgamma},
    FunctionRow{TileOp::sigmoid, lane::sigmoid, narrow::sigmoid, Narrow::native, true},
    FunctionRow{TileOp::round_away, lane::round_away, lane::round_away, Narrow::native},
};
constexpr std::array kPairs = {
    PairRow{TileOp::power, lane::power, quick::power},
    PairRow{TileOp::atan2, lane::atan2, lane::atan2},
    PairRow{TileOp::hypot, lane::hypot, quick::hypot},
    PairRow{TileOp::remainder, lane::fmod, lane::fmod},
    PairRow{TileOp::nextafter, lane::nextafter, lane::nextafter, Narrow::native},
};

struct UsualRow {
  TileOp op;
  UsualArguments arguments;
  Wide (*function)(Wide);
};
constexpr UsualArguments kNormal = {0x1p-126, INFINITY};
constexpr std::array kUsual = {
    UsualRow{TileOp::exp, {0, 87, true}, narrow::exp_of_number},
    UsualRow{TileOp::exp2, {0, 126, true}, narrow::exp2_of_number},
    UsualRow{TileOp::log, kNormal, narrow::log_of_normal},
    UsualRow{TileOp::log1p, {-0.5, INFINITY}, narrow::log1p_of_number},
    UsualRow{TileOp::sin, {0, narrow::kLargeAngle, true}, narrow::sin_of_small},
    UsualRow{TileOp::cos, {0, narrow::kLargeAngle, true}, narrow::cos_of_small},
};
auto usual_row(TileOp op) -> const UsualRow* {
  const auto* const row = std::ranges::find(kUsual, op, &UsualRow::op);
  return row == kUsual.end() ? nullptr : row;
}

template <class... Operands, class Row>
auto applied(lane::Builder& b, const Row& row, Operands... operands) -> Value* {
  auto* type = std::get<0>(std::tuple(operands...))->getType();
  if (type->getScalarType()->isDoubleTy()) return row.wide(Wide{&b, operands}...).v;
  if (row.how == Narrow::native) return row.narrow(Wide{&b, operands}...).v;
  auto* wide = lane::shaped(b.getDoubleTy(), type);
  return b.CreateFPTrunc(row.narrow(Wide{&b, b.CreateFPExt(operands, wide)}...).v, type);
}

}  // namespace

auto emit_exp_below_one(lane::Builder& builder, Value* x) -> Value* {
  return narrow::exp_below_one({&builder, x}).v;
}
auto emit_exp_of_number(lane::Builder& builder, Value* x) -> Value* {
  return narrow::exp_of_number({&builder, x}).v;
}

auto emit_erf_and_one(lane::Builder& builder, Value* x) -> Value* {
  return narrow::erf_and_one({&builder, x}).v;
}

auto usual_arguments(TileOp op) -> std::optional<UsualArguments> {
  const auto* row = usual_row(op);
  return row == nullptr ? std::nullopt : std::optional(row->arguments);
}
auto emit_usual(lane::Builder& builder, TileOp op, Value* x) -> Value* {
  return usual_row(op)->function({&builder, x}).v;
}

auto emit_function(lane::Builder& builder, TileOp op, std::span<Value* const> operands) -> Value* {
  for (const auto& row : kFunctions)
    if (row.op == op) {
      auto* x = operands[0];
      if (row.narrow_keeps_nan && !x->getType()->getScalarType()->isDoubleTy())
        return applied(builder, row, x);
      return builder.CreateSelect(builder.CreateFCmpUNO(x, x), x, applied(builder, row, x));
    }
  for (const auto& row : kPairs)
    if (row.op == op) return applied(builder, row, operands[0], operands[1]);
  return nullptr;
}

}  // namespace assay
