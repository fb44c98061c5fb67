// One operator's rule on given layouts, without data: what follows from sizes and strides alone.
#pragma once
#include <functional>

#include "core/ops/domain.h"
#include "replay/interp/run.h"

namespace assay {

struct ProbeResult {
  Datum value;                   ///< fake tensors and scalars; nothing where only data tell
  bool depends_on_data = false;  ///< a size or scalar of the value is read from contents
};

/// Runs rules on numbers: on the layouts that were really there, or on claims at a binding. That
/// tells a call that no data could save from one that this data breaks, and an honest claim on
/// false operands from a false claim.
class RuleProbe {
 public:
  RuleProbe(const Graph& graph, const OpTable& table) : graph_(graph), table_(table) {}

  /// The rule on the layouts that `operand` gives. Errors: as run_node.
  [[nodiscard]] auto run(const Node& node, const std::function<Datum(NodeId)>& operand) const
      -> Result<ProbeResult>;

 private:
  const Graph& graph_;
  const OpTable& table_;
};

/// The layout of an observed value; one storage per observed storage id.
[[nodiscard]] auto fake_of(const ObservedValue& value) -> Datum;
/// Do two values have the same dtype, sizes, strides and offset, insignificant strides included?
[[nodiscard]] auto same_layout(const Datum& fake, const ObservedValue& value) -> bool;

}  // namespace assay
