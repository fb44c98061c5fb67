#include "cli/executors.h"

#include "compiler/cpu/cpu.h"
#include "compiler/interpret/interpret.h"

namespace assay::cli {

void add_executor(Arguments& arguments, ExecutorOptions& options) {
  arguments.option("--executor", &options.executor,
                   "interpret, which checks every access, or cpu: machine code");
  arguments.option("--threads", &options.threads, "of --executor cpu; 0: one per processor");
}

auto make_executor(const ExecutorOptions& options, const OpTable& table)
    -> Result<std::unique_ptr<Executor>> {
  if (options.executor == "interpret") return std::make_unique<Interpreter>(table);
  if (options.executor == "cpu") {
    CpuOptions cpu;
    cpu.threads = options.threads;
    cpu.reuse = options.reuse;
    cpu.is_bound = options.bound;
    cpu.native.lanes = options.vectors ? 0 : 1;
    return std::make_unique<CpuExecutor>(table, cpu);
  }
  return std::unexpected(
      Error{ErrorCode::usage, fmt::format("--executor {}: interpret or cpu", options.executor)});
}

}  // namespace assay::cli
