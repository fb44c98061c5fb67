// From a failing capture to the smallest one that still fails the same way.
#pragma once
#include <functional>
#include <string>

#include "minifier/emit/emit.h"
#include "minifier/search/session.h"
#include "minifier/search/sizes.h"
#include "minifier/search/step.h"

namespace assay {

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
  StepListener on_step;
};

/// Never fails because of what an oracle does. If the original does not fail, `reproduced` is
/// false and the result holds the original. Errors: undecided if the budget ends before the first
/// answer.
[[nodiscard]] auto minify(Capture capture, Oracle& oracle, AnswerStore& store, const OpTable& table,
                          const MinifyOptions& options) -> Result<MinifyResult>;

}  // namespace assay
