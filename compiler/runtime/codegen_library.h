// The code generator, a library of its own because LLVM is large: opened when somebody asks for
// machine code.
#pragma once
#include "core/base/result.h"

namespace assay {

/// The address of an entry of libassay_codegen.so. Errors: missing_tool, with what is not there.
[[nodiscard]] auto codegen_entry(const char* symbol) -> Result<void*>;

}  // namespace assay
