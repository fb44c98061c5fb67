// Reductions, as partial results that are folded, and scans.
#include <numeric>

#include "compiler/codegen/kernel_emitter.h"

namespace assay {

using llvm::BasicBlock;
using llvm::Value;

auto KernelEmitter::held_type(DType of) -> llvm::Type* {
  auto* lane = of == DType::boolean ? b_.getInt8Ty() : code_.lane_type(of);
  return code_.vector_of(lane);
}

void KernelEmitter::start(std::size_t i) {
  const auto& reduction = plan_.reductions[i];
  for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
    const auto of = dtype(reduction.operands[part]);
    auto& entry = function_->getEntryBlock();
    llvm::IRBuilder<> at(&entry, entry.begin());
    auto* made = at.CreateAlloca(llvm::ArrayType::get(held_type(of), slots()));
    made->setAlignment(llvm::Align(64));
    partials_[{i, part}] = made;
    auto* first =
        code_.to_memory_if_truth(code_.splat(combine_.identity(reduction.combine, part, of)), of);
    for (unsigned slot = 0; slot < slots(); ++slot)
      b_.CreateStore(first, place(i, part, b_.getInt64(slot)));
  }
}

auto KernelEmitter::dtypes_of(const PlannedReduction& reduction) const -> std::vector<DType> {
  std::vector<DType> all;
  for (const auto id : reduction.operands) all.push_back(dtype(id));
  return all;
}

void KernelEmitter::accumulate(std::size_t i) {
  const auto& reduction = plan_.reductions[i];
  auto* at = indices_[plan_.reduced.back()];
  if (plan_.vector_is_reduced) at = b_.CreateUDiv(at, b_.getInt64(lanes_));
  auto* slot = slot_ ? b_.getInt64(*slot_) : b_.CreateAnd(at, b_.getInt64(slots() - 1));
  std::vector<Value*> before, now;
  for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
    before.push_back(held(i, part, slot));
    now.push_back(vector(reduction.operands[part]));
  }
  const auto made = combine_.combined(reduction.combine, before, now, dtypes_of(reduction));
  for (std::size_t part = 0; part < made.size(); ++part) {
    auto* value = made[part];
    if (plan_.vector_is_reduced && mask_ != nullptr)
      value = b_.CreateSelect(mask_, value, before[part]);
    keep(i, part, slot, value);
  }
}

auto KernelEmitter::held(std::size_t i, std::size_t part, Value* slot) -> Value* {
  const auto of = dtype(plan_.reductions[i].operands[part]);
  auto* raw = b_.CreateLoad(held_type(of), place(i, part, slot));
  return of == DType::boolean ? code_.from_memory(raw, of) : raw;
}

void KernelEmitter::keep(std::size_t i, std::size_t part, Value* slot, Value* value) {
  const auto of = dtype(plan_.reductions[i].operands[part]);
  b_.CreateStore(code_.to_memory_if_truth(value, of), place(i, part, slot));
}

auto KernelEmitter::fold_slots(std::size_t i) -> Parts {
  const auto& reduction = plan_.reductions[i];
  const auto dtypes = dtypes_of(reduction);
  std::vector<Parts> parts(slots());
  for (unsigned slot = 0; slot < slots(); ++slot)
    for (std::size_t part = 0; part < reduction.operands.size(); ++part)
      parts[slot].push_back(held(i, part, b_.getInt64(slot)));
  const auto fold_half = [&](unsigned half) {
    for (unsigned k = 0; k < half; ++k)
      parts[k] = combine_.combined(reduction.combine, parts[k], parts[k + half], dtypes);
  };
  for (auto half = slots() / 2; half > 0; half /= 2) {
    if (!plan_.vector_is_reduced) {
      fold_half(half);
      continue;
    }
    // Those that no element of a short row has reached hold what changes nothing.
    auto* is_reached =
        b_.CreateICmpSGT(extents_[plan_.reduced.back()], b_.getInt64(std::uint64_t{half} * lanes_));
    auto* before = b_.GetInsertBlock();
    auto* more = BasicBlock::Create(module_.getContext(), "more", function_);
    auto* folded = BasicBlock::Create(module_.getContext(), "folded", function_);
    b_.CreateCondBr(is_reached, more, folded);
    const auto unfolded = parts;
    b_.SetInsertPoint(more);
    fold_half(half);
    auto* behind = b_.GetInsertBlock();
    b_.CreateBr(folded);
    b_.SetInsertPoint(folded);
    for (unsigned k = 0; k < half; ++k)
      for (std::size_t part = 0; part < parts[k].size(); ++part) {
        auto* either = b_.CreatePHI(parts[k][part]->getType(), 2);
        either->addIncoming(unfolded[k][part], before);
        either->addIncoming(parts[k][part], behind);
        parts[k][part] = either;
      }
  }
  return parts[0];
}

