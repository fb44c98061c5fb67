// Everything a trace says about one node.
#pragma once
#include <string>
#include <vector>

#include "gui/data/cursor.h"

namespace assay {

struct LeafFacts {
  std::string leaf, dtype, sizes, strides, offset, device, value;
  std::int64_t storage = -1, storage_bytes = -1;
};
struct NodeRef {
  TraceId id = 0;
  std::string name, target;
};
/// First elements of a tensor.
struct ValueFacts {
  std::string of;  ///< "graph", "made-up", or the kernel or operator that wrote it
  std::string leaf, layout, elements;
  bool is_program = false;
};
struct NodeFacts {
  TraceId id = 0, graph = 0;
  std::int64_t seq = 0, line = 0, capture_id = 0;
  std::string name, kind, target, call, file, function, code, module, status, reason;
  std::vector<LeafFacts> claimed, real;  ///< by leaf
  std::vector<NodeRef> inputs, users;    ///< at most 200 each
  std::vector<std::string> findings;     ///< "kind: message"
  std::vector<ValueFacts> values;        ///< of the graph, then of programs made of it
};

/// Errors: of SQLite; bad_input if there is no such node.
[[nodiscard]] auto read_node_facts(const TraceReader& reader, TraceId node) -> Result<NodeFacts>;

}  // namespace assay
