// Reader of the C++ kernels that Inductor writes for the CPU.
// Source: torch/_inductor/codegen/cpp.py and torch/csrc/inductor/cpp_prefix.h, PyTorch 2.5 to 2.13.
#pragma once
#include <string_view>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// Reads one kernel's source. A loop over vectors and its tail are one loop over elements. Symbols
/// of parameters go into `pool` under their names. What is not understood is listed in the result.
/// Errors: bad_input where there is no kernel.
[[nodiscard]] auto read_cpp(std::string_view text, ExprPool& pool) -> Result<TileKernel>;

}  // namespace assay
