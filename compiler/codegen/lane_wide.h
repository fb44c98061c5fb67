// Lanes whose arithmetic reads as formulas. Values are scalars or vectors alike. Internal to
// compiler/codegen.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cstdint>

namespace assay::lane {

using Builder = llvm::IRBuilder<>;

/// `to` in as many lanes as `shape` has.
[[nodiscard]] auto shaped(llvm::Type* to, llvm::Type* shape) -> llvm::Type*;

/// Conditions.
struct Truth {
  Builder* b = nullptr;
  llvm::Value* v = nullptr;
};
inline auto operator&(Truth x, Truth y) -> Truth {
  return {x.b, x.b->CreateAnd(x.v, y.v)};
}
inline auto operator|(Truth x, Truth y) -> Truth {
  return {x.b, x.b->CreateOr(x.v, y.v)};
}
inline auto operator^(Truth x, Truth y) -> Truth {
  return {x.b, x.b->CreateXor(x.v, y.v)};
}
inline auto operator!(Truth x) -> Truth {
  return {x.b, x.b->CreateNot(x.v)};
}

/// Integers as wide as the floats beside them; they wrap.
struct Bits {
  Builder* b = nullptr;
  llvm::Value* v = nullptr;
  [[nodiscard]] auto like(std::uint64_t value) const -> Bits {
    return {b, llvm::ConstantInt::get(v->getType(), value)};
  }
  [[nodiscard]] auto shifted_right(unsigned by) const -> Bits {  ///< with the sign
    return {b, b->CreateAShr(v, like(by).v)};
  }
};
// clang-format off
inline auto operator+(Bits x, Bits y) -> Bits { return {x.b, x.b->CreateAdd(x.v, y.v)}; }
inline auto operator-(Bits x, Bits y) -> Bits { return {x.b, x.b->CreateSub(x.v, y.v)}; }
inline auto operator*(Bits x, Bits y) -> Bits { return {x.b, x.b->CreateMul(x.v, y.v)}; }
inline auto operator&(Bits x, Bits y) -> Bits { return {x.b, x.b->CreateAnd(x.v, y.v)}; }
inline auto operator|(Bits x, Bits y) -> Bits { return {x.b, x.b->CreateOr(x.v, y.v)}; }
inline auto operator+(Bits x, std::uint64_t y) -> Bits { return x + x.like(y); }
inline auto operator-(Bits x, std::uint64_t y) -> Bits { return x - x.like(y); }
inline auto operator&(Bits x, std::uint64_t y) -> Bits { return x & x.like(y); }
inline auto operator<<(Bits x, Bits y) -> Bits { return {x.b, x.b->CreateShl(x.v, y.v)}; }
inline auto operator<<(Bits x, unsigned y) -> Bits { return x << x.like(y); }
inline auto operator>>(Bits x, Bits y) -> Bits { return {x.b, x.b->CreateLShr(x.v, y.v)}; }
inline auto operator>>(Bits x, unsigned y) -> Bits { return x >> x.like(y); }
inline auto operator==(Bits x, Bits y) -> Truth { return {x.b, x.b->CreateICmpEQ(x.v, y.v)}; }
inline auto less(Bits x, Bits y) -> Truth { return {x.b, x.b->CreateICmpSLT(x.v, y.v)}; }
inline auto select(Truth c, Bits x, Bits y) -> Bits { return {x.b, x.b->CreateSelect(c.v, x.v, y.v)}; }
inline auto is_odd(Bits x) -> Truth { return !((x & 1) == x.like(0)); }

/// Floats: float32 or float64.
struct Wide {
  Builder* b = nullptr;
  llvm::Value* v = nullptr;
  [[nodiscard]] auto like(double value) const -> Wide { return {b, llvm::ConstantFP::get(v->getType(), value)}; }
  [[nodiscard]] auto apply(llvm::Intrinsic::ID id) const -> Wide { return {b, b->CreateUnaryIntrinsic(id, v)}; }
  [[nodiscard]] auto is_double() const -> bool { return v->getType()->getScalarType()->isDoubleTy(); }
};
inline auto operator+(Wide x, Wide y) -> Wide { return {x.b, x.b->CreateFAdd(x.v, y.v)}; }
inline auto operator-(Wide x, Wide y) -> Wide { return {x.b, x.b->CreateFSub(x.v, y.v)}; }
inline auto operator*(Wide x, Wide y) -> Wide { return {x.b, x.b->CreateFMul(x.v, y.v)}; }
inline auto operator/(Wide x, Wide y) -> Wide { return {x.b, x.b->CreateFDiv(x.v, y.v)}; }
inline auto operator-(Wide x) -> Wide { return {x.b, x.b->CreateFNeg(x.v)}; }
inline auto operator+(Wide x, double y) -> Wide { return x + x.like(y); }
inline auto operator-(Wide x, double y) -> Wide { return x - x.like(y); }
inline auto operator*(Wide x, double y) -> Wide { return x * x.like(y); }
// False of NaN, but for !=.
inline auto operator<(Wide x, Wide y) -> Truth { return {x.b, x.b->CreateFCmpOLT(x.v, y.v)}; }
inline auto operator<=(Wide x, Wide y) -> Truth { return {x.b, x.b->CreateFCmpOLE(x.v, y.v)}; }
inline auto operator>(Wide x, Wide y) -> Truth { return y < x; }
inline auto operator>=(Wide x, Wide y) -> Truth { return y <= x; }
inline auto operator==(Wide x, Wide y) -> Truth { return {x.b, x.b->CreateFCmpOEQ(x.v, y.v)}; }
inline auto operator!=(Wide x, Wide y) -> Truth { return {x.b, x.b->CreateFCmpUNE(x.v, y.v)}; }
inline auto operator<(Wide x, double y) -> Truth { return x < x.like(y); }
inline auto operator>(Wide x, double y) -> Truth { return x > x.like(y); }
inline auto operator>=(Wide x, double y) -> Truth { return x >= x.like(y); }
inline auto operator==(Wide x, double y) -> Truth { return x == x.like(y); }
inline auto select(Truth c, Wide x, Wide y) -> Wide { return {x.b, x.b->CreateSelect(c.v, x.v, y.v)}; }
inline auto select(Truth c, Wide x, double y) -> Wide { return select(c, x, x.like(y)); }
inline auto select(Truth c, double x, Wide y) -> Wide { return select(c, y.like(x), y); }
// clang-format on
inline auto fma(Wide x, Wide y, Wide z) -> Wide {
  return {x.b, x.b->CreateIntrinsic(llvm::Intrinsic::fma, {x.v->getType()}, {x.v, y.v, z.v})};
}
inline auto is_nan(Wide x) -> Truth {
  return x != x;
}
inline auto magnitude(Wide x) -> Wide {
  return x.apply(llvm::Intrinsic::fabs);
}
inline auto square_root(Wide x) -> Wide {
  return x.apply(llvm::Intrinsic::sqrt);
}
inline auto nearest(Wide x) -> Wide {
  return x.apply(llvm::Intrinsic::nearbyint);
}
inline auto truncated(Wide x) -> Wide {
  return x.apply(llvm::Intrinsic::trunc);
}
[[nodiscard]] auto with_sign_of(Wide x, Wide sign) -> Wide;
/// The smaller or larger one; NaN stays.
[[nodiscard]] auto at_most(Wide x, double high) -> Wide;
[[nodiscard]] auto at_least(Wide x, double low) -> Wide;
inline auto clamp_number(Wide x, double low, double high) -> Wide {
  return at_most(at_least(x, low), high);
}
/// NaN becomes `low`: no NaN is ever made an integer.
inline auto clamp(Wide x, double low, double high) -> Wide {
  const auto above = select(x > low, x, low);
  return select(above < high, above, high);
}
/// Coefficients from the constant term up.
template <std::size_t kCount>
auto polynomial(Wide x, const std::array<double, kCount>& coefficients) -> Wide {
  auto sum = x.like(coefficients.back());
  for (std::size_t i = kCount - 1; i-- > 0;) sum = fma(sum, x, x.like(coefficients[i]));
  return sum;
}

[[nodiscard]] auto bits_of(Wide x) -> Bits;
[[nodiscard]] auto from_bits(Bits x, Wide like) -> Wide;
/// Of a whole float64 below 2^51, and back, without the conversions that AVX2 has not.
[[nodiscard]] auto integer_of(Wide x) -> Bits;
[[nodiscard]] auto float_of(Bits x, Wide like) -> Wide;
/// A float of as many bits, by conversion.
inline auto number_of(Bits x, Wide like) -> Wide {
  return {x.b, x.b->CreateSIToFP(x.v, like.v->getType())};
}
/// float32 as float64, and rounded back.
[[nodiscard]] auto widened(Wide x) -> Wide;
[[nodiscard]] auto narrowed(Wide x) -> Wide;
/// 1/x of float32, rounded, where that and x are normal numbers: on GPUs without asking for others.
[[nodiscard]] auto reciprocal(Wide x) -> Wide;
/// 1/sqrt(x) of any float, the root rounded and then its reciprocal.
[[nodiscard]] auto inverse_root(Wide x) -> Wide;
/// 2^k where that is a normal number.
[[nodiscard]] auto power_of_two(Bits k, Wide like) -> Wide;
/// x * 2^k in two factors, so that results below the normal range are rounded once.
[[nodiscard]] auto scaled(Wide x, Bits k) -> Wide;
/// The same of a whole number `k`, `bits` as an integer; one instruction where the machine has it
/// for such vectors, which a flag of the module says.
[[nodiscard]] auto scaled(Wide x, Wide k, Bits bits) -> Wide;
inline constexpr const char* kHasScale = "assay.scale";
[[nodiscard]] auto sign_bit(Wide x) -> Truth;

/// The unevaluated sum of a float64 and a much smaller one.
struct Pair {
  Wide hi, lo;
};
[[nodiscard]] auto exact_sum(Wide x, Wide y) -> Pair;
[[nodiscard]] auto ordered_sum(Wide x, Wide y) -> Pair;  ///< exact where |x| >= |y|
[[nodiscard]] auto exact_product(Wide x, Wide y) -> Pair;
[[nodiscard]] auto operator+(Pair x, Pair y) -> Pair;
[[nodiscard]] auto operator*(Pair x, Pair y) -> Pair;
[[nodiscard]] auto pair_of(Wide like, double hi, double lo) -> Pair;
inline auto select(Truth c, Pair x, Pair y) -> Pair {
  return {select(c, x.hi, y.hi), select(c, x.lo, y.lo)};
}
inline auto operator-(Pair x) -> Pair {
  return {-x.hi, -x.lo};
}

/// `body` runs where any lane's condition holds: its results (else `otherwise`).
template <std::size_t kCount, class Body>
auto if_any(Truth condition, const std::array<llvm::Value*, kCount>& otherwise, const Body& body)
    -> std::array<llvm::Value*, kCount> {
  auto& b = *condition.b;
  auto* any = condition.v->getType()->isVectorTy() ? b.CreateOrReduce(condition.v) : condition.v;
  auto* before = b.GetInsertBlock();
  auto* function = before->getParent();
  auto* rare = llvm::BasicBlock::Create(b.getContext(), "rare", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "joined", function);
  b.CreateCondBr(any, rare, after);
  b.SetInsertPoint(rare);
  const std::array<llvm::Value*, kCount> made = body();
  auto* end = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  std::array<llvm::Value*, kCount> results{};
  for (std::size_t i = 0; i < kCount; ++i) {
    auto* merged = b.CreatePHI(made[i]->getType(), 2);
    merged->addIncoming(otherwise[i], before);
    merged->addIncoming(made[i], end);
    results[i] = merged;
  }
  return results;
}

}  // namespace assay::lane
