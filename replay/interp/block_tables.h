// Tables of a block mask that nobody recorded.
#pragma once
#include "core/expr/eval.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace assay {

/// Fills an input that is a table of flex_attention's block mask, contiguous as those are: every
/// block of keys (of queries, for gradients) is listed for each block of queries, as one whose
/// scores are masked one by one. So kernels, which skip what is not listed, give what the mask
/// says. False: it is no such table.
auto fill_block_table(const Graph& graph, const Binding& sizes, NodeId input, Tensor& tensor)
    -> bool;

}  // namespace assay
