// Decisions of the compiler by name: forbidden, or all that is allowed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "core/base/result.h"

namespace assay {

/// `fuse:mul_3` stands for all decisions to fuse mul_3, `fuse:mul_3:add_1` for the one with add_1.
struct DecisionName {
  CompileDecision::Kind kind = CompileDecision::Kind::fuse;
  std::string subject, other;
};
/// Errors: usage (not of that form, a kind that cannot be forbidden).
[[nodiscard]] auto parse_decision(std::string_view text) -> Result<DecisionName>;
[[nodiscard]] auto text_of(const CompileDecision& decision) -> std::string;
/// What was accepted, from the JSON of `assay compile --decisions --json`. Errors: bad_input.
[[nodiscard]] auto read_decisions(std::string_view json, const std::string& file)
    -> Result<std::vector<DecisionName>>;

struct DecisionFilter {
  std::vector<DecisionName> banned, only;
  bool has_only =
      false;  ///< fusions that `only` does not name are forbidden, stores if it names any
};
[[nodiscard]] auto forbids(const DecisionFilter& filter, const CompileDecision& decision) -> bool;

}  // namespace assay
