#include "compiler/cuda/blocks.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/cuda/dot_layout.h"
#include "compiler/program/access_steps.h"

namespace assay {
namespace {

constexpr std::int64_t kTile = 512, kRow = 1024, kColumns = 128;
constexpr std::int64_t kSquare = 32;  ///< both axes of a transposing tile
constexpr std::int64_t kAccessBytes = 16;
constexpr std::int64_t kNarrow = 2;  ///< bytes of elements of which a row takes twice as many
constexpr std::int64_t kLongRow = 16384;
/// A row of which two warps keep all: they wait for each other least (layer norm 0.25 to 0.19 ms).
constexpr std::int64_t kTwoWarpRow = 4096;

auto power_of_two(std::int64_t at_least) -> std::int64_t {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(at_least, 1, 1 << 20))));
}

/// What the kernel itself says of an axis' block.
auto fixed_block(const TileKernel& kernel, const TileAxis& axis) -> std::optional<std::int64_t> {
  if (const auto known = axis.block.as_int()) return known;
  if (axis.extent && axis.extent->is_int(1)) return 1;
  for (const auto& param : kernel.params)
    if (param.kind == TileParam::Kind::block && param.symbol == axis.block) return param.fixed;
  return std::nullopt;
}

auto by_score(const TileKernel& kernel) -> std::vector<std::size_t> {
  const auto scores = AccessSteps(kernel).scores();
  std::vector<std::size_t> order(kernel.axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

/// Blocks by axis, what the kernel fixes first; open ones are picked one by one.
class BlockChoice {
 public:
  BlockChoice(const TileKernel& kernel, const std::vector<std::int64_t>& extents)
      : kernel_(kernel), extents_(extents), blocks_(kernel.axes.size(), 0) {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i] = fixed_block(kernel, kernel.axes[i]).value_or(0);
      if (blocks_[i] > 0) taken_ *= blocks_[i];
    }
  }
  [[nodiscard]] auto is_open(std::size_t axis) const -> bool { return blocks_[axis] == 0; }
  [[nodiscard]] auto has_reduction() const -> bool {
    return std::ranges::any_of(
        kernel_.axes, [](const TileAxis& axis) { return axis.kind == TileAxis::Kind::reduction; });
  }
  /// Lanes that a tile of `lanes` has left for another axis.
  [[nodiscard]] auto left_of(std::int64_t lanes) const -> std::int64_t {
    return std::max<std::int64_t>(lanes / taken_, 1);
  }
  void pick(std::size_t axis, std::int64_t most) {
    if (!is_open(axis)) return;
    const auto extent = axis < extents_.size() ? extents_[axis] : 0;
    const auto known = extent > 0 ? power_of_two(extent) : most;
    const auto allowed = std::max<std::int64_t>(kernel_.axes[axis].max_block, 1);
    blocks_[axis] = std::max<std::int64_t>(std::min({most, known, allowed}), 1);
    taken_ *= blocks_[axis];
  }
  [[nodiscard]] auto blocks() const -> const std::vector<std::int64_t>& { return blocks_; }

 private:
  const TileKernel& kernel_;
  const std::vector<std::int64_t>& extents_;
  std::vector<std::int64_t> blocks_;
  std::int64_t taken_ = 1;
};

/// Bytes of the largest element among accesses that go through memory along the axis; 0: none do.
auto element_bytes(const TileKernel& kernel, const std::vector<std::size_t>& order)
    -> std::int64_t {
  const AccessSteps steps(kernel);
  std::int64_t largest = 0;
  for (const auto* one : steps.accesses()) {
    const auto param = std::visit(
        []<class T>(const T& what) -> std::size_t {
          if constexpr (requires { what.param; } && !std::is_same_v<T, TileSearch>)
            return what.param;
          return 0;
        },
        one->what);
    if (order.empty() || steps.step(one->operands[0], order[0]) != 1) continue;
    largest = std::max<std::int64_t>(largest, size_bytes(kernel.params[param].dtype));
  }
  return largest;
}
}  // namespace

