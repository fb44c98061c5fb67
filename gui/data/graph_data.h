// What a trace says about a graph, read once and shared by all its pictures.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "gui/data/adjacency.h"
#include "gui/data/cursor.h"
#include "replay/trace/pages.h"

namespace assay {

struct GraphNode {
  TraceId id = 0;
  std::string name;
  std::string_view target, module, dtype, sizes;  ///< in GraphData::texts, or literals
  NodeMark mark = NodeMark::not_run;
  std::int64_t bytes = 0;
  [[nodiscard]] auto is_dynamic() const -> bool;
};

struct GraphData {
  GraphData() = default;
  GraphData(GraphData&&) = default;
  auto operator=(GraphData&&) -> GraphData& = default;
  GraphData(const GraphData&) = delete;  // nodes point into texts
  auto operator=(const GraphData&) -> GraphData& = delete;
  ~GraphData() = default;

  TraceId graph = 0;
  std::vector<GraphNode> nodes;                    ///< in execution order
  std::vector<std::pair<int, int>> edges;          ///< producer and reader, each pair once
  std::unordered_set<std::string> texts;           ///< the few that many nodes share
  std::vector<std::pair<TraceId, int>> positions;  ///< by id

  /// Position of a node, -1 if this graph has none of that id.
  [[nodiscard]] auto find(TraceId id) const -> int;
};

/// Errors: of the reader, also if it is interrupted, which it notices at once.
[[nodiscard]] auto read_graph(const TraceReader& reader, TraceId graph) -> Result<GraphData>;

/// What comes behind a module path up to the next dot: `a.b` is the child of `a` on the way to
/// `a.b.c`. Empty if the module does not lie below.
[[nodiscard]] auto child_module(std::string_view module, std::string_view below)
    -> std::string_view;
/// Containers that have to be open for a node to be seen.
[[nodiscard]] auto modules_above(const GraphData& data, int node) -> std::vector<std::string>;
/// Nodes within `radius` edges, at most `most`.
[[nodiscard]] auto neighbourhood(const GraphData& data, int node, int radius,
                                 std::size_t most = 400, StopFlag stop = nullptr)
    -> std::vector<int>;
/// Nodes on ways from one to the other, whichever comes first; shortest ways first, at most `most`.
[[nodiscard]] auto path_between(const GraphData& data, int a, int b, std::size_t most = 100,
                                StopFlag stop = nullptr) -> std::vector<int>;

}  // namespace assay
