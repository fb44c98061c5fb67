// What the host does when a captured graph meets new sizes, one binding after the other:
// binding_costs FILE s0=3,s1=8 s0=4,s1=8 ... prints milliseconds, the least of some rounds; what
// takes the place of steps is what a GPU would have, were its libraries to take all calls.
#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include "compiler/cuda/call_kernels.h"
#include "compiler/cuda/gpu_code.h"
#include "compiler/cuda/stages.h"
#include "compiler/interpret/host_machine.h"
#include "compiler/runtime/bound.h"
#include "compiler/runtime/memory_plan.h"
#include "core/base/clock.h"
#include "replay/bundle/open.h"
#include "replay/interp/inputs.h"
#include "replay/runner/compile.h"

namespace assay {
namespace {

struct Costs {
  std::vector<double> bind, replace, plan;  ///< s
};
auto least_ms(const std::vector<double>& all) -> double {
  return std::ranges::min(all) * 1e3;
}

/// "s0=3,s1=8".
auto sizes_of(const ShapeEnv& env, const std::string& text) -> Binding {
  Binding at;
  for (const auto word : std::views::split(text, ',')) {
    const std::string part(word.begin(), word.end());
    const auto equals = part.find('=');
    if (const auto* symbol = env.find(part.substr(0, equals)))
      at[symbol->expr] = Expr(std::int64_t{std::stoll(part.substr(equals + 1))});
  }
  return at;
}

auto run(const std::string& file, const std::vector<std::string>& sizes) -> Result<void> {
  const auto table = build_op_table();
  ASSAY_TRY(const auto capture, open_capture(file, {}));
  ASSAY_TRY(const auto compiled, compile_graph(capture, table));
  ASSAY_TRY(const auto kernels, compile_kernels(compiled.program));
  std::vector<DatumList> inputs;
  for (const auto& text : sizes) {
    ASSAY_TRY(const auto given, inputs_at(capture, sizes_of(capture.graph.env, text)));
    inputs.push_back(program_inputs(capture.graph, given));
  }
  constexpr int kRounds = 21;
  std::vector<Costs> costs(sizes.size());
  MemoryPlan plan;
  Binder binder(compiled.program, kernels, table);
  CallKernels calls(table);
  KernelStages stages;
  std::map<std::string, GpuKernel> gpu;
  for (const auto& [name, code] : kernels) gpu.try_emplace(name, code.kernel());
  std::size_t steps = 0, buffers = 0;
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      auto start = Clock::now();
      ASSAY_TRY(auto bound, binder.bind(inputs[i]));
      costs[i].bind.push_back(seconds_since(start));
      start = Clock::now();
      calls.expand(bound, [](const BoundCall&) { return true; });
      stages.expand(bound, [&](const std::string& name) -> const GpuKernel* {
        const auto known = gpu.find(name);
        return known == gpu.end() ? nullptr : &known->second;
      });
      costs[i].replace.push_back(seconds_since(start));
      start = Clock::now();
      plan = plan_memory(bound, {}, &plan);
      costs[i].plan.push_back(seconds_since(start));
      steps = bound.steps.size();
      buffers = bound.buffers.size();
    }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    fmt::print(
        "{} at {}: {} steps, {} buffers, bind {:.3f} ms (first {:.3f}), replace {:.3f} ms, plan "
        "{:.3f} ms\n",
        file, sizes[i], steps, buffers, least_ms(costs[i].bind), costs[i].bind[0] * 1e3,
        least_ms(costs[i].replace), least_ms(costs[i].plan));
  return {};
}

}  // namespace
}  // namespace assay

auto main(int count, char** values) -> int {
  const std::vector<std::string> given(values + 1, values + count);
  if (given.size() < 2) return 2;
  if (const auto done = assay::run(given[0], {given.begin() + 1, given.end()}); !done) {
    fmt::print(stderr, "{}\n", done.error().message);
    return 1;
  }
  return 0;
}
