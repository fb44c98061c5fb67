// A capture compiled and run on an executor, held against its graph.
#pragma once
#include "cli/executors.h"
#include "core/expr/eval.h"
#include "replay/formats/capture.h"

namespace assay::cli {

/// Prints what differs, at the recorded sizes or at those given, and which choices of the compiler
/// that rests on. True if anything does. Errors: of compiling and running.
[[nodiscard]] auto debug_executed(const Capture& capture, const OpTable& table,
                                  const ExecutorOptions& executor, const Binding& at)
    -> Result<bool>;

}  // namespace assay::cli
