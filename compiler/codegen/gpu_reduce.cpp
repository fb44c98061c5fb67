// Reductions over a thread's registers, over the threads of a warp, and over warps.
//
// The order is fixed by the layout: they fold by halves, high register bits first, then warps, then
// the threads of a warp, then neighbouring registers, each from the highest bit on. What no order
// changes folds a thread's registers first.
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/program/combine.h"

namespace assay {
namespace {

using llvm::Value;

constexpr unsigned kWarpMask = 31;
constexpr unsigned kShared = 3;
constexpr std::uint64_t kMostSharedBytes = 40960;

/// Bits of a mask from the highest to the lowest.
auto bits_of(unsigned mask) -> std::vector<unsigned> {
  std::vector<unsigned> bits;
  for (unsigned bit = 1U << 31; bit != 0; bit >>= 1)
    if ((mask & bit) != 0) bits.push_back(bit);
  return bits;
}
/// Every subset of a mask, in order.
auto subsets_of(unsigned mask) -> std::vector<unsigned> {
  std::vector<unsigned> all;
  unsigned subset = 0;
  do {
    all.push_back(subset);
    subset = (subset - mask) & mask;
  } while (subset != 0);
  return all;
}

/// Neither order nor grouping changes the result, bit by bit.
auto is_order_free(TileCombine how, DType of) -> bool {
  if (how == TileCombine::sum || how == TileCombine::product) return !is_floating(of);
  return is_commutative(how);
}

}  // namespace

/// What each of these threads holds, folded by halves.
auto GpuKernelEmitter::folded(const TileStatement& one, TileCombine how, std::vector<Values> rows)
    -> Values {
  for (auto half = rows.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) rows[i] = combine(one, how, rows[i], rows[i + half]);
  return rows[0];
}

/// Of one register, over the warps of `across`.
auto GpuKernelEmitter::fold_warps(const TileStatement& one, TileCombine how, unsigned across,
                                  const Values& mine) -> Values {
  Values threads;
  auto* base = b_.CreateAnd(thread_, ~across);
  for (const auto subset : subsets_of(across)) threads.push_back(b_.CreateOr(base, subset));
  std::vector<Values> rows(threads.size());
  for (auto* value : mine) {
    const auto others = through_shared(value, threads);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(others[i]);
  }
  return folded(one, how, std::move(rows));
}

/// Of one register, over a bit of the thread's number within a warp.
auto GpuKernelEmitter::fold_lanes(const TileStatement& one, TileCombine how, unsigned bit,
                                  const Values& mine) -> Values {
  Values other;
  for (auto* value : mine) other.push_back(shuffled(value, bit));
  if (is_commutative(how)) return combine(one, how, mine, other);
  auto* is_upper = b_.CreateICmpNE(b_.CreateAnd(thread_, bit), b_.getInt32(0));
  Values lower, upper;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    lower.push_back(b_.CreateSelect(is_upper, other[i], mine[i]));
    upper.push_back(b_.CreateSelect(is_upper, mine[i], other[i]));
  }
  return combine(one, how, lower, upper);
}

