// Calls as Python code makes them on tensors: operators, functions of torch, methods, subscripts.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "core/graph/graph.h"
#include "core/ops/domain.h"

namespace assay {

/// Runs `x + 2`, `torch.conv2d(...)`, `torch.nn.functional.gelu(x)`, `x.view(2, 3)` and `x[0, :]`
/// as calls of operator rows, chosen among the overloads of that name by the kinds of the
/// arguments. Nothing if the node is no such call (an operator on numbers alone, an overload of
/// aten). Errors: unsupported where no row fits, else the row's own.
[[nodiscard]] auto run_python_call(const Node& node, Domain& domain,
                                   const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<Result<Datum>>;

/// The value that a call in place writes: `x.add_(1)`, `x += 1`, `x[0] = 1`, `relu(x,
/// inplace=True)`. Nothing for other nodes.
[[nodiscard]] auto written_operand(const Node& node) -> std::optional<NodeId>;

/// Is this the target of such a call, whatever its arguments?
[[nodiscard]] auto is_python_call(NodeKind kind, std::string_view target) -> bool;

}  // namespace assay
