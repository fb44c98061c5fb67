#include "compiler/codegen/combine_code.h"

#include <cmath>

namespace assay {

using llvm::Value;

auto combine_identity(llvm::IRBuilder<>& b, LaneCode& code, TileCombine combine, std::size_t part,
                      DType of) -> Value* {
  using enum TileCombine;
  const bool is_float = is_floating(of);
  const auto extreme = [&](bool is_low) -> Value* {
    if (is_float) return code.constant(of, is_low ? -INFINITY : INFINITY);
    const auto bits = static_cast<unsigned>(8 * size_bytes(of));
    const bool is_signed = info(of).kind == DTypeKind::signed_integer;
    if (of == DType::boolean) return b.getInt1(!is_low);
    const auto value =
        is_signed
            ? (is_low ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits))
            : (is_low ? llvm::APInt::getMinValue(bits) : llvm::APInt::getMaxValue(bits));
    return llvm::ConstantInt::get(code.lane_type(of), value);
  };
  if (part == 1) return code.constant(of, INT64_MAX);
  if (combine == max || combine == argmax) return extreme(true);
  if (combine == min || combine == argmin) return extreme(false);
  if (combine == all) return b.getTrue();
  const double value = combine == product ? 1 : 0;
  return is_float ? code.constant(of, value) : code.constant(of, static_cast<std::int64_t>(value));
}

auto combined(llvm::IRBuilder<>& b, LaneCode& code, TileCombine combine,
              const std::vector<Value*>& x, const std::vector<Value*>& y, DType of)
    -> std::vector<Value*> {
  using enum TileCombine;
  const auto simple = [&](TileOp op) {
    return std::vector{code.compute(op, {x[0], y[0]}, of, of)};
  };
  if (combine == sum) return simple(of == DType::boolean ? TileOp::bit_or : TileOp::add);
  if (combine == product) return simple(TileOp::mul);
  if (combine == min) return simple(of == DType::boolean ? TileOp::bit_and : TileOp::minimum);
  if (combine == max) return simple(of == DType::boolean ? TileOp::bit_or : TileOp::maximum);
  if (combine == any) return simple(TileOp::bit_or);
  if (combine == all) return simple(TileOp::bit_and);
  if (combine == bit_xor) return simple(TileOp::bit_xor);
  const auto compare = [&](TileOp op, std::size_t part, DType type) {
    return code.compute(op, {x[part], y[part]}, type, DType::boolean);
  };
  auto* better = compare(combine == argmax ? TileOp::gt : TileOp::lt, 0, of);
  auto* same = compare(TileOp::eq, 0, of);
  if (is_floating(of)) {
    auto* a_nan = b.CreateFCmpUNO(x[0], x[0]);
    auto* b_nan = b.CreateFCmpUNO(y[0], y[0]);
    better = b.CreateOr(better, b.CreateAnd(a_nan, b.CreateNot(b_nan)));
    same = b.CreateOr(same, b.CreateAnd(a_nan, b_nan));
  }
  better = b.CreateOr(better, b.CreateAnd(same, compare(TileOp::lt, 1, DType::int64)));
  return {b.CreateSelect(better, x[0], y[0]), b.CreateSelect(better, x[1], y[1])};
}

}  // namespace assay