/// Sums of several registers over warps: each warp takes a share of the registers. `taken` gets
/// pairs (bit of a register's number, bit of the thread's number that it went to).
void GpuKernelEmitter::share_among_warps(const TileStatement& one, TileCombine how, unsigned across,
                                         Shares& shares) {
  auto register_bits = bits_of(shares.free);
  auto warp_bits = bits_of(across);
  const auto count = std::min(register_bits.size(), warp_bits.size());
  const auto registers = subsets_of(shares.free);
  auto* type = shares.values.begin()->second->getType();
  const auto threads = static_cast<std::uint64_t>(layout_->threads());
  auto* room = llvm::ArrayType::get(type, threads * registers.size());
  auto*& shared = gathered_[{room, 0}];
  if (shared == nullptr) {
    shared = new llvm::GlobalVariable(module_, room, false, llvm::GlobalValue::InternalLinkage,
                                      llvm::UndefValue::get(room), "gathered", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, kShared);
    shared->setAlignment(llvm::Align(16));
  }
  const auto place = [&](Value* row, Value* thread) {
    auto* at =
        b_.CreateAdd(b_.CreateMul(row, b_.getInt32(static_cast<std::uint32_t>(threads))), thread);
    return b_.CreateGEP(type, shared, b_.CreateZExt(at, b_.getInt64Ty()));
  };
  const auto row_of = [&](unsigned subset) {
    const auto found = std::ranges::find(registers, subset);
    return b_.getInt32(static_cast<std::uint32_t>(found - registers.begin()));
  };
  const llvm::Align align(type->getPrimitiveSizeInBits() / 8);
  for (const auto subset : registers)
    b_.CreateAlignedStore(shares.values.at(subset), place(row_of(subset), thread_), align);
  barrier();
  // Which register is this warp's: its bits say so.
  Value* chosen = b_.getInt32(0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto rank = static_cast<unsigned>(std::popcount(shares.free & (register_bits[i] - 1)));
    auto* is_set = b_.CreateICmpNE(b_.CreateAnd(thread_, warp_bits[i]), b_.getInt32(0));
    chosen = b_.CreateOr(chosen, b_.CreateSelect(is_set, b_.getInt32(1U << rank), b_.getInt32(0)));
    shares.moved[register_bits[i]] = warp_bits[i];
    shares.free &= ~register_bits[i];
  }
  auto* base = b_.CreateAnd(thread_, ~across);
  std::map<unsigned, Value*> kept;
  for (const auto subset : subsets_of(shares.free)) {
    std::vector<Values> rows;
    auto* row = b_.CreateOr(chosen, row_of(subset));
    for (const auto warp : subsets_of(across)) {
      auto* from = place(row, b_.CreateOr(base, warp));
      rows.push_back({b_.CreateAlignedLoad(type, from, align)});
    }
    kept[subset] = folded(one, how, std::move(rows))[0];
  }
  shares.values = std::move(kept);
  barrier();
}

/// The same over a bit within a warp: half of the registers go, half stay.
void GpuKernelEmitter::share_among_lanes(const TileStatement& one, TileCombine how, unsigned bit,
                                         Shares& shares) {
  const auto high = std::bit_floor(shares.free);
  auto* is_upper = b_.CreateICmpNE(b_.CreateAnd(thread_, bit), b_.getInt32(0));
  shares.free &= ~high;
  shares.moved[high] = bit;
  std::map<unsigned, Value*> kept;
  for (const auto subset : subsets_of(shares.free)) {
    auto* low = shares.values.at(subset);
    auto* up = shares.values.at(subset | high);
    auto* sent = b_.CreateSelect(is_upper, low, up);
    auto* stays = b_.CreateSelect(is_upper, up, low);
    kept[subset] = combine(one, how, {stays}, {shuffled(sent, bit)})[0];
  }
  shares.values = std::move(kept);
}

