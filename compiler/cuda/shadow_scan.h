// Who wrote the elements of a view, as checked code keeps it.
#pragma once
#include <cstdint>
#include <span>

#include "compiler/cuda/gpu_record.h"
#include "core/tensor/meta.h"

namespace assay {

struct ShadowScan {
  std::int64_t times = 0;  ///< how many elements
  std::int64_t first = 0;  ///< of the buffer, the first one in the view's order
};
/// Elements of a view that nobody wrote; `is_stored`: only those that rest on such elements.
[[nodiscard]] auto scan_unwritten(std::span<const GpuShadow> shadows, const RealMeta& view,
                                  bool is_stored) -> ShadowScan;

}  // namespace assay
