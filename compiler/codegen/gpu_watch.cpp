// Checked code beside each access: shadow memory tells elements that nobody wrote, and programs of
// the grid, or lanes of one, that touch what another one writes.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cstddef>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

auto param_of(const TileStatement& one) -> std::size_t {
  if (const auto* load = std::get_if<TileLoad>(&one.what)) return load->param;
  if (const auto* store = std::get_if<TileStore>(&one.what)) return store->param;
  return std::get<TileAtomic>(one.what).param;
}

auto has_barrier(const TileRegion& region) -> bool {
  return std::ranges::any_of(region.body, [](const TileStatement& one) {
    return std::holds_alternative<TileBarrier>(one.what) ||
           std::ranges::any_of(one.regions, has_barrier);
  });
}

// Words of shadows (GpuShadow)
constexpr std::uint64_t kLaneShift = 32, kLaneBits = 0xFFFF;
constexpr std::uint64_t kBarrierShift = 24, kMostBarriers = 0xFF;  ///< in kernels that have some
constexpr auto bits(std::uint64_t count) -> std::uint64_t {
  return (std::uint64_t{1} << count) - 1;
}

/// What `next` makes of what stands there (`first`, as it was seen), whoever else does so at the
/// same time: what stands there is outdated, one lane's, several lanes' or several programs', one
/// after the other, so that it changes three times in a launch. No loop, since threads that loop
/// over an atomic operation may not meet again before the next barrier or exchange between lanes,
/// whatever ptxas makes of them (seen on an H100 with CUDA 13.0).
void update(llvm::IRBuilder<>& b, llvm::Value* place, llvm::Value* first,
            const std::function<llvm::Value*(llvm::Value*)>& next) {
  constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
  constexpr int kTurns = 4;
  const llvm::Align align(8);
  auto* function = b.GetInsertBlock()->getParent();
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(b.getContext(), name, function);
  };
  auto* after = block("after");
  auto* seen = first;
  for (int turn = 0; turn < kTurns; ++turn) {
    auto *other = block("other"), *again = turn + 1 == kTurns ? after : block("again");
    auto* wanted = next(seen);
    b.CreateCondBr(b.CreateICmpNE(wanted, seen), other, after);
    b.SetInsertPoint(other);
    auto* found = b.CreateAtomicCmpXchg(place, seen, wanted, align, kOrder, kOrder);
    seen = b.CreateExtractValue(found, 0);
    b.CreateCondBr(b.CreateExtractValue(found, 1), after, again);
    b.SetInsertPoint(again);
  }
}

/// Of a lane of the axes in a tile.
auto lane_number(llvm::IRBuilder<>& b, const TileLayout& layout, AxisSet over,
                 const std::function<llvm::Value*(std::size_t)>& coordinate) -> llvm::Value* {
  llvm::Value* number = b.getInt64(0);
  for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
    if ((over >> axis & 1U) != 0)
      number = b.CreateOr(b.CreateShl(number, static_cast<std::uint64_t>(layout.axes[axis].bits)),
                          b.CreateZExt(coordinate(axis), b.getInt64Ty()));
  return number;
}

constexpr auto kLanes = kLaneBits << kLaneShift, kBarriers = kMostBarriers << kBarrierShift;

}  // namespace

/// A place for the number of barriers that this thread has passed; more than kMostBarriers are not
/// told apart.
auto GpuKernelEmitter::passed_barriers() -> Value* {
  if (passed_ == nullptr) {
    auto& entry = function_->getEntryBlock();
    llvm::IRBuilder<> begin(&entry, entry.begin());
    passed_ = begin.CreateAlloca(begin.getInt64Ty());
    begin.CreateStore(begin.getInt64(0), passed_);
  }
  return passed_;
}

void GpuKernelEmitter::statement(const TileStatement&, const TileBarrier&) {
  barrier();
  if (!is_checked_) return;
  auto* i64 = b_.getInt64Ty();
  auto* next = b_.CreateAdd(b_.CreateLoad(i64, passed_barriers()), b_.getInt64(1));
  auto* most = b_.getInt64(kMostBarriers);
  b_.CreateStore(b_.CreateSelect(b_.CreateICmpULT(next, most), next, most), passed_barriers());
}