/// Neighbouring registers (`neighbours`) of a reduction whose order matters, over threads.
auto GpuKernelEmitter::shared_fold(const TileStatement& one, TileCombine how, unsigned threads,
                                   unsigned neighbours, std::map<unsigned, Value*> values)
    -> Value* {
  Shares shares{std::move(values), neighbours, {}};
  if (const auto across = threads & ~kWarpMask; across != 0)
    share_among_warps(one, how, across, shares);
  for (const auto bit : bits_of(threads & kWarpMask)) {
    if (shares.free != 0) {
      share_among_lanes(one, how, bit, shares);
      continue;
    }
    auto& value = shares.values.at(0);
    value = fold_lanes(one, how, bit, {value})[0];
  }
  unsigned warps = 0;
  for (const auto& [reg, thread] : shares.moved) warps |= thread & ~kWarpMask;
  // The highest of the neighbours' bits went to warps, the highest first.
  for (auto& [subset, value] : shares.values)
    if (warps != 0) value = fold_warps(one, how, warps, {value})[0];
  for (const auto bit : bits_of(neighbours)) {
    const auto moved = shares.moved.find(bit);
    for (const auto subset : subsets_of(shares.free & (bit - 1))) {
      auto& value = shares.values.at(subset);
      if (moved == shares.moved.end())
        value = combine(one, how, {value}, {shares.values.at(subset | bit)})[0];
      else if ((moved->second & kWarpMask) != 0)
        value = fold_lanes(one, how, moved->second, {value})[0];
    }
  }
  return shares.values.at(0);
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileReduce& what) {
  auto parts = parts_of(one, one.operands.size());
  const auto axis = AxisSet{1} << what.axis;
  const auto how = what.combine;
  const auto column = [&](std::size_t i) {
    Values all;
    for (auto& part : parts) all.push_back(part[i]);
    return all;
  };
  const auto put = [&](std::size_t i, const Values& made) {
    for (std::size_t part = 0; part < parts.size(); ++part) parts[part][i] = made[part];
  };
  AxisSet over = 0;
  for (const auto id : one.operands) over |= axes(id);
  const auto finish = [&] {
    for (std::size_t i = 0; i < one.results.size(); ++i) {
      const auto id = one.results[i];
      set(id, per_lane(axes(id), [&](int at) {
            return code_.rounded(parts[i][static_cast<std::size_t>(at)], dtype(id));
          }));
    }
  };
  if (const auto of = layout_->place(what.axis); of != TilePlace::bits) {
    parts = folded_over(one, how, of, over, std::move(parts));
    return finish();
  }
  if (folded_by_pairs(one, what)) return;
  const auto registers = layout_->register_mask(axis);
  const auto threads = layout_->thread_mask(axis);
  const auto fold_registers = [&](unsigned mask) {
    for (const auto bit : bits_of(mask))
      for (unsigned i = 0; i < parts[0].size(); ++i) {
        if ((i & bit) != 0) continue;
        const auto made = combine(one, how, column(i), column(i | bit));
        put(i, made);
        put(i | bit, made);
      }
  };
  const auto apart = layout_->register_mask(over & ~axis);
  const auto each_row = [&](unsigned kept, const std::function<void(std::size_t)>& fold) {
    for (unsigned i = 0; i < parts[0].size(); ++i) {
      if ((i & ~kept) == 0)
        fold(i);
      else
        put(i, column(i & kept));
    }
  };
  // Registers of neighbouring lanes are folded last, as their bits are the lowest.
  const auto neighbours = registers & ((1U << layout_->contiguous_bits) - 1);
  const auto of = dtype(one.operands[0]);
  const auto bytes = code_.lane_type(of)->getPrimitiveSizeInBits() / 8 *
                     (static_cast<std::uint64_t>(layout_->threads()) << layout_->contiguous_bits);
  const bool is_free = is_order_free(how, of);
  if (is_free) {
    fold_registers(registers);
    each_row(apart, [&](std::size_t i) {
      auto mine = column(i);
      for (const auto bit : bits_of(threads & kWarpMask)) mine = fold_lanes(one, how, bit, mine);
      if ((threads & ~kWarpMask) != 0) mine = fold_warps(one, how, threads & ~kWarpMask, mine);
      put(i, mine);
    });
  } else if (is_commutative(how) && neighbours != 0 && threads != 0 && bytes <= kMostSharedBytes) {
    fold_registers(registers & ~neighbours);
    each_row(apart, [&](std::size_t i) {
      std::map<unsigned, Value*> values;
      for (const auto subset : subsets_of(neighbours)) values[subset] = parts[0][i | subset];
      put(i, {shared_fold(one, how, threads, neighbours, std::move(values))});
    });
  } else {
    fold_registers(registers & ~neighbours);
    each_row(apart | neighbours, [&](std::size_t i) {
      auto mine = column(i);
      if ((threads & ~kWarpMask) != 0) mine = fold_warps(one, how, threads & ~kWarpMask, mine);
      for (const auto bit : bits_of(threads & kWarpMask)) mine = fold_lanes(one, how, bit, mine);
      put(i, mine);
    });
    fold_registers(neighbours);
  }
  finish();
}

}  // namespace assay
