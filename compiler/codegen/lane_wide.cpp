#include "compiler/codegen/lane_wide.h"

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
/// 1.5 * 2^52: added to a whole number, its low bits are the number's.
constexpr double kShift = 6755399441055744.0;
}  // namespace

auto integer_of(Wide x) -> Bits {
  return bits_of(x + kShift) - bits_of(x.like(kShift));
}
auto float_of(Bits x, Wide like) -> Wide {
  return from_bits(x + bits_of(like.like(kShift)), like) - kShift;
}

auto power_of_two(Bits k, Wide like) -> Wide {
  return from_bits(like.is_double() ? (k + 1023) << 52U : (k + 127) << 23U, like);
}
auto scaled(Wide x, Bits k) -> Wide {
  const auto half = k.shifted_right(1);
  return x * power_of_two(half, x) * power_of_two(k - half, x);
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