/// All stores of the block are seen before it is counted, and those of all blocks behind it: what
/// one thread releases and acquires holds for the others, which a barrier orders before and behind
/// it (causality order of PTX, "Memory Consistency Model").
void GpuKernelEmitter::statement(const TileStatement& one, const TileArrive& what) {
  if (is_checked_) return fail("a tail has no checked code");
  auto* programs = lane(one.operands[1], 0);
  auto* before = shared_room(b_.getInt32Ty(), 1);
  barrier();
  when(b_.CreateICmpEQ(thread_, b_.getInt32(0)), [&] {
    auto* place = address(what.param, lane(one.operands[0], 0), dtype(one.operands[0]));
    auto* most = b_.CreateSub(programs, b_.getInt32(1));
    b_.CreateStore(assembly("atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r,~{memory}",
                            {place, most}, b_.getInt32Ty()),
                   before);
  });
  barrier();
  auto* arrived = b_.CreateLoad(b_.getInt32Ty(), before, /*isVolatile=*/true);
  set(one.results[0], b_.CreateICmpEQ(b_.CreateAdd(arrived, b_.getInt32(1)), programs));
}

auto GpuKernelEmitter::checked(const TileStatement& one, int i, Value* condition, Access access)
    -> Value* {
  if (!is_checked_) return condition;
  auto* at = as_int64(lane(one.operands[0], i), dtype(one.operands[0]));
  return checked_at(one, param_of(one), i, at, condition, access);
}

auto GpuKernelEmitter::checked_at(const TileStatement& one, std::size_t param, int i, Value* at,
                                  Value* condition, Access access) -> Value* {
  const auto& memory = watched_.at(param);
  auto* inside = b_.CreateAnd(b_.CreateICmpSGE(at, memory.low), b_.CreateICmpSLT(at, memory.high));
  auto* wrong = b_.CreateNot(inside);
  if (condition != nullptr) wrong = b_.CreateAnd(wrong, condition);
  when(wrong, [&] { record(one.line, b_.getInt64(param), at, GpuFault::out_of_bounds); });
  auto* meant = condition == nullptr ? inside : b_.CreateAnd(condition, inside);
  watch(one, param, i, at, meant, access);
  return meant;
}

/// Programs count from 0, the first dimension of the grid fastest.
auto GpuKernelEmitter::program_number() -> Value* {
  using namespace llvm::Intrinsic;
  const auto read = [&](ID what) -> Value* {
    return b_.CreateZExt(b_.CreateIntrinsic(what, {}, {}), b_.getInt64Ty());
  };
  auto* planes = b_.CreateMul(read(nvvm_read_ptx_sreg_ctaid_z), read(nvvm_read_ptx_sreg_nctaid_y));
  auto* rows = b_.CreateAdd(planes, read(nvvm_read_ptx_sreg_ctaid_y));
  return b_.CreateAdd(b_.CreateMul(rows, read(nvvm_read_ptx_sreg_nctaid_x)),
                      read(nvvm_read_ptx_sreg_ctaid_x));
}

/// The first thread of the grid says what it was launched with, which only the GPU knows for sure.
void GpuKernelEmitter::tell_arguments() {
  auto* i64 = b_.getInt64Ty();
  Value* word = b_.getInt64(launch_word({}));
  for (std::size_t i = 0; i + 1 < params_.size(); ++i) {
    auto* param = params_[i];
    auto* bits = param->getType()->isPointerTy() ? b_.CreatePtrToInt(param, i64)
                                                 : b_.CreateBitCast(param, i64);
    word = b_.CreateAdd(word, b_.CreateMul(bits, b_.getInt64(2 * i + 1)));
  }
  auto* thread = thread_;
  for (const auto of :
       {llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z})
    thread = b_.CreateOr(thread, b_.CreateIntrinsic(of, {}, {}));
  auto* number = b_.CreateOr(program_number(), b_.CreateZExt(thread, i64));
  constexpr unsigned kTold = offsetof(GpuRecord, told) / sizeof(std::uint64_t);
  when(b_.CreateICmpEQ(number, b_.getInt64(0)), [&] {
    b_.CreateAlignedStore(word, b_.CreateConstGEP1_64(i64, record_, kTold), llvm::Align(8), true);
  });
}

