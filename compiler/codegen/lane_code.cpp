#include "compiler/codegen/lane_code.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <array>

#include "compiler/codegen/lane_math.h"

namespace assay {
namespace {

using llvm::Type;
using llvm::Value;
using Values = std::vector<Value*>;
using Builder = llvm::IRBuilder<>;

auto is_signed(DType dtype) -> bool {
  return info(dtype).kind == DTypeKind::signed_integer;
}

/// Operations that are one instruction, by kind of dtype; null where they are not.
struct InstructionRow {
  TileOp op;
  Value* (*floats)(Builder&, const Values&);
  Value* (*ints)(Builder&, const Values&, bool is_signed);
};
template <llvm::Intrinsic::ID kId>
auto unary(Builder& b, const Values& v) -> Value* {
  return b.CreateUnaryIntrinsic(kId, v[0]);
}
template <llvm::Intrinsic::ID kId>
auto binary(Builder& b, const Values& v) -> Value* {
  return b.CreateBinaryIntrinsic(kId, v[0], v[1]);
}
template <llvm::CmpInst::Predicate kFloat>
auto fcmp(Builder& b, const Values& v) -> Value* {
  return b.CreateFCmp(kFloat, v[0], v[1]);
}
template <llvm::CmpInst::Predicate kSigned, llvm::CmpInst::Predicate kUnsigned>
auto icmp(Builder& b, const Values& v, bool is_signed) -> Value* {
  return b.CreateICmp(is_signed ? kSigned : kUnsigned, v[0], v[1]);
}
using enum llvm::CmpInst::Predicate;
using enum TileOp;
// clang-format off
constexpr std::array kInstructions = {
    InstructionRow{add, [](Builder& b, const Values& v) { return b.CreateFAdd(v[0], v[1]); },
                   [](Builder& b, const Values& v, bool) { return b.CreateAdd(v[0], v[1]); }},
    InstructionRow{sub, [](Builder& b, const Values& v) { return b.CreateFSub(v[0], v[1]); },
                   [](Builder& b, const Values& v, bool) { return b.CreateSub(v[0], v[1]); }},
    InstructionRow{mul, [](Builder& b, const Values& v) { return b.CreateFMul(v[0], v[1]); },
                   [](Builder& b, const Values& v, bool) { return b.CreateMul(v[0], v[1]); }},
    InstructionRow{divide, [](Builder& b, const Values& v) { return b.CreateFDiv(v[0], v[1]); }, nullptr},
    InstructionRow{minimum, binary<llvm::Intrinsic::minimum>,
                   [](Builder& b, const Values& v, bool s) { return b.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, v[0], v[1]); }},
    InstructionRow{maximum, binary<llvm::Intrinsic::maximum>,
                   [](Builder& b, const Values& v, bool s) { return b.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, v[0], v[1]); }},
    InstructionRow{bit_and, nullptr, [](Builder& b, const Values& v, bool) { return b.CreateAnd(v[0], v[1]); }},
    InstructionRow{bit_or, nullptr, [](Builder& b, const Values& v, bool) { return b.CreateOr(v[0], v[1]); }},
    InstructionRow{bit_xor, nullptr, [](Builder& b, const Values& v, bool) { return b.CreateXor(v[0], v[1]); }},
    InstructionRow{bit_not, nullptr, [](Builder& b, const Values& v, bool) { return b.CreateNot(v[0]); }},
    InstructionRow{negate, [](Builder& b, const Values& v) { return b.CreateFNeg(v[0]); },
                   [](Builder& b, const Values& v, bool) { return b.CreateNeg(v[0]); }},
    InstructionRow{absolute, unary<llvm::Intrinsic::fabs>,
                   [](Builder& b, const Values& v, bool s) -> Value* {
                     return s ? b.CreateSelect(b.CreateICmpSLT(v[0], llvm::Constant::getNullValue(v[0]->getType())), b.CreateNeg(v[0]), v[0]) : v[0]; }},
    InstructionRow{copysign, binary<llvm::Intrinsic::copysign>, nullptr},
    InstructionRow{eq, fcmp<FCMP_OEQ>, icmp<ICMP_EQ, ICMP_EQ>},
    InstructionRow{ne, fcmp<FCMP_UNE>, icmp<ICMP_NE, ICMP_NE>},
    InstructionRow{lt, fcmp<FCMP_OLT>, icmp<ICMP_SLT, ICMP_ULT>},
    InstructionRow{le, fcmp<FCMP_OLE>, icmp<ICMP_SLE, ICMP_ULE>},
    InstructionRow{gt, fcmp<FCMP_OGT>, icmp<ICMP_SGT, ICMP_UGT>},
    InstructionRow{ge, fcmp<FCMP_OGE>, icmp<ICMP_SGE, ICMP_UGE>},
    InstructionRow{sqrt, unary<llvm::Intrinsic::sqrt>, nullptr},
    InstructionRow{floor, unary<llvm::Intrinsic::floor>, nullptr},
    InstructionRow{ceil, unary<llvm::Intrinsic::ceil>, nullptr},
    InstructionRow{trunc, unary<llvm::Intrinsic::trunc>, nullptr},
    InstructionRow{nearest_even, unary<llvm::Intrinsic::nearbyint>, nullptr},
    InstructionRow{is_nan, [](Builder& b, const Values& v) { return b.CreateFCmpUNO(v[0], v[0]); }, nullptr},
    InstructionRow{fma, [](Builder& b, const Values& v) -> Value* {
                     return b.CreateIntrinsic(llvm::Intrinsic::fma, {v[0]->getType()}, {v[0], v[1], v[2]}); }, nullptr},
    InstructionRow{select, [](Builder& b, const Values& v) { return b.CreateSelect(v[0], v[1], v[2]); },
                   [](Builder& b, const Values& v, bool) { return b.CreateSelect(v[0], v[1], v[2]); }},
};
// clang-format on

}  // namespace

