// The error function, its complement and inverse; the logarithm of the gamma function. Coefficients
// were fitted at Chebyshev's nodes with 60 digits.
#include <cmath>
#include <numbers>

#include "compiler/codegen/lane_functions.h"

namespace assay::lane {
namespace {

constexpr double kRootPi = 1.7724538509055159;

/// erf(x)/x as a polynomial in x*x up to 1; relative error 3e-17.
auto erf_inner(Wide x) -> Wide {
  constexpr std::array<double, 14> kFit = {
      1.1283791670955126,      -0.37612638903183754,    0.1128379167095512,
      -0.02686617064512984,    0.0052239776254232985,   -0.000854832702193483,
      0.00012055332902888736,  -1.4925647567519332e-05, 1.6462045441468418e-06,
      -1.6364642158167608e-07, 1.4792401209404742e-08,  -1.2164560057283045e-09,
      8.70904512905176e-11,    -4.2309458242933425e-12};
  return x * polynomial(x * x, kFit);
}
/// erfc of x from 0 on: e^(-x*x)/(1+2x) times a polynomial in (x-4)/(x+4); relative error 7e-17 up
/// to 28, where it is 0.
auto erfc_outer(Wide x) -> Wide {
  constexpr std::array<double, 22> kFit = {
      1.2329951186255526,     -0.13962111684056255,    0.015379652102606133,
      0.06809705425470212,    -0.10103906603558063,    0.09373283499798463,
      -0.06633036582729279,   0.03716751554242076,     -0.016197733895959854,
      0.005031969952329153,   -0.0007577743061693371,  -0.00019925669640425623,
      0.00015062567141369432, -2.4398609353512906e-05, -1.1232086023404734e-05,
      5.706827475068264e-06,  3.0994402010831546e-07,  -8.187662562915786e-07,
      5.883230632914435e-08,  1.0181247475149971e-07,  -9.456271524915692e-09,
      -8.906208663934622e-09};
  const auto y = clamp(x, 0, 28);
  const auto fitted = polynomial((y - 4) / (y + 4), kFit);
  const auto square = exact_product(y, y);
  return exp_of(-square) * (fitted / fma(y, y.like(2), y.like(1)));
}

/// log(gamma(x))/((x-1)(x-2)) as a polynomial in x - 3/2 from 1 to 2; relative error 4e-17.
auto lgamma_near(Wide x) -> Wide {
  constexpr std::array<double, 22> kFit = {
      0.4831289505409809,     -0.14595989591430608,   0.06291140107456439,
      -0.031308487501010646,  0.01679709863127416,    -0.009425622448525798,
      0.005446457839126065,   -0.0032120740737152814, 0.0019229163127905161,
      -0.0011644145847310124, 0.000711519067515296,   -0.00043799307479613914,
      0.00027131373861446925, -0.0001689178215524898, 0.00010535512483785592,
      -6.614136022346415e-05, 4.302768149765028e-05,  -2.720167302550474e-05,
      1.3186019073996869e-05, -8.355075869795295e-06, 1.2140008083973377e-05,
      -7.760660152513428e-06};
  return (x - 1) * (x - 2) * polynomial(x - 1.5, kFit);
}
/// Stirling's series, for x from 8 on.
auto lgamma_far(Wide x) -> Wide {
  constexpr std::array<double, 8> kSeries = {1.0 / 12,    -1.0 / 360,       1.0 / 1260,
                                             -1.0 / 1680, 1.0 / 1188,       -691.0 / 360'360,
                                             1.0 / 156,   -3617.0 / 122'400};
  constexpr double kHalfLogTwoPi = 0.9189385332046727;
  const auto inverse = x.like(1) / x;
  const auto series = inverse * polynomial(inverse * inverse, kSeries);
  const auto l = log(x);
  return fma(x - 0.5, l - 1, (series + (kHalfLogTwoPi - 0.5)));
}
/// For x above 0: shifted into 1 .. 2 below 8.
auto lgamma_positive(Wide x) -> Wide {
  const auto y = clamp(x, 0, 8);
  auto shifted = y, product = y.like(1);
  for (int i = 0; i < 6; ++i) {
    const auto is_above = shifted >= 2;
    shifted = select(is_above, shifted - 1, shifted);
    product = select(is_above, product * shifted, product);
  }
  const auto is_below = y < 1;
  const auto near = lgamma_near(select(is_below, y + 1, shifted));
  const auto by = log(select(is_below, y, product));
  const auto small = select(is_below, near - by, near + by);
  return select(x < 8, small, select(x < INFINITY, lgamma_far(x), x));
}

}  // namespace

auto erf(Wide x) -> Wide {
  const auto a = magnitude(x);
  const auto result = select(a < 1, erf_inner(a), a.like(1) - erfc_outer(a));
  return select(is_nan(x), x, with_sign_of(result, x));
}
auto erfc(Wide x) -> Wide {
  const auto a = magnitude(x);
  const auto outer = erfc_outer(a);
  const auto result = select(x < 0, outer.like(2) - outer, outer);
  return select(is_nan(x), x, select(a < 0.5, x.like(1) - erf_inner(x), result));
}
/// Winitzki's approximation, then Halley's method on erfc (on erf below 1/2).
auto erfinv(Wide x) -> Wide {
  constexpr double kFit = 0.147;
  const auto a = magnitude(x);
  const auto l = log1p(-(a * a));
  const auto half = l * 0.5 + 2 / (std::numbers::pi * kFit);
  const auto square = square_root(half * half - l * (1 / kFit)) - half;
  auto y = square_root(select(square > 0, square, 0.0));
  const auto rest = x.like(1) - a;
  for (int step = 0; step < 3; ++step) {
    const auto wrong = select(a < 0.5, erf_inner(y) - a, rest - erfc_outer(y));
    const auto newton = wrong * (kRootPi / 2) * exp_of(exact_product(y, y));
    y = y - newton / fma(y, newton, y.like(1));
  }
  y = select(a < 0x1p-30, a * (kRootPi / 2), select(a == 1, INFINITY, y));
  return select(a <= x.like(1), with_sign_of(y, x), NAN);
}

/// log|gamma(x)|; by reflection for negative x: gamma(x) gamma(-x) = -pi/(x sin(pi x)).
auto lgamma(Wide x) -> Wide {
  const auto a = magnitude(x);
  const auto positive = lgamma_positive(a);
  const auto whole = nearest(a);
  const auto sine = magnitude(sin((a - whole) * std::numbers::pi));
  const auto mirrored = log(a.like(std::numbers::pi) / (a * sine)) - positive;
  const auto is_pole = (x <= x.like(0)) & (whole == a);
  const auto tiny = -log(a);
  auto result = select(x < 0, select(a < 0x1p-60, tiny, mirrored), positive);
  result = select(is_pole | (a == INFINITY), INFINITY, result);
  return select(is_nan(x), x, result);
}

}  // namespace assay::lane
