// What a call draws at random.
#pragma once
#include "core/graph/graph.h"
#include "core/ops/call.h"
#include "core/ops/randomness.h"

namespace assay {

/// Of the operator, or of what a body that it runs has. `has_seed`: generators whose seed is known.
[[nodiscard]] auto drawn(const Graph& graph, const Node& node, const Domain& domain, bool has_seed)
    -> Randomness;

}  // namespace assay
