// Which lanes of a tile each thread holds.
//
// Lanes are numbered through the tile, the fastest axis first. Of a lane's number the lowest bits
// say which of a thread's neighbouring registers it is in, the next ones which thread of a warp,
// then which group of registers, and the highest ones which warp. So accesses along the fastest
// axis are wide and coalesced, and a short row stays in one warp. Blocks are powers of two; every
// coordinate is a part that depends on the thread plus a constant.
//
// Where axes are placed, each is either registers of a thread, or a dimension of the block of
// threads, or the blocks of a cluster: how many there are of those the launch says, so that one
// code serves rows of any length.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// Where the lanes of an axis are: bits of the lane's number, or what the launch has as many of.
enum class TilePlace : std::uint8_t { bits, thread_x, thread_y, thread_z, rank };
inline constexpr std::size_t kThreadPlaces = 4;  ///< all but `bits`

struct TileLayout {
  /// Bits of a lane's number that are an axis' coordinate.
  struct Axis {
    int shift = 0, bits = 0;
    int apart = 0;  ///< bits that no lane has: only operands of block products vary over the axis
  };
  std::vector<Axis> axes;   ///< by axis of the kernel
  int contiguous_bits = 0;  ///< of the registers that hold neighbouring lanes
  int register_bits = 0;    ///< all registers of a thread
  int thread_bits = 5;      ///< at least a warp
  int lane_bits = 0;        ///< of the whole tile; threads beyond it hold copies
  /// By bit of a lane's number the one whose place it takes; empty: its own.
  std::vector<int> moved = {};
  /// By axis; empty: all are bits. Else those bits are a register's number, and `thread_bits` those
  /// of the largest block.
  std::vector<TilePlace> places = {};
  // Of placed ones
  bool fills_warps = false;  ///< along x there are as many threads as in a warp
  bool is_whole = false;     ///< all lanes of a row are meant

  [[nodiscard]] auto is_placed() const -> bool { return !places.empty(); }
  [[nodiscard]] auto place(std::size_t axis) const -> TilePlace {
    return places.empty() ? TilePlace::bits : places[axis];
  }
  /// At most, where axes are placed.
  [[nodiscard]] auto threads() const -> int { return 1 << thread_bits; }
  [[nodiscard]] auto registers() const -> int { return 1 << register_bits; }

  /// Where a bit of a lane's number is: of a register's number, or of a thread's.
  struct Bit {
    bool is_register = false;
    int index = 0;
  };
  [[nodiscard]] auto bit(int of_lane) const -> Bit;
  /// What a register adds to an axis' coordinate.
  [[nodiscard]] auto register_offset(std::size_t axis, int index) const -> std::int64_t;
  /// Bits of the thread's number that an axis' coordinate has: the lowest, how many, and the bit of
  /// the coordinate that the lowest is.
  struct ThreadPart {
    int first = 0, count = 0, to = 0;
  };
  [[nodiscard]] auto thread_parts(std::size_t axis) const -> std::vector<ThreadPart>;
  /// Bits of a register's number that belong to these axes, and likewise of a thread's.
  [[nodiscard]] auto register_mask(AxisSet axes) const -> unsigned;
  [[nodiscard]] auto thread_mask(AxisSet axes) const -> unsigned;
  /// Bits of a thread's number that say which copy of a lane it holds.
  [[nodiscard]] auto copy_mask() const -> unsigned;

 private:
  [[nodiscard]] auto mask(AxisSet axes, bool of_registers) const -> unsigned;
};

/// Axes of `places` other than bits have no registers; `blocks` (powers of two) counts for the
/// others, in order the fastest first, of which `contiguous` lanes are neighbours in memory.
[[nodiscard]] auto placed_layout(const std::vector<std::int64_t>& blocks,
                                 std::vector<TilePlace> places, int contiguous, int threads)
    -> TileLayout;

/// `blocks` by axis, powers of two; `order` lists axes, the fastest first; `contiguous` is the
/// largest number of neighbouring lanes of a thread, `registers` about how many lanes it holds.
/// Errors: unsupported (more lanes than a block of threads can hold).
[[nodiscard]] auto make_tile_layout(const std::vector<std::int64_t>& blocks,
                                    const std::vector<std::size_t>& order, int contiguous,
                                    int registers) -> Result<TileLayout>;

}  // namespace assay
