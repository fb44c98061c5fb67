// Arguments of nodes in PyTorch's export schema: one table row per union member.
#pragma once
#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "replay/formats/json.h"

namespace assay {

/// What an argument needs from the graph it stands in.
struct Pt2Scope {
  /// The node that produces a named value. Errors: bad_input (unknown name).
  std::function<Result<NodeId>(std::string_view name)> value;
  /// The get_attr node of a sub-graph that is written in place.
  std::function<Result<NodeId>(std::string_view name, JsonValue graph)> sub_graph;
};

/// Reads one member of the `Argument` union. Errors: unsupported naming a member we do not know,
/// bad_input.
[[nodiscard]] auto read_pt2_argument(JsonValue json, const Pt2Scope& scope) -> Result<Arg>;

/// Name under which a value is known: `{"as_tensor": {"name": x}}`, `{"as_sym_int": {"as_name":
/// x}}`; nothing for constants and None.
[[nodiscard]] auto pt2_value_name(JsonValue argument) -> std::optional<std::string_view>;

}  // namespace assay
