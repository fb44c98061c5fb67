// A kernel as loops over vectors. Internal to compiler/codegen.
#pragma once
#include <llvm/IR/Module.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/combine_code.h"
#include "compiler/codegen/kernel_frame.h"

namespace assay {

class KernelEmitter : KernelFrame {
 private:
  /// Sums are kept as this many partial ones: element i goes to partial i mod 128 along the
  /// vectorised axis, and partials are folded by halves. So a sum does not depend on the width of
  /// vectors. Along other axes there are eight.
  static constexpr unsigned kPartials = 128, kColumnPartials = 4;

 public:
  using KernelFrame::KernelFrame;

  auto run(const std::string& name) -> Result<void>;

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
    mask_ = first_lanes(b_.CreateSub(end, whole));
    body(whole);
    mask_ = nullptr;
    values_ = saved;
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  /// Statements over the first `depth` parallel axes that need no reduction stand before the next
  /// loop.
  void parallel(std::size_t depth);

  /// The last two parallel axes, in squares.
  void tiles(std::size_t depth);
  void square(std::size_t depth, Value* i, Value* j, Value* end);
  /// An index that is arithmetic, computed for the lane that `indices_` names.
  auto lane_index(TileId id) -> Value*;

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

  void hoisted(std::size_t depth);

  /// Inside of all parallel loops: passes over the reduced axes, and between them what needs their
  /// results.
  void body();

  void pass(int level);
  [[nodiscard]] auto operands_of(const PlannedStatement& planned) const
      -> const std::vector<TileId>& {
    return planned.reduction ? plan_.reductions[*planned.reduction].operands
                             : planned.statement->operands;
  }

  void nest(std::size_t depth, const std::vector<const PlannedStatement*>& targets);
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
  /// What is left of a round: partial result after partial result, until there are no elements.
  template <class Body>
  void last_round(Value* begin, Value* end, std::int64_t step, const Body& inside) {
    const auto saved = values_;
    const auto outer = mask_;
    auto* behind = BasicBlock::Create(module_.getContext(), "behind", function_);
    for (unsigned slot = 0; slot < slots(); ++slot) {
      auto* i = b_.CreateAdd(begin, b_.getInt64(static_cast<std::uint64_t>(step * slot)));
      auto* more = BasicBlock::Create(module_.getContext(), "more", function_);
      b_.CreateCondBr(b_.CreateICmpSLT(i, end), more, behind);
      b_.SetInsertPoint(more);
      slot_ = slot;
      if (step > 1) mask_ = first_lanes(b_.CreateSub(end, i));
      inside(i);
      values_ = saved;
    }
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
    slot_.reset();
    mask_ = outer;
  }

  // Values that one pass computes and later ones take from memory of the thread.
  /// What the passes need, and what is kept between them; memory for it.
  void plan_passes();
  [[nodiscard]] auto slice_of(const std::vector<const PlannedStatement*>& targets) const
      -> std::vector<const PlannedStatement*>;
  [[nodiscard]] auto targets_of(int level) const -> std::vector<const PlannedStatement*>;
  void take_row_memory();
  void give_row_memory_back();
  auto row_place(TileId id) -> Value*;

  // Values
  auto scalar(TileId id) -> Value* {
    return values_.at(id).scalar;  // of what varies: of the first lane
  }
  auto vector(TileId id) -> Value*;
  void set(TileId id, LaneValue value) { values_[id] = value; }
  void set(TileId id, Value* value);

  void emit(const TileStatement& one) {
    std::visit([&](const auto& what) { statement(one, what); }, one.what);
  }
  template <class T>
  void statement(const TileStatement&, const T&) {}  // the plan has refused them

  void statement(const TileStatement& one, const TileConstant& what);
  void statement(const TileStatement& one, const TileParamValue& what);
  void statement(const TileStatement& one, const TileIndex& what);

  /// Sums and differences of indices stay first lane and step.
  auto affine(const TileStatement& one, TileOp op) -> bool;

