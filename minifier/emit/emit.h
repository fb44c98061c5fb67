// What a run leaves behind: the minimal failure in every form somebody may want it in.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "minifier/oracle/oracle.h"

namespace assay {

/// One line of the log: a query, a pass, a result.
struct PassSummary {
  std::string name;
  int calls_before = 0, calls_after = 0;
  int queries = 0;
  double seconds = 0;
};

struct MinifyResult {
  Capture original;
  Capture minimal;
  Signature wanted;
  std::string oracle;  ///< identity
  std::optional<CompileCheck> check;
  bool reproduced = false;   ///< did the original fail at all?
  bool complete = false;     ///< false: a budget ended the search early
  bool one_minimal = false;  ///< no single call can be left out
  double failure_rate = 1;   ///< of the minimal failure, measured
  int confirmations = 1;     ///< runs that the rate is measured by
  int queries = 0;           ///< oracle calls made by this run
  int cached = 0;            ///< answers taken from the store
  double seconds = 0;
  std::string fails_iff;  ///< condition over the symbols, empty if it fails at all sizes tried
  std::string passing_sibling;  ///< graph text of the nearest candidate that does not fail
  std::string sibling_change;   ///< what it lacks
  std::vector<PassSummary> passes;
  std::vector<Signature> others;  ///< failures of other kinds met on the way
  std::vector<std::string> warnings;
};

/// What write_candidate() writes for the minimal failure, plus summary.json, junit.xml,
/// results.sarif, and sibling.txt where there is one.
[[nodiscard]] auto write_result(const MinifyResult& result, const std::filesystem::path& folder)
    -> Result<void>;

[[nodiscard]] auto summary_json(const MinifyResult& result) -> std::string;
[[nodiscard]] auto junit_xml(const MinifyResult& result) -> std::string;
[[nodiscard]] auto sarif_json(const MinifyResult& result) -> std::string;

}  // namespace assay
