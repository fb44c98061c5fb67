// Windows that overlap: along which axis neighbouring elements load what their neighbours load.
#pragma once
#include <optional>
#include <vector>

#include "compiler/program/kernel.h"

namespace assay {

/// Of `axes`, without `inner`, along which windows are contiguous: the one along which the next
/// element needs the fewest loads that the element before it has not made, if it shares half of
/// them or more. Nothing where neighbours along `inner` do so already.
[[nodiscard]] auto overlapping_axis(const TileKernel& kernel, const std::vector<std::size_t>& axes,
                                    std::size_t inner) -> std::optional<std::size_t>;

}  // namespace assay
