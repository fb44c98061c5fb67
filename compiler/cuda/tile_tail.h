// What parts of columns make together, in the kernel that makes the parts: of the programs of the
// same columns the one that comes last goes on with it, so that nothing is launched for it. Which
// one that is changes nothing in the result.
#pragma once
#include <optional>

#include "compiler/cuda/splitting.h"
#include "compiler/cuda/tiling.h"
#include "core/base/result.h"

namespace assay {

struct TileTail {
  const TileKernel* kernel = nullptr;  ///< `second` of a SplitKernel; null: none
  TilePlan plan;
  std::size_t counter = 0;  ///< parameter, an int32 per tile of columns
};
/// `plan`: of the first kernel. Nothing where parts are no columns (a sum of everything loses by
/// it: a count at the end of each of its many short programs), or there are other axes.
[[nodiscard]] auto plan_tail(const SplitKernel& split, const TilePlan& plan)
    -> std::optional<TileTail>;
/// Errors: unsupported (what tile_kernel refuses of the tail).
[[nodiscard]] auto with_tail(TiledKernel parts, const TileTail& tail, const TileChoice& choice)
    -> Result<TiledKernel>;

}  // namespace assay
