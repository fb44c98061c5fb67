// Sorts of a tile's lanes along an axis: Batcher's bitonic network, whose steps compare lanes that
// differ in one bit of their coordinate: registers of a thread, threads of a warp, or warps.
#include "compiler/codegen/gpu_kernel.h"

namespace assay {

class GpuSorter {
 public:
  GpuSorter(GpuKernelEmitter& emitter, const TileStatement& one, const TileSort& what)
      : e_(emitter), b_(emitter.b_), one_(one), what_(what) {
    bits_ = e_.layout_->axes[what.axis].bits;
    first_size_ = what.is_bitonic ? bits_ : 1;
  }

  void run() {
    const auto of = e_.dtype(one_.operands[0]);
    const auto kind = info(of).kind;
    const bool is_number = kind == DTypeKind::signed_integer || kind == DTypeKind::unsigned_integer;
    if (one_.results.size() == 1 && one_.operands.back() == kNoTile && is_number)
      sort_numbers(of);
    else
      sort_lanes();
  }

 private:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;
  using Source = GpuKernelEmitter::Source;
  using Parts = GpuKernelEmitter::Parts;

  [[nodiscard]] auto is_register(int bit) const -> bool {
    return e_.layout_->bit(e_.layout_->axes[what_.axis].shift + bit).is_register;
  }
  /// Truth of a bit of the coordinate in a register.
  [[nodiscard]] auto has_bit(int bit, std::size_t at) const -> Value* {
    return e_.has_bit(what_.axis, bit, static_cast<int>(at));
  }
  [[nodiscard]] auto opposite(int step) const -> Source {
    Source source;
    e_.change(source, what_.axis, step, GpuKernelEmitter::Change::flip);
    return source;
  }

  // Whole numbers that move alone: which of two equal ones is first cannot be told. So a step is a
  // minimum here and a maximum there; where threads differ in what is wanted, numbers are inverted
  // before and after.

  void sort_numbers(DType of) {
    is_signed_ = info(of).kind == DTypeKind::signed_integer;
    values_ = e_.lanes(one_.operands[0]);
    for (int size = first_size_; size <= bits_; ++size) {
      const bool falls_by_thread = size < bits_ && !is_register(size);
      invert(falls_by_thread ? b_.CreateSExt(has_bit(size, 0), values_[0]->getType()) : nullptr);
      for (int step = size - 1; step >= 0; --step)
        if (is_register(step))
          step_in_registers(size, step);
        else
          step_among_threads(size, step);
    }
    invert(nullptr);
    e_.set(one_.results[0], values_);
  }
  /// All ones where numbers are to be inverted; null: nowhere.
  void invert(Value* wanted) {
    auto* change = inverted_ == nullptr ? wanted
                   : wanted == nullptr  ? inverted_
                                        : b_.CreateXor(inverted_, wanted);
    for (auto*& value : values_)
      if (change != nullptr) value = b_.CreateXor(value, change);
    inverted_ = wanted;
  }
  /// Does a register's larger one come first?
  [[nodiscard]] auto falls(int size, std::size_t at) const -> bool {
    const bool turns = size < bits_ && is_register(size) &&
                       llvm::cast<llvm::ConstantInt>(has_bit(size, at))->isOne();
    return turns != what_.is_descending;
  }
  [[nodiscard]] auto is_less(Value* a, Value* b) const -> Value* {
    return is_signed_ ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
  }
  void step_in_registers(int size, int step) {
    const auto flipped = opposite(step).register_flipped;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto other = i ^ flipped;
      if (other < i) continue;
      auto [low, high] = in_order(values_[i], values_[other]);
      if (falls(size, i)) std::swap(low, high);
      values_[i] = low;
      values_[other] = high;
    }
  }
  [[nodiscard]] auto in_order(Value* a, Value* b) const -> std::pair<Value*, Value*> {
    constexpr unsigned kLong = 64;
    if (a->getType()->getPrimitiveSizeInBits() < kLong) {
      using namespace llvm::Intrinsic;
      return {b_.CreateBinaryIntrinsic(is_signed_ ? smin : umin, a, b),
              b_.CreateBinaryIntrinsic(is_signed_ ? smax : umax, a, b)};
    }
    // Of these the machine has neither, so they share a comparison.
    auto* swaps = is_less(b, a);
    return {b_.CreateSelect(swaps, b, a), b_.CreateSelect(swaps, a, b)};
  }
  void step_among_threads(int size, int step) {
    const auto theirs = e_.fetched(values_, opposite(step));
    for (std::size_t i = 0; i < values_.size(); ++i) {
      auto* wants_larger = has_bit(step, i);
      if (falls(size, i)) wants_larger = b_.CreateNot(wants_larger);
      auto* takes = b_.CreateXor(is_less(theirs[i], values_[i]), wants_larger);
      values_[i] = b_.CreateSelect(takes, theirs[i], values_[i]);
    }
  }

  // Keys with what moves along

