// What lanes have to do with each other: values of other registers and threads, by shuffles within
// a warp and through shared memory beyond; scans, which take in the sum of the half below, the
// lowest bit first (Sklansky's).
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

using llvm::Value;

constexpr unsigned kWarpMask = 31;

/// A value of any width, word by word; `lane` is what the instruction makes of it.
auto shuffled_by(llvm::IRBuilder<>& b, llvm::Intrinsic::ID how, Value* value, Value* lane)
    -> Value* {
  auto* type = value->getType();
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  auto* raw = b.CreateBitCast(value, b.getIntNTy(bits));
  const auto moved = [&](Value* word) -> Value* {
    return b.CreateIntrinsic(how, {}, {b.getInt32(~0U), word, lane, b.getInt32(kWarpMask)});
  };
  if (bits <= 32) {
    auto* word = moved(b.CreateZExt(raw, b.getInt32Ty()));
    return b.CreateBitCast(b.CreateTrunc(word, b.getIntNTy(bits)), type);
  }
  auto* low = moved(b.CreateTrunc(raw, b.getInt32Ty()));
  auto* high = moved(b.CreateTrunc(b.CreateLShr(raw, 32), b.getInt32Ty()));
  auto* whole = b.CreateOr(b.CreateZExt(low, b.getInt64Ty()),
                           b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  return b.CreateBitCast(whole, type);
}

}  // namespace

auto GpuKernelEmitter::parts_of(const TileStatement& one, std::size_t count) -> Parts {
  Parts parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(lanes(one.operands[i]));
  return parts;
}

/// `a` stands before `b`.
auto GpuKernelEmitter::combine(const TileStatement& one, TileCombine how, const Values& a,
                               const Values& b) -> Values {
  if (how != TileCombine::region) {
    std::vector<DType> dtypes;
    for (std::size_t i = 0; i < a.size(); ++i) dtypes.push_back(dtype(one.operands[i]));
    const llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
    b_.setFastMathFlags(flags(one));
    return combine_.combined(how, a, b, dtypes);
  }
  const auto& body = one.regions[0];
  const auto outer = values_;
  const bool was_single = is_single_lane_;
  is_single_lane_ = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    set(body.params[i], a[i]);
    set(body.params[i + a.size()], b[i]);
  }
  region(body);
  Values made;
  for (const auto id : body.yields)
    if (error_.empty()) made.push_back(lane(id, 0));
  is_single_lane_ = was_single;
  values_ = outer;
  if (!error_.empty()) return a;
  return made;
}

// Lanes of other registers and threads

void GpuKernelEmitter::change(Source& source, std::size_t axis, int bit, Change how) const {
  const auto place = layout_->bit(layout_->axes[axis].shift + bit);
  const auto thread = place.is_register ? 0U : 1U << place.index;
  const auto reg = place.is_register ? 1U << place.index : 0U;
  (how == Change::set     ? source.thread_set
   : how == Change::clear ? source.thread_cleared
                          : source.thread_flipped) |= thread;
  (how == Change::set     ? source.register_set
   : how == Change::clear ? source.register_cleared
                          : source.register_flipped) |= reg;
}

auto GpuKernelEmitter::shuffled(Value* value, Value* thread) -> Value* {
  return shuffled_by(b_, llvm::Intrinsic::nvvm_shfl_sync_idx_i32, value, thread);
}
auto GpuKernelEmitter::shuffled(Value* value, unsigned bit) -> Value* {
  return shuffled_by(b_, llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, value, b_.getInt32(bit));
}

auto GpuKernelEmitter::through_shared(Value* value, const Values& threads) -> Values {
  auto* type = value->getType();
  auto* stored = type->isIntegerTy(1) ? b_.CreateZExt(value, b_.getInt8Ty()) : value;
  const auto place = [&](Value* thread) {
    return b_.CreateGEP(b_.getInt64Ty(), shared_, b_.CreateZExt(thread, b_.getInt64Ty()));
  };
  const llvm::Align align(8);
  b_.CreateAlignedStore(stored, place(thread_), align);
  barrier();
  Values read;
  for (auto* thread : threads) {
    auto* got = b_.CreateAlignedLoad(stored->getType(), place(thread), align);
    read.push_back(type->isIntegerTy(1) ? b_.CreateICmpNE(got, b_.getInt8(0))
                                        : static_cast<Value*>(got));
  }
  barrier();
  return read;
}

