#include "compiler/codegen/gpu_numbers.h"

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace assay {
namespace {

using llvm::Value;
using Term = GpuNumbers::Term;

constexpr int kBits = 64;
constexpr unsigned kStepBits = 24;  ///< of what positions are multiplied by

auto added(std::int64_t a, std::int64_t b) -> std::int64_t {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
auto multiplied(std::int64_t a, std::int64_t b) -> std::int64_t {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// By which number `of` is multiplied; 0: `value` is no multiple of it.
auto step_of(const Value* value, const Value* of) -> std::int64_t {
  if (value == of) return 1;
  const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (product == nullptr || product->getOpcode() != llvm::Instruction::Mul ||
      product->getOperand(0) != of)
    return 0;
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(product->getOperand(1));
  constexpr std::int64_t kMost = 1 << 10;
  return by != nullptr && by->getSExtValue() <= kMost ? by->getSExtValue() : 0;
}

auto conjuncts(Value* condition) -> std::vector<Value*> {
  auto* both = llvm::dyn_cast<llvm::BinaryOperator>(condition);
  if (both == nullptr || both->getOpcode() != llvm::Instruction::And) return {condition};
  auto all = conjuncts(both->getOperand(0));
  for (auto* one : conjuncts(both->getOperand(1)))
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
  return all;
}

}  // namespace

auto GpuNumbers::made(Key key, const std::function<Value*()>& make) -> Value* {
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  auto* value = make();
  known_.emplace(std::move(key), value);
  return value;
}

void GpuNumbers::forget() {
  known_.clear();
  zero_without.clear();
}

auto GpuNumbers::term(Value* value, std::int64_t offset) const -> Term {
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
  return number == nullptr ? Term{value, offset}
                           : Term{nullptr, added(number->getSExtValue(), offset)};
}

auto GpuNumbers::value(Term term, llvm::Type* type) -> Value* {
  auto* more = llvm::ConstantInt::get(type, static_cast<std::uint64_t>(term.offset), true);
  if (term.base == nullptr) return more;
  if (term.offset == 0) return term.base;
  return made({Made::sum, term.offset, {term.base}},
              [&] { return b_->CreateAdd(term.base, more); });
}

auto GpuNumbers::sum(Term a, Term b) -> Term {
  const auto offset = added(a.offset, b.offset);
  if (a.base == nullptr || b.base == nullptr) return {a.base == nullptr ? b.base : a.base, offset};
  return {made({Made::sum, 0, {a.base, b.base}}, [&] { return b_->CreateAdd(a.base, b.base); }),
          offset};
}

auto GpuNumbers::difference(Term a, Term b) -> Term {
  const auto offset = added(a.offset, multiplied(b.offset, -1));
  if (b.base == nullptr) return {a.base, offset};
  if (a.base == b.base) return {nullptr, offset};
  return {made({Made::difference, 0, {a.base, b.base}},
               [&] {
                 return a.base == nullptr ? b_->CreateNeg(b.base) : b_->CreateSub(a.base, b.base);
               }),
          offset};
}

auto GpuNumbers::product(Term a, Term b, llvm::Type* type) -> Term {
  if (a.base != nullptr && b.base != nullptr) {
    auto* x = value(a, type);
    auto* y = value(b, type);
    return {made({Made::product, 0, {x, y}}, [&] { return b_->CreateMul(x, y); }), 0};
  }
  const auto& by = a.base == nullptr ? a : b;
  const auto& of = a.base == nullptr ? b : a;
  if (of.base == nullptr || by.offset == 0) return {nullptr, multiplied(by.offset, of.offset)};
  auto* factor = value({nullptr, by.offset}, type);
  return {
      made({Made::product, 0, {of.base, factor}}, [&] { return b_->CreateMul(of.base, factor); }),
      multiplied(by.offset, of.offset)};
}

auto GpuNumbers::at_most(Term a, Term b, bool is_less) -> Value* {
  const auto beyond = a.offset - b.offset + (is_less ? 1 : 0);  // a + beyond <= b
  if (a.base == b.base) return b_->getInt1(beyond <= 0);
  auto* made_of = made({Made::at_most, beyond, {a.base, b.base}}, [&] {
    if (a.base == nullptr)
      return b_->CreateICmpSGE(b.base, value({nullptr, beyond}, b.base->getType()));
    return b_->CreateICmpSLE(a.base, value({b.base, -beyond}, a.base->getType()));
  });
  orders_[made_of] = {a.base, b.base, beyond};
  return made_of;
}

auto GpuNumbers::limit(Term size, std::int64_t step, bool is_narrow) -> Value* {
  using namespace llvm::Intrinsic;
  auto* wide = b_->getInt64Ty();
  auto* by = llvm::ConstantInt::get(wide, static_cast<std::uint64_t>(step));
  auto* key = b_->getInt1(is_narrow);
  return made({Made::limit, size.offset, {size.base, by, key}}, [&]() -> Value* {
    auto* most = b_->CreateBinaryIntrinsic(smax, value(size, wide), b_->getInt64(0));
    if (step > 1)
      most = b_->CreateUDiv(b_->CreateAdd(most, b_->getInt64(static_cast<std::uint64_t>(step - 1))),
                            by);
    if (!is_narrow) return most;
    constexpr auto kLargest = std::numeric_limits<std::int32_t>::max();
    return b_->CreateTrunc(b_->CreateBinaryIntrinsic(smin, most, b_->getInt64(kLargest)),
                           b_->getInt32Ty());
  });
}

auto GpuNumbers::within(Value* condition) -> Value* {
  if (condition == nullptr) return nullptr;
  const auto parts = conjuncts(condition);
  const auto order = [&](Value* one) {
    const auto known = orders_.find(one);
    return known == orders_.end() ? nullptr : &known->second;
  };
  // Of several positions the last one: it is what differs between neighbours.
  const Order *low = nullptr, *high = nullptr;
  std::int64_t step = 0;
  for (auto at = parts.rbegin(); at != parts.rend() && low == nullptr; ++at) {
    high = order(*at);
    if (high == nullptr || high->a == nullptr || !high->a->getType()->isIntegerTy(kBits)) continue;
    for (auto* other : parts) {
      const auto* one = order(other);
      if (one == nullptr || one->a != nullptr) continue;
      if (const auto by = step_of(high->a, one->b); by > 0) low = one, step = by;
    }
  }
  if (low == nullptr) return condition;
  Value* rest = nullptr;
  for (auto* one : parts)
    if (order(one) != low && order(one) != high)
      rest = rest == nullptr
                 ? one
                 : made({Made::both, 0, {rest, one}}, [&] { return b_->CreateAnd(rest, one); });
  // Counted from the lower bound.
  const auto* extended = llvm::dyn_cast<llvm::SExtInst>(low->b);
  const bool is_narrow = extended != nullptr && extended->getOperand(0)->getType()->isIntegerTy(32);
  auto* from = is_narrow ? extended->getOperand(0) : low->b;
  auto* position = value({from, -low->beyond}, from->getType());
  auto* below = limit({high->b, 1 - high->beyond - step * low->beyond}, step, is_narrow);
  if (rest != nullptr)
    below = made({Made::chosen, 0, {rest, below}}, [&] {
      return b_->CreateSelect(rest, below, llvm::Constant::getNullValue(below->getType()));
    });
  auto* both = made({Made::at_most, 0, {position, below, nullptr}},
                    [&] { return b_->CreateICmpULT(position, below); });
  positions_[both] = position;
  return both;
}

auto GpuNumbers::position_in(const Value* condition) const -> Value* {
  const auto known = positions_.find(condition);
  return known == positions_.end() ? nullptr : known->second;
}

auto GpuNumbers::either(Value* a, Value* b) -> Value* {
  if (a == nullptr || b == nullptr || a == b) return a == nullptr ? a : b;
  return made({Made::either, 0, {a, b}}, [&] { return b_->CreateOr(a, b); });
}

auto GpuNumbers::zero_bits(const Value* value) -> int {
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value))
    return std::countr_zero(number->getValue().getZExtValue());
  const auto* made = llvm::dyn_cast<llvm::Instruction>(value);
  if (made == nullptr) return 0;
  if (const auto known = zero_bits_.find(value); known != zero_bits_.end()) return known->second;
  const auto of = [&](unsigned operand) { return zero_bits(made->getOperand(operand)); };
  int bits = 0;
  switch (made->getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Or:
      bits = std::min(of(0), of(1));
      break;
    case llvm::Instruction::Mul:
      bits = std::min(of(0) + of(1), kBits);
      break;
    case llvm::Instruction::Select:
      bits = std::min(of(1), of(2));
      break;
    case llvm::Instruction::SExt:
    case llvm::Instruction::ZExt:
      bits = of(0);
      break;
    case llvm::Instruction::Shl:
      if (const auto* by = llvm::dyn_cast<llvm::ConstantInt>(made->getOperand(1)))
        bits = std::min(of(0) + static_cast<int>(by->getZExtValue()), kBits);
      break;
    default:
      break;
  }
  return zero_bits_[value] = bits;
}

auto GpuNumbers::is_position(const Value* value) -> bool {
  if (value == nullptr || llvm::isa<llvm::Constant, llvm::Argument>(value) ||
      given_->contains(value))
    return true;
  const auto* made = llvm::dyn_cast<llvm::Instruction>(value);
  if (made == nullptr) return false;
  if (const auto known = is_position_.find(value); known != is_position_.end())
    return known->second;
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(made);
  const bool is_arithmetic =
      llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst>(made) ||
      (intrinsic != nullptr && !intrinsic->mayReadFromMemory());
  const auto operands = intrinsic != nullptr
                            ? llvm::make_range(intrinsic->arg_begin(), intrinsic->arg_end())
                            : made->operands();
  // What is multiplied by large numbers may be meant to wrap.
  const auto is_small = [](const Value* one) {
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(one);
    return number == nullptr || number->getValue().getSignificantBits() <= kStepBits;
  };
  const bool is_wrapping = made->getOpcode() == llvm::Instruction::Mul &&
                           !(is_small(made->getOperand(0)) && is_small(made->getOperand(1)));
  return is_position_[value] =
             is_arithmetic && !is_wrapping &&
             std::ranges::all_of(operands, [&](const auto& one) { return is_position(one.get()); });
}

auto GpuNumbers::is_position(Term term) -> bool {
  constexpr std::int64_t kNear = 1 << 17, kMost = 1 << 30;
  const auto most = term.base == nullptr ? kMost : kNear;
  return is_position(term.base) && -most < term.offset && term.offset < most;
}

auto is_conjunct(const Value* one, const Value* of) -> bool {
  if (one == of) return true;
  const auto* both = llvm::dyn_cast<llvm::BinaryOperator>(of);
  return both != nullptr && both->getOpcode() == llvm::Instruction::And &&
         (is_conjunct(one, both->getOperand(0)) || is_conjunct(one, both->getOperand(1)));
}

}  // namespace assay
