#include "compiler/cuda/tile_layout.h"

#include <algorithm>
#include <bit>

namespace assay {
namespace {

constexpr int kWarpBits = 5, kMostThreadBits = 10, kMostRegisterBits = 5;
/// Registers of a thread before more threads are taken: enough loads in flight, no spills.
constexpr int kFewRegisterBits = 2, kUsualThreadBits = 8;

auto low_bits(int count) -> unsigned {
  return (1U << count) - 1;
}

}  // namespace

auto TileLayout::lane_of_register(int index) const -> std::int64_t {
  const auto low = static_cast<unsigned>(index) & low_bits(contiguous_bits);
  const auto high = static_cast<unsigned>(index) >> contiguous_bits;
  return low | static_cast<std::int64_t>(high) << (contiguous_bits + thread_bits);
}

auto TileLayout::register_offset(std::size_t axis, int index) const -> std::int64_t {
  const auto& of = axes[axis];
  return lane_of_register(index) >> of.shift & low_bits(of.bits);
}

auto TileLayout::thread_part(std::size_t axis) const -> ThreadPart {
  const auto& of = axes[axis];
  const auto low = std::max(of.shift, contiguous_bits);
  const auto high = std::min(of.shift + of.bits, contiguous_bits + thread_bits);
  if (low >= high) return {};
  return {low - contiguous_bits, high - low, low - of.shift};
}

auto TileLayout::register_mask(AxisSet wanted) const -> unsigned {
  unsigned mask = 0;
  for (int bit = 0; bit < register_bits; ++bit)
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      if ((wanted >> axis & 1U) != 0 && register_offset(axis, 1 << bit) != 0) mask |= 1U << bit;
  return mask;
}

auto TileLayout::thread_mask(AxisSet wanted) const -> unsigned {
  unsigned mask = 0;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const auto part = thread_part(axis);
    if ((wanted >> axis & 1U) != 0) mask |= low_bits(part.count) << part.first;
  }
  return mask;
}

auto TileLayout::copy_mask() const -> unsigned {
  const auto used = std::clamp(lane_bits - contiguous_bits, 0, thread_bits);
  return low_bits(thread_bits) & ~low_bits(used);
}

auto make_tile_layout(const std::vector<std::int64_t>& blocks,
                      const std::vector<std::size_t>& order, int contiguous)
    -> Result<TileLayout> {
  TileLayout layout;
  layout.axes.resize(blocks.size());
  for (const auto axis : order) {
    const auto block = static_cast<std::uint64_t>(blocks[axis]);
    if (!std::has_single_bit(block)) return unsupported("a block of {} lanes", blocks[axis]);
    layout.axes[axis] = {layout.lane_bits, std::countr_zero(block)};
    layout.lane_bits += layout.axes[axis].bits;
  }
  if (layout.lane_bits > kMostThreadBits + kMostRegisterBits)
    return unsupported("a tile of 2^{} lanes", layout.lane_bits);
  // Lanes beyond a warp go to registers first, then to warps, then to registers again.
  const auto beyond_warp = std::max(layout.lane_bits - kWarpBits, 0);
  const auto wanted = std::countr_zero(std::bit_floor(static_cast<unsigned>(contiguous)));
  auto registers = std::min(beyond_warp, std::max(wanted, kFewRegisterBits));
  auto threads = std::min(layout.lane_bits - registers, kUsualThreadBits);
  registers = std::min(layout.lane_bits - threads, std::max(registers, 3));
  threads = std::clamp(layout.lane_bits - registers, kWarpBits, kMostThreadBits);
  registers = std::max(layout.lane_bits - threads, 0);
  layout.thread_bits = threads;
  layout.register_bits = registers;
  layout.contiguous_bits = std::min(registers, wanted);
  return layout;
}

}  // namespace assay
