#include "compiler/codegen/lane_wide.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <numeric>

namespace assay::lane {

auto shaped(llvm::Type* to, llvm::Type* shape) -> llvm::Type* {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape);
  return vector == nullptr ? to : llvm::FixedVectorType::get(to, vector->getNumElements());
}

auto bits_of(Wide x) -> Bits {
  auto* whole = x.is_double() ? x.b->getInt64Ty() : x.b->getInt32Ty();
  return {x.b, x.b->CreateBitCast(x.v, shaped(whole, x.v->getType()))};
}
auto from_bits(Bits x, Wide like) -> Wide {
  return {x.b, x.b->CreateBitCast(x.v, like.v->getType())};
}

namespace {
/// GPUs have extremes that keep NaN, and no sign that is copied in one step.
auto is_for_gpu(Wide x) -> bool {
  return x.b->GetInsertBlock()->getModule()->getTargetTriple().starts_with("nvptx");
}
/// 1.5 * 2^52: added to a whole number, its low bits are the number's.
constexpr double kShift = 6755399441055744.0;
}  // namespace

auto with_sign_of(Wide x, Wide sign) -> Wide {
  if (!is_for_gpu(x))
    return {x.b, x.b->CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x.v, sign.v)};
  const std::uint64_t top = std::uint64_t{1} << (x.is_double() ? 63U : 31U);
  return from_bits((bits_of(x) & (top - 1)) | (bits_of(sign) & top), x);
}
auto at_most(Wide x, double high) -> Wide {
  const auto limit = x.like(high);
  if (!is_for_gpu(x)) return select(x > limit, limit, x);
  return {x.b, x.b->CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x.v, limit.v)};
}
auto at_least(Wide x, double low) -> Wide {
  const auto limit = x.like(low);
  if (!is_for_gpu(x)) return select(x < limit, limit, x);
  return {x.b, x.b->CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x.v, limit.v)};
}

auto integer_of(Wide x) -> Bits {
  return bits_of(x + kShift) - bits_of(x.like(kShift));
}
auto float_of(Bits x, Wide like) -> Wide {
  return from_bits(x + bits_of(like.like(kShift)), like) - kShift;
}

auto widened(Wide x) -> Wide {
  return {x.b, x.b->CreateFPExt(x.v, shaped(x.b->getDoubleTy(), x.v->getType()))};
}
auto narrowed(Wide x) -> Wide {
  return {x.b, x.b->CreateFPTrunc(x.v, shaped(x.b->getFloatTy(), x.v->getType()))};
}
/// Newton's step from the GPU's own, which is a unit wrong: PTX's `rcp.rn` between its bounds.
auto reciprocal(Wide x) -> Wide {
  const auto one = x.like(1);
  if (!is_for_gpu(x)) return one / x;
  const Wide first{x.b, x.b->CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, {x.v})};
  return fma(first, fma(-x, first, one), first);
}
/// On GPUs Newton's step for the root as well, from the GPU's own reciprocal of it: PTX's `sqrt.rn`
/// without asking for other numbers than those; tiny ones are made larger first. Of what has no
/// root, and of 0 and infinity, the GPU's own is exact.
auto inverse_root(Wide x) -> Wide {
  if (!is_for_gpu(x) || x.is_double()) return x.like(1) / square_root(x);
  const auto own = [](Wide of) -> Wide {
    return {of.b, of.b->CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f, {}, {of.v})};
  };
  const auto is_tiny = x < 0x1p-100;
  const auto y = select(is_tiny, x * 0x1p64, x);
  const auto first = own(y);
  const auto near = y * first;
  const auto root = fma(fma(-near, near, y), first * 0.5, near);
  const auto made = reciprocal(root);
  const auto usual = select(is_tiny, made * 0x1p32, made);
  return select((x > 0) & (x < INFINITY), usual, first);
}
auto power_of_two(Bits k, Wide like) -> Wide {
  return from_bits(like.is_double() ? (k + 1023) << 52U : (k + 127) << 23U, like);
}
auto scaled(Wide x, Bits k) -> Wide {
  const auto half = k.shifted_right(1);
  return x * power_of_two(half, x) * power_of_two(k - half, x);
}
auto scaled(Wide x, Wide k, Bits bits) -> Wide {
  constexpr unsigned kLanes = 16;  // of AVX-512 in float32
  constexpr std::uint64_t kAll = 0xffff, kAsSet = 4;
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(x.v->getType());
  const bool fits = type != nullptr && !x.is_double() && type->getNumElements() % kLanes == 0 &&
                    x.b->GetInsertBlock()->getModule()->getModuleFlag(kHasScale) != nullptr;
  if (!fits) return scaled(x, bits);
  std::vector<llvm::Value*> parts;
  for (unsigned first = 0; first < type->getNumElements(); first += kLanes) {
    std::vector<int> lanes(kLanes);
    std::iota(lanes.begin(), lanes.end(), static_cast<int>(first));
    auto* part = x.b->CreateShuffleVector(x.v, lanes);
    auto* power = x.b->CreateShuffleVector(k.v, lanes);
    parts.push_back(
        x.b->CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                             {part, power, part, x.b->getInt16(kAll), x.b->getInt32(kAsSet)}));
  }
  return {x.b, parts.size() == 1 ? parts[0] : llvm::concatenateVectors(*x.b, parts)};
}
auto sign_bit(Wide x) -> Truth {
  const auto bits = bits_of(x);
  return less(bits, bits.like(0));
}

auto exact_sum(Wide x, Wide y) -> Pair {
  const auto sum = x + y;
  const auto part = sum - x;
  return {sum, (x - (sum - part)) + (y - part)};
}
auto ordered_sum(Wide x, Wide y) -> Pair {
  const auto sum = x + y;
  return {sum, y - (sum - x)};
}
auto exact_product(Wide x, Wide y) -> Pair {
  const auto product = x * y;
  return {product, fma(x, y, -product)};
}
auto operator+(Pair x, Pair y) -> Pair {
  const auto sum = exact_sum(x.hi, y.hi);
  return ordered_sum(sum.hi, sum.lo + (x.lo + y.lo));
}
auto operator*(Pair x, Pair y) -> Pair {
  const auto product = exact_product(x.hi, y.hi);
  return ordered_sum(product.hi, fma(x.hi, y.lo, fma(x.lo, y.hi, product.lo)));
}
auto pair_of(Wide like, double hi, double lo) -> Pair {
  return {like.like(hi), like.like(lo)};
}

}  // namespace assay::lane
