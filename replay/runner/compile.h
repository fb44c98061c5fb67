// Compiles the graph of a capture into a program, runs it by an executor and compares it with the
// graph run by the reference kernels.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "compiler/faults/faults.h"
#include "compiler/program/executor.h"
#include "compiler/prove/wrapper_bounds.h"
#include "compiler/schedule/schedule.h"
#include "core/ops/op_table.h"
#include "replay/formats/capture.h"
#include "replay/interp/inputs.h"
#include "replay/runner/execute.h"
#include "replay/runner/first_values.h"

namespace assay {

struct CompileOptions {
  ScheduleOptions schedule;
  std::set<std::string> not_lowered;  ///< operators that stay library calls
  std::optional<Fault> fault;         ///< the program is made wrong on purpose
  std::string fault_at;               ///< of faults of kernels: only where this node is computed
};

/// Inputs in the order of the graph's placeholders, then the attributes it reads. Errors:
/// unsupported (an operator without a row, a higher-order operator), naming the node; bad_input
/// where a fault finds nothing to be wrong about.
[[nodiscard]] auto compile_graph(const Capture& capture, const OpTable& table,
                                 const CompileOptions& options = {}) -> Result<CompiledGraph>;
/// Names of the attributes that compile_graph makes inputs of, in order.
[[nodiscard]] auto attribute_inputs(const Graph& graph) -> std::vector<std::string>;

/// What the program takes: the inputs, then the attributes.
[[nodiscard]] auto program_inputs(const Graph& graph, const RunInputs& inputs) -> DatumList;

/// Every access and view of the program, for all sizes that the graph's guards admit. What lowering
/// relied on beside them is asserted by the program, hence a fact.
[[nodiscard]] auto prove_compiled(const Graph& graph, const CompiledGraph& compiled)
    -> WrapperReport;

/// One output (or changed input) of program and graph.
struct CompiledComparison {
  std::vector<TensorDifference> compared;
  std::vector<std::string> notes;
  ProgramRun run;
  bool is_checked = false;  ///< the executor looked at every access
  double seconds = 0;
};
/// Runs the program on these inputs and the graph on copies of them. What is further apart than
/// compare_tensors allows differs unless rounding, measured by runs in float64, explains it; where
/// intermediate results overflow, elements that are not finite are undecided, with a note, and so
/// is what rests on results that PyTorch leaves open (undefined_results.h). Outputs that share
/// memory with others or with inputs in only one of the two differ. `is_blind` is a fault: nothing
/// ever differs. Errors: of either run.
[[nodiscard]] auto compare_with_reference(const Graph& graph, const CompiledGraph& compiled,
                                          const Executor& executor, const RunInputs& inputs,
                                          const OpTable& table, bool is_blind = false)
    -> Result<CompiledComparison>;

/// What a graph and the program made of it compute on the same inputs.
struct ComparedValues {
  std::map<NodeId, std::vector<FirstValues>> graph;
  WrittenValues program;
};
/// Runs both anew, on copies of the inputs. Errors: of the program's run.
[[nodiscard]] auto compared_values(const Graph& graph, const CompiledGraph& compiled,
                                   const Executor& executor, const RunInputs& inputs,
                                   const OpTable& table) -> Result<ComparedValues>;

}  // namespace assay
