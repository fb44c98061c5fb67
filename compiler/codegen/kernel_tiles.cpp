// Loads that are contiguous along another axis than the stores: squares, transposed in registers.
#include "compiler/codegen/kernel_emitter.h"

namespace assay {

using llvm::BasicBlock;
using llvm::Value;

void KernelEmitter::tiles(std::size_t depth) {
  const auto axis = plan_.parallel[depth], across = vector_axis();
  auto* begin = depth == 0 ? static_cast<Value*>(function_->getArg(4)) : b_.getInt64(0);
  auto* end = depth == 0 ? static_cast<Value*>(function_->getArg(5)) : extents_[axis];
  const auto width = static_cast<std::int64_t>(lanes_);
  const auto whole_of = [&](Value* from, Value* to) {
    auto* count = b_.CreateSub(to, from);
    return b_.CreateAdd(from, b_.CreateAnd(count, b_.getInt64(static_cast<std::uint64_t>(-width))));
  };
  auto* zero = b_.getInt64(0);
  auto* rows = whole_of(begin, end);
  auto* columns = whole_of(zero, extents_[across]);
  const auto saved = values_;
  const auto row = [&](Value* i, Value* from) {
    indices_[axis] = i;
    hoisted(depth + 1);
    vector_loop(from, extents_[across], [&](Value* j) {
      indices_[across] = j;
      parallel(depth + 2);
    });
    values_ = saved;
  };
  loop(begin, rows, width, [&](Value* i) {
    loop(zero, columns, width, [&](Value* j) { square(depth, i, j); });
    loop(i, b_.CreateAdd(i, b_.getInt64(lanes_)), 1, [&](Value* k) { row(k, columns); });
  });
  loop(rows, end, 1, [&](Value* i) { row(i, zero); });
}

void KernelEmitter::square(std::size_t depth, Value* i, Value* j) {
  const auto axis = plan_.parallel[depth], across = vector_axis();
  const auto saved = values_;
  for (const auto& planned : plan_.statements) {
    if (!planned.is_tiled) continue;
    const auto param = std::get<TileLoad>(planned.statement->what).param;
    const auto of = kernel_.params[param].dtype;
    auto* type = code_.vector_of(code_.memory_type(of));
    const llvm::Align align(static_cast<std::uint64_t>(size_bytes(of)));
    std::vector<Value*> rows;
    indices_[axis] = i;
    for (unsigned k = 0; k < lanes_; ++k) {
      indices_[across] = b_.CreateAdd(j, b_.getInt64(k));
      auto* index = lane_index(planned.statement->operands[0]);
      rows.push_back(b_.CreateAlignedLoad(type, address(param, index), align));
    }
    tiles_[planned.statement] = code_.transposed(std::move(rows));
  }
  indices_[across] = j;
  for (unsigned k = 0; k < lanes_; ++k) {
    tile_row_ = k;
    indices_[axis] = b_.CreateAdd(i, b_.getInt64(k));
    hoisted(depth + 1);
    parallel(depth + 2);
    values_ = saved;
  }
  tiles_.clear();
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
