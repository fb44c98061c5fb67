// What a graph itself makes sure of while it runs, as facts for proofs.
#pragma once
#include "core/graph/graph.h"
#include "core/ops/op_table.h"

namespace assay {

/// The graph with guards for what holds wherever its nodes run to their end:
/// - asserted conditions (`_assert_scalar`, `sym_constrain_range`), unless a call in between has
///   already used the data-dependent symbols that they are about;
/// - a data-dependent symbol that comes up as a size of a result is what the rule gives there;
/// - sizes are not negative.
/// `where` of such a guard names the node.
[[nodiscard]] auto with_asserted(Graph graph, const OpTable& table) -> Graph;

/// What the calls of the graph cannot do without (an index of as many items as its source): true
/// wherever the graph runs to its end, whether a guard says so or not. `where` names the node.
[[nodiscard]] auto required_conditions(const Graph& graph, const OpTable& table)
    -> std::vector<Guard>;

}  // namespace assay
