// Exponentials, logarithms, powers and what is made of them.
#include <cmath>
#include <numbers>

#include "compiler/codegen/lane_functions.h"

namespace assay::lane {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;
constexpr double kLog2e = 0x1.71547652b82fep+0, kLog2eLow = 0x1.777d0ffda0d24p-56;
constexpr double kLog10e = 0x1.bcb7b1526e50ep-2, kLog10eLow = 0x1.95355baaafad3p-57;

/// e^x = 2^k (1 + small), |small| < 0.42.
struct Split {
  Wide small;
  Bits k;
};
/// x = k ln 2 + r; Taylor's series in r to the 13th power (the rest is below 1e-17).
auto split(Pair x) -> Split {
  const auto k = nearest(x.hi * std::numbers::log2e);
  const auto r = fma(k, x.hi.like(-kLn2Low), fma(k, x.hi.like(-kLn2), x.hi)) + x.lo;
  constexpr auto kTaylor = [] {
    std::array<double, 12> series{};  // 1/2! to 1/13!
    double factorial = 1;
    for (std::size_t i = 0; i < series.size(); ++i) {
      factorial *= static_cast<double>(i + 2);
      series[i] = 1 / factorial;
    }
    return series;
  }();
  return {fma(r * r, polynomial(r, kTaylor), r), integer_of(k)};
}
/// e^x * 2^shift; the clamp lies where results are 0 or infinite anyway.
auto exp_of(Pair x, int shift) -> Wide {
  const auto hi = clamp(x.hi, -760, 720);
  const auto [small, k] = split({hi, select(hi == x.hi, x.lo, 0.0)});
  const auto result = scaled(small + 1, k + static_cast<std::uint64_t>(shift));
  return select(is_nan(x.hi), x.hi, result);
}

/// Of positive normal numbers, as a pair: x = m*2^k with m in [sqrt(1/2), sqrt(2)), then
/// log m = 2 artanh s, s = (m-1)/(m+1). The first two terms of the series are pairs.
auto log_pair(Wide x, Bits extra) -> Pair {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const auto raw = bits_of(x);
  const auto exponent = (raw - kRootHalf).shifted_right(52);
  const auto m = from_bits(raw - (exponent << 52U), x);
  const auto k = float_of(exponent + extra, x);
  const auto above = m - 1;
  const auto below = exact_sum(m, x.like(1));
  const auto quotient = above / below.hi;
  const auto rest = fma(-quotient, below.hi, above) - quotient * below.lo;
  const Pair s{quotient, rest / below.hi};
  const auto square = s * s;
  constexpr auto kSeries = [] {
    std::array<double, 11> series{};  // 2/5 to 2/25
    for (std::size_t i = 0; i < series.size(); ++i)
      series[i] = 2.0 / static_cast<double>(2 * i + 5);
    return series;
  }();
  const auto third = pair_of(x, 0x1.5555555555555p-1, 0x1.5555555555555p-55);
  const auto tail = square.hi * polynomial(square.hi, kSeries);
  const auto series = s * square * (third + Pair{tail, x.like(0)});
  const auto power = exact_product(k, x.like(kLn2));
  const Pair whole{power.hi, power.lo + k * kLn2Low};
  const Pair twice{s.hi * 2, s.lo * 2};
  return whole + (twice + series);
}
auto log_pair(Wide x) -> Pair {
  const auto is_tiny = x < 0x1p-1022;
  const auto zero = bits_of(x.like(0));
  return log_pair(select(is_tiny, x * 0x1p54, x), select(is_tiny, zero - 54, zero));
}
/// Zero, infinity, NaN and negative numbers.
auto with_edges(Wide x, Wide result) -> Wide {
  const auto known = select(x == 0, -INFINITY, select(x == INFINITY, x, result));
  return select(x >= 0, known, NAN);
}
auto times(Pair x, double hi, double lo) -> Wide {
  const auto product = x * pair_of(x.hi, hi, lo);
  return product.hi;
}
/// log(1 + x) for x above -1; what the sum loses is put back.
auto log1p_inner(Wide x) -> Wide {
  const auto sum = exact_sum(x.like(1), x);
  const auto whole = log_pair(sum.hi);
  return whole.hi + (whole.lo + sum.lo / sum.hi);
}

}  // namespace

