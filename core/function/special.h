// Special functions of real numbers, under ATen's names and with its values where a function has
// none (aten/src/ATen/native/Math.h, UnaryOps.cpp, BinaryOps.cpp). All are computed in float64.
#pragma once

namespace assay::special {

// ---- gamma function and its kin

/// NaN at the poles, infinite at 0 with the sign that the side tells.
[[nodiscard]] auto digamma(double x) -> double;
/// `is_double`: what the dtype computes in; at whole numbers below 0 the sine is all rounding.
[[nodiscard]] auto trigamma(double x, bool is_double) -> double;
[[nodiscard]] auto polygamma(double n, double x, bool is_double) -> double;
/// Hurwitz' zeta: the sum over k of (q + k)^-x.
[[nodiscard]] auto zeta(double x, double q) -> double;
/// Regularised incomplete gamma functions, the lower and the upper one.
[[nodiscard]] auto igamma(double a, double x) -> double;
[[nodiscard]] auto igammac(double a, double x) -> double;

// ---- error function and its kin

[[nodiscard]] auto erfinv(double x) -> double;
/// exp(x^2) erfc(x)
[[nodiscard]] auto erfcx(double x) -> double;
/// The normal distribution, its logarithm, its inverse.
[[nodiscard]] auto ndtr(double x) -> double;
[[nodiscard]] auto log_ndtr(double x) -> double;
[[nodiscard]] auto ndtri(double x) -> double;

// ---- Bessel functions

[[nodiscard]] auto bessel_j0(double x) -> double;
[[nodiscard]] auto bessel_j1(double x) -> double;
[[nodiscard]] auto bessel_y0(double x) -> double;
[[nodiscard]] auto bessel_y1(double x) -> double;
/// ATen's, whose rational approximation beyond 5 is off by some 1e-7 (bessel.h).
[[nodiscard]] auto bessel_j0_forward(double x) -> double;
[[nodiscard]] auto bessel_j1_forward(double x) -> double;
[[nodiscard]] auto bessel_y0_forward(double x) -> double;
[[nodiscard]] auto bessel_y1_forward(double x) -> double;
/// Modified ones of the first kind; `e`: times exp(-|x|).
[[nodiscard]] auto i0(double x) -> double;
[[nodiscard]] auto i1(double x) -> double;
[[nodiscard]] auto i0e(double x) -> double;
[[nodiscard]] auto i1e(double x) -> double;
/// Of the second kind; `scaled`: times exp(x).
[[nodiscard]] auto modified_bessel_k0(double x) -> double;
[[nodiscard]] auto modified_bessel_k1(double x) -> double;
[[nodiscard]] auto scaled_modified_bessel_k0(double x) -> double;
[[nodiscard]] auto scaled_modified_bessel_k1(double x) -> double;
[[nodiscard]] auto spherical_bessel_j0(double x) -> double;
[[nodiscard]] auto airy_ai(double x) -> double;

// ---- orthogonal polynomials; the degree is truncated, and below 0 they are 0

[[nodiscard]] auto chebyshev_polynomial_t(double x, double degree) -> double;
[[nodiscard]] auto chebyshev_polynomial_u(double x, double degree) -> double;
[[nodiscard]] auto chebyshev_polynomial_v(double x, double degree) -> double;
[[nodiscard]] auto chebyshev_polynomial_w(double x, double degree) -> double;
[[nodiscard]] auto shifted_chebyshev_polynomial_t(double x, double degree) -> double;
[[nodiscard]] auto shifted_chebyshev_polynomial_u(double x, double degree) -> double;
[[nodiscard]] auto shifted_chebyshev_polynomial_v(double x, double degree) -> double;
[[nodiscard]] auto shifted_chebyshev_polynomial_w(double x, double degree) -> double;
[[nodiscard]] auto hermite_polynomial_h(double x, double degree) -> double;
[[nodiscard]] auto hermite_polynomial_he(double x, double degree) -> double;
[[nodiscard]] auto laguerre_polynomial_l(double x, double degree) -> double;
[[nodiscard]] auto legendre_polynomial_p(double x, double degree) -> double;

}  // namespace assay::special
