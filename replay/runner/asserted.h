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

}  // namespace assay