  /// Operands in turn, which are whole numbers.
  [[nodiscard]] auto before_in_turn(const Values& a, const Values& b) const -> Value* {
    const auto op = what_.is_descending ? TileOp::gt : TileOp::lt;
    Value* made = nullptr;
    for (auto part = one_.results.size(); part-- > 0;) {
      auto* less =
          e_.code_.compute(op, {a[part], b[part]}, e_.dtype(one_.operands[part]), DType::boolean);
      auto* same = b_.CreateICmpEQ(a[part], b[part]);
      made = made == nullptr ? less : b_.CreateOr(less, b_.CreateAnd(same, made));
    }
    return made;
  }
  [[nodiscard]] auto before_by_key(Value* x, Value* y) const -> Value* {
    const auto of = e_.dtype(one_.operands[0]);
    const auto op = what_.is_descending ? TileOp::gt : TileOp::lt;
    auto* less = e_.code_.compute(op, {x, y}, of, DType::boolean);
    if (!is_floating(of)) return less;
    auto* x_nan = b_.CreateFCmpUNO(x, x);
    auto* y_nan = b_.CreateFCmpUNO(y, y);
    auto* by_nan = what_.is_descending ? b_.CreateAnd(x_nan, b_.CreateNot(y_nan))
                                       : b_.CreateAnd(y_nan, b_.CreateNot(x_nan));
    return b_.CreateOr(less, by_nan);
  }
  /// Values that are sorted, then a lane's place, then whether it takes no part.
  [[nodiscard]] auto before_in_tile(const Values& a, const Values& b) const -> Value* {
    const auto place = a.size() - 2, outside = a.size() - 1;
    auto* earlier = b_.CreateICmpULT(a[place], b[place]);
    auto* inside =
        what_.by_all ? before_in_turn(a, b)
                     : b_.CreateOr(before_by_key(a[0], b[0]),
                                   b_.CreateAnd(b_.CreateNot(before_by_key(b[0], a[0])), earlier));
    auto* either_outside = b_.CreateOr(a[outside], b[outside]);
    auto* both_outside = b_.CreateAnd(a[outside], b[outside]);
    auto* by_place = b_.CreateSelect(both_outside, earlier, b[outside]);
    return b_.CreateSelect(either_outside, by_place, inside);
  }

  /// A network over a total order is stable: what is compared by its first operand is so by (takes
  /// part, key, place).
  void sort_lanes() {
    auto parts = e_.parts_of(one_, one_.results.size());
    const bool is_total = what_.by_all && one_.operands.back() == kNoTile;
    if (!is_total) add_places(parts);
    for (int size = first_size_; size <= bits_; ++size)
      for (int step = size - 1; step >= 0; --step) {
        Parts other;
        for (const auto& part : parts) other.push_back(e_.fetched(part, opposite(step)));
        for (std::size_t at = 0; at < parts[0].size(); ++at) {
          Values mine, theirs;
          for (std::size_t part = 0; part < parts.size(); ++part) {
            mine.push_back(parts[part][at]);
            theirs.push_back(other[part][at]);
          }
          auto* is_falling = size == bits_ ? static_cast<Value*>(b_.getFalse()) : has_bit(size, at);
          auto* wants_first = b_.CreateICmpEQ(has_bit(step, at), is_falling);
          auto* is_before = is_total ? before_in_turn(theirs, mine) : before_in_tile(theirs, mine);
          auto* takes = b_.CreateICmpEQ(wants_first, is_before);
          for (std::size_t part = 0; part < parts.size(); ++part)
            parts[part][at] = b_.CreateSelect(takes, theirs[part], mine[part]);
        }
      }
    for (std::size_t i = 0; i < one_.results.size(); ++i) e_.set(one_.results[i], parts[i]);
  }
  void add_places(Parts& parts) {
    const auto limit_id = one_.operands.back();
    auto* limit =
        limit_id == kNoTile ? nullptr : e_.as_int64(e_.lane(limit_id, 0), e_.dtype(limit_id));
    Values places, outside;
    for (int i = 0; i < e_.layout_->registers(); ++i) {
      auto* place = e_.coordinate(what_.axis, i);
      places.push_back(place);
      outside.push_back(limit == nullptr
                            ? b_.getFalse()
                            : b_.CreateICmpSGE(b_.CreateZExt(place, b_.getInt64Ty()), limit));
    }
    parts.push_back(places);
    parts.push_back(outside);
  }

  GpuKernelEmitter& e_;
  llvm::IRBuilder<>& b_;
  const TileStatement& one_;
  const TileSort& what_;
  int bits_ = 0, first_size_ = 1;  ///< of the axis; of the network's first phase
  bool is_signed_ = false;
  Values values_;              ///< by register
  Value* inverted_ = nullptr;  ///< as `invert` was told last
};

void GpuKernelEmitter::statement(const TileStatement& one, const TileSort& what) {
  GpuSorter(*this, one, what).run();
}

}  // namespace assay
