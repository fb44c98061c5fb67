// Convolution of row-major arrays: columns of the input under the window (im2col) times the
// weight, in chunks that bound the memory; one channel per group runs directly.
#pragma once
#include "core/ops/window.h"

namespace assay {

/// The three products of a convolution. Everything is row-major: input [batch, in_channels, in...],
/// weight [out_channels, in_channels / groups, kernel...], output [batch, out_channels, out...].
/// All of them add to their result. A transposed convolution is add_input_gradient with input and
/// output exchanged.
struct ConvShape {
  Window window;
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;
  /// Dtype that add_input_gradient keeps sums over taps in. The slow transposed kernels of PyTorch
  /// add into the result itself (col2im), so half types round at every tap.
  DType partial_sums = DType::float32;
  [[nodiscard]] auto group_in() const -> std::int64_t { return in_channels / groups; }
  [[nodiscard]] auto group_out() const -> std::int64_t { return out_channels / groups; }
};

template <class T>
void add_convolution(const ConvShape& shape, const T* input, const T* weight, T* output);
template <class T>
void add_input_gradient(const ConvShape& shape, const T* grad_output, const T* weight,
                        T* grad_input);
template <class T>
void add_weight_gradient(const ConvShape& shape, const T* grad_output, const T* input,
                         T* grad_weight);

}  // namespace assay
