#include "compiler/program/combine.h"

#include <algorithm>
#include <array>
#include <limits>

namespace assay {
namespace {

using Combine = TileCombine;

struct CombineRow {
  TileCombine combine;
  TileOp of_truth, of_numbers;
};
constexpr std::array kRows = {
    CombineRow{Combine::sum, TileOp::bit_or, TileOp::add},
    CombineRow{Combine::product, TileOp::bit_and, TileOp::mul},
    CombineRow{Combine::min, TileOp::bit_and, TileOp::minimum},
    CombineRow{Combine::max, TileOp::bit_or, TileOp::maximum},
    CombineRow{Combine::any, TileOp::bit_or, TileOp::bit_or},
    CombineRow{Combine::all, TileOp::bit_and, TileOp::bit_and},
    CombineRow{Combine::bit_xor, TileOp::bit_xor, TileOp::bit_xor},
};

/// The smallest or largest value; infinities of floats.
auto extreme(DType of, bool is_low) -> std::variant<std::int64_t, double> {
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  if (is_floating(of)) return is_low ? -kInfinity : kInfinity;
  if (of == DType::boolean) return std::int64_t{is_low ? 0 : 1};
  const auto bits = 8 * size_bytes(of);
  const auto most = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
  if (info(of).kind == DTypeKind::signed_integer) return is_low ? -most - 1 : most;
  if (is_low) return std::int64_t{0};
  return bits == 64 ? std::int64_t{-1} : 2 * most + 1;
}

}  // namespace

auto combine_op(TileCombine combine, DType of) -> std::optional<TileOp> {
  const auto* row = std::ranges::find(kRows, combine, &CombineRow::combine);
  if (row == kRows.end()) return std::nullopt;
  return of == DType::boolean ? row->of_truth : row->of_numbers;
}

auto is_commutative(TileCombine combine) -> bool {
  return combine != Combine::region && combine != Combine::welford &&
         combine != Combine::online_softmax;
}

auto combine_identity(TileCombine combine, std::size_t part, DType of)
    -> std::variant<std::int64_t, double> {
  const bool picks = combine == Combine::argmin || combine == Combine::argmax;
  if (picks && part == 1) return std::int64_t{INT64_MAX};
  if (part == 0 &&
      (combine == Combine::max || combine == Combine::argmax || combine == Combine::online_softmax))
    return extreme(of, true);
  if (part == 0 && (combine == Combine::min || combine == Combine::argmin))
    return extreme(of, false);
  const std::int64_t value = combine == Combine::product || combine == Combine::all ? 1 : 0;
  if (is_floating(of)) return static_cast<double>(value);
  return value;
}

}  // namespace assay
