// What expansions are written with, and those that have files of their own.
#pragma once
#include <span>

#include "core/ops/op_table.h"

namespace assay::expansions {

inline auto real(double value) -> Datum {
  return {Expr::real(value)};
}
inline auto whole(std::int64_t value) -> Datum {
  return {Expr(value)};
}
inline auto truth(bool value) -> Datum {
  return {Expr::boolean(value)};
}
inline auto mul(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return c.call("aten.mul.Tensor", {a, b});
}
inline auto sub(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return c.call("aten.sub.Tensor", {a, b});
}
inline auto add(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return c.call("aten.add.Tensor", {a, b});
}
inline auto to(Composer& c, const Datum& a, DType dtype) -> Datum {
  if (c.meta(a).dtype == dtype) return a;
  return c.call("prims.convert_element_type.default", {a, {dtype}});
}
inline auto widened(Composer& c, const Datum& a) -> Datum {
  const auto dtype = c.meta(a).dtype;
  return is_floating(dtype) && size_bytes(dtype) < 4 ? to(c, a, DType::float32) : a;
}

/// Scores, softmax and mean of values as two batched products with kernels between. Arguments:
/// query, key, value of [batch, heads, positions, features], dropout_p, is_causal, attn_mask,
/// scale.
[[nodiscard]] auto attention(Composer& c) -> Datum;
/// Arguments: grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale.
[[nodiscard]] auto attention_backward(Composer& c) -> Datum;

/// Arguments: input of [.., height, width], kernel, stride, padding, dilation, ceil_mode. Values,
/// and the number of the tap in its window, or the index in the input's plane.
[[nodiscard]] auto max_pool_with_offsets(Composer& c) -> Datum;
[[nodiscard]] auto max_pool_with_indices(Composer& c) -> Datum;
[[nodiscard]] auto avg_pool(Composer& c) -> Datum;
/// A convolution of each channel by itself, on CUDA; others stay library calls.
[[nodiscard]] auto depthwise_convolution(Composer& c) -> Datum;

/// An operator as calls of others.
struct ExpansionRow {
  std::string_view overload;
  Decomposition expand;
};
/// Activations and their kin: elementwise, in float32 where the operands are narrower.
[[nodiscard]] auto activation_rows() -> std::span<const ExpansionRow>;
/// Other sizes, padding by what is there, adaptive pools and windows as columns.
[[nodiscard]] auto resampling_rows() -> std::span<const ExpansionRow>;

}  // namespace assay::expansions
