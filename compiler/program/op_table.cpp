#include "compiler/program/op_table.h"

#include <array>

#include "core/base/check.h"

namespace assay {
namespace {

using enum TileOp;
constexpr TileKinds kNumbers{.boolean = false, .integer = true, .floating = true};
constexpr TileKinds kAny{.boolean = true, .integer = true, .floating = true};
constexpr TileKinds kFloats{.floating = true};
constexpr TileKinds kIntegers{.integer = true};
constexpr TileKinds kBits{.boolean = true, .integer = true};

constexpr auto special_row(TileOp op, std::string_view name, int operands) -> TileOpRow {
  return {op, name, operands, TileResult::same, kFloats, false};
}

// In the order of the enumeration.
// clang-format off
constexpr std::array kRows = {
    TileOpRow{add, "add", 2, TileResult::same, kNumbers},
    TileOpRow{sub, "sub", 2, TileResult::same, kNumbers},
    TileOpRow{mul, "mul", 2, TileResult::same, kNumbers},
    TileOpRow{divide, "div", 2, TileResult::same, kFloats},
    TileOpRow{quotient, "quot", 2, TileResult::same, kIntegers},
    TileOpRow{remainder, "rem", 2, TileResult::same, kNumbers},
    TileOpRow{floor_quotient, "floor_div", 2, TileResult::same, kNumbers},
    TileOpRow{floor_remainder, "floor_mod", 2, TileResult::same, kNumbers},
    TileOpRow{minimum, "min", 2, TileResult::same, kAny},
    TileOpRow{maximum, "max", 2, TileResult::same, kAny},
    TileOpRow{minimum_number, "min_number", 2, TileResult::same, kAny},
    TileOpRow{maximum_number, "max_number", 2, TileResult::same, kAny},
    TileOpRow{bit_and, "and", 2, TileResult::same, kBits},
    TileOpRow{bit_or, "or", 2, TileResult::same, kBits},
    TileOpRow{bit_xor, "xor", 2, TileResult::same, kBits},
    TileOpRow{shift_left, "shl", 2, TileResult::same, kIntegers},
    TileOpRow{shift_right, "shr", 2, TileResult::same, kIntegers},
    TileOpRow{high_product, "mulhi", 2, TileResult::same, kIntegers},
    TileOpRow{power, "pow", 2, TileResult::same, kFloats},
    TileOpRow{atan2, "atan2", 2, TileResult::same, kFloats},
    TileOpRow{copysign, "copysign", 2, TileResult::same, kFloats},
    TileOpRow{hypot, "hypot", 2, TileResult::same, kFloats},
    TileOpRow{nextafter, "nextafter", 2, TileResult::same, kFloats},
    TileOpRow{eq, "eq", 2, TileResult::boolean, kAny},
    TileOpRow{ne, "ne", 2, TileResult::boolean, kAny},
    TileOpRow{lt, "lt", 2, TileResult::boolean, kAny},
    TileOpRow{le, "le", 2, TileResult::boolean, kAny},
    TileOpRow{gt, "gt", 2, TileResult::boolean, kAny},
    TileOpRow{ge, "ge", 2, TileResult::boolean, kAny},
    TileOpRow{negate, "neg", 1, TileResult::same, kNumbers},
    TileOpRow{bit_not, "not", 1, TileResult::same, kBits},
    TileOpRow{absolute, "abs", 1, TileResult::same, kNumbers},
    TileOpRow{cast, "cast", 1, TileResult::any, kAny},
    TileOpRow{bitcast, "bitcast", 1, TileResult::any, kAny},
    TileOpRow{exp, "exp", 1, TileResult::same, kFloats},
    TileOpRow{exp2, "exp2", 1, TileResult::same, kFloats},
    TileOpRow{expm1, "expm1", 1, TileResult::same, kFloats},
    TileOpRow{log, "log", 1, TileResult::same, kFloats},
    TileOpRow{log2, "log2", 1, TileResult::same, kFloats},
    TileOpRow{log10, "log10", 1, TileResult::same, kFloats},
    TileOpRow{log1p, "log1p", 1, TileResult::same, kFloats},
    TileOpRow{sqrt, "sqrt", 1, TileResult::same, kFloats},
    TileOpRow{rsqrt, "rsqrt", 1, TileResult::same, kFloats},
    TileOpRow{sin, "sin", 1, TileResult::same, kFloats},
    TileOpRow{cos, "cos", 1, TileResult::same, kFloats},
    TileOpRow{tan, "tan", 1, TileResult::same, kFloats},
    TileOpRow{asin, "asin", 1, TileResult::same, kFloats},
    TileOpRow{acos, "acos", 1, TileResult::same, kFloats},
    TileOpRow{atan, "atan", 1, TileResult::same, kFloats},
    TileOpRow{sinh, "sinh", 1, TileResult::same, kFloats},
    TileOpRow{cosh, "cosh", 1, TileResult::same, kFloats},
    TileOpRow{tanh, "tanh", 1, TileResult::same, kFloats},
    TileOpRow{asinh, "asinh", 1, TileResult::same, kFloats},
    TileOpRow{acosh, "acosh", 1, TileResult::same, kFloats},
    TileOpRow{atanh, "atanh", 1, TileResult::same, kFloats},
    TileOpRow{erf, "erf", 1, TileResult::same, kFloats},
    TileOpRow{erfc, "erfc", 1, TileResult::same, kFloats},
    TileOpRow{erfinv, "erfinv", 1, TileResult::same, kFloats},
    TileOpRow{lgamma, "lgamma", 1, TileResult::same, kFloats},
    TileOpRow{sigmoid, "sigmoid", 1, TileResult::same, kFloats},
    TileOpRow{floor, "floor", 1, TileResult::same, kFloats},
    TileOpRow{ceil, "ceil", 1, TileResult::same, kFloats},
    TileOpRow{trunc, "trunc", 1, TileResult::same, kFloats},
    TileOpRow{nearest_even, "nearest_even", 1, TileResult::same, kFloats},
    TileOpRow{round_away, "round_away", 1, TileResult::same, kFloats},
    TileOpRow{is_nan, "is_nan", 1, TileResult::boolean, kFloats},
    TileOpRow{is_infinite, "is_infinite", 1, TileResult::boolean, kFloats},
    TileOpRow{is_finite, "is_finite", 1, TileResult::boolean, kFloats},
    TileOpRow{sign_bit, "sign_bit", 1, TileResult::boolean, kFloats},
    special_row(digamma, "digamma", 1),
    special_row(trigamma, "trigamma", 1),
    special_row(ndtr, "ndtr", 1),
    special_row(log_ndtr, "log_ndtr", 1),
    special_row(ndtri, "ndtri", 1),
    special_row(bessel_j0, "bessel_j0", 1),
    special_row(bessel_j1, "bessel_j1", 1),
    special_row(bessel_y0, "bessel_y0", 1),
    special_row(bessel_y1, "bessel_y1", 1),
    special_row(bessel_j0_forward, "bessel_j0_forward", 1),
    special_row(bessel_j1_forward, "bessel_j1_forward", 1),
    special_row(bessel_y0_forward, "bessel_y0_forward", 1),
    special_row(bessel_y1_forward, "bessel_y1_forward", 1),
    special_row(i0, "i0", 1),
    special_row(i1, "i1", 1),
    special_row(i0e, "i0e", 1),
    special_row(i1e, "i1e", 1),
    special_row(modified_bessel_k0, "modified_bessel_k0", 1),
    special_row(modified_bessel_k1, "modified_bessel_k1", 1),
    special_row(scaled_modified_bessel_k0, "scaled_modified_bessel_k0", 1),
    special_row(scaled_modified_bessel_k1, "scaled_modified_bessel_k1", 1),
    special_row(spherical_bessel_j0, "spherical_bessel_j0", 1),
    special_row(airy_ai, "airy_ai", 1),
    special_row(zeta, "zeta", 2),
    special_row(igamma, "igamma", 2),
    special_row(igammac, "igammac", 2),
    special_row(polygamma, "polygamma", 2),
    special_row(chebyshev_polynomial_t, "chebyshev_polynomial_t", 2),
    special_row(chebyshev_polynomial_u, "chebyshev_polynomial_u", 2),
    special_row(chebyshev_polynomial_v, "chebyshev_polynomial_v", 2),
    special_row(chebyshev_polynomial_w, "chebyshev_polynomial_w", 2),
    special_row(shifted_chebyshev_polynomial_t, "shifted_chebyshev_polynomial_t", 2),
    special_row(shifted_chebyshev_polynomial_u, "shifted_chebyshev_polynomial_u", 2),
    special_row(shifted_chebyshev_polynomial_v, "shifted_chebyshev_polynomial_v", 2),
    special_row(shifted_chebyshev_polynomial_w, "shifted_chebyshev_polynomial_w", 2),
    special_row(hermite_polynomial_h, "hermite_polynomial_h", 2),
    special_row(hermite_polynomial_he, "hermite_polynomial_he", 2),
    special_row(laguerre_polynomial_l, "laguerre_polynomial_l", 2),
    special_row(legendre_polynomial_p, "legendre_polynomial_p", 2),
    TileOpRow{fma, "fma", 3, TileResult::same, kFloats},
    TileOpRow{select, "select", 3, TileResult::select, kAny},
};
// clang-format on

constexpr auto is_in_order() -> bool {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].op) != i) return false;
  return kRows.size() == static_cast<std::size_t>(select) + 1;
}
static_assert(is_in_order());

}  // namespace

auto tile_ops() -> std::span<const TileOpRow> {
  return kRows;
}

auto tile_op_row(TileOp op) -> const TileOpRow& {
  return kRows[static_cast<std::size_t>(op)];
}

auto find_tile_op(std::string_view name) -> std::optional<TileOp> {
  for (const auto& row : kRows)
    if (row.name == name) return row.op;
  return std::nullopt;
}

auto lane_dtype(DType dtype) -> DType {
  return is_floating(dtype) && size_bytes(dtype) < 4 ? DType::float32 : dtype;
}

}  // namespace assay
