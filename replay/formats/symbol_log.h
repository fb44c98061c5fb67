// What TORCH_LOGS=dynamic says about symbols.
#pragma once
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "replay/formats/log_text.h"

namespace assay {

/// Takes hints, ranges and sources from lines `create_symbol s77 = 8 for L['x'].size()[0] [2,
/// int_oo]` and guards from lines `eval Eq(Mod(s77, 4), 0) [guard added]` for symbols that the
/// graph has. Lines of another compilation than `of` (`[0/0]` in its prefix) say nothing.
/// True if the log tells how every symbol came to be: then it tells every guard too, since both are
/// lines of the same logger.
[[nodiscard]] auto read_symbol_log(const std::vector<LogRecord>& records, const LogRecord& of,
                                   Graph& graph) -> bool;

}  // namespace assay
