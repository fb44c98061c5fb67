// Passes over the reduced axes: what each needs, and what is kept between them.
#include <algorithm>
#include <set>

#include "compiler/codegen/kernel_emitter.h"

namespace assay {

using llvm::BasicBlock;
using llvm::Value;

auto KernelEmitter::targets_of(int level) const -> std::vector<const PlannedStatement*> {
  std::vector<const PlannedStatement*> targets;
  for (const auto& planned : plan_.statements)
    if (is_target(planned) && planned.level == level && (planned.axes & reduced_axes()) != 0)
      targets.push_back(&planned);
  return targets;
}

/// What the targets of the pass at hand need that varies over reduced axes, in order. What an
/// earlier pass has kept needs nothing.
auto KernelEmitter::slice_of(const std::vector<const PlannedStatement*>& targets) const
    -> std::vector<const PlannedStatement*> {
  std::set<TileId> wanted;
  for (const auto* target : targets)
    for (const auto id : operands_of(*target)) wanted.insert(id);
  std::vector<const PlannedStatement*> slice;
  for (auto at = plan_.statements.rbegin(); at != plan_.statements.rend(); ++at) {
    if (is_target(*at) || (at->axes & reduced_axes()) == 0) continue;
    const auto made = at->statement->results[0];
    if (!wanted.contains(made)) continue;
    slice.push_back(&*at);
    const auto kept = kept_.find(made);
    if (kept != kept_.end() && kept->second.level < level_) continue;
    for (const auto id : at->statement->operands) wanted.insert(id);
  }
  std::ranges::reverse(slice);
  return slice;
}

/// Functions that several passes need are computed in the first of them. Not where there are scans:
/// what they carry belongs to their pass.
void KernelEmitter::plan_passes() {
  const bool has_scans = std::ranges::any_of(plan_.statements, [](const auto& planned) {
    return std::holds_alternative<TileScan>(planned.statement->what);
  });
  if (plan_.reduced.size() != 1 || has_scans) return;
  std::map<TileId, int> first;
  for (level_ = 0; level_ < plan_.levels; ++level_) {
    for (const auto* planned : slice_of(targets_of(level_))) {
      const auto id = planned->statement->results[0];
      if (!is_chain(*planned->statement) || !varies(id)) continue;
      const auto [known, is_new] = first.emplace(id, level_);
      if (!is_new) kept_.emplace(id, KeptRow{known->second, kept_.size()});
    }
  }
  level_ = 0;
}

/// Rows of `row_bytes_`, one for each value that is kept: on the stack where they are small.
void KernelEmitter::take_row_memory() {
  if (kept_.empty()) return;
  constexpr std::uint64_t kWidest = 8, kOnStack = std::uint64_t{1} << 16;
  auto* extent = extents_[plan_.reduced[0]];
  auto* lanes = b_.getInt64(lanes_);
  auto* elements =
      plan_.vector_is_reduced ? b_.CreateAdd(extent, lanes) : b_.CreateMul(extent, lanes);
  row_bytes_ = b_.CreateMul(elements, b_.getInt64(kWidest));
  auto* all = b_.CreateMul(row_bytes_, b_.getInt64(kept_.size()));
  rows_are_large_ = b_.CreateICmpUGT(all, b_.getInt64(kOnStack));
  auto* small =
      b_.CreateAlloca(b_.getInt8Ty(), b_.CreateSelect(rows_are_large_, b_.getInt64(0), all));
  small->setAlignment(llvm::Align(64));
  auto* before = b_.GetInsertBlock();
  auto* many = BasicBlock::Create(module_.getContext(), "many", function_);
  auto* taken = BasicBlock::Create(module_.getContext(), "taken", function_);
  b_.CreateCondBr(rows_are_large_, many, taken);
  b_.SetInsertPoint(many);
  auto* large =
      b_.CreateCall(module_.getOrInsertFunction("malloc", b_.getPtrTy(), b_.getInt64Ty()), {all});
  b_.CreateBr(taken);
  b_.SetInsertPoint(taken);
  auto* rows = b_.CreatePHI(b_.getPtrTy(), 2);
  rows->addIncoming(small, before);
  rows->addIncoming(large, many);
  rows_ = rows;
}

void KernelEmitter::give_row_memory_back() {
  if (kept_.empty()) return;
  auto* many = BasicBlock::Create(module_.getContext(), "many", function_);
  auto* given = BasicBlock::Create(module_.getContext(), "given", function_);
  b_.CreateCondBr(rows_are_large_, many, given);
  b_.SetInsertPoint(many);
  b_.CreateCall(module_.getOrInsertFunction("free", b_.getVoidTy(), b_.getPtrTy()), {rows_});
  b_.CreateBr(given);
  b_.SetInsertPoint(given);
}

/// Where the lanes at hand of a kept value stand.
auto KernelEmitter::row_place(TileId id) -> Value* {
  auto* row = b_.CreateGEP(b_.getInt8Ty(), rows_,
                           b_.CreateMul(row_bytes_, b_.getInt64(kept_.at(id).number)));
  auto* at = indices_[plan_.reduced[0]];
  if (!plan_.vector_is_reduced) at = b_.CreateMul(at, b_.getInt64(lanes_));
  return b_.CreateGEP(code_.lane_type(dtype(id)), row, at);
}

}  // namespace assay
