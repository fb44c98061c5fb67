// Loads that are contiguous along another axis than the stores: squares, transposed in registers.
#include "compiler/codegen/kernel_emitter.h"

namespace assay {

using llvm::BasicBlock;
using llvm::Value;

/// Squares; what is left at the ends is squares, too, with masks. Beyond what caches hold a column
/// of several comes before the next column, so that few pages are in use at a time.
void KernelEmitter::tiles(std::size_t depth) {
  constexpr std::uint64_t kBlock = 4, kManyElements = std::uint64_t{1} << 19;
  const auto axis = plan_.parallel[depth], across = vector_axis();
  auto* begin = depth == 0 ? static_cast<Value*>(function_->getArg(4)) : b_.getInt64(0);
  auto* end = depth == 0 ? static_cast<Value*>(function_->getArg(5)) : extents_[axis];
  const auto width = static_cast<std::int64_t>(lanes_);
  auto* zero = b_.getInt64(0);
  auto* columns = b_.CreateAnd(extents_[across], b_.getInt64(static_cast<std::uint64_t>(-width)));
  auto* elements = b_.CreateMul(extents_[axis], extents_[across]);
  auto* height = b_.CreateSelect(b_.CreateICmpUGT(elements, b_.getInt64(kManyElements)),
                                 b_.getInt64(kBlock * lanes_), b_.getInt64(lanes_));
  loop(begin, end, height, [&](Value* first) {
    auto* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(first, height), end);
    auto* count = b_.CreateSub(last, first);
    auto* rows =
        b_.CreateAdd(first, b_.CreateAnd(count, b_.getInt64(static_cast<std::uint64_t>(-width))));
    loop(zero, columns, width, [&](Value* j) {
      loop(first, rows, width, [&](Value* i) { square(depth, i, j, nullptr); });
    });
    loop(first, last, width, [&](Value* i) {
      auto* from = b_.CreateSelect(b_.CreateICmpSLT(i, rows), columns, zero);
      loop(from, extents_[across], width, [&](Value* j) { square(depth, i, j, end); });
    });
  });
}

/// With an `end` the square may reach beyond it and beyond the extent of the vectorised axis.
void KernelEmitter::square(std::size_t depth, Value* i, Value* j, Value* end) {
  const auto axis = plan_.parallel[depth], across = vector_axis();
  const auto saved = values_;
  const auto lanes_before = [&](Value* last, Value* first) {
    return first_lanes(b_.CreateSub(last, first));
  };
  auto* loaded = end == nullptr ? nullptr : lanes_before(end, i);
  for (const auto& planned : plan_.statements) {
    if (!planned.is_tiled) continue;
    const auto param = std::get<TileLoad>(planned.statement->what).param;
    const auto of = kernel_.params[param].dtype;
    auto* type = code_.vector_of(code_.memory_type(of));
    auto* none = llvm::Constant::getNullValue(type);
    const llvm::Align align(static_cast<std::uint64_t>(size_bytes(of)));
    std::vector<Value*> rows;
    indices_[axis] = i;
    for (unsigned k = 0; k < lanes_; ++k) {
      indices_[across] = b_.CreateAdd(j, b_.getInt64(k));
      auto* place = address(param, lane_index(planned.statement->operands[0]));
      if (end == nullptr) {
        rows.push_back(b_.CreateAlignedLoad(type, place, align));
        continue;
      }
      auto* is_there = b_.CreateICmpSLT(indices_[across], extents_[across]);
      rows.push_back(loaded_if(
          is_there, none, [&] { return b_.CreateMaskedLoad(type, place, align, loaded, none); }));
    }
    tiles_[planned.statement] = code_.transposed(std::move(rows));
  }
  indices_[across] = j;
  if (end != nullptr) mask_ = lanes_before(extents_[across], j);
  auto* behind =
      end == nullptr ? nullptr : BasicBlock::Create(module_.getContext(), "behind", function_);
  for (unsigned k = 0; k < lanes_; ++k) {
    tile_row_ = k;
    indices_[axis] = b_.CreateAdd(i, b_.getInt64(k));
    if (end != nullptr) {
      auto* more = BasicBlock::Create(module_.getContext(), "more", function_);
      b_.CreateCondBr(b_.CreateICmpSLT(indices_[axis], end), more, behind);
      b_.SetInsertPoint(more);
    }
    hoisted(depth + 1);
    parallel(depth + 2);
    values_ = saved;
  }
  tiles_.clear();
  mask_ = nullptr;
  if (end == nullptr) return;
  b_.CreateBr(behind);
  b_.SetInsertPoint(behind);
}

auto KernelEmitter::lane_index(TileId id) -> Value* {
  const auto& made = *made_by_.at(id);
  if (const auto* index = std::get_if<TileIndex>(&made.what)) return indices_[index->axis];
  if (const auto* param = std::get_if<TileParamValue>(&made.what)) return scalars_[param->param];
  if (const auto* number = std::get_if<TileConstant>(&made.what))
    return code_.constant(DType::int64, std::get<std::int64_t>(number->value));
  std::vector<Value*> operands;
  for (const auto operand : made.operands) operands.push_back(lane_index(operand));
  return code_.compute(std::get<TileCompute>(made.what).op, operands, DType::int64, DType::int64);
}

}  // namespace assay
