// The code generator, a library of its own because LLVM is large: opened when somebody asks for
// machine code.
#pragma once
#include <string>

#include "core/base/result.h"

namespace assay {

/// The address of an entry of libassay_codegen.so. Errors: missing_tool, with what is not there.
[[nodiscard]] auto codegen_entry(const char* symbol) -> Result<void*>;
/// What tells one build of that library from another: its size and when it was written. It is not
/// opened for this. Empty where there is none.
[[nodiscard]] auto codegen_stamp() -> std::string;

}  // namespace assay
