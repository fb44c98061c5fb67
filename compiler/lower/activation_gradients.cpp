// Gradients of activations as arithmetic of other operators
// (aten/src/ATen/native/cpu/Activation.cpp, BinaryOpsKernel.cpp).
#include <array>
#include <limits>
#include <numbers>

#include "compiler/lower/expansions.h"

namespace assay::expansions {
namespace {

auto gelu_backward(Composer& c) -> Datum {
  const auto grad = widened(c, c.arg(0));
  const auto x = widened(c, c.arg(1));
  if (c.text(2) == "tanh") {  // x s(u), as its formula is
    constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi * 2;
    const auto square = mul(c, x, x);
    const auto cubic = add(c, mul(c, square, real(0.044715)), real(1));
    const auto s = c.call("aten.sigmoid.default", {mul(c, mul(c, x, cubic), real(kBeta))});
    const auto inner_slope =
        mul(c, add(c, mul(c, square, real(3 * 0.044715)), real(1)), real(kBeta));
    // In this order nothing is infinite that s or its complement makes 0.
    const auto rise = mul(c, mul(c, mul(c, x, s), complement(c, s)), inner_slope);
    return finished(c, mul(c, grad, add(c, s, rise)), 0);
  }
  constexpr double kDensity = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const auto scaled = c.call("aten.erf.default", {mul(c, x, real(1 / std::numbers::sqrt2))});
  const auto cdf = mul(c, add(c, scaled, real(1)), real(0.5));
  const auto power = c.call("aten.exp.default", {mul(c, mul(c, x, x), real(-0.5))});
  const auto density = mul(c, power, real(kDensity));
  return finished(c, mul(c, grad, add(c, cdf, mul(c, x, density))), 0);
}
auto silu_backward(Composer& c) -> Datum {
  const auto grad = widened(c, c.arg(0));
  const auto x = widened(c, c.arg(1));
  const auto s = c.call("aten.sigmoid.default", {x});
  const auto slope = mul(c, s, add(c, mul(c, x, complement(c, s)), real(1)));
  return finished(c, mul(c, grad, slope), 0);
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
  return finished(c, chosen(c, is_flat, real(0), grad), 0);
}
auto hardsigmoid_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto rises = c.call("aten.logical_and.default",
                            {compare(c, "gt", x, whole(-3)), compare(c, "lt", x, whole(3))});
  return finished(c, chosen(c, rises, divided(c, grad, whole(6)), real(0)), 0);
}
auto hardswish_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto inner = mul(c, grad, add(c, divided(c, x, whole(3)), real(0.5)));
  const auto above = chosen(c, compare(c, "lt", x, whole(3)), inner, grad);
  return finished(c, chosen(c, compare(c, "le", x, whole(-3)), real(0), above), 0);
}
/// Arguments: gradient, input, lambda; of both shrinks.
auto shrink_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  return finished(c, chosen(c, is_within(c, x, c.arg(2)), real(0), grad), 0);
}
/// Arguments: gradient, alpha, scale, input_scale, whether the last is the output, input.
auto elu_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(5));
  const double alpha = c.real(1), scale = c.real(2), input_scale = c.real(3);
  const auto slope = c.flag(4) ? mul(c, add(c, x, real(alpha * scale)), real(input_scale))
                               : mul(c, c.call("aten.exp.default", {mul(c, x, real(input_scale))}),
                                     real(input_scale * alpha * scale));
  const auto above = mul(c, grad, real(scale));
  return finished(c, chosen(c, compare(c, "gt", x, whole(0)), above, mul(c, grad, slope)), 0);
}
/// Arguments: gradient, input, beta, threshold.
auto softplus_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0));
  const auto scaled = mul(c, widened(c, c.arg(1)), c.arg(2));
  const auto power = c.call("aten.exp.default", {scaled});
  const auto soft = divided(c, mul(c, grad, power), add(c, power, whole(1)));
  return finished(c, chosen(c, compare(c, "gt", scaled, c.arg(3)), grad, soft), 0);
}
auto mish_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto t = tanh_of_softplus(c, x);
  const auto rest = complement(c, mul(c, t, t));
  const auto inner = mul(c, mul(c, x, c.call("aten.sigmoid.default", {x})), rest);
  return finished(c, mul(c, grad, add(c, t, inner)), 0);
}
/// Arguments: gradient, input, how far from 0 and 1 the input stays. Without that, what is no
/// probability has no gradient.
auto logit_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto variance = mul(c, x, complement(c, x));
  const auto slope = divided(c, grad, c.call("aten.abs.default", {variance}));
  const double least = c.has(2) ? c.real(2) : 0;
  const double outside = c.has(2) ? 0 : std::numeric_limits<double>::quiet_NaN();
  const auto above = chosen(c, compare(c, "gt", x, real(1 - least)), real(outside), slope);
  return finished(c, chosen(c, compare(c, "lt", x, real(least)), real(outside), above), 0);
}
/// Arguments: gradient, input, exp(-|input|), which nobody kept on CUDA.
auto log_sigmoid_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const bool kept = c.meta(0).device.type != "cuda";
  const auto power = kept ? widened(c, c.arg(2)) : log_sigmoid(c, x).power;
  const auto above = divided(c, power, add(c, power, whole(1)));
  const auto below = complement(c, above);
  return finished(c, mul(c, grad, chosen(c, compare(c, "lt", x, whole(0)), below, above)), 0);
}
/// Arguments: gradient, input, weight. Gradients of both, before the weight's is summed.
auto prelu_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0)), x = widened(c, c.arg(1));
  const auto rises = compare(c, "gt", x, whole(0));
  const auto of_input = chosen(c, rises, grad, mul(c, grad, widened(c, c.arg(2))));
  const auto of_weight = c.call("aten.expand.default", {chosen(c, rises, real(0), mul(c, grad, x)),
                                                        int_list(c.meta(of_input).sizes)});
  return {DatumList{finished(c, of_input, 1), finished(c, of_weight, 2)}};
}
/// Arguments: gradient, input, dimension.
auto glu_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0));
  const auto [value, gate] = halves(c, widened(c, c.arg(1)), c.integer(2));
  const auto s = c.call("aten.sigmoid.default", {gate});
  const auto of_value = mul(c, grad, s);
  const auto rest = complement(c, s);
  const auto of_gate = mul(c, mul(c, of_value, value), rest);
  return finished(c, c.call("aten.cat.default", {{DatumList{of_value, of_gate}}, c.arg(2)}), 1);
}
/// Arguments: gradient, mask, scale.
auto dropout_backward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto grad = widened(c, c.arg(0));
  return finished(c, mul(c, mul(c, grad, widened(c, c.arg(1))), c.arg(2)), 0);
}

