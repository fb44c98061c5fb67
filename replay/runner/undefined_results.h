// Results that PyTorch leaves open on some inputs, which numbers that are made up often are.
#pragma once
#include <functional>

#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace assay {

/// The value of a node; null: it is no tensor.
using TensorOf = std::function<const Tensor*(NodeId)>;

/// Is it open what the operator gives on these operands? Of several elements that are written to
/// one place any may stay (index_put without accumulate, index_copy, put, scatter), and what a
/// pool's gradient makes of indices that no pool gives is nobody's business.
[[nodiscard]] auto is_undefined(const Node& node, const TensorOf& tensor) -> bool;

}  // namespace assay