/// Each time on vectors of half the width.
auto KernelEmitter::fold_lanes(std::size_t i, Parts parts) -> Parts {
  const auto& reduction = plan_.reductions[i];
  const auto dtypes = dtypes_of(reduction);
  for (auto half = lanes_ / 2; half > 0; half /= 2) {
    LaneCode code(b_, half);
    CombineCode combine(b_, code);
    const auto half_of = [&](unsigned first) {
      std::vector<int> lanes(half);
      std::iota(lanes.begin(), lanes.end(), static_cast<int>(first));
      Parts moved;
      for (auto* value : parts) moved.push_back(b_.CreateShuffleVector(value, lanes));
      return moved;
    };
    parts = combine.combined(reduction.combine, half_of(0), half_of(half), dtypes);
  }
  for (auto& value : parts) value = b_.CreateExtractElement(value, std::uint64_t{0});
  return parts;
}

void KernelEmitter::fold(std::size_t i) {
  const auto& reduction = plan_.reductions[i];
  auto result = fold_slots(i);
  if (plan_.vector_is_reduced) result = fold_lanes(i, std::move(result));
  for (std::size_t part = 0; part < result.size(); ++part) {
    const auto id = reduction.results[part];
    auto* value = code_.rounded(result[part], dtype(id));
    // With a vectorised axis that is not reduced, what does not vary along it is one lane.
    if (value->getType()->isVectorTy() && !varies(id))
      value = b_.CreateExtractElement(value, std::uint64_t{0});
    set(id, value);
  }
}

void KernelEmitter::start_scan(const TileStatement& one) {
  const auto id = one.results[0];
  const auto& what = std::get<TileScan>(one.what);
  auto* none = combine_.identity(what.combine, 0, dtype(id));
  if (varies(id) && !is_vector_axis(what.axis)) none = code_.splat(none);
  auto& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at(&entry, entry.begin());
  carried_[&one] = at.CreateAlloca(none->getType());
  b_.CreateStore(none, carried_.at(&one));
}

/// Lanes of the scanned axis one after the other, whatever the width of vectors.
void KernelEmitter::statement(const TileStatement& one, const TileScan& what) {
  const auto id = one.results[0];
  const auto of = dtype(id);
  auto* carried = carried_.at(&one);
  auto* sum = static_cast<Value*>(b_.CreateLoad(carried->getAllocatedType(), carried));
  const auto take = [&](Value* x) {
    sum = code_.rounded(combine_.combined(what.combine, {sum}, {x}, {of})[0], of);
    return sum;
  };
  if (!is_vector_axis(what.axis)) {
    set(id, take(varies(id) ? vector(one.operands[0]) : scalar(one.operands[0])));
  } else {
    auto* lanes = vector(one.operands[0]);
    auto* all = static_cast<Value*>(llvm::PoisonValue::get(lanes->getType()));
    for (std::uint64_t lane = 0; lane < lanes_; ++lane)
      all = b_.CreateInsertElement(all, take(b_.CreateExtractElement(lanes, lane)), lane);
    set(id, all);
  }
  b_.CreateStore(sum, carried);
}

}  // namespace assay
