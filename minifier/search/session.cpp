#include "minifier/search/session.h"

#include <algorithm>
#include <set>

#include "core/base/check.h"

namespace assay {

Session::Session(Oracle& oracle, AnswerStore& store, OracleLimits limits, Budget budget)
    : oracle_(oracle),
      store_(store),
      limits_(limits),
      budget_(budget),
      identity_(oracle.identity()) {}

auto Session::seconds() const -> double {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

auto Session::exhausted() const -> bool {
  return (budget_.seconds > 0 && seconds() > budget_.seconds) ||
         (budget_.calls > 0 && counts_.queries >= budget_.calls);
}

void Session::note_other(const Signature& signature) {
  const auto known = [&](const Signature& other) {
    return matches(other, signature, MatchLevel::normal);
  };
  if (signature == Signature{} || wanted_ == Signature{} || matches(signature, wanted_, level_))
    return;
  if (std::ranges::none_of(others_, known)) others_.push_back(signature);
}

void Session::judge(const std::vector<const Candidate*>& candidates, int attempt) {
  std::vector<Candidate> batch;
  for (const auto* candidate : candidates) batch.push_back(*candidate);
  const auto answers = oracle_.judge(batch, limits_);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ++counts_.queries;
    store_.add(identity_, batch[i].key(), attempt, answers[i]);
  }
}

auto Session::ask(const Candidate& candidate, const std::vector<Candidate>& ahead, int attempt)
    -> Observed {
  const auto key = candidate.key();
  auto known = store_.find(identity_, key, attempt);
  if (known) {
    ++counts_.cached;
  } else {
    if (exhausted()) return {.outcome = Outcome::invalid, .output = "out of budget"};
    std::vector<const Candidate*> batch{&candidate};
    std::set<std::uint64_t> keys{key};
    for (const auto& next : ahead) {
      if (batch.size() >= static_cast<std::size_t>(std::max(limits_.workers, 1))) break;
      const auto next_key = next.key();
      if (!store_.find(identity_, next_key, attempt) && keys.insert(next_key).second)
        batch.push_back(&next);
    }
    judge(batch, attempt);
    known = store_.find(identity_, key, attempt);
  }
  ASSAY_CHECK(known, "a candidate that was judged has an answer");
  if (known->outcome == Outcome::fails) note_other(known->signature);
  for (const auto& other : known->others) note_other(other);
  if (on_answer) on_answer(candidate, *known);
  return *known;
}

auto Session::is_wanted(const Observed& observed) const -> bool {
  if (observed.outcome != Outcome::fails) {
    // A hang or an exhausted memory is a failure of its own if it is what was asked for.
    return observed.outcome != Outcome::passes && observed.outcome != Outcome::invalid &&
           wanted_.error_class == name(observed.outcome);
  }
  return matches(observed.signature, wanted_, level_) ||
         std::ranges::any_of(observed.others,
                             [&](const Signature& s) { return matches(s, wanted_, level_); });
}

auto Session::reproduces(const Candidate& candidate, const std::vector<Candidate>& ahead) -> bool {
  for (int attempt = 0; attempt < attempts_; ++attempt) {
    if (is_wanted(ask(candidate, ahead, attempt))) return true;
  }
  return false;
}

}  // namespace assay
