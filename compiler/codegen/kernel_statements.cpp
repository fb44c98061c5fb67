// Statements of a kernel on the lanes of one axis: arithmetic, loads, stores.
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/codegen/random_code.h"

namespace assay {

using llvm::BasicBlock;
using llvm::Value;

auto KernelEmitter::vector(TileId id) -> Value* {
  auto& value = values_.at(id);
  if (value.vector != nullptr) return value.vector;
  auto* all = code_.splat(value.scalar);
  if (value.step != 0) {
    auto* steps =
        b_.CreateMul(iota(), code_.splat(b_.getInt64(static_cast<std::uint64_t>(value.step))));
    all = b_.CreateAdd(all, steps);
  }
  return all;
}

void KernelEmitter::set(TileId id, Value* value) {
  if (value->getType()->isVectorTy())
    values_[id] = {value, nullptr, 0};
  else
    values_[id] = {nullptr, value, 0};
}

void KernelEmitter::statement(const TileStatement& one, const TileConstant& what) {
  const auto id = one.results[0];
  auto* value =
      std::visit([&](auto number) { return code_.constant(dtype(id), number); }, what.value);
  set(id, code_.rounded(value, dtype(id)));
}

void KernelEmitter::statement(const TileStatement& one, const TileParamValue& what) {
  set(one.results[0], scalars_[what.param]);
}

void KernelEmitter::statement(const TileStatement& one, const TileIndex& what) {
  set(one.results[0], LaneValue{nullptr, indices_[what.axis], is_vector_axis(what.axis) ? 1 : 0});
}

auto KernelEmitter::affine(const TileStatement& one, TileOp op) -> bool {
  if (one.operands.size() != 2 || dtype(one.results[0]) != DType::int64) return false;
  const auto& a = values_.at(one.operands[0]);
  const auto& b = values_.at(one.operands[1]);
  if (a.scalar == nullptr || b.scalar == nullptr) return false;
  if (op == TileOp::add)
    return set(one.results[0], {nullptr, b_.CreateAdd(a.scalar, b.scalar), a.step + b.step}), true;
  if (op == TileOp::sub)
    return set(one.results[0], {nullptr, b_.CreateSub(a.scalar, b.scalar), a.step - b.step}), true;
  if (op != TileOp::mul || (a.step != 0 && b.step != 0)) return false;
  auto* by = llvm::dyn_cast<llvm::ConstantInt>(a.step != 0 ? b.scalar : a.scalar);
  const auto step = a.step + b.step;
  if (step != 0 && by == nullptr) return false;
  set(one.results[0],
      {nullptr, b_.CreateMul(a.scalar, b.scalar), step == 0 ? 0 : step * by->getSExtValue()});
  return true;
}

void KernelEmitter::statement(const TileStatement& one, const TileCompute& what) {
  if (affine(one, what.op)) return;
  const auto id = one.results[0];
  const bool is_vector = varies(id);
  std::vector<Value*> operands;
  for (const auto operand : one.operands)
    operands.push_back(is_vector ? vector(operand) : scalar(operand));
  const auto from = dtype(one.operands.back());
  set(id, code_.compute(what.op, operands, from, dtype(id)));
}

void KernelEmitter::statement(const TileStatement& one, const TileRandom& what) {
  const auto id = one.results[0];
  std::vector<Value*> operands;
  for (const auto operand : one.operands) {
    auto* value = varies(id) ? vector(operand) : scalar(operand);
    operands.push_back(code_.compute(TileOp::cast, {value}, dtype(operand), DType::int64));
  }
  set(id, RandomCode(b_, code_).number(what, operands, dtype(id)));
}

auto KernelEmitter::mask_of(TileId id) -> Value* {
  auto* given = id == kNoTile ? nullptr : vector(id);
  if (given == nullptr) return mask_;
  return mask_ == nullptr ? given : b_.CreateAnd(given, mask_);
}

void KernelEmitter::statement(const TileStatement& one, const TileLoad& what) {
  const auto id = one.results[0];
  const auto of = dtype(id);
  auto* type = code_.memory_type(of);
  const llvm::Align align(static_cast<std::uint64_t>(size_bytes(of)));
  const auto index = one.operands[0];
  if (const auto tile = tiles_.find(&one); tile != tiles_.end())
    return set(id, code_.from_memory(tile->second[tile_row_], of));
  if (!varies(id)) return scalar_load(one, what);
  auto* lanes = code_.vector_of(type);
  auto* mask = mask_of(one.operands[1]);
  auto* none = llvm::Constant::getNullValue(lanes);
  const auto& at = values_.at(index);
  Value* raw = nullptr;
  if (at.scalar != nullptr && at.step == 1) {
    auto* place = address(what.param, at.scalar);
    if (mask == nullptr)
      raw = b_.CreateAlignedLoad(lanes, place, align);
    else if (one.operands[1] == kNoTile)
      raw = b_.CreateMaskedLoad(lanes, place, align, mask, none);
    else  // a load without lanes takes hundreds of cycles where nothing is mapped
      raw = loaded_if(b_.CreateOrReduce(mask), none,
                      [&] { return b_.CreateMaskedLoad(lanes, place, align, mask, none); });
  } else {
    raw = b_.CreateMaskedGather(lanes, address(what.param, vector(index)), align,
                                mask == nullptr ? all_lanes() : mask, none);
  }
  set(id, code_.from_memory(raw, of));
}

void KernelEmitter::scalar_load(const TileStatement& one, const TileLoad& what) {
  const auto of = dtype(one.results[0]);
  auto* type = code_.memory_type(of);
  auto* index = scalar(one.operands[0]);
  if (one.operands[1] == kNoTile) {
    auto* raw = b_.CreateLoad(type, address(what.param, index));
    return set(one.results[0], code_.from_memory(raw, of));
  }
  auto* raw = loaded_if(scalar(one.operands[1]), llvm::Constant::getNullValue(type),
                        [&] { return b_.CreateLoad(type, address(what.param, index)); });
  set(one.results[0], code_.from_memory(raw, of));
}

void KernelEmitter::statement(const TileStatement& one, const TileAssert&) {
  const bool is_vector =
      varies(one.operands[0]) || (one.operands[1] != kNoTile && varies(one.operands[1]));
  Value* failed = nullptr;
  if (is_vector) {
    failed = b_.CreateNot(vector(one.operands[0]));
    if (auto* mask = mask_of(one.operands[1]); mask != nullptr) failed = b_.CreateAnd(failed, mask);
    failed = b_.CreateOrReduce(failed);
  } else {
    failed = b_.CreateNot(scalar(one.operands[0]));
    if (one.operands[1] != kNoTile) failed = b_.CreateAnd(failed, scalar(one.operands[1]));
  }
  auto* wrong = BasicBlock::Create(module_.getContext(), "wrong", function_);
  auto* after = BasicBlock::Create(module_.getContext(), "right", function_);
  b_.CreateCondBr(failed, wrong, after);
  b_.SetInsertPoint(wrong);
  const auto number = 1 + (&one - kernel_.body.body.data());
  auto* place = element(function_->getArg(0), b_.getPtrTy(), kernel_.params.size());
  auto* store =
      b_.CreateAlignedStore(b_.getInt64(static_cast<std::uint64_t>(number)), place, llvm::Align(8));
  store->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void KernelEmitter::statement(const TileStatement& one, const TileStore& what) {
  const auto of = kernel_.params[what.param].dtype;
  const llvm::Align align(static_cast<std::uint64_t>(size_bytes(of)));
  const auto index = one.operands[0];
  if (!varies(index)) {
    auto* value = scalar(one.operands[1]);
    b_.CreateStore(code_.to_memory(value, of), address(what.param, scalar(index)));
    return;
  }
  auto* value = code_.to_memory(vector(one.operands[1]), of);
  auto* mask = mask_of(one.operands[2]);
  const auto& at = values_.at(index);
  if (at.scalar != nullptr && at.step == 1) {
    auto* place = address(what.param, at.scalar);
    if (mask == nullptr)
      b_.CreateAlignedStore(value, place, align);
    else
      b_.CreateMaskedStore(value, place, align, mask);
    return;
  }
  b_.CreateMaskedScatter(value, address(what.param, vector(index)), align,
                         mask == nullptr ? all_lanes() : mask);
}

void KernelEmitter::statement(const TileStatement& one, const TileAtomic& what) {
  const auto of = kernel_.params[what.param].dtype;
  const auto combine = what.is_exchange ? std::nullopt : std::optional(what.op);
  const auto& at = values_.at(one.operands[0]);
  auto* values = vector(one.operands[1]);
  auto* mask = mask_of(one.operands[2]);
  if (mask == nullptr) mask = all_lanes();
  if (at.scalar != nullptr && at.step == 1)
    return code_.write_neighbours(address(what.param, at.scalar), values, mask, combine, of);
  auto* indices = vector(one.operands[0]);
  std::vector<Value*> places;
  for (unsigned lane = 0; lane < lanes_; ++lane)
    places.push_back(address(what.param, b_.CreateExtractElement(indices, std::uint64_t{lane})));
  code_.write_in_order(places, values, mask, combine, of);
}

}  // namespace assay