auto choose_gpu_blocks(const TileKernel& kernel, const std::vector<std::int64_t>& extents)
    -> std::vector<std::int64_t> {
  BlockChoice choice(kernel, extents);
  const auto order = by_score(kernel);
  if (order.empty()) return {};
  const auto fastest = order[0];
  if (!choice.has_reduction()) {
    const auto scores = AccessSteps(kernel).scores();
    const bool transposes = order.size() > 1 && scores[order[1]] > 0 && choice.is_open(order[1]);
    choice.pick(fastest, transposes ? kSquare : choice.left_of(kTile));
    if (transposes) choice.pick(order[1], kSquare);
    for (const auto axis : order) choice.pick(axis, choice.left_of(kTile));
    return choice.blocks();
  }
  const bool is_row = kernel.axes[fastest].kind == TileAxis::Kind::reduction;
  choice.pick(fastest, is_row ? kRow : std::min(kColumns, choice.left_of(4 * kRow)));
  for (const auto axis : order) choice.pick(axis, choice.left_of(is_row ? kTile : kRow));
  return choice.blocks();
}

auto gpu_block_candidates(const TileKernel& kernel, const std::vector<std::int64_t>& extents)
    -> std::vector<std::vector<std::int64_t>> {
  std::vector<std::vector<std::int64_t>> all = {choose_gpu_blocks(kernel, extents)};
  for (const auto axis : by_score(kernel)) {
    if (fixed_block(kernel, kernel.axes[axis])) continue;
    for (const auto block : {all[0][axis] / 2, all[0][axis] * 2}) {
      if (block < 1 || block > kernel.axes[axis].max_block) continue;
      all.push_back(all[0]);
      all.back()[axis] = block;
    }
    break;
  }
  return all;
}

auto layout_for(const TileKernel& kernel, const std::vector<std::int64_t>& blocks, std::int64_t run,
                std::int64_t registers) -> Result<TileLayout> {
  ASSAY_TRY(const auto products, dot_axes(kernel));
  if (products) return dot_layout(kernel, *products, blocks);
  const auto order = by_score(kernel);
  // The lowest bits of a place are compared most often, which is cheapest in registers; where each
  // is compared once neighbouring threads are neighbours in memory.
  constexpr std::int64_t kSortedLanes = 2048;
  for (const auto& one : kernel.body.body)
    if (const auto* sort = std::get_if<TileSort>(&one.what); sort != nullptr && registers == 0) {
      const bool is_narrow = size_bytes(kernel.type(one.operands[0]).dtype) <= 4;
      const int sorted = is_narrow && blocks[sort->axis] > kSortedLanes ? 16 : 8;
      return make_tile_layout(blocks, order, sort->is_bitonic ? 1 : sorted, sorted);
    }
  const auto largest = element_bytes(kernel, order);
  auto neighbours = largest == 0 ? 1 : std::max<std::int64_t>(kAccessBytes / largest, 1);
  const bool is_row = !order.empty() && kernel.axes[order[0]].kind == TileAxis::Kind::reduction;
  neighbours = std::min(neighbours, run);
  // A row keeps what it has read; elsewhere few registers leave room for more threads.
  constexpr std::int64_t kRegisters = 4;
  const auto lanes = order.empty() ? 1 : blocks[order[0]];
  // A row of narrow elements that is read in one go has as many bytes in flight as one of wide
  // ones.
  const bool loops = std::ranges::any_of(kernel.body.body, [](const TileStatement& one) {
    return std::holds_alternative<TileLoop>(one.what);
  });
  const bool takes_more = lanes >= kLongRow || (largest == kNarrow && !loops);
  const std::int64_t row_registers = lanes == kTwoWarpRow && !loops ? 64 : takes_more ? 32 : 16;
  const auto usual = is_row ? row_registers : kRegisters;
  return make_tile_layout(
      blocks, order, static_cast<int>(neighbours),
      static_cast<int>(std::max(neighbours, registers > 0 ? registers : usual)));
}

}  // namespace assay
