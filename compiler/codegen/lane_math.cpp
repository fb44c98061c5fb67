#include "compiler/codegen/lane_math.h"

#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cmath>
#include <numbers>

namespace assay {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;

/// A float64 lane or vector of lanes; arithmetic reads as formulas.
struct Wide {
  Builder* b = nullptr;
  Value* v = nullptr;
  [[nodiscard]] auto like(double value) const -> Wide {
    return {b, llvm::ConstantFP::get(v->getType(), value)};
  }
  [[nodiscard]] auto apply(llvm::Intrinsic::ID id) const -> Wide {
    return {b, b->CreateUnaryIntrinsic(id, v)};
  }
};
auto operator+(Wide x, Wide y) -> Wide {
  return {x.b, x.b->CreateFAdd(x.v, y.v)};
}
auto operator-(Wide x, Wide y) -> Wide {
  return {x.b, x.b->CreateFSub(x.v, y.v)};
}
auto operator*(Wide x, Wide y) -> Wide {
  return {x.b, x.b->CreateFMul(x.v, y.v)};
}
auto operator/(Wide x, Wide y) -> Wide {
  return {x.b, x.b->CreateFDiv(x.v, y.v)};
}
auto operator-(Wide x) -> Wide {
  return {x.b, x.b->CreateFNeg(x.v)};
}
auto operator+(Wide x, double y) -> Wide {
  return x + x.like(y);
}
auto operator-(Wide x, double y) -> Wide {
  return x - x.like(y);
}
auto operator*(Wide x, double y) -> Wide {
  return x * x.like(y);
}
auto fma(Wide x, Wide y, Wide z) -> Wide {
  return {x.b, x.b->CreateIntrinsic(llvm::Intrinsic::fma, {x.v->getType()}, {x.v, y.v, z.v})};
}
auto clamp(Wide x, double low, double high) -> Wide {
  const auto above = x.b->CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x.v, x.like(low).v);
  return {x.b, x.b->CreateBinaryIntrinsic(llvm::Intrinsic::minimum, above, x.like(high).v)};
}
auto select(Value* condition, Wide x, Wide y) -> Wide {
  return {x.b, x.b->CreateSelect(condition, x.v, y.v)};
}
auto below(Wide x, double y) -> Value* {
  return x.b->CreateFCmpOLT(x.v, x.like(y).v);
}
auto magnitude(Wide x) -> Wide {
  return x.apply(llvm::Intrinsic::fabs);
}
auto with_sign_of(Wide x, Wide sign) -> Wide {
  return {x.b, x.b->CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x.v, sign.v)};
}
/// Coefficients from the constant term up.
template <std::size_t kCount>
auto polynomial(Wide x, const std::array<double, kCount>& coefficients) -> Wide {
  auto sum = x.like(coefficients.back());
  for (std::size_t i = kCount - 1; i-- > 0;) sum = fma(sum, x, x.like(coefficients[i]));
  return sum;
}
auto bits_type(Wide x) -> llvm::Type* {
  auto* whole = x.b->getInt64Ty();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x.v->getType());
  return vector == nullptr ? static_cast<llvm::Type*>(whole)
                           : llvm::FixedVectorType::get(whole, vector->getNumElements());
}

/// x = k*ln 2 + r, Taylor's series in r (|r| < 0.347, the rest is below 1e-11), 2^k by its bits.
/// Beyond 200 every result of float32 is 0 or infinite anyway.
auto exp(Wide x) -> Wide {
  auto& b = *x.b;
  const auto y = clamp(x, -200, 200);
  const auto k = (y * std::numbers::log2e).apply(llvm::Intrinsic::nearbyint);
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
  auto* bits = bits_type(x);
  const auto number = [&](std::uint64_t value) { return llvm::ConstantInt::get(bits, value); };
  const auto exponent =
      b.CreateShl(b.CreateAdd(b.CreateFPToSI(k.v, bits), number(1023)), number(52));
  return polynomial(r, kTaylor) * Wide{&b, b.CreateBitCast(exponent, y.v->getType())};
}

