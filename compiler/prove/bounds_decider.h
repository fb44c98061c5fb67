// Decides one bound: simplification, intervals, boxes, the solver, then search. Internal to
// compiler/prove.
#pragma once
#include <string>

#include "compiler/prove/answer.h"
#include "compiler/prove/prover.h"
#include "compiler/prove/violation.h"

namespace assay {

struct Bound {
  Expr value;  ///< claimed to be >= 0
  /// Proofs use these; counts of axes are upper ends of what the kernel enumerates.
  BoxFacts facts;
  /// Search uses these; conditions are those of the facts.
  std::vector<SearchAxis> axes;
  Binding hints;
};

/// Proved, refuted with a witness that core/expr has evaluated, or unknown.
[[nodiscard]] auto decide_bound(const Bound& bound, Prover& prover) -> Answer;

}  // namespace assay
