#include "compiler/program/expr_ops.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

struct ExprRow {
  ExprOp expr;
  TileOp op;
};
constexpr std::array kNumbers = {
    ExprRow{ExprOp::add, TileOp::add},
    ExprRow{ExprOp::mul, TileOp::mul},
    ExprRow{ExprOp::min, TileOp::minimum},
    ExprRow{ExprOp::max, TileOp::maximum},
    ExprRow{ExprOp::floor_div, TileOp::floor_quotient},
    ExprRow{ExprOp::clean_div, TileOp::floor_quotient},
    ExprRow{ExprOp::mod, TileOp::floor_remainder},
    ExprRow{ExprOp::python_mod, TileOp::floor_remainder},
};
constexpr std::array kTruths = {
    ExprRow{ExprOp::eq, TileOp::eq},
    ExprRow{ExprOp::ne, TileOp::ne},
    ExprRow{ExprOp::lt, TileOp::lt},
    ExprRow{ExprOp::le, TileOp::le},
    ExprRow{ExprOp::gt, TileOp::gt},
    ExprRow{ExprOp::ge, TileOp::ge},
    ExprRow{ExprOp::logic_and, TileOp::bit_and},
    ExprRow{ExprOp::logic_or, TileOp::bit_or},
};

template <std::size_t kCount>
auto find(const std::array<ExprRow, kCount>& rows, ExprOp op) -> std::optional<TileOp> {
  const auto at = std::ranges::find(rows, op, &ExprRow::expr);
  return at == rows.end() ? std::nullopt : std::optional(at->op);
}

}  // namespace

auto number_op(ExprOp op) -> std::optional<TileOp> {
  return find(kNumbers, op);
}

auto truth_op(ExprOp op) -> std::optional<TileOp> {
  return find(kTruths, op);
}

}  // namespace assay
