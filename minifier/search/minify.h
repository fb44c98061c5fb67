// From a failing capture to the smallest one that still fails the same way.
#pragma once
#include <functional>
#include <string>

#include "minifier/emit/emit.h"
#include "minifier/search/session.h"
#include "minifier/search/sizes.h"

namespace assay {

/// One answer of the oracle, as a timeline shows it.
struct MinifyStep {
  int seq = 0;
  int parent = -1;  ///< the step that was the best so far when this was asked, -1 for none
  std::string phase;
  std::uint64_t key = 0;
  int calls = 0;
  Observed observed;
  bool is_wanted = false;  ///< it fails the way that is looked for
  double at_seconds = 0;   ///< since the search began
  std::string text;        ///< of the candidate; empty where it is large
};
/// Candidates of more calls are not kept as text.
inline constexpr int kMostStepCalls = 600;

struct MinifyOptions {
  OracleLimits limits;
  bool default_timeout = true;  ///< 10 times the first run, between 1 and 300 s
  Budget budget;
  MatchLevel match = MatchLevel::normal;
  int confirmations = 1;  ///< runs of the original that measure how often it fails
  bool values = true;     ///< also shrink sizes, data, scalars, guards; off: calls only
  SmallestSizes smallest_sizes;
  /// (phase, calls of the best so far, counts); at every answer.
  std::function<void(const std::string&, int, const SessionCounts&)> progress;
  /// Every answer and every pass, as one JSON object a line.
  std::function<void(const std::string&)> log;
  /// Every answer; texts of candidates are made only if somebody listens.
  std::function<void(const MinifyStep&)> on_step;
};

/// Never fails because of what an oracle does. If the original does not fail, `reproduced` is
/// false and the result holds the original. Errors: undecided if the budget ends before the first
/// answer.
[[nodiscard]] auto minify(Capture capture, Oracle& oracle, AnswerStore& store, const OpTable& table,
                          const MinifyOptions& options) -> Result<MinifyResult>;

}  // namespace assay
