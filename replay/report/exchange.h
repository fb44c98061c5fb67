// Reports in the formats that other tools read: JUnit XML and SARIF 2.1.0.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "replay/report/debug_report.h"
#include "replay/report/programs.h"
#include "replay/report/prove_report.h"

namespace assay {

/// One `<testcase>` of JUnit XML (the dialect of Jenkins and GitLab).
struct TestCase {
  enum class Result : std::uint8_t { passed, failed, skipped };
  std::string name;
  std::string group;  ///< `classname`
  Result result = Result::passed;
  std::string kind;     ///< of the failure, "wrong-stride"
  std::string message;  ///< one line
  std::string text;     ///< more lines
};

/// Bytes that XML 1.0 does not allow are left out. `seconds` is the time of the whole suite.
[[nodiscard]] auto junit_xml(const std::string& suite, std::span<const TestCase> cases,
                             double seconds) -> std::string;

/// A node with a claim is a case: failed with its first finding, skipped where it was not checked.
[[nodiscard]] auto test_cases(const Capture& capture, const DebugReport& report)
    -> std::vector<TestCase>;
/// What was asked (guards, obligations, bounds, claims) is a case each, and so is every finding and
/// every open condition.
[[nodiscard]] auto test_cases(const Capture& capture, const ProveReport& report)
    -> std::vector<TestCase>;
/// A program is a case: failed where an obligation is refuted, skipped where one is unknown.
[[nodiscard]] auto test_cases(const std::vector<ProvedProgram>& programs) -> std::vector<TestCase>;

/// One result of SARIF. Level: "error", "warning" or "note".
struct SarifResult {
  std::string rule;
  std::string title;  ///< of the rule
  std::string level = "error";
  std::string message;
  std::string file;     ///< a path; relative paths are relative to the repository
  int line = 0;         ///< 0: none
  std::string logical;  ///< the node
  std::vector<std::pair<std::string, std::string>> properties;
};
[[nodiscard]] auto sarif_json(const std::string& tool, std::span<const SarifResult> results)
    -> std::string;

/// Roots are errors, inherited findings warnings. Where the place in the user's program is not
/// known, the result stands at `source`.
[[nodiscard]] auto sarif_results(std::span<const Finding> findings, const std::string& source)
    -> std::vector<SarifResult>;

}  // namespace assay
