// A reduction of few, long rows as two kernels: parts of it, then what the parts make together. The
// number of parts does not depend on the GPU, so results do not either.
#pragma once
#include <optional>
#include <vector>

#include "compiler/cuda/tiling.h"
#include "compiler/program/kernel.h"
#include "compiler/program/kernel_plan.h"
#include "core/base/result.h"

namespace assay {

/// Both kernels have exact axes. `first` takes the parameters of the kernel, then per value that is
/// reduced a buffer of parts, then one that counts programs (TileArrive), then numbers: how long a
/// part is, the extent of the axis that is divided, and the extents of the parallel axes. `second`
/// takes the same.
struct SplitKernel {
  TileKernel first, second;
  std::optional<TileClip> clip;       ///< of `first`; else masks say what is meant
  std::size_t parts_axis = 0;         ///< of `first`: parallel; of `second`: the only reduced one
  std::vector<DType> parts;           ///< dtypes of the buffers of parts
  std::size_t counter = 0;            ///< parameter of what counts programs
  std::vector<std::size_t> parallel;  ///< axes of the kernel, in both kernels under the same number
};

/// How many parts, and how long each is. Nothing where the kernel does well as it is.
struct SplitChoice {
  std::size_t axis = 0;
  std::int64_t parts = 1, length = 1;
  std::int64_t run = 1;  ///< so many neighbours of the axis are in range together: 1 or 8
};
/// `programs` that the kernel has as it is.
[[nodiscard]] auto choose_split(const KernelPlan& plan, const std::vector<std::int64_t>& extents,
                                std::int64_t programs) -> std::optional<SplitChoice>;

/// `axis` and `run` as chosen. Errors: unsupported (something behind the reduction varies over its
/// axes again).
[[nodiscard]] auto split_kernel(const TileKernel& kernel, const KernelPlan& plan, std::size_t axis,
                                std::int64_t run) -> Result<SplitKernel>;

}  // namespace assay
