// A kernel of exact axes, as our compiler makes it, as a tile kernel with blocks, masks and loops.
//
// Its axes become at most four: `x`, the one along which most accesses are contiguous, if it is
// parallel; `t`, along which others are, where something is transposed, or `w`, along which windows
// of neighbours overlap; `y`, all other parallel ones as one number; `r`, all reduced ones
// likewise. Reduced axes stand whole in a tile, or are looped over once per pass that KernelPlan
// needs.
//
// Most kernels are placed: `x` (or `r` of rows) is a thread's neighbouring registers, then threads,
// then, of rows, a thread's other registers, then the blocks of a cluster, then warps, each an axis
// of the tile kernel. How many threads, warps and blocks there are the launch says, so one code
// serves rows from one element to 131,072; but whether a row fills a warp is a fact of the code,
// which then has a thread's registers at places that are apart by constants. Rows of elements that
// begin anywhere begin at the last place before where a wide access may, and their first lanes take
// no part; what is reduced is read one by one there, but for short rows of two-byte elements that
// nothing stands beside. Of `w` a thread has a few positions in
// registers, which share what they load: the last of them begin so that they end with the axis, so
// that loads need not ask, and what the ones before have made is not stored again. Transposes and
// scans have fixed blocks.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "compiler/cuda/tile_layout.h"
#include "compiler/program/kernel.h"
#include "compiler/program/kernel_plan.h"
#include "core/base/result.h"

namespace assay {

inline constexpr std::int64_t kWarpThreads = 32;
inline constexpr int kWindowLoads = 4;         ///< of a buffer that make it a window
inline constexpr std::int64_t kMostRanks = 8;  ///< that all GPUs with clusters have
/// Of a grid's second and third dimension (CUDA C++ Programming Guide, compute capabilities).
inline constexpr std::int64_t kMostProgramsDown = 65535;

/// Threads of a placed kernel's launch: of a block along three dimensions, and blocks of a cluster.
/// Powers of two, but for y of rows, and x and y of elements.
struct TileThreads {
  std::int64_t x = 1, y = 1, z = 1, ranks = 1;
  friend auto operator<=>(const TileThreads&, const TileThreads&) = default;
};

/// Everything that is chosen; the kernel is right for all sizes that it admits.
struct TileChoice {
  // Of all kernels
  bool loops = false;      ///< over r; else r must not be larger than its block
  bool is_narrow = false;  ///< extents of x, y and r are below 2^31
  /// The extent of the axis along which most is contiguous is a multiple of it, so that as many
  /// neighbours are in range together: those of a wide access, or 1.
  std::int64_t run = 1;
  // Of placed ones
  std::int64_t neighbours = 0;  ///< registers that are contiguous; 0: blocks are fixed
  std::int64_t rounds = 1;      ///< other registers of a thread along the reduced axis
  bool fills_warps = false;     ///< of rows: all threads of a warp are one row's
  bool is_whole = false;        ///< of rows: there are as many lanes as elements
  std::int64_t positions = 1;   ///< other registers of a thread along w, which is not shorter
  TileThreads threads;          ///< the launch's; code serves any
  // Of others
  std::int64_t block_x = 1, block_y = 1, block_r = 1;  ///< powers of two
  std::int64_t block_t = 0;                            ///< 0: there is no such axis
  std::int64_t registers = 0;  ///< lanes of a thread, about; 0: as the layout has it

