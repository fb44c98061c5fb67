// The form str(graph) prints: `%add : [num_users=1] = call_function[target=...](args = (%x, 1),
// ...)`.
#pragma once
#include <string_view>

#include "core/base/result.h"
#include "core/graph/annotation.h"
#include "core/graph/graph.h"

namespace assay {

/// Reads the graph whose `graph(` stands at `offset` on line `line`. PyTorch calls this form not
/// machine-readable, and it is not: strings have no quotes, so the word None in it is always None.
/// Shortened lists (`...[total_len=N]`) are errors. The environment is not set.
[[nodiscard]] auto read_str_graph(std::string_view text, std::size_t offset, int line,
                                  ClaimReader& claims) -> Result<Graph>;

}  // namespace assay
