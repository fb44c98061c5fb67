// Nodes of expressions as operations of kernels.
#pragma once
#include <optional>

#include "compiler/program/op_table.h"
#include "core/expr/expr.h"

namespace assay {

/// The operation on integers that a node is, folded over all its operands; nothing where it is
/// none.
[[nodiscard]] auto number_op(ExprOp op) -> std::optional<TileOp>;
/// The operation that a comparison of integers, or a conjunction or disjunction, is.
[[nodiscard]] auto truth_op(ExprOp op) -> std::optional<TileOp>;

}  // namespace assay
