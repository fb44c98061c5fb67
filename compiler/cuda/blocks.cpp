#include "compiler/cuda/blocks.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/program/access_steps.h"

namespace assay {
namespace {

constexpr std::int64_t kTile = 512, kRow = 1024, kColumns = 128;
constexpr std::int64_t kSquare = 32;  ///< both axes of a transposing tile
constexpr std::int64_t kAccessBytes = 16;

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

}  // namespace

auto choose_gpu_blocks(const TileKernel& kernel, const std::vector<std::int64_t>& extents)
    -> std::vector<std::int64_t> {
  const auto count = kernel.axes.size();
  std::vector<std::int64_t> blocks(count, 0);
  std::int64_t taken = 1;
  bool has_reduction = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto fixed = fixed_block(kernel, kernel.axes[i]);
    if (fixed) blocks[i] = *fixed;
    if (fixed) taken *= *fixed;
    has_reduction = has_reduction || kernel.axes[i].kind == TileAxis::Kind::reduction;
  }
  const auto order = by_score(kernel);
  const auto scores = AccessSteps(kernel).scores();
  const auto pick = [&](std::size_t axis, std::int64_t most) {
    if (blocks[axis] != 0) return;
    const auto extent = axis < extents.size() ? extents[axis] : 0;
    const auto known = extent > 0 ? power_of_two(extent) : most;
    blocks[axis] = std::max<std::int64_t>(
        std::min({most, known, std::max<std::int64_t>(kernel.axes[axis].max_block, 1)}), 1);
    taken *= blocks[axis];
  };
  if (order.empty()) return blocks;
  const auto fastest = order[0];
  const bool is_row = kernel.axes[fastest].kind == TileAxis::Kind::reduction;
  if (!has_reduction) {
    const bool transposes = order.size() > 1 && scores[order[1]] > 0 && blocks[order[1]] == 0;
    pick(fastest, transposes ? kSquare : std::max<std::int64_t>(kTile / taken, 1));
    if (transposes) pick(order[1], kSquare);
  } else if (is_row) {
    pick(fastest, kRow);
  } else {
    pick(fastest, std::max<std::int64_t>(std::min(kColumns, 4 * kRow / taken), 1));
  }
  for (const auto axis : order)
    pick(axis, has_reduction ? std::max<std::int64_t>((is_row ? kTile : kRow) / taken, 1)
                             : std::max<std::int64_t>(kTile / taken, 1));
  return blocks;
}

auto layout_for(const TileKernel& kernel, const std::vector<std::int64_t>& blocks)
    -> Result<TileLayout> {
  const auto order = by_score(kernel);
  const AccessSteps steps(kernel);
  std::int64_t largest = 0;
  for (const auto* one : steps.accesses()) {
    const auto* load = std::get_if<TileLoad>(&one->what);
    const auto param = load != nullptr ? load->param : std::get<TileStore>(one->what).param;
    if (order.empty() || steps.step(one->operands[0], order[0]) != 1) continue;
    largest = std::max<std::int64_t>(largest, size_bytes(kernel.params[param].dtype));
  }
  const auto neighbours = largest == 0 ? 1 : std::max<std::int64_t>(kAccessBytes / largest, 1);
  // A row keeps what it has read; elsewhere few registers leave room for more threads.
  const bool is_row = !order.empty() && kernel.axes[order[0]].kind == TileAxis::Kind::reduction;
  constexpr std::int64_t kRegisters = 4, kLongRow = 16384;
  const std::int64_t row_registers = !order.empty() && blocks[order[0]] >= kLongRow ? 32 : 16;
  return make_tile_layout(
      blocks, order, static_cast<int>(neighbours),
      static_cast<int>(std::max(neighbours, is_row ? row_registers : kRegisters)));
}

}  // namespace assay
