// Values, control and arithmetic of a thread.
#include "compiler/codegen/gpu_kernel.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

namespace assay {
namespace {

using llvm::BasicBlock;

constexpr unsigned kGlobal = 1, kShared = 3;
constexpr int kBfloatConversions = 80;  ///< architectures from here on round to bfloat16

}  // namespace

GpuState::GpuState(llvm::Module& module, const PtxRequest& request, const PtxOptions& options)
    : module_(module),
      kernel_(*request.kernel),
      layout_(&request.layout),
      b_(module.getContext()),
      code_(b_, 1),
      combine_(b_, code_),
      is_checked_(options.is_checked),
      begins_early_(options.begins_early()),
      architecture_(options.architecture),
      most_registers_(request.most_registers),
      steps_(kernel_) {}

GpuKernelEmitter::GpuKernelEmitter(llvm::Module& module, const PtxRequest& request,
                                   const PtxOptions& options)
    : GpuState(module, request, options) {}

void GpuKernelEmitter::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

auto GpuKernelEmitter::run(const std::string& name) -> Result<void> {
  ASSAY_TRY_VOID(has_code(kernel_));
  ASSAY_TRY(dots_, dot_axes(kernel_));
  if (is_checked_) find_passed_on();
  entry(name);
  if (layout_->is_placed())
    in_chunks(kernel_.body.body);
  else
    region(kernel_.body);
  if (layout_->is_placed()) leave_places();
  b_.CreateRetVoid();
  if (!error_.empty()) return unsupported("{}", error_);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyFunction(*function_, &stream))
    return unsupported("the code of {} is broken: {}", kernel_.name, stream.str());
  return {};
}

/// Eight bytes per parameter; what a number is in the kernel follows from its dtype there.
void GpuKernelEmitter::entry(const std::string& name) {
  auto* pointer = b_.getPtrTy(kGlobal);
  std::vector<llvm::Type*> types;
  for (const auto& param : kernel_.params)
    types.push_back(param.kind == TileParam::Kind::buffer ? static_cast<llvm::Type*>(pointer)
                    : is_floating(param.dtype)            ? b_.getDoubleTy()
                                                          : b_.getInt64Ty());
  for (const auto& param : kernel_.params)
    if (is_checked_ && param.kind == TileParam::Kind::buffer)
      types.insert(types.end(), 4, b_.getInt64Ty());
  types.push_back(pointer);
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  // The attributes that bound a block are ignored by LLVM 19, its metadata is not.
  auto& context = module_.getContext();
  const auto note = [&](const char* key, unsigned value) {
    llvm::Metadata* parts[] = {llvm::ValueAsMetadata::get(function_),
                               llvm::MDString::get(context, key),
                               llvm::ConstantAsMetadata::get(b_.getInt32(value))};
    module_.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(context, parts));
  };
  note("kernel", 1);
  note("maxntidx", static_cast<unsigned>(layout_->threads()));
  if (most_registers_ > 0 && !is_checked_) note("maxnreg", static_cast<unsigned>(most_registers_));
  for (auto& argument : function_->args()) params_.push_back(&argument);
  const auto count = kernel_.params.size();
  record_ = params_.back();
  for (std::size_t i = 0, at = count; i < count && is_checked_; ++i)
    if (kernel_.params[i].kind == TileParam::Kind::buffer) {
      watched_[i] = {params_[at], params_[at + 1], params_[at + 2], params_[at + 3]};
      at += 4;
    }
  b_.SetInsertPoint(BasicBlock::Create(context, "entry", function_));
  code_.use_bfloat_conversions(architecture_ >= kBfloatConversions);
  // What comes behind may begin when all blocks have, and waits in its turn.
  if (begins_early_)
    assembly("griddepcontrol.launch_dependents; griddepcontrol.wait;", "~{memory}", {}, nullptr);
  thread_ = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
  if (is_checked_) tell_arguments();
  if (layout_->is_placed()) enter_places();
  // Room for one value of eight bytes per thread.
  auto* room = llvm::ArrayType::get(b_.getInt64Ty(), static_cast<unsigned>(layout_->threads()));
  shared_ = new llvm::GlobalVariable(module_, room, false, llvm::GlobalValue::InternalLinkage,
                                     llvm::UndefValue::get(room), "exchange", nullptr,
                                     llvm::GlobalValue::NotThreadLocal, kShared);
  shared_->setAlignment(llvm::Align(16));
}

// Values

auto GpuKernelEmitter::varies(AxisSet axes) const -> bool {
  return !is_single_lane_ && layout_->register_mask(axes) != 0;
}

