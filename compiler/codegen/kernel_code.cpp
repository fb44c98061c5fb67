#include "compiler/codegen/kernel_code.h"

#include <llvm/IR/Verifier.h>

#include <set>

#include "compiler/codegen/kernel_emitter.h"

namespace assay {

using llvm::BasicBlock;
using llvm::Value;

auto KernelEmitter::run(const std::string& name) -> Result<void> {
  ASSAY_TRY_VOID(has_code(kernel_));
  for (const auto& one : kernel_.body.body)
    for (const auto id : one.results) made_by_[id] = &one;
  begin(name);
  plan_passes();
  take_row_memory();
  parallel(0);
  give_row_memory_back();
  b_.CreateBr(exit_);
  exit_->insertInto(function_);
  b_.SetInsertPoint(exit_);
  b_.CreateRetVoid();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyFunction(*function_, &stream))
    return unsupported("the code of {} is broken: {}", kernel_.name, stream.str());
  return {};
}

void KernelEmitter::parallel(std::size_t depth) {
  hoisted(depth);
  if (depth == plan_.parallel.size()) return body();
  if (plan_.has_tiles && depth + 2 == plan_.parallel.size()) return tiles(depth);
  const auto axis = plan_.parallel[depth];
  const bool is_split = depth == 0 && !plan_.is_serial;
  auto* begin = is_split ? static_cast<Value*>(function_->getArg(4)) : b_.getInt64(0);
  auto* end = is_split ? static_cast<Value*>(function_->getArg(5)) : extents_[axis];
  const auto inside = [&](Value* i) {
    indices_[axis] = i;
    parallel(depth + 1);
  };
  if (is_vector_axis(axis)) return vector_loop(begin, end, inside);
  loop(begin, end, 1, [&](Value* i) {
    const auto saved = values_;
    inside(i);
    values_ = saved;
  });
}

void KernelEmitter::hoisted(std::size_t depth) {
  for (const auto& planned : plan_.statements) {
    if ((is_target(planned) && !is_assert(planned)) || planned.level != 0 ||
        (planned.axes & reduced_axes()) != 0)
      continue;
    if (depth_of(planned.axes, plan_.parallel) == depth) emit(*planned.statement);
  }
}

void KernelEmitter::body() {
  for (int level = 0; level < plan_.levels; ++level) {
    for (const auto& planned : plan_.statements) {
      if (planned.reduction || planned.level != level || (planned.axes & reduced_axes()) != 0)
        continue;
      const bool is_store = is_target(planned) && !is_assert(planned);
      if (is_store || level > 0) emit(*planned.statement);
    }
    pass(level);
  }
}

void KernelEmitter::pass(int level) {
  const auto targets = targets_of(level);
  if (targets.empty()) return;
  level_ = level;
  slice_ = slice_of(targets);
  for (const auto* target : targets)
    if (target->reduction) start(*target->reduction);
  for (const auto* planned : slice_)
    if (std::holds_alternative<TileScan>(planned->statement->what)) start_scan(*planned->statement);
  const auto saved = values_;
  nest(0, targets);
  values_ = saved;
  for (const auto* target : targets)
    if (target->reduction) fold(*target->reduction);
}

