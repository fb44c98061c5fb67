#include "compiler/cuda/window_products.h"

#include <algorithm>
#include <array>
#include <ranges>

namespace assay {
namespace {

using cuda::GpuConvolution;
using cuda::GpuMatrix;
using cuda::GpuTensor;

/// N, C and the places, which are one dimension.
struct Images {
  std::int64_t images = 1, image_stride = 0;
  std::int64_t places = 1, place_stride = 0;
  std::int64_t channels = 1, channel_stride = 0;
  /// Do all places of all images stand at one distance?
  [[nodiscard]] auto are_one() const -> bool {
    return images == 1 || places == 1 || image_stride == places * place_stride;
  }
};

auto images_of(const GpuTensor& t) -> std::optional<Images> {
  Images made{.images = t.sizes[0],
              .image_stride = t.strides[0],
              .channels = t.sizes[1],
              .channel_stride = t.strides[1]};
  for (auto d = t.sizes.size(); d-- > 2;) {
    if (t.sizes[d] == 1) continue;
    if (made.places == 1) made.place_stride = t.strides[d];
    if (t.strides[d] != made.places * made.place_stride) return std::nullopt;
    made.places *= t.sizes[d];
  }
  return made;
}

/// Places by channels.
auto matrix_of(const GpuTensor& t, const Images& of, bool is_batch) -> GpuMatrix {
  GpuMatrix made{.at = t.at,
                 .rows = is_batch ? of.places : of.images * of.places,
                 .columns = of.channels,
                 .row_stride = of.places == 1 ? of.image_stride : of.place_stride,
                 .column_stride = of.channel_stride};
  if (is_batch) made.batch_stride = of.image_stride;
  return made;
}

/// Rows or columns of sixteen aligned bytes, as tensor cores want them.
auto is_aligned(const GpuMatrix& m, std::int64_t element_bytes) -> bool {
  constexpr std::int64_t kBytes = 16;
  const auto fits = [&](std::int64_t count, std::int64_t stride) {
    return count == 1 || stride == 1 || stride * element_bytes % kBytes == 0;
  };
  return fits(m.rows, m.row_stride) && fits(m.columns, m.column_stride) &&
         m.batch_stride * element_bytes % kBytes == 0;
}

auto has_single_elements(const GpuConvolution& what) -> bool {
  const auto all = [](const auto& values, std::int64_t value) {
    return std::ranges::all_of(values, [&](auto one) { return one == value; });
  };
  return what.groups == 1 && what.w.sizes.size() > 2 && all(std::views::drop(what.w.sizes, 2), 1) &&
         all(what.stride, 1) && all(what.padding, 0);
}

}  // namespace

auto window_product(const GpuConvolution& what, bool may_round) -> std::optional<cuda::GpuProduct> {
  if (!has_single_elements(what)) return std::nullopt;
  const auto x = images_of(what.x), y = images_of(what.y);
  if (!x || !y || x->places != y->places) return std::nullopt;
  const bool is_batch = !x->are_one() || !y->are_one();
  const auto mx = matrix_of(what.x, *x, is_batch), my = matrix_of(what.y, *y, is_batch);
  const GpuMatrix mw{.at = what.w.at,
                     .rows = what.w.sizes[0],
                     .columns = what.w.sizes[1],
                     .row_stride = what.w.strides[0],
                     .column_stride = what.w.strides[1]};
  cuda::GpuProduct made;
  made.dtype = what.x.dtype;
  made.may_round = may_round;
  made.batch = is_batch ? x->images : 1;
  switch (what.result) {
    case GpuConvolution::Result::output:
      made.a = mx, made.b = transposed(mw), made.out = my;
      break;
    case GpuConvolution::Result::input_gradient:
      made.a = my, made.b = mw, made.out = mx;
      break;
    case GpuConvolution::Result::weight_gradient:
      if (is_batch) return std::nullopt;
      made.a = transposed(my), made.b = mx, made.out = mw;
      break;
  }
  const auto bytes = size_bytes(made.dtype);
  const bool on_tensor_cores = bytes == 2 || (made.dtype == DType::float32 && may_round);
  const std::array all = {made.a, made.b, made.out};
  if (on_tensor_cores &&
      !std::ranges::all_of(all, [&](const auto& one) { return is_aligned(one, bytes); }))
    return std::nullopt;
  return made;
}

}  // namespace assay
