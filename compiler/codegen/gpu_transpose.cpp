// Stores along another axis than the loads: lanes change hands through shared memory.
#include <llvm/IR/Module.h>

#include <numeric>
#include <set>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

constexpr std::int64_t kLeastSide = 8;
constexpr unsigned kShared = 3;
/// An element more per row, so that columns fall into different banks.
constexpr std::int64_t kPadding = 1;

/// Statements that the index and mask of a store rest on, if they can be made again for other
/// lanes: arithmetic on lanes, numbers and parameters.
auto pure_slice(const TileKernel& kernel, const TileStatement& one)
    -> std::optional<std::vector<const TileStatement*>> {
  const auto axes = [&](TileId id) { return kernel.type(id).axes; };
  std::set<TileId> wanted{one.operands[0]};
  if (one.operands[2] != kNoTile) wanted.insert(one.operands[2]);
  std::vector<const TileStatement*> slice;
  for (auto at = kernel.body.body.rbegin(); at != kernel.body.body.rend(); ++at) {
    if (at->results.size() != 1 || wanted.erase(at->results[0]) == 0) continue;
    if (axes(at->results[0]) == 0) continue;  // the same in every lane: it is there
    if (!std::holds_alternative<TileLane>(at->what) &&
        !std::holds_alternative<TileCompute>(at->what))
      return std::nullopt;
    slice.insert(slice.begin(), &*at);
    wanted.insert(at->operands.begin(), at->operands.end());
  }
  // What is left comes from a loop around the store.
  for (const auto id : wanted)
    if (axes(id) != 0) return std::nullopt;
  return slice;
}

}  // namespace

auto GpuKernelEmitter::transposed_store(const TileStatement& one, const TileStore& what) -> bool {
  if (layout_->is_placed()) return false;
  // The fastest axis of the layout, and the one the store is contiguous along.
  std::vector<std::size_t> large;
  for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis)
    if (layout_->axes[axis].bits > 0) large.push_back(axis);
  if (large.size() != 2 || is_single_lane_ || layout_->copy_mask() != 0) return false;
  if (layout_->axes[large[0]].shift != 0) std::swap(large[0], large[1]);
  const auto fastest = large[0], other = large[1];
  const auto both = AxisSet{1} << fastest | AxisSet{1} << other;
  const auto sides = std::array{std::int64_t{1} << layout_->axes[fastest].bits,
                                std::int64_t{1} << layout_->axes[other].bits};
  if (std::min(sides[0], sides[1]) < kLeastSide) return false;
  if ((axes(one.operands[0]) & both) != both || (axes(one.operands[1]) & both) != both)
    return false;
  if (steps_.step(one.operands[0], other) != 1 || steps_.step(one.operands[0], fastest) == 1)
    return false;
  const auto slice = pure_slice(kernel_, one);
  if (!slice) return false;
  std::vector<std::int64_t> blocks;
  for (const auto& axis : layout_->axes) blocks.push_back(std::int64_t{1} << axis.bits);
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::swap(order[0], order[other]);
  const auto turned =
      make_tile_layout(blocks, order, 1 << layout_->contiguous_bits, layout_->registers());
  if (!turned || turned->thread_bits != layout_->thread_bits) return false;

  const auto of = kernel_.params[what.param].dtype;
  auto* type = code_.memory_type(of);
  const auto row = sides[0] + kPadding;
  auto* room = llvm::ArrayType::get(type, static_cast<std::uint64_t>(row * sides[1]));
  auto* tile = new llvm::GlobalVariable(module_, room, false, llvm::GlobalValue::InternalLinkage,
                                        llvm::UndefValue::get(room), "tile", nullptr,
                                        llvm::GlobalValue::NotThreadLocal, kShared);
  tile->setAlignment(llvm::Align(16));
  const auto place = [&](int i) {
    auto* down = b_.CreateMul(coordinate(other, i), b_.getInt32(static_cast<std::uint32_t>(row)));
    return b_.CreateGEP(type, tile, b_.CreateAdd(down, coordinate(fastest, i)));
  };
  const llvm::Align align(static_cast<std::uint64_t>(size_bytes(of)));
  barrier();  // nobody reads what an earlier round left
  for (int i = 0; i < layout_->registers(); ++i)
    b_.CreateAlignedStore(code_.to_memory(lane(one.operands[1], i), of), place(i), align);
  barrier();
  const auto* held_layout = std::exchange(layout_, &*turned);
  const auto held_values = values_;
  for (const auto* again : *slice) emit(*again);
  Values lanes;
  for (int i = 0; i < layout_->registers(); ++i)
    lanes.push_back(b_.CreateAlignedLoad(type, place(i), align));
  store_lanes(one, what.param, lanes);
  layout_ = held_layout;
  values_ = held_values;
  return true;
}

}  // namespace assay
