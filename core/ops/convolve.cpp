#include "core/ops/convolve.h"

#include <algorithm>
#include <vector>

#include "core/ops/blas.h"

namespace assay {
namespace {

/// Elements of a column buffer: 4 MiB of floats.
constexpr std::int64_t kColumnElems = std::int64_t{1} << 20;

/// Rows of out positions that one column buffer holds: (d, h) pairs [begin, end), each out[2] wide.
struct Chunk {
  std::int64_t begin;
  std::int64_t end;
};

/// Calls f(row of the column matrix, tap) for every channel of a group and every kernel tap.
template <class F>
void for_each_tap(const Window& w, std::int64_t channels, F&& f) {
  std::int64_t row = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel)
    for (std::int64_t d = 0; d < w.kernel[0]; ++d)
      for (std::int64_t h = 0; h < w.kernel[1]; ++h)
        for (std::int64_t x = 0; x < w.kernel[2]; ++x) f(row++, channel, Triple{d, h, x});
}

/// Calls f(row offset in the plane, first x, number of x, offset in the chunk) for the parts of the
/// chunk's rows whose tap lies inside the input.
template <class F>
void for_each_row_inside(const Window& w, const Triple& tap, Chunk chunk, F&& f) {
  const auto [begin, end] = w.inside(2, tap[2]);
  if (begin >= end) return;
  for (auto row = chunk.begin; row < chunk.end; ++row) {
    const auto d = w.at(0, row / w.out[1], tap[0]);
    const auto h = w.at(1, row % w.out[1], tap[1]);
    if (d < 0 || d >= w.in[0] || h < 0 || h >= w.in[1]) continue;
    const auto in_row = (d * w.in[1] + h) * w.in[2];
    f(in_row + w.at(2, begin, tap[2]), end - begin, (row - chunk.begin) * w.out[2] + begin);
  }
}

/// columns[tap row][position] = input under the tap, 0 in the padding.
template <class T>
void gather_columns(const Window& w, std::int64_t channels, const T* input, Chunk chunk,
                    std::vector<T>& columns) {
  const auto width = (chunk.end - chunk.begin) * w.out[2];
  const auto plane = volume(w.in);
  std::fill(columns.begin(), columns.end(), T{});
  for_each_tap(w, channels, [&](std::int64_t row, std::int64_t channel, const Triple& tap) {
    const T* from = input + channel * plane;
    T* to = columns.data() + row * width;
    for_each_row_inside(w, tap, chunk, [&](std::int64_t at, std::int64_t count, std::int64_t out) {
      for (std::int64_t i = 0; i < count; ++i) to[out + i] = from[at + i * w.stride[2]];
    });
  });
}

/// Is a sum of T rounded when kept in the dtype?
template <class T>
auto rounds(DType dtype) -> bool {
  return std::is_same_v<T, float> && is_half(dtype);
}

/// The transpose of gather_columns: adds the columns to the input elements they came from.
template <class T>
void scatter_columns(const ConvShape& s, const std::vector<T>& columns, Chunk chunk, T* input) {
  const auto& w = s.window;
  const auto add = [&](T& sum, T value) {
    if constexpr (std::is_same_v<T, float>)
      if (rounds<T>(s.partial_sums)) {
        const auto column = round_to(s.partial_sums, value);
        sum = static_cast<float>(round_to(s.partial_sums, sum + column));
        return;
      }
    sum += value;
  };
  const auto width = (chunk.end - chunk.begin) * w.out[2];
  const auto plane = volume(w.in);
  for_each_tap(w, s.group_in(), [&](std::int64_t row, std::int64_t channel, const Triple& tap) {
    T* to = input + channel * plane;
    const T* from = columns.data() + row * width;
    for_each_row_inside(w, tap, chunk, [&](std::int64_t at, std::int64_t count, std::int64_t out) {
      for (std::int64_t i = 0; i < count; ++i) add(to[at + i * w.stride[2]], from[out + i]);
    });
  });
}

/// A 1x1 window at every element: the columns are the input itself.
auto is_pointwise(const Window& w) -> bool {
  return w.kernel == Triple{1, 1, 1} && w.stride == Triple{1, 1, 1} && w.padding == Triple{0, 0, 0};
}

/// Calls f(input group, weight group, output group) element offsets for each image and group.
template <class F>
void for_each_group(const ConvShape& s, F&& f) {
  const auto taps = volume(s.window.kernel);
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t g = 0; g < s.groups; ++g)
      f((n * s.in_channels + g * s.group_in()) * volume(s.window.in),
        g * s.group_out() * s.group_in() * taps,
        (n * s.out_channels + g * s.group_out()) * volume(s.window.out));
}

/// Calls f(chunk) until all output rows are covered.
template <class F>
void for_each_chunk(const ConvShape& s, F&& f) {
  const auto rows = s.window.out[0] * s.window.out[1];
  const auto row_elems = s.group_in() * volume(s.window.kernel) * s.window.out[2];
  const auto step = std::max<std::int64_t>(1, kColumnElems / std::max<std::int64_t>(1, row_elems));
  for (std::int64_t begin = 0; begin < rows; begin += step)
    f(Chunk{begin, std::min(rows, begin + step)});
}

template <class T>
auto column_buffer(const ConvShape& s, Chunk chunk) -> std::vector<T> {
  return std::vector<T>(static_cast<std::size_t>(s.group_in() * volume(s.window.kernel) *
                                                 (chunk.end - chunk.begin) * s.window.out[2]));
}

