// Results that PyTorch leaves open on some inputs, which numbers that are made up often are.
#pragma once
#include "core/ops/op_table.h"

namespace assay {

enum class UndefinedPart : std::uint8_t { nothing, indices, all };

/// What is open of an operator's result on these operands, one for each parameter of the schema. Of
/// several elements that are written to one place any may stay (index_put without accumulate,
/// index_copy, put, scatter); what a pool's gradient makes of indices that no pool gives is
/// nobody's business; which of equal elements comes first in an order that is not stable, or is the
/// one that is chosen (sort, topk, kthvalue, median, mode), is not said, nor which of values that
/// are equally frequent.
[[nodiscard]] auto undefined_part(const OpRow& row, const DatumList& args) -> UndefinedPart;

}  // namespace assay
