// What a TORCH_TRACE log says about compilations, as rows of a trace.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "replay/report/trace_rows.h"

namespace assay {

struct RecordedLog {
  std::map<int, TraceId> compilations;  ///< by line of the log: whose event stands there
  /// By compilation: nodes of its stages by name, those of earlier stages first.
  std::map<TraceId, std::map<std::string, TraceId>> nodes;
};

/// Attempts with outcome and reason, the graphs of their stages, and what was not read.
/// Errors: of read_torch_trace.
[[nodiscard]] auto record_compilations(TraceWriter& writer, TraceId run, std::string_view log)
    -> Result<RecordedLog>;

/// Links lines of an Inductor wrapper to nodes by the names in its comments: a comment holds for
/// the statements up to the next blank line or comment of that kind.
[[nodiscard]] auto record_line_links(TraceWriter& writer, TraceId graph, std::string_view wrapper,
                                     const std::map<std::string, TraceId>& nodes) -> Result<void>;

/// Names of nodes in a comment of Inductor's, e.g. "Topologically Sorted Source Nodes: [a, b]".
[[nodiscard]] auto source_nodes(std::string_view line) -> std::vector<std::string>;

}  // namespace assay