  [[nodiscard]] auto is_placed() const -> bool { return neighbours > 0; }
  /// What code is made for.
  [[nodiscard]] auto code() const -> TileChoice;
  friend auto operator<=>(const TileChoice&, const TileChoice&) = default;
};

struct TiledKernel {
  TileKernel kernel;
  std::vector<std::size_t> extents;  ///< parameter that takes the extent of each exact axis
  // Of placed kernels
  std::vector<std::size_t> threads;  ///< parameters that take a TileThreads, in its order
  std::vector<TilePlace> places;     ///< by axis
};

/// Of an axis only a part is meant: from (position along `parts_axis`) * length on, as far as the
/// whole goes. Numbers of parameters.
struct TileClip {
  std::size_t axis = 0, parts_axis = 0;
  std::size_t length = 0, whole = 0;
  std::int64_t run = 1;  ///< of which the whole is a multiple; parts always are
};
/// A part's length is a multiple of it, so that parts begin where wide accesses may.
inline constexpr std::int64_t kPartGrain = 16;

/// Loops of a kernel and what tiles make of its axes.
struct TilePlan {
  KernelPlan loops;
  std::optional<TileClip> clip;
  std::optional<std::size_t> x, t, w;
  TileId aligned_by = kNoTile;    ///< index of the access that says where rows begin, if one does
  std::int64_t neighbours = 1;    ///< elements of the widest type that a wide access takes
  int registers = 0;              ///< of the machine, that its code does with; 0: unknown
  bool is_placed = false;         ///< unless something is transposed
  bool loads_little = true;       ///< for each element; many loads are a window
  int loads = 0;                  ///< of each element of a row
  bool strides = false;           ///< elements: a program takes row after row
  bool is_tail = false;           ///< programs are those of columns' parts, numbered behind x
  std::set<std::size_t> windows;  ///< buffers that are only read, much of each for an element
};
/// Of a row whose threads keep one value of each element, which they loaded.
inline constexpr int kRegistersOfOneLoad = 64;
/// Errors: unsupported (what plan_kernel refuses).
[[nodiscard]] auto plan_tiles(const TileKernel& kernel, std::optional<TileClip> clip = {})
    -> Result<TilePlan>;

/// Rows of elements begin at the last place before where a wide access may: where they begin
/// anywhere, and several elements are one access.
[[nodiscard]] auto is_shifted(const TilePlan& plan, const TileChoice& choice) -> bool;

/// How many programs there are, by extents of the exact axes: tiles of x, t, w and y. A cluster is
/// one. Where each takes row after row the grid's second dimension is over rows.
[[nodiscard]] auto tiled_grid(const TilePlan& plan, const TileChoice& choice,
                              const std::vector<std::int64_t>& extents)
    -> std::array<std::int64_t, 2>;
[[nodiscard]] auto tiled_programs(const TilePlan& plan, const TileChoice& choice,
                                  const std::vector<std::int64_t>& extents) -> std::int64_t;
/// Other registers of a thread of columns, so that it asks for `at_once` loads together.
[[nodiscard]] auto column_rounds(const TilePlan& plan, std::int64_t at_once) -> std::int64_t;
/// Of a placed kernel's block, in all its launches.
[[nodiscard]] auto most_threads(const TilePlan& plan) -> std::int64_t;
/// Registers of the machine that a thread may take, so that enough are at work at once; 0: all.
[[nodiscard]] auto most_registers(const TilePlan& plan, const TileChoice& choice) -> int;
/// By axis of the tile kernel.
[[nodiscard]] auto tile_blocks(const TiledKernel& kernel, const TileChoice& choice)
    -> std::vector<std::int64_t>;

/// Errors: unsupported (what plan_kernel refuses).
[[nodiscard]] auto tile_kernel(const TileKernel& kernel, const TilePlan& plan,
                               const TileChoice& choice) -> Result<TiledKernel>;

/// For these extents. Neighbouring sizes share their code: there are at most eleven of a kernel.
/// `most_ranks`: blocks that a cluster may have on the GPU.
[[nodiscard]] auto choose_tiles(const TilePlan& plan, const std::vector<std::int64_t>& extents,
                                std::int64_t most_ranks) -> TileChoice;
/// That one, then others that may be faster: other threads, loops, or neighbouring blocks. Sums in
/// tiles of another size have another order.
[[nodiscard]] auto tile_candidates(const TilePlan& plan, const std::vector<std::int64_t>& extents,
                                   std::int64_t most_ranks) -> std::vector<TileChoice>;

}  // namespace assay
