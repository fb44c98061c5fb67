// Executes the compiled programs of a TORCH_TRACE log, or a wrapper, on given inputs.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/program/executor.h"
#include "core/base/result.h"
#include "core/ops/op_table.h"
#include "replay/formats/program_answers.h"
#include "replay/runner/first_values.h"
#include "replay/runner/program_memory.h"

namespace assay {

/// How close a tensor comes to what it should be.
struct TensorDifference {
  std::string what;     ///< "output 0", "gradient 2", "input 1 after"
  std::string message;  ///< empty: equal within what the dtype allows
  double error = 0;     ///< largest, in units of the tolerance
};

/// Element by element in row-major order, whatever the sizes; `tolerance` is absolute, two NaNs are
/// equal.
[[nodiscard]] auto compare_elements(const Tensor& actual, const Tensor& expected, double tolerance)
    -> TensorDifference;

struct ProgramExecution {
  std::string name;            ///< "0/0 inductor_output_code#2", or the file
  std::string role;            ///< "inference", "forward", "backward"
  int log_line = 0;            ///< of the event
  std::optional<Error> error;  ///< it did not run to its end
  ProgramRun run;
  double seconds = 0;
  std::string text;       ///< of the wrapper
  HostProgram program;    ///< as it was read
  WrittenValues written;  ///< by statements of `program`; with ExecuteOptions::keep_values
  /// At the sizes of the run, or why there is none; with ExecuteOptions::keep_values.
  Result<ProgramMemory> memory = unsupported("it was not asked for");
};

struct LogExecution {
  std::vector<ProgramExecution> programs;
  std::vector<TensorDifference> compared;  ///< with the recorded answers, if there are any
  std::vector<std::string> notes;          ///< what could not be compared, and why
  /// Inputs were given; else sizes are those of the recording and contents made up.
  bool has_inputs = false;
};

struct ExecuteOptions {
  ProgramRunOptions run;
  /// Of the last compilation that has a program; made-up contents without.
  const ProgramAnswers* answers = nullptr;
  const Executor* executor = nullptr;  ///< the interpreter without
  bool keep_values = false;  ///< the first of what every launch writes, and where buffers stand
};

/// A program with what it is called: in a log by compilation and event, else the file.
struct NamedProgram {
  std::string name;
  HostProgram program;
};
/// Programs of a log or wrapper as they are read. Errors: as execute_programs.
[[nodiscard]] auto read_programs(std::string_view bytes, const std::string& name)
    -> Result<std::vector<NamedProgram>>;

/// Backward programs get what the forward one saved. Errors: of the readers, naming `name`;
/// unsupported where a log holds no program. What a program refuses is in its row.
[[nodiscard]] auto execute_programs(std::string_view bytes, const std::string& name,
                                    const OpTable& table, const ExecuteOptions& options)
    -> Result<LogExecution>;

/// Metadata exactly; float32 and float64 within 2e-5 of the largest magnitude, narrower floats
/// within two units, integers and truth values exactly.
[[nodiscard]] auto compare_tensors(const Tensor& actual, const Tensor& expected)
    -> TensorDifference;
/// The same; sums alone where nothing else was recorded.
[[nodiscard]] auto compare_tensors(const Tensor& actual, const AnsweredTensor& expected)
    -> TensorDifference;

}  // namespace assay
