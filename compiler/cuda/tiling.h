// A kernel of exact axes, as our compiler makes it, as a tile kernel with blocks, masks and loops.
//
// Its axes become at most four: `x`, the one along which most accesses are contiguous, if it is
// parallel; `t`, along which others are, where something is transposed; `y`, all other parallel
// ones as one number; `r`, all reduced ones likewise. Reduced axes stand whole in a tile, or are
// looped over once per pass that KernelPlan needs.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/program/kernel.h"
#include "compiler/program/kernel_plan.h"
#include "core/base/result.h"

namespace assay {

/// Everything that is chosen; the kernel is right for all sizes that it admits.
struct TileChoice {
  std::int64_t block_x = 1, block_y = 1, block_r = 1;  ///< powers of two
  std::int64_t block_t = 0;                            ///< 0: there is no such axis
  bool loops = false;      ///< over r; else r must not be larger than its block
  bool is_narrow = false;  ///< extents of x, y and r are below 2^31
  /// 1, 4 or 8: the extent of the axis along which most is contiguous is a multiple of it, so that
  /// as many neighbours are in range together.
  std::int64_t run = 1;
  bool is_alone = false;       ///< one program, a row: nothing hides what it waits for
  std::int64_t registers = 0;  ///< lanes of a thread, about; 0: as the layout has it
  friend auto operator<=>(const TileChoice&, const TileChoice&) = default;
};

struct TiledKernel {
  TileKernel kernel;
  std::vector<std::size_t> extents;  ///< parameter that takes the extent of each exact axis
};

/// Loops of a kernel and what tiles make of its axes.
struct TilePlan {
  KernelPlan loops;
  std::optional<std::size_t> x, t;
};
/// Errors: unsupported (what plan_kernel refuses).
[[nodiscard]] auto plan_tiles(const TileKernel& kernel) -> Result<TilePlan>;

/// How many programs there are, by extents of the exact axes: tiles of x, t and y.
[[nodiscard]] auto tiled_programs(const TilePlan& plan, const TileChoice& choice,
                                  const std::vector<std::int64_t>& extents) -> std::int64_t;

/// Errors: unsupported (what plan_kernel refuses).
[[nodiscard]] auto tile_kernel(const TileKernel& kernel, const TilePlan& plan,
                               const TileChoice& choice) -> Result<TiledKernel>;

/// Blocks for these extents, out of few: neighbouring sizes share their code.
[[nodiscard]] auto choose_tiles(const TilePlan& plan, const std::vector<std::int64_t>& extents)
    -> TileChoice;
/// That one, then others that may be faster: neighbours of its blocks in the same lists, and other
/// numbers of threads. Sums in tiles of another size have another order.
[[nodiscard]] auto tile_candidates(const TilePlan& plan, const std::vector<std::int64_t>& extents)
    -> std::vector<TileChoice>;

}  // namespace assay