extern "C" void assay_lanes(int op, int from, int to, const void* const* operands,
                            std::int64_t operand_count, void* result, std::int64_t count) {
  std::array<TileLanes, 3> lanes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(operand_count); ++i)
    lanes[i] = {operands[i], 1};
  const auto evaluate =
      tile_evaluate(static_cast<TileOp>(op), static_cast<DType>(from), static_cast<DType>(to));
  evaluate(std::span(lanes).first(static_cast<std::size_t>(operand_count)), result,
           static_cast<std::size_t>(count));
}

auto LaneCode::lane_type(DType dtype) -> Type* {
  if (dtype == DType::boolean) return b_.getInt1Ty();
  if (dtype == DType::float64) return b_.getDoubleTy();
  if (is_floating(dtype)) return b_.getFloatTy();
  return b_.getIntNTy(static_cast<unsigned>(8 * size_bytes(dtype)));
}

auto LaneCode::memory_type(DType dtype) -> Type* {
  if (dtype == DType::float16) return b_.getHalfTy();
  if (dtype == DType::float32 || dtype == DType::float64) return lane_type(dtype);
  return b_.getIntNTy(static_cast<unsigned>(8 * size_bytes(dtype)));
}

auto LaneCode::vector_of(Type* lane) -> Type* {
  return llvm::FixedVectorType::get(lane, lanes_);
}
auto LaneCode::splat(Value* scalar) -> Value* {
  return b_.CreateVectorSplat(lanes_, scalar);
}
auto LaneCode::like(Type* type, double value) -> Value* {
  return llvm::ConstantFP::get(type, value);
}
auto LaneCode::constant(DType dtype, double value) -> Value* {
  return llvm::ConstantFP::get(lane_type(dtype), value);
}
auto LaneCode::constant(DType dtype, std::int64_t value) -> Value* {
  return llvm::ConstantInt::get(lane_type(dtype), static_cast<std::uint64_t>(value), true);
}

