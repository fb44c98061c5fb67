// Blocks of a cluster tell each other their parts of a row.
//
// Each sends its own to all others (`st.async`), which count the bytes that come in (`mbarrier`):
// a block waits once for each reduction and never for others to have read, so none of its stores
// holds it up at the end. Before the first one is sent all must have begun; that is asked for at
// the kernel's start and waited for as late as that.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/cuda/tiling.h"

namespace assay {
namespace {

using llvm::Value;

constexpr std::uint64_t kWarp = 32;  ///< a row fills one at least
constexpr unsigned kLeastBits = 32;  ///< that can be sent
constexpr unsigned kBitsOfByte = 8;

auto sent_type(llvm::IRBuilder<>& b, llvm::Type* type) -> llvm::IntegerType* {
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  return b.getIntNTy(std::max(bits, kLeastBits));
}
auto as_sent(llvm::IRBuilder<>& b, Value* value) -> Value* {
  const auto bits = static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits());
  return b.CreateZExt(b.CreateBitCast(value, b.getIntNTy(bits)), sent_type(b, value->getType()));
}
auto from_sent(llvm::IRBuilder<>& b, Value* value, llvm::Type* type) -> Value* {
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  return b.CreateBitCast(b.CreateTrunc(value, b.getIntNTy(bits)), type);
}

}  // namespace

auto GpuKernelEmitter::assembly(const char* text, const char* constraints, const Values& operands,
                                llvm::Type* result) -> Value* {
  std::vector<llvm::Type*> types;
  for (auto* one : operands) types.push_back(one->getType());
  auto* type = llvm::FunctionType::get(result == nullptr ? b_.getVoidTy() : result, types, false);
  auto* call = b_.CreateCall(llvm::InlineAsm::get(type, text, constraints, true), operands);
  call->setConvergent();
  return call;
}

auto GpuKernelEmitter::exchanged(const TileStatement& one, TileCombine how, const Values& mine)
    -> Values {
  const auto& x = place(TilePlace::thread_x);
  const auto& y = place(TilePlace::thread_y);
  const auto& z = place(TilePlace::thread_z);
  const auto& rank = place(TilePlace::rank);
  const auto number = [&](Value* shared) { return b_.CreatePtrToInt(shared, b_.getInt32Ty()); };
  const auto exchange = [&] {
    if (exchanges_.empty()) assembly("barrier.cluster.wait.aligned;", "~{memory}", {}, nullptr);
    auto& made = exchanges_.emplace_back();
    made.arrived = shared_room(b_.getInt64Ty(), 1);
    const auto rows = static_cast<std::uint64_t>(layout_->threads()) / kWarp;
    std::vector<llvm::GlobalVariable*> rooms;
    for (auto* value : mine) {
      auto* type = sent_type(b_, value->getType());
      rooms.push_back(shared_room(type, kMostRanks * rows));
      made.bytes += type->getBitWidth() / kBitsOfByte;
    }
    const auto slot = [&](std::size_t i, Value* block) {
      auto* at = b_.CreateAdd(b_.CreateMul(block, z.count), z.at);
      return b_.CreateGEP(sent_type(b_, mine[i]->getType()), rooms[i],
                          b_.CreateZExt(at, b_.getInt64Ty()));
    };
    const auto at_block = [&](Value* shared, Value* block) {
      return assembly("mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", {number(shared), block},
                      b_.getInt32Ty());
    };
    // A lane for each block.
    auto* sends =
        b_.CreateAnd(b_.CreateICmpEQ(y.at, b_.getInt32(0)), b_.CreateICmpULT(x.at, rank.count));
    when(sends, [&] {
      auto* arrived = at_block(made.arrived, x.at);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        auto* value = as_sent(b_, mine[i]);
        const bool is_wide = value->getType()->isIntegerTy(64);
        assembly(is_wide
                     ? "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [$0], $1, [$2];"
                     : "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];",
                 is_wide ? "r,l,r,~{memory}" : "r,r,r,~{memory}",
                 {at_block(slot(i, rank.at), x.at), value, arrived}, nullptr);
      }
    });
    auto* again = llvm::BasicBlock::Create(module_.getContext(), "await", function_);
    auto* after = llvm::BasicBlock::Create(module_.getContext(), "arrived", function_);
    b_.CreateBr(again);
    b_.SetInsertPoint(again);
    auto* done = assembly(
        "{\n\t.reg .pred there;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 there, [$1], 0;\n\t"
        "selp.b32 $0, 1, 0, there;\n\t}",
        "=r,r,~{memory}", {number(made.arrived)}, b_.getInt32Ty());
    b_.CreateCondBr(b_.CreateICmpNE(done, b_.getInt32(0)), after, again);
    b_.SetInsertPoint(after);
    return folded_few(one, how, rank.count, [&](Value* whose) {
      Values theirs;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        auto* type = mine[i]->getType();
        auto* got = b_.CreateLoad(sent_type(b_, type), slot(i, whose), /*isVolatile=*/true);
        theirs.push_back(from_sent(b_, got, type));
      }
      return theirs;
    });
  };
  return either(b_.CreateICmpUGT(rank.count, b_.getInt32(1)), exchange, [&] { return mine; });
}

/// What must be ready before other blocks send anything stands before the body.
void GpuKernelEmitter::leave_places() {
  auto* end = b_.GetInsertBlock();
  b_.SetInsertPoint(begin_);
  const auto& rank = place(TilePlace::rank);
  const auto prepare = [&] {
    when(b_.CreateICmpEQ(thread_, b_.getInt32(0)), [&] {
      for (const auto& one : exchanges_) {
        auto* at = b_.CreatePtrToInt(one.arrived, b_.getInt32Ty());
        assembly("mbarrier.init.shared.b64 [$0], 1;", "r,~{memory}", {at}, nullptr);
        auto* lanes = b_.CreateMul(rank.count, place(TilePlace::thread_z).count);
        assembly("mbarrier.arrive.expect_tx.shared.b64 _, [$0], $1;", "r,r,~{memory}",
                 {at, b_.CreateMul(lanes, b_.getInt32(one.bytes))}, nullptr);
      }
      assembly("fence.mbarrier_init.release.cluster;", "~{memory}", {}, nullptr);
    });
    assembly("barrier.cluster.arrive.relaxed.aligned;", "~{memory}", {}, nullptr);
  };
  if (!exchanges_.empty()) when(b_.CreateICmpUGT(rank.count, b_.getInt32(1)), prepare);
  b_.CreateBr(body_);
  b_.SetInsertPoint(end);
}

}  // namespace assay
