// What `assay compile` says: the program, its kernels, the decisions, and what a check found.
#pragma once
#include <string>

#include "replay/report/paint.h"
#include "replay/runner/compile.h"
#include "replay/runner/program_memory.h"

namespace assay {

struct CompileReport {
  const Graph& graph;
  const CompiledGraph& compiled;
  const CompiledComparison* comparison = nullptr;  ///< null: not run
  bool kernels = false, decisions = false;
  const ProgramMemory* memory = nullptr;  ///< null: not planned
};

[[nodiscard]] auto compile_text(const CompileReport& report, const Paint& paint) -> std::string;
[[nodiscard]] auto compile_json(const CompileReport& report) -> std::string;
/// What `assay compile --check` says, and what a program that was run returns.
[[nodiscard]] auto check_text(const CompiledComparison& comparison, const Paint& paint)
    -> std::string;
[[nodiscard]] auto outputs_text(const ProgramRun& run) -> std::string;
/// "on the host: aten.sort.default (2)\n" for calls that left the device; else nothing.
[[nodiscard]] auto on_host_text(const std::map<std::string, int>& calls) -> std::string;
/// A difference, or a wrong access.
[[nodiscard]] auto has_findings(const CompiledComparison& comparison) -> bool;

}  // namespace assay
