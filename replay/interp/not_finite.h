// Where NaN and infinity come from.
#pragma once
#include <optional>

#include "replay/interp/run.h"

namespace assay {

struct NotFinite {
  std::size_t at = 0;  ///< position in Graph::nodes
  bool is_nan = false;
};

/// The first node whose result has a NaN, or an infinity that nobody asked for: no operand has one
/// and no argument is one (masks are full of -inf). Needs RunOptions::statistics.
[[nodiscard]] auto first_not_finite(const Graph& graph, const GraphRun& run)
    -> std::optional<NotFinite>;

}  // namespace assay
