// What was proved about a capture, for people and for machines.
#pragma once
#include <string>
#include <vector>

#include "core/finding/finding.h"
#include "replay/report/finding_text.h"
#include "replay/runner/prove.h"

namespace assay {

/// Everything refuted, as findings; then notes. Missing guards only where guards could be there.
[[nodiscard]] auto findings_of(const Capture& capture, const ProveReport& report)
    -> std::vector<Finding>;
/// Conditions that no tier decided, one line each.
[[nodiscard]] auto undecided_of(const Capture& capture, const ProveReport& report)
    -> std::vector<std::string>;
/// Calls of which no rule says what they give, one line for equal ones.
[[nodiscard]] auto unjudged_of(const Capture& capture, const ProveReport& report)
    -> std::vector<std::string>;
/// Clean only if every call was judged.
[[nodiscard]] auto state_of(const Capture& capture, const ProveReport& report) -> ReportState;

struct ProveText {
  bool all = false;    ///< every row, not only the first ten
  bool notes = false;  ///< notes too
  Paint paint;
};
[[nodiscard]] auto prove_text(const Capture& capture, const ProveReport& report,
                              const ProveText& options) -> std::string;
/// Versioned JSON ("schema": "assay.prove/1").
[[nodiscard]] auto prove_json(const Capture& capture, const ProveReport& report) -> std::string;

}  // namespace assay
