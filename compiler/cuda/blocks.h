// Blocks of tile kernels and how their lanes are divided among threads.
#pragma once
#include <cstdint>
#include <vector>

#include "compiler/cuda/tile_layout.h"
#include "compiler/program/kernel.h"

namespace assay {

/// Lanes of every axis: what the kernel fixes, and powers of two for what is open, so that
/// neighbouring threads touch neighbouring elements. `extents` by axis; where one is not known a
/// large one is taken.
[[nodiscard]] auto choose_gpu_blocks(const TileKernel& kernel,
                                     const std::vector<std::int64_t>& extents)
    -> std::vector<std::int64_t>;

/// Those, then others of half and double the lanes along the axis that is picked first. Nothing
/// else where the kernel leaves no choice.
[[nodiscard]] auto gpu_block_candidates(const TileKernel& kernel,
                                        const std::vector<std::int64_t>& extents)
    -> std::vector<std::vector<std::int64_t>>;

/// `run`: every row has a multiple of so many elements; where rows begin anywhere, neighbouring
/// threads rather than registers are neighbours in memory. `registers`: lanes of a thread, about;
/// 0: by a rule. Errors: unsupported (too many lanes).
[[nodiscard]] auto layout_for(const TileKernel& kernel, const std::vector<std::int64_t>& blocks,
                              std::int64_t run, std::int64_t registers = 0) -> Result<TileLayout>;

}  // namespace assay
