#include "compiler/codegen/kernel_code.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

#include <map>
#include <set>

namespace assay {
namespace {

using llvm::BasicBlock;
using llvm::Value;

/// A value that was emitted: a vector, or a scalar; indices that move with the lanes by a constant
/// are kept as the index of the first lane.
struct LaneValue {
  Value* vector = nullptr;
  Value* scalar = nullptr;
  std::int64_t step = 0;  ///< of `scalar` from lane to lane
};

/// Sums are kept as this many partial ones: element i goes to partial i mod 128 along the
/// vectorised axis, and partials are folded by halves. So a sum does not depend on the width of
/// vectors. Along other axes there are eight.
constexpr unsigned kPartials = 128, kColumnPartials = 8;

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const TileKernel& kernel, const KernelPlan& plan,
                unsigned lanes)
      : module_(module),
        kernel_(kernel),
        plan_(plan),
        lanes_(lanes),
        b_(module.getContext()),
        code_(b_, lanes),
        indices_(kernel.axes.size()) {}

  auto run(const std::string& name) -> Result<void> {
    for (const auto& value : kernel_.values)
      if (is_floating(value.type.dtype) && size_bytes(value.type.dtype) < 2)
        return unsupported("8-bit floats have no code yet");
    auto* ptr = b_.getPtrTy();
    auto* i64 = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, ptr, ptr, i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
    b_.SetInsertPoint(BasicBlock::Create(module_.getContext(), "entry", function_));
    exit_ = BasicBlock::Create(module_.getContext(), "exit");
    arguments();
    parallel(0);
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

 private:
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
    i->addIncoming(b_.CreateAdd(i, b_.getInt64(static_cast<std::uint64_t>(step))),
                   b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(after);
  }

  /// The vectorised axis: whole vectors, then one with a mask.
  template <class Body>
  void vector_loop(Value* begin, Value* end, const Body& body) {
    const auto width = static_cast<std::int64_t>(lanes_);
    auto* count = b_.CreateSub(end, begin);
    auto* whole =
        b_.CreateAdd(begin, b_.CreateAnd(count, b_.getInt64(static_cast<std::uint64_t>(-width))));
    const auto saved = values_;
    mask_ = nullptr;
    loop(begin, whole, width, [&](Value* i) {
      body(i);
      values_ = saved;
    });
    auto* tail = BasicBlock::Create(module_.getContext(), "tail", function_);
    auto* after = BasicBlock::Create(module_.getContext(), "behind", function_);
    b_.CreateCondBr(b_.CreateICmpSLT(whole, end), tail, after);
    b_.SetInsertPoint(tail);
    mask_ = b_.CreateICmpULT(iota(), code_.splat(b_.CreateSub(end, whole)));
    body(whole);
    mask_ = nullptr;
    values_ = saved;
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  auto iota() -> Value* {
    std::vector<llvm::Constant*> lanes;
    for (unsigned i = 0; i < lanes_; ++i) lanes.push_back(b_.getInt64(i));
    return llvm::ConstantVector::get(lanes);
  }

  /// Statements over the first `depth` parallel axes that need no reduction stand before the next
  /// loop.
  void parallel(std::size_t depth) {
    hoisted(depth);
    if (depth == plan_.parallel.size()) return body();
    const auto axis = plan_.parallel[depth];
    auto* begin = depth == 0 ? static_cast<Value*>(function_->getArg(4)) : b_.getInt64(0);
    auto* end = depth == 0 ? static_cast<Value*>(function_->getArg(5)) : extents_[axis];
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

  [[nodiscard]] auto reduced_axes() const -> AxisSet {
    AxisSet axes = 0;
    for (const auto axis : plan_.reduced) axes |= AxisSet{1} << axis;
    return axes;
  }
  /// Position of the innermost loop among `order` that a set of axes needs, from 1; 0: none.
  static auto depth_of(AxisSet axes, const std::vector<std::size_t>& order) -> std::size_t {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < order.size(); ++i)
      if ((axes >> order[i] & 1U) != 0) depth = i + 1;
    return depth;
  }
  [[nodiscard]] static auto is_target(const PlannedStatement& planned) -> bool {
    return planned.reduction || std::holds_alternative<TileStore>(planned.statement->what);
  }

  void hoisted(std::size_t depth) {
    for (const auto& planned : plan_.statements) {
      if (is_target(planned) || planned.level != 0 || (planned.axes & reduced_axes()) != 0)
        continue;
      if (depth_of(planned.axes, plan_.parallel) == depth) emit(*planned.statement);
    }
  }

  /// Inside of all parallel loops: passes over the reduced axes, and between them what needs their
  /// results.
  void body() {
    for (int level = 0; level < plan_.levels; ++level) {
      for (const auto& planned : plan_.statements) {
        if (planned.reduction || planned.level != level || (planned.axes & reduced_axes()) != 0)
          continue;
        const bool is_store = is_target(planned);
        if (is_store || level > 0) emit(*planned.statement);
      }
      pass(level);
    }
  }

  void pass(int level) {
    std::vector<const PlannedStatement*> targets;
    for (const auto& planned : plan_.statements)
      if (is_target(planned) && planned.level == level && (planned.axes & reduced_axes()) != 0)
        targets.push_back(&planned);
    if (targets.empty()) return;
    std::set<TileId> wanted;
    for (const auto* target : targets)
      for (const auto id : operands_of(*target)) wanted.insert(id);
    slice_.clear();
    for (auto at = plan_.statements.rbegin(); at != plan_.statements.rend(); ++at) {
      if (is_target(*at) || (at->axes & reduced_axes()) == 0) continue;
      if (!wanted.contains(at->statement->results[0])) continue;
      slice_.insert(slice_.begin(), &*at);
      for (const auto id : at->statement->operands) wanted.insert(id);
    }
    for (const auto* target : targets)
      if (target->reduction) start(*target->reduction);
    const auto saved = values_;
    nest(0, targets);
    values_ = saved;
    for (const auto* target : targets)
      if (target->reduction) fold(*target->reduction);
  }
  [[nodiscard]] auto operands_of(const PlannedStatement& planned) const
      -> const std::vector<TileId>& {
    return planned.reduction ? plan_.reductions[*planned.reduction].operands
                             : planned.statement->operands;
  }

  void nest(std::size_t depth, const std::vector<const PlannedStatement*>& targets) {
    for (const auto* planned : slice_)
      if (depth > 0 && depth_of(planned->axes, plan_.reduced) == depth) emit(*planned->statement);
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
    if (is_vector_axis(axis)) {
      const auto outer = mask_;
      vector_loop(b_.getInt64(0), extents_[axis], inside);
      mask_ = outer;
      return;
    }
    loop(b_.getInt64(0), extents_[axis], 1, [&](Value* i) {
      const auto saved = values_;
      inside(i);
      values_ = saved;
    });
  }

  // Values
  auto scalar(TileId id) -> Value* {
    return values_.at(id).scalar;  // of what varies: of the first lane
  }
  auto vector(TileId id) -> Value* {
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
  void set(TileId id, LaneValue value) { values_[id] = value; }
  void set(TileId id, Value* value) {
    if (value->getType()->isVectorTy())
      values_[id] = {value, nullptr, 0};
    else
      values_[id] = {nullptr, value, 0};
  }

  void emit(const TileStatement& one) {
    std::visit([&](const auto& what) { statement(one, what); }, one.what);
  }
  template <class T>
  void statement(const TileStatement&, const T&) {}  // the plan has refused them

  void statement(const TileStatement& one, const TileConstant& what) {
    const auto id = one.results[0];
    auto* value =
        std::visit([&](auto number) { return code_.constant(dtype(id), number); }, what.value);
    set(id, code_.rounded(value, dtype(id)));
  }
  void statement(const TileStatement& one, const TileParamValue& what) {
    set(one.results[0], scalars_[what.param]);
  }
  void statement(const TileStatement& one, const TileIndex& what) {
    set(one.results[0], LaneValue{nullptr, indices_[what.axis], is_vector_axis(what.axis) ? 1 : 0});
  }

  /// Sums and differences of indices stay first lane and step.
  auto affine(const TileStatement& one, TileOp op) -> bool {
    if (one.operands.size() != 2 || dtype(one.results[0]) != DType::int64) return false;
    const auto& a = values_.at(one.operands[0]);
    const auto& b = values_.at(one.operands[1]);
    if (a.scalar == nullptr || b.scalar == nullptr) return false;
    if (op == TileOp::add)
      return set(one.results[0], {nullptr, b_.CreateAdd(a.scalar, b.scalar), a.step + b.step}),
             true;
    if (op == TileOp::sub)
      return set(one.results[0], {nullptr, b_.CreateSub(a.scalar, b.scalar), a.step - b.step}),
             true;
    if (op != TileOp::mul || (a.step != 0 && b.step != 0)) return false;
    auto* by = llvm::dyn_cast<llvm::ConstantInt>(a.step != 0 ? b.scalar : a.scalar);
    const auto step = a.step + b.step;
    if (step != 0 && by == nullptr) return false;
    set(one.results[0],
        {nullptr, b_.CreateMul(a.scalar, b.scalar), step == 0 ? 0 : step * by->getSExtValue()});
    return true;
  }

  void statement(const TileStatement& one, const TileCompute& what) {
    if (affine(one, what.op)) return;
    const auto id = one.results[0];
    const bool is_vector = varies(id);
    std::vector<Value*> operands;
    for (const auto operand : one.operands)
      operands.push_back(is_vector ? vector(operand) : scalar(operand));
    const auto from = dtype(one.operands.back());
    set(id, code_.compute(what.op, operands, from, dtype(id)));
  }

  /// Lanes of an access that take part: those of the tail, and those of the statement's mask.
  auto mask_of(TileId id) -> Value* {
    auto* given = id == kNoTile ? nullptr : vector(id);
    if (given == nullptr) return mask_;
    return mask_ == nullptr ? given : b_.CreateAnd(given, mask_);
  }
  auto all_lanes() -> Value* { return code_.splat(b_.getTrue()); }

  auto address(std::size_t param, Value* index) -> Value* {
    return b_.CreateGEP(code_.memory_type(kernel_.params[param].dtype), pointers_[param], index);
  }

  void statement(const TileStatement& one, const TileLoad& what) {
    const auto id = one.results[0];
    const auto of = dtype(id);
    auto* type = code_.memory_type(of);
    const llvm::Align align(static_cast<std::uint64_t>(size_bytes(of)));
    const auto index = one.operands[0];
    if (!varies(id)) return scalar_load(one, what);
    auto* lanes = code_.vector_of(type);
    auto* mask = mask_of(one.operands[1]);
    auto* none = llvm::Constant::getNullValue(lanes);
    const auto& at = values_.at(index);
    Value* raw = nullptr;
    if (at.scalar != nullptr && at.step == 1) {
      auto* place = address(what.param, at.scalar);
      raw = mask == nullptr ? static_cast<Value*>(b_.CreateAlignedLoad(lanes, place, align))
                            : b_.CreateMaskedLoad(lanes, place, align, mask, none);
    } else {
      raw = b_.CreateMaskedGather(lanes, address(what.param, vector(index)), align,
                                  mask == nullptr ? all_lanes() : mask, none);
    }
    set(id, code_.from_memory(raw, of));
  }

  /// One element for all lanes; under a mask it may not be there.
  void scalar_load(const TileStatement& one, const TileLoad& what) {
    const auto of = dtype(one.results[0]);
    auto* type = code_.memory_type(of);
    auto* index = scalar(one.operands[0]);
    if (one.operands[1] == kNoTile) {
      auto* raw = b_.CreateLoad(type, address(what.param, index));
      return set(one.results[0], code_.from_memory(raw, of));
    }
    auto* before = b_.GetInsertBlock();
    auto* there = BasicBlock::Create(module_.getContext(), "there", function_);
    auto* after = BasicBlock::Create(module_.getContext(), "loaded", function_);
    b_.CreateCondBr(scalar(one.operands[1]), there, after);
    b_.SetInsertPoint(there);
    auto* raw = b_.CreateLoad(type, address(what.param, index));
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    auto* merged = b_.CreatePHI(type, 2);
    merged->addIncoming(raw, there);
    merged->addIncoming(llvm::Constant::getNullValue(type), before);
    set(one.results[0], code_.from_memory(merged, of));
  }

  void statement(const TileStatement& one, const TileStore& what) {
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

  // Reductions
  [[nodiscard]] auto slots() const -> unsigned {
    return plan_.vector_is_reduced ? std::max(kPartials / lanes_, 1U) : kColumnPartials;
  }
  auto held_type(DType of) -> llvm::Type* {
    auto* lane = of == DType::boolean ? b_.getInt8Ty() : code_.lane_type(of);
    return code_.vector_of(lane);
  }
  auto place(std::size_t reduction, std::size_t part, Value* slot) -> Value* {
    return b_.CreateGEP(held_type(dtype(plan_.reductions[reduction].operands[part])),
                        partials_.at({reduction, part}), slot);
  }

  /// What changes nothing: each operand's share.
  auto identity(TileCombine combine, std::size_t part, DType of) -> Value* {
    using enum TileCombine;
    const bool is_float = is_floating(of);
    const auto extreme = [&](bool is_low) -> Value* {
      if (is_float) return code_.constant(of, is_low ? -INFINITY : INFINITY);
      const auto bits = static_cast<unsigned>(8 * size_bytes(of));
      const bool is_signed = info(of).kind == DTypeKind::signed_integer;
      if (of == DType::boolean) return b_.getInt1(!is_low);
      const auto value =
          is_signed ? (is_low ? llvm::APInt::getSignedMinValue(bits)
                              : llvm::APInt::getSignedMaxValue(bits))
                    : (is_low ? llvm::APInt::getMinValue(bits) : llvm::APInt::getMaxValue(bits));
      return llvm::ConstantInt::get(code_.lane_type(of), value);
    };
    if (part == 1) return code_.constant(of, INT64_MAX);
    if (combine == max || combine == argmax) return extreme(true);
    if (combine == min || combine == argmin) return extreme(false);
    if (combine == all) return b_.getTrue();
    const double value = combine == product ? 1 : 0;
    return is_float ? code_.constant(of, value)
                    : code_.constant(of, static_cast<std::int64_t>(value));
  }

  void start(std::size_t i) {
    const auto& reduction = plan_.reductions[i];
    for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
      const auto of = dtype(reduction.operands[part]);
      auto& entry = function_->getEntryBlock();
      llvm::IRBuilder<> at(&entry, entry.begin());
      auto* made = at.CreateAlloca(llvm::ArrayType::get(held_type(of), slots()));
      made->setAlignment(llvm::Align(64));
      partials_[{i, part}] = made;
      auto* first =
          code_.to_memory_if_truth(code_.splat(identity(reduction.combine, part, of)), of);
      for (unsigned slot = 0; slot < slots(); ++slot)
        b_.CreateStore(first, place(i, part, b_.getInt64(slot)));
    }
  }

  auto combined(TileCombine combine, const std::vector<Value*>& a, const std::vector<Value*>& b,
                DType of) -> std::vector<Value*> {
    using enum TileCombine;
    const auto simple = [&](TileOp op) {
      return std::vector{code_.compute(op, {a[0], b[0]}, of, of)};
    };
    if (combine == sum) return simple(of == DType::boolean ? TileOp::bit_or : TileOp::add);
    if (combine == product) return simple(TileOp::mul);
    if (combine == min) return simple(of == DType::boolean ? TileOp::bit_and : TileOp::minimum);
    if (combine == max) return simple(of == DType::boolean ? TileOp::bit_or : TileOp::maximum);
    if (combine == any) return simple(TileOp::bit_or);
    if (combine == all) return simple(TileOp::bit_and);
    if (combine == bit_xor) return simple(TileOp::bit_xor);
    const auto compare = [&](TileOp op, std::size_t part, DType type) {
      return code_.compute(op, {a[part], b[part]}, type, DType::boolean);
    };
    auto* better = compare(combine == argmax ? TileOp::gt : TileOp::lt, 0, of);
    auto* same = compare(TileOp::eq, 0, of);
    if (is_floating(of)) {
      auto* a_nan = b_.CreateFCmpUNO(a[0], a[0]);
      auto* b_nan = b_.CreateFCmpUNO(b[0], b[0]);
      better = b_.CreateOr(better, b_.CreateAnd(a_nan, b_.CreateNot(b_nan)));
      same = b_.CreateOr(same, b_.CreateAnd(a_nan, b_nan));
    }
    better = b_.CreateOr(better, b_.CreateAnd(same, compare(TileOp::lt, 1, DType::int64)));
    return {b_.CreateSelect(better, a[0], b[0]), b_.CreateSelect(better, a[1], b[1])};
  }

  void accumulate(std::size_t i) {
    const auto& reduction = plan_.reductions[i];
    auto* at = indices_[plan_.reduced.back()];
    if (plan_.vector_is_reduced) at = b_.CreateUDiv(at, b_.getInt64(lanes_));
    auto* slot = b_.CreateAnd(at, b_.getInt64(slots() - 1));
    std::vector<Value*> before, now;
    for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
      before.push_back(held(i, part, slot));
      now.push_back(vector(reduction.operands[part]));
    }
    const auto made = combined(reduction.combine, before, now, dtype(reduction.operands[0]));
    for (std::size_t part = 0; part < made.size(); ++part) {
      auto* value = made[part];
      if (plan_.vector_is_reduced && mask_ != nullptr)
        value = b_.CreateSelect(mask_, value, before[part]);
      keep(i, part, slot, value);
    }
  }
  auto held(std::size_t i, std::size_t part, Value* slot) -> Value* {
    const auto of = dtype(plan_.reductions[i].operands[part]);
    auto* raw = b_.CreateLoad(held_type(of), place(i, part, slot));
    return of == DType::boolean ? code_.from_memory(raw, of) : raw;
  }
  void keep(std::size_t i, std::size_t part, Value* slot, Value* value) {
    const auto of = dtype(plan_.reductions[i].operands[part]);
    b_.CreateStore(code_.to_memory_if_truth(value, of), place(i, part, slot));
  }

  /// Partials are folded by halves, those of other slots first.
  void fold(std::size_t i) {
    const auto& reduction = plan_.reductions[i];
    const auto of = dtype(reduction.operands[0]);
    std::vector<std::vector<Value*>> parts(slots());
    for (unsigned slot = 0; slot < slots(); ++slot)
      for (std::size_t part = 0; part < reduction.operands.size(); ++part)
        parts[slot].push_back(held(i, part, b_.getInt64(slot)));
    for (auto half = slots() / 2; half > 0; half /= 2)
      for (unsigned k = 0; k < half; ++k)
        parts[k] = combined(reduction.combine, parts[k], parts[k + half], of);
    auto result = parts[0];
    if (plan_.vector_is_reduced) {
      for (auto half = lanes_ / 2; half > 0; half /= 2) {
        std::vector<int> upper;
        for (unsigned k = 0; k < lanes_; ++k)
          upper.push_back(static_cast<int>((k + half) % lanes_));
        std::vector<Value*> moved;
        for (auto* value : result) moved.push_back(b_.CreateShuffleVector(value, upper));
        result = combined(reduction.combine, result, moved, of);
      }
      for (auto& value : result) value = b_.CreateExtractElement(value, std::uint64_t{0});
    }
    for (std::size_t part = 0; part < result.size(); ++part) {
      const auto id = reduction.results[part];
      auto* value = code_.rounded(result[part], dtype(id));
      // With a vectorised axis that is not reduced, what does not vary along it is one lane.
      if (value->getType()->isVectorTy() && !varies(id))
        value = b_.CreateExtractElement(value, std::uint64_t{0});
      set(id, value);
    }
  }

  llvm::Module& module_;
  const TileKernel& kernel_;
  const KernelPlan& plan_;
  unsigned lanes_;
  llvm::IRBuilder<> b_;
  LaneCode code_;
  llvm::Function* function_ = nullptr;
  BasicBlock* exit_ = nullptr;
  std::vector<Value*> pointers_, scalars_, extents_, indices_;
  std::map<TileId, LaneValue> values_;
  std::map<std::pair<std::size_t, std::size_t>, llvm::AllocaInst*> partials_;
  std::vector<const PlannedStatement*> slice_;
  Value* mask_ = nullptr;
};

}  // namespace

auto emit_kernel(llvm::Module& module, const TileKernel& kernel, const KernelPlan& plan,
                 unsigned lanes, const std::string& name) -> Result<void> {
  return KernelEmitter(module, kernel, plan, lanes).run(name);
}

}  // namespace assay