/// x = m*2^k with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m-1)/(m+1)), its series to the 13th
/// power (the rest is below 1e-12). Zero, infinity, NaN and negative numbers at the end.
auto log(Wide x) -> Wide {
  auto& b = *x.b;
  auto* bits = bits_type(x);
  const auto number = [&](std::uint64_t value) { return llvm::ConstantInt::get(bits, value); };
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const auto raw = b.CreateBitCast(x.v, bits);
  const auto shifted = b.CreateSub(raw, number(kRootHalf));
  const auto k = b.CreateAShr(shifted, number(52));
  const auto mantissa = b.CreateSub(raw, b.CreateShl(k, number(52)));
  const Wide m{&b, b.CreateBitCast(mantissa, x.v->getType())};
  const Wide power{&b, b.CreateSIToFP(k, x.v->getType())};
  const auto s = (m - 1) / (m + 1);
  constexpr std::array<double, 7> kSeries = {2.0,     2.0 / 3,  2.0 / 5, 2.0 / 7,
                                             2.0 / 9, 2.0 / 11, 2.0 / 13};
  const auto result = fma(power, x.like(std::numbers::ln2), s * polynomial(s * s, kSeries));
  const auto infinite = b.CreateFCmpOEQ(x.v, x.like(INFINITY).v);
  const auto zero = b.CreateFCmpOEQ(x.v, x.like(0).v);
  const auto invalid = b.CreateFCmpULT(x.v, x.like(0).v);  // negative, or NaN
  return select(invalid, x.like(NAN), select(zero, x.like(-INFINITY), select(infinite, x, result)));
}

/// Near 0 the difference loses digits that the series has.
auto expm1(Wide x) -> Wide {
  const auto small = x + x * x * 0.5;
  return select(below(magnitude(x), 1e-5), small, exp(x) - 1);
}
auto log1p(Wide x) -> Wide {
  const auto small = x - x * x * 0.5;
  return select(below(magnitude(x), 1e-5), small, log(x + 1));
}
auto tanh(Wide x) -> Wide {
  const auto e = exp(clamp(x, -40, 40) * 2);
  const auto small = x - x * x * x * (1.0 / 3);
  return select(below(magnitude(x), 1e-3), small, (e - 1) / (e + 1));
}
auto sinh(Wide x) -> Wide {
  const auto e = exp(x);
  const auto small = x + x * x * x * (1.0 / 6);
  return select(below(magnitude(x), 1e-3), small, (e - x.like(1) / e) * 0.5);
}
auto cosh(Wide x) -> Wide {
  const auto e = exp(x);
  return (e + x.like(1) / e) * 0.5;
}
/// Up to 1 erf(x)/x as a polynomial in x*x, beyond it 1 - exp(-x*x) times a polynomial in
/// 1/(1+x/2). Both were fitted at Chebyshev's nodes; relative errors 2e-14 and 4e-12.
auto erf(Wide x) -> Wide {
  constexpr std::array<double, 10> kInner = {1.128379167095494,      -0.37612638902808615,
                                             0.11283791658548713,    -0.026866169050599326,
                                             0.0052239671935439,     -0.0008547933736519633,
                                             0.00012046261269779797, -1.4795031400662045e-05,
                                             1.5306373163641084e-06, -1.0469110332151208e-07};
  constexpr std::array<double, 10> kOuter = {
      9.552682170078822e-06, 0.2818449832871979,   0.28499592304188454, 0.22712553133649308,
      0.2628817479958926,    -0.17190514292813444, 0.5029629549401916,  -0.7029932424994794,
      0.4013557248785041,    -0.08630834655415859};
  const auto size = clamp(magnitude(x), 0, 4.2);  // above it 1 is right
  const auto square = size * size;
  const auto t = x.like(1) / (size * 0.5 + 1);
  const auto outer = x.like(1) - exp(-square) * polynomial(t, kOuter);
  const auto inner = size * polynomial(square, kInner);
  return with_sign_of(select(below(size, 1), inner, outer), x);
}
auto exp2(Wide x) -> Wide {
  return exp(x * std::numbers::ln2);
}
auto log2(Wide x) -> Wide {
  return log(x) * std::numbers::log2e;
}
auto log10(Wide x) -> Wide {
  return log(x) * std::numbers::log10e;
}

