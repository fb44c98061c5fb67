// The way that one run of a wrapper took, as a wrapper without branches, loops and inner functions.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/program/executor.h"
#include "core/ops/op_table.h"

namespace assay {

/// Does `call` run from its first statement to its last, each once, without inner functions?
[[nodiscard]] auto is_straight(const HostProgram& program) -> bool;

/// Runs a wrapper once: on these inputs (copied first), or made-up ones if null. Errors: of the
/// executor; of the run.
[[nodiscard]] auto run_wrapper(const std::string& text, const HostProgram& program,
                               const DatumList* inputs, const OpTable& table,
                               const ProgramRunOptions& options) -> Result<void>;

/// `call` with the statements that this run executed, in their order. What an inner function takes
/// and gives, and what stands in lists, is named directly; a name that is given a second time gets
/// a number. Errors: of run_wrapper; unsupported where the run is too long to write down.
[[nodiscard]] auto straight_program(const std::string& text, const HostProgram& program,
                                    const DatumList* inputs, const OpTable& table)
    -> Result<std::string>;

}  // namespace assay