/// Lanes of one program that store different values into one element: what stands there afterwards
/// is not what all of them stored. Threads of placed kernels do not all come here together.
void GpuKernelEmitter::compare_written(const TileStatement& one, const Values& stored,
                                       const Values& meant) {
  if (!is_checked_ || layout_->is_placed()) return;
  const auto index_id = one.operands[0];
  const auto param = param_of(one);
  barrier();
  for (int i = 0; i < std::ssize(meant); ++i) {
    auto* here = meant[static_cast<std::size_t>(i)];
    if (here == nullptr) continue;  // another register holds a copy
    auto* mine = stored[static_cast<std::size_t>(i)];
    auto* bits = b_.getIntNTy(static_cast<unsigned>(mine->getType()->getPrimitiveSizeInBits()));
    auto* index = lane(index_id, i);
    auto* there = guarded_load(bits, address(param, index, dtype(index_id)), here);
    auto* differs = b_.CreateICmpNE(there, b_.CreateBitCast(mine, bits));
    when(b_.CreateAnd(here, differs), [&] {
      record(one.line, b_.getInt64(param), as_int64(index, dtype(index_id)),
             GpuFault::write_conflict);
    });
  }
  barrier();  // nobody stores there again before all have looked
}

/// Where operands have layouts of their own nothing is put off.
void GpuState::find_passed_on() {
  if (dots_) return;
  std::set<TileId> other;
  const std::function<void(const TileRegion&)> visit = [&](const TileRegion& region) {
    for (const auto& one : region.body) {
      const auto* what = std::get_if<TileCompute>(&one.what);
      const bool is_store = std::holds_alternative<TileStore>(one.what);
      const bool is_choice = what != nullptr && what->op == TileOp::select;
      const bool is_cast = what != nullptr && what->op == TileOp::cast;
      for (std::size_t i = 0; i < one.operands.size(); ++i) {
        const bool passes_on = is_cast || (is_choice && i > 0) || (is_store && i == 1);
        (passes_on ? passed_on_ : other).insert(one.operands[i]);
      }
      for (const auto& inner : one.regions) visit(inner);
    }
    other.insert(region.yields.begin(), region.yields.end());
  };
  visit(kernel_.body);
  for (const auto id : other) passed_on_.erase(id);
}

auto GpuState::on_stack(Value* value) -> Value* {
  auto& entry = function_->getEntryBlock();
  llvm::IRBuilder<> first(&entry, entry.begin());
  auto* place = first.CreateAlloca(value->getType());
  b_.CreateStore(value, place);
  return place;
}

auto GpuState::unwritten_lanes(TileId id, int i) const -> std::vector<Unwritten> {
  const auto found = unwritten_.find(id);
  if (found == unwritten_.end()) return {};
  const auto lanes = found->second.lanes.find(i & found->second.mask);
  return lanes == found->second.lanes.end() ? std::vector<Unwritten>() : lanes->second;
}

auto GpuState::put_off(const TileStatement& one, std::size_t param, int i, Value* at, unsigned mask)
    -> Value* {
  if (!std::holds_alternative<TileLoad>(one.what) || !passed_on_.contains(one.results[0]))
    return nullptr;
  auto& all = unwritten_[one.results[0]];
  all.mask = static_cast<int>(mask);
  all.lanes[i] = {{one.line, param, on_stack(b_.getInt64(0)), on_stack(at)}};
  return all.lanes[i].front().origin;
}

/// Who read first what `writer` says that nobody wrote; 0: somebody wrote it.
auto GpuState::origin_of(Value* writer, Value* launch, int line) -> Value* {
  auto* nobody = b_.getInt64(0);
  auto* here = b_.CreateOr(
      b_.CreateLShr(launch, kLaunchShift),
      b_.getInt64(UnwrittenOrigin{.launch = 0, .line = static_cast<std::uint64_t>(line)}.word()));
  auto* first = b_.CreateSelect(b_.CreateICmpEQ(writer, nobody), here, writer);
  auto* is_written = b_.CreateICmpUGT(writer, b_.getInt64(bits(kLaunchShift)));
  return b_.CreateSelect(is_written, nobody, first);
}