void KernelEmitter::nest(std::size_t depth, const std::vector<const PlannedStatement*>& targets) {
  for (const auto* planned : slice_) {
    if (depth == 0 || depth_of(planned->axes, plan_.reduced) != depth) continue;
    const auto kept = kept_.find(planned->statement->results[0]);
    if (kept != kept_.end() && kept->second.level < level_) {
      auto* place = row_place(kept->first);
      set(kept->first, b_.CreateAlignedLoad(code_.vector_of(code_.lane_type(dtype(kept->first))),
                                            place, llvm::Align(4)));
      continue;
    }
    emit(*planned->statement);
    if (kept != kept_.end())
      b_.CreateAlignedStore(vector(kept->first), row_place(kept->first), llvm::Align(4));
  }
  if (depth == plan_.reduced.size()) {
    for (const auto* target : targets) {
      if (target->reduction)
        accumulate(*target->reduction);
      else
        emit(*target->statement);
    }
    return;
  }
  const auto axis = plan_.reduced[depth];
  const auto inside = [&](Value* i) {
    indices_[axis] = i;
    nest(depth + 1, targets);
  };
  const bool is_innermost = depth + 1 == plan_.reduced.size();
  const bool has_sums =
      std::ranges::any_of(targets, [](auto* one) { return one->reduction.has_value(); });
  auto* begin = static_cast<Value*>(b_.getInt64(0));
  if (is_innermost && has_sums && slice_.size() <= kUnrolled) {
    const auto step = is_vector_axis(axis) ? static_cast<std::int64_t>(lanes_) : 1;
    begin = unrolled(begin, extents_[axis], step, inside);
    if (slice_.size() <= kLastRound) return last_round(begin, extents_[axis], step, inside);
  }
  if (is_vector_axis(axis)) {
    const auto outer = mask_;
    vector_loop(begin, extents_[axis], inside);
    mask_ = outer;
    return;
  }
  loop(begin, extents_[axis], 1, [&](Value* i) {
    const auto saved = values_;
    inside(i);
    values_ = saved;
  });
}

namespace {

/// Columns are reduced several vectors wide, so that a row is read by more than a cache line: what
/// is kept of them has to fit into registers. So are functions computed that keep a processor
/// waiting.
constexpr unsigned kWide = 4, kMostLanes = 64;
constexpr std::size_t kWideStatements = 12, kWideChain = 40;
auto is_wide(const KernelPlan& plan) -> bool {
  if (plan.vector_axis < 0 || plan.vector_is_reduced || plan.is_serial || plan.has_tiles)
    return false;
  if (plan.reductions.empty())
    return plan.reduced.empty() && plan.statements.size() <= kWideChain &&
           std::ranges::any_of(plan.statements,
                               [](const auto& planned) { return is_chain(*planned.statement); });
  return plan.reductions.size() == 1 && plan.reductions[0].operands.size() == 1 &&
         plan.statements.size() <= kWideStatements;
}

/// A function that calls one of two, by the extent of the vectorised axis.
void emit_choice(llvm::Module& module, const KernelPlan& plan, unsigned wide,
                 const std::string& name) {
  auto* narrow_code = module.getFunction(name + ".narrow");
  auto* wide_code = module.getFunction(name + ".wide");
  auto* function = llvm::Function::Create(narrow_code->getFunctionType(),
                                          llvm::Function::ExternalLinkage, name, module);
  llvm::IRBuilder<> b(BasicBlock::Create(module.getContext(), "entry", function));
  auto* place = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), function->getArg(3),
                                             static_cast<std::uint64_t>(plan.vector_axis));
  auto* fits = b.CreateICmpSGE(b.CreateLoad(b.getInt64Ty(), place), b.getInt64(wide));
  std::vector<Value*> given;
  for (auto& argument : function->args()) given.push_back(&argument);
  auto* many = BasicBlock::Create(module.getContext(), "many", function);
  auto* few = BasicBlock::Create(module.getContext(), "few", function);
  b.CreateCondBr(fits, many, few);
  for (const auto& [block, code] : {std::pair(many, wide_code), std::pair(few, narrow_code)}) {
    code->setLinkage(llvm::Function::InternalLinkage);
    b.SetInsertPoint(block);
    b.CreateCall(code, given);
    b.CreateRetVoid();
  }
}

}  // namespace

auto emit_kernel(llvm::Module& module, const TileKernel& kernel, const KernelPlan& plan,
                 unsigned lanes, const std::string& name) -> Result<void> {
  const auto wide = std::min(lanes * kWide, kMostLanes);
  if (!is_wide(plan) || wide == lanes) return KernelEmitter(module, kernel, plan, lanes).run(name);
  ASSAY_TRY_VOID(KernelEmitter(module, kernel, plan, lanes).run(name + ".narrow"));
  ASSAY_TRY_VOID(KernelEmitter(module, kernel, plan, wide).run(name + ".wide"));
  emit_choice(module, plan, wide, name);
  return {};
}

}  // namespace assay
