// Findings for people and for machines.
#pragma once
#include <string>

#include "replay/formats/capture.h"
#include "replay/interp/debug.h"

namespace assay::cli {

struct ReportOptions {
  bool notes = false;      ///< list notes too, not only count them
  std::size_t limit = 10;  ///< findings shown in full
};

/// Exit code of a report: findings; undecided where nodes stayed unchecked and could hide a lie,
/// unless that is allowed; else nothing found.
[[nodiscard]] auto exit_of(const DebugReport& report, bool allow_unchecked) -> int;

/// Verdict first, then each root with a claimed/real table, then counts.
[[nodiscard]] auto print_report(const Capture& capture, const DebugReport& report,
                                const ReportOptions& options) -> std::string;

/// Versioned JSON ("schema": "assay.debug/1"): verdict, findings, counts, binding, warnings.
[[nodiscard]] auto report_json(const Capture& capture, const DebugReport& report) -> std::string;

}  // namespace assay::cli
