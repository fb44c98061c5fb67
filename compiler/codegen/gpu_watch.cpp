// Checked code beside each access: shadow memory tells elements that nobody wrote, and programs of
// the grid that touch what another one writes. Threads of one program are not told apart.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cstddef>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {

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
  const auto param = std::get<TileStore>(one.what).param;
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

void GpuKernelEmitter::watch(int line, std::size_t param, Value* at, Value* condition,
                             Access access) {
  const auto& memory = watched_.at(param);
  auto* i64 = b_.getInt64Ty();
  const llvm::Align align(8);
  when(b_.CreateAnd(condition, b_.CreateICmpNE(memory.shadow, b_.getInt64(0))), [&] {
    const auto tell = [&](Value* wrong, GpuFault fault) {
      when(wrong, [&] { record(line, b_.getInt64(param), at, fault); });
    };
    auto* mine = b_.CreateOr(memory.launch, program_number());
    constexpr std::uint64_t kLaunchBits = 48;
    /// In this launch, by another program?
    const auto is_other = [&](Value* who) {
      auto* same_launch = b_.CreateICmpULT(b_.CreateXor(who, memory.launch),
                                           b_.getInt64(std::uint64_t{1} << kLaunchBits));
      return b_.CreateAnd(same_launch, b_.CreateICmpNE(who, mine));
    };
    auto* bytes = b_.CreateMul(at, b_.getInt64(sizeof(GpuShadow)));
    auto* writer = b_.CreateIntToPtr(b_.CreateAdd(memory.shadow, bytes), b_.getPtrTy(1));
    auto* reader = b_.CreateConstGEP1_64(i64, writer, 1);
    if (access == Access::store) {
      auto* before = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, writer, mine, align,
                                        llvm::AtomicOrdering::Monotonic);
      tell(is_other(before), GpuFault::write_conflict);
      tell(is_other(b_.CreateAlignedLoad(i64, reader, align, true)), GpuFault::read_conflict);
      return;
    }
    auto* before = b_.CreateAlignedLoad(i64, writer, align, true);
    if (access != Access::exchange)
      tell(b_.CreateICmpEQ(before, b_.getInt64(0)), GpuFault::uninitialised);
    if (access == Access::load) {
      tell(is_other(before), GpuFault::read_conflict);
      b_.CreateAlignedStore(mine, reader, align, true);
    } else {  // whoever comes first: all atomics of a launch agree with each other
      b_.CreateAlignedStore(b_.getInt64(~std::uint64_t{0}), writer, align, true);
    }
  });
}

}  // namespace assay
