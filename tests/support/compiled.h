// Small graphs, compiled and run beside the reference.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/runtime/bound.h"
#include "replay/runner/compile.h"

namespace assay::testing {

/// A graph in short: `inputs` as "x: f32[s0, 4]; i: i64[3]; n: Sym(s0)", row-major where no strides
/// follow; `body` as lines of the text form with `aten.` for `torch.ops.aten.`; `outputs` as names.
struct SmallGraph {
  std::string inputs, body, outputs;
  std::int64_t low = -2, high = 2;  ///< whole numbers among the inputs, both ends included
};
[[nodiscard]] auto graph_text(const SmallGraph& graph) -> std::string;
[[nodiscard]] auto capture_of(const SmallGraph& graph) -> Result<Capture>;
[[nodiscard]] auto compiled(const SmallGraph& graph, const CompileOptions& options = {})
    -> Result<CompiledGraph>;
/// Inputs at sizes given as "s0=3", contents by chance.
[[nodiscard]] auto inputs_of(const SmallGraph& graph, const Capture& capture,
                             const std::string& sizes, std::uint32_t seed = 1) -> Result<RunInputs>;
/// A graph compiled and bound to its inputs at some sizes. What is bound points into it.
struct BoundGraph {
  std::unique_ptr<CompiledGraph> compiled;
  CompiledKernels kernels;
  DatumList inputs;
  BoundProgram bound;
};
[[nodiscard]] auto bound_graph(const SmallGraph& graph, const OpTable& table,
                               const std::string& sizes = "") -> Result<BoundGraph>;
/// Everything in which program and graph differ at these sizes, fused and not, also wrong accesses
/// and broken rules of kernels; empty if all is well.
[[nodiscard]] auto problems(const SmallGraph& graph, const std::vector<std::string>& sizes = {""})
    -> std::string;
/// Kernels and library calls of a program.
[[nodiscard]] auto kernel_count(const CompiledGraph& compiled) -> int;
[[nodiscard]] auto call_count(const CompiledGraph& compiled) -> int;
/// "join b a: same loops" for every decision about fusion.
[[nodiscard]] auto fusions(const CompiledGraph& compiled) -> std::vector<std::string>;

/// A test of `problems`, by name.
struct CompiledRow {
  std::string name;
  SmallGraph graph;
  std::vector<std::string> sizes = {"s0=3", "s0=1", "s0=7"};
};
[[nodiscard]] inline auto row_name(const ::testing::TestParamInfo<CompiledRow>& row)
    -> std::string {
  return row.param.name;
}

}  // namespace assay::testing
