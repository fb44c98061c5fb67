// What a trace says about a graph, read once and shared by all its pictures.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "gui/data/adjacency.h"
#include "gui/data/cursor.h"
#include "replay/trace/pages.h"

namespace assay {

/// The few texts that many nodes share, each once, by number; 0 is the empty one.
class SharedTexts {
 public:
  SharedTexts() = default;
  SharedTexts(SharedTexts&&) = default;
  auto operator=(SharedTexts&&) -> SharedTexts& = default;
  SharedTexts(const SharedTexts&) = delete;  // numbers_ points into texts_
  auto operator=(const SharedTexts&) -> SharedTexts& = delete;
  ~SharedTexts() = default;

  auto number(std::string_view text) -> std::uint32_t;
  /// Valid as long as this is.
  [[nodiscard]] auto text(std::uint32_t number) const -> std::string_view { return texts_[number]; }

 private:
  std::deque<std::string> texts_ = {""};
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::uint32_t last_ = 0;  ///< neighbours mostly say the same
};

/// 40 bytes: there may be millions.
struct GraphNode {
  TraceId id = 0;
  std::int64_t bytes = 0;
  std::uint32_t name_end = 0;                                  ///< in GraphData::names
  std::uint32_t target = 0, module = 0, dtype = 0, sizes = 0;  ///< in GraphData::texts
  NodeMark mark = NodeMark::not_run;
};

struct GraphData {
  TraceId graph = 0;
  std::int64_t total = 0;                  ///< nodes of the graph: more than `nodes` of a part
  std::vector<GraphNode> nodes;            ///< in execution order
  std::vector<std::pair<int, int>> edges;  ///< producer and reader, each pair once
  SharedTexts texts;
  std::string names;                               ///< of all nodes, one behind the other
  std::vector<std::pair<TraceId, int>> positions;  ///< by id; empty: ids count up by one

  /// A node at the end, without target, sizes and edges.
  auto add_node(TraceId id, std::string_view name, std::string_view module = {}) -> GraphNode&;
  [[nodiscard]] auto name(int node) const -> std::string_view;
  [[nodiscard]] auto module(int node) const -> std::string_view;
  [[nodiscard]] auto dtype(int node) const -> std::string_view;
  [[nodiscard]] auto target(int node) const -> std::string_view;
  [[nodiscard]] auto sizes(int node) const -> std::string_view;
  [[nodiscard]] auto is_dynamic(int node) const -> bool;  ///< a size is no number

  [[nodiscard]] auto is_part() const -> bool { return total > std::ssize(nodes); }
  /// Position of a node, -1 if this graph has none of that id.
  [[nodiscard]] auto find(TraceId id) const -> int;
};

/// Errors: of the reader, also if it is interrupted, which it notices at once.
[[nodiscard]] auto read_graph(const TraceReader& reader, TraceId graph) -> Result<GraphData>;
/// Of a graph that is too large to be read whole: a node and what lies within `radius` edges of it,
/// at most `most`, with the edges among them. No way leads through what a graph returns.
[[nodiscard]] auto read_around(const TraceReader& reader, const Cursor& at, int radius,
                               std::size_t most = 400) -> Result<GraphData>;

/// What comes behind a module path up to the next dot: `a.b` is the child of `a` on the way to
/// `a.b.c`. Empty if the module does not lie below.
[[nodiscard]] auto child_module(std::string_view module, std::string_view below)
    -> std::string_view;
/// Containers that have to be open for a node to be seen.
[[nodiscard]] auto modules_above(const GraphData& data, int node) -> std::vector<std::string>;
/// Nodes within `radius` edges, at most `most`; no way leads through what a graph returns.
[[nodiscard]] auto neighbourhood(const GraphData& data, int node, int radius,
                                 std::size_t most = 400, StopFlag stop = nullptr)
    -> std::vector<int>;
/// Nodes on ways from one to the other, whichever comes first; shortest ways first, at most `most`.
[[nodiscard]] auto path_between(const GraphData& data, int a, int b, std::size_t most = 100,
                                StopFlag stop = nullptr) -> std::vector<int>;

}  // namespace assay