/// What nobody wrote is not there because it was stored again.
auto GpuState::left_by(Value* writer, TileId stored, int i) -> Value* {
  for (const auto& read : unwritten_lanes(stored, i)) {
    auto* origin = b_.CreateLoad(b_.getInt64Ty(), read.origin);
    writer = b_.CreateSelect(b_.CreateICmpNE(origin, b_.getInt64(0)), origin, writer);
  }
  return writer;
}

/// What a choice leaves out need not have been written, nor what is copied.
void GpuKernelEmitter::choose_unwritten(const TileStatement& one) {
  const auto* what = std::get_if<TileCompute>(&one.what);
  if (what == nullptr || unwritten_.empty()) return;
  const bool is_choice = what->op == TileOp::select;
  if (!is_choice && what->op != TileOp::cast) return;
  const auto id = one.results[0];
  const bool is_kept = passed_on_.contains(id);
  std::map<int, std::vector<Unwritten>> kept;
  for (std::size_t operand = is_choice ? 1 : 0; operand < one.operands.size(); ++operand) {
    for (const int i : distinct(axes(id))) {
      const auto reads = unwritten_lanes(one.operands[operand], i);
      if (reads.empty()) continue;
      auto* chosen = is_choice ? lane(one.operands[0], i) : nullptr;
      if (operand == 2) chosen = b_.CreateNot(chosen);
      for (auto read : reads) {
        Value* origin = b_.CreateLoad(b_.getInt64Ty(), read.origin);
        if (chosen != nullptr) origin = b_.CreateSelect(chosen, origin, b_.getInt64(0));
        if (is_kept) {
          read.origin = on_stack(origin);
          kept[i].push_back(read);
          continue;
        }
        when(b_.CreateICmpNE(origin, b_.getInt64(0)), [&] {
          record(read.line, b_.getInt64(read.param), b_.CreateLoad(b_.getInt64Ty(), read.at),
                 GpuFault::uninitialised, origin);
        });
      }
    }
  }
  if (kept.empty()) return;
  auto& all = unwritten_[id];  // other registers may have their own from before
  all.mask = varies(axes(id)) ? static_cast<int>(layout_->register_mask(axes(id))) : 0;
  for (auto& [i, reads] : kept) all.lanes[i] = std::move(reads);
}

