// Special functions against published values.
#include "core/function/special.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace assay::special {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Relative to the value.
void expect_near(double got, double wanted) {
  EXPECT_NEAR(got, wanted, std::fabs(wanted) * 8 * std::numeric_limits<double>::epsilon());
}

// Abramowitz and Stegun: tables 6.1, 9.1, 9.8; DLMF 25.6.
TEST(Special, HasThePublishedValues) {
  expect_near(digamma(1), -0.57721566490153286061);
  expect_near(digamma(0.5), -1.96351002602142347944);
  expect_near(trigamma(1, true), 1.64493406684822643647);
  expect_near(zeta(2, 1), 1.64493406684822643647);
  expect_near(zeta(3, 1), 1.20205690315959428540);
  expect_near(polygamma(2, 1, true), -2.40411380631918857080);
  expect_near(i0(1), 1.26606587775200833560);
  expect_near(i1(1), 0.56515910399248502721);
  expect_near(i0e(1), 1.26606587775200833560 / std::exp(1.0));
  expect_near(modified_bessel_k0(1), 0.42102443824070833334);
  expect_near(modified_bessel_k1(1), 0.60190723019723457474);
  expect_near(bessel_j0(1), 0.76519768655796655145);
  expect_near(bessel_j0(10), -0.24593576445134833520);
  expect_near(bessel_j1(-1), -0.44005058574493351596);
  expect_near(bessel_y0(1), 0.08825696421567695798);
  expect_near(bessel_y1(1), -0.78121282130028871655);
  expect_near(airy_ai(1), 0.13529241631288141552);
  expect_near(ndtr(1), 0.84134474606854294859);
  expect_near(ndtri(0.975), 1.95996398454005423552);
  expect_near(igamma(1, 1), 1 - std::exp(-1.0));
  expect_near(igammac(1, 1), std::exp(-1.0));
}

TEST(Special, HasATensValuesWhereThereAreNone) {
  EXPECT_EQ(digamma(0.0), -kInf);
  EXPECT_TRUE(std::signbit(erfinv(-0.0)));
  EXPECT_TRUE(std::isnan(digamma(-2)));
  EXPECT_TRUE(std::isnan(bessel_y0(-1)));
  EXPECT_EQ(bessel_y0(0), -kInf);
  EXPECT_EQ(i0(-kInf), kInf);
  EXPECT_EQ(i1(-kInf), -kInf);
  EXPECT_EQ(modified_bessel_k0(0), kInf);
  EXPECT_EQ(zeta(1, 2), kInf);
  EXPECT_EQ(hermite_polynomial_h(2, -1), 0);
}

/// ATen's approximation beyond 5 is another function than CUDA's.
TEST(Special, BesselFunctionsOfATenAreOffBeyondFive) {
  EXPECT_EQ(bessel_j0_forward(4.5), bessel_j0(4.5));
  const double off = std::fabs(bessel_j0_forward(5.01) - bessel_j0(5.01));
  EXPECT_GT(off, 1e-9);
  EXPECT_LT(off, 1e-6);
}

TEST(Special, PolynomialsAreTheirDefinitions) {
  const double x = 0.3;
  expect_near(chebyshev_polynomial_t(x, 3.9), 4 * x * x * x - 3 * x);
  expect_near(chebyshev_polynomial_u(x, 3), 8 * x * x * x - 4 * x);
  expect_near(chebyshev_polynomial_v(x, 2), 4 * x * x - 2 * x - 1);
  expect_near(chebyshev_polynomial_w(x, 2), 4 * x * x + 2 * x - 1);
  expect_near(shifted_chebyshev_polynomial_t(x, 2), 2 * (2 * x - 1) * (2 * x - 1) - 1);
  expect_near(hermite_polynomial_h(x, 3), 8 * x * x * x - 12 * x);
  expect_near(hermite_polynomial_he(x, 3), x * x * x - 3 * x);
  expect_near(laguerre_polynomial_l(x, 2), (x * x - 4 * x + 2) / 2);
  expect_near(legendre_polynomial_p(x, 2), (3 * x * x - 1) / 2);
}

}  // namespace
}  // namespace assay::special
