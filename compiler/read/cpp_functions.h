// Functions of kernels in C++ that are one operation. Internal to compiler/read.
#pragma once
#include <optional>
#include <string_view>

#include "compiler/program/op_table.h"

namespace assay {

/// Of one or two numbers, a free one or a method of vectors.
[[nodiscard]] auto cpp_function(std::string_view name, int operands) -> std::optional<TileOp>;

}  // namespace assay
