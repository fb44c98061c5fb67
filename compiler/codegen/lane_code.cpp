#include "compiler/codegen/lane_code.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <array>
#include <cmath>

#include "compiler/codegen/lane_math.h"
#include "compiler/codegen/lane_wide.h"

namespace assay {
namespace {

using llvm::Type;
using llvm::Value;
using Values = std::vector<Value*>;
using Builder = llvm::IRBuilder<>;

auto is_signed(DType dtype) -> bool {
  return info(dtype).kind == DTypeKind::signed_integer;
}

/// The number that these bits of a bfloat16 were rounded from by `rounded`, by a machine that does
/// so itself; null where they are others.
auto unrounded(Value* half) -> Value* {
  using namespace llvm::PatternMatch;
  Value* rounded = nullptr;
  if (!match(half, m_Trunc(m_LShr(m_BitCast(m_BitCast(m_Value(rounded))), m_SpecificInt(16)))))
    return nullptr;
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(rounded);
  const bool is_ours =
      call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::nvvm_ff2bf16x2_rn;
  return is_ours ? call->getArgOperand(0) : nullptr;
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
    InstructionRow{minimum_number, [](Builder& b, const Values& v) { return b.CreateSelect(b.CreateOr(b.CreateFCmpOLT(v[0], v[1]), b.CreateFCmpUNO(v[1], v[1])), v[0], v[1]); },
                   [](Builder& b, const Values& v, bool s) { return b.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, v[0], v[1]); }},
    InstructionRow{maximum_number, [](Builder& b, const Values& v) { return b.CreateSelect(b.CreateOr(b.CreateFCmpOGT(v[0], v[1]), b.CreateFCmpUNO(v[1], v[1])), v[0], v[1]); },
                   [](Builder& b, const Values& v, bool s) { return b.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, v[0], v[1]); }},
    InstructionRow{bit_and, nullptr, [](Builder& b, const Values& v, bool) { return b.CreateAnd(v[0], v[1]); }},
    InstructionRow{bit_or, nullptr, [](Builder& b, const Values& v, bool) { return b.CreateOr(v[0], v[1]); }},
    InstructionRow{bit_xor, nullptr, [](Builder& b, const Values& v, bool) { return b.CreateXor(v[0], v[1]); }},
    InstructionRow{bit_not, nullptr, [](Builder& b, const Values& v, bool) { return b.CreateNot(v[0]); }},
    InstructionRow{negate, [](Builder& b, const Values& v) { return b.CreateFNeg(v[0]); },
                   [](Builder& b, const Values& v, bool) { return b.CreateNeg(v[0]); }},
    InstructionRow{absolute, unary<llvm::Intrinsic::fabs>, nullptr},
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
auto LaneCode::divided(TileOp op, Value* a, Value* b, bool is_signed) -> Value* {
  const auto zero = llvm::Constant::getNullValue(b->getType());
  const auto one = llvm::ConstantInt::get(b->getType(), 1);
  const auto ones = llvm::Constant::getAllOnesValue(b->getType());
  const auto by_zero = b_.CreateICmpEQ(b, zero);
  const auto by = b_.CreateSelect(by_zero, one, b);
  const bool wants_rest = op == TileOp::floor_remainder || op == TileOp::remainder;
  const bool floors = op == TileOp::floor_remainder || op == TileOp::floor_quotient;
  // A division is dear, a second one for the rest too dear.
  if (!is_signed) {
    const auto whole = b_.CreateUDiv(a, by);
    const auto rest = b_.CreateSub(a, b_.CreateMul(whole, by));
    return b_.CreateSelect(by_zero, wants_rest ? a : ones, wants_rest ? rest : whole);
  }
  const auto negates = b_.CreateICmpEQ(by, ones);
  const auto divisor = b_.CreateSelect(negates, one, by);
  const auto whole = b_.CreateSDiv(a, divisor);
  const auto rest = b_.CreateSub(a, b_.CreateMul(whole, divisor));
  auto* differs = b_.CreateICmpSLT(b_.CreateXor(rest, divisor), zero);
  const auto wrong = floors ? b_.CreateAnd(b_.CreateICmpNE(rest, zero), differs)
                            : llvm::Constant::getNullValue(differs->getType());
  if (wants_rest) {
    const auto floored = b_.CreateSelect(wrong, b_.CreateAdd(rest, divisor), rest);
    return b_.CreateSelect(by_zero, a, floored);
  }
  const auto floored = b_.CreateSelect(wrong, b_.CreateSub(whole, one), whole);
  const auto signed_whole = b_.CreateSelect(negates, b_.CreateNeg(a), floored);
  return b_.CreateSelect(by_zero, ones, signed_whole);
}

auto LaneCode::rounded(Value* value, DType dtype) -> Value* {
  if (!is_floating(dtype) || size_bytes(dtype) >= 4) return value;
  const bool is_known = llvm::isa<llvm::Constant>(value);
  if (dtype == DType::bfloat16 && has_bfloat_ && value->getType()->isFloatTy() && !is_known) {
    // Two at once is what is fast; of the upper half's bits the float is made already.
    auto* none = llvm::ConstantFP::get(value->getType(), 0.0);
    auto* both = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {}, {value, none});
    return b_.CreateBitCast(both, value->getType());
  }
  return from_memory(to_memory(value, dtype), dtype);
}

