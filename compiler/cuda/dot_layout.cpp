#include "compiler/cuda/dot_layout.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace assay {
namespace {

constexpr int kRowBits = 4, kColumnBits = 3;  ///< of one result of `mma`
constexpr int kWarpBits = 5, kFourWarps = 7, kMostThreadBits = 10, kMostRegisterBits = 5;
constexpr int kAccessBytes = 16;

auto bits_of(std::int64_t block) -> int {
  return std::countr_zero(static_cast<std::uint64_t>(block));
}

void each_dot(const TileRegion& region,
              const std::function<void(const TileStatement&, const TileDot&)>& visit) {
  for (const auto& one : region.body) {
    if (const auto* dot = std::get_if<TileDot>(&one.what)) visit(one, *dot);
    for (const auto& inner : one.regions) each_dot(inner, visit);
  }
}

/// The only axis of a set.
auto only(AxisSet axes) -> std::optional<std::size_t> {
  if (!std::has_single_bit(axes)) return std::nullopt;
  return static_cast<std::size_t>(std::countr_zero(axes));
}

}  // namespace

auto dot_axes(const TileKernel& kernel) -> Result<std::optional<DotAxes>> {
  std::optional<DotAxes> found;
  bool is_one = true;
  each_dot(kernel.body, [&](const TileStatement& one, const TileDot& dot) {
    const auto k = AxisSet{1} << dot.axis;
    const auto m = only(kernel.type(one.operands[0]).axes & ~k);
    const auto n = only(kernel.type(one.operands[1]).axes & ~k);
    if (!m || !n || *m == *n || (found && (found->m != *m || found->n != *n))) {
      is_one = false;
      return;
    }
    if (!found) found = DotAxes{*m, *n, 0};
    found->k |= k;
  });
  if (found && (found->k & (AxisSet{1} << found->m | AxisSet{1} << found->n)) != 0) is_one = false;
  if (!is_one) return unsupported("block products over several shapes");
  return found;
}

auto dot_layout(const TileKernel& kernel, const DotAxes& axes,
                const std::vector<std::int64_t>& blocks) -> Result<TileLayout> {
  int most_k = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!std::has_single_bit(static_cast<std::uint64_t>(blocks[i])))
      return unsupported("a block of {} lanes", blocks[i]);
    if ((axes.k >> i & 1U) != 0)
      most_k = std::max(most_k, bits_of(blocks[i]));
    else if (i != axes.m && i != axes.n && blocks[i] != 1)
      return unsupported("a block product in tiles over {} too", kernel.axes[i].name);
  }
  const int rows = bits_of(blocks[axes.m]), columns = bits_of(blocks[axes.n]);
  TileLayout layout;
  layout.axes.resize(blocks.size());
  layout.axes[axes.n] = {.shift = 0, .bits = columns};
  layout.axes[axes.m] = {.shift = columns, .bits = rows};
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if ((axes.k >> i & 1U) != 0) layout.axes[i].apart = bits_of(blocks[i]);
  layout.lane_bits = rows + columns;
  // Threads hold all lanes of the operands too.
  const int fewest = std::max({kWarpBits, layout.lane_bits - kMostRegisterBits,
                               std::max(rows, columns) + most_k - kMostRegisterBits});
  layout.thread_bits = std::max(fewest, std::min(kFourWarps, layout.lane_bits - 2));
  if (layout.thread_bits > kMostThreadBits)
    return unsupported("a block product of {} by {}", blocks[axes.m], blocks[axes.n]);
  layout.register_bits = std::max(layout.lane_bits - layout.thread_bits, 0);
  if (rows < kRowBits || columns < kColumnBits) {
    layout.contiguous_bits = std::min(layout.register_bits, 1);
    return layout;
  }
  layout.register_bits = std::max(layout.register_bits, 2);
  layout.contiguous_bits = 1;
  // By bit of a lane's number (columns first) its place: the first register bit, five of threads,
  // more registers, warps.
  layout.moved.resize(static_cast<std::size_t>(layout.lane_bits));
  auto move = [&, place = 0](std::size_t axis, int bit) mutable {
    layout.moved[static_cast<std::size_t>(layout.axes[axis].shift + bit)] = place++;
  };
  for (int bit = 0; bit < kColumnBits; ++bit) move(axes.n, bit);
  for (int bit = 0; bit < kRowBits; ++bit) move(axes.m, bit);
  for (int row = kRowBits, column = kColumnBits; row < rows || column < columns;) {
    if (column < columns) move(axes.n, column++);
    if (row < rows) move(axes.m, row++);
  }
  return layout;
}

auto has_fragments(const TileLayout& layout, const DotAxes& axes) -> bool {
  return !layout.moved.empty() && layout.axes[axes.m].bits >= kRowBits &&
         layout.axes[axes.n].bits >= kColumnBits;
}

auto operand_layout(const TileLayout& base, std::size_t row, std::size_t k, std::int64_t row_block,
                    std::int64_t k_block, std::size_t fastest, int element_bytes)
    -> Result<TileLayout> {
  std::vector<std::int64_t> blocks(base.axes.size(), 1);
  blocks[row] = row_block;
  blocks[k] = k_block;
  const auto slow = fastest == row ? k : row;
  const auto lanes = row_block * k_block;
  const auto each = static_cast<int>(std::max<std::int64_t>(lanes / base.threads(), 1));
  ASSAY_TRY(auto layout, make_tile_layout(blocks, {fastest, slow},
                                          std::min(each, kAccessBytes / element_bytes), each));
  if (layout.thread_bits > base.thread_bits)
    return unsupported("an operand of a block product of {} lanes", lanes);
  layout.thread_bits = base.thread_bits;
  return layout;
}

}  // namespace assay
