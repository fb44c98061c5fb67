// Problems of a trace, those that say the same of different places together: a log whose payloads
// were edited has hundreds of one kind.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

struct Problem {
  std::string kind, message;
  std::int64_t times = 1;
};

struct ProblemGroup {
  std::string kind;
  std::string text;               ///< what the messages share; an ellipsis where they differ
  std::int64_t times = 0;         ///< of all
  std::vector<Problem> problems;  ///< by the first number in each: the line of a log
};

/// Messages are alike if they differ only in numbers, hashes and what stands between backquotes.
/// Groups stand in the order of their first problem.
[[nodiscard]] auto group_problems(std::vector<Problem> problems) -> std::vector<ProblemGroup>;

}  // namespace assay
