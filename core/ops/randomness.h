// What random numbers the result of a call rests on: a matter of its arguments, not only of its
// row.
#pragma once
#include <limits>

#include "core/ops/counter_random.h"
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

/// `has_seed`: generators give the numbers that PyTorch gets from them.
[[nodiscard]] inline auto randomness(const OpRow& row, bool has_seed) -> Randomness {
  if (!row.is_arbitrary(has_seed)) return Randomness::none;
  return row.of_seeds ? Randomness::seeds : Randomness::numbers;
}
/// Inductor's programs draw their seeds with `aten.randint`, from all int64 there are.
[[nodiscard]] inline auto randomness(const OpRow& row, const DatumList& args, bool has_seed)
    -> Randomness {
  if (!has_seed && is_dropping(row, args)) return Randomness::numbers;
  const auto of_row = randomness(row, has_seed);
  if (of_row != Randomness::numbers || !row.name().starts_with("aten.randint.low")) return of_row;
  const auto* low = args.at(0).scalar();
  return low != nullptr && *low == Expr(std::numeric_limits<std::int64_t>::min())
             ? Randomness::seeds
             : of_row;
}

}  // namespace assay
