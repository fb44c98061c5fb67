// Running compiled programs, for `run` and `debug`.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "cli/executors.h"
#include "core/base/result.h"
#include "replay/bundle/bundle.h"
#include "replay/formats/capture.h"
#include "replay/report/verdict.h"

namespace assay {
class RandomState;
}

namespace assay::cli {

struct CompiledOptions {
  std::string file, inputs, blocks, seed, bundle, trace;
  ExecutorOptions executor{.executor = {}};  ///< not named: interpret
  bool check = false, json = false;
};
void add_compiled(Arguments& arguments, CompiledOptions& options);
/// Generators with the seed that --seed names, of the PyTorch that a capture was made with if it
/// says so; null without. Errors: usage.
[[nodiscard]] auto seeded_generators(const CompiledOptions& options,
                                     const Capture* capture = nullptr)
    -> Result<std::shared_ptr<RandomState>>;
/// What `--inputs` names, else what the program was packed with. Errors: of the reader.
[[nodiscard]] auto answers_for(const CompiledOptions& options, const ProgramBundle& program)
    -> Result<std::optional<ProgramAnswers>>;
/// Program, inputs and verdict as one file.
[[nodiscard]] auto pack_program(const std::string& path, const CompiledOptions& options,
                                ProgramBundle program, const Verdict& verdict) -> Result<void>;

/// Every stage of a log's compilations, at the sizes of `verdict`. Errors: usage, of the readers.
[[nodiscard]] auto stages_of(const CompiledOptions& options, const ProgramBundle& program,
                             const VerdictOptions& verdict) -> Result<StageReport>;

/// Runs a TORCH_TRACE log or wrapper. Errors: missing_tool, of the readers.
[[nodiscard]] auto execute_compiled(const CompiledOptions& options, const ProgramBundle& program)
    -> Result<LogExecution>;
/// 1 where something was found and `judges`, 5 where a program did not run.
[[nodiscard]] auto exit_code(const LogExecution& execution, bool judges) -> int;
/// The same, printed; with `bundle` packed too.
[[nodiscard]] auto run_compiled(const CompiledOptions& options, const ProgramBundle& program,
                                bool judges) -> Result<int>;

}  // namespace assay::cli
