#include "compiler/codegen/combine_code.h"

#include <array>
#include <limits>

namespace assay {
namespace {

using llvm::Value;
using Combine = TileCombine;

constexpr auto kInfinity = std::numeric_limits<double>::infinity();

/// Combinations that are one operation, of truth values and of numbers.
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

}  // namespace

auto CombineCode::extreme(DType of, bool is_low) -> Value* {
  if (is_floating(of)) return code_.constant(of, is_low ? -kInfinity : kInfinity);
  if (of == DType::boolean) return b_.getInt1(!is_low);
  const auto bits = static_cast<unsigned>(8 * size_bytes(of));
  const bool is_signed = info(of).kind == DTypeKind::signed_integer;
  const auto value =
      is_signed
          ? (is_low ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits))
          : (is_low ? llvm::APInt::getMinValue(bits) : llvm::APInt::getMaxValue(bits));
  return llvm::ConstantInt::get(code_.lane_type(of), value);
}

auto CombineCode::identity(TileCombine combine, std::size_t part, DType of) -> Value* {
  if (combine == Combine::region) return nullptr;
  const bool picks = combine == Combine::argmin || combine == Combine::argmax;
  if (picks && part == 1) return code_.constant(of, INT64_MAX);
  if (part == 0 &&
      (combine == Combine::max || combine == Combine::argmax || combine == Combine::online_softmax))
    return extreme(of, true);
  if (part == 0 && (combine == Combine::min || combine == Combine::argmin))
    return extreme(of, false);
  const double value = combine == Combine::product || combine == Combine::all ? 1 : 0;
  if (of == DType::boolean) return b_.getInt1(value != 0);
  return is_floating(of) ? code_.constant(of, value)
                         : code_.constant(of, static_cast<std::int64_t>(value));
}

/// The better value with its index; the smaller index on ties; NaN is better than any number.
auto CombineCode::ordered(bool is_max, const Values& a, const Values& b,
                          const std::vector<DType>& dtypes) -> Values {
  const auto of = dtypes[0];
  const auto compare = [&](TileOp op, std::size_t part) {
    return code_.compute(op, {a[part], b[part]}, dtypes[part], DType::boolean);
  };
  auto* better = compare(is_max ? TileOp::gt : TileOp::lt, 0);
  auto* same = compare(TileOp::eq, 0);
  if (is_floating(of)) {
    auto* a_nan = b_.CreateFCmpUNO(a[0], a[0]);
    auto* b_nan = b_.CreateFCmpUNO(b[0], b[0]);
    better = b_.CreateOr(better, b_.CreateAnd(a_nan, b_.CreateNot(b_nan)));
    same = b_.CreateOr(same, b_.CreateAnd(a_nan, b_nan));
  }
  better = b_.CreateOr(better, b_.CreateAnd(same, compare(TileOp::lt, 1)));
  return {b_.CreateSelect(better, a[0], b[0]), b_.CreateSelect(better, a[1], b[1])};
}

/// Chan, Golub and LeVeque's update of (mean, sum of squared differences, weight).
auto CombineCode::welford(const Values& a, const Values& b, DType of) -> Values {
  const auto op = [&](TileOp which, Value* x, Value* y) {
    return code_.compute(which, {x, y}, of, of);
  };
  auto* weight = op(TileOp::add, a[2], b[2]);
  auto* zero = llvm::Constant::getNullValue(weight->getType());
  auto* share =
      b_.CreateSelect(b_.CreateFCmpOEQ(weight, zero), zero, op(TileOp::divide, b[2], weight));
  auto* delta = op(TileOp::sub, b[0], a[0]);
  auto* mean = op(TileOp::add, a[0], op(TileOp::mul, delta, share));
  auto* spread = op(TileOp::mul, op(TileOp::mul, delta, delta), op(TileOp::mul, a[2], share));
  return {mean, op(TileOp::add, op(TileOp::add, a[1], b[1]), spread), weight};
}

/// (maximum, sum of exp(x - maximum)); of nothing but -infinity nothing is scaled.
auto CombineCode::online_softmax(const Values& a, const Values& b, DType of) -> Values {
  auto* largest = code_.compute(TileOp::maximum, {a[0], b[0]}, of, of);
  auto* none = b_.CreateFCmpOEQ(largest, code_.constant(of, -kInfinity));
  const auto scaled = [&](const Values& side) {
    auto* difference = code_.compute(TileOp::sub, {side[0], largest}, of, of);
    auto* factor = code_.compute(TileOp::exp, {difference}, of, of);
    factor = b_.CreateSelect(none, code_.constant(of, 1.0), factor);
    return code_.compute(TileOp::mul, {side[1], factor}, of, of);
  };
  auto* left = scaled(a);
  return {largest, code_.compute(TileOp::add, {left, scaled(b)}, of, of)};
}

auto CombineCode::combined(TileCombine combine, const Values& a, const Values& b,
                           const std::vector<DType>& dtypes) -> Values {
  const auto of = dtypes[0];
  for (const auto& row : kRows)
    if (row.combine == combine)
      return {code_.compute(of == DType::boolean ? row.of_truth : row.of_numbers, {a[0], b[0]}, of,
                            of)};
  if (combine == Combine::argmin || combine == Combine::argmax)
    return ordered(combine == Combine::argmax, a, b, dtypes);
  if (combine == Combine::welford) return welford(a, b, of);
  if (combine == Combine::online_softmax) return online_softmax(a, b, of);
  return {};
}

}  // namespace assay