auto LaneCode::rounded_to_memory(Value* value, DType dtype) -> Value* {
  if (dtype != DType::bfloat16 || !value->getType()->isFloatTy()) return to_memory(value, dtype);
  auto* bits = b_.CreateBitCast(value, b_.getInt32Ty());
  return b_.CreateTrunc(b_.CreateLShr(bits, 16), b_.getInt16Ty());
}

auto LaneCode::rounded_pair(Value* low, Value* high) -> Value* {
  auto *first = unrounded(low), *second = unrounded(high);
  if (first == nullptr || second == nullptr) return nullptr;
  auto* both = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {}, {second, first});
  return b_.CreateBitCast(both, b_.getInt32Ty());
}

auto LaneCode::rounded_alone(Value* half) -> Value* {
  auto* first = unrounded(half);
  if (first == nullptr) return half;
  auto* none = llvm::ConstantFP::get(first->getType(), 0.0);
  auto* both = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {}, {none, first});
  return b_.CreateTrunc(b_.CreateBitCast(both, b_.getInt32Ty()), b_.getInt16Ty());
}

auto LaneCode::to_memory(Value* value, DType dtype) -> Value* {
  const auto shaped = [&](Type* lane) -> Type* {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    return vector != nullptr ? llvm::FixedVectorType::get(lane, vector->getNumElements()) : lane;
  };
  if (dtype == DType::boolean) return b_.CreateZExt(value, shaped(b_.getInt8Ty()));
  if (dtype == DType::float16) return b_.CreateFPTrunc(value, shaped(b_.getHalfTy()));
  if (dtype != DType::bfloat16) return value;
  if (has_bfloat_)
    return b_.CreateBitCast(b_.CreateFPTrunc(value, shaped(b_.getBFloatTy())),
                            shaped(b_.getInt16Ty()));
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
  if (from_float) return to_integer(value, to);
  return is_signed(from) ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type);
}

/// Zero where the shift is the width or more; to the right what the sign fills in.
auto LaneCode::shift(TileOp op, Value* a, Value* by, bool is_signed) -> Value* {
  auto* type = a->getType();
  auto* zero = llvm::Constant::getNullValue(type);
  auto* width = llvm::ConstantInt::get(type, type->getScalarSizeInBits());
  auto* fits = b_.CreateICmpULT(by, width);  // a negative shift does not
  auto* amount = b_.CreateSelect(fits, by, zero);
  if (op == TileOp::shift_left) return b_.CreateSelect(fits, b_.CreateShl(a, amount), zero);
  if (!is_signed) return b_.CreateSelect(fits, b_.CreateLShr(a, amount), zero);
  auto* most = llvm::ConstantInt::get(type, type->getScalarSizeInBits() - 1);
  return b_.CreateAShr(a, b_.CreateSelect(fits, by, most));
}

