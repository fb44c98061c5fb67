// Operators that are lowered as calls of others. Where an operator's own row has a kernel, its
// decomposition for loops stands here.
#pragma once
#include <string_view>

#include "core/ops/op_table.h"

namespace assay {

/// Nothing for operators that are loops, or library calls, themselves.
[[nodiscard]] auto find_expansion(std::string_view overload) -> Decomposition;

}  // namespace assay