auto exp_of(Pair x) -> Wide {
  return exp_of(x, 0);
}
auto exp(Wide x) -> Wide {
  return exp_of({x, x.like(0)}, 0);
}
auto exp2(Wide x) -> Wide {
  const auto y = clamp(x, -1100, 1100);
  const auto k = nearest(y);
  const auto r = y - k;
  const auto product = exact_product(r, x.like(kLn2));
  const auto [small, more] = split({product.hi, fma(r, x.like(kLn2Low), product.lo)});
  return select(is_nan(x), x, scaled(small + 1, integer_of(k) + more));
}
auto expm1(Wide x) -> Wide {
  const auto [small, k] = split({clamp(x, -50, 720), x.like(0)});
  const auto below = power_of_two(k.like(0) - select(less(k, k.like(1000)), k, k.like(1000)), x);
  const auto result = scaled((x.like(1) - below) + small, k);
  return select(is_nan(x) | (x == 0), x, result);
}

auto log(Wide x) -> Wide {
  return with_edges(x, log_pair(x).hi);
}
auto log2(Wide x) -> Wide {
  return with_edges(x, times(log_pair(x), kLog2e, kLog2eLow));
}
auto log10(Wide x) -> Wide {
  return with_edges(x, times(log_pair(x), kLog10e, kLog10eLow));
}
auto log1p(Wide x) -> Wide {
  const auto tiny = magnitude(x) < 0x1p-54;
  const auto known = select(x == -1, -INFINITY, select((x == INFINITY) | tiny, x, log1p_inner(x)));
  return select(x >= -1, known, NAN);
}

auto power_of(Wide x, Wide y, Wide size) -> Wide {
  const auto is_whole = truncated(y) == y;
  const auto half = y * 0.5;
  const auto odd = is_whole & (truncated(half) != half);
  const auto a = magnitude(x);
  const auto up = y > 0;
  // 0 and infinity, and whatever to the power of infinity.
  const auto vanishes = (a > 1) ^ up;
  auto result = select((a == 0) | (a == INFINITY) | (magnitude(y) == INFINITY),
                       select(vanishes, x.like(0), x.like(INFINITY)), size);
  result = select((x < 0) & !is_whole & (a < INFINITY), NAN, result);
  result = select(odd & sign_bit(x), -result, result);
  result = select(is_nan(x) | is_nan(y), NAN, result);
  const auto one = (y == 0) | (x == 1) | ((a == 1) & (magnitude(y) == INFINITY));
  return select(one, 1.0, result);
}
auto power(Wide x, Wide y) -> Wide {
  const auto l = log_pair(magnitude(x));
  const auto hi = l.hi * y;
  const auto lo = fma(l.lo, y, fma(l.hi, y, -hi));
  return power_of(x, y, exp_of({hi, select(magnitude(hi) < 800, lo, 0.0)}, 0));
}

auto sigmoid(Wide x) -> Wide {
  return x.like(1) / (exp(-x) + 1);
}
/// (e^x - e^-x)/2 through e^x - 1; beyond 22 the second part is gone.
auto sinh(Wide x) -> Wide {
  const auto a = magnitude(x);
  const auto m = expm1(clamp(a, 0, 30));
  const auto small = (m + m / (m + 1)) * 0.5;
  const auto large = exp_of({a, x.like(0)}, -1);
  return select(is_nan(x), x, with_sign_of(select(a < 22, small, large), x));
}
auto cosh(Wide x) -> Wide {
  const auto half = exp_of({magnitude(x), x.like(0)}, -1);
  return half + x.like(0.25) / half;
}
auto tanh(Wide x) -> Wide {
  const auto m = expm1(clamp(magnitude(x), 0, 22) * 2);
  const auto result = m / (m + 2);
  return select(is_nan(x), x, with_sign_of(result, x));
}
auto asinh(Wide x) -> Wide {
  const auto a = magnitude(x);
  const auto square = a * a;
  const auto small = log1p(a + square / (square_root(square + 1) + 1));
  const auto large = log(a) + kLn2;
  return with_sign_of(select(a < 0x1p28, small, large), x);
}
auto acosh(Wide x) -> Wide {
  const auto t = x - 1;
  const auto small = log1p(t + square_root(fma(t, t, t * 2)));
  return select(x >= 1, select(x < 0x1p28, small, log(x) + kLn2), NAN);
}
auto atanh(Wide x) -> Wide {
  const auto a = magnitude(x);
  return with_sign_of(log1p(a * 2 / (x.like(1) - a)) * 0.5, x);
}

}  // namespace assay::lane
