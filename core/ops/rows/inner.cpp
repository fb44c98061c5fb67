// Operators that PyTorch's composites call, or its libraries', made of rows that mean the same.
#include <algorithm>

#include "core/ops/composing.h"

namespace assay {
namespace {

auto row_major(Composer& c, const Datum& tensor) -> Datum {
  return c.call("aten.clone.default", {tensor, Datum{MemoryFormat::contiguous}});
}

/// input [K, ...], coefficients [N, K]: N sums over the first dimension.
auto linear_combination(Composer& c) -> Datum {
  const auto input = c.meta(0);
  const auto coefficients = c.meta(1);
  if (input.rank() < 1 || coefficients.rank() != 2)
    return c.fail("coefficients of the members of the first dimension"), Datum{};
  Dims sizes = input.sizes;
  const auto rows =
      reshaped(c, row_major(c, c.arg(0)), {sizes[0], product(std::span(sizes).subspan(1))});
  sizes[0] = coefficients.sizes[0];
  return reshaped(c, call2(c, "aten.mm.default", c.arg(1), rows), sizes);
}
/// self, values, indices (both written), dim.
template <bool kMax>
auto extreme_scan(Composer& c) -> Datum {
  const auto scan =
      c.call(kMax ? "aten.cummax.default" : "aten.cummin.default", {c.arg(0), c.arg(3)});
  for (const int i : {1, 2})
    call2(c, "aten.copy_.default", c.arg(i), c.item(scan, static_cast<std::size_t>(i - 1)));
  return {};
}
auto embedding_renorm(Composer& c) -> Datum {
  const auto table = call1(c, "aten.clone.default", c.arg(0));
  return c.call("aten.embedding_renorm_.default", {table, c.arg(1), c.arg(2), c.arg(3)});
}
/// self, ord, dim, keepdim, dtype: a vector norm without its root.
auto power_sum(Composer& c) -> Datum {
  auto self = c.arg(0);
  const auto dtype = c.dtype(4);
  if (dtype && *dtype != c.meta(0).dtype) self = converted(c, self, *dtype);
  const auto powers = c.call("aten.pow.Tensor_Scalar", {call1(c, "aten.abs.default", self),
                                                        c.has(1) ? c.arg(1) : integer(2)});
  return c.call("aten.sum.dim_IntList", {powers, c.arg(2), c.arg(3)});
}
/// grad_output, self, weight, kernel_size, stride, padding, output_mask.
auto convolution_gradients(Composer& c, Datum mask) -> DatumList {
  const auto channels = c.meta(2).sizes;
  if (channels.empty())
    return c.fail("weights are matrices of planes"), DatumList{Datum{}, Datum{}, Datum{}};
  const auto all = c.call(
      "aten.convolution_backward.default",
      {c.arg(0), c.arg(1), c.arg(2), int_list(Dims{channels[0]}), c.arg(4), c.arg(5),
       int_list(Ints{1, 1}), truth(false), int_list(Ints{0, 0}), integer(1), std::move(mask)});
  DatumList results;
  for (std::size_t i = 0; i < 3; ++i) {
    auto gradient = c.error() ? Datum{} : c.item(all, i);
    if (!gradient.is_none()) gradient = row_major(c, gradient);
    results.push_back(std::move(gradient));
  }
  return results;
}
auto slow_convolution_backward(Composer& c) -> Datum {
  return {convolution_gradients(c, c.arg(6))};
}
auto slow_convolution_into(Composer& c) -> Datum {
  const auto made = convolution_gradients(c, Datum{DatumList(3, truth(true))});
  DatumList written;
  for (std::size_t i = 0; i < 3 && !c.error(); ++i)
    written.push_back(call2(c, "aten.copy_.default", c.arg(6 + static_cast<int>(i)), made[i]));
  return {std::move(written)};
}
/// log_probs, targets, input_lengths, target_lengths, blank, deterministic, zero_infinity: the
/// losses, and what the backward needs only to scale.
template <bool kTensors>
auto cudnn_ctc_loss(Composer& c) -> Datum {
  const auto loss = c.call(kTensors ? "aten._ctc_loss.Tensor" : "aten._ctc_loss.default",
                           {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4), c.arg(6)});
  if (c.error()) return {};
  const auto costs = c.item(loss, 0);
  const auto ones = call1(c, "aten.ones_like.default", costs);
  const auto gradient = c.call(
      kTensors ? "aten._ctc_loss_backward.Tensor" : "aten._ctc_loss_backward.default",
      {ones, c.arg(0), c.arg(1), c.arg(2), c.arg(3), costs, c.item(loss, 1), c.arg(4), c.arg(6)});
  return {DatumList{costs, gradient}};
}
auto grid_sampler_gradients(Composer& c) -> Datum {
  auto args = all_args(c);
  args.emplace_back(DatumList(2, truth(true)));
  return c.call("aten.grid_sampler_2d_backward.default", std::move(args));
}
/// theta [N, 2, 3], N, C, H, W; cuDNN's corners lie on the image's.
auto cudnn_grid(Composer& c) -> Datum {
  return c.call("aten.affine_grid_generator.default",
                {c.arg(0), Datum{DatumList{c.arg(1), c.arg(2), c.arg(3), c.arg(4)}}, truth(true)});
}
/// grad [N, H, W, 2]: the gradient of theta.
auto cudnn_grid_backward(Composer& c) -> Datum {
  const auto grad = c.meta(0);
  const auto batch = c.expr(1), places = c.expr(3) * c.expr(4);
  const auto made = [&](std::string_view overload, const Dims& sizes) {
    return c.call(overload, {int_list(sizes), Datum{grad.dtype}, {}, Datum{grad.device}});
  };
  const auto unit =
      c.call("aten.eye.m", {integer(2), integer(3), Datum{grad.dtype}, {}, Datum{grad.device}});
  const auto theta = c.call("aten.expand.default", {unit, int_list(Dims{batch, 2, 3})});
  const auto grid =
      c.call("aten.affine_grid_generator.default",
             {theta, Datum{DatumList{c.arg(1), c.arg(2), c.arg(3), c.arg(4)}}, truth(true)});
  const auto places_of = [&](const Datum& tensor) {
    return reshaped(c, tensor, {batch, places, 2});
  };
  const auto base =
      c.call("aten.cat.default",
             {Datum{DatumList{places_of(grid), made("aten.ones.default", {batch, places, 1})}},
              integer(2)});
  const auto turned = c.call("aten.transpose.int", {places_of(c.arg(0)), integer(1), integer(2)});
  return call2(c, "aten.bmm.default", turned, base);
}

}  // namespace

