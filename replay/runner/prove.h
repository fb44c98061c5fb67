// Everything that is proved about a capture for all sizes: guards, what they miss, storage bounds.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "replay/runner/missing_guards.h"
#include "replay/runner/storage_bounds.h"

namespace assay {

/// A condition of the user's, and what the guards say about it.
struct ClaimAnswer {
  std::string text;
  Expr condition;
  Answer answer;
};

struct ProveOptions {
  std::vector<ClaimAnswer> claims;  ///< conditions to decide; their answers are ignored
  bool guards = false;              ///< only guards, unless another part is asked for too
  bool bounds = false;              ///< only storage bounds, likewise
  bool use_solver = true;
};

/// Parts that were not asked for are empty. Without options everything is asked.
struct ProveReport {
  GuardReport guards;
  bool guards_asked = false;
  std::optional<ObligationReport> obligations;
  std::vector<StrongerGuard> stronger;
  std::optional<BoundsReport> bounds;
  std::vector<ClaimAnswer> claims;
};

/// Runs the first few missing guards on real tensors too.
[[nodiscard]] auto prove_capture(const Capture& capture, const OpTable& table,
                                 const ProveOptions& options = {}) -> ProveReport;

}  // namespace assay