auto LaneCode::upper_product(Value* a, Value* b, bool is_signed) -> Value* {
  auto* type = a->getType();
  const auto bits = type->getScalarSizeInBits();
  auto* wide = lane::shaped(b_.getIntNTy(2 * bits), type);
  const auto widened = [&](Value* x) {
    return is_signed ? b_.CreateSExt(x, wide) : b_.CreateZExt(x, wide);
  };
  auto* product = b_.CreateMul(widened(a), widened(b));
  return b_.CreateTrunc(b_.CreateLShr(product, llvm::ConstantInt::get(wide, bits)), type);
}

/// What the intrinsics of saturation give, which LLVM takes apart into lanes on vectors.
auto LaneCode::saturated(Value* value, llvm::Type* to, unsigned bits, bool is_signed) -> Value* {
  const auto least = is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0);
  const auto most =
      is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  const auto power = std::ldexp(1.0, static_cast<int>(bits));
  auto* low = llvm::ConstantFP::get(value->getType(), is_signed ? -power / 2 : 0.0);
  auto* beyond = llvm::ConstantFP::get(value->getType(), is_signed ? power / 2 : power);
  auto* is_small = b_.CreateFCmpOLT(value, low);
  auto* is_large = b_.CreateFCmpOGE(value, beyond);
  auto* fits = b_.CreateAnd(b_.CreateFCmpOGE(value, low), b_.CreateFCmpOLT(value, beyond));
  auto* kept = b_.CreateSelect(fits, value, llvm::Constant::getNullValue(value->getType()));
  auto* number = is_signed ? b_.CreateFPToSI(kept, to) : b_.CreateFPToUI(kept, to);
  number = b_.CreateSelect(is_small, llvm::ConstantInt::get(to, least), number);
  return b_.CreateSelect(is_large, llvm::ConstantInt::get(to, most), number);
}

/// Toward zero, NaN to 0, saturated at 32 bits or more; narrower types take the low bits.
auto LaneCode::to_integer(Value* value, DType to) -> Value* {
  const auto bits = std::max(32U, static_cast<unsigned>(8 * size_bytes(to)));
  auto* wide = lane::shaped(b_.getIntNTy(bits), value->getType());
  const auto id = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  auto* number = value->getType()->isVectorTy()
                     ? saturated(value, wide, bits, is_signed(to))
                     : b_.CreateIntrinsic(id, {wide, value->getType()}, {value});
  return b_.CreateTrunc(number, lane::shaped(lane_type(to), value->getType()));
}

/// Bits as they are in memory.
auto LaneCode::bitcast(Value* value, DType from, DType to) -> Value* {
  auto* stored = to_memory(value, from);
  auto* type = lane::shaped(memory_type(to), value->getType());
  return from_memory(b_.CreateBitCast(stored, type), to);
}

auto LaneCode::integers(TileOp op, const Values& v, DType dtype) -> Value* {
  using enum TileOp;
  const bool is_negative_possible = is_signed(dtype);
  if (op == shift_left || op == shift_right) return shift(op, v[0], v[1], is_negative_possible);
  if (op == high_product) return upper_product(v[0], v[1], is_negative_possible);
  if (op != absolute) return divided(op, v[0], v[1], is_negative_possible);
  if (!is_negative_possible) return v[0];
  auto* is_below = b_.CreateICmpSLT(v[0], llvm::Constant::getNullValue(v[0]->getType()));
  return b_.CreateSelect(is_below, b_.CreateNeg(v[0]), v[0]);
}

