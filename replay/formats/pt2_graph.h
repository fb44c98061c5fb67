// The graph of an exported program, from its JSON.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "replay/formats/json.h"
#include "replay/formats/pt2_types.h"

namespace assay {

/// Reads `graph_module.graph`. Placeholders that carry a constant have no name of their own there:
/// `constant_names` gives one per input, empty where there is none. The environment of the graph
/// and of its children is a copy of what `symbols` holds in the end. Errors: bad_input,
/// unsupported; naming node and argument.
[[nodiscard]] auto read_pt2_graph(JsonValue graph, Pt2Symbols& symbols,
                                  const std::vector<std::string>& constant_names) -> Result<Graph>;

/// Gives a graph and all graphs below it a copy of one environment.
void set_env(Graph& graph, const ShapeEnv& env);

}  // namespace assay
