// Functions of float32 lanes that stay in float32: half the room of a vector, and a tenth of the
// time of GPUs whose float64 is slow. Polynomials were fitted where their error is seen most, their
// coefficients rounded one after the other and the rest fitted again. Stated errors are in units in
// the last place of the exact result.
#include <cmath>
#include <numbers>

#include "compiler/codegen/lane_functions.h"

namespace assay::lane::narrow {
namespace {

/// Added to a number below 2^22, its low bits are the nearest whole number's; no conversion needed.
constexpr double kNearest = 12582912.0;  // 1.5 * 2^23
constexpr unsigned kMantissa = 23;
constexpr std::uint64_t kSign = 0x80000000, kExponent = 0xff800000, kOne = 0x3f800000;

/// x * 2^k by a sum of exponents, where x and that are normal numbers; `moved` is k + kNearest.
auto with_exponent(Wide x, Wide moved) -> Wide {
  return from_bits(bits_of(x) + (bits_of(moved) << kMantissa), x);
}
/// The sign of a number that is not negative, or has that sign already.
auto with_sign(Wide x, Wide sign) -> Wide {
  return from_bits(bits_of(x) | (bits_of(sign) & kSign), x);
}

/// y = r + k ln 2, ln 2 in two parts.
struct Shares {
  Wide r, k;
  Wide moved;  ///< k + kNearest
};
/// `fewer`: what `moved` is made smaller by.
auto shares(Wide y, double fewer = 0) -> Shares {
  constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;
  const auto moved = fma(y, y.like(std::numbers::log2e), y.like(kNearest - fewer));
  const auto k = moved - (kNearest - fewer);
  return {fma(k, y.like(-kLn2Low), fma(k, y.like(-kLn2High), y)), k, moved};
}
/// e^y = value * 2^k: 1 + r + r*r*q(r) with the q that comes nearest (within 4.4e-9 of e^r).
struct Split {
  Wide value, k;
  Wide moved;  ///< k + kNearest
  [[nodiscard]] auto bits() const -> Bits { return bits_of(moved) - bits_of(moved.like(kNearest)); }
};
auto split(Wide y, double fewer = 0) -> Split {
  constexpr std::array<double, 7> kPower = {1.0,
                                            1.0,
                                            0.4999999403953552,
                                            0.1666651964187622,
                                            0.041668396443128586,
                                            0.008368796668946743,
                                            0.0013814433477818966};
  const auto [r, k, moved] = shares(y, fewer);
  return {polynomial(r, kPower), k, moved};
}

/// 2^r for |r| up to 1/2; 0.8 units.
constexpr std::array<double, 7> kPowerOfTwo = {1.0,
                                               0.6931471824645996,
                                               0.24022646248340607,
                                               0.05550359562039375,
                                               0.009618652053177357,
                                               0.0013390982057899237,
                                               0.0001529201545054093};

/// An odd function that becomes 1: x + x p(x*x) up to `between`, beyond it what `outer` makes of
/// |x|, which is cut off at `last`. NaN is a matter of the inner part.
template <std::size_t kCount, class Outer>
auto saturating(Wide x, double between, double last, const std::array<double, kCount>& inner,
                const Outer& outer) -> Wide {
  const auto size = at_most(magnitude(x), last);
  const auto near = fma(x, polynomial(x * x, inner), x);
  return select(size > between, with_sign(outer(size), x), near);
}

/// k*2^23 and m in [-1/4, 1/2] of (1 + m) * 2^k: log(1 + m) as m + m*m*p(m) and k*ln 2.
auto logarithm(Bits exponent, Wide m) -> Wide {
  constexpr std::array<double, 9> kFit = {-0.5,
                                          0.33333441615104675,
                                          -0.250000923871994,
                                          0.19991213083267212,
                                          -0.16647869348526,
                                          0.1447487324476242,
                                          -0.1315106302499771,
                                          0.10456777364015579,
                                          -0.04508928954601288};
  const auto near = fma(polynomial(m, kFit), m * m, m);
  return fma(number_of(exponent, m), m.like(std::numbers::ln2 * 0x1p-23), near);
}
/// The exponent of x, in its place, where mantissas go from 3/4 to 3/2.
auto exponent_of(Wide x) -> Bits {
  constexpr std::uint64_t kThreeQuarters = 0x3f400000;
  return (bits_of(x) - kThreeQuarters) & kExponent;
}
/// Logarithms of 0, infinity, NaN and negative numbers.
auto with_edges(Wide x, Wide result) -> Wide {
  const auto edges = select(x == 0, -INFINITY, fma(x, x.like(INFINITY), x.like(INFINITY)));
  return select((x > 0) & (x < INFINITY), result, edges);
}

/// x = q*pi/2 + y + rest, up to kLargeAngle. With pi/2 in three parts the first difference is
/// exact; what others lose is the rest.
struct Reduced {
  Bits q;
  Wide y, rest;
};
auto reduce(Wide x) -> Reduced {
  constexpr double kFirst = 0x1.921fb60000000p+0, kSecond = -0x1.777a5c0000000p-25,
                   kThird = -0x1.ee59da0000000p-50;
  const auto moved = fma(x, x.like(2 * std::numbers::inv_pi), x.like(kNearest));
  const auto k = moved - kNearest;
  const auto first = fma(k, x.like(-kFirst), x);
  const auto second = exact_product(k, x.like(kSecond));
  const auto y = first - second.hi;
  const auto rest = ((first - y) - second.hi) - fma(k, x.like(kThird), second.lo);
  return {bits_of(moved), y, rest};
}
auto sine_near(Wide y, Wide rest) -> Wide {
  constexpr std::array<double, 3> kFit = {-0.16666655242443085, 0.008332193829119205,
                                          -0.00019518399494700134};
  const auto z = y * y;
  return y + fma(z * y, polynomial(z, kFit), rest);
}
auto cosine_near(Wide y) -> Wide {
  constexpr std::array<double, 5> kFit = {1.0, -0.5, 0.04166664555668831, -0.00138873013202101,
                                          2.443066841806285e-05};
  return polynomial(y * y, kFit);
}
/// Sine and cosine by quadrants.
auto turned(Wide x, std::uint64_t quadrants) -> Wide {
  const auto [q, y, rest] = reduce(x);
  const auto turns = q + quadrants;
  const auto value = select(is_odd(turns), cosine_near(y), sine_near(y, rest));
  return from_bits(bits_of(value) + ((turns & 2) << 30U), x);
}
/// `large` where any lane is beyond what `reduce` can.
auto turned(Wide x, std::uint64_t quadrants, Wide (*large)(Wide)) -> Wide {
  const auto signed_value = turned(x, quadrants);
  const auto is_large = magnitude(x) >= kLargeAngle;
  const auto merged = if_any(is_large, std::array{signed_value.v}, [&] {
    return std::array{select(is_large, narrowed(large(widened(x))), signed_value).v};
  });
  return {x.b, merged[0]};
}

}  // namespace

/// 2^k in two factors, so that results below the normal range are rounded once; 0.91 units.
auto exp(Wide x) -> Wide {
  const auto parts = split(clamp_number(x, -104, 89));
  return scaled(parts.value, parts.k, parts.bits());
}
/// Of x <= 0: 2^k is made so large that it is a normal number, and the product then small again.
auto exp_below_one(Wide x) -> Wide {
  constexpr std::uint64_t kBits = 24;
  const auto parts = split(at_least(x, -104));
  return parts.value * power_of_two(parts.bits() + kBits, x) * 0x1p-24;
}
auto exp_of_number(Wide x) -> Wide {
  const auto parts = split(x);
  return with_exponent(parts.value, parts.moved);
}
/// 0.8 units.
auto exp2(Wide x) -> Wide {
  const auto y = clamp_number(x, -152, 130);
  const auto moved = y + kNearest;
  const auto k = moved - kNearest;
  return scaled(polynomial(y - k, kPowerOfTwo), k, bits_of(moved) - bits_of(x.like(kNearest)));
}
auto exp2_of_number(Wide x) -> Wide {
  const auto moved = x + kNearest;
  return with_exponent(polynomial(x - (moved - kNearest), kPowerOfTwo), moved);
}
/// 2^k (e^r - 1) + (2^k - 1), halved, so that no power is infinite; 1 unit.
auto expm1(Wide x) -> Wide {
  constexpr std::array<double, 5> kFit = {0.4999999701976776, 0.16666552424430847,
                                          0.041667621582746506, 0.00836568046361208,
                                          0.0013860223116353154};
  constexpr std::uint64_t kHalf = 0x3f000000;
  const auto [r, k, moved] = shares(clamp_number(x, -18, 89));
  const auto less_one = fma(polynomial(r, kFit), r * r, r);
  const auto half = from_bits((bits_of(moved) << kMantissa) + kHalf, x);
  return with_sign(fma(less_one, half, half - 0.5) * 2, x);
}

/// 0.9 units. Numbers below the normal range are made larger first.
auto log(Wide x) -> Wide {
  const auto is_tiny = x < 0x1p-126;
  const auto y = select(is_tiny, x * 0x1p23, x);
  const auto exponent = exponent_of(y);
  const auto m = from_bits(bits_of(y) - exponent, x) - 1;
  const auto zero = exponent.like(0);
  const auto before = select(is_tiny, exponent.like(std::uint64_t{kMantissa} << kMantissa), zero);
  return with_edges(x, logarithm(exponent - before, m));
}
auto log_of_normal(Wide x) -> Wide {
  const auto exponent = exponent_of(x);
  return logarithm(exponent, from_bits(bits_of(x) - exponent, x) - 1);
}
/// 1 + x = (1 + m) * 2^k, where m = x*2^-k + (2^-k - 1) is rounded once; 1 unit.
auto log1p_of_number(Wide x) -> Wide {
  constexpr std::uint64_t kFour = 0x40800000;
  const auto exponent = exponent_of(x + 1);
  const auto fourth = from_bits(exponent.like(kFour) - exponent, x);  // 4 * 2^-k
  const auto m = from_bits(bits_of(x) - exponent, x) + fma(fourth, x.like(0.25), x.like(-1));
  return with_sign(logarithm(exponent, m), x);
}
auto log1p(Wide x) -> Wide {
  return with_edges(x + 1, log1p_of_number(x));
}

/// Powers are made smaller by 2^25, so that their reciprocal is a normal number, and this as much
/// afterwards. At most two units: three roundings.
auto sigmoid(Wide x) -> Wide {
  constexpr double kFewer = 25;
  const auto parts = split(clamp_number(-x, -69, 104.3), kFewer);
  const auto power = from_bits((bits_of(parts.moved) << kMantissa) + kOne, x);
  return reciprocal(fma(parts.value, power, x.like(0x1p-25))) * 0x1p-25;
}
/// Beyond 1.2 the complement is the fourth power of a polynomial; 1.3 units.
auto erf(Wide x) -> Wide {
  constexpr std::array<double, 7> kInner = {
      0.12837913632392883,  -0.376125305891037,     0.11282619088888168, -0.02681805193424225,
      0.005128358490765095, -0.0007543963147327304, 6.48497007205151e-05};
  static constexpr std::array<double, 8> kRoot = {
      1.0064263343811035,  -0.312383770942688,    -0.05755021050572395, -0.055713996291160583,
      0.06886784732341766, -0.023061156272888184, 0.003376753069460392, -0.00018956522399093956};
  return saturating(x, 1.2, 3.93, kInner, [](Wide size) {
    const auto root = polynomial(size, kRoot);
    const auto square = root * root;
    return fma(-square, square, square.like(1));
  });
}
/// In one range: 1 + u or 1 - u, where 1 - u is the eighth power of a polynomial, so that near 0 it
/// is u that is rounded. Within 2e-7, as the sum of two roundings would be; u is 1 from 3.95 on.
auto erf_and_one(Wide x) -> Wide {
  constexpr double kLast = 3.95;
  constexpr std::array<double, 8> kRoot = {0.14104735851287842,     0.0696309506893158,
                                           0.002086114138364792,    -0.006582700647413731,
                                           -0.00019398995209485292, 0.0005173468380235136,
                                           -9.022831363836303e-05,  4.960164915246423e-06};
  const auto size = at_most(magnitude(x), kLast);
  auto u = size * polynomial(size, kRoot);
  for (int power = 1; power < 8; power *= 2) u = u * (u.like(2) - u);
  return with_sign(u, x) + 1;
}
/// Beyond 0.7 it is 1 - u h(u) of u = e^-2|x|; 1.4 units.
auto tanh(Wide x) -> Wide {
  constexpr std::array<double, 6> kInner = {-9.57850421201556e-09, -0.33333155512809753,
                                            0.13328781723976135,   -0.05354711413383484,
                                            0.020074617117643356,  -0.0051298425532877445};
  static constexpr std::array<double, 6> kPower = {1.0,
                                                   0.6931470036506653,
                                                   0.24022239446640015,
                                                   0.0555073618888855,
                                                   0.009671725332736969,
                                                   0.0013264453737065196};
  static constexpr std::array<double, 6> kOuter = {1.9999984502792358, -1.9998724460601807,
                                                   1.9964919090270996, -1.9550138711929321,
                                                   1.6986101865768433, -0.9208327531814575};
  return saturating(x, 0.7, 9.2, kInner, [](Wide size) {
    const auto turns = size.like(-2 * std::numbers::log2e);
    const auto moved = fma(size, turns, size.like(kNearest));
    const auto r = fma(size, turns, -(moved - kNearest));
    const auto u = with_exponent(polynomial(r, kPower), moved);
    return fma(-u, polynomial(u, kOuter), u.like(1));
  });
}

/// 1.2 units; tiny ones, and with them -0, are their own sines.
auto sin(Wide x) -> Wide {
  return select(magnitude(x) < 0x1p-13, x, turned(x, 0, lane::sin));
}
auto cos(Wide x) -> Wide {
  return turned(x, 1, lane::cos);
}
auto sin_of_small(Wide x) -> Wide {
  return select(magnitude(x) < 0x1p-13, x, turned(x, 0));
}
auto cos_of_small(Wide x) -> Wide {
  return turned(x, 1);
}

}  // namespace assay::lane::narrow
