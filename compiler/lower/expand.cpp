#include "compiler/lower/expand.h"

#include <array>

#include "compiler/lower/expansions.h"

namespace assay {
namespace {
using namespace expansions;

constexpr std::array kRows = {
    ExpansionRow{"aten._scaled_dot_product_flash_attention_for_cpu.default", attention},
    ExpansionRow{"aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
                 attention_backward},
    ExpansionRow{"prims._low_memory_max_pool_with_offsets.default", max_pool_with_offsets},
    ExpansionRow{"aten.max_pool2d_with_indices.default", max_pool_with_indices},
    ExpansionRow{"aten.avg_pool2d.default", avg_pool},
    ExpansionRow{"aten.convolution.default", depthwise_convolution},
    ExpansionRow{"aten.convolution_backward.default", convolution_backward},
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