/// As many of a thread's values together as there is room for.
auto GpuKernelEmitter::through_shared(const Values& values, Value* thread) -> Values {
  constexpr std::uint64_t kMostBytes = 32 << 10, kBytes = 8;
  const auto threads = static_cast<std::uint64_t>(layout_->threads());
  const auto together = std::clamp<std::uint64_t>(kMostBytes / kBytes / threads, 1, values.size());
  if (exchange_ == nullptr || exchange_room_ < together) {
    exchange_ = shared_room(b_.getInt64Ty(), threads * together);
    exchange_room_ = together;
  }
  const auto place = [&](std::uint64_t at, Value* of, llvm::Type* type) -> Value* {
    auto* first = b_.CreateGEP(b_.getInt64Ty(), exchange_, b_.getInt64(at * threads));
    const auto bytes = static_cast<std::uint64_t>(type->getPrimitiveSizeInBits() + 7) / 8;
    auto* step = b_.CreateMul(b_.CreateZExt(of, b_.getInt64Ty()), b_.getInt64(bytes));
    return b_.CreateGEP(b_.getInt8Ty(), first, step);
  };
  Values read;
  for (std::size_t begin = 0; begin < values.size(); begin += together) {
    const auto end = std::min(begin + together, values.size());
    for (auto i = begin; i < end; ++i) {
      auto* type = values[i]->getType();
      auto* stored = type->isIntegerTy(1) ? b_.CreateZExt(values[i], b_.getInt8Ty()) : values[i];
      b_.CreateStore(stored, place(i - begin, thread_, type));
    }
    barrier();
    for (auto i = begin; i < end; ++i) {
      auto* type = values[i]->getType();
      auto* stored = type->isIntegerTy(1) ? b_.getInt8Ty() : type;
      auto* got = b_.CreateLoad(stored, place(i - begin, thread, type));
      read.push_back(type->isIntegerTy(1) ? b_.CreateICmpNE(got, b_.getInt8(0))
                                          : static_cast<Value*>(got));
    }
    barrier();
  }
  return read;
}

auto GpuKernelEmitter::fetched(const Values& values, const Source& source) -> Values {
  const auto touched = source.thread_set | source.thread_cleared | source.thread_flipped;
  Value* thread = thread_;
  if (touched != 0) {
    thread = b_.CreateXor(thread, source.thread_flipped);
    thread = b_.CreateAnd(thread, ~source.thread_cleared);
    thread = b_.CreateOr(thread, source.thread_set);
  }
  // Equal registers travel once.
  std::map<Value*, std::size_t> places;
  Values leaving, all;
  std::vector<std::size_t> from;
  for (unsigned i = 0; i < values.size(); ++i) {
    const auto at =
        ((i ^ source.register_flipped) & ~source.register_cleared) | source.register_set;
    auto* value = values[at];
    const auto [known, is_new] = places.try_emplace(value, leaving.size());
    if (is_new) leaving.push_back(value);
    from.push_back(known->second);
  }
  if (touched > kWarpMask)
    leaving = through_shared(leaving, thread);
  else if (touched != 0)
    for (auto*& value : leaving) value = shuffled(value, thread);
  for (const auto at : from) all.push_back(leaving[at]);
  return all;
}

auto GpuKernelEmitter::has_bit(std::size_t axis, int bit, int index) -> Value* {
  Source source;
  change(source, axis, bit, Change::flip);
  if (source.thread_flipped == 0)
    return b_.getInt1((static_cast<unsigned>(index) & source.register_flipped) != 0);
  return b_.CreateICmpNE(b_.CreateAnd(thread_, source.thread_flipped), b_.getInt32(0));
}

// Scans

void GpuKernelEmitter::statement(const TileStatement& one, const TileScan& what) {
  auto parts = parts_of(one, one.operands.size());
  for (int bit = 0; bit < layout_->axes[what.axis].bits; ++bit) {
    // The last lane of the half before this lane's, seen in the scan's direction.
    Source source;
    change(source, what.axis, bit, what.is_reverse ? Change::set : Change::clear);
    for (int lower = 0; lower < bit; ++lower)
      change(source, what.axis, lower, what.is_reverse ? Change::clear : Change::set);
    Parts before;
    for (const auto& part : parts) before.push_back(fetched(part, source));
    for (int i = 0; i < layout_->registers(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      auto* upper = has_bit(what.axis, bit, i);
      auto* takes = what.is_reverse ? b_.CreateNot(upper) : upper;
      Values a, b;
      for (std::size_t part = 0; part < parts.size(); ++part) {
        a.push_back(before[part][at]);
        b.push_back(parts[part][at]);
      }
      const auto made = combine(one, what.combine, a, b);
      for (std::size_t part = 0; part < parts.size(); ++part)
        parts[part][at] = b_.CreateSelect(takes, made[part], b[part]);
    }
  }
  for (std::size_t i = 0; i < one.results.size(); ++i) {
    const auto id = one.results[i];
    set(id, per_lane(axes(id), [&](int at) {
          return code_.rounded(parts[i][static_cast<std::size_t>(at)], dtype(id));
        }));
  }
}

}  // namespace assay
