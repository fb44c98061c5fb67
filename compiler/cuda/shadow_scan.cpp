#include "compiler/cuda/shadow_scan.h"

#include <array>

#include "core/tensor/tensor.h"

namespace assay {

auto scan_unwritten(std::span<const GpuShadow> shadows, const RealMeta& view, bool is_stored)
    -> ShadowScan {
  ShadowScan found;
  const std::array<const Ints*, 1> strides = {&view.strides};
  const auto move = view.strides.empty() ? 0 : view.strides.back();
  for_each_run(view.sizes, strides, [&](std::span<const std::int64_t> from, std::int64_t run) {
    for (std::int64_t i = 0; i < run; ++i) {
      const auto element = view.offset + from[0] + i * move;
      const auto writer = shadows[static_cast<std::size_t>(element)].writer;
      if (is_written(writer) || (is_stored && writer == 0)) continue;
      if (found.times++ > 0) continue;
      found.first = element;
      found.origin = writer;
    }
  });
  return found;
}

}  // namespace assay
