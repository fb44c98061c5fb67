// Compiled programs with their verdicts: what `assay prove LOG` prints, records and dumps.
#pragma once
#include <string>
#include <vector>

#include "cli/trace_record.h"
#include "compiler/prove/wrapper_bounds.h"

namespace assay::cli {

struct ProvedProgram {
  std::string name;  ///< "0/0 inductor_output_code#2", or the file
  int log_line = 0;  ///< of the event, 0 for a wrapper file
  std::string text;  ///< of the wrapper
  WrapperReport report;
};

/// Verdict, tier, and witness or reason of the row.
void fill_answer(ProofRow& row, const Answer& answer,
                 const std::function<std::string(const Refuted&)>& witness);

/// Writes a trace: one graph per program with its symbols and guards, findings, and every verdict
/// with the guards and facts that it rests on.
[[nodiscard]] auto record_programs(const std::string& path, const std::string& source,
                                   const std::vector<ProvedProgram>& programs, int exit_code)
    -> Result<void>;

/// One SMT-LIB script per proof, `program_3_obligation_12_0.smt2`; the number written.
[[nodiscard]] auto dump_programs(const std::string& folder,
                                 const std::vector<ProvedProgram>& programs) -> Result<int>;
/// Writes folder/stem.smt2: unsat means that the claim follows.
[[nodiscard]] auto write_smt_lib(const std::string& folder, const std::string& stem,
                                 const std::string& comment, const Query& query) -> Result<void>;

}  // namespace assay::cli