// clang-format off
void add_inner_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  composed("aten::_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor", linear_combination);
  composed("aten::_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()", extreme_scan<true>);
  composed("aten::_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()", extreme_scan<false>);
  composed("aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", embedding_renorm);
  composed("aten::linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", power_sum);
  composed("aten::_slow_conv2d_backward.output_mask(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size, SymInt[2] stride, SymInt[2] padding, bool[3] output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)", slow_convolution_backward);
  composed("aten::_slow_conv2d_backward.grad_input(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size, SymInt[2] stride, SymInt[2] padding, *, Tensor(a!) grad_input, Tensor(b!) grad_weight, Tensor(c!) grad_bias) -> (Tensor(a!), Tensor(b!), Tensor(c!))", slow_convolution_into);
  composed("aten::_cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank, bool deterministic, bool zero_infinity) -> (Tensor, Tensor)", cudnn_ctc_loss<false>);
  composed("aten::_cudnn_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank, bool deterministic, bool zero_infinity) -> (Tensor, Tensor)", cudnn_ctc_loss<true>);
  composed("aten::_grid_sampler_2d_cpu_fallback_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> (Tensor, Tensor)", grid_sampler_gradients);
  composed("aten::cudnn_affine_grid_generator(Tensor theta, int N, int C, int H, int W) -> Tensor grid", cudnn_grid);
  composed("aten::cudnn_affine_grid_generator_backward(Tensor grad, int N, int C, int H, int W) -> Tensor grad_theta", cudnn_grid_backward);
}
// clang-format on

}  // namespace assay
