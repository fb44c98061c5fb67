// Sizes for symbols of which no value was recorded.
#pragma once
#include <string>
#include <vector>

#include "core/expr/eval.h"
#include "replay/formats/capture.h"

namespace assay {

struct SizeChoice {
  Binding values;            ///< what was given, hints, and what was chosen
  std::vector<Expr> chosen;  ///< symbols that were given no value by anybody, in order of inputs
};

/// Values for all symbols that the inputs' claims mention. Hints are kept, also what recorded
/// inputs say, and `given` comes before both. The rest are small numbers, different from each
/// other, such that ranges and guards hold, claimed sizes are at least 1, exact divisions are
/// exact, views keep the number of elements, and operands that are added, multiplied or put
/// together fit. Where that cannot be found, conditions are given up in the reverse order.
/// Deterministic.
[[nodiscard]] auto choose_sizes(const Capture& capture, const Binding& given = {}) -> SizeChoice;

/// "no size was recorded for s77, s53; chosen: s53 = 4, s77 = 3"; empty if nothing was chosen.
[[nodiscard]] auto describe(const SizeChoice& choice) -> std::string;

}  // namespace assay
