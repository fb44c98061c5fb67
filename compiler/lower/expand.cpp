#include "compiler/lower/expand.h"

#include <array>
#include <numbers>

#include "compiler/lower/expansions.h"

namespace assay {
namespace {
using namespace expansions;

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

constexpr std::array kRows = {
    ExpansionRow{"aten.gelu_backward.default", gelu_backward},
    ExpansionRow{"aten.silu_backward.default", silu_backward},
    ExpansionRow{"aten._scaled_dot_product_flash_attention_for_cpu.default", attention},
    ExpansionRow{"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
                 attention_backward},
    ExpansionRow{"prims._low_memory_max_pool_with_offsets.default", max_pool_with_offsets},
    ExpansionRow{"aten.max_pool2d_with_indices.default", max_pool_with_indices},
    ExpansionRow{"aten.avg_pool2d.default", avg_pool},
    ExpansionRow{"aten.convolution.default", depthwise_convolution},
};

}  // namespace

auto find_expansion(std::string_view overload) -> Decomposition {
  for (const auto family :
       {std::span<const ExpansionRow>(kRows), activation_rows(), activation_gradient_rows(),
        loss_rows(), normalisation_rows(), statistic_rows(), resampling_rows(),
        vector_product_rows(), index_rows()})
    for (const auto& row : family)
      if (row.overload == overload) return row.expand;
  return nullptr;
}

}  // namespace assay
