#include "replay/runner/program_memory.h"

#include "replay/runner/compile.h"

namespace assay {
namespace {

/// Tensors without contents, numbers, and nothing for what the text does not tell.
auto example_layouts(const HostProgram& program) -> Result<DatumList> {
  DatumList inputs;
  for (const auto& input : program.functions.back().inputs) {
    auto& given = inputs.emplace_back();
    if (const auto known = program.examples.find(input); known != program.examples.end()) {
      const auto& example = known->second;
      ASSAY_TRY(given.value, Tensor::allocate(example.dtype, example.sizes, example.strides, {},
                                              Storage::Memory::none));
    } else if (const auto number = program.example_numbers.find(input);
               number != program.example_numbers.end()) {
      given.value = Expr(number->second);
    }
  }
  return inputs;
}

}  // namespace

auto plan_program(const HostProgram& program, const DatumList& inputs, const OpTable& table,
                  const MemoryPlanOptions& options) -> Result<ProgramMemory> {
  ASSAY_TRY(const auto kernels, compile_kernels(program));
  ProgramMemory memory;
  ASSAY_TRY(memory.bound, bind_program(program, kernels, table, inputs));
  memory.plan = plan_memory(memory.bound, options);
  memory.broken = check_plan(memory.bound, memory.plan);
  return memory;
}

auto plan_as_recorded(const HostProgram& program, const OpTable& table) -> Result<ProgramMemory> {
  ASSAY_TRY(const auto inputs, example_layouts(program));
  return plan_program(program, inputs, table);
}

auto plan_compiled(const Graph& graph, CompiledGraph& compiled, const RunInputs& inputs,
                   const OpTable& table, const MemoryPlanOptions& options)
    -> Result<ProgramMemory> {
  ASSAY_TRY(auto memory,
            plan_program(compiled.program, program_inputs(graph, inputs), table, options));
  for (const auto& made : memory.plan.decisions)
    compiled.decisions.push_back(
        {CompileDecision::Kind::reuse, made.accepted, made.buffer, made.other, made.reason});
  return memory;
}

}  // namespace assay
