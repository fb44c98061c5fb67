// What a graph relies on against what its guards say, for all sizes.
#pragma once
#include <string>
#include <vector>

#include "compiler/prove/guards.h"
#include "core/ops/op_table.h"
#include "core/ops/shape_context.h"
#include "replay/formats/capture.h"
#include "replay/interp/symbolic.h"

namespace assay {

/// Sizes that pass the guards and break a node, and what happens there.
struct MissingGuard {
  Obligation obligation;    ///< what a guard would have to say
  Binding witness;          ///< every symbol of the capture
  std::string consequence;  ///< of the fake run of the node
  std::string run;          ///< of running the graph there; empty if it was not run
};

/// A condition that guards imply.
struct ImpliedFact {
  Expr condition;
  std::string why;
  Tier tier = Tier::normalise;
  std::vector<std::size_t> needed;  ///< guards its proof used
};

struct ObligationReport {
  int total = 0;        ///< different conditions
  int from_ranges = 0;  ///< implied without any guard
  int implied = 0;      ///< implied by guards
  int assumed = 0;      ///< about unbacked symbols, decided as PyTorch's guard_or_false does
  int harmless = 0;     ///< not implied, but the node's result is as claimed at the sizes tried
  std::vector<MissingGuard> missing;  ///< one per node and place in its rule
  struct Undecided {
    Obligation obligation;
    Tier tier;
    std::string reason;
  };
  std::vector<Undecided> undecided;
  std::vector<ContradictedClaim> contradicted;  ///< by rules, whatever the sizes are
  /// A call of which no rule says what it gives.
  struct Unjudged {
    NodeId node;
    std::string reason;
  };
  std::vector<Unjudged> unjudged;
  int calls = 0;                       ///< of the graph
  std::vector<ImpliedFact> facts;      ///< implied by guards, in the order they were met
  std::vector<std::size_t> relied_on;  ///< guards that proofs of obligations used, in order
};

/// Runs the rules on symbols, and asks the guards for every fact they relied on. A fact that does
/// not follow is a missing guard if the node, run on its operands' claims at the smallest such
/// sizes, fails or gives another layout than it claims.
[[nodiscard]] auto find_missing_guards(const Graph& graph, const OpTable& table, GuardSet& guards)
    -> ObligationReport;

/// Runs the graph on real tensors of the missing guard's sizes and fills in `run`. Leaves it empty
/// where the inputs cannot be made there, or would be too big for a quick look.
void run_at_witness(const Capture& capture, const OpTable& table, MissingGuard& missing);

/// A guard of the minimal set that says more than the graph needs.
struct StrongerGuard {
  std::size_t guard = 0;
  std::vector<Expr>
      replacement;   ///< with the other guards they imply every obligation; may be none
  Binding excluded;  ///< smallest sizes that only this guard excludes
};
/// `facts` is everything that needed a guard: obligations and storage bounds.
[[nodiscard]] auto find_stronger_guards(const ShapeEnv& env, const GuardReport& guards,
                                        const std::vector<ImpliedFact>& facts)
    -> std::vector<StrongerGuard>;

/// What a node does on its operands' claims at these sizes: nothing if it does as it claims, else
/// one sentence. Errors: undecided when that cannot be said (no rule, no claims).
[[nodiscard]] auto misbehaviour_at(const Graph& graph, const Node& node, const OpTable& table,
                                   const Binding& sizes) -> Result<std::string>;

/// Can a caller pass these sizes: all guards hold, and no input has a negative size?
[[nodiscard]] auto admits(const Graph& graph, const Binding& sizes) -> bool;

/// The witness with values for all symbols of the environment: hints for those it does not name,
/// replaced symbols as their replacements say.
[[nodiscard]] auto completed(const ShapeEnv& env, Binding witness) -> Binding;

}  // namespace assay
