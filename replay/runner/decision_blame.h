// Which choice of the compiler a difference rests on.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "replay/runner/compile.h"
#include "replay/runner/decisions.h"

namespace assay {

/// How a program is made and run; each can be switched off.
struct CompileVariant {
  std::vector<DecisionName> fusions;  ///< the only ones that are allowed
  bool vectors = true, merge = true, reuse = true, bound = true;
};

struct DecisionBlame {
  /// What has to stay on for the difference, in words: "vectors", "reuse", "bound steps",
  /// "fuse:mul_3:add_1". Empty: the difference is there with all of it off.
  std::vector<std::string> needed;
  int runs = 0;
};

/// Still different with this variant?
using VariantDiffers = std::function<Result<bool>(const CompileVariant&)>;

/// Switches off what can be without losing the difference, fusions by bisection, until nothing more
/// can. `accepted` are the decisions of the compilation that differs; it does so with everything
/// on. Errors: of `differs`.
[[nodiscard]] auto blame_decisions(const std::vector<CompileDecision>& accepted,
                                   const VariantDiffers& differs) -> Result<DecisionBlame>;

}  // namespace assay
