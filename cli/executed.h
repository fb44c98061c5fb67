// A capture compiled and run on an executor, held against its graph.
#pragma once
#include <memory>

#include "cli/executors.h"
#include "compiler/faults/faults.h"
#include "core/expr/eval.h"
#include "minifier/oracle/oracle.h"
#include "replay/formats/capture.h"

namespace assay::cli {

/// What is compiled, and for whom.
struct ExecutedOptions {
  ExecutorOptions executor;
  std::optional<Fault> fault;
  std::string fault_at = {};  ///< node whose kernel alone is wrong; empty: all
  Binding at;                 ///< empty: at the recorded sizes
};

/// "cpu", "cpu:short-loop" or "cpu:short-loop@add_3". Errors: usage.
[[nodiscard]] auto parse_executed(const std::string& text) -> Result<ExecutedOptions>;

/// Prints what differs, and which choices of the compiler that rests on. True if anything does.
/// Errors: of compiling and running.
[[nodiscard]] auto debug_executed(const Capture& capture, const OpTable& table,
                                  const ExecutedOptions& options) -> Result<bool>;

/// "it differs only with fuse:b:a (7 runs)", for a capture that differs. Errors as above.
[[nodiscard]] auto blame_text(const Capture& capture, const OpTable& table,
                              const ExecutedOptions& options) -> Result<std::string>;

/// Reproduces where program and graph differ or an access is wrong; what cannot be compiled is
/// invalid. The table must outlive the oracle.
[[nodiscard]] auto executor_oracle(const OpTable& table, const ExecutedOptions& options,
                                   const std::string& identity) -> std::unique_ptr<Oracle>;

}  // namespace assay::cli
