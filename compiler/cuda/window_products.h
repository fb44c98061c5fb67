// Convolutions whose windows are single elements are products of matrices.
#pragma once
#include <optional>

#include "compiler/runtime/cuda/blas.h"
#include "compiler/runtime/cuda/dnn.h"

namespace assay {

/// The same numbers as one product, places by channels: x wᵀ, y w or yᵀ x. Images whose places do
/// not follow each other at one distance are a batch of products. Nothing where windows have more
/// than one element, skip places or reach outside (of results too), where channels are in groups,
/// where a result for the weight would be a sum over a batch, or where operands are rounded and
/// rows begin anywhere, which tensor cores read slowly.
[[nodiscard]] auto window_product(const cuda::GpuConvolution& what, bool may_round)
    -> std::optional<cuda::GpuProduct>;

}  // namespace assay
