#include "compiler/codegen/gpu_numbers.h"

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include <bit>

namespace assay {
namespace {

using llvm::Value;
using Term = GpuNumbers::Term;

constexpr int kBits = 64;

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
  read.clear();
  zero_without.clear();
}

auto GpuNumbers::term(Value* value, std::int64_t offset) const -> Term {
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
  return number == nullptr ? Term{value, offset} : Term{nullptr, number->getSExtValue() + offset};
}

auto GpuNumbers::value(Term term, llvm::Type* type) -> Value* {
  auto* more = llvm::ConstantInt::get(type, static_cast<std::uint64_t>(term.offset), true);
  if (term.base == nullptr) return more;
  if (term.offset == 0) return term.base;
  return made({Made::sum, term.offset, {term.base}},
              [&] { return b_->CreateAdd(term.base, more); });
}

auto GpuNumbers::sum(Term a, Term b) -> Term {
  const auto offset = a.offset + b.offset;
  if (a.base == nullptr || b.base == nullptr) return {a.base == nullptr ? b.base : a.base, offset};
  return {made({Made::sum, 0, {a.base, b.base}}, [&] { return b_->CreateAdd(a.base, b.base); }),
          offset};
}

auto GpuNumbers::difference(Term a, Term b) -> Term {
  const auto offset = a.offset - b.offset;
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
  if (of.base == nullptr || by.offset == 0) return {nullptr, by.offset * of.offset};
  auto* factor = value({nullptr, by.offset}, type);
  return {
      made({Made::product, 0, {of.base, factor}}, [&] { return b_->CreateMul(of.base, factor); }),
      by.offset * of.offset};
}

auto GpuNumbers::at_most(Term a, Term b, bool is_less) -> Value* {
  const auto beyond = a.offset - b.offset + (is_less ? 1 : 0);  // a + beyond <= b
  if (a.base == b.base) return b_->getInt1(beyond <= 0);
  return made({Made::at_most, beyond, {a.base, b.base}}, [&] {
    if (a.base == nullptr)
      return b_->CreateICmpSGE(b.base, value({nullptr, beyond}, b.base->getType()));
    return b_->CreateICmpSLE(a.base, value({b.base, -beyond}, a.base->getType()));
  });
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
  if (value == nullptr || llvm::isa<llvm::Constant, llvm::Argument>(value)) return true;
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
  return is_position_[value] = is_arithmetic && std::ranges::all_of(operands, [&](const auto& one) {
                                 return is_position(one.get());
                               });
}

auto is_conjunct(const Value* one, const Value* of) -> bool {
  if (one == of) return true;
  const auto* both = llvm::dyn_cast<llvm::BinaryOperator>(of);
  return both != nullptr && both->getOpcode() == llvm::Instruction::And &&
         (is_conjunct(one, both->getOperand(0)) || is_conjunct(one, both->getOperand(1)));
}

}  // namespace assay
