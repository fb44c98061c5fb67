// The forms str(graph) and print_tabular print: `%add : [num_users=1] =
// call_function[target=...](args = (%x, 1),
// ...)`.
#pragma once
#include <string_view>

#include "core/base/result.h"
#include "core/graph/annotation.h"
#include "core/graph/graph.h"
#include "core/graph/module_reader.h"

namespace assay {

/// A row of the table that graph.print_tabular() and TORCH_LOGS=graph print, or its header.
[[nodiscard]] auto is_table_line(std::string_view line) -> bool;

/// Reads the graph whose `graph(`, or table, stands at `offset` on line `line`. PyTorch calls this
/// form not machine-readable, and it is not: strings have no quotes, so the word None in it is
/// always None. Shortened lists (`...[total_len=N]`) are errors. The environment is not set. For
/// `cut` see FunctionReader.
[[nodiscard]] auto read_str_graph(std::string_view text, std::size_t offset, int line,
                                  ClaimReader& claims, CutOff* cut = nullptr) -> Result<Graph>;

}  // namespace assay
