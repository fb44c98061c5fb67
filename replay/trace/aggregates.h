// What views show as sums, counted once when a trace is finalised.
#pragma once
#include "replay/trace/sqlite_handle.h"

namespace assay {

/// Fills modules, op_counts, node_text, and the counts of graphs.
[[nodiscard]] auto write_aggregates(sqlite3* database) -> Result<void>;

}  // namespace assay
