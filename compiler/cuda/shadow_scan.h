// Who wrote the elements of a view, as checked code keeps it.
#pragma once
#include <cstdint>
#include <span>

#include "compiler/cuda/gpu_record.h"
#include "compiler/runtime/cuda/driver.h"
#include "core/tensor/meta.h"

namespace assay {

/// Of a buffer: a GpuShadow per element. None where launches see elements of different sizes in it.
struct ShadowMemory {
  cuda::Address at = 0;
  std::size_t bytes = 0;
};

struct ShadowScan {
  std::int64_t times = 0;    ///< how many elements
  std::int64_t first = 0;    ///< of the buffer, the first one in the view's order
  std::uint64_t origin = 0;  ///< of the first one: UnwrittenOrigin; 0: nothing was stored there
};
/// Elements of a view that nobody wrote; `is_stored`: only those that rest on such elements.
[[nodiscard]] auto scan_unwritten(std::span<const GpuShadow> shadows, const RealMeta& view,
                                  bool is_stored) -> ShadowScan;

}  // namespace assay