  void statement(const TileStatement& one, const TileCompute& what);

  /// Lanes of an access that take part: those of the tail, and those of the statement's mask.
  auto mask_of(TileId id) -> Value*;
  void statement(const TileStatement& one, const TileLoad& what);
  /// What `load` gives where `condition` is true, and `otherwise`.
  template <class Load>
  auto loaded_if(Value* condition, Value* otherwise, const Load& load) -> Value* {
    auto* before = b_.GetInsertBlock();
    auto* there = BasicBlock::Create(module_.getContext(), "there", function_);
    auto* after = BasicBlock::Create(module_.getContext(), "loaded", function_);
    b_.CreateCondBr(condition, there, after);
    b_.SetInsertPoint(there);
    auto* raw = static_cast<Value*>(load());
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    auto* merged = b_.CreatePHI(raw->getType(), 2);
    merged->addIncoming(raw, there);
    merged->addIncoming(otherwise, before);
    return merged;
  }

  /// One element for all lanes; under a mask it may not be there.
  void scalar_load(const TileStatement& one, const TileLoad& what);

  /// Leaves which assert it was; the loops go on, since what needs it is masked.
  void statement(const TileStatement& one, const TileAssert&);
  void statement(const TileStatement& one, const TileStore& what);

  /// Neighbours in memory at once, else lane by lane: later ones see what earlier ones wrote.
  void statement(const TileStatement& one, const TileAtomic& what);

  // Reductions and scans
  /// What stands before an element along the scanned axis is kept from round to round.
  void start_scan(const TileStatement& one);
  void statement(const TileStatement& one, const TileScan& what);
  void statement(const TileStatement& one, const TileRandom& what);
  [[nodiscard]] auto slots() const -> unsigned {
    return plan_.vector_is_reduced ? std::max(kPartials / lanes_, 1U) : kColumnPartials;
  }
  auto held_type(DType of) -> llvm::Type*;
  auto place(std::size_t reduction, std::size_t part, Value* slot) -> Value* {
    return b_.CreateGEP(held_type(dtype(plan_.reductions[reduction].operands[part])),
                        partials_.at({reduction, part}), slot);
  }

  void start(std::size_t i);

  [[nodiscard]] auto dtypes_of(const PlannedReduction& reduction) const -> std::vector<DType>;

  void accumulate(std::size_t i);
  auto held(std::size_t i, std::size_t part, Value* slot) -> Value*;
  void keep(std::size_t i, std::size_t part, Value* slot, Value* value);

  /// Partials are folded by halves, those of other slots first.
  void fold(std::size_t i);
  using Parts = std::vector<Value*>;  ///< of one partial result
  auto fold_slots(std::size_t i) -> Parts;
  auto fold_lanes(std::size_t i, Parts parts) -> Parts;

  std::map<TileId, LaneValue> values_;
  std::map<std::pair<std::size_t, std::size_t>, llvm::AllocaInst*> partials_;
  std::map<const TileStatement*, llvm::AllocaInst*> carried_;  ///< of scans
  std::vector<const PlannedStatement*> slice_;
  struct KeptRow {
    int level = 0;             ///< of the pass that computes it
    std::uint64_t number = 0;  ///< of its row among the kept ones
  };
  std::map<TileId, KeptRow> kept_;
  int level_ = 0;          ///< of the pass at hand
  Value* rows_ = nullptr;  ///< memory of kept rows; where many are asked for, of the heap
  Value* row_bytes_ = nullptr;
  Value* rows_are_large_ = nullptr;
  Value* mask_ = nullptr;
  std::map<TileId, const TileStatement*> made_by_;
  std::map<const TileStatement*, std::vector<Value*>> tiles_;  ///< loads of the square at hand
  unsigned tile_row_ = 0;
  std::optional<unsigned> slot_;  ///< of partial results, where it is known
};

}  // namespace assay
