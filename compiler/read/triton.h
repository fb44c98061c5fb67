// Reader of the Triton kernels that Inductor writes.
// Source: torch/_inductor/codegen/triton.py and runtime/triton_helpers.py, PyTorch 2.5 to 2.15;
// dtypes follow triton/language/semantic.py.
#pragma once
#include <string_view>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// Reads one kernel's source. Symbols of parameters go into `pool` under their names. What is not
/// understood is listed in the result. Errors: bad_input where there is no kernel.
[[nodiscard]] auto read_triton(std::string_view text, ExprPool& pool) -> Result<TileKernel>;

/// "tl.float32", "fp32", "*bf16": the dtype; nothing for others.
[[nodiscard]] auto triton_dtype(std::string_view name) -> std::optional<DType>;

}  // namespace assay
