// Sorts of a tile's lanes along an axis: Batcher's bitonic network, whose steps compare lanes that
// differ in one bit of their coordinate: registers of a thread, threads of a warp, or warps.
#include "compiler/codegen/gpu_kernel.h"

namespace assay {

/// Operands in turn, which are whole numbers.
auto GpuKernelEmitter::before_in_turn(const TileStatement& one, bool is_descending, const Values& a,
                                      const Values& b) -> Value* {
  const auto op = is_descending ? TileOp::gt : TileOp::lt;
  Value* made = nullptr;
  for (auto part = one.results.size(); part-- > 0;) {
    auto* less = code_.compute(op, {a[part], b[part]}, dtype(one.operands[part]), DType::boolean);
    auto* same = b_.CreateICmpEQ(a[part], b[part]);
    made = made == nullptr ? less : b_.CreateOr(less, b_.CreateAnd(same, made));
  }
  return made;
}

/// Values that are sorted, then a lane's place, then whether it takes no part.
auto GpuKernelEmitter::sorted_before(const TileStatement& one, const TileSort& what,
                                     const Values& a, const Values& b) -> Value* {
  const auto of = dtype(one.operands[0]);
  const auto compare = [&](const Values& x, const Values& y) -> Value* {
    const auto op = what.is_descending ? TileOp::gt : TileOp::lt;
    auto* less = code_.compute(op, {x[0], y[0]}, of, DType::boolean);
    if (!is_floating(of)) return less;
    auto* x_nan = b_.CreateFCmpUNO(x[0], x[0]);
    auto* y_nan = b_.CreateFCmpUNO(y[0], y[0]);
    auto* by_nan = what.is_descending ? b_.CreateAnd(x_nan, b_.CreateNot(y_nan))
                                      : b_.CreateAnd(y_nan, b_.CreateNot(x_nan));
    return b_.CreateOr(less, by_nan);
  };
  const auto place = a.size() - 2, outside = a.size() - 1;
  auto* earlier = b_.CreateICmpULT(a[place], b[place]);
  auto* inside =
      what.by_all ? before_in_turn(one, what.is_descending, a, b)
                  : b_.CreateOr(compare(a, b), b_.CreateAnd(b_.CreateNot(compare(b, a)), earlier));
  auto* either_outside = b_.CreateOr(a[outside], b[outside]);
  auto* both_outside = b_.CreateAnd(a[outside], b[outside]);
  auto* by_place = b_.CreateSelect(both_outside, earlier, b[outside]);
  return b_.CreateSelect(either_outside, by_place, inside);
}

/// Whole numbers that move alone: which of two equal ones is first cannot be told. So a step is a
/// minimum here and a maximum there; where threads differ in what is wanted, numbers are inverted
/// before and after.
auto GpuKernelEmitter::sorted_numbers(const TileSort& what, DType of, Values values) -> Values {
  const bool is_signed = info(of).kind == DTypeKind::signed_integer;
  const auto extreme = [&](bool largest, Value* a, Value* b) -> Value* {
    using namespace llvm::Intrinsic;
    const ID how = largest ? (is_signed ? smax : umax) : (is_signed ? smin : umin);
    return b_.CreateBinaryIntrinsic(how, a, b);
  };
  const auto bits = layout_->axes[what.axis].bits;
  const auto is_register = [&](int bit) {
    return layout_->bit(layout_->axes[what.axis].shift + bit).is_register;
  };
  auto* type = values[0]->getType();
  Value* inverted = nullptr;  // all ones where numbers are now
  const auto invert = [&](Value* wanted) {
    auto* change = inverted == nullptr ? wanted
                   : wanted == nullptr ? inverted
                                       : b_.CreateXor(inverted, wanted);
    for (auto*& value : values)
      if (change != nullptr) value = b_.CreateXor(value, change);
    inverted = wanted;
  };
  for (int size = what.is_bitonic ? bits : 1; size <= bits; ++size) {
    const bool falls_by_thread = size < bits && !is_register(size);
    invert(falls_by_thread ? b_.CreateSExt(has_bit(what.axis, size, 0), type) : nullptr);
    for (int step = size - 1; step >= 0; --step) {
      Source source;
      change(source, what.axis, step, Change::flip);
      const auto theirs = fetched(values, source);
      Values made(values.size());
      for (int i = 0; i < layout_->registers(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        // Known here, unless the step is one between threads.
        bool is_falling = what.is_descending;
        if (size < bits && is_register(size))
          is_falling ^= llvm::cast<llvm::ConstantInt>(has_bit(what.axis, size, i))->isOne();
        auto* is_high = has_bit(what.axis, step, i);
        if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(is_high)) {
          const bool wants_largest = known->isOne() != is_falling;
          // Both registers of a pair ask for the same two, in the same order.
          auto* low = known->isOne() ? theirs[at] : values[at];
          auto* high = known->isOne() ? values[at] : theirs[at];
          made[at] = extreme(wants_largest, low, high);
          continue;
        }
        auto* low = extreme(is_falling, values[at], theirs[at]);
        auto* high = extreme(!is_falling, values[at], theirs[at]);
        made[at] = b_.CreateSelect(is_high, high, low);
      }
      values = std::move(made);
    }
  }
  invert(nullptr);
  return values;
}

/// Batcher's bitonic network over (takes part, key, place), which is a total order: so it is
/// stable.
void GpuKernelEmitter::statement(const TileStatement& one, const TileSort& what) {
  const auto count = one.results.size();
  const auto kind = info(dtype(one.operands[0])).kind;
  if (count == 1 && one.operands.back() == kNoTile &&
      (kind == DTypeKind::signed_integer || kind == DTypeKind::unsigned_integer)) {
    set(one.results[0], sorted_numbers(what, dtype(one.operands[0]), lanes(one.operands[0])));
    return;
  }
  auto parts = parts_of(one, count);
  auto* limit = one.operands.back() == kNoTile
                    ? nullptr
                    : as_int64(lane(one.operands.back(), 0), dtype(one.operands.back()));
  Values places, outside;
  for (int i = 0; i < layout_->registers(); ++i) {
    auto* place = coordinate(what.axis, i);
    places.push_back(place);
    outside.push_back(limit == nullptr
                          ? b_.getFalse()
                          : b_.CreateICmpSGE(b_.CreateZExt(place, b_.getInt64Ty()), limit));
  }
  const bool is_total = what.by_all && limit == nullptr;
  if (!is_total) {
    parts.push_back(places);
    parts.push_back(outside);
  }
  const auto is_before = [&](const Values& a, const Values& b) {
    return is_total ? before_in_turn(one, what.is_descending, a, b)
                    : sorted_before(one, what, a, b);
  };
  const auto bits = layout_->axes[what.axis].bits;
  for (int size = what.is_bitonic ? bits : 1; size <= bits; ++size)
    for (int step = size - 1; step >= 0; --step) {
      Source source;
      change(source, what.axis, step, Change::flip);
      Parts other;
      for (const auto& part : parts) other.push_back(fetched(part, source));
      for (int i = 0; i < layout_->registers(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        Values mine, theirs;
        for (std::size_t part = 0; part < parts.size(); ++part) {
          mine.push_back(parts[part][at]);
          theirs.push_back(other[part][at]);
        }
        auto* is_high = has_bit(what.axis, step, i);
        auto* is_falling = size == bits ? b_.getFalse() : has_bit(what.axis, size, i);
        auto* wants_first = b_.CreateICmpEQ(is_high, is_falling);
        auto* takes = b_.CreateICmpEQ(wants_first, is_before(theirs, mine));
        for (std::size_t part = 0; part < parts.size(); ++part)
          parts[part][at] = b_.CreateSelect(takes, theirs[part], mine[part]);
      }
    }
  for (std::size_t i = 0; i < count; ++i) set(one.results[i], parts[i]);
}

}  // namespace assay
