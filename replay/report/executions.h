// What compiled programs computed, and what the checks of their executor found.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/finding/finding.h"
#include "replay/report/finding_text.h"
#include "replay/runner/execute.h"

namespace assay {

/// Outputs with layouts and checksums, findings, comparison with the answers.
[[nodiscard]] auto executions_text(const LogExecution& execution, const Paint& paint)
    -> std::string;
/// Versioned JSON ("schema": "assay.run_trace/1").
[[nodiscard]] auto executions_json(const LogExecution& execution, const std::string& file)
    -> std::string;
/// Something was found, or differs from the answers.
[[nodiscard]] auto has_findings(const LogExecution& execution) -> bool;
/// A program did not run to its end.
[[nodiscard]] auto is_incomplete(const LogExecution& execution) -> bool;

/// Writes a trace: every program with its launches, findings at them, and the first values that
/// they left; of a log compilations and stages too. `bytes` are those of the log or wrapper.
[[nodiscard]] auto record_executions(const std::string& path, const std::string& source,
                                     std::string_view bytes, const LogExecution& execution,
                                     int exit_code) -> Result<void>;

}  // namespace assay
