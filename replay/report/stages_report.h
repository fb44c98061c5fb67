// Stages of compilations side by side, for people and for machines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "replay/report/exchange.h"
#include "replay/report/finding_text.h"
#include "replay/runner/stages.h"

namespace assay {

/// Findings where a stage differs on recorded inputs; undecided where one did not run, or differs
/// on inputs that were made up.
[[nodiscard]] auto state_of(const StageReport& report) -> ReportState;

/// Verdict, a table of stages for each compilation, then what differs. Of the points of a sweep
/// those where something differs, and the first.
[[nodiscard]] auto stages_text(const StageReport& report, const Paint& paint) -> std::string;
/// Versioned JSON ("schema": "assay.stages/1").
[[nodiscard]] auto stages_json(const StageReport& report, const std::string& file) -> std::string;

/// Findings that are decided.
[[nodiscard]] auto findings_of(const StageReport& report) -> std::vector<Finding>;
/// A stage is a case.
[[nodiscard]] auto test_cases(const StageReport& report) -> std::vector<TestCase>;

/// Writes a trace with compilations, stages and findings.
[[nodiscard]] auto record_stages(const std::string& path, const std::string& source,
                                 std::string_view bytes, const StageReport& report, int exit_code)
    -> Result<void>;

}  // namespace assay
