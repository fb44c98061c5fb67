// Axes that are dimensions of the block of threads, or blocks of a cluster: the launch says how
// many there are, so everything here asks when it runs. Powers of two, but for the warps of a row;
// where lanes of a row are warps or blocks, the first dimension is a whole warp.
//
// Each axis folds by halves, the upper one onto the lower one, as the tile's lanes do.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/gpu_columns.h"
#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/gpu_shared.h"

namespace assay {
namespace {

using llvm::Value;

constexpr unsigned kShared = 3, kWarp = 32;
constexpr std::uint64_t kMostWarps = 32;  ///< of a block
constexpr int kClusters = 90;             ///< architectures from here on have them

}  // namespace

void GpuKernelEmitter::enter_places() {
  using namespace llvm::Intrinsic;
  constexpr std::array<std::array<ID, 2>, 3> kRegisters = {
      {{nvvm_read_ptx_sreg_tid_x, nvvm_read_ptx_sreg_ntid_x},
       {nvvm_read_ptx_sreg_tid_y, nvvm_read_ptx_sreg_ntid_y},
       {nvvm_read_ptx_sreg_tid_z, nvvm_read_ptx_sreg_ntid_z}}};
  const auto is_used = [&](TilePlace of) {
    return std::ranges::find(layout_->places, of) != layout_->places.end();
  };
  for (std::size_t i = 0; i < kThreadPlaces; ++i) {
    const auto of = static_cast<TilePlace>(i + 1);
    auto& made = places_.at(i) = {b_.getInt32(0), b_.getInt32(1)};
    if (!is_used(of)) continue;
    if (of != TilePlace::rank) {
      made = {b_.CreateIntrinsic(kRegisters.at(i)[0], {}, {}),
              b_.CreateIntrinsic(kRegisters.at(i)[1], {}, {})};
      if (of == TilePlace::thread_x && layout_->fills_warps) made.count = b_.getInt32(kWarp);
    } else if (architecture_ >= kClusters) {
      const auto read = [&](const char* what) {
        auto* type = llvm::FunctionType::get(b_.getInt32Ty(), false);
        return b_.CreateCall(
            llvm::InlineAsm::get(type, fmt::format("mov.u32 $0, %{};", what), "=r", false));
      };
      made = {read("cluster_ctarank"), read("cluster_nctarank")};
    }
  }
  const auto& [x, y, z, rank] = places_;
  auto* row = b_.CreateAdd(b_.CreateMul(z.at, y.count), y.at);
  thread_ = b_.CreateAdd(b_.CreateMul(row, x.count), x.at);
  begin_ = b_.GetInsertBlock();
  body_ = llvm::BasicBlock::Create(module_.getContext(), "body", function_);
  b_.SetInsertPoint(body_);
}

auto GpuKernelEmitter::shared_room(llvm::Type* type, std::uint64_t count) -> llvm::GlobalVariable* {
  auto* room = llvm::ArrayType::get(shared_type(b_, type), count);
  auto* made = new llvm::GlobalVariable(module_, room, false, llvm::GlobalValue::InternalLinkage,
                                        llvm::UndefValue::get(room), "folded", nullptr,
                                        llvm::GlobalValue::NotThreadLocal, kShared);
  made->setAlignment(llvm::Align(16));
  return made;
}

/// Over as many neighbouring lanes of a warp, which all get the result.
auto GpuKernelEmitter::butterfly(const TileStatement& one, TileCombine how, Value* count,
                                 Values mine) -> Values {
  if (!llvm::isa<llvm::Constant>(count)) count = opaque(count);
  for (unsigned bit = kWarp / 2; bit != 0; bit /= 2) {
    auto* takes = b_.CreateICmpUGT(count, b_.getInt32(bit));
    const auto both = fold_lanes(one, how, bit, mine);
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = b_.CreateSelect(takes, both[i], mine[i]);
  }
  return mine;
}

/// Over parts, as many as `count` and few for the most part, that the lanes of a warp pick up.
/// Other lanes have what changes nothing; where there is no such thing the first lane leaves them
/// out and tells all of them.
auto GpuKernelEmitter::folded_few(const TileStatement& one, TileCombine how, Value* count,
                                  const std::function<Values(Value*)>& part) -> Values {
  constexpr unsigned kFew = 4;
  const bool has_identity = how != TileCombine::region && how != TileCombine::welford;
  auto* is_many = b_.CreateICmpUGT(count, b_.getInt32(kFew));
  auto* lane =
      b_.CreateAnd(place(TilePlace::thread_x).at,
                   b_.CreateSelect(is_many, b_.getInt32(kWarp - 1), b_.getInt32(kFew - 1)));
  auto* last = b_.CreateSub(count, b_.getInt32(1));
  auto mine = part(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lane, last));
  for (std::size_t i = 0; has_identity && i < mine.size(); ++i)
    mine[i] = b_.CreateSelect(b_.CreateICmpULT(lane, count), mine[i],
                              combine_.identity(how, i, dtype(one.operands[i])));
  const auto folded = [&](unsigned from, unsigned to, Values all) {
    for (unsigned bit = from; bit >= to; bit /= 2) {
      auto both = fold_lanes(one, how, bit, all);
      auto* is_there = b_.CreateICmpULT(b_.CreateXor(lane, bit), count);
      for (std::size_t i = 0; !has_identity && i < all.size(); ++i)
        both[i] = b_.CreateSelect(is_there, both[i], all[i]);
      all = std::move(both);
    }
    return all;
  };
  mine = either(is_many, [&] { return folded(kWarp / 2, kFew, mine); }, [&] { return mine; });
  mine = folded(kFew / 2, 1, std::move(mine));
  for (std::size_t i = 0; !has_identity && i < mine.size(); ++i)
    mine[i] = shuffled(mine[i], b_.getInt32(0));
  return mine;
}