auto GpuKernelEmitter::lanes(TileId id) -> Values {
  Values all;
  for (int i = 0; i < layout_->registers(); ++i)
    all.push_back(is_active(i) ? lane(id, i) : nullptr);
  return all;
}

void GpuKernelEmitter::set(TileId id, Values lanes) {
  if (!varies(axes(id)))
    set(id, lanes[0]);
  else
    values_[id] = {std::move(lanes), layout_->register_mask(axes(id)), {}};
}

auto GpuKernelEmitter::distinct(AxisSet axes) const -> std::vector<int> {
  if (!varies(axes)) return {0};
  const auto mask = static_cast<int>(layout_->register_mask(axes));
  std::set<int> known;
  std::vector<int> all;
  for (int at = 0; at < layout_->registers(); ++at)
    if (const int i = in_order(at); is_active(i) && known.insert(i & mask).second)
      all.push_back(i & mask);
  return all;
}

auto GpuKernelEmitter::per_lane(AxisSet axes, const std::function<Value*(int)>& of) -> Values {
  if (!varies(axes)) return {of(0)};
  const auto mask = static_cast<int>(layout_->register_mask(axes));
  Values all(static_cast<std::size_t>(layout_->registers()));
  for (const int i : distinct(axes)) all[static_cast<std::size_t>(i)] = of(i);
  for (int i = 0; i < layout_->registers(); ++i)
    if (is_active(i)) all[static_cast<std::size_t>(i)] = all[static_cast<std::size_t>(i & mask)];
  return all;
}

auto GpuKernelEmitter::as_int64(Value* value, DType of) -> Value* {
  const bool is_signed = info(of).kind == DTypeKind::signed_integer;
  return is_signed ? b_.CreateSExtOrTrunc(value, b_.getInt64Ty())
                   : b_.CreateZExtOrTrunc(value, b_.getInt64Ty());
}

// Control

template <class T>
void GpuKernelEmitter::statement(const TileStatement& one, const T&) {
  fail(fmt::format("line {}: a statement that has no code for GPUs", one.line));
}

void GpuKernelEmitter::emit(const TileStatement& one) {
  if (dots_ && !makes_operand_ && is_left_to_products(one)) return;
  if (is_checked_) choose_unwritten(one);
  const bool may_write = windows_ && !GpuWindows::is_straight(one);
  if (may_write) windows_->forget();
  std::visit([&](const auto& what) { statement(one, what); }, one.what);
  if (may_write) windows_->forget();
}

void GpuKernelEmitter::barrier() {
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
}

