// Results that PyTorch leaves open on some inputs, which numbers that are made up often are.
#pragma once
#include "core/ops/op_table.h"

namespace assay {

/// Is it open what the operator gives on these operands, one for each parameter of the schema? Of
/// several elements that are written to one place any may stay (index_put without accumulate,
/// index_copy, put, scatter), and what a pool's gradient makes of indices that no pool gives is
/// nobody's business.
[[nodiscard]] auto is_undefined(const OpRow& row, const DatumList& args) -> bool;

}  // namespace assay
