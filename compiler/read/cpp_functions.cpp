#include "compiler/read/cpp_functions.h"

#include <algorithm>
#include <array>
#include <span>

namespace assay {
namespace {

struct FunctionRow {
  std::string_view name;
  TileOp op;
};
// clang-format off
constexpr std::array kUnary = {
    FunctionRow{"exp", TileOp::exp}, FunctionRow{"exp_u20", TileOp::exp}, FunctionRow{"fexp_u20", TileOp::exp},
    FunctionRow{"exp2", TileOp::exp2}, FunctionRow{"expm1", TileOp::expm1}, FunctionRow{"log", TileOp::log},
    FunctionRow{"log2", TileOp::log2}, FunctionRow{"log10", TileOp::log10}, FunctionRow{"log1p", TileOp::log1p},
    FunctionRow{"sqrt", TileOp::sqrt}, FunctionRow{"rsqrt", TileOp::rsqrt}, FunctionRow{"sin", TileOp::sin},
    FunctionRow{"cos", TileOp::cos}, FunctionRow{"tan", TileOp::tan}, FunctionRow{"asin", TileOp::asin},
    FunctionRow{"acos", TileOp::acos}, FunctionRow{"atan", TileOp::atan}, FunctionRow{"sinh", TileOp::sinh},
    FunctionRow{"cosh", TileOp::cosh}, FunctionRow{"tanh", TileOp::tanh}, FunctionRow{"asinh", TileOp::asinh},
    FunctionRow{"acosh", TileOp::acosh}, FunctionRow{"atanh", TileOp::atanh}, FunctionRow{"erf", TileOp::erf},
    FunctionRow{"erfc", TileOp::erfc}, FunctionRow{"erfinv", TileOp::erfinv}, FunctionRow{"calc_erfinv", TileOp::erfinv},
    FunctionRow{"lgamma", TileOp::lgamma}, FunctionRow{"floor", TileOp::floor}, FunctionRow{"ceil", TileOp::ceil},
    FunctionRow{"trunc", TileOp::trunc}, FunctionRow{"nearbyint", TileOp::nearest_even}, FunctionRow{"rint", TileOp::nearest_even},
    FunctionRow{"isnan", TileOp::is_nan}, FunctionRow{"isinf", TileOp::is_infinite}, FunctionRow{"isfinite", TileOp::is_finite},
    FunctionRow{"signbit", TileOp::sign_bit}, FunctionRow{"abs", TileOp::absolute}, FunctionRow{"fabs", TileOp::absolute},
    FunctionRow{"neg", TileOp::negate},
    FunctionRow{"calc_digamma", TileOp::digamma},
    FunctionRow{"digamma", TileOp::digamma},
    FunctionRow{"trigamma", TileOp::trigamma},
    FunctionRow{"calc_ndtr", TileOp::ndtr},
    FunctionRow{"calc_log_ndtr", TileOp::log_ndtr},
    FunctionRow{"calc_ndtri", TileOp::ndtri},
    FunctionRow{"calc_i0", TileOp::i0},
    FunctionRow{"i0", TileOp::i0},
    FunctionRow{"modified_bessel_i0_forward", TileOp::i0},
    FunctionRow{"calc_i1", TileOp::i1},
    FunctionRow{"modified_bessel_i1_forward", TileOp::i1},
    FunctionRow{"calc_i0e", TileOp::i0e},
    FunctionRow{"i0e", TileOp::i0e},
    FunctionRow{"calc_i1e", TileOp::i1e},
    FunctionRow{"spherical_bessel_j0_forward", TileOp::spherical_bessel_j0},
    FunctionRow{"airy_ai_forward", TileOp::airy_ai},
    FunctionRow{"bessel_j0_forward", TileOp::bessel_j0_forward},
    FunctionRow{"bessel_j1_forward", TileOp::bessel_j1_forward},
    FunctionRow{"bessel_y0_forward", TileOp::bessel_y0_forward},
    FunctionRow{"bessel_y1_forward", TileOp::bessel_y1_forward},
    FunctionRow{"modified_bessel_k0_forward", TileOp::modified_bessel_k0},
    FunctionRow{"modified_bessel_k1_forward", TileOp::modified_bessel_k1},
    FunctionRow{"scaled_modified_bessel_k0_forward", TileOp::scaled_modified_bessel_k0},
    FunctionRow{"scaled_modified_bessel_k1_forward", TileOp::scaled_modified_bessel_k1},
};
constexpr std::array kBinary = {
    FunctionRow{"pow", TileOp::power}, FunctionRow{"atan2", TileOp::atan2}, FunctionRow{"copysign", TileOp::copysign},
    FunctionRow{"hypot", TileOp::hypot}, FunctionRow{"nextafter", TileOp::nextafter}, FunctionRow{"fmod", TileOp::remainder},
    FunctionRow{"maximum", TileOp::maximum}, FunctionRow{"minimum", TileOp::minimum},
    FunctionRow{"max_propagate_nan", TileOp::maximum}, FunctionRow{"min_propagate_nan", TileOp::minimum},
    FunctionRow{"clamp_min", TileOp::maximum}, FunctionRow{"clamp_max", TileOp::minimum},
    FunctionRow{"fmax", TileOp::maximum_number}, FunctionRow{"fmin", TileOp::minimum_number},
    FunctionRow{"div_floor_floating_vec", TileOp::floor_quotient}, FunctionRow{"div_floor_floating", TileOp::floor_quotient},
    FunctionRow{"remainder", TileOp::remainder}, FunctionRow{"mod", TileOp::remainder},
    FunctionRow{"remainder_integral", TileOp::floor_remainder}, FunctionRow{"floor_divide_integral", TileOp::floor_quotient},
    FunctionRow{"zeta", TileOp::zeta},
    FunctionRow{"calc_igamma", TileOp::igamma},
    FunctionRow{"igamma", TileOp::igamma},
    FunctionRow{"calc_igammac", TileOp::igammac},
    FunctionRow{"igammac", TileOp::igammac},
    FunctionRow{"chebyshev_polynomial_t_forward", TileOp::chebyshev_polynomial_t},
    FunctionRow{"chebyshev_polynomial_u_forward", TileOp::chebyshev_polynomial_u},
    FunctionRow{"chebyshev_polynomial_v_forward", TileOp::chebyshev_polynomial_v},
    FunctionRow{"chebyshev_polynomial_w_forward", TileOp::chebyshev_polynomial_w},
    FunctionRow{"shifted_chebyshev_polynomial_t_forward", TileOp::shifted_chebyshev_polynomial_t},
    FunctionRow{"shifted_chebyshev_polynomial_u_forward", TileOp::shifted_chebyshev_polynomial_u},
    FunctionRow{"shifted_chebyshev_polynomial_v_forward", TileOp::shifted_chebyshev_polynomial_v},
    FunctionRow{"shifted_chebyshev_polynomial_w_forward", TileOp::shifted_chebyshev_polynomial_w},
    FunctionRow{"hermite_polynomial_h_forward", TileOp::hermite_polynomial_h},
    FunctionRow{"hermite_polynomial_he_forward", TileOp::hermite_polynomial_he},
    FunctionRow{"laguerre_polynomial_l_forward", TileOp::laguerre_polynomial_l},
    FunctionRow{"legendre_polynomial_p_forward", TileOp::legendre_polynomial_p},
};
// clang-format on

}  // namespace

auto cpp_function(std::string_view name, int operands) -> std::optional<TileOp> {
  const auto rows = operands == 1 ? std::span<const FunctionRow>(kUnary) : kBinary;
  const auto row = std::ranges::find(rows, name, &FunctionRow::name);
  return row == rows.end() ? std::nullopt : std::optional(row->op);
}

}  // namespace assay
