#include "compiler/lower/expand.h"

#include <array>
#include <numbers>

#include "compiler/lower/expansions.h"

namespace assay {
namespace {
using namespace expansions;

/// Mean first, then the squared distances from it: two passes, as exact as Welford's.
auto spread(Composer& c, const Datum& x, const Datum& dims, const Datum& correction, bool keepdim)
    -> std::pair<Datum, Datum> {
  const auto wide = widened(c, x);
  const auto kept_mean = c.call("aten.mean.dim", {wide, dims, truth(true)});
  const auto distance = sub(c, wide, kept_mean);
  const auto sum =
      c.call("aten.sum.dim_IntList", {mul(c, distance, distance), dims, truth(keepdim)});
  Expr count(1);
  const auto before = c.meta(x), after = c.meta(kept_mean);
  for (std::size_t i = 0; i < before.sizes.size(); ++i)
    if (before.sizes[i] != after.sizes[i]) count = count * before.sizes[i];
  const auto less = correction.scalar() ? correction.scalar()->as_number().value_or(1) : 1.0;
  // Less than no degrees of freedom count as none.
  const auto freedom = less == 0 ? count : max(count - static_cast<std::int64_t>(less), Expr(0));
  const auto variance = divided(c, sum, {freedom});
  auto mean = kept_mean;
  if (!keepdim) mean = c.call("aten.mean.dim", {wide, dims, truth(false)});
  const auto dtype = before.dtype;
  return {to(c, variance, dtype), to(c, mean, dtype)};
}
auto all_dims(Composer& c, const Datum& given) -> Datum {
  const auto* list = given.list();
  if (list != nullptr && !list->empty()) return given;
  Ints dims;
  for (int i = 0; i < c.meta(0).rank(); ++i) dims.push_back(i);
  return int_list(dims);
}
auto is_whole_correction(const Datum& correction) -> bool {
  if (correction.is_none()) return true;
  const auto value = correction.scalar() ? correction.scalar()->as_number() : std::nullopt;
  return value && *value == std::floor(*value);
}
auto var_mean(Composer& c) -> Datum {
  if (c.meta(0).rank() == 0 || !is_whole_correction(c.arg(2)))
    return c.unsupported("a variance of this kind"), Datum{};
  auto [variance, mean] = spread(c, c.arg(0), all_dims(c, c.arg(1)), c.arg(2), c.flag(3));
  return {DatumList{std::move(variance), std::move(mean)}};
}
auto var(Composer& c) -> Datum {
  if (c.meta(0).rank() == 0 || !is_whole_correction(c.arg(2)))
    return c.unsupported("a variance of this kind"), Datum{};
  return spread(c, c.arg(0), all_dims(c, c.arg(1)), c.arg(2), c.flag(3)).first;
}

auto dims_of(Composer& c, int arg) -> Datum {
  const Ints dims{c.integer(arg)};
  return int_list(dims);
}
template <bool kLog>
auto softmax(Composer& c) -> Datum {
  if (c.meta(0).rank() == 0) return c.unsupported("a softmax of one number"), Datum{};
  const auto x = widened(c, c.arg(0));
  const auto dims = dims_of(c, 1);
  const auto shifted = sub(c, x, c.call("aten.amax.default", {x, dims, truth(true)}));
  const auto powers = c.call("aten.exp.default", {shifted});
  const auto sum = c.call("aten.sum.dim_IntList", {powers, dims, truth(true)});
  const auto result =
      kLog ? sub(c, shifted, c.call("aten.log.default", {sum})) : divided(c, powers, sum);
  return c.flag(2) ? result : to(c, result, c.meta(0).dtype);
}
/// Arguments: gradient, output, dim, dtype of the input.
template <bool kLog>
auto softmax_backward(Composer& c) -> Datum {
  if (c.meta(0).rank() == 0) return c.unsupported("a softmax of one number"), Datum{};
  const auto grad = widened(c, c.arg(0));
  const auto output = widened(c, c.arg(1));
  const auto dims = dims_of(c, 2);
  const auto product = mul(c, grad, output);
  const auto sum = c.call("aten.sum.dim_IntList", {kLog ? grad : product, dims, truth(true)});
  const auto result = kLog ? sub(c, grad, mul(c, c.call("aten.exp.default", {output}), sum))
                           : sub(c, product, mul(c, output, sum));
  return to(c, result, c.dtype(3).value_or(c.meta(0).dtype));
}

auto gelu_backward(Composer& c) -> Datum {
  const auto grad = widened(c, c.arg(0));
  const auto x = widened(c, c.arg(1));
  const auto dtype = c.meta(0).dtype;
  if (c.text(2) == "tanh") {
    constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const auto square = mul(c, x, x);
    const auto inner =
        mul(c, mul(c, x, add(c, mul(c, square, real(0.044715)), real(1))), real(kBeta));
    const auto t = c.call("aten.tanh.default", {inner});
    const auto left = mul(c, add(c, t, real(1)), real(0.5));
    const auto slope = complement(c, mul(c, t, t));
    const auto inner_slope =
        mul(c, add(c, mul(c, square, real(3 * 0.044715)), real(1)), real(kBeta));
    const auto right = mul(c, mul(c, mul(c, x, real(0.5)), slope), inner_slope);
    return to(c, mul(c, grad, add(c, left, right)), dtype);
  }
  constexpr double kDensity = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const auto scaled = c.call("aten.erf.default", {mul(c, x, real(1 / std::numbers::sqrt2))});
  const auto cdf = mul(c, add(c, scaled, real(1)), real(0.5));
  const auto power = c.call("aten.exp.default", {mul(c, mul(c, x, x), real(-0.5))});
  const auto density = mul(c, power, real(kDensity));
  return to(c, mul(c, grad, add(c, cdf, mul(c, x, density))), dtype);
}
auto silu_backward(Composer& c) -> Datum {
  const auto grad = widened(c, c.arg(0));
  const auto x = widened(c, c.arg(1));
  const auto s = c.call("aten.sigmoid.default", {x});
  const auto rest = complement(c, s);
  const auto slope = mul(c, s, add(c, mul(c, x, rest), real(1)));
  return to(c, mul(c, grad, slope), c.meta(0).dtype);
}

/// Arguments: input, normalised shape, weight, bias, epsilon.
auto layer_norm(Composer& c) -> Datum {
  const auto rank = c.meta(0).rank();
  Ints dims;
  for (auto i = rank - static_cast<int>(c.exprs(1).size()); i < rank; ++i) dims.push_back(i);
  const auto x = widened(c, c.arg(0));
  const auto over = int_list(dims);
  const auto mean = c.call("aten.mean.dim", {x, over, truth(true)});
  const auto distance = sub(c, x, mean);
  const auto variance = c.call("aten.mean.dim", {mul(c, distance, distance), over, truth(true)});
  const auto scale = c.call("aten.rsqrt.default", {add(c, variance, c.arg(4))});
  auto result = mul(c, distance, scale);
  if (c.has(2)) result = mul(c, result, widened(c, c.arg(2)));
  if (c.has(3)) result = add(c, result, widened(c, c.arg(3)));
  return {DatumList{to(c, result, c.meta(0).dtype), mean, scale}};
}

/// Arguments: gradient, input, normalised shape, mean, 1/deviation, weight, bias, which gradients
/// are wanted. What is reduced for the weights is reduced over the other dimensions.
auto layer_norm_backward(Composer& c) -> Datum {
  const auto rank = c.meta(1).rank();
  const auto first = rank - static_cast<int>(c.exprs(2).size());
  Ints inner, outer;
  for (int i = 0; i < rank; ++i) (i < first ? outer : inner).push_back(i);
  if (c.meta(3).rank() != rank || c.meta(4).rank() != rank || outer.empty())
    return c.unsupported("statistics of other dimensions"), Datum{};
  const auto grad = widened(c, c.arg(0));
  const auto over = int_list(inner);
  const auto scale = widened(c, c.arg(4));
  const auto hat = mul(c, sub(c, widened(c, c.arg(1)), widened(c, c.arg(3))), scale);
  const auto wants = c.flags(7);
  DatumList results(3);
  if (wants[0]) {
    const auto g = c.has(5) ? mul(c, grad, widened(c, c.arg(5))) : grad;
    const auto mean = c.call("aten.mean.dim", {g, over, truth(true)});
    const auto mean_hat = c.call("aten.mean.dim", {mul(c, g, hat), over, truth(true)});
    const auto rest = sub(c, sub(c, g, mean), mul(c, hat, mean_hat));
    results[0] = to(c, mul(c, scale, rest), c.meta(1).dtype);
  }
  const auto summed = [&](const Datum& x, int like) {
    const auto sum = c.call("aten.sum.dim_IntList", {x, int_list(outer), truth(false)});
    return to(c, sum, c.meta(like).dtype);
  };
  if (wants[1] && c.has(5)) results[1] = summed(mul(c, grad, hat), 5);
  if (wants[2] && c.has(6)) results[2] = summed(grad, 6);
  return {std::move(results)};
}

template <bool kMax>
auto extreme_pair(Composer& c) -> Datum {
  if (c.meta(0).rank() == 0) return c.unsupported("an extreme of one number"), Datum{};
  const auto values =
      c.call(kMax ? "aten.amax.default" : "aten.amin.default", {c.arg(0), dims_of(c, 1), c.arg(2)});
  const auto indices =
      c.call(kMax ? "aten.argmax.default" : "aten.argmin.default", {c.arg(0), c.arg(1), c.arg(2)});
  return {DatumList{values, indices}};
}

constexpr std::array kRows = {
    ExpansionRow{"aten.var_mean.correction", var_mean},
    ExpansionRow{"aten.var.correction", var},
    ExpansionRow{"aten._softmax.default", softmax<false>},
    ExpansionRow{"aten._log_softmax.default", softmax<true>},
    ExpansionRow{"aten._softmax_backward_data.default", softmax_backward<false>},
    ExpansionRow{"aten._log_softmax_backward_data.default", softmax_backward<true>},
    ExpansionRow{"aten.gelu_backward.default", gelu_backward},
    ExpansionRow{"aten.silu_backward.default", silu_backward},
    ExpansionRow{"aten.native_layer_norm.default", layer_norm},
    ExpansionRow{"aten.native_layer_norm_backward.default", layer_norm_backward},
    ExpansionRow{"aten._scaled_dot_product_flash_attention_for_cpu.default", attention},
    ExpansionRow{"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
                 attention_backward},
    ExpansionRow{"prims._low_memory_max_pool_with_offsets.default", max_pool_with_offsets},
    ExpansionRow{"aten.max_pool2d_with_indices.default", max_pool_with_indices},
    ExpansionRow{"aten.avg_pool2d.default", avg_pool},
    ExpansionRow{"aten.convolution.default", depthwise_convolution},
    ExpansionRow{"aten.max.dim", extreme_pair<true>},
    ExpansionRow{"aten.min.dim", extreme_pair<false>},
};

}  // namespace

auto find_expansion(std::string_view overload) -> Decomposition {
  for (const auto family : {std::span<const ExpansionRow>(kRows), activation_rows(),
                            activation_gradient_rows(), loss_rows(), resampling_rows()})
    for (const auto& row : family)
      if (row.overload == overload) return row.expand;
  return nullptr;
}

}  // namespace assay
