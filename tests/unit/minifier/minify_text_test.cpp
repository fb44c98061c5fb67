// Questions about texts: what is asked, what is counted, what is remembered.
#include "minifier/search/minify_text.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <tuple>

#include "minifier/oracle/store.h"

namespace assay {
namespace {

/// Fails where both letters are there; the text is some of "a" to "z".
auto failures_of(const std::string& text) -> std::vector<std::string> {
  if (text.contains('c') && text.contains('q')) return {"wrong at 12"};
  return text.contains('c') ? std::vector<std::string>{"other"} : std::vector<std::string>();
}

auto letters() -> TextParts {
  return {26, [](const Kept& kept) {
            std::string text;
            for (const int letter : kept) text += static_cast<char>('a' + letter);
            return std::optional(text);
          }};
}

struct Search {
  Kept kept;
  int asked = 0, judged = 0;
  bool is_spent = false;
};
auto search(int workers, TextAnswers answers = {}, int max_calls = 0) -> Search {
  Search done;
  const TextFailures failures = [&](const std::vector<std::string>& texts) {
    std::vector<std::vector<std::string>> all;
    for (const auto& text : texts) all.push_back(failures_of(text));
    done.judged += static_cast<int>(texts.size());
    return all;
  };
  TextOracle oracle("wrong at 12", failures,
                    {.workers = workers, .max_seconds = 0, .max_calls = max_calls, .progress = {}},
                    std::move(answers));
  done.kept = minimal_parts(letters(), oracle);
  done.asked = oracle.asked();
  done.is_spent = oracle.is_spent();
  return done;
}

TEST(TextOracle, TheResultAndTheCountAreTheSameForAnyNumberOfWorkers) {
  const auto one = search(1), four = search(4);
  EXPECT_EQ(one.kept, (Kept{2, 16}));
  EXPECT_EQ(four.kept, one.kept);
  EXPECT_EQ(four.asked, one.asked);
  EXPECT_GT(four.judged, one.judged);  // ahead
  EXPECT_EQ(search(1, {}, 7).kept, search(4, {}, 7).kept);
  EXPECT_TRUE(search(4, {}, 7).is_spent);
}

TEST(TextOracle, EveryQuestionIsAStepWhoseParentIsTheBestBeforeIt) {
  std::vector<MinifyStep> steps;
  TextBudget budget;
  budget.on_step = [&](const MinifyStep& step) { steps.push_back(step); };
  const TextFailures failures = [](const std::vector<std::string>& texts) {
    return std::vector<std::vector<std::string>>{failures_of(texts.front())};
  };
  TextOracle oracle("wrong at 12", failures, std::move(budget));
  oracle.begin("letters");
  EXPECT_TRUE(oracle.fails("abcq\n"));
  EXPECT_FALSE(oracle.fails("abc\n"));
  EXPECT_FALSE(oracle.fails("ab\n"));
  EXPECT_FALSE(oracle.fails("abc\n"));  // known: no step of its own
  EXPECT_TRUE(oracle.fails("cq\n"));
  EXPECT_EQ(oracle.fails_at("c\nq\n"), true);  // a question, not a candidate
  EXPECT_FALSE(oracle.fails("q\n"));
  std::vector<std::tuple<int, int, bool, Outcome>> seen;
  for (const auto& step : steps) {
    seen.emplace_back(step.seq, step.parent, step.is_wanted, step.observed.outcome);
    EXPECT_EQ(step.phase, "letters");
  }
  EXPECT_EQ(seen, (decltype(seen){{1, 0, true, Outcome::fails},
                                  {2, 1, false, Outcome::fails},
                                  {3, 1, false, Outcome::passes},
                                  {4, 1, true, Outcome::fails},
                                  {5, 4, true, Outcome::fails},
                                  {6, 4, false, Outcome::passes}}));
  EXPECT_EQ(steps[4].calls, 2);
  EXPECT_EQ(steps[1].observed.signature.message, "other");
}

TEST(TextOracle, AnswersOfAnEarlierRunAreNotAskedForAgain) {
  std::map<std::string, std::vector<std::string>> known;
  const TextAnswers answers{
      .find = [&](const std::string& text) -> std::optional<std::vector<std::string>> {
        const auto found = known.find(text);
        return found == known.end() ? std::nullopt : std::optional(found->second);
      },
      .add = [&](const std::string& text,
                 const std::vector<std::string>& failures) { known[text] = failures; }};
  const auto first = search(1, answers);
  const auto again = search(1, answers);
  EXPECT_EQ(again.kept, first.kept);
  EXPECT_EQ(again.asked, first.asked);
  EXPECT_GT(first.judged, 0);
  EXPECT_EQ(again.judged, 0);
}

TEST(TextOracle, AnotherFailureAtASizeSaysNothing) {
  TextOracle oracle("wrong at 9", [](const std::vector<std::string>& texts) {
    std::vector<std::vector<std::string>> all;
    for (const auto& text : texts) all.push_back(failures_of(text));
    return all;
  });
  EXPECT_EQ(oracle.fails_at("cq"), std::optional(true));  // but for its numbers
  EXPECT_EQ(oracle.fails_at("q"), std::optional(false));
  EXPECT_EQ(oracle.fails_at("c"), std::nullopt);
  EXPECT_EQ(oracle.wanted(), "wrong at 9");
}

TEST(AnswerStore, TextsHaveKeysOfTheirOwn) {
  EXPECT_EQ(text_key("a = 1"), text_key("a = 1"));
  EXPECT_NE(text_key("a = 1"), text_key("a = 2"));
  EXPECT_NE(text_key(""), text_key(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace assay
