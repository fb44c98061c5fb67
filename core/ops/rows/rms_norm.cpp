// Derivatives that CUDA fuses (aten/src/ATen/native/cuda/layer_norm_kernel.cu), and of a masked
// scatter (native/TensorAdvancedIndexing.cpp).
#include <algorithm>

#include "core/ops/norm.h"
#include "core/ops/pointwise.h"

namespace assay {
namespace {

/// grad_out, input, normalized_shape, rstd, weight, output_mask.
auto rms_backward_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(1);
  const auto shape = c.exprs(2);
  if (!c.require(!shape.empty() && shape.size() <= input.sizes.size(), "a shape to normalise") ||
      !require_same_sizes(
          c, shape,
          {input.sizes.end() - static_cast<std::ptrdiff_t>(shape.size()), input.sizes.end()},
          "the shape is that of the last dimensions") ||
      !require_same_sizes(c, c.meta(0).sizes, input.sizes, "one gradient per element") ||
      !require_count(c, 4, product(shape), "one weight per element of the shape"))
    return {};
  const auto mask = c.flags(5);
  if (!c.require(mask.size() == 2, "the mask has two flags")) return {};
  const auto rows =
      Dims(input.sizes.begin(), input.sizes.end() - static_cast<std::ptrdiff_t>(shape.size()));
  if (!require_count(c, 3, product(rows), "one scale per row")) return {};
  return {DatumList{mask[0] ? c.fresh(input.dtype, input.sizes) : Datum{},
                    mask[1] && c.has(4) ? c.fresh(c.meta(4).dtype, shape) : Datum{}}};
}
void rms_backward_kernel(KernelCall& k) {
  const auto grad = to_vector<double>(k.in(0));
  const auto x = to_vector<double>(k.in(1));
  const auto scale = to_vector<double>(k.in(3));
  const auto length = static_cast<std::size_t>(numel(k.integers(2)));
  const auto weight = values_or(k, 4, length, 1);
  std::vector<double> grad_weight(length, 0);
  std::vector<double> result(x.size(), 0);
  for (std::size_t row = 0; row < scale.size(); ++row) {
    double dot = 0;
    for (std::size_t i = 0; i < length; ++i) {
      const auto e = row * length + i;
      dot += grad[e] * weight[i] * x[e];
      grad_weight[i] += grad[e] * x[e] * scale[row];
    }
    const double pull = dot * scale[row] * scale[row] / static_cast<double>(length);
    for (std::size_t i = 0; i < length; ++i) {
      const auto e = row * length + i;
      result[e] = scale[row] * (grad[e] * weight[i] - x[e] * pull);
    }
  }
  store_result(k, 0, result);
  store_result(k, 1, grad_weight);
}

/// grad_output, mask, sizes: what the source of a masked scatter gave, zeros behind it.
auto masked_scatter_backward_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(1).dtype == DType::boolean, "the mask is bool")) return {};
  broadcast(c, c.meta(0).sizes, c.meta(1).sizes);
  return c.fresh(c.meta(0).dtype, c.exprs(2));
}
void masked_scatter_backward_kernel(KernelCall& k) {
  const auto sizes = common_sizes(k.in(0).sizes(), k.in(1).sizes());
  if (!sizes) return void(k.fail("gradient and mask do not broadcast"));
  const auto mask = to_vector<std::int64_t>(expanded_view(k.in(1), *sizes));
  with_compute_type(k.in(0).dtype(), [&]<class T>(T) {
    const auto grad = to_vector<T>(expanded_view(k.in(0), *sizes));
    std::vector<T> result;
    const auto room = static_cast<std::size_t>(k.out().numel());
    for (std::size_t i = 0; i < grad.size(); ++i)
      if (mask[i] != 0) result.push_back(grad[i]);
    if (result.size() > room) return void(k.fail("more elements are chosen than there are"));
    result.resize(room, T{});
    from_vector<T>(k.out(), result);
  });
}

}  // namespace

// clang-format off
void add_rms_norm_rows(OpTable& t) {
  t.add({.schema_text = "aten::_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight, bool[2] output_mask) -> (Tensor, Tensor)", .rule = rms_backward_rule, .kernel = rms_backward_kernel});
  t.add({.schema_text = "aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor", .rule = masked_scatter_backward_rule, .kernel = masked_scatter_backward_kernel});
}
// clang-format on

}  // namespace assay
