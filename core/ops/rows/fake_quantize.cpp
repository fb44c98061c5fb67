// Values rounded to the levels that integers of a scale and a zero point stand for
// (aten/src/ATen/native/quantized/FakeQuantPerTensorAffine.cpp, FakeQuantPerChannelAffine.cpp,
// torch/ao/quantization/fx/_decomposed.py).
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/ops/rules.h"

namespace assay {
namespace {

/// Scale and zero point of each channel, one of each without channels; either may be a number or a
/// tensor. (self, scale, zero_point, ...)
struct Levels {
  std::vector<double> scales{}, zeros{};
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
void round_to_levels(const Levels& levels, std::vector<double>& values,
                     std::vector<std::int64_t>& inside) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double level = levels.level(values[i], i);
    inside[i] = level >= levels.low && level <= levels.high ? 1 : 0;
    values[i] = levels.value(levels.clamped(level), i);
  }
}
/// Rounded values; where the operator has a switch and it is off, the values as they are.
void fake_quantize_kernel(KernelCall& k) {
  const auto levels = levels_of(k);
  if (k.error()) return;
  const int enabled = param(k, "fake_quant_enabled");
  const bool is_on = enabled < 0 || to_vector<double>(k.in(enabled))[0] != 0;
  auto values = to_vector<double>(k.in(0));
  std::vector<std::int64_t> inside(values.size(), 1);
  if (is_on) round_to_levels(levels, values, inside);
  from_vector<double>(k.out(0), values);
  if (k.row().schema.returns.size() > 1) from_vector<std::int64_t>(k.out(1), inside);
}
// ---- levels from what was seen ------------------------------------------------------------------

/// self, observer_on, fake_quant_on, running_min, running_max, scale, zero_point (the latter four
/// written), averaging_const, quant_min, quant_max, ch_axis, per_row_fake_quant, symmetric_quant.
auto observe_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const bool by_row = c.flag(11);
  Expr count(1);
  if (!c.require(is_floating(self.dtype), "a floating tensor is needed")) return {};
  for (const int i : {1, 2})
    if (!c.require(eq(numel(c.meta(i)), 1), "one switch")) return {};
  if (by_row && self.rank() > 0)
    count = self.sizes[static_cast<std::size_t>(c.dim_arg(10, self.rank()))];
  for (int i = 3; i <= 6; ++i)
    if (!c.decide(eq(numel(c.meta(i)), count), "one state per channel"))
      return c.unsupported("a state that is given its size"), Datum{};
  return {DatumList{preserved_like_self(c),
                    c.fresh(DType::boolean, self.sizes, preserved_strides(c, self))}};
}
/// ChooseQuantizationParams (quantized/cpu/QuantUtils.h): scale and zero point of a range.
auto levels_between(double least, double most, double low, double high, bool symmetric)
    -> std::pair<double, double> {
  const bool both_signs = symmetric && least < 0 && most > 0;
  if (both_signs) {
    const double half = std::floor((high - low) / 2);
    const double largest = std::max(std::fabs(least / -(half + 1)), std::fabs(most / half));
    least = -largest * (half + 1);
    most = largest * half;
  }
  least = std::min(least, 0.0);
  most = std::max(most, 0.0);
  double scale = static_cast<double>(static_cast<float>((most - least) / (high - low)));
  if (scale == 0 || std::isinf(1 / scale)) scale = static_cast<double>(0.1F);
  constexpr double kSmallest = static_cast<double>(6.1e-5F);
  if (scale < kSmallest) {
    const double grown = kSmallest / scale;
    if (least == 0)
      most = kSmallest * (high - low);
    else if (most == 0)
      least = -kSmallest * (high - low);
    else
      least *= grown, most *= grown;
    scale = kSmallest;
  }
  const double from_least = low - least / scale, from_most = high - most / scale;
  const bool least_is_closer =
      std::fabs(low) + std::fabs(least / scale) < std::fabs(high) + std::fabs(most / scale);
  double zero = least_is_closer ? from_least : from_most;
  if (both_signs) zero = (low + high) / 2;
  return {scale, std::nearbyint(std::clamp(zero, low, high))};
}
void observe_kernel(KernelCall& k) {
  const auto is_on = [&](int arg) { return to_vector<double>(k.in(arg)).at(0) != 0; };
  const auto write = [&](int arg, const std::vector<double>& values) {
    Tensor tensor = k.in(arg);
    from_vector<double>(tensor, values);
  };
  auto values = to_vector<double>(k.in(0));
  auto least = to_vector<double>(k.in(3)), most = to_vector<double>(k.in(4));
  Levels levels{.low = static_cast<double>(k.integer(8)),
                .high = static_cast<double>(k.integer(9))};
  levels.scales = to_vector<double>(k.in(5));
  levels.zeros = to_vector<double>(k.in(6));
  const auto& sizes = k.in(0).sizes();
  if (k.flag(11))
    for (auto d = static_cast<std::size_t>(dim_of(k, 10, k.in(0).rank())) + 1; d < sizes.size();
         ++d)
      levels.inner *= static_cast<std::size_t>(sizes[d]);
  if (is_on(1) && !values.empty()) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    std::vector<double> low(least.size(), kInf), high(least.size(), -kInf);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto channel = levels.channel(i);
      low[channel] = std::min(low[channel], values[i]);
      high[channel] = std::max(high[channel], values[i]);
    }
    const double share = k.real(7);
    for (std::size_t i = 0; i < least.size(); ++i) {
      const bool is_first = std::isinf(least[i]) || std::isinf(most[i]);
      least[i] = is_first ? low[i] : least[i] + share * (low[i] - least[i]);
      most[i] = is_first ? high[i] : most[i] + share * (high[i] - most[i]);
    }
    write(3, least);
    write(4, most);
  }
  std::vector<std::int64_t> inside(values.size(), 1);
  if (is_on(2)) {
    least = to_vector<double>(k.in(3)), most = to_vector<double>(k.in(4));
    for (std::size_t i = 0; i < least.size(); ++i)
      std::tie(levels.scales[i], levels.zeros[i]) =
          levels_between(least[i], most[i], levels.low, levels.high, k.flag(12));
    write(5, levels.scales);
    write(6, levels.zeros);
    round_to_levels(levels, values, inside);
  }
  from_vector<double>(k.out(0), values);
  from_vector<std::int64_t>(k.out(1), inside);
}
auto observe_functional(Composer& c) -> Datum {
  DatumList args(c.args().begin(), c.args().end());
  for (std::size_t i = 3; i <= 6; ++i) args[i] = c.call("aten.clone.default", {args[i]});
  const auto both = c.call("aten._fused_moving_avg_obs_fq_helper.default", args);
  if (c.error()) return {};
  return {DatumList{c.item(both, 0), c.item(both, 1), args[3], args[4], args[5], args[6]}};
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
  t.add({.schema_text = "aten::_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask)", .rule = observe_rule, .kernel = observe_kernel});
  t.add({.schema_text = "aten::_fused_moving_avg_obs_fq_helper_functional(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask, Tensor running_min_out, Tensor running_max_out, Tensor scale_out, Tensor zero_point_out)", .decomposition = observe_functional});
  t.add({.schema_text = "quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor", .rule = quantize_rule, .kernel = quantize_kernel});
  t.add({.schema_text = "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor", .rule = quantize_rule, .kernel = quantize_kernel});
  t.add({.schema_text = "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor", .rule = quantize_rule, .kernel = quantize_kernel});
  t.add({.schema_text = "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", .rule = dequantize_rule, .kernel = dequantize_kernel});
  t.add({.schema_text = "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", .rule = dequantize_rule, .kernel = dequantize_kernel});
  t.add({.schema_text = "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", .rule = dequantize_rule, .kernel = dequantize_kernel});
}
// clang-format on

}  // namespace assay
