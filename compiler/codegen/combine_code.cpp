#include "compiler/codegen/combine_code.h"

#include <limits>

#include "compiler/program/combine.h"

namespace assay {
namespace {

using llvm::Value;
using Combine = TileCombine;

constexpr auto kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

auto CombineCode::identity(TileCombine combine, std::size_t part, DType of) -> Value* {
  if (combine == Combine::region) return nullptr;
  return std::visit([&](auto number) { return code_.constant(of, number); },
                    combine_identity(combine, part, of));
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
  if (const auto op = combine_op(combine, of)) return {code_.compute(*op, {a[0], b[0]}, of, of)};
  if (combine == Combine::argmin || combine == Combine::argmax)
    return ordered(combine == Combine::argmax, a, b, dtypes);
  if (combine == Combine::welford) return welford(a, b, of);
  if (combine == Combine::online_softmax) return online_softmax(a, b, of);
  return {};
}

}  // namespace assay
