// Rows of a graph's nodes by position, without counting or skipping: what a table of millions
// shows.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/trace/filter.h"
#include "replay/trace/trace.h"

namespace assay {

/// How a node fared, worst first.
enum class NodeMark : std::uint8_t { root, inherited, note, unchecked, failed, ok, not_run };
[[nodiscard]] auto name(NodeMark mark) -> std::string_view;
/// From nodes.status and a finding's kind and blame, empty for none. Of several findings the worst
/// mark counts.
[[nodiscard]] auto mark_of(std::string_view status, std::string_view finding,
                           std::string_view blame) -> NodeMark;

/// A node as tables and graphs show it: its first claimed and its first observed leaf.
struct NodeLine {
  TraceId id = 0;
  std::int64_t seq = 0;
  std::string name, kind, target, module, file;
  std::int64_t line = 0;  ///< 0 if not recorded
  NodeMark mark = NodeMark::not_run;
  std::string finding;  ///< kind, empty if there is none
  std::string dtype, sizes, strides, offset, value;
  std::string real_dtype, real_sizes, real_strides, real_offset, real_value;
  std::optional<std::int64_t> storage_bytes;
};

/// Nodes of a graph: stored at the end of a run, else read off the last row.
[[nodiscard]] auto count_nodes(const TraceReader& reader, TraceId graph) -> Result<std::int64_t>;
/// Rows [first, first + count) in execution order.
[[nodiscard]] auto read_nodes(const TraceReader& reader, TraceId graph, std::int64_t first,
                              std::int64_t count) -> Result<std::vector<NodeLine>>;
/// These nodes, in this order; ids that do not exist are left out.
[[nodiscard]] auto read_nodes(const TraceReader& reader, std::span<const TraceId> ids)
    -> Result<std::vector<NodeLine>>;

enum class NodeOrder : std::uint8_t { seq, name, target, module, storage_bytes };

/// Hits of a filter, some at a time, so that the first are there at once.
class NodeHits {
 public:
  NodeHits(TraceId graph, Filter filter) : graph_(graph), filter_(std::move(filter)) {}
  /// The next hits, at most `limit`; fewer mean that these were the last.
  [[nodiscard]] auto next(const TraceReader& reader, std::int64_t limit)
      -> Result<std::vector<TraceId>>;

 private:
  TraceId graph_;
  Filter filter_;
  std::int64_t after_ = -1;
};

/// All hits in an order that no index gives.
[[nodiscard]] auto sorted_nodes(const TraceReader& reader, TraceId graph, const Filter& filter,
                                NodeOrder order, bool descending) -> Result<std::vector<TraceId>>;

/// Text of a cell, empty for null.
[[nodiscard]] auto to_text(const TraceValue& value) -> std::string;
[[nodiscard]] auto to_number(const TraceValue& value) -> std::int64_t;  ///< 0 for what is none

}  // namespace assay
