// Do all views of a graph stay inside their storages, for all sizes that the guards admit?
#pragma once
#include <string>
#include <vector>

#include "compiler/prove/guards.h"
#include "core/ops/op_table.h"
#include "replay/formats/capture.h"
#include "replay/runner/missing_guards.h"

namespace assay {

enum class BoundKind : std::uint8_t {
  extent,   ///< the layout ends inside its storage
  offset,   ///< it does not start before it
  overlap,  ///< a tensor that is written has no two indices for one element
  int64,    ///< a calculated size fits 64 bits: a storage of at least so many bytes exists
};
[[nodiscard]] auto name(BoundKind kind) -> std::string_view;

/// One thing that must hold of one tensor.
struct BoundCheck {
  NodeId node;
  std::string leaf;  ///< "[1]" for an element of a tuple result
  BoundKind kind = BoundKind::extent;
  Expr condition;
  Answer answer;  ///< `needed` are guards; a refutation was evaluated as a layout too
  Expr needed_bytes, storage_bytes;  ///< extent only
  NodeId owner;                      ///< whose storage it is
  std::string layout;                ///< the claim
};

struct BoundsReport {
  std::vector<BoundCheck> checks;  ///< in node order; the same condition is asked once
  int without_rule = 0;            ///< tensors of which no rule says whose storage they have
  std::vector<ImpliedFact> facts;  ///< bounds that hold because of guards
  /// Calculated sizes that no storage bounds: that they fit 64 bits is taken for granted.
  std::vector<std::pair<NodeId, Expr>> taken_to_fit;
};

/// Storages are as large as recorded (`4*s77` bytes or a number) for inputs, as the operator's own
/// rule allocates for results. An input of which only the layout is recorded counts as exactly that
/// large. Sizes are such that every storage itself fits int64: allocating more fails by itself.
[[nodiscard]] auto check_bounds(const Capture& capture, const OpTable& table, GuardSet& guards)
    -> BoundsReport;

}  // namespace assay
