// The smallest part of a text that still fails the same way: compiled programs.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "minifier/search/minimal.h"
#include "minifier/search/step.h"

namespace assay {

/// A text of which parts may be left out.
struct TextParts {
  int count = 0;
  /// Keeps these (ascending); nothing where that makes no text.
  std::function<std::optional<std::string>(const Kept&)> text;
};

/// Failures of each of some texts, by signature; several may be judged at the same time.
using TextFailures =
    std::function<std::vector<std::vector<std::string>>(const std::vector<std::string>& texts)>;

/// Answers from before, and where new ones go; an interrupted search goes on with them.
struct TextAnswers {
  std::function<std::optional<std::vector<std::string>>(const std::string& text)> find = {};
  std::function<void(const std::string& text, const std::vector<std::string>& failures)> add = {};
};

struct TextBudget {
  int workers = 1;         ///< questions at the same time
  double max_seconds = 0;  ///< 0: no limit
  int max_calls = 0;       ///< 0: no limit
  std::function<void(int asked)> progress = {};
  StepListener on_step = {};  ///< of every question, numbered from 1: 0 is what was given
};

/// Asks whether a failure is there; no text twice. Beyond the budget nothing is found, so that what
/// was found so far stays. What is asked ahead changes the time and no answer.
class TextOracle {
 public:
  TextOracle(std::string wanted, TextFailures failures, TextBudget budget = {},
             TextAnswers answers = {})
      : wanted_(std::move(wanted)),
        failures_(std::move(failures)),
        budget_(std::move(budget)),
        answers_(std::move(answers)) {}
  [[nodiscard]] auto fails(const std::string& text, const std::vector<std::string>& ahead = {})
      -> bool;
  /// The same but for numbers in the signature: sizes that are another.
  [[nodiscard]] auto fails_alike(const std::string& text) -> bool;
  /// The same without a change of the signature; nothing where something else fails.
  [[nodiscard]] auto fails_at(const std::string& text) -> std::optional<bool>;
  /// Takes whatever fails first in this text for the failure; false where nothing does.
  [[nodiscard]] auto adopt(const std::string& text) -> bool;
  /// Names what is tried from here on, for timelines.
  void begin(std::string phase) { phase_ = std::move(phase); }
  /// Questions whose answers were used, or came from the store.
  [[nodiscard]] auto asked() const -> int { return asked_; }
  [[nodiscard]] auto is_spent() const -> bool { return is_spent_; }
  [[nodiscard]] auto wanted() const -> const std::string& { return wanted_; }

 private:
  using Failures = std::vector<std::string>;
  /// Nothing beyond the budget.
  [[nodiscard]] auto ask(const std::string& text, const std::vector<std::string>& ahead)
      -> const Failures*;
  [[nodiscard]] auto is_known(const std::string& text) -> bool;
  void report(const std::string& text, const Failures& failures, double seconds);
  /// The text fails as it should: the next ones are made of it. True.
  auto make_best(const std::string& text) -> bool;

  std::string wanted_;
  TextFailures failures_;
  TextBudget budget_;
  TextAnswers answers_;
  std::map<std::uint64_t, Failures> known_;  ///< by key: texts may hold data of megabytes
  /// Texts whose answers counted, the same for any number of workers, and their steps, from 1.
  std::map<std::uint64_t, int> used_;
  std::string phase_;
  int best_step_ = 0;  ///< 0: the program that was given
  Clock::time_point start_ = Clock::now();
  int asked_ = 0;
  bool is_spent_ = false;
};

/// How large a program is, for timelines.
[[nodiscard]] auto lines_in(std::string_view text) -> int;

/// What has to stay: none of it can be left out by itself. All of it is known to fail.
[[nodiscard]] auto minimal_parts(const TextParts& parts, TextOracle& oracle) -> Kept;

}  // namespace assay
