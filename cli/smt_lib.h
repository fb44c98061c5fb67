// Proofs as SMT-LIB scripts, one file each: unsat means that any other solver agrees.
#pragma once
#include <string>
#include <vector>

#include "replay/runner/programs.h"
#include "replay/runner/prove.h"

namespace assay::cli {

/// Writes guard_3.smt2, obligation_0.smt2, bound_12.smt2 into the folder; gives the number written.
[[nodiscard]] auto dump_proofs(const std::string& folder, const Capture& capture,
                               const ProveReport& report) -> Result<int>;

/// Writes program_3_obligation_12_0.smt2 and so on; gives the number written.
[[nodiscard]] auto dump_programs(const std::string& folder,
                                 const std::vector<ProvedProgram>& programs) -> Result<int>;

}  // namespace assay::cli
