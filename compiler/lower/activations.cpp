// Activations, their gradients and the like as arithmetic of other operators
// (aten/src/ATen/native/cpu/Activation.cpp, aten/src/ATen/native/Normalization.cpp).
#include <array>

#include "compiler/lower/expansions.h"

namespace assay::expansions {
namespace {

auto divided(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return c.call("aten.div.Tensor", {a, b});
}
auto clamped(Composer& c, const Datum& x, const Datum& low, const Datum& high) -> Datum {
  return c.call("aten.clamp.default", {x, low, high});
}
auto chosen(Composer& c, const Datum& condition, const Datum& a, const Datum& b) -> Datum {
  return c.call("aten.where.self", {condition, a, b});
}
auto zero_like(Composer& c, const Datum& x) -> Datum {
  return c.call("aten.zeros_like.default", {x});
}
auto compare(Composer& c, std::string_view op, const Datum& x, const Datum& bound) -> Datum {
  return c.call(std::string("aten.") + std::string(op) + ".Scalar", {x, bound});
}
auto log_of_exp(Composer& c, const Datum& x) -> Datum {
  return c.call("aten.log1p.default", {c.call("aten.exp.default", {x})});
}
/// The arguments' float dtype for arithmetic, and back to that of argument `like`.
auto finished(Composer& c, const Datum& result, int like) -> Datum {
  return to(c, result, c.meta(like).dtype);
}
/// Of integers nothing here is computed.
auto is_float(Composer& c) -> bool {
  return is_floating(c.meta(0).dtype) || (c.unsupported("an activation of integers"), false);
}

auto hardsigmoid(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  return finished(c, divided(c, clamped(c, add(c, x, whole(3)), whole(0), whole(6)), whole(6)), 0);
}
auto hardswish(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  const auto gate = clamped(c, add(c, x, whole(3)), whole(0), whole(6));
  return finished(c, divided(c, mul(c, x, gate), whole(6)), 0);
}
auto hardtanh(Composer& c) -> Datum {
  return clamped(c, c.arg(0), c.arg(1), c.arg(2));
}
/// Arguments behind the input: alpha, scale, input_scale.
auto elu(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  const auto below =
      mul(c, mul(c, c.call("aten.expm1.default", {mul(c, x, c.arg(3))}), c.arg(1)), c.arg(2));
  const auto above = mul(c, x, c.arg(2));
  return finished(c, chosen(c, compare(c, "le", x, whole(0)), below, above), 0);
}
/// Arguments behind the input: beta, threshold.
auto softplus(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  const auto scaled = mul(c, x, c.arg(1));
  const auto soft = divided(c, log_of_exp(c, scaled), c.arg(1));
  return finished(c, chosen(c, compare(c, "gt", scaled, c.arg(2)), x, soft), 0);
}
auto mish(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  return finished(c, mul(c, x, c.call("aten.tanh.default", {log_of_exp(c, x)})), 0);
}
auto leaky_relu_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto below = mul(c, grad, c.arg(2));
  return finished(c, chosen(c, compare(c, "gt", x, whole(0)), grad, below), 0);
}
auto hardtanh_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto is_flat = c.call("aten.logical_or.default",
                              {compare(c, "le", x, c.arg(2)), compare(c, "ge", x, c.arg(3))});
  return finished(c, chosen(c, is_flat, zero_like(c, grad), grad), 0);
}
auto hardsigmoid_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto rises = c.call("aten.logical_and.default",
                            {compare(c, "gt", x, whole(-3)), compare(c, "lt", x, whole(3))});
  return finished(c, chosen(c, rises, divided(c, grad, whole(6)), zero_like(c, grad)), 0);
}
auto hardswish_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto inner = mul(c, grad, add(c, divided(c, x, whole(3)), real(0.5)));
  const auto above = chosen(c, compare(c, "lt", x, whole(3)), inner, grad);
  return finished(c, chosen(c, compare(c, "le", x, whole(-3)), zero_like(c, grad), above), 0);
}
auto masked_fill(Composer& c) -> Datum {
  const auto self = c.arg(0);
  const auto dtype = c.meta(0).dtype;
  const auto filler = c.arg(2).is_tensor() ? to(c, c.arg(2), dtype)
                                           : c.call("aten.scalar_tensor.default",
                                                    {c.arg(2), {dtype}, {}, {c.meta(0).device}});
  return chosen(c, c.arg(1), filler, self);
}

/// In evaluation: input, weight, bias, running mean and variance, training, momentum, epsilon.
auto batch_norm_in_evaluation(Composer& c) -> Datum {
  if (c.flag(5) || !c.has(3) || !c.has(4) || c.meta(0).rank() < 2)
    return c.unsupported("statistics of this batch"), Datum{};
  Dims shape(c.meta(0).sizes.size(), Expr(1));
  shape[1] = c.meta(0).sizes[1];
  const auto per_channel = [&](const Datum& x) {
    return c.call("aten.view.default", {widened(c, x), int_list(shape)});
  };
  const auto deviation = c.call("aten.rsqrt.default", {add(c, per_channel(c.arg(4)), c.arg(7))});
  const auto scale = c.has(1) ? mul(c, deviation, per_channel(c.arg(1))) : deviation;
  auto result = mul(c, sub(c, widened(c, c.arg(0)), per_channel(c.arg(3))), scale);
  if (c.has(2)) result = add(c, result, per_channel(c.arg(2)));
  const auto none = c.call("aten.new_zeros.default", {c.arg(3), int_list(Ints{0})});
  return {DatumList{finished(c, result, 0), none, none}};
}

constexpr std::array kRows = {
    ExpansionRow{"aten.hardsigmoid.default", hardsigmoid},
    ExpansionRow{"aten.hardswish.default", hardswish},
    ExpansionRow{"aten.hardtanh.default", hardtanh},
    ExpansionRow{"aten.elu.default", elu},
    ExpansionRow{"aten.softplus.default", softplus},
    ExpansionRow{"aten.mish.default", mish},
    ExpansionRow{"aten.leaky_relu_backward.default", leaky_relu_backward},
    ExpansionRow{"aten.hardtanh_backward.default", hardtanh_backward},
    ExpansionRow{"aten.hardsigmoid_backward.default", hardsigmoid_backward},
    ExpansionRow{"aten.hardswish_backward.default", hardswish_backward},
    ExpansionRow{"aten.masked_fill.Scalar", masked_fill},
    ExpansionRow{"aten.masked_fill.Tensor", masked_fill},
    ExpansionRow{"aten.native_batch_norm.default", batch_norm_in_evaluation},
};

}  // namespace

auto activation_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