auto LaneCode::floats(TileOp op, const Values& v) -> Value* {
  auto* type = v[0]->getType();
  if (op == TileOp::rsqrt) return lane::inverse_root({&b_, v[0]}).v;
  if (op == TileOp::floor_quotient)
    return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFDiv(v[0], v[1]));
  if (op == TileOp::is_infinite || op == TileOp::is_finite) {
    auto* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v[0]);
    return op == TileOp::is_finite ? b_.CreateFCmpOLT(size, like(type, INFINITY))
                                   : b_.CreateFCmpOEQ(size, like(type, INFINITY));
  }
  if (op == TileOp::sign_bit) return lane::sign_bit({&b_, v[0]}).v;
  if (op == TileOp::floor_remainder) {
    auto* rest = emit_function(b_, TileOp::remainder, v);
    auto* zero = like(type, 0);
    auto* differ = b_.CreateXor(b_.CreateFCmpOLT(rest, zero), b_.CreateFCmpOLT(v[1], zero));
    auto* wrong = b_.CreateAnd(differ, b_.CreateFCmpUNE(rest, zero));
    return b_.CreateSelect(wrong, b_.CreateFAdd(rest, v[1]), rest);
  }
  return emit_function(b_, op, v);
}

/// Blocks off the diagonal change places, for blocks of 1, 2, 4 ...
auto LaneCode::transposed(Values rows) -> Values {
  for (unsigned block = 1; block < lanes_; block *= 2) {
    std::vector<int> first, second;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      const bool is_right = (lane & block) != 0;
      first.push_back(static_cast<int>(is_right ? lanes_ + lane - block : lane));
      second.push_back(static_cast<int>(is_right ? lanes_ + lane : lane + block));
    }
    for (unsigned row = 0; row < lanes_; ++row) {
      if ((row & block) != 0) continue;
      auto* upper = rows[row];
      auto* lower = rows[row + block];
      rows[row] = b_.CreateShuffleVector(upper, lower, first);
      rows[row + block] = b_.CreateShuffleVector(upper, lower, second);
    }
  }
  return rows;
}

/// The sum that GELU asks for, of erf and 1, by itself; null where it is another one.
auto LaneCode::erf_and_one(TileOp op, const Values& v) -> Value* {
  if (op != TileOp::add) return nullptr;
  for (const std::size_t i : {0UZ, 1UZ}) {
    const auto found = erf_of_.find(v[i]);
    if (found != erf_of_.end() &&
        llvm::PatternMatch::match(v[1 - i], llvm::PatternMatch::m_FPOne()))
      return emit_erf_and_one(b_, found->second);
  }
  return nullptr;
}

auto LaneCode::compute(TileOp op, const Values& v, DType from, DType to) -> Value* {
  const bool of_floats = is_floating(from);
  if (auto* made = of_floats ? erf_and_one(op, v) : nullptr; made != nullptr)
    return rounded(made, to);
  constexpr TileOp kPick[] = {TileOp::select, TileOp::maximum, TileOp::minimum, TileOp::negate,
                              TileOp::absolute};  // one of what comes in, which is rounded
  const bool is_rounded = from == to && std::ranges::count(kPick, op) > 0;
  const auto narrowed = [&](Value* made) { return is_rounded ? made : rounded(made, to); };
  if (op == TileOp::cast) return rounded(cast(v[0], from, to), to);
  if (op == TileOp::bitcast) return bitcast(v[0], from, to);
  for (const auto& row : kInstructions)
    if (row.op == op && of_floats && row.floats != nullptr) return narrowed(row.floats(b_, v));
  for (const auto& row : kInstructions)
    if (row.op == op && !of_floats && row.ints != nullptr) return row.ints(b_, v, is_signed(from));
  auto* made = of_floats ? narrowed(floats(op, v)) : integers(op, v, from);
  if (op == TileOp::erf && to == DType::float32) erf_of_[made] = v[0];
  return made;
}

namespace {

auto has_code(const TileRegion& region) -> Result<void> {
  for (const auto& one : region.body) {
    const auto* compute = std::get_if<TileCompute>(&one.what);
    if (compute != nullptr && !tile_op_row(compute->op).has_code)
      return unsupported("{} has no code yet", tile_op_row(compute->op).name);
    for (const auto& inner : one.regions) {
      ASSAY_TRY_VOID(has_code(inner));
    }
  }
  return {};
}

}  // namespace

auto has_code(const TileKernel& kernel) -> Result<void> {
  for (const auto& value : kernel.values)
    if (is_floating(value.type.dtype) && size_bytes(value.type.dtype) < 2)
      return unsupported("8-bit floats have no code yet");
  return has_code(kernel.body);
}

}  // namespace assay
