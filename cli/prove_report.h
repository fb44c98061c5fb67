// What `assay prove` found, for people and for machines.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/finding/finding.h"
#include "replay/runner/missing_guards.h"
#include "replay/runner/storage_bounds.h"

namespace assay::cli {

/// A condition given on the command line, and what the guards say about it.
struct ClaimAnswer {
  std::string text;
  Expr condition;
  Answer answer;
};

/// Parts that were not asked for are empty.
struct ProveReport {
  GuardReport guards;
  bool guards_asked = false;
  std::optional<ObligationReport> obligations;
  std::vector<StrongerGuard> stronger;
  std::optional<BoundsReport> bounds;
  std::vector<ClaimAnswer> claims;
};

/// Everything refuted, as findings; then notes.
[[nodiscard]] auto findings_of(const Capture& capture, const ProveReport& report)
    -> std::vector<Finding>;
/// Conditions that no tier decided, one line each.
[[nodiscard]] auto undecided_of(const Capture& capture, const ProveReport& report)
    -> std::vector<std::string>;

/// What `assay prove FILE` refutes in a capture. For other commands that ask the prover.
[[nodiscard]] auto refutations(const Capture& capture) -> Result<std::vector<Finding>>;

struct ProveText {
  bool all = false;    ///< every row, not only the first ten
  bool notes = false;  ///< notes too
};
[[nodiscard]] auto print_prove(const Capture& capture, const ProveReport& report,
                               const ProveText& options) -> std::string;
[[nodiscard]] auto prove_json(const Capture& capture, const ProveReport& report) -> std::string;

/// Writes a trace with findings, and every verdict with its tier and the guards it rests on.
[[nodiscard]] auto record_proofs(const std::string& path, const Capture& capture,
                                 const ProveReport& report, int exit_code) -> Result<void>;

}  // namespace assay::cli
