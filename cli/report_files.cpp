#include "cli/report_files.h"

#include "cli/command.h"
#include "replay/formats/file.h"

namespace assay::cli {

void add_report_files(Arguments& arguments, ReportFiles& files) {
  arguments.option("--junit", &files.junit, "write the report as JUnit XML into this file");
  arguments.option("--sarif", &files.sarif, "write the findings as SARIF into this file");
}

auto write_report_files(const ReportFiles& files, const std::string& tool,
                        std::span<const TestCase> cases, std::span<const SarifResult> results,
                        double seconds) -> Result<void> {
  if (!files.junit.empty())
    ASSAY_TRY_VOID(write_file_atomically(files.junit, junit_xml(tool, cases, seconds)));
  if (!files.sarif.empty())
    ASSAY_TRY_VOID(write_file_atomically(files.sarif, sarif_json(tool, results)));
  return {};
}

auto exit_code(ReportState state, bool allow_undecided) -> int {
  switch (state) {
    case ReportState::clean:
      return kNothingFound;
    case ReportState::findings:
      return kFindings;
    case ReportState::undecided:
      return allow_undecided ? kNothingFound : kUndecided;
  }
  return kUndecided;
}

}  // namespace assay::cli
