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
inline auto divided(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return c.call("aten.div.Tensor", {a, b});
}
inline auto negated(Composer& c, const Datum& a) -> Datum {
  return c.call("aten.neg.default", {a});
}
/// 1 - a.
inline auto complement(Composer& c, const Datum& a) -> Datum {
  return c.call("aten.rsub.Scalar", {a, whole(1)});
}
inline auto clamped(Composer& c, const Datum& x, const Datum& low, const Datum& high) -> Datum {
  return c.call("aten.clamp.default", {x, low, high});
}
/// Comparison with a number: "le", "gt", ...
inline auto compare(Composer& c, std::string_view op, const Datum& x, const Datum& bound) -> Datum {
  return c.call("aten." + std::string(op) + ".Scalar", {x, bound});
}
/// Either of them may be a number, not both.
inline auto chosen(Composer& c, const Datum& condition, const Datum& a, const Datum& b) -> Datum {
  const auto* const overload = !a.is_tensor()   ? "aten.where.ScalarSelf"
                               : !b.is_tensor() ? "aten.where.ScalarOther"
                                                : "aten.where.self";
  return c.call(overload, {condition, a, b});
}
inline auto reshaped(Composer& c, const Datum& a, const Dims& sizes) -> Datum {
  return c.call("aten.reshape.default", {a, int_list(sizes)});
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
/// scale. Those of halves on CUDA stay library calls, unless the mask has another dtype.
[[nodiscard]] auto attention(Composer& c) -> Datum;
/// Arguments: grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale.
/// Of heads that share keys the library call is for keys that are there for each.
[[nodiscard]] auto attention_backward(Composer& c) -> Datum;

/// Arguments: input of [.., height, width], kernel, stride, padding, dilation, ceil_mode. Values,
/// and the number of the tap in its window, or the index in the input's plane.
[[nodiscard]] auto max_pool_with_offsets(Composer& c) -> Datum;
[[nodiscard]] auto max_pool_with_indices(Composer& c) -> Datum;
[[nodiscard]] auto avg_pool(Composer& c) -> Datum;
/// A convolution of each channel by itself, on CUDA; others stay library calls.
[[nodiscard]] auto depthwise_convolution(Composer& c) -> Datum;
/// The gradients of such; of other convolutions of halves there, the bias' gradient as a sum.
[[nodiscard]] auto convolution_backward(Composer& c) -> Datum;

/// The arguments' float dtype for arithmetic, and back to that of argument `like`.
inline auto finished(Composer& c, const Datum& result, int like) -> Datum {
  return to(c, result, c.meta(like).dtype);
}
/// Of integers nothing here is computed.
inline auto is_float(Composer& c) -> bool {
  return is_floating(c.meta(0).dtype) || (c.unsupported("an activation of integers"), false);
}
inline auto log_of_exp(Composer& c, const Datum& x) -> Datum {
  return c.call("aten.log1p.default", {c.call("aten.exp.default", {x})});
}
/// Is a number no larger than a bound, whatever its sign?
inline auto is_within(Composer& c, const Datum& x, const Datum& bound) -> Datum {
  return compare(c, "le", c.call("aten.abs.default", {x}), bound);
}

/// log(1 / (1 + exp(-x))) and the exp(-|x|) in it, which never overflows.
struct LogSigmoid {
  Datum value, power;
};
[[nodiscard]] auto log_sigmoid(Composer& c, const Datum& x) -> LogSigmoid;

/// tanh(log(1 + exp(x))), which is n/(n + 2) of n = e(e + 2) and e = exp(x): 1 long before that
/// overflows.
inline auto tanh_of_softplus(Composer& c, const Datum& x) -> Datum {
  const auto e = c.call("aten.exp.default", {c.call("aten.clamp_max.default", {x, whole(20)})});
  const auto n = mul(c, e, add(c, e, whole(2)));
  return divided(c, n, add(c, n, whole(2)));
}

/// The two halves of a tensor along a dimension.
[[nodiscard]] auto halves(Composer& c, const Datum& x, std::int64_t dim) -> std::pair<Datum, Datum>;

/// An operator as calls of others. Floats that it computes wider than its rule says are rounded to
/// the rule's dtype afterwards.
struct ExpansionRow {
  std::string_view overload;
  Decomposition expand;
};
/// Activations and their kin: elementwise, in float32 where the operands are narrower.
[[nodiscard]] auto activation_rows() -> std::span<const ExpansionRow>;
/// Other sizes, padding by what is there, adaptive pools and windows as columns.
[[nodiscard]] auto resampling_rows() -> std::span<const ExpansionRow>;
[[nodiscard]] auto activation_gradient_rows() -> std::span<const ExpansionRow>;
/// Losses of predictions and targets, and their gradients.
[[nodiscard]] auto loss_rows() -> std::span<const ExpansionRow>;
/// Layer, group, batch, RMS and weight normalisation, and their gradients.
[[nodiscard]] auto normalisation_rows() -> std::span<const ExpansionRow>;
/// Variances, norms, softmax and what else is arithmetic around reductions.
[[nodiscard]] auto statistic_rows() -> std::span<const ExpansionRow>;
/// Products with vectors, as multiplications and sums.
[[nodiscard]] auto vector_product_rows() -> std::span<const ExpansionRow>;
/// Operators that write or read at indices, as those that loops can do.
[[nodiscard]] auto index_rows() -> std::span<const ExpansionRow>;

}  // namespace assay::expansions
