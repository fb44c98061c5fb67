#include "compiler/codegen/gpu_columns.h"

#include <llvm/IR/Module.h>

#include "compiler/codegen/gpu_shared.h"

namespace assay {
namespace {

/// Threads whose values become one between two barriers, at most.
constexpr unsigned kStep = 8;

}  // namespace

GpuColumns::GpuColumns(GpuKernelEmitter& e, const TileStatement& one, TileCombine how,
                       std::vector<std::size_t> registers)
    : e_(e),
      b_(e.b_),
      one_(one),
      how_(how),
      registers_(std::move(registers)),
      x_(e.place(TilePlace::thread_x)),
      y_(e.place(TilePlace::thread_y)) {}

auto GpuColumns::folded(Parts parts) -> Parts {
  const auto as_given = [&] {
    Values all;
    for (const auto& part : parts)
      for (const auto number : registers_) all.push_back(part[number]);
    return all;
  };
  auto* are_several = b_.CreateICmpUGT(y_.count, b_.getInt32(1));
  const auto made = e_.either(are_several, [&] { return fold(parts); }, as_given);
  for (std::size_t i = 0; i < made.size(); ++i)
    parts[i / registers_.size()][registers_[i % registers_.size()]] = made[i];
  return parts;
}

auto GpuColumns::fold(const Parts& parts) -> Values {
  const auto threads = static_cast<std::uint64_t>(e_.layout_->threads());
  for (const auto& part : parts) {
    auto*& room = e_.gathered_[{part[0]->getType(), rooms_.size()}];
    if (room == nullptr) room = e_.shared_room(part[0]->getType(), threads * registers_.size());
    rooms_.push_back(room);
    types_.push_back(part[0]->getType());
  }
  e_.barrier();  // nobody reads what an earlier one left
  for (std::size_t operand = 0; operand < parts.size(); ++operand)
    for (std::size_t i = 0; i < registers_.size(); ++i)
      b_.CreateStore(as_shared(b_, parts[operand][registers_[i]]),
                     slot(operand, at(i, e_.thread_)));
  e_.barrier();
  column_ = b_.CreateSub(e_.thread_, b_.CreateMul(y_.at, x_.count));
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(e_.module_.getContext(), name, e_.function_);
  };
  auto* before = b_.GetInsertBlock();
  auto *head = block("steps"), *inside = block("step"), *after = block("rest");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  auto* left = b_.CreatePHI(b_.getInt32Ty(), 2);
  left->addIncoming(y_.count, before);
  b_.CreateCondBr(b_.CreateICmpUGE(left, b_.getInt32(kStep)), inside, after);
  b_.SetInsertPoint(inside);
  auto* fewer = b_.CreateUDiv(left, b_.getInt32(kStep));
  step(kStep, fewer);
  left->addIncoming(fewer, b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
  for (auto many = kStep / 2; many > 1; many /= 2)
    e_.when(b_.CreateICmpEQ(left, b_.getInt32(many)), [&] { step(many, b_.getInt32(1)); });
  Values all;
  for (std::size_t operand = 0; operand < parts.size(); ++operand)
    for (std::size_t i = 0; i < registers_.size(); ++i)
      all.push_back(held(operand, at(i, column_)));
  return all;
}

/// Of what `many` times `left` threads of a column hold, `left` become theirs: powers of two.
void GpuColumns::step(unsigned many, Value* left) {
  auto* i32 = b_.getInt32Ty();
  const auto count = static_cast<std::uint32_t>(registers_.size());
  const auto threads = static_cast<std::uint32_t>(e_.layout_->threads());
  auto* bits = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {i32}, {left, b_.getTrue()});
  auto* at_once = b_.CreateLShr(y_.count, bits);
  auto* row = b_.CreateAnd(y_.at, b_.CreateSub(left, b_.getInt32(1)));
  auto* thread = b_.CreateAdd(column_, b_.CreateMul(row, x_.count));
  for (std::uint32_t from = 0; from < count; from += many) {
    auto* number =
        b_.CreateAdd(b_.CreateLShr(y_.at, bits), b_.CreateMul(b_.getInt32(from / many), at_once));
    e_.when(b_.CreateICmpULT(number, b_.getInt32(count)), [&] {
      auto* first = b_.CreateAdd(thread, b_.CreateMul(number, b_.getInt32(threads)));
      halve(many, first, b_.CreateMul(left, x_.count));
    });
  }
  e_.barrier();
}

/// What stands in places that are `apart` becomes one value, in the first of them.
void GpuColumns::halve(unsigned many, Value* first, Value* apart) {
  std::vector<Values> all(many);
  for (unsigned k = 0; k < many; ++k) {
    auto* place = b_.CreateAdd(first, b_.CreateMul(apart, b_.getInt32(k)));
    for (std::size_t operand = 0; operand < rooms_.size(); ++operand)
      all[k].push_back(held(operand, place));
  }
  for (unsigned half = many / 2; half > 0; half /= 2)
    for (unsigned k = 0; k < half; ++k) all[k] = e_.combine(one_, how_, all[k], all[k + half]);
  for (std::size_t operand = 0; operand < rooms_.size(); ++operand)
    b_.CreateStore(as_shared(b_, all[0][operand]), slot(operand, first));
}

auto GpuColumns::at(std::size_t number, Value* thread) -> Value* {
  const auto threads = static_cast<std::uint64_t>(e_.layout_->threads());
  return b_.CreateAdd(thread, b_.getInt32(static_cast<std::uint32_t>(number * threads)));
}
auto GpuColumns::slot(std::size_t operand, Value* place) -> Value* {
  return b_.CreateGEP(shared_type(b_, types_[operand]), rooms_[operand],
                      b_.CreateZExt(place, b_.getInt64Ty()));
}
auto GpuColumns::held(std::size_t operand, Value* place) -> Value* {
  auto* type = types_[operand];
  return from_shared(b_, b_.CreateLoad(shared_type(b_, type), slot(operand, place)), type);
}

}  // namespace assay
