// What the code of every kernel stands in: its function, arguments and loops. Internal to
// compiler/codegen; whole in this header.
#pragma once
#include <llvm/IR/Module.h>

#include <algorithm>
#include <string>
#include <vector>

#include "compiler/codegen/combine_code.h"
#include "compiler/codegen/lane_code.h"
#include "compiler/program/kernel_plan.h"

namespace assay {

/// A value that was emitted: a vector, or a scalar; indices that move with the lanes by a constant
/// are kept as the index of the first lane.
struct LaneValue {
  llvm::Value* vector = nullptr;
  llvm::Value* scalar = nullptr;
  std::int64_t step = 0;  ///< of `scalar` from lane to lane
};

/// Statements of a loop's body that are worth repeating for each partial result.
inline constexpr std::size_t kUnrolled = 40;
/// The same, of what is left behind the last whole round.
inline constexpr std::size_t kLastRound = 16;

class KernelFrame {
 protected:
  using Value = llvm::Value;
  using BasicBlock = llvm::BasicBlock;

 public:
  KernelFrame(llvm::Module& module, const TileKernel& kernel, const KernelPlan& plan,
              unsigned lanes)
      : module_(module),
        kernel_(kernel),
        plan_(plan),
        lanes_(lanes),
        b_(module.getContext()),
        code_(b_, lanes),
        combine_(b_, code_),
        indices_(kernel.axes.size()) {}

 protected:
  void begin(const std::string& name) {
    auto* ptr = b_.getPtrTy();
    auto* i64 = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, ptr, i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
    b_.SetInsertPoint(BasicBlock::Create(module_.getContext(), "entry", function_));
    exit_ = BasicBlock::Create(module_.getContext(), "exit");
    arguments();
  }

  [[nodiscard]] auto vector_axis() const -> std::size_t {
    return static_cast<std::size_t>(plan_.vector_axis);
  }
  [[nodiscard]] auto is_vector_axis(std::size_t axis) const -> bool {
    return plan_.vector_axis >= 0 && axis == vector_axis();
  }
  [[nodiscard]] auto varies(TileId id) const -> bool {
    return plan_.vector_axis >= 0 && (kernel_.type(id).axes >> vector_axis() & 1U) != 0;
  }
  [[nodiscard]] auto dtype(TileId id) const -> DType { return kernel_.type(id).dtype; }

  auto element(llvm::Argument* array, llvm::Type* type, std::size_t i) -> Value* {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(type, array, i));
  }

  void arguments() {
    pointers_.resize(kernel_.params.size());
    scalars_.resize(kernel_.params.size());
    for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
      const auto& param = kernel_.params[i];
      if (param.kind == TileParam::Kind::buffer)
        pointers_[i] = element(function_->getArg(0), b_.getPtrTy(), i);
      else if (is_floating(param.dtype))
        scalars_[i] = element(function_->getArg(2), b_.getDoubleTy(), i);
      else
        scalars_[i] = element(function_->getArg(1), b_.getInt64Ty(), i);
    }
    // Nothing runs where an axis is empty, also not what stands before the loops.
    Value* runs = b_.getTrue();
    for (std::size_t i = 0; i < kernel_.axes.size(); ++i) {
      extents_.push_back(element(function_->getArg(3), b_.getInt64Ty(), i));
      const bool is_reduced = std::ranges::count(plan_.reduced, i) > 0;
      if (!is_reduced) runs = b_.CreateAnd(runs, b_.CreateICmpSGT(extents_.back(), b_.getInt64(0)));
    }
    auto* start = BasicBlock::Create(module_.getContext(), "start", function_);
    b_.CreateCondBr(runs, start, exit_);
    b_.SetInsertPoint(start);
  }

  /// `for (i = begin; i < end; i += step) body(i)`
  template <class Body>
  void loop(Value* begin, Value* end, std::int64_t step, const Body& body) {
    loop(begin, end, b_.getInt64(static_cast<std::uint64_t>(step)), body);
  }
  template <class Body>
  void loop(Value* begin, Value* end, Value* step, const Body& body) {
    auto* before = b_.GetInsertBlock();
    auto* head = BasicBlock::Create(module_.getContext(), "head", function_);
    auto* inside = BasicBlock::Create(module_.getContext(), "loop", function_);
    auto* after = BasicBlock::Create(module_.getContext(), "after", function_);
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    auto* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(begin, before);
    b_.CreateCondBr(b_.CreateICmpSLT(i, end), inside, after);
    b_.SetInsertPoint(inside);
    body(i);
    i->addIncoming(b_.CreateAdd(i, step), b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  auto iota() -> Value* {
    std::vector<llvm::Constant*> lanes;
    for (unsigned i = 0; i < lanes_; ++i) lanes.push_back(b_.getInt64(i));
    return llvm::ConstantVector::get(lanes);
  }

  /// Lanes whose number is below `count`: 32 bits are enough for those, and half as many vectors.
  auto first_lanes(Value* count) -> Value* {
    auto* most = b_.getInt64(lanes_);
    auto* few = b_.CreateSelect(b_.CreateICmpULT(count, most), count, most);
    std::vector<llvm::Constant*> lanes;
    for (unsigned i = 0; i < lanes_; ++i) lanes.push_back(b_.getInt32(i));
    return b_.CreateICmpULT(llvm::ConstantVector::get(lanes),
                            code_.splat(b_.CreateTrunc(few, b_.getInt32Ty())));
  }

  auto all_lanes() -> Value* { return code_.splat(b_.getTrue()); }

  auto address(std::size_t param, Value* index) -> Value* {
    return b_.CreateGEP(code_.memory_type(kernel_.params[param].dtype), pointers_[param], index);
  }

  llvm::Module& module_;
  const TileKernel& kernel_;
  const KernelPlan& plan_;
  unsigned lanes_;
  llvm::IRBuilder<> b_;
  LaneCode code_;
  CombineCode combine_;
  llvm::Function* function_ = nullptr;
  BasicBlock* exit_ = nullptr;
  std::vector<Value*> pointers_, scalars_, extents_, indices_;
};

}  // namespace assay