/// Of a value that all lanes of a warp share, over a row's warps: each leaves its own, and lanes of
/// every warp pick up one each.
auto GpuKernelEmitter::gathered(const TileStatement& one, TileCombine how, const Values& mine)
    -> Values {
  const auto& x = place(TilePlace::thread_x);
  const auto& y = place(TilePlace::thread_y);
  auto* first = b_.CreateMul(place(TilePlace::thread_z).at, y.count);
  const auto fold = [&] {
    std::vector<llvm::GlobalVariable*> rooms;
    for (auto* value : mine) rooms.push_back(shared_room(value->getType(), kMostWarps));
    const auto slot = [&](std::size_t i, Value* at) {
      return b_.CreateGEP(shared_type(b_, mine[i]->getType()), rooms[i],
                          b_.CreateZExt(b_.CreateAdd(first, at), b_.getInt64Ty()));
    };
    when(b_.CreateICmpEQ(x.at, b_.getInt32(0)), [&] {
      for (std::size_t i = 0; i < mine.size(); ++i)
        b_.CreateStore(as_shared(b_, mine[i]), slot(i, y.at));
    });
    barrier();
    return folded_few(one, how, y.count, [&](Value* whose) {
      Values theirs;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        auto* type = mine[i]->getType();
        auto* got = b_.CreateLoad(shared_type(b_, type), slot(i, whose));
        theirs.push_back(from_shared(b_, got, type));
      }
      return theirs;
    });
  };
  return either(b_.CreateICmpUGT(y.count, b_.getInt32(1)), fold, [&] { return mine; });
}

auto GpuKernelEmitter::folded_over(const TileStatement& one, TileCombine how, TilePlace of,
                                   AxisSet over, Parts parts) -> Parts {
  const auto apart = layout_->register_mask(over);
  std::vector<std::size_t> registers;
  for (std::size_t i = 0; i < parts[0].size(); ++i)
    if ((i & ~std::size_t{apart}) == 0) registers.push_back(i);
  const auto in_x = std::ranges::find(layout_->places, TilePlace::thread_x);
  const auto x = static_cast<std::size_t>(in_x - layout_->places.begin());
  const bool is_row =
      in_x != layout_->places.end() && kernel_.axes[x].kind == TileAxis::Kind::reduction;
  const bool varies_in_x = in_x != layout_->places.end() && (over >> x & 1U) != 0;
  if (of == TilePlace::thread_x || (is_row && !varies_in_x && of != TilePlace::thread_z)) {
    for (const auto at : registers) {
      Values mine;
      for (const auto& part : parts) mine.push_back(part[at]);
      mine = of == TilePlace::thread_x   ? butterfly(one, how, place(of).count, mine)
             : of == TilePlace::thread_y ? gathered(one, how, mine)
                                         : exchanged(one, how, mine);
      for (std::size_t part = 0; part < parts.size(); ++part) parts[part][at] = mine[part];
    }
  } else if (of == TilePlace::thread_y) {
    parts = GpuColumns(*this, one, how, registers).folded(std::move(parts));
  } else {
    fail(fmt::format("line {}: a reduction along a dimension that has no code", one.line));
  }
  for (auto& part : parts)
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = part[i & apart];
  return parts;
}

}  // namespace assay
