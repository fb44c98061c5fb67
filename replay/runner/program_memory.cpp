#include "replay/runner/program_memory.h"

#include <algorithm>
#include <map>

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

/// Numbers that a launch reads from data (`buf11.item()`) and its kernel takes for a real number:
/// no grid and no extent depends on them, so any will do. With the buffers that they are read from.
auto replace_real_elements(const HostProgram& program, HostLaunch& launch)
    -> std::vector<std::string> {
  std::vector<std::string> read;
  const auto source = program.kernels.find(launch.kernel);
  if (source == program.kernels.end() || source->second.kernel == nullptr) return read;
  const auto& kernel = *source->second.kernel;
  std::vector<const TileParam*> passed;  // as the host machine matches them
  for (const auto& param : kernel.params)
    if (param.kind != TileParam::Kind::block) passed.push_back(&param);
  const auto fits = [&] {
    return launch.args.size() == passed.size() ||
           launch.args.size() == passed.size() + kernel.launcher_args.size();
  };
  if (!fits()) std::erase_if(passed, [](const TileParam* param) { return !param->is_passed; });
  if (!fits()) return read;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const auto* element = std::get_if<HostElementOf>(&launch.args[i].value);
    if (element == nullptr || passed[i]->kind != TileParam::Kind::scalar ||
        !is_floating(passed[i]->dtype))
      continue;
    read.push_back(element->buffer);
    launch.args[i].value = Expr(1);
  }
  return read;
}

/// Binds a program of which launches read numbers from data, where that does not matter.
class DataFreeBinder {
 public:
  explicit DataFreeBinder(const HostProgram& program) : program_(program), copy_(program) {
    for (std::size_t f = 0; f < copy_.functions.size(); ++f)
      for (std::size_t i = 0; i < copy_.functions[f].ops.size(); ++i) {
        auto& op = copy_.functions[f].ops[i];
        const auto* original = &program.functions[f].ops[i];
        original_[&op] = original;
        auto* launch = std::get_if<HostLaunch>(&op.what);
        if (launch == nullptr) continue;
        if (auto read = replace_real_elements(program, *launch); !read.empty())
          read_[original] = std::move(read);
      }
  }

  auto bind(const CompiledKernels& kernels, const OpTable& table, const DatumList& inputs)
      -> Result<BoundProgram> {
    if (read_.empty()) return bind_program(program_, kernels, table, inputs);
    ASSAY_TRY(auto bound, bind_program(copy_, kernels, table, inputs));
    for (std::size_t i = 0; i < bound.steps.size(); ++i) {
      const auto& op =
          std::visit([&](auto& step) { return step.op = original_.at(step.op); }, bound.steps[i]);
      if (const auto read = read_.find(op); read != read_.end())
        for (const auto& name : read->second)
          if (!is_input(name)) ASSAY_TRY_VOID(live_until(bound, name, i));
    }
    return bound;
  }

 private:
  /// Those stand in no arena.
  auto is_input(const std::string& name) const -> bool {
    const auto& inputs = program_.functions.back().inputs;
    return std::ranges::find(inputs, name) != inputs.end();
  }
  /// The host reads the buffer just before that step.
  static auto live_until(BoundProgram& bound, const std::string& name, std::size_t step)
      -> Result<void> {
    const auto buffer = std::ranges::find(bound.buffers, name, &BoundBuffer::name);
    if (buffer == bound.buffers.end())
      return unsupported("{} is read by the host and has no buffer of its own", name);
    buffer->last = std::max(buffer->last, step);
    return {};
  }

  const HostProgram& program_;
  HostProgram copy_;
  std::map<const HostOp*, const HostOp*> original_;
  std::map<const HostOp*, std::vector<std::string>> read_;  ///< by launch
};

}  // namespace

auto plan_program(const HostProgram& program, const DatumList& inputs, const OpTable& table,
                  const MemoryPlanOptions& options) -> Result<ProgramMemory> {
  ASSAY_TRY(const auto kernels, compile_kernels(program));
  ProgramMemory memory;
  ASSAY_TRY(memory.bound, DataFreeBinder(program).bind(kernels, table, inputs));
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
  for (const auto& made : reuse_decisions(memory.bound, memory.plan, options))
    compiled.decisions.push_back(
        {CompileDecision::Kind::reuse, made.accepted, made.buffer, made.other, made.reason});
  return memory;
}

}  // namespace assay
