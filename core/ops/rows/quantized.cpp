// What programs with integers in place of floats call beside quantize and dequantize: how their
// scales are chosen, a scale for each group or token, and products of integers
// (torch/ao/quantization/fx/_decomposed.py, aten/src/ATen/native/LinearAlgebra.cpp, Blas.cpp,
// native/cpu/int8mm_kernel.cpp). Results of the products that no int32 holds wrap.
#include <algorithm>
#include <cmath>

#include "core/ops/composing.h"

namespace assay {
namespace {

// ---- products -----------------------------------------------------------------------------------

auto int_product(Composer& c) -> Datum {
  if (c.meta(0).rank() != 2 || c.meta(1).rank() != 2) return c.fail("matrices are needed"), Datum{};
  const auto wide = [&](int arg) { return converted(c, c.arg(arg), DType::int32); };
  return call2(c, "aten.mm.default", wide(0), wide(1));
}
/// self [M, K], mat2 [N, K] int8, scales [N].
auto int8_weight_product(Composer& c) -> Datum {
  const auto dtype = c.meta(0).dtype;
  const auto weight = call1(c, "aten.t.default", converted(c, c.arg(1), DType::float32));
  const auto product = call2(c, "aten.mm.default", converted(c, c.arg(0), DType::float32), weight);
  return converted(c, mul(c, product, converted(c, c.arg(2), DType::float32)), dtype);
}
/// A product of narrow floats, each operand with its scales, in float32.
auto scaled_product(Composer& c, const Datum& scale_a, const Datum& scale_b, const Datum& bias,
                    DType dtype) -> Datum {
  const auto wide = [&](const Datum& tensor) { return converted(c, tensor, DType::float32); };
  auto result = call2(c, "aten.mm.default", wide(c.arg(0)), wide(c.arg(1)));
  result = mul(c, mul(c, result, scale_a), scale_b);
  if (!bias.is_none()) result = add(c, result, wide(bias));
  if (c.error()) return {};
  constexpr double kMost =
      448;  // without infinities: what is beyond the largest becomes the largest
  if (dtype == DType::float8_e4m3fn)
    result = c.call("aten.clamp.default", {result, number(-kMost), number(kMost)});
  return converted(c, result, dtype);
}
/// self, mat2, scale_a, scale_b, bias, scale_result, out_dtype.
auto scaled_mm(Composer& c) -> Datum {
  if (c.has(5)) return c.unsupported("a scale of the result"), Datum{};
  for (const int scale : {2, 3})
    if (c.meta(scale).rank() > 2 || c.meta(scale).dtype != DType::float32)
      return c.unsupported("scales of blocks"), Datum{};
  return scaled_product(c, c.arg(2), c.arg(3), c.arg(4), c.dtype(6).value_or(c.meta(0).dtype));
}
/// self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias, out_dtype: one
/// scale for all elements (recipe 0) or one for each row (1).
auto scaled_mm_v2(Composer& c) -> Datum {
  const auto scale = [&](int arg) -> Datum {
    const auto scales = members(c, arg);
    const auto recipe = c.integers(arg + 1);
    if (scales.size() == 1 && recipe.size() == 1 && (recipe[0] == 0 || recipe[0] == 1))
      return scales[0];
    return c.unsupported("scales of blocks"), Datum{};
  };
  const auto a = scale(2), b = scale(5);
  if (c.error()) return {};
  return scaled_product(c, a, b, c.arg(8), c.dtype(9).value_or(c.meta(0).dtype));
}

// ---- groups and tokens --------------------------------------------------------------------------

/// x / scale + zero, rounded, within the limits; scale and zero are seen at x's sizes.
auto quantized(Composer& c, const Datum& x, const Datum& scale, const Datum& zero, DType dtype)
    -> Datum {
  const auto inverse = call1(c, "aten.reciprocal.default", scale);
  const auto level = call1(c, "aten.round.default", add(c, mul(c, x, inverse), zero));
  return converted(c,
                   c.call("aten.clamp.default",
                          {level, c.arg(param(c, "quant_min")), c.arg(param(c, "quant_max"))}),
                   dtype);
}
auto quantize_per_token(Composer& c) -> Datum {
  return quantized(c, c.arg(0), c.arg(1), c.arg(2), *c.dtype(5));
}
auto dequantize_per_token(Composer& c) -> Datum {
  return converted(c, mul(c, sub(c, c.arg(0), c.arg(2)), c.arg(1)), *c.dtype(6));
}
/// [rows, columns] as [groups, group_size], with one scale for each.
auto grouped(Composer& c, const Datum& tensor, const Expr& size) -> Datum {
  return reshaped(c, tensor, {-1, size});
}
auto quantize_per_group(Composer& c) -> Datum {
  const auto size = c.expr(param(c, "group_size"));
  const auto column = [&](int arg) { return reshaped(c, c.arg(arg), {-1, 1}); };
  const auto level = quantized(c, grouped(c, c.arg(0), size), column(1), column(2), *c.dtype(5));
  return c.error() ? Datum{} : reshaped(c, level, c.meta(0).sizes);
}
auto dequantize_per_group(Composer& c) -> Datum {
  const auto size = c.expr(param(c, "group_size"));
  const auto column = [&](int arg) { return reshaped(c, c.arg(arg), {-1, 1}); };
  auto level = grouped(c, c.arg(0), size);
  if (c.has(2)) level = sub(c, level, column(2));
  const auto value = converted(c, mul(c, level, column(1)), *c.dtype(param(c, "output_dtype")));
  return c.error() ? Datum{} : reshaped(c, value, c.meta(0).sizes);
}
/// Limits that are tensors of one number.
template <bool kBack>
auto by_limits(Composer& c) -> Datum {
  auto args = all_args(c);
  for (const int limit : {3, 4}) {
    args[static_cast<std::size_t>(limit)] = call1(c, "aten.item.default", c.arg(limit));
    if (c.error()) return {};
  }
  return c.call(kBack ? "quantized_decomposed.dequantize_per_tensor.tensor"
                      : "quantized_decomposed.quantize_per_tensor.tensor",
                std::move(args));
}
// ---- how scales are chosen ----------------------------------------------------------------------

/// input, quant_min, quant_max, eps, dtype: scale and zero point of the whole tensor, one each.
template <bool kSymmetric>
auto choose_scale(Composer& c) -> Datum {
  const auto limits = call1(c, "aten.aminmax.default", c.arg(0));
  if (c.error()) return {};
  const auto zero = call1(c, "aten.zeros_like.default", c.item(limits, 0));
  const auto low = call2(c, "aten.minimum.default", c.item(limits, 0), zero);
  auto high = call2(c, "aten.maximum.default", c.item(limits, 1), zero);
  const auto least =
      c.call("aten.full.default",
             {int_list(Ints{1}), c.arg(3), Datum{DType::float32}, {}, Datum{c.meta(0).device}});
  const double range = static_cast<double>(c.integer(2) - c.integer(1));
  const auto at_least = [&](const Datum& scale) {
    return call2(c, "aten.maximum.default", scale, least);
  };
  if (kSymmetric) {
    high = call2(c, "aten.maximum.default", call1(c, "aten.neg.default", low), high);
    const auto middle = c.dtype(4) == DType::uint8 ? 128 : 0;
    return {DatumList{converted(c, at_least(div(c, high, number(range / 2))), DType::float64),
                      c.call("aten.full.default", {int_list(Ints{1}),
                                                   integer(middle),
                                                   Datum{DType::int64},
                                                   {},
                                                   Datum{c.meta(0).device}})}};
  }
  const auto scale = at_least(div(c, sub(c, high, low), number(range)));
  const auto steps = converted(c, call1(c, "aten.round.default", div(c, low, scale)), DType::int32);
  const auto point = c.call("aten.clamp.default",
                            {c.call("aten.rsub.Scalar", {steps, c.arg(1)}), c.arg(1), c.arg(2)});
  return {DatumList{converted(c, scale, DType::float64), converted(c, point, DType::int64)}};
}
auto along_last(Composer& c, std::string_view overload, const Datum& x) -> Datum {
  return c.call(overload, {x, int_list(Ints{-1}), truth(true)});
}
/// input, dtype: a scale for each row, zero points of 0.
auto choose_row_scales(Composer& c) -> Datum {
  if (c.dtype(1) != DType::int8) return c.fail("int8 is chosen for"), Datum{};
  auto scale = along_last(c, "aten.amax.default", call1(c, "aten.abs.default", c.arg(0)));
  if (c.meta(0).dtype == DType::float16) scale = converted(c, scale, DType::float32);
  scale = div(c, call2(c, "aten.clamp_min.default", scale, number(1e-5)), integer(127));
  return {DatumList{scale, call1(c, "aten.zeros_like.default", scale)}};
}
/// input, dtype: scale and zero point of each row, of integers from -128 to 127.
auto choose_row_ranges(Composer& c) -> Datum {
  const auto lowest = along_last(c, "aten.amin.default", c.arg(0));
  const auto highest = along_last(c, "aten.amax.default", c.arg(0));
  const auto zero = call1(c, "aten.zeros_like.default", lowest);
  const auto low = call2(c, "aten.minimum.default", lowest, zero);
  const auto high = call2(c, "aten.maximum.default", highest, zero);
  const auto scale =
      call2(c, "aten.clamp_min.default", div(c, sub(c, high, low), number(255)), number(0x1p-23));
  const auto from_low = div(c, low, scale);
  const auto from_high = div(c, high, scale);
  const auto errors = add(c, add(c, from_low, number(-128)), add(c, from_high, number(127)));
  const auto point =
      c.call("aten.where.self", {call2(c, "aten.gt.Scalar", errors, integer(0)),
                                 c.call("aten.rsub.Scalar", {from_low, integer(-128)}),
                                 c.call("aten.rsub.Scalar", {from_high, integer(127)})});
  const auto bounded = c.call("aten.clamp.default", {point, integer(-128), integer(127)});
  return {DatumList{converted(c, scale, DType::float64),
                    converted(c, call1(c, "aten.round.default", bounded), DType::int64)}};
}
auto convert(Composer& c) -> Datum {
  return c.call("prims.convert_element_type.default", {c.arg(0), c.arg(1)});
}

}  // namespace

// clang-format off
void add_quantized_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  composed("aten::_int_mm(Tensor self, Tensor mat2) -> Tensor", int_product);
  composed("aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor", int8_weight_product);
  composed("aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor", scaled_mm);
  composed("aten::_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor", scaled_mm_v2);
  composed("quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype) -> Tensor", quantize_per_token);
  composed("quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor", dequantize_per_token);
  composed("quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor", quantize_per_group);
  composed("quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor", dequantize_per_group);
  composed("quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor", by_limits<false>);
  composed("quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", by_limits<true>);
  composed("quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)", choose_scale<false>);
  composed("quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)", choose_scale<true>);
  composed("quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_row_scales);
  composed("quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_row_ranges);
  composed("quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", choose_row_ranges);
  composed("quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor", convert);
}
// clang-format on

}  // namespace assay
