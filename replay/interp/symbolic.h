// Assay's own metadata rules run on the symbols, node by node, against the claims.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/finding/finding.h"
#include "core/ops/domain.h"
#include "replay/formats/capture.h"

namespace assay {

enum class ClaimVerdict : std::uint8_t {
  equal,          ///< the same expressions
  equal_sampled,  ///< other expressions, equal at every sampled binding
  differs,        ///< a sampled binding tells them apart
  no_rule,
  no_claim,
  fails,  ///< the rule rejects the operands' claims
};

struct SymbolicNode {
  ClaimVerdict verdict = ClaimVerdict::no_claim;
  std::string rule;     ///< what the rule says, printed; filled where it differs or fails
  std::string witness;  ///< a binding that tells claim and rule apart
  bool leaf_insignificant = false;  ///< only insignificant strides differ
  Datum ruled;  ///< what the rule gives on the operands' claims; nothing without a rule
  Datum value;  ///< the claim, with the storages the rule says (equal ids share one)
};

/// A claim that the rule contradicts at all sizes.
struct ContradictedClaim {
  NodeId node;
  std::string leaf;                      ///< "[1]" for an element of a tuple result
  FindingKind kind;                      ///< of the first difference: dtype before sizes
  std::string claimed, ruled;            ///< whole layouts
  std::string claimed_part, ruled_part;  ///< "9" and "8"
};

struct SymbolicRun {
  std::vector<SymbolicNode> nodes;        ///< by position in Graph::nodes
  std::vector<Obligation> obligations;    ///< facts the rules relied on
  std::vector<Requirement> requirements;  ///< facts without which the graph does not run
  /// Claims that are other expressions than the rule's: what must hold for them to be the same
  /// (where it matters: strides of dimensions of size 1 do not).
  std::vector<Obligation> claims;
  std::vector<ContradictedClaim> contradicted;  ///< one per leaf, in node order
};

struct SymbolicOptions {
  int samples = 20;
  std::uint64_t seed = 1;
};

/// Every rule runs on the *claims* of its operands, so each node is judged on its own and one false
/// claim makes one difference.
[[nodiscard]] auto run_symbolic(const Graph& graph, const OpTable& table,
                                const SymbolicOptions& options = {}) -> SymbolicRun;

/// Claims of the calls for which `renew` says yes become what their rules say, operands first, so
/// that changes of inputs are followed through the graph. Calls without a claim or a rule keep what
/// they have; so does requires_grad.
void renew_claims(Graph& graph, const OpTable& table, const std::function<bool(NodeId)>& renew);

/// Random bindings that respect ranges, replacements and guards; the hints come first. May be fewer
/// than asked for when guards are tight.
[[nodiscard]] auto sample_bindings(const ShapeEnv& env, int count, std::uint64_t seed)
    -> std::vector<Binding>;

}  // namespace assay
