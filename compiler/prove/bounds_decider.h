// Decides one bound: simplification, intervals, boxes, the solver, then search. Internal to
// compiler/prove.
#pragma once
#include <string>
#include <vector>

#include "compiler/prove/answer.h"
#include "compiler/prove/prover.h"
#include "compiler/prove/violation.h"

namespace assay {

struct Bound {
  Expr value;  ///< claimed to be >= 0
  /// Masks and axes of the place itself; counts of axes are upper ends of what the kernel
  /// enumerates.
  BoxFacts facts;
  std::vector<Expr> guards;  ///< hold everywhere; a proof names those that it used
  /// Search walks these.
  std::vector<SearchAxis> axes;
  Binding hints;
};

/// An answer with the proofs it is made of, as questions for another solver. `needed` of a proof
/// are positions in the guards.
struct Decision {
  Answer answer = Proved{Tier::normalise, {}};
  std::vector<Query> proofs;
};

/// Proved, refuted with a witness that core/expr has evaluated, or unknown.
[[nodiscard]] auto decide_bound(const Bound& given, Prover& prover) -> Decision;

/// Both hold: the first answer that is not a proof, else one proof of the higher tier that needs
/// what either needs.
[[nodiscard]] auto both(Decision a, Decision b) -> Decision;

}  // namespace assay
