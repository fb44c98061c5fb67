// Whether a call drops elements at random: a matter of its arguments, not of its row.
#pragma once
#include "core/ops/op_table.h"

namespace assay {

/// Position of the probability that elements are dropped, which makes the results random unless it
/// is 0; -1 if the operator has none. (aten::dropout and its kin say so as rows.)
[[nodiscard]] inline auto dropping_parameter(const OpRow& row) -> int {
  return row.schema.index_of("dropout_p");
}
[[nodiscard]] inline auto is_dropping(const Expr& probability) -> bool {
  return probability.as_number().value_or(1) != 0;
}
/// The same of bound arguments.
[[nodiscard]] inline auto is_dropping(const OpRow& row, const DatumList& args) -> bool {
  const int at = dropping_parameter(row);
  if (at < 0 || static_cast<std::size_t>(at) >= args.size()) return false;
  const auto* probability = args[static_cast<std::size_t>(at)].scalar();
  return probability != nullptr && is_dropping(*probability);
}

}  // namespace assay
