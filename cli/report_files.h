// What `debug` and `prove` leave behind besides their text: files for other tools, an exit code.
#pragma once
#include <span>
#include <string>

#include "cli/arguments.h"
#include "replay/report/exchange.h"

namespace assay::cli {

/// Files in the formats of other tools, as `debug` and `prove` write them.
struct ReportFiles {
  std::string junit, sarif;  ///< paths; empty: not asked for
};
void add_report_files(Arguments& arguments, ReportFiles& files);
/// Errors: a file that cannot be written.
[[nodiscard]] auto write_report_files(const ReportFiles& files, const std::string& tool,
                                      std::span<const TestCase> cases,
                                      std::span<const SarifResult> results, double seconds)
    -> Result<void>;

/// Undecided becomes "nothing found" where the user allows it.
[[nodiscard]] auto exit_code(ReportState state, bool allow_undecided = false) -> int;

}  // namespace assay::cli
