#include "compiler/codegen/kernel_code.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

#include <map>
#include <set>

#include "compiler/codegen/combine_code.h"
#include "compiler/codegen/kernel_frame.h"

namespace assay {
namespace {

using llvm::BasicBlock;
using llvm::Value;

/// Sums are kept as this many partial ones: element i goes to partial i mod 128 along the
/// vectorised axis, and partials are folded by halves. So a sum does not depend on the width of
/// vectors. Along other axes there are eight.
constexpr unsigned kPartials = 128, kColumnPartials = 8;
class KernelEmitter : KernelFrame {
 public:
  using KernelFrame::KernelFrame;

  auto run(const std::string& name) -> Result<void> {
    for (const auto& value : kernel_.values)
      if (is_floating(value.type.dtype) && size_bytes(value.type.dtype) < 2)
        return unsupported("8-bit floats have no code yet");
    for (const auto& one : kernel_.body.body)
      for (const auto id : one.results) made_by_[id] = &one;
    begin(name);
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
  /// Statements over the first `depth` parallel axes that need no reduction stand before the next
  /// loop.
  void parallel(std::size_t depth) {
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

  /// The last two parallel axes: squares, what is left of their rows, then what is left of rows.
  void tiles(std::size_t depth) {
    const auto axis = plan_.parallel[depth], across = vector_axis();
    auto* begin = depth == 0 ? static_cast<Value*>(function_->getArg(4)) : b_.getInt64(0);
    auto* end = depth == 0 ? static_cast<Value*>(function_->getArg(5)) : extents_[axis];
    const auto width = static_cast<std::int64_t>(lanes_);
    const auto whole_of = [&](Value* from, Value* to) {
      auto* count = b_.CreateSub(to, from);
      return b_.CreateAdd(from,
                          b_.CreateAnd(count, b_.getInt64(static_cast<std::uint64_t>(-width))));
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
  void square(std::size_t depth, Value* i, Value* j) {
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
  /// An index that is arithmetic, computed for the lane that `indices_` names.
  auto lane_index(TileId id) -> Value* {
    const auto& made = *made_by_.at(id);
    if (const auto* index = std::get_if<TileIndex>(&made.what)) return indices_[index->axis];
    if (const auto* param = std::get_if<TileParamValue>(&made.what)) return scalars_[param->param];
    if (const auto* number = std::get_if<TileConstant>(&made.what))
      return code_.constant(DType::int64, std::get<std::int64_t>(number->value));
    std::vector<Value*> operands;
    for (const auto operand : made.operands) operands.push_back(lane_index(operand));
    return code_.compute(std::get<TileCompute>(made.what).op, operands, DType::int64, DType::int64);
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
    return planned.reduction || std::holds_alternative<TileStore>(planned.statement->what) ||
           std::holds_alternative<TileAtomic>(planned.statement->what) || is_assert(planned);
  }
  [[nodiscard]] static auto is_assert(const PlannedStatement& planned) -> bool {
    return std::holds_alternative<TileAssert>(planned.statement->what);
  }

  void hoisted(std::size_t depth) {
    for (const auto& planned : plan_.statements) {
      if ((is_target(planned) && !is_assert(planned)) || planned.level != 0 ||
          (planned.axes & reduced_axes()) != 0)
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
        const bool is_store = is_target(planned) && !is_assert(planned);
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
    const bool is_innermost = depth + 1 == plan_.reduced.size();
    const bool has_sums =
        std::ranges::any_of(targets, [](auto* one) { return one->reduction.has_value(); });
    auto* begin = static_cast<Value*>(b_.getInt64(0));
    if (is_innermost && has_sums && slice_.size() <= kUnrolled)
      begin = unrolled(begin, extents_[axis], is_vector_axis(axis) ? lanes_ : 1, inside);
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
  /// Whole rounds over all partial results, which so stay in registers; gives where they end.
  template <class Body>
  auto unrolled(Value* begin, Value* end, std::int64_t step, const Body& inside) -> Value* {
    const auto round = step * static_cast<std::int64_t>(slots());
    auto* whole = b_.CreateAnd(end, b_.getInt64(static_cast<std::uint64_t>(-round)));
    const auto saved = values_;
    const auto outer = mask_;
    if (step > 1) mask_ = nullptr;
    loop(begin, whole, round, [&](Value* i) {
      for (unsigned slot = 0; slot < slots(); ++slot) {
        slot_ = slot;
        inside(b_.CreateAdd(i, b_.getInt64(static_cast<std::uint64_t>(step * slot))));
        values_ = saved;
      }
    });
    slot_.reset();
    mask_ = outer;
    return whole;
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
  void statement(const TileStatement& one, const TileLoad& what) {
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

  /// Leaves which assert it was; the loops go on, since what needs it is masked.
  void statement(const TileStatement& one, const TileAssert&) {
    const bool is_vector =
        varies(one.operands[0]) || (one.operands[1] != kNoTile && varies(one.operands[1]));
    Value* failed = nullptr;
    if (is_vector) {
      failed = b_.CreateNot(vector(one.operands[0]));
      if (auto* mask = mask_of(one.operands[1]); mask != nullptr)
        failed = b_.CreateAnd(failed, mask);
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
    auto* store = b_.CreateAlignedStore(b_.getInt64(static_cast<std::uint64_t>(number)), place,
                                        llvm::Align(8));
    store->setAtomic(llvm::AtomicOrdering::Monotonic);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
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

  /// Neighbours in memory at once, else lane by lane: later ones see what earlier ones wrote.
  void statement(const TileStatement& one, const TileAtomic& what) {
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
          code_.to_memory_if_truth(code_.splat(combine_.identity(reduction.combine, part, of)), of);
      for (unsigned slot = 0; slot < slots(); ++slot)
        b_.CreateStore(first, place(i, part, b_.getInt64(slot)));
    }
  }

  [[nodiscard]] auto dtypes_of(const PlannedReduction& reduction) const -> std::vector<DType> {
    std::vector<DType> all;
    for (const auto id : reduction.operands) all.push_back(dtype(id));
    return all;
  }

  void accumulate(std::size_t i) {
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
    const auto dtypes = dtypes_of(reduction);
    std::vector<std::vector<Value*>> parts(slots());
    for (unsigned slot = 0; slot < slots(); ++slot)
      for (std::size_t part = 0; part < reduction.operands.size(); ++part)
        parts[slot].push_back(held(i, part, b_.getInt64(slot)));
    for (auto half = slots() / 2; half > 0; half /= 2)
      for (unsigned k = 0; k < half; ++k)
        parts[k] = combine_.combined(reduction.combine, parts[k], parts[k + half], dtypes);
    auto result = parts[0];
    if (plan_.vector_is_reduced) {
      for (auto half = lanes_ / 2; half > 0; half /= 2) {
        std::vector<int> upper;
        for (unsigned k = 0; k < lanes_; ++k)
          upper.push_back(static_cast<int>((k + half) % lanes_));
        std::vector<Value*> moved;
        for (auto* value : result) moved.push_back(b_.CreateShuffleVector(value, upper));
        result = combine_.combined(reduction.combine, result, moved, dtypes);
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

  std::map<TileId, LaneValue> values_;
  std::map<std::pair<std::size_t, std::size_t>, llvm::AllocaInst*> partials_;
  std::vector<const PlannedStatement*> slice_;
  Value* mask_ = nullptr;
  std::map<TileId, const TileStatement*> made_by_;
  std::map<const TileStatement*, std::vector<Value*>> tiles_;  ///< loads of the square at hand
  unsigned tile_row_ = 0;
  std::optional<unsigned> slot_;  ///< of partial results, where it is known
};

}  // namespace

auto emit_kernel(llvm::Module& module, const TileKernel& kernel, const KernelPlan& plan,
                 unsigned lanes, const std::string& name) -> Result<void> {
  return KernelEmitter(module, kernel, plan, lanes).run(name);
}

}  // namespace assay
