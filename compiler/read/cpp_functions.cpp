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
    FunctionRow{"modified_bessel_i0_forward", TileOp::i0},
    FunctionRow{"modified_bessel_i1_forward", TileOp::i1},
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
};
// clang-format on

/// `calc_i0`, `airy_ai_forward`, `zeta`: ATen's names are those of the table.
auto special_function(std::string_view name, int operands) -> std::optional<TileOp> {
  constexpr std::string_view kBefore = "calc_", kBehind = "_forward";
  if (name.starts_with(kBefore)) name.remove_prefix(kBefore.size());
  auto op = find_tile_op(name);
  if (!op && name.ends_with(kBehind))
    op = find_tile_op(name.substr(0, name.size() - kBehind.size()));
  const bool is_special = op && !tile_op_row(*op).has_code && tile_op_row(*op).operands == operands;
  return is_special ? op : std::nullopt;
}

}  // namespace

auto cpp_function(std::string_view name, int operands) -> std::optional<TileOp> {
  const auto rows = operands == 1 ? std::span<const FunctionRow>(kUnary) : kBinary;
  const auto row = std::ranges::find(rows, name, &FunctionRow::name);
  return row == rows.end() ? special_function(name, operands) : std::optional(row->op);
}

}  // namespace assay