/// Nothing traps: by zero the quotient is all ones and the remainder the dividend, and the smallest
/// number by -1 is itself, as in the table.
auto LaneCode::quotient(TileOp op, Value* a, Value* b, bool is_signed) -> Value* {
  const auto zero = llvm::Constant::getNullValue(b->getType());
  const auto one = llvm::ConstantInt::get(b->getType(), 1);
  const auto ones = llvm::Constant::getAllOnesValue(b->getType());
  const auto by_zero = b_.CreateICmpEQ(b, zero);
  const auto by = b_.CreateSelect(by_zero, one, b);
  const bool wants_rest = op == TileOp::floor_remainder || op == TileOp::remainder;
  const bool floors = op == TileOp::floor_remainder || op == TileOp::floor_quotient;
  if (!is_signed)
    return wants_rest ? b_.CreateSelect(by_zero, a, b_.CreateURem(a, by))
                      : b_.CreateSelect(by_zero, ones, b_.CreateUDiv(a, by));
  const auto negates = b_.CreateICmpEQ(by, ones);
  const auto divisor = b_.CreateSelect(negates, one, by);
  const auto whole = b_.CreateSDiv(a, divisor);
  const auto rest = b_.CreateSub(a, b_.CreateMul(whole, divisor));
  auto* down = floors ? b_.CreateAnd(b_.CreateICmpNE(rest, zero),
                                     b_.CreateICmpSLT(b_.CreateXor(rest, divisor), zero))
                      : nullptr;
  if (wants_rest) {
    auto* result = floors ? b_.CreateSelect(down, b_.CreateAdd(rest, divisor), rest) : rest;
    return b_.CreateSelect(by_zero, a, result);
  }
  auto* result = floors ? b_.CreateSelect(down, b_.CreateSub(whole, one), whole) : whole;
  result = b_.CreateSelect(negates, b_.CreateNeg(a), result);
  return b_.CreateSelect(by_zero, ones, result);
}

/// Past the width every bit is gone: 0, or the sign.
auto LaneCode::shift(TileOp op, Value* a, Value* by, bool is_signed) -> Value* {
  const auto bits = by->getType()->getScalarSizeInBits();
  const auto most = llvm::ConstantInt::get(by->getType(), bits - 1);
  const auto is_wide = b_.CreateICmpUGT(by, most);  // negative numbers are large ones
  const auto safe = b_.CreateSelect(is_wide, most, by);
  const auto zero = llvm::Constant::getNullValue(a->getType());
  if (op == TileOp::shift_left) return b_.CreateSelect(is_wide, zero, b_.CreateShl(a, safe));
  if (is_signed) return b_.CreateAShr(a, safe);
  return b_.CreateSelect(is_wide, zero, b_.CreateLShr(a, safe));
}

auto LaneCode::rounded(Value* value, DType dtype) -> Value* {
  if (!is_floating(dtype) || size_bytes(dtype) >= 4) return value;
  return from_memory(to_memory(value, dtype), dtype);
}

auto LaneCode::to_memory(Value* value, DType dtype) -> Value* {
  const auto shaped = [&](Type* lane) -> Type* {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    return vector != nullptr ? llvm::FixedVectorType::get(lane, vector->getNumElements()) : lane;
  };
  if (dtype == DType::boolean) return b_.CreateZExt(value, shaped(b_.getInt8Ty()));
  if (dtype == DType::float16) return b_.CreateFPTrunc(value, shaped(b_.getHalfTy()));
  if (dtype != DType::bfloat16) return value;
  // To nearest, ties to even; NaN stays NaN.
  const auto wide = shaped(b_.getInt32Ty());
  const auto bits = b_.CreateBitCast(value, wide);
  const auto number = [&](std::uint64_t x) { return llvm::ConstantInt::get(wide, x); };
  const auto odd = b_.CreateAnd(b_.CreateLShr(bits, number(16)), number(1));
  auto top = b_.CreateAdd(bits, b_.CreateAdd(odd, number(0x7fff)));
  top = b_.CreateSelect(b_.CreateFCmpUNO(value, value), number(0x7fc00000), top);
  return b_.CreateTrunc(b_.CreateLShr(top, number(16)), shaped(b_.getInt16Ty()));
}

