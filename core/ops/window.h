// Sliding windows over the last one to three dimensions: what convolution and pooling share.
#pragma once
#include <array>
#include <cstdint>

#include "core/ops/call.h"

namespace assay {

/// Argument positions of a window's parameters in a row's schema; -1 where it has none.
struct WindowArgs {
  int kernel = -1;
  int stride = -1;
  int padding = -1;
  int dilation = -1;
  int ceil_mode = -1;
};

/// One spatial dimension of a window. An absent stride is the kernel size (pooling).
struct WindowDim {
  Expr kernel = 1;
  Expr stride = 1;
  Expr padding = 0;
  Expr dilation = 1;
};

/// The last `rank` entries of a window argument list: a single value counts for every dimension.
auto window_values(const Call& c, int arg, int rank, const Expr& absent) -> Dims;
auto window_dims(const Call& c, const WindowArgs& args, int rank) -> std::vector<WindowDim>;
/// Number of window positions (aten/src/ATen/native/Pool.h, ConvUtils.h). With `ceil_mode` a last
/// partial window counts if it starts inside the input or its left padding.
auto window_count(MetaCall& c, const Expr& input, const WindowDim& dim, bool ceil_mode) -> Expr;

/// A window of up to three dims for kernels, missing leading ones filled with size 1.
using Triple = std::array<std::int64_t, 3>;
struct Window {
  Triple in{1, 1, 1};   ///< sizes the window moves over
  Triple out{1, 1, 1};  ///< number of its positions
  Triple kernel{1, 1, 1};
  Triple stride{1, 1, 1};
  Triple padding{0, 0, 0};
  Triple dilation{1, 1, 1};
  /// Input index under tap `tap` at position `position`; may lie in the padding.
  [[nodiscard]] auto at(std::size_t dim, std::int64_t position, std::int64_t tap) const
      -> std::int64_t {
    return position * stride[dim] - padding[dim] + tap * dilation[dim];
  }
  /// Positions [begin, end) whose tap lies inside the input.
  [[nodiscard]] auto inside(std::size_t dim, std::int64_t tap) const
      -> std::pair<std::int64_t, std::int64_t>;
};
[[nodiscard]] inline auto volume(const Triple& sizes) -> std::int64_t {
  return sizes[0] * sizes[1] * sizes[2];
}
/// The last `rank` sizes, right-aligned.
[[nodiscard]] auto spatial_triple(const Ints& sizes, int rank) -> Triple;
[[nodiscard]] auto make_window(const Call& c, const WindowArgs& args, int rank, const Ints& in,
                               const Ints& out) -> Window;

}  // namespace assay
