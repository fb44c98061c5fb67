// Verdicts on compiled programs, for people and for machines.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "replay/report/finding_text.h"
#include "replay/report/program_record.h"
#include "replay/report/trace_rows.h"
#include "replay/runner/programs.h"

namespace assay {

struct ObligationCounts {
  std::size_t proved = 0, refuted = 0, unknown = 0;
  std::map<std::string, std::size_t> tiers;  ///< by which how many were proved
  [[nodiscard]] auto total() const -> std::size_t { return proved + refuted + unknown; }
};
[[nodiscard]] auto count_obligations(const std::vector<ProvedProgram>& programs)
    -> ObligationCounts;
[[nodiscard]] auto state_of(const std::vector<ProvedProgram>& programs) -> ReportState;

/// `all`: every obligation, not only those that are not proved.
[[nodiscard]] auto programs_text(const std::vector<ProvedProgram>& programs, bool all,
                                 const Paint& paint) -> std::string;
/// Versioned JSON ("schema": "assay.prove_trace/1").
[[nodiscard]] auto programs_json(const std::vector<ProvedProgram>& programs,
                                 const std::string& file) -> std::string;

/// Where an obligation stands in its program: line and statement, and the access in the kernel.
[[nodiscard]] auto place_of(const WrapperObligation& obligation) -> std::string;

/// Of a program that the trace has: its symbols and guards, findings, every verdict with the guards
/// and facts that it rests on, and what was not understood or is assumed.
[[nodiscard]] auto record_verdicts(TraceWriter& writer, TraceId run, const RecordedProgram& program,
                                   const WrapperReport& report) -> Result<void>;

/// Writes a trace: one graph per program with launches, memory at the recorded sizes and verdicts.
/// `bytes` are those of the log or wrapper; of a log compilations and the graphs of their stages
/// are written too.
[[nodiscard]] auto record_programs(const std::string& path, const std::string& source,
                                   std::string_view bytes,
                                   const std::vector<ProvedProgram>& programs, const OpTable& table,
                                   int exit_code) -> Result<void>;

}  // namespace assay
