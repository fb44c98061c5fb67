// Sine, cosine, tangent and their inverses.
#include <llvm/IR/Module.h>

#include <cmath>

#include "compiler/codegen/lane_functions.h"

namespace assay::lane {
namespace {

constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiLow = 0x1.1a62633145c07p-54,
                 kHalfPiLast = -0x1.f1976b7ed8fbcp-110, kTwoOverPi = 0x1.45f306dc9c883p-1;

/// x = q*pi/2 + y, |y| not above pi/4 by more than rounding.
struct Reduced {
  Bits q;
  Pair y;
};

/// Bits of 1/(2 pi) behind 64 zeros, 32 in each element.
auto inverse_turn(Builder& b) -> llvm::Value* {
  constexpr const char* kName = "assay_inverse_turn";
  auto* module = b.GetInsertBlock()->getModule();
  if (auto* known = module->getNamedGlobal(kName)) return known;
  constexpr std::array<std::uint64_t, 46> kWords = {
      0x00000000, 0x00000000, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566,
      0x4f10e410, 0x7f9458ea, 0xf7aef158, 0x6dc91b8e, 0x909374b8, 0x01924bba, 0x82746487,
      0x3f877ac7, 0x2c4a69cf, 0xba208d7d, 0x4baed121, 0x3a671c09, 0xad17df90, 0x4e64758e,
      0x60d4ce7d, 0x272117e2, 0xef7e4a0e, 0xc7fe25ff, 0xf7816603, 0xfbcbc462, 0xd6829b47,
      0xdb4d9fb3, 0xc9f2c26d, 0xd3d18fd9, 0xa797fa8b, 0x5d49eeb1, 0xfaf97c5e, 0xcf41ce7d,
      0xe294a4ba, 0x9afed7ec, 0x47e35742, 0x1580cc11, 0xbf1edaea, 0xfc33ef08, 0x26bd0d87,
      0x6a78e458, 0x57b986c2, 0x19666157, 0xc5281a10};
  auto* data = llvm::ConstantDataArray::get(b.getContext(), kWords);
  return new llvm::GlobalVariable(*module, data->getType(), true,
                                  llvm::GlobalValue::InternalLinkage, data, kName);
}
auto word_at(Bits index) -> Bits {
  auto& b = *index.b;
  auto* place = b.CreateGEP(b.getInt64Ty(), inverse_turn(b), index.v);
  if (!index.v->getType()->isVectorTy()) return {&b, b.CreateLoad(b.getInt64Ty(), place)};
  auto* all = llvm::Constant::getAllOnesValue(shaped(b.getInt1Ty(), index.v->getType()));
  return {&b, b.CreateMaskedGather(index.v->getType(), place, llvm::Align(8), all,
                                   llvm::Constant::getNullValue(index.v->getType()))};
}

/// Payne and Hanek: x = m*2^e; of x/(2 pi) only the fraction counts, so of 1/(2 pi) only bits
/// behind position e: 192 of them times the 53 of m. For |x| from 2^27 on.
auto reduce_large(Wide x) -> Reduced {
  constexpr std::size_t kDigits = 6;
  constexpr std::uint64_t kLow = 0xffffffff;
  const auto raw = bits_of(magnitude(x));
  const auto m = (raw & 0xfffffffffffff) | raw.like(std::uint64_t{1} << 52U);
  // Elsewhere than in large lanes anything that can be read.
  const auto position = (raw >> 52U) - 1075 + 64;
  const auto is_read = less(raw.like(0), position) & less(position, raw.like(1100));
  const auto start = select(is_read, position, raw.like(0));
  const auto index = start >> 5U, shift = start & 31;
  std::array<Bits, kDigits> digits;  // the least first
  auto next = word_at(index);
  for (std::size_t i = 0; i < kDigits; ++i) {
    const auto word = next;
    next = word_at(index + (i + 1));
    digits[kDigits - 1 - i] = ((((word << 32U) | next) << shift) >> 32U) & kLow;
  }
  std::array<Bits, kDigits> product;
  auto carry = raw.like(0), low_before = raw.like(0), high_before = raw.like(0);
  const auto m_low = m & kLow, m_high = m >> 32U;
  for (std::size_t i = 0; i < kDigits; ++i) {
    const auto low = m_low * digits[i], high = m_high * digits[i];
    // low_before's upper half and the lower half of the high product belong here.
    auto sum = carry + (low & kLow) + (low_before >> 32U) + (high_before & kLow);
    product[i] = sum & kLow;
    carry = (sum >> 32U) + (high_before >> 32U);
    low_before = low;
    high_before = high;
  }
  const auto top = (product[5] << 32U) | product[4];
  const auto q = (top + (std::uint64_t{1} << 61U)) >> 62U;
  const auto rest = top - (q << 62U);  // of a turn, in units of 2^-64, with a sign
  const auto part = [&](Bits bits, double unit) { return float_of(bits, x) * unit; };
  const auto first = exact_sum(part(rest.shifted_right(32), 0x1p-32), part(rest & kLow, 0x1p-64));
  const auto last = part(product[3], 0x1p-96) + part(product[2], 0x1p-128);
  const auto turns = ordered_sum(first.hi, first.lo + last);
  const auto angle = turns * pair_of(x, 4 * kHalfPi, 4 * kHalfPiLow);
  const auto is_negative = x < 0;
  return {select(is_negative, q.like(0) - q, q), select(is_negative, -angle, angle)};
}

/// Up to 2^27 x - k*pi/2 with pi/2 in three parts; the first product is exact.
auto reduce(Wide x) -> Reduced {
  constexpr double kLarge = 0x1p27;
  const auto k = nearest(clamp(x, -kLarge, kLarge) * kTwoOverPi);
  const auto first = fma(k, x.like(-kHalfPi), x);
  const auto second = exact_product(k, x.like(kHalfPiLow));
  const auto sum = exact_sum(first, -second.hi);
  const auto y = ordered_sum(sum.hi, fma(k, x.like(-kHalfPiLast), sum.lo - second.lo));
  const auto q = integer_of(k);
  const auto is_large = magnitude(x) >= kLarge;
  const auto merged = if_any(is_large, std::array{q.v, y.hi.v, y.lo.v}, [&] {
    const auto large = reduce_large(x);
    return std::array{select(is_large, large.q, q).v, select(is_large, large.y.hi, y.hi).v,
                      select(is_large, large.y.lo, y.lo).v};
  });
  return {{x.b, merged[0]}, {{x.b, merged[1]}, {x.b, merged[2]}}};
}

/// Taylor's series from 1/first!, every second term, with alternating signs.
template <std::size_t kCount>
consteval auto alternating(int first, double sign) -> std::array<double, kCount> {
  std::array<double, kCount> series{};
  double factorial = 1;
  for (int i = 2; i <= first; ++i) factorial *= i;
  for (std::size_t i = 0; i < kCount; ++i) {
    series[i] = sign / factorial;
    sign = -sign;
    const auto next = first + 2 * static_cast<int>(i);
    factorial *= (next + 1.0) * (next + 2.0);
  }
  return series;
}
auto sine_near(Pair y) -> Wide {
  constexpr auto kSeries = alternating<9>(3, -1);
  const auto z = y.hi * y.hi;
  const auto tail = fma(z * y.hi, polynomial(z, kSeries), fma(z, y.lo * -0.5, y.lo));
  return y.hi + tail;
}
auto cosine_near(Pair y) -> Wide {
  constexpr auto kSeries = alternating<8>(4, 1);
  const auto z = y.hi * y.hi;
  const auto half = z * 0.5;
  const auto whole = half.like(1) - half;
  const auto lost = (half.like(1) - whole) - half;
  return whole + (lost + fma(z * z, polynomial(z, kSeries), -(y.hi * y.lo)));
}
auto turned(Wide x, Wide value) -> Wide {
  return select(magnitude(x) < INFINITY, value, NAN);
}

/// (atan t - t)/t^3 as a polynomial in t*t for |t| up to tan(pi/8), fitted at Chebyshev's nodes;
/// relative error 6e-17.
auto atan_near(Wide t) -> Wide {
  constexpr std::array<double, 14> kFit = {
      -0.3333333333333333,   0.19999999999999998, -0.14285714285714146, 0.11111111111090177,
      -0.09090909089272141,  0.0769230761546223,  -0.06666664323150956, 0.05882304251781918,
      -0.05262449254792637,  0.04754581872056832, -0.04294046689743811, 0.037226284821144595,
      -0.027257823014349446, 0.011943752403901454};
  const auto z = t * t;
  return fma(z * t, polynomial(z, kFit), t);
}
/// The angle of a point whose coordinates are not negative, or of its mirror image on the left.
auto angle_of(Wide y, Wide x, Truth is_left) -> Wide {
  const auto is_steep = y > x;
  auto large = select(is_steep, y, x), small = select(is_steep, x, y);
  const auto is_infinite = large == INFINITY;
  small = select(is_infinite, select(small == INFINITY, 1.0, small.like(0)), small);
  large = select(is_infinite, 1.0, large);
  const auto is_huge = large > 0x1p1000;
  small = select(is_huge, small * 0x1p-100, small);
  large = select(is_huge, large * 0x1p-100, large);
  // Beyond pi/8 relative to the diagonal.
  const auto is_near_diagonal = small > large * 0.41421356237309503;
  const auto t = select(is_near_diagonal, small - large, small) /
                 select(is_near_diagonal, small + large, large);
  auto angle = atan_near(select(small == 0, 0.0, t));
  // The result is eighths * pi/4 + angle.
  auto eighths = select(is_near_diagonal, 1.0, x.like(0));
  eighths = select(is_steep, eighths.like(2) - eighths, eighths);
  angle = select(is_steep, -angle, angle);
  eighths = select(is_left, eighths.like(4) - eighths, eighths);
  angle = select(is_left, -angle, angle);
  return fma(eighths, x.like(kHalfPi / 2), fma(eighths, x.like(kHalfPiLow / 2), angle));
}

}  // namespace

auto sin(Wide x) -> Wide {
  const auto [q, y] = reduce(x);
  const auto value = select(is_odd(q), cosine_near(y), sine_near(y));
  const auto signed_value = select(is_odd(q >> 1U), -value, value);
  return select(magnitude(x) < 0x1p-27, x, turned(x, signed_value));
}
auto cos(Wide x) -> Wide {
  const auto [q, y] = reduce(x);
  const auto value = select(is_odd(q), sine_near(y), cosine_near(y));
  return turned(x, select(is_odd((q + 1) >> 1U), -value, value));
}
auto tan(Wide x) -> Wide {
  const auto [q, y] = reduce(x);
  const auto s = sine_near(y), c = cosine_near(y);
  const auto value = select(is_odd(q), -c, s) / select(is_odd(q), s, c);
  return select(magnitude(x) < 0x1p-27, x, turned(x, value));
}

auto atan2(Wide y, Wide x) -> Wide {
  const auto angle = angle_of(magnitude(y), magnitude(x), sign_bit(x));
  return select(is_nan(x) | is_nan(y), NAN, with_sign_of(angle, y));
}
auto atan(Wide x) -> Wide {
  const auto zero = is_nan(x.like(0));
  const auto angle = angle_of(magnitude(x), x.like(1), zero);
  return select(is_nan(x), x, with_sign_of(angle, x));
}
auto asin(Wide x) -> Wide {
  return atan2(x, square_root((x.like(1) - x) * (x + 1)));
}
auto acos(Wide x) -> Wide {
  return atan2(square_root((x.like(1) - x) * (x + 1)), x);
}

}  // namespace assay::lane