/// With one input channel per group the products are long and thin: loop over taps directly.
/// f(input element, weight element, output element) indices of `count` strided neighbours.
template <class F>
void for_each_direct_run(const ConvShape& s, F&& f) {
  const auto& w = s.window;
  const auto taps = volume(w.kernel);
  const Chunk all{0, w.out[0] * w.out[1]};
  for_each_group(s, [&](std::int64_t input, std::int64_t weight, std::int64_t output) {
    for (std::int64_t channel = 0; channel < s.group_out(); ++channel)
      for_each_tap(w, 1, [&](std::int64_t row, std::int64_t, const Triple& tap) {
        for_each_row_inside(w, tap, all,
                            [&](std::int64_t at, std::int64_t count, std::int64_t out) {
                              f(input + at, weight + channel * taps + row,
                                output + channel * volume(w.out) + out, count);
                            });
      });
  });
}

}  // namespace

template <class T>
void add_convolution(const ConvShape& s, const T* input, const T* weight, T* output) {
  const auto& w = s.window;
  if (volume(w.out) == 0 || volume(w.in) == 0) return;
  if (s.group_in() == 1) {
    for_each_direct_run(s, [&](auto in, auto tap, auto out, auto count) {
      for (std::int64_t i = 0; i < count; ++i)
        output[out + i] += weight[tap] * input[in + i * w.stride[2]];
    });
    return;
  }
  const auto depth = s.group_in() * volume(w.kernel);
  for_each_group(s, [&](std::int64_t in, std::int64_t tap, std::int64_t out) {
    const auto matrix = packed_matrix(weight + tap, s.group_out(), depth);
    if (is_pointwise(w)) {
      add_product(T(1), matrix, packed_matrix(input + in, depth, volume(w.in)), output + out,
                  volume(w.out));
      return;
    }
    for_each_chunk(s, [&](Chunk chunk) {
      auto columns = column_buffer<T>(s, chunk);
      gather_columns(w, s.group_in(), input + in, chunk, columns);
      const auto width = (chunk.end - chunk.begin) * w.out[2];
      add_product(T(1), matrix, packed_matrix<T>(columns.data(), depth, width),
                  output + out + chunk.begin * w.out[2], volume(w.out));
    });
  });
}

template <class T>
void add_input_gradient(const ConvShape& s, const T* grad_output, const T* weight, T* grad_input) {
  const auto& w = s.window;
  if (volume(w.out) == 0 || volume(w.in) == 0) return;
  if (s.group_in() == 1 && !rounds<T>(s.partial_sums)) {
    for_each_direct_run(s, [&](auto in, auto tap, auto out, auto count) {
      for (std::int64_t i = 0; i < count; ++i)
        grad_input[in + i * w.stride[2]] += weight[tap] * grad_output[out + i];
    });
    return;
  }
  const auto depth = s.group_in() * volume(w.kernel);
  for_each_group(s, [&](std::int64_t in, std::int64_t tap, std::int64_t out) {
    const auto matrix = packed_matrix(weight + tap, s.group_out(), depth).transposed();
    for_each_chunk(s, [&](Chunk chunk) {
      auto columns = column_buffer<T>(s, chunk);
      const auto width = (chunk.end - chunk.begin) * w.out[2];
      const MatrixView<T> gradient{grad_output + out + chunk.begin * w.out[2], s.group_out(), width,
                                   volume(w.out), 1};
      add_product(T(1), matrix, gradient, columns.data(), width);
      scatter_columns(s, columns, chunk, grad_input + in);
    });
  });
}

template <class T>
void add_weight_gradient(const ConvShape& s, const T* grad_output, const T* input, T* grad_weight) {
  const auto& w = s.window;
  if (volume(w.out) == 0 || volume(w.in) == 0) return;
  if (s.group_in() == 1) {
    for_each_direct_run(s, [&](auto in, auto tap, auto out, auto count) {
      T sum{};
      for (std::int64_t i = 0; i < count; ++i)
        sum += input[in + i * w.stride[2]] * grad_output[out + i];
      grad_weight[tap] += sum;
    });
    return;
  }
  const auto depth = s.group_in() * volume(w.kernel);
  for_each_group(s, [&](std::int64_t in, std::int64_t tap, std::int64_t out) {
    for_each_chunk(s, [&](Chunk chunk) {
      auto columns = column_buffer<T>(s, chunk);
      gather_columns(w, s.group_in(), input + in, chunk, columns);
      const auto width = (chunk.end - chunk.begin) * w.out[2];
      const MatrixView<T> gradient{grad_output + out + chunk.begin * w.out[2], s.group_out(), width,
                                   volume(w.out), 1};
      add_product(T(1), gradient, packed_matrix<T>(columns.data(), depth, width).transposed(),
                  grad_weight + tap, depth);
    });
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type.
#define ASSAY_CONVOLUTION(T)                                                  \
  template void add_convolution(const ConvShape&, const T*, const T*, T*);    \
  template void add_input_gradient(const ConvShape&, const T*, const T*, T*); \
  template void add_weight_gradient(const ConvShape&, const T*, const T*, T*);
// NOLINTEND(bugprone-macro-parentheses)
ASSAY_CONVOLUTION(float)
ASSAY_CONVOLUTION(double)
ASSAY_CONVOLUTION(Complex)
ASSAY_CONVOLUTION(std::int64_t)
#undef ASSAY_CONVOLUTION

}  // namespace assay