/// e^x without leaving float32: ln 2 in two parts, Taylor's series to the seventh power (the rest
/// is below 5e-9), and 2^k in two factors, so that results below the normal range are rounded once.
auto narrow_exp(Wide x) -> Wide {
  auto& b = *x.b;
  constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;
  const auto y = clamp(x, -104, 89);
  const auto k = (y * std::numbers::log2e).apply(llvm::Intrinsic::nearbyint);
  const auto r = fma(k, y.like(-kLn2Low), fma(k, y.like(-kLn2High), y));
  constexpr std::array<double, 8> kTaylor = {1.0,      1.0,       1.0 / 2,   1.0 / 6,
                                             1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040};
  auto* whole = b.getInt32Ty();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x.v->getType());
  auto* type = vector == nullptr ? static_cast<llvm::Type*>(whole)
                                 : llvm::FixedVectorType::get(whole, vector->getNumElements());
  const auto power = [&](Value* exponent) {
    const auto biased = b.CreateAdd(exponent, llvm::ConstantInt::get(type, 127));
    return Wide{
        &b, b.CreateBitCast(b.CreateShl(biased, llvm::ConstantInt::get(type, 23)), x.v->getType())};
  };
  const auto n = b.CreateFPToSI(k.v, type);
  const auto half = b.CreateAShr(n, llvm::ConstantInt::get(type, 1));
  return polynomial(r, kTaylor) * power(half) * power(b.CreateSub(n, half));
}
/// At most two units wrong: three roundings. Below -88 it is 0: e^-x is infinite in float32.
auto narrow_sigmoid(Wide x) -> Wide {
  return x.like(1) / (narrow_exp(-x) + 1);
}

struct FunctionRow {
  TileOp op;
  Wide (*compute)(Wide);
  bool is_wide = true;  ///< in float64
};
constexpr std::array kFunctions = {
    FunctionRow{TileOp::exp, narrow_exp, false},
    FunctionRow{TileOp::exp2, exp2},
    FunctionRow{TileOp::expm1, expm1},
    FunctionRow{TileOp::log, log},
    FunctionRow{TileOp::log2, log2},
    FunctionRow{TileOp::log10, log10},
    FunctionRow{TileOp::log1p, log1p},
    FunctionRow{TileOp::tanh, tanh},
    FunctionRow{TileOp::sinh, sinh},
    FunctionRow{TileOp::cosh, cosh},
    FunctionRow{TileOp::sigmoid, narrow_sigmoid, false},
    FunctionRow{TileOp::erf, erf},
};

}  // namespace

auto emit_function(Builder& builder, TileOp op, Value* x) -> Value* {
  for (const auto& row : kFunctions) {
    if (row.op != op) continue;
    auto* narrow = x->getType();
    if (!row.is_wide) {
      const auto result = row.compute({&builder, x});
      return builder.CreateSelect(builder.CreateFCmpUNO(x, x), x, result.v);
    }
    llvm::Type* wide = builder.getDoubleTy();
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(narrow))
      wide = llvm::FixedVectorType::get(wide, vector->getNumElements());
    const auto result = row.compute({&builder, builder.CreateFPExt(x, wide)});
    auto* rounded = builder.CreateFPTrunc(result.v, narrow);
    return builder.CreateSelect(builder.CreateFCmpUNO(x, x), x, rounded);
  }
  return nullptr;
}

}  // namespace assay