auto LaneCode::from_memory(Value* value, DType dtype) -> Value* {
  const auto shaped = [&](Type* lane) -> Type* {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    return vector != nullptr ? llvm::FixedVectorType::get(lane, vector->getNumElements()) : lane;
  };
  if (dtype == DType::boolean)
    return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  if (dtype == DType::float16) return b_.CreateFPExt(value, shaped(b_.getFloatTy()));
  if (dtype != DType::bfloat16) return value;
  const auto wide = b_.CreateZExt(value, shaped(b_.getInt32Ty()));
  return b_.CreateBitCast(b_.CreateShl(wide, llvm::ConstantInt::get(wide->getType(), 16)),
                          shaped(b_.getFloatTy()));
}

auto LaneCode::cast(Value* value, DType from, DType to) -> Value* {
  const bool from_float = is_floating(from), to_float = is_floating(to);
  auto* lane = lane_type(to);
  auto* type = value->getType()->isVectorTy() ? vector_of(lane) : lane;
  if (value->getType() == type && (from_float == to_float)) return value;
  if (to == DType::boolean)
    return from_float ? b_.CreateFCmpUNE(value, like(value->getType(), 0))
                      : b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  if (from_float && to_float) return b_.CreateFPCast(value, type);
  if (to_float)
    return is_signed(from) ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
  if (from_float) return nullptr;
  return is_signed(from) ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type);
}

auto LaneCode::slot(Type* type) -> Value* {
  auto& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  auto* made = at.CreateAlloca(type);
  made->setAlignment(llvm::Align(64));
  return made;
}

auto LaneCode::called(TileOp op, const Values& operands, DType from, DType to) -> Value* {
  const bool is_vector = operands.back()->getType()->isVectorTy();
  auto* pointers = slot(llvm::ArrayType::get(b_.getPtrTy(), operands.size()));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto* value = operands[i];
    if (value->getType()->getScalarType()->isIntegerTy(1)) value = to_memory(value, DType::boolean);
    auto* place = slot(value->getType());
    b_.CreateStore(value, place);
    b_.CreateStore(place, b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers, i));
  }
  auto* lane = to == DType::boolean ? b_.getInt8Ty() : lane_type(to);
  auto* type = is_vector ? vector_of(lane) : lane;
  auto* result = slot(type);
  auto* i32 = b_.getInt32Ty();
  auto* i64 = b_.getInt64Ty();
  const auto function = module_.getOrInsertFunction("assay_lanes", b_.getVoidTy(), i32, i32, i32,
                                                    b_.getPtrTy(), i64, b_.getPtrTy(), i64);
  const auto number = [&](auto value) { return b_.getInt32(static_cast<std::uint32_t>(value)); };
  b_.CreateCall(function,
                {number(op), number(lane_dtype(from)), number(lane_dtype(to)), pointers,
                 b_.getInt64(operands.size()), result, b_.getInt64(is_vector ? lanes_ : 1)});
  auto* value = static_cast<Value*>(b_.CreateLoad(type, result));
  return to == DType::boolean ? from_memory(value, DType::boolean) : value;
}

auto LaneCode::direct(TileOp op, const Values& v, DType from, DType to) -> Value* {
  const bool floats = is_floating(from);
  for (const auto& row : kInstructions) {
    if (row.op != op) continue;
    if (floats) return row.floats != nullptr ? row.floats(b_, v) : nullptr;
    return row.ints != nullptr ? row.ints(b_, v, is_signed(from)) : nullptr;
  }
  if (op == TileOp::cast) return cast(v[0], from, to);
  const bool divides = op == TileOp::floor_quotient || op == TileOp::floor_remainder ||
                       op == TileOp::quotient || op == TileOp::remainder;
  const bool integers = !floats && from != DType::boolean;
  if (divides && integers) return quotient(op, v[0], v[1], is_signed(from));
  if ((op == TileOp::shift_left || op == TileOp::shift_right) && integers)
    return shift(op, v[0], v[1], is_signed(from));
  auto* type = v[0]->getType();
  if (op == TileOp::rsqrt)
    return b_.CreateFDiv(like(type, 1), b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v[0]));
  if (lane_dtype(from) != DType::float32) return nullptr;
  return emit_function(b_, op, v[0]);
}

auto LaneCode::compute(TileOp op, Values operands, DType from, DType to) -> Value* {
  auto* value = direct(op, operands, from, to);
  if (value == nullptr) value = called(op, operands, from, to);
  return rounded(value, to);
}

}  // namespace assay
