// Refuted obligations of a compiled program as findings.
#pragma once
#include <string>
#include <vector>

#include "compiler/prove/wrapper_bounds.h"
#include "core/finding/finding.h"

namespace assay {

/// One finding per refuted obligation; `target` is the kernel or the statement.
[[nodiscard]] auto wrapper_findings(const WrapperReport& report) -> std::vector<Finding>;
/// "s77 = 68, xindex = 2176": sizes first, then indices.
[[nodiscard]] auto witness_text(const Refuted& refuted) -> std::string;

}  // namespace assay
