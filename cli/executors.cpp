#include "cli/executors.h"

#include "compiler/cpu/cpu.h"
#include "compiler/cuda/cuda.h"
#include "compiler/cuda/tiled_interpreter.h"
#include "compiler/interpret/interpret.h"
#include "replay/cache/code_store.h"

namespace assay::cli {

void add_launch_timeout(Arguments& arguments, ExecutorOptions& options) {
  arguments.option("--launch-timeout", &options.launch_timeout,
                   "of --executor cuda: seconds after which a launch is taken to hang; 0: never",
                   kShowsDefault);
}

void add_executor(Arguments& arguments, ExecutorOptions& options) {
  arguments.option("--executor", &options.executor,
                   "interpret, which checks every access; cpu: machine code; cuda: an NVIDIA GPU; "
                   "tiles: interpret what the GPU would run");
  arguments.option("--threads", &options.threads, "of --executor cpu; 0: one per processor");
  add_launch_timeout(arguments, options);
  arguments.flag("--tune", options.tune,
                 "of --executor cuda: measure tiles and threads of each launch and take the "
                 "fastest, from then on; last bits of sums may depend on it");
  arguments.flag("--no-code-cache", options.no_code_cache,
                 "generate machine code anew, and keep none");
}

namespace {
/// Machine code of this user's earlier runs; null: none is kept.
auto code_cache(const ExecutorOptions& options) -> CodeCache* {
  if (options.no_code_cache) return nullptr;
  static const auto kStore = [] {
    const auto path = code_store_path();
    return path.empty() ? nullptr : open_code_store(path);
  }();
  return kStore.get();
}
}  // namespace

auto make_executor(const ExecutorOptions& options, const OpTable& table)
    -> Result<std::unique_ptr<Executor>> {
  if (options.executor == "interpret") return std::make_unique<Interpreter>(table);
  if (options.executor == "cpu") {
    CpuOptions cpu;
    cpu.threads = options.threads;
    cpu.reuse = options.reuse;
    cpu.is_bound = options.bound;
    cpu.is_checked = options.redzones;
    cpu.native.lanes = options.vectors ? 0 : 1;
    cpu.native.cache = code_cache(options);
    return std::make_unique<CpuExecutor>(table, cpu);
  }
  if (options.executor == "tiles") return std::make_unique<TiledInterpreter>(table);
  if (options.executor == "cuda")
    return std::make_unique<CudaExecutor>(table, CudaOptions{.is_checked = options.redzones,
                                                             .may_round = options.tf32,
                                                             .is_tuned = options.tune,
                                                             .cache = code_cache(options),
                                                             .watch = options.watch});
  return std::unexpected(
      Error{ErrorCode::usage,
            fmt::format("--executor {}: interpret, cpu, cuda or tiles", options.executor)});
}

}  // namespace assay::cli
