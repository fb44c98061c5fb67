// Activations, their gradients and the like as arithmetic of other operators
// (aten/src/ATen/native/cpu/Activation.cpp).
#include <array>

#include "compiler/lower/expansions.h"

namespace assay::expansions {
namespace {

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
  return finished(c, mul(c, x, tanh_of_softplus(c, x)), 0);
}
/// Argument behind the input: alpha.
auto celu(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  const auto below = mul(c, c.call("aten.expm1.default", {divided(c, x, c.arg(1))}), c.arg(1));
  return finished(c, chosen(c, compare(c, "gt", x, whole(0)), x, below), 0);
}
/// Argument behind the input of shrinks: lambda.
auto hardshrink(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  return finished(c, chosen(c, is_within(c, x, c.arg(1)), real(0), x), 0);
}
auto softshrink(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  const double lambda = c.real(1);
  return finished(c, sub(c, x, clamped(c, x, real(-lambda), real(lambda))), 0);
}
/// Arguments behind the input: threshold, value. Integers have them without their fractions.
auto threshold(Composer& c) -> Datum {
  const auto dtype = c.meta(0).dtype;
  if (dtype == DType::boolean) return c.unsupported("an activation of truth values"), Datum{};
  const auto number = [&](int i) {
    return is_floating(dtype) ? real(c.real(i)) : whole(static_cast<std::int64_t>(c.real(i)));
  };
  const auto x = widened(c, c.arg(0));
  return finished(c, chosen(c, compare(c, "le", x, number(1)), number(2), x), 0);
}
/// Argument behind the input: how far from 0 and 1 the input stays, if it has to.
auto logit(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  auto x = widened(c, c.arg(0));
  if (const double least = c.has(1) ? c.real(1) : -1; least >= 0) {
    const auto above = chosen(c, compare(c, "gt", x, real(1 - least)), real(1 - least), x);
    x = chosen(c, compare(c, "lt", x, real(least)), real(least), above);
  }
  const auto odds = divided(c, x, complement(c, x));
  return finished(c, c.call("aten.log.default", {odds}), 0);
}
/// With what its gradient needs again, which is computed anew on CUDA.
auto log_sigmoid_forward(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto [value, power] = log_sigmoid(c, widened(c, c.arg(0)));
  const auto buffer = c.meta(0).device.type == "cuda"
                          ? c.call("aten.new_zeros.default", {c.arg(0), int_list(Ints{0})})
                          : finished(c, power, 0);
  return {DatumList{finished(c, value, 0), buffer}};
}
auto prelu(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto x = widened(c, c.arg(0));
  const auto below = mul(c, x, widened(c, c.arg(1)));
  return finished(c, chosen(c, compare(c, "gt", x, whole(0)), x, below), 0);
}
/// Argument behind the input: the dimension whose second half is the gate.
auto glu(Composer& c) -> Datum {
  if (!is_float(c)) return {};
  const auto [value, gate] = halves(c, widened(c, c.arg(0)), c.integer(1));
  return finished(c, mul(c, value, c.call("aten.sigmoid.default", {gate})), 0);
}
auto masked_fill(Composer& c) -> Datum {
  const auto self = c.arg(0);
  const auto dtype = c.meta(0).dtype;
  const auto filler = c.arg(2).is_tensor() ? to(c, c.arg(2), dtype)
                                           : c.call("aten.scalar_tensor.default",
                                                    {c.arg(2), {dtype}, {}, {c.meta(0).device}});
  return chosen(c, c.arg(1), filler, self);
}

constexpr std::array kRows = {
    ExpansionRow{"aten.hardsigmoid.default", hardsigmoid},
    ExpansionRow{"aten.hardswish.default", hardswish},
    ExpansionRow{"aten.hardtanh.default", hardtanh},
    ExpansionRow{"aten.elu.default", elu},
    ExpansionRow{"aten.softplus.default", softplus},
    ExpansionRow{"aten.mish.default", mish},
    ExpansionRow{"aten.celu.default", celu},
    ExpansionRow{"aten.hardshrink.default", hardshrink},
    ExpansionRow{"aten.softshrink.default", softshrink},
    ExpansionRow{"aten.threshold.default", threshold},
    ExpansionRow{"aten.logit.default", logit},
    ExpansionRow{"aten.log_sigmoid_forward.default", log_sigmoid_forward},
    ExpansionRow{"aten._prelu_kernel.default", prelu},
    ExpansionRow{"aten.glu.default", glu},
    ExpansionRow{"aten.masked_fill.Scalar", masked_fill},
    ExpansionRow{"aten.masked_fill.Tensor", masked_fill},
};

}  // namespace

auto log_sigmoid(Composer& c, const Datum& x) -> LogSigmoid {
  const auto size = c.call("aten.abs.default", {x});
  const auto power = c.call("aten.exp.default", {negated(c, size)});
  const auto below = c.call("aten.clamp_max.default", {x, whole(0)});
  return {sub(c, below, c.call("aten.log1p.default", {power})), power};
}
auto halves(Composer& c, const Datum& x, std::int64_t dim) -> std::pair<Datum, Datum> {
  const auto sizes = c.meta(x).sizes;
  if (sizes.empty()) return c.unsupported("halves of one number"), std::pair<Datum, Datum>{};
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const auto size = sizes[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)];
  const Datum middle{floor_div(size, 2)};
  const auto part = [&](const Datum& from, const Datum& to) {
    return c.call("aten.slice.Tensor", {x, whole(dim), from, to});
  };
  return {part(whole(0), middle), part(middle, {size})};
}

auto activation_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
