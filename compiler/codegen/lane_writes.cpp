// Writes of lanes that may meet.
#include "compiler/codegen/lane_code.h"

namespace assay {

using llvm::BasicBlock;
using llvm::Value;

void LaneCode::write_neighbours(Value* place, Value* values, Value* mask,
                                std::optional<TileOp> combine, DType of) {
  const llvm::Align align(static_cast<std::uint64_t>(size_bytes(of)));
  auto* lanes = vector_of(memory_type(of));
  if (combine) {
    auto* raw = b_.CreateMaskedLoad(lanes, place, align, mask, llvm::Constant::getNullValue(lanes));
    values = compute(*combine, {from_memory(raw, of), values}, of, of);
  }
  b_.CreateMaskedStore(to_memory(values, of), place, align, mask);
}

void LaneCode::write_in_order(const std::vector<Value*>& places, Value* values, Value* mask,
                              std::optional<TileOp> combine, DType of) {
  auto* function = b_.GetInsertBlock()->getParent();
  auto* type = memory_type(of);
  for (std::size_t lane = 0; lane < places.size(); ++lane) {
    auto* there = BasicBlock::Create(b_.getContext(), "write", function);
    auto* after = BasicBlock::Create(b_.getContext(), "written", function);
    b_.CreateCondBr(b_.CreateExtractElement(mask, std::uint64_t{lane}), there, after);
    b_.SetInsertPoint(there);
    auto* value = b_.CreateExtractElement(values, std::uint64_t{lane});
    if (combine)
      value =
          compute(*combine, {from_memory(b_.CreateLoad(type, places[lane]), of), value}, of, of);
    b_.CreateStore(to_memory(value, of), places[lane]);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
}

}  // namespace assay