constexpr std::array kRows = {
    ExpansionRow{"aten.gelu_backward.default", gelu_backward},
    ExpansionRow{"aten.silu_backward.default", silu_backward},
    ExpansionRow{"aten.leaky_relu_backward.default", leaky_relu_backward},
    ExpansionRow{"aten.hardtanh_backward.default", hardtanh_backward},
    ExpansionRow{"aten.hardsigmoid_backward.default", hardsigmoid_backward},
    ExpansionRow{"aten.hardswish_backward.default", hardswish_backward},
    ExpansionRow{"aten.hardshrink_backward.default", shrink_backward},
    ExpansionRow{"aten.softshrink_backward.default", shrink_backward},
    ExpansionRow{"aten.elu_backward.default", elu_backward},
    ExpansionRow{"aten.softplus_backward.default", softplus_backward},
    ExpansionRow{"aten.mish_backward.default", mish_backward},
    ExpansionRow{"aten.logit_backward.default", logit_backward},
    ExpansionRow{"aten.log_sigmoid_backward.default", log_sigmoid_backward},
    ExpansionRow{"aten._prelu_kernel_backward.default", prelu_backward},
    ExpansionRow{"aten.glu_backward.default", glu_backward},
    ExpansionRow{"aten.native_dropout_backward.default", dropout_backward},
};

}  // namespace

auto activation_gradient_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
