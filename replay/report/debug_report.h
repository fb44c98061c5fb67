// The report of the DebugInterpreter, for people and for machines.
#pragma once
#include <string>

#include "replay/formats/capture.h"
#include "replay/interp/debug.h"
#include "replay/report/finding_text.h"

namespace assay {

struct DebugText {
  bool notes = false;      ///< list notes too, not only count them
  std::size_t limit = 10;  ///< findings shown in full
  Paint paint;
};

/// Undecided where nothing was found but nodes stayed unchecked and could hide a lie.
[[nodiscard]] auto state_of(const DebugReport& report) -> ReportState;

/// Verdict first, then each root with a claimed/real table, then counts.
[[nodiscard]] auto debug_text(const Capture& capture, const DebugReport& report,
                              const DebugText& options) -> std::string;

/// Versioned JSON ("schema": "assay.debug/1"): verdict, findings, counts, binding, warnings.
[[nodiscard]] auto debug_json(const Capture& capture, const DebugReport& report) -> std::string;

}  // namespace assay
