// Images of bytes are resampled with whole numbers, one dimension after the other.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/ops/call.h"

namespace assay {

/// The input positions of one output position: neighbours from `first` on.
struct NeighbourTaps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

/// [..., height, width] bytes into the result's size; taps of rows, then of columns
/// (aten/src/ATen/native/cpu/UpSampleKernel.cpp, the paths of kByte): weights are 16 bit numbers of
/// one common precision, and columns are rounded to bytes before rows are combined.
void resample_bytes(const Tensor& from, Tensor& to,
                    const std::array<std::vector<NeighbourTaps>, 2>& taps);

}  // namespace assay
