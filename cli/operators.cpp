#include "cli/operators.h"

#include <algorithm>

#include "replay/conform/inferred_rows.h"

namespace assay::cli {

auto table_for(const Capture& capture) -> Result<CaptureTable> {
  CaptureTable result{build_op_table(), {}};
  if (!capture.operator_cases) return result;
  ASSAY_TRY(const auto operators, infer_operators(capture.operator_cases, result.table));
  add_inferred_rows(result.table, operators);
  for (const auto& op : operators)
    if (std::ranges::any_of(capture.graph.nodes,
                            [&](const Node& node) { return node.target == op.overload; }))
      result.inferred.push_back(to_string(op));
  return result;
}

}  // namespace assay::cli
