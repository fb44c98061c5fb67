// Whole numbers in the place of unrecorded ones, chosen so that what the graph asserts holds.
#pragma once
#include "core/graph/graph.h"
#include "core/ops/op_table.h"
#include "replay/interp/inputs.h"

namespace assay {

/// The inputs, but tensors of one whole number whose contents were made up, and on which the
/// graph's asserts rest (`u0 = x.item(); assert u0 >= 1`), hold the first of some small numbers and
/// sizes at which most asserts hold. Only asserts that rest on single numbers are asked. Errors:
/// the given one.
[[nodiscard]] auto with_chosen_numbers(Result<RunInputs> inputs, const Graph& graph,
                                       const OpTable& table) -> Result<RunInputs>;

}  // namespace assay
