// Values rounded to the levels that integers of a scale and a zero point stand for
// (aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp, FakeQuantPerChannelAffine.cpp,
// torch/ao/quantization/fx/_decomposed.py).
#include <algorithm>
#include <cmath>

#include "core/ops/rules.h"

namespace assay {
namespace {

/// Scale and zero point of each channel, one of each without channels; either may be a number or a
/// tensor. (self, scale, zero_point, ...)
struct Levels {
  std::vector<double> scales, zeros;
  double low = 0, high = 0;
  std::size_t inner = 1;  ///< elements between two of neighbouring channels

  [[nodiscard]] auto channel(std::size_t i) const -> std::size_t {
    return scales.size() == 1 ? 0 : i / std::max<std::size_t>(inner, 1) % scales.size();
  }
  /// The integer of a value, before it is brought into range.
  [[nodiscard]] auto level(double value, std::size_t i) const -> double {
    const auto inverse = 1.0F / static_cast<float>(scales[channel(i)]);
    return std::nearbyint(static_cast<double>(static_cast<float>(value) * inverse)) +
           zeros[channel(i)];
  }
  [[nodiscard]] auto clamped(double level) const -> double {
    return std::fmin(std::fmax(level, low), high);
  }
  [[nodiscard]] auto value(double level, std::size_t i) const -> double {
    return (level - zeros[channel(i)]) *
           static_cast<double>(static_cast<float>(scales[channel(i)]));
  }
};
auto numbers(KernelCall& k, int arg) -> std::vector<double> {
  if (k.is_tensor(arg)) return to_vector<double>(k.in(arg));
  return {k.has(arg) ? k.real(arg) : 0};
}
/// `first` is the position of self.
auto levels_of(KernelCall& k, int first = 0) -> Levels {
  Levels levels{.scales = numbers(k, first + 1), .zeros = numbers(k, first + 2)};
  levels.low = static_cast<double>(k.integer(param(k, "quant_min")));
  levels.high = static_cast<double>(k.integer(param(k, "quant_max")));
  for (auto& zero : levels.zeros) zero = std::nearbyint(zero);
  if (param(k, "grad_factor") >= 0)  // learnt zero points are brought into range first
    for (auto& zero : levels.zeros) zero = levels.clamped(zero);
  if (!k.has(first + 2)) levels.zeros.assign(levels.scales.size(), 0);
  const auto& self = k.in(first);
  if (const int axis = param(k, "axis"); axis >= 0)
    for (auto d = static_cast<std::size_t>(dim_of(k, axis, self.rank())) + 1;
         d < self.sizes().size(); ++d)
      levels.inner *= static_cast<std::size_t>(self.sizes()[d]);
  if (levels.scales.empty() || levels.zeros.size() != levels.scales.size())
    k.fail("one zero point per scale");
  return levels;
}

/// self, scale, zero_point, (axis,) quant_min, quant_max.
auto require_levels(MetaCall& c, int first = 0) -> bool {
  const auto& self = c.meta(first);
  const int axis = param(c, "axis");
  if (!c.require(is_floating(self.dtype) || param(c, "dtype") >= 0,
                 "a floating tensor is needed") ||
      !c.require(c.integer(param(c, "quant_min")) <= c.integer(param(c, "quant_max")),
                 "quant_min is not above quant_max"))
    return false;
  if (axis < 0) {
    for (const int i : {first + 1, first + 2})
      if (c.is_tensor(i) && !c.require(eq(numel(c.meta(i)), 1), "one scale and one zero point"))
        return false;
    return true;
  }
  const auto at = c.dim_arg(axis, self.rank());
  if (c.error() || !c.require(self.rank() > 0, "there is a channel dimension")) return false;
  for (const int i : {first + 1, first + 2})
    if ((c.has(i) && !c.require(c.meta(i).rank() == 1, "one value per channel")) ||
        !require_count(c, i, self.sizes[static_cast<std::size_t>(at)], "one value per channel"))
      return false;
  return true;
}
/// The rounded values, and which were in range.
auto cachemask_rule(MetaCall& c) -> Datum {
  const int enabled = param(c, "fake_quant_enabled");
  if (!require_levels(c) ||
      (enabled >= 0 && !c.require(eq(numel(c.meta(enabled)), 1), "one switch")))
    return {};
  const auto& self = c.meta(0);
  return {DatumList{preserved_like_self(c),
                    c.fresh(DType::boolean, self.sizes, preserved_strides(c, self))}};
}
auto learnable_rule(MetaCall& c) -> Datum {
  return require_levels(c) ? preserved_like_self(c) : Datum{};
}
/// Rounded values; where the operator has a switch and it is off, the values as they are.
void fake_quantize_kernel(KernelCall& k) {
  const auto levels = levels_of(k);
  if (k.error()) return;
  const int enabled = param(k, "fake_quant_enabled");
  const bool is_on = enabled < 0 || to_vector<double>(k.in(enabled))[0] != 0;
  auto values = to_vector<double>(k.in(0));
  std::vector<std::int64_t> inside(values.size(), 1);
  for (std::size_t i = 0; i < values.size() && is_on; ++i) {
    const double level = levels.level(values[i], i);
    inside[i] = level >= levels.low && level <= levels.high ? 1 : 0;
    values[i] = levels.value(levels.clamped(level), i);
  }
  from_vector<double>(k.out(0), values);
  if (k.row().schema.returns.size() > 1) from_vector<std::int64_t>(k.out(1), inside);
}
/// What has a mask gives its first result.
auto first_of(Composer& c, std::string_view overload, DatumList args) -> Datum {
  return c.item(c.call(overload, std::move(args)), 0);
}
auto per_tensor(Composer& c) -> Datum {
  return first_of(c, "aten.fake_quantize_per_tensor_affine_cachemask.default",
                  DatumList(c.args().begin(), c.args().end()));
}
auto per_channel(Composer& c) -> Datum {
  return first_of(c, "aten.fake_quantize_per_channel_affine_cachemask.default",
                  DatumList(c.args().begin(), c.args().end()));
}
auto by_tensors(Composer& c) -> Datum {
  const auto on =
      c.call("aten.ones.default", {Datum{DatumList{Datum{Expr(1)}}}, Datum{DType::int64}});
  return first_of(c, "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default",
                  {c.arg(0), c.arg(1), c.arg(2), on, c.arg(3), c.arg(4)});
}
auto masked_gradient(Composer& c) -> Datum {
  return c.call("aten.mul.Tensor", {c.arg(0), c.arg(1)});
}

// ---- learnt scales ------------------------------------------------------------------------------

/// grad, self, scale, zero_point, (axis,) quant_min, quant_max, grad_factor: gradients of self,
/// scale and zero point.
auto learnable_backward_rule(MetaCall& c) -> Datum {
  if (!require_levels(c, 1) ||
      !require_same_sizes(c, c.meta(0).sizes, c.meta(1).sizes, "one gradient per element"))
    return {};
  const auto& self = c.meta(1);
  const Dims channels{param(c, "axis") < 0 ? Expr(1) : numel(c.meta(2))};
  return {DatumList{c.fresh(self.dtype, self.sizes, preserved_strides(c, self)),
                    c.fresh(c.meta(2).dtype, channels), c.fresh(c.meta(3).dtype, channels)}};
}
void learnable_backward_kernel(KernelCall& k) {
  const auto levels = levels_of(k, 1);
  if (k.error()) return;
  const double factor = k.real(param(k, "grad_factor"));
  auto grad = to_vector<double>(k.in(0));
  const auto x = to_vector<double>(k.in(1));
  std::vector<double> scale_grad(levels.scales.size(), 0);
  std::vector<double> zero_grad(levels.scales.size(), 0);
  for (std::size_t i = 0; i < grad.size(); ++i) {
    const auto channel = levels.channel(i);
    const double level = levels.level(x[i], i);
    const double bound = levels.clamped(level);
    const bool inside = level == bound;
    const double fake = levels.value(bound, i);
    scale_grad[channel] +=
        grad[i] * factor *
        (inside ? (fake - x[i]) / levels.scales[channel] : bound - levels.zeros[channel]);
    if (!inside) zero_grad[channel] -= grad[i] * factor * levels.scales[channel];
    if (!inside) grad[i] = 0;
  }
  from_vector<double>(k.out(0), grad);
  from_vector<double>(k.out(1), scale_grad);
  from_vector<double>(k.out(2), zero_grad);
}

// ---- integers as they are -----------------------------------------------------------------------

/// quantized_decomposed: tensors of integers whose scale and zero point travel apart.
auto quantize_rule(MetaCall& c) -> Datum {
  if (!require_levels(c)) return {};
  const auto dtype = c.dtype(param(c, "dtype")).value_or(DType::int8);
  return c.fresh(dtype, c.meta(0).sizes, preserved_strides(c, c.meta(0)));
}
void quantize_kernel(KernelCall& k) {
  const auto levels = levels_of(k);
  if (k.error()) return;
  auto values = to_vector<double>(k.in(0));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = levels.clamped(levels.level(values[i], i));
  from_vector<double>(k.out(), values);
}
auto dequantize_rule(MetaCall& c) -> Datum {
  if (!require_levels(c)) return {};
  const int out = param(c, "out_dtype");
  return c.fresh(c.dtype(out).value_or(DType::float32), c.meta(0).sizes,
                 preserved_strides(c, c.meta(0)));
}
void dequantize_kernel(KernelCall& k) {
  const auto levels = levels_of(k);
  if (k.error()) return;
  auto values = to_vector<double>(k.in(0));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = levels.value(values[i], i);
  from_vector<double>(k.out(), values);
}

}  // namespace

// clang-format off
void add_fake_quantize_rows(OpTable& t) {
  t.add({.schema_text = "aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> (Tensor output, Tensor mask)", .rule = cachemask_rule, .kernel = fake_quantize_kernel});
  t.add({.schema_text = "aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)", .rule = cachemask_rule, .kernel = fake_quantize_kernel});
  t.add({.schema_text = "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)", .rule = cachemask_rule, .kernel = fake_quantize_kernel});
  t.add({.schema_text = "aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor", .decomposition = per_tensor});
  t.add({.schema_text = "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max) -> Tensor", .decomposition = by_tensors});
  t.add({.schema_text = "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor", .decomposition = per_channel});
  t.add({.schema_text = "aten::fake_quantize_per_tensor_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", .decomposition = masked_gradient});
  t.add({.schema_text = "aten::fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor", .decomposition = masked_gradient});
  t.add({.schema_text = "aten::_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> Tensor", .rule = learnable_rule, .kernel = fake_quantize_kernel});
  t.add({.schema_text = "aten::_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> Tensor", .rule = learnable_rule, .kernel = fake_quantize_kernel});
  t.add({.schema_text = "aten::_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)", .rule = learnable_backward_rule, .kernel = learnable_backward_kernel});
  t.add({.schema_text = "aten::_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)", .rule = learnable_backward_rule, .kernel = learnable_backward_kernel});
  t.add({.schema_text = "quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor", .rule = quantize_rule, .kernel = quantize_kernel});
  t.add({.schema_text = "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor", .rule = quantize_rule, .kernel = quantize_kernel});
  t.add({.schema_text = "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor", .rule = quantize_rule, .kernel = quantize_kernel});
  t.add({.schema_text = "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", .rule = dequantize_rule, .kernel = dequantize_kernel});
  t.add({.schema_text = "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", .rule = dequantize_rule, .kernel = dequantize_kernel});
  t.add({.schema_text = "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", .rule = dequantize_rule, .kernel = dequantize_kernel});
}
// clang-format on

}  // namespace assay