/// Looks at what others did to the element, and leaves word of this access. Lanes are told apart by
/// their place in the tile, in its lowest 16 bits, where no thread holds lanes of another tile.
/// What they do on different sides of a barrier is in order.
void GpuKernelEmitter::watch(const TileStatement& one, std::size_t param, int i, Value* at,
                             Value* condition, Access access) {
  const auto& memory = watched_.at(param);
  auto* i64 = b_.getInt64Ty();
  const llvm::Align align(8);
  const bool tells_lanes = !layout_->is_placed() && !is_single_lane_ && !dots_;
  const bool has_barriers = tells_lanes && has_barrier(kernel_.body);
  auto over = axes(one.operands[0]) | axes(one.operands[1]);
  auto* unwritten = put_off(one, param, i, at, varies(over) ? layout_->register_mask(over) : 0);
  if (access != Access::load) over |= axes(one.operands[2]);
  when(b_.CreateAnd(condition, b_.CreateICmpNE(memory.shadow, b_.getInt64(0))), [&] {
    const auto tell = [&](Value* wrong, GpuFault fault, Value* origin = nullptr) {
      when(wrong, [&] { record(one.line, b_.getInt64(param), at, fault, origin); });
    };
    const auto program_bits = bits(has_barriers ? kBarrierShift : kLaneShift);
    auto* program = has_barriers ? b_.CreateAnd(program_number(), program_bits) : program_number();
    auto* passed = has_barriers ? b_.CreateLoad(i64, passed_barriers()) : nullptr;
    auto* mine = b_.CreateOr(memory.launch, program);
    if (tells_lanes) {
      auto* number =
          lane_number(b_, *layout_, over, [&](std::size_t axis) { return coordinate(axis, i); });
      mine = b_.CreateOr(mine, b_.CreateShl(b_.CreateAnd(number, kLaneBits), kLaneShift));
    }
    if (has_barriers) mine = b_.CreateOr(mine, b_.CreateShl(passed, kBarrierShift));
    const auto in_launch = [&](Value* who) {
      return b_.CreateICmpULE(b_.CreateXor(who, memory.launch), b_.getInt64(bits(kLaunchShift)));
    };
    const auto differs_in = [&](Value* who, std::uint64_t mask) {
      return b_.CreateICmpNE(b_.CreateAnd(b_.CreateXor(who, mine), mask), b_.getInt64(0));
    };
    /// Lanes of one program may store the same value there (compare_written).
    const auto is_other_program = [&](Value* who) {
      return b_.CreateAnd(in_launch(who), differs_in(who, program_bits));
    };
    /// In this launch, by another program, or by another lane between the same barriers?
    const auto is_other = [&](Value* who) {
      if (!has_barriers) return b_.CreateAnd(in_launch(who), b_.CreateICmpNE(who, mine));
      auto* is_apart = differs_in(who, kBarriers);
      auto* is_told = b_.CreateICmpULT(passed, b_.getInt64(kMostBarriers));
      auto* is_beside = b_.CreateAnd(is_told, b_.CreateNot(is_apart));
      auto* lane = b_.CreateAnd(differs_in(who, kLanes), is_beside);
      return b_.CreateAnd(in_launch(who), b_.CreateOr(differs_in(who, program_bits), lane));
    };
    auto* place = b_.CreateAdd(memory.shadow, b_.CreateMul(at, b_.getInt64(sizeof(GpuShadow))));
    auto* writer = b_.CreateIntToPtr(place, b_.getPtrTy(1));
    auto* reader = b_.CreateConstGEP1_64(i64, writer, 1);
    if (access == Access::store) {
      auto* before =
          b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, writer, left_by(mine, one.operands[1], i),
                             align, llvm::AtomicOrdering::Monotonic);
      if (!steps_.scatters_one_value(one)) tell(is_other_program(before), GpuFault::write_conflict);
      tell(is_other(b_.CreateAlignedLoad(i64, reader, align, true)), GpuFault::read_conflict);
      return;
    }
    auto* both = b_.CreateAlignedLoad(llvm::FixedVectorType::get(i64, 2), writer,
                                      llvm::Align(sizeof(GpuShadow)), true);
    auto* before = b_.CreateExtractElement(both, std::uint64_t{0});
    auto* origin = origin_of(before, memory.launch, one.line);
    if (unwritten != nullptr)
      b_.CreateStore(origin, unwritten);
    else if (access != Access::exchange)
      tell(b_.CreateICmpNE(origin, b_.getInt64(0)), GpuFault::uninitialised, origin);
    if (access == Access::load) {
      tell(is_other(before), GpuFault::read_conflict);
      update(b_, reader, b_.CreateExtractElement(both, std::uint64_t{1}),
             [&](Value* who) -> Value* {
               Value* same = who;  // the program's own lanes
               if (tells_lanes)
                 same = b_.CreateSelect(differs_in(who, kLanes), b_.CreateOr(mine, kLanes), who);
               if (has_barriers) same = b_.CreateSelect(differs_in(who, kBarriers), mine, same);
               auto* all = b_.CreateOr(memory.launch, bits(kLaunchShift));
               auto* joined = b_.CreateSelect(differs_in(who, program_bits), all, same);
               return b_.CreateSelect(in_launch(who), joined, mine);
             });
    } else {  // whoever comes first: all atomics of a launch agree with each other
      tell(is_other(b_.CreateExtractElement(both, std::uint64_t{1})), GpuFault::read_conflict);
      b_.CreateAlignedStore(b_.getInt64(~std::uint64_t{0}), writer, align, true);
    }
  });
}

}  // namespace assay