void GpuKernelEmitter::when(Value* condition, const std::function<void()>& then) {
  if (condition == nullptr) return then();
  auto* inside = BasicBlock::Create(module_.getContext(), "then", function_);
  auto* after = BasicBlock::Create(module_.getContext(), "after", function_);
  b_.CreateCondBr(condition, inside, after);
  b_.SetInsertPoint(inside);
  then();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

auto GpuKernelEmitter::either(Value* condition, const std::function<Values()>& then,
                              const std::function<Values()>& otherwise) -> Values {
  auto* one = BasicBlock::Create(module_.getContext(), "then", function_);
  auto* other = BasicBlock::Create(module_.getContext(), "otherwise", function_);
  auto* after = BasicBlock::Create(module_.getContext(), "after", function_);
  b_.CreateCondBr(condition, one, other);
  const auto in_block = [&](BasicBlock* block, const std::function<Values()>& code) {
    b_.SetInsertPoint(block);
    auto values = code();
    auto* end = b_.GetInsertBlock();
    b_.CreateBr(after);
    return std::pair(std::move(values), end);
  };
  const auto [first, first_end] = in_block(one, then);
  const auto [second, second_end] = in_block(other, otherwise);
  b_.SetInsertPoint(after);
  Values joined;
  for (std::size_t i = 0; i < first.size(); ++i) {
    auto* phi = b_.CreatePHI(first[i]->getType(), 2);
    phi->addIncoming(first[i], first_end);
    phi->addIncoming(second[i], second_end);
    joined.push_back(phi);
  }
  return joined;
}

/// A false assert leaves its line for the host, and its thread is over.
void GpuKernelEmitter::statement(const TileStatement& one, const TileAssert&) {
  if (!kernel_.asserts_are_on) return;
  Value* failed = b_.getFalse();
  const auto over = axes(one.operands[0]) | axes(one.operands[1]);
  for (auto* one_failed : per_lane(over, [&](int i) -> Value* {
         auto* wrong = b_.CreateNot(lane(one.operands[0], i));
         return one.operands[1] == kNoTile ? wrong : b_.CreateAnd(wrong, lane(one.operands[1], i));
       }))
    failed = b_.CreateOr(failed, one_failed);
  when(failed, [&] {
    record(one.line, b_.getInt64(~std::uint64_t{0}), b_.getInt64(0), GpuFault::false_assert);
    auto* leave = llvm::FunctionType::get(b_.getVoidTy(), false);
    b_.CreateCall(llvm::InlineAsm::get(leave, "membar.sys; exit;", "~{memory}", true));
  });
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileLoop&) {
  const auto& body = one.regions[0];
  auto* begin = lane(one.operands[0], 0);
  auto* end = lane(one.operands[1], 0);
  auto* step = lane(one.operands[2], 0);
  const auto entering = [&] {
    std::vector<Values> all;
    for (std::size_t i = 0; i + 1 < body.params.size(); ++i)
      all.push_back(per_lane(axes(body.params[i + 1]),
                             [&](int at) { return lane(one.operands[i + 3], at); }));
    return all;
  }();
  auto* before = b_.GetInsertBlock();
  auto* head = BasicBlock::Create(module_.getContext(), "head", function_);
  auto* inside = BasicBlock::Create(module_.getContext(), "loop", function_);
  auto* after = BasicBlock::Create(module_.getContext(), "after", function_);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  auto* i = b_.CreatePHI(begin->getType(), 2);
  i->addIncoming(begin, before);
  if (layout_->is_placed()) given_.insert(i);
  std::vector<std::vector<llvm::PHINode*>> phis;
  const auto outer = values_;
  for (std::size_t carried = 0; carried < entering.size(); ++carried) {
    auto& row = phis.emplace_back();
    for (auto* value : entering[carried]) {
      row.push_back(b_.CreatePHI(value->getType(), 2));
      row.back()->addIncoming(value, before);
    }
    set(body.params[carried + 1], Values(row.begin(), row.end()));
  }
  // Upwards or, in products of Inductor's templates, down to what is left; steps are mostly known.
  auto* is_up = b_.CreateICmpSGT(step, llvm::ConstantInt::get(step->getType(), 0));
  b_.CreateCondBr(b_.CreateSelect(is_up, b_.CreateICmpSLT(i, end), b_.CreateICmpSGT(i, end)),
                  inside, after);
  b_.SetInsertPoint(inside);
  set(body.params[0], i);
  region(body);
  for (std::size_t carried = 0; carried < phis.size() && error_.empty(); ++carried) {
    const auto yielded = per_lane(axes(body.params[carried + 1]),
                                  [&](int at) { return lane(body.yields[carried], at); });
    for (std::size_t at = 0; at < phis[carried].size(); ++at)
      phis[carried][at]->addIncoming(yielded[at], b_.GetInsertBlock());
  }
  i->addIncoming(b_.CreateAdd(i, step), b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
  values_ = outer;
  for (std::size_t carried = 0; carried < phis.size(); ++carried)
    set(one.results[carried], Values(phis[carried].begin(), phis[carried].end()));
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileIf&) {
  auto* condition = lane(one.operands[0], 0);
  auto* after = BasicBlock::Create(module_.getContext(), "joined");
  const auto outer = values_;
  std::vector<std::vector<Values>> results;
  std::vector<BasicBlock*> from;
  std::vector<BasicBlock*> begins;
  for (int side = 0; side < 2; ++side)
    begins.push_back(BasicBlock::Create(module_.getContext(), "branch", function_));
  b_.CreateCondBr(condition, begins[0], begins[1]);
  for (std::size_t side = 0; side < 2; ++side) {
    b_.SetInsertPoint(begins[side]);
    region(one.regions[side]);
    auto& all = results.emplace_back();
    for (std::size_t i = 0; i < one.results.size() && error_.empty(); ++i)
      all.push_back(per_lane(axes(one.results[i]),
                             [&](int at) { return lane(one.regions[side].yields[i], at); }));
    from.push_back(b_.GetInsertBlock());
    b_.CreateBr(after);
    values_ = outer;
  }
  after->insertInto(function_);
  b_.SetInsertPoint(after);
  for (std::size_t i = 0; i < one.results.size() && error_.empty(); ++i) {
    Values merged;
    for (std::size_t at = 0; at < results[0][i].size(); ++at) {
      auto* phi = b_.CreatePHI(results[0][i][at]->getType(), 2);
      for (std::size_t side = 0; side < 2; ++side)
        phi->addIncoming(results[side][i][at], from[side]);
      merged.push_back(phi);
    }
    set(one.results[i], std::move(merged));
  }
}

// Arithmetic

void GpuKernelEmitter::statement(const TileStatement& one, const TileConstant& what) {
  const auto of = dtype(one.results[0]);
  auto* value = std::visit([&](auto number) { return code_.constant(of, number); }, what.value);
  set(one.results[0], code_.rounded(value, of));
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileParamValue& what) {
  const auto of = dtype(one.results[0]);
  auto* raw = params_[what.param];
  auto* type = code_.lane_type(of);
  const auto& param = kernel_.params[what.param];
  if (param.fixed && !is_floating(of)) return set(one.results[0], code_.constant(of, *param.fixed));
  Value* value = nullptr;
  if (is_floating(of))
    value = raw->getType()->isDoubleTy() ? b_.CreateFPCast(raw, type) : b_.CreateSIToFP(raw, type);
  else
    value = of == DType::boolean ? b_.CreateICmpNE(raw, b_.getInt64(0)) : b_.CreateTrunc(raw, type);
  set(one.results[0], code_.rounded(value, of));
}

auto GpuKernelEmitter::coordinate(std::size_t axis, int index) -> Value* {
  if (const auto of = layout_->place(axis); of != TilePlace::bits) return place(of).at;
  Value* value = b_.getInt32(0);
  for (const auto& part : layout_->thread_parts(axis)) {
    auto* bits = b_.CreateLShr(thread_, static_cast<unsigned>(part.first));
    bits = b_.CreateAnd(bits, (1U << part.count) - 1);
    value = b_.CreateOr(value, b_.CreateShl(bits, static_cast<unsigned>(part.to)));
  }
  const auto more = static_cast<std::uint32_t>(layout_->register_offset(axis, index));
  return more == 0 ? value : b_.CreateAdd(value, b_.getInt32(more));
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileLane& what) {
  const auto id = one.results[0];
  Held held;
  held.bases = {b_.CreateZExtOrTrunc(coordinate(what.axis, 0), code_.lane_type(dtype(id)))};
  if (varies(axes(id)))
    for (int i = 0; i < layout_->registers(); ++i)
      held.offsets.push_back(layout_->register_offset(what.axis, i));
  values_[id] = std::move(held);
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileProgram& what) {
  using namespace llvm::Intrinsic;
  constexpr ID kIds[] = {nvvm_read_ptx_sreg_ctaid_x, nvvm_read_ptx_sreg_ctaid_y,
                         nvvm_read_ptx_sreg_ctaid_z};
  constexpr ID kCounts[] = {nvvm_read_ptx_sreg_nctaid_x, nvvm_read_ptx_sreg_nctaid_y,
                            nvvm_read_ptx_sreg_nctaid_z};
  Value* value = b_.CreateIntrinsic((what.is_count ? kCounts : kIds)[what.dimension], {}, {});
  set(one.results[0], b_.CreateZExtOrTrunc(value, code_.lane_type(dtype(one.results[0]))));
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileCompute& what) {
  if ((windows_ && windows_->numbered(one, what.op)) || affine(one, what.op)) return;
  if (what.op == TileOp::divide && shared_quotients(one)) return;
  if (what.op == TileOp::exp && small_exponentials(one)) return;
  if (usual_functions(one, what.op)) return;
  if (what.op == TileOp::select && selected_in_groups(one)) return;
  const auto id = one.results[0];
  if (is_question(one, what.op)) {
    values_[id] = {{}, layout_->register_mask(axes(id)), {}, {}, &one};
    return;
  }
  set(id, per_lane(axes(id), [&](int i) { return computed(one, i); }));
}

auto GpuKernelEmitter::computed(const TileStatement& one, int index) -> Value* {
  const auto op = std::get<TileCompute>(one.what).op;
  Values operands;
  if (is_order(op))
    operands = order_operands(one, index);
  else
    for (const auto operand : one.operands) operands.push_back(lane(operand, index));
  if (op == TileOp::rsqrt && operands[0]->getType()->isFloatTy() && steps_.stores_halves())
    return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_f, {}, {operands[0]});
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  b_.setFastMathFlags(flags(one));
  return code_.compute(op, operands, dtype(one.operands.back()), dtype(one.results[0]));
}

template void GpuKernelEmitter::statement(const TileStatement&, const TileIndex&);
template void GpuKernelEmitter::statement(const TileStatement&, const TileNest&);

}  // namespace assay
