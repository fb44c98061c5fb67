// Higher-order operators: calls whose arguments include a body, a sub-graph of the capture.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "core/graph/graph.h"
#include "core/ops/call.h"

namespace assay {

/// Runs a higher-order operator in any domain: wrappers (invoke_subgraph, wrap_with_*,
/// checkpoints), cond, while_loop, scan, associative_scan, map, flex_attention and with_effects.
/// Where only data decide (cond, while_loop) a domain without data runs every body once and reports
/// branches of different layout as unsupported. Nothing if the target is not one of them.
/// Semantics: the dense implementations in torch/_higher_order_ops.
[[nodiscard]] auto run_higher_order(const Graph& graph, const Node& node, Domain& domain,
                                    const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<Result<Datum>>;

/// Is it an operator that run_higher_order knows?
[[nodiscard]] auto is_higher_order(std::string_view target) -> bool;

/// The bodies a node refers to, in order of its arguments.
[[nodiscard]] auto bodies_of(const Graph& graph, const Node& node) -> std::vector<const Graph*>;

}  // namespace assay
