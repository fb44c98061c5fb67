// Compiles the graph of a capture into a program, runs it by an executor and compares it with the
// graph run by the reference kernels.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "compiler/program/executor.h"
#include "compiler/schedule/schedule.h"
#include "core/ops/op_table.h"
#include "replay/formats/capture.h"
#include "replay/interp/inputs.h"
#include "replay/runner/execute.h"

namespace assay {

struct CompileOptions {
  ScheduleOptions schedule;
  std::set<std::string> not_lowered;  ///< operators that stay library calls
};

/// Inputs in the order of the graph's placeholders, then the attributes it reads. Errors:
/// unsupported (an operator without a row, a higher-order operator), naming the node.
[[nodiscard]] auto compile_graph(const Capture& capture, const OpTable& table,
                                 const CompileOptions& options = {}) -> Result<CompiledGraph>;
/// Names of the attributes that compile_graph makes inputs of, in order.
[[nodiscard]] auto attribute_inputs(const Graph& graph) -> std::vector<std::string>;

/// One output (or changed input) of program and graph.
struct CompiledComparison {
  std::vector<TensorDifference> compared;
  std::vector<std::string> notes;
  ProgramRun run;
  double seconds = 0;
};
/// Runs the program on these inputs and the graph on copies of them. Errors: of either run.
[[nodiscard]] auto compare_with_reference(const Graph& graph, const CompiledGraph& compiled,
                                          const Executor& executor, const RunInputs& inputs,
                                          const OpTable& table) -> Result<CompiledComparison>;

}  // namespace assay
