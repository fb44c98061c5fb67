// Special functions of floats, computed in float64.
#include "compiler/program/lanes.h"
#include "core/function/special.h"

namespace assay {
namespace {

template <auto kFunction>
struct Special {
  template <std::floating_point T>
  auto operator()(T a) const -> T {
    return static_cast<T>(kFunction(static_cast<double>(a)));
  }
};
template <auto kFunction>
struct SpecialPair {
  template <std::floating_point T>
  auto operator()(T a, T b) const -> T {
    return static_cast<T>(kFunction(static_cast<double>(a), static_cast<double>(b)));
  }
};
struct Trigamma {
  template <std::floating_point T>
  auto operator()(T a) const -> T {
    return static_cast<T>(special::trigamma(static_cast<double>(a), sizeof(T) == sizeof(double)));
  }
};
/// The order comes second, as in ATen's C++.
struct Polygamma {
  template <std::floating_point T>
  auto operator()(T a, T n) const -> T {
    return static_cast<T>(special::polygamma(static_cast<double>(n), static_cast<double>(a),
                                             sizeof(T) == sizeof(double)));
  }
};

constexpr std::array kRows = {
    row1<Special<special::digamma>>(TileOp::digamma),
    row1<Trigamma>(TileOp::trigamma),
    row1<Special<special::ndtr>>(TileOp::ndtr),
    row1<Special<special::log_ndtr>>(TileOp::log_ndtr),
    row1<Special<special::ndtri>>(TileOp::ndtri),
    row1<Special<special::bessel_j0>>(TileOp::bessel_j0),
    row1<Special<special::bessel_j1>>(TileOp::bessel_j1),
    row1<Special<special::bessel_y0>>(TileOp::bessel_y0),
    row1<Special<special::bessel_y1>>(TileOp::bessel_y1),
    row1<Special<special::bessel_j0_forward>>(TileOp::bessel_j0_forward),
    row1<Special<special::bessel_j1_forward>>(TileOp::bessel_j1_forward),
    row1<Special<special::bessel_y0_forward>>(TileOp::bessel_y0_forward),
    row1<Special<special::bessel_y1_forward>>(TileOp::bessel_y1_forward),
    row1<Special<special::i0>>(TileOp::i0),
    row1<Special<special::i1>>(TileOp::i1),
    row1<Special<special::i0e>>(TileOp::i0e),
    row1<Special<special::i1e>>(TileOp::i1e),
    row1<Special<special::modified_bessel_k0>>(TileOp::modified_bessel_k0),
    row1<Special<special::modified_bessel_k1>>(TileOp::modified_bessel_k1),
    row1<Special<special::scaled_modified_bessel_k0>>(TileOp::scaled_modified_bessel_k0),
    row1<Special<special::scaled_modified_bessel_k1>>(TileOp::scaled_modified_bessel_k1),
    row1<Special<special::spherical_bessel_j0>>(TileOp::spherical_bessel_j0),
    row1<Special<special::airy_ai>>(TileOp::airy_ai),
    row2<SpecialPair<special::zeta>>(TileOp::zeta),
    row2<SpecialPair<special::igamma>>(TileOp::igamma),
    row2<SpecialPair<special::igammac>>(TileOp::igammac),
    row2<Polygamma>(TileOp::polygamma),
    row2<SpecialPair<special::chebyshev_polynomial_t>>(TileOp::chebyshev_polynomial_t),
    row2<SpecialPair<special::chebyshev_polynomial_u>>(TileOp::chebyshev_polynomial_u),
    row2<SpecialPair<special::chebyshev_polynomial_v>>(TileOp::chebyshev_polynomial_v),
    row2<SpecialPair<special::chebyshev_polynomial_w>>(TileOp::chebyshev_polynomial_w),
    row2<SpecialPair<special::shifted_chebyshev_polynomial_t>>(
        TileOp::shifted_chebyshev_polynomial_t),
    row2<SpecialPair<special::shifted_chebyshev_polynomial_u>>(
        TileOp::shifted_chebyshev_polynomial_u),
    row2<SpecialPair<special::shifted_chebyshev_polynomial_v>>(
        TileOp::shifted_chebyshev_polynomial_v),
    row2<SpecialPair<special::shifted_chebyshev_polynomial_w>>(
        TileOp::shifted_chebyshev_polynomial_w),
    row2<SpecialPair<special::hermite_polynomial_h>>(TileOp::hermite_polynomial_h),
    row2<SpecialPair<special::hermite_polynomial_he>>(TileOp::hermite_polynomial_he),
    row2<SpecialPair<special::laguerre_polynomial_l>>(TileOp::laguerre_polynomial_l),
    row2<SpecialPair<special::legendre_polynomial_p>>(TileOp::legendre_polynomial_p),
};

}  // namespace

auto special_lanes() -> std::span<const LaneRow> {
  return kRows;
}

}  // namespace assay
