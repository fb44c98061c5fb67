#include "compiler/cuda/tile_layout.h"

#include <algorithm>
#include <bit>

namespace assay {
namespace {

constexpr int kWarpBits = 5, kMostThreadBits = 10, kMostRegisterBits = 5;

auto low_bits(int count) -> unsigned {
  return (1U << count) - 1;
}
auto bits_of(int count) -> int {
  return std::countr_zero(std::bit_floor(static_cast<unsigned>(std::max(count, 1))));
}

}  // namespace

auto TileLayout::bit(int of_lane) const -> Bit {
  if (is_placed()) return {true, of_lane};
  if (!moved.empty()) of_lane = moved[static_cast<std::size_t>(of_lane)];
  if (of_lane < contiguous_bits) return {true, of_lane};
  const auto behind = of_lane - contiguous_bits;
  if (behind < kWarpBits) return {false, behind};
  const auto high = register_bits - contiguous_bits;
  if (behind < kWarpBits + high) return {true, contiguous_bits + behind - kWarpBits};
  return {false, behind - high};
}

auto TileLayout::register_offset(std::size_t axis, int index) const -> std::int64_t {
  std::int64_t offset = 0;
  for (int i = 0; i < axes[axis].bits; ++i) {
    const auto place = bit(axes[axis].shift + i);
    if (place.is_register && (index >> place.index & 1) != 0) offset |= std::int64_t{1} << i;
  }
  return offset;
}

auto TileLayout::thread_parts(std::size_t axis) const -> std::vector<ThreadPart> {
  std::vector<ThreadPart> parts;
  for (int i = 0; i < axes[axis].bits; ++i) {
    const auto place = bit(axes[axis].shift + i);
    if (place.is_register) continue;
    const bool follows = !parts.empty() && parts.back().to + parts.back().count == i &&
                         parts.back().first + parts.back().count == place.index;
    if (follows)
      ++parts.back().count;
    else
      parts.push_back({place.index, 1, i});
  }
  return parts;
}

auto TileLayout::mask(AxisSet wanted, bool of_registers) const -> unsigned {
  unsigned made = 0;
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    for (int i = 0; i < axes[axis].bits && (wanted >> axis & 1U) != 0; ++i)
      if (const auto place = bit(axes[axis].shift + i); place.is_register == of_registers)
        made |= 1U << place.index;
  return made;
}

auto TileLayout::register_mask(AxisSet wanted) const -> unsigned {
  return mask(wanted, true);
}
auto TileLayout::thread_mask(AxisSet wanted) const -> unsigned {
  return mask(wanted, false);
}

auto TileLayout::copy_mask() const -> unsigned {
  if (is_placed()) return 0;
  const auto every = (AxisSet{1} << axes.size()) - 1;
  return low_bits(thread_bits) & ~thread_mask(every);
}

auto placed_layout(const std::vector<std::int64_t>& blocks, std::vector<TilePlace> places,
                   int contiguous, int threads) -> TileLayout {
  TileLayout layout;
  layout.axes.resize(blocks.size());
  for (std::size_t axis = 0; axis < blocks.size(); ++axis) {
    if (places[axis] != TilePlace::bits) continue;
    const auto bits = std::countr_zero(static_cast<std::uint64_t>(blocks[axis]));
    layout.axes[axis] = {.shift = layout.lane_bits, .bits = bits};
    layout.lane_bits += bits;
  }
  layout.register_bits = layout.lane_bits;
  layout.contiguous_bits = std::min(layout.register_bits, bits_of(contiguous));
  layout.thread_bits = bits_of(threads);
  layout.places = std::move(places);
  return layout;
}

auto make_tile_layout(const std::vector<std::int64_t>& blocks,
                      const std::vector<std::size_t>& order, int contiguous, int registers)
    -> Result<TileLayout> {
  TileLayout layout;
  layout.axes.resize(blocks.size());
  for (const auto axis : order) {
    const auto block = static_cast<std::uint64_t>(blocks[axis]);
    if (!std::has_single_bit(block)) return unsupported("a block of {} lanes", blocks[axis]);
    layout.axes[axis] = {.shift = layout.lane_bits, .bits = std::countr_zero(block)};
    layout.lane_bits += layout.axes[axis].bits;
  }
  if (layout.lane_bits > kMostThreadBits + kMostRegisterBits)
    return unsupported("a tile of 2^{} lanes", layout.lane_bits);
  // Lanes beyond a warp go to registers first, then to warps, then to registers again.
  const auto beyond_warp = std::max(layout.lane_bits - kWarpBits, 0);
  const auto wanted = std::min(bits_of(registers), kMostRegisterBits);
  const auto fewest = layout.lane_bits - kMostThreadBits;
  layout.register_bits = std::max(std::min(beyond_warp, wanted), fewest);
  layout.thread_bits = std::max(layout.lane_bits - layout.register_bits, kWarpBits);
  layout.contiguous_bits = std::min(layout.register_bits, bits_of(contiguous));
  return layout;
}

}  // namespace assay
