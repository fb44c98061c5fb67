// Remainders, neighbours, rounding.
#include <cmath>

#include "compiler/codegen/lane_functions.h"

namespace assay::lane {
namespace {

/// floor(log2 x) of x above 0, below the normal range too. float64.
auto exponent_of(Wide x) -> Bits {
  const auto is_tiny = x < 0x1p-1022;
  const auto raw = bits_of(select(is_tiny, x * 0x1p54, x)) >> 52U;
  return raw - select(is_tiny, raw.like(1023 + 54), raw.like(1023));
}

}  // namespace

auto hypot(Wide x, Wide y) -> Wide {
  const auto a = magnitude(x), b = magnitude(y);
  const auto large = select(a > b, a, b);
  const auto is_infinite = (a == INFINITY) | (b == INFINITY);
  const auto down = select(large > 0x1p500, 0x1p-600, x.like(1));
  const auto scale = select(large < 0x1p-400, 0x1p600, down);
  const auto c = a * scale, d = b * scale;
  const auto squares = exact_product(c, c) + exact_product(d, d);
  return select(is_infinite, INFINITY, square_root(squares.hi) / scale);
}

/// In float64. Each round takes off a multiple of |y| whose quotient is exact: no rounding at all.
auto fmod(Wide x, Wide y) -> Wide {
  auto& b = *x.b;
  const auto size = magnitude(x), by = magnitude(y);
  const auto is_valid = (size < INFINITY) & (by > 0);
  auto* before = b.GetInsertBlock();
  auto* function = before->getParent();
  auto* round = llvm::BasicBlock::Create(b.getContext(), "round", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "reduced", function);
  const auto start = select(is_valid, size, 0.0);
  const auto any = [&](Wide r) {
    const auto open = (r >= by) & is_valid;
    return open.v->getType()->isVectorTy() ? b.CreateOrReduce(open.v) : open.v;
  };
  b.CreateCondBr(any(start), round, after);
  b.SetInsertPoint(round);
  auto* held = b.CreatePHI(x.v->getType(), 2);
  const Wide r{&b, held};
  constexpr std::uint64_t kQuotientBits = 51;
  const auto excess = exponent_of(r) - exponent_of(by) - kQuotientBits;
  const auto shift = select(less(excess, excess.like(0)), excess.like(0), excess);
  const auto divisor = scaled(by, shift);
  const auto quotient = truncated(r / divisor);
  const auto less_by = fma(-quotient, divisor, r);  // the quotient may be one too large
  const auto fixed = select(less_by < 0, less_by + divisor, less_by);
  const auto next = select((r >= by) & is_valid, fixed, r);
  held->addIncoming(start.v, before);
  held->addIncoming(next.v, round);
  b.CreateCondBr(any(next), round, after);
  b.SetInsertPoint(after);
  auto* merged = b.CreatePHI(x.v->getType(), 2);
  merged->addIncoming(start.v, before);
  merged->addIncoming(next.v, round);
  const auto result = with_sign_of({&b, merged}, x);
  return select(is_valid & !is_nan(y), result, NAN);
}
auto nextafter(Wide x, Wide y) -> Wide {
  const auto bits = bits_of(x);
  const auto outward = (y > x) ^ sign_bit(x);
  const auto moved = from_bits(select(outward, bits + 1, bits - 1), x);
  const auto first = with_sign_of(from_bits(bits.like(1), x), y);
  const auto result = select(x == y, y, select(x == 0, first, moved));
  return select(is_nan(x) | is_nan(y), NAN, result);
}

auto round_away(Wide x) -> Wide {
  const auto whole = truncated(x);
  const auto is_far = magnitude(x - whole) >= 0.5;
  return with_sign_of(select(is_far, whole + with_sign_of(x.like(1), x), whole), x);
}

}  // namespace assay::lane
