#include "compiler/codegen/lane_math.h"

#include <cmath>
#include <numbers>

#include "compiler/codegen/lane_functions.h"

namespace assay {
namespace {

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

/// Near 0 the difference loses digits that the series has.
auto expm1(Wide x) -> Wide {
  const auto small = x + x * x * 0.5;
  return select(magnitude(x) < 1e-5, small, quick::exp(x) - 1);
}
auto log1p(Wide x) -> Wide {
  const auto small = x - x * x * 0.5;
  return select(magnitude(x) < 1e-5, small, quick::log(x + 1));
}
auto tanh(Wide x) -> Wide {
  const auto e = quick::exp(clamp(x, -40, 40) * 2);
  const auto small = x - x * x * x * (1.0 / 3);
  return select(magnitude(x) < 1e-3, small, (e - 1) / (e + 1));
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
auto exp2(Wide x) -> Wide {
  return quick::exp(x * std::numbers::ln2);
}
auto log2(Wide x) -> Wide {
  return quick::log(x) * std::numbers::log2e;
}
auto log10(Wide x) -> Wide {
  return quick::log(x) * std::numbers::log10e;
}

}  // namespace quick

/// Added to a number below 2^22, its low bits are the nearest whole number's; no conversion needed.
constexpr double kNearest = 12582912.0;  // 1.5 * 2^23
/// x * 2^k by a sum of exponents, where x and that are normal numbers; `moved` is k + kNearest.
auto with_exponent(Wide x, Wide moved) -> Wide {
  constexpr unsigned kMantissa = 23;
  return from_bits(bits_of(x) + (bits_of(moved) << kMantissa), x);
}

/// e^x without leaving float32: ln 2 in two parts, 1 + r + r*r*q(r) with the q that comes nearest
/// (within 4.4e-9 of e^r), and 2^k in two factors, so that results below the normal range are
/// rounded once. At most 0.91 units wrong where it is normal.
struct NarrowSplit {
  Wide value, k;  ///< e^y = value * 2^k
  Wide moved;     ///< k + kNearest
  [[nodiscard]] auto bits() const -> lane::Bits {
    return bits_of(moved) - bits_of(moved.like(kNearest));
  }
};
auto narrow_split(Wide y) -> NarrowSplit {
  constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;
  const auto moved = fma(y, y.like(std::numbers::log2e), y.like(kNearest));
  const auto k = moved - kNearest;
  const auto r = fma(k, y.like(-kLn2Low), fma(k, y.like(-kLn2High), y));
  constexpr std::array<double, 7> kPower = {1.0,
                                            1.0,
                                            0.4999999403953552,
                                            0.1666651964187622,
                                            0.041668396443128586,
                                            0.008368796668946743,
                                            0.0013814433477818966};
  return {polynomial(r, kPower), k, moved};
}
auto narrow_exp(Wide x) -> Wide {
  const auto split = narrow_split(clamp_number(x, -104, 89));
  return scaled(split.value, split.k, split.bits());
}
/// Above 88 it is infinite, below -87 nothing is to be seen of it.
auto narrow_exp_normal(Wide x) -> Wide {
  const auto split = narrow_split(clamp_number(x, -87, 89));
  return split.value * power_of_two(split.bits(), x);
}
/// At most two units wrong: three roundings. Below -88 it is 0: e^-x is infinite in float32.
auto narrow_sigmoid(Wide x) -> Wide {
  return x.like(1) / (narrow_exp_normal(-x) + 1);
}
/// Up to 0.9 erf(x)/x - 1 as a polynomial in x*x, beyond it 1 - 2^(x p(x)), where few bits of the
/// power are seen. Each fitted where its error is seen most; at most 1.4 units wrong together.
auto narrow_erf(Wide x) -> Wide {
  constexpr double kBetween = 0.9;
  constexpr std::array<double, 6> kInner = {0.12837915122509003,   -0.3761252164840698,
                                            0.11282140761613846,   -0.026778917759656906,
                                            0.0050119743682444096, -0.000609041191637516};
  constexpr std::array<double, 6> kOuter = {-1.6281101703643799,   -0.9171202778816223,
                                            -0.15189683437347412,  0.0330464206635952,
                                            -0.004645443521440029, 0.0003095952561125159};
  constexpr std::array<double, 6> kPower = {1.0,
                                            0.6931470036506653,
                                            0.24022239446640015,
                                            0.0555073618888855,
                                            0.009671725332736969,
                                            0.0013264453737065196};
  const auto size = at_most(magnitude(x), 4);  // from there on it is 1
  const auto inner = fma(x, polynomial(x * x, kInner), x);
  const auto exponent = size * polynomial(size, kOuter);
  const auto moved = exponent + kNearest;
  const auto power = with_exponent(polynomial(exponent - (moved - kNearest), kPower), moved);
  const auto outer = x.like(1) - power;
  // NaN is a matter of the inner part.
  return select(size > kBetween, with_sign_of(outer, x), inner);
}

/// Of x <= 0: 2^k is made so large that it is a normal number, and the product then small again.
auto narrow_exp_below_one(Wide x) -> Wide {
  constexpr std::uint64_t kBits = 24;
  const auto split = narrow_split(at_least(x, -104));
  return split.value * power_of_two(split.bits() + kBits, x) * 0x1p-24;
}
/// Of -87 < x < 88, a number: the same bits, by a sum of exponents.
auto narrow_exp_of_number(Wide x) -> Wide {
  const auto split = narrow_split(x);
  return with_exponent(split.value, split.moved);
}

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
    FunctionRow{TileOp::exp, lane::exp, narrow_exp, Narrow::native, true},
    FunctionRow{TileOp::exp2, lane::exp2, quick::exp2},
    FunctionRow{TileOp::expm1, lane::expm1, quick::expm1},
    FunctionRow{TileOp::log, lane::log, quick::log},
    FunctionRow{TileOp::log2, lane::log2, quick::log2},
    FunctionRow{TileOp::log10, lane::log10, quick::log10},
    FunctionRow{TileOp::log1p, lane::log1p, quick::log1p},
    FunctionRow{TileOp::sin, lane::sin, lane::sin},
    FunctionRow{TileOp::cos, lane::cos, lane::cos},
    FunctionRow{TileOp::tan, lane::tan, lane::tan},
    FunctionRow{TileOp::asin, lane::asin, lane::asin},
    FunctionRow{TileOp::acos, lane::acos, lane::acos},
    FunctionRow{TileOp::atan, lane::atan, lane::atan},
    FunctionRow{TileOp::sinh, lane::sinh, quick::sinh},
    FunctionRow{TileOp::cosh, lane::cosh, quick::cosh},
    FunctionRow{TileOp::tanh, lane::tanh, quick::tanh},
    FunctionRow{TileOp::asinh, lane::asinh, lane::asinh},
    FunctionRow{TileOp::acosh, lane::acosh, lane::acosh},
    FunctionRow{TileOp::atanh, lane::atanh, lane::atanh},
    FunctionRow{TileOp::erf, lane::erf, narrow_erf, Narrow::native, true},
    FunctionRow{TileOp::erfc, lane::erfc, lane::erfc},
    FunctionRow{TileOp::erfinv, lane::erfinv, lane::erfinv},
    FunctionRow{TileOp::lgamma, lane::lgamma, lane::lgamma},
    FunctionRow{TileOp::sigmoid, lane::sigmoid, narrow_sigmoid, Narrow::native, true},
    FunctionRow{TileOp::round_away, lane::round_away, lane::round_away, Narrow::native},
};
constexpr std::array kPairs = {
    PairRow{TileOp::power, lane::power, quick::power},
    PairRow{TileOp::atan2, lane::atan2, lane::atan2},
    PairRow{TileOp::hypot, lane::hypot, quick::hypot},
    PairRow{TileOp::remainder, lane::fmod, lane::fmod},
    PairRow{TileOp::nextafter, lane::nextafter, lane::nextafter, Narrow::native},
};

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
  return narrow_exp_below_one({&builder, x}).v;
}
auto emit_exp_of_number(lane::Builder& builder, Value* x) -> Value* {
  return narrow_exp_of_number({&builder, x}).v;
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
