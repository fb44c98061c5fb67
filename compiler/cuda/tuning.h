// How a launch is made on one GPU: the usual way, or the one that was fastest when it was measured.
//
// What was measured is kept under everything that it depends on: the kernel's text, the facts of
// the launch, the GPU, the driver and the build of the code generator. It is used where tuning is
// asked for, and nowhere else: tiles of another size add in another order.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "compiler/cuda/gpu_code.h"
#include "compiler/program/executor.h"

namespace assay {

/// A launch as two kernels (parts, and what they make together), or as one of this key.
struct GpuWay {
  bool is_split = false;
  GpuVariantKey key;
  friend auto operator==(const GpuWay&, const GpuWay&) -> bool = default;
};
/// "split", "x 512, y 1, r 1, 8 lanes a thread", "blocks 64 32": for people.
[[nodiscard]] auto way_text(const GpuWay& way) -> std::string;
/// To be kept, and back; nothing for another text.
[[nodiscard]] auto print_way(const GpuWay& way) -> std::string;
[[nodiscard]] auto parse_way(const std::string& text) -> std::optional<GpuWay>;

/// What may be tried, the usual way first.
[[nodiscard]] auto ways_of(const GpuKernel& kernel, const TileLaunch& launch)
    -> std::vector<GpuWay>;

/// What a way is kept under. `machine` names GPU, driver and generator.
[[nodiscard]] auto tuning_key(const std::string& machine, const GpuKernel& kernel,
                              const TileLaunch& launch) -> std::string;

}  // namespace assay
