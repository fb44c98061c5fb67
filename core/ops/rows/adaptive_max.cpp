// Adaptive maximum pooling (aten/src/ATen/native/AdaptiveMaxPooling2d.cpp, 3d.cpp).
#include "core/ops/op_table.h"
#include "core/ops/pooling.h"

namespace assay {
namespace {

/// The three-dimensional pool is row-major whatever its input.
template <int kSpatial>
constexpr auto kFormatOf = kSpatial == 2 ? Format::suggested : Format::contiguous;

/// Values and their flat positions in the plane.
template <int kSpatial>
auto adaptive_max_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  if (c.error() || !check_input(c, input, kSpatial)) return {};
  auto sizes = input.sizes;
  const auto requested = window_values(c, 1, kSpatial, 1);
  for (std::size_t i = 0; i < requested.size(); ++i)
    if (!c.require(gt(sizes[sizes.size() - kSpatial + i], 0), "the input has spatial elements") ||
        !c.require(ge(requested[i], 0), "no output size is negative"))
      return {};
  std::ranges::copy(requested, sizes.end() - kSpatial);
  const auto strides = pool_strides(c, input, sizes, kSpatial, kFormatOf<kSpatial>);
  return {DatumList{c.fresh(input.dtype, sizes, strides), c.fresh(DType::int64, sizes, strides)}};
}
/// grad_output, self, indices.
template <int kSpatial>
auto adaptive_max_backward_rule(MetaCall& c) -> Datum {
  if (!check_adaptive_gradient<kSpatial>(c) ||
      !require_same_sizes(c, c.meta(2).sizes, c.meta(0).sizes, "one index per gradient"))
    return {};
  return input_gradient<kSpatial, kFormatOf<kSpatial>>(c);
}

/// Position of the last NaN, else of the first of the largest elements of a box.
template <class T>
auto largest_in(const Box& box, const Triple& in, const T* plane) -> std::int64_t {
  std::int64_t best = -1;
  for_each_in(box, in, [&](std::int64_t at) {
    if (best < 0 || plane[at] > plane[best] || plane[at] != plane[at]) best = at;
  });
  return best;
}
template <int kSpatial>
void adaptive_max_kernel(KernelCall& k) {
  if (k.out(0).numel() == 0) return;
  const auto in = spatial_triple(k.in(0).sizes(), kSpatial);
  const auto windows = adaptive_windows(in, spatial_triple(k.out(0).sizes(), kSpatial));
  with_product_type(k.in(0).dtype(), [&]<class T>(T) {
    if constexpr (std::is_same_v<T, Complex>) {
      k.fail("complex numbers have no order");
    } else {
      const auto from = Elements<T>::row_major(k.in(0));
      Output<T> values(k.out(0));
      Output<std::int64_t> positions(k.out(1));
      std::int64_t next = 0;
      for (const T* plane = from.data(); next < k.out(0).numel(); plane += volume(in))
        for (const auto& window : windows) {
          const auto best = largest_in(window, in, plane);
          values.data()[next] = plane[best];
          positions.data()[next++] = best;
        }
    }
  });
}

}  // namespace

// clang-format off
void add_adaptive_max_rows(OpTable& t) {
  t.add({.schema_text = "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)", .rule = adaptive_max_rule<2>, .kernel = adaptive_max_kernel<2>});
  t.add({.schema_text = "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)", .rule = adaptive_max_rule<3>, .kernel = adaptive_max_kernel<3>});
  t.add({.schema_text = "aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor", .rule = adaptive_max_backward_rule<2>, .kernel = max_backward_kernel<2, 2>});
  t.add({.schema_text = "aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor", .rule = adaptive_max_backward_rule<3>, .kernel = max_backward_kernel<3, 2>});
}
// clang-format on

}  // namespace assay
