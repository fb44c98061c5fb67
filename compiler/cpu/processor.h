// Which processor this is, as far as machine code depends on it.
#pragma once
#include <string>

namespace assay {

/// Equal texts: code for one runs on the other, and a code generator sees the same machine. Empty
/// where nobody knows (other than x86-64).
[[nodiscard]] auto processor_text() -> std::string;

}  // namespace assay
