// What the pools share: formats, windows as boxes of the input, gradients of maxima.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "core/ops/rules.h"
#include "core/ops/typed_elements.h"
#include "core/ops/window.h"

namespace assay {

/// Do results keep channels last? The 3-d average pools never do.
enum class Format : std::uint8_t { contiguous, suggested };

inline auto check_input(MetaCall& c, const TensorMeta& input, int spatial) -> bool {
  return c.require(input.rank() == spatial + 1 || input.rank() == spatial + 2,
                   "an input with channels and an optional batch");
}

/// Strides of a result with the sizes, in the format that `like` suggests.
inline auto pool_strides(MetaCall& c, const TensorMeta& like, const Dims& sizes, int spatial,
                         Format format) -> Dims {
  if (format == Format::contiguous || like.rank() != spatial + 2) return contiguous_strides(sizes);
  return strides_for(sizes, suggest_memory_format(c, like));
}

/// Gradients of pools look like the pool's input.
template <int kSpatial, Format kFormat>
auto input_gradient(MetaCall& c) -> Datum {
  const auto& input = c.meta(1);
  return c.fresh(input.dtype, input.sizes, pool_strides(c, input, input.sizes, kSpatial, kFormat));
}

/// The gradient of an adaptive pool has the input's sizes but for the spatial ones, which may be
/// anything.
template <int kSpatial>
auto check_adaptive_gradient(MetaCall& c) -> bool {
  const auto& gradient = c.meta(0);
  const auto& input = c.meta(1);
  if (c.error() || !check_input(c, input, kSpatial)) return false;
  auto sizes = input.sizes;
  if (gradient.rank() == input.rank())
    std::copy(gradient.sizes.end() - kSpatial, gradient.sizes.end(), sizes.end() - kSpatial);
  return require_same_sizes(c, gradient.sizes, sizes, "one gradient per window");
}

/// Half-open range of input positions.
struct Range {
  std::int64_t begin;
  std::int64_t end;
  [[nodiscard]] auto size() const -> std::int64_t { return std::max<std::int64_t>(0, end - begin); }
};
using Box = std::array<Range, 3>;

/// Calls f(flat index in the plane) for the elements of a box.
template <class F>
void for_each_in(const Box& box, const Triple& sizes, F&& f) {
  for (auto d = box[0].begin; d < box[0].end; ++d)
    for (auto h = box[1].begin; h < box[1].end; ++h)
      for (auto w = box[2].begin; w < box[2].end; ++w) f((d * sizes[1] + h) * sizes[2] + w);
}

/// Calls f(position) for each output position, row-major.
template <class F>
void for_each_position(const Triple& sizes, F&& f) {
  for (std::int64_t d = 0; d < sizes[0]; ++d)
    for (std::int64_t h = 0; h < sizes[1]; ++h)
      for (std::int64_t w = 0; w < sizes[2]; ++w) f(Triple{d, h, w});
}

/// Adaptive pools split the input into nearly equal, possibly overlapping, parts.
inline auto adaptive_windows(const Triple& in, const Triple& out) -> std::vector<Box> {
  std::vector<Box> windows;
  for_each_position(out, [&](const Triple& position) {
    auto& box = windows.emplace_back();
    for (std::size_t i = 0; i < 3; ++i)
      box[i] = {position[i] * in[i] / out[i], ((position[i] + 1) * in[i] + out[i] - 1) / out[i]};
  });
  return windows;
}

/// Adds each gradient to the element its maximum came from: flat positions in argument kIndices.
template <int kSpatial, int kIndices>
void max_backward_kernel(KernelCall& k) {
  if (k.out().numel() == 0 || k.in(0).numel() == 0) return;
  const auto plane = volume(spatial_triple(k.out().sizes(), kSpatial));
  const auto window_plane = volume(spatial_triple(k.in(0).sizes(), kSpatial));
  const auto indices = to_vector<std::int64_t>(k.in(kIndices));
  with_product_type(k.out().dtype(), [&]<class T>(T) {
    const auto gradient = Elements<T>::row_major(k.in(0));
    Output<T> out(k.out());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      // ATen takes the indices on trust; ones that point outside (a window in the padding whose
      // offset was not recorded) have no element to add to.
      if (indices[i] < 0 || indices[i] >= plane) continue;
      const auto at = static_cast<std::int64_t>(i);
      out.data()[at / window_plane * plane + indices[i]] += gradient.data()[at];
    }
  });
}

}  // namespace assay
