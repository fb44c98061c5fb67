// Asking the oracle: once per question, within the budget, for the failure that is wanted.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "minifier/oracle/oracle.h"
#include "minifier/oracle/store.h"

namespace assay {

struct Budget {
  double seconds = 0;  ///< 0: no limit
  int calls = 0;       ///< 0: no limit
};

/// Counts for progress and the summary.
struct SessionCounts {
  int queries = 0;  ///< oracle calls
  int cached = 0;   ///< answers from the store
};

class Session {
 public:
  Session(Oracle& oracle, AnswerStore& store, OracleLimits limits, Budget budget);

  /// The answer for one candidate (attempt 0, 1, ... for a flaky oracle). Candidates in `ahead` may
  /// be asked at the same time by idle workers.
  auto ask(const Candidate& candidate, const std::vector<Candidate>& ahead = {}, int attempt = 0)
      -> Observed;
  /// Does the candidate fail the wanted way, in any of the attempts a flaky failure needs?
  auto reproduces(const Candidate& candidate, const std::vector<Candidate>& ahead = {}) -> bool;

  void want(Signature signature, MatchLevel level) {
    wanted_ = std::move(signature);
    level_ = level;
  }
  [[nodiscard]] auto wanted() const -> const Signature& { return wanted_; }
  /// How often a question is repeated before "it does not fail" is believed.
  void set_attempts(int attempts) { attempts_ = attempts; }
  [[nodiscard]] auto attempts() const -> int { return attempts_; }
  [[nodiscard]] auto is_wanted(const Observed& observed) const -> bool;
  void set_limits(const OracleLimits& limits) { limits_ = limits; }
  [[nodiscard]] auto limits() const -> const OracleLimits& { return limits_; }

  /// Out of time or calls: nothing reproduces any more, so that every search ends by itself.
  [[nodiscard]] auto exhausted() const -> bool;
  [[nodiscard]] auto seconds() const -> double;
  [[nodiscard]] auto counts() const -> const SessionCounts& { return counts_; }
  /// Failures of other kinds that were met, each once.
  [[nodiscard]] auto others() const -> const std::vector<Signature>& { return others_; }
  /// Called with every answer, also one that was known.
  std::function<void(const Candidate&, const Observed&)> on_answer;

 private:
  void judge(const std::vector<const Candidate*>& candidates, int attempt);
  void note_other(const Signature& signature);

  Oracle& oracle_;
  AnswerStore& store_;
  OracleLimits limits_;
  Budget budget_;
  std::string identity_;
  Signature wanted_;
  MatchLevel level_ = MatchLevel::normal;
  int attempts_ = 1;
  SessionCounts counts_;
  std::vector<Signature> others_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace assay
