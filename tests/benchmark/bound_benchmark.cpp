// Host time of one call of a compiled program: statement by statement, bound, and the step list
// alone. Kernels work on few elements, so what is measured is not they.
#include <benchmark/benchmark.h>

#include "compiler/cpu/cpu.h"
#include "compiler/runtime/bound_run.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

auto table() -> const OpTable& {
  static const auto kRows = build_op_table();
  return kRows;
}

/// A chain of `launches` sums of rows of 4 x 4 elements, each a kernel of its own.
auto chain(std::int64_t launches) -> testing::SmallGraph {
  testing::SmallGraph graph;
  graph.inputs = "x: f32[s0, 4]; y: f32[s0, 4]; n: Sym(s0)";
  std::string last = "x";
  for (std::int64_t i = 0; i < launches; ++i) {
    const auto at = std::to_string(i);
    graph.body += "m" + at + " = aten.sum.dim_IntList(" + last + ", [" + (i % 2 == 0 ? "1" : "0") +
                  "], True)\n";
    graph.body += "a" + at + " = aten.add.Tensor(m" + at + ", y)\n";
    last = "a" + at;
  }
  graph.outputs = last;
  return graph;
}

struct Ready {
  CompiledGraph graph;
  DatumList inputs;
  std::int64_t launches = 0;
};
auto ready(std::int64_t launches) -> Ready {
  const auto small = chain(launches);
  const auto capture = testing::capture_of(small);
  auto compiled = compile_graph(*capture, table());
  const auto inputs = testing::inputs_of(small, *capture, "s0=4");
  Ready made{*std::move(compiled), program_inputs(capture->graph, *inputs), 0};
  made.launches = testing::kernel_count(made.graph);
  return made;
}

void run(benchmark::State& state, bool is_bound) {
  const auto given = ready(state.range(0));
  const CpuExecutor executor(table(), {.threads = 1, .is_bound = is_bound});
  const auto program = executor.compile(given.graph.program);
  if (!program) return state.SkipWithError(program.error().message.c_str());
  for (auto _ : state) {
    const auto done = (*program)->run(given.inputs, {});
    if (!done) return state.SkipWithError(done.error().message.c_str());
    benchmark::DoNotOptimize(done->outputs.data());
  }
  state.counters["launches"] = static_cast<double>(given.launches);
}
void Statements(benchmark::State& state) {
  run(state, false);
}
void Bound(benchmark::State& state) {
  run(state, true);
}

/// Launches that do nothing: what is left is the host.
class NoDevice final : public BoundDevice {
 public:
  [[nodiscard]] auto launch(const BoundProgram&, const BoundLaunch&,
                            const LaunchArguments& arguments, ProgramRun&) const
      -> Result<void> override {
    benchmark::DoNotOptimize(arguments.pointers);
    return {};
  }
};
void HostOnly(benchmark::State& state) {
  const auto given = ready(state.range(0));
  const auto kernels = compile_kernels(given.graph.program);
  const NoDevice device;
  BindingCache cache(given.graph.program, *kernels, table(), device, {});
  for (auto _ : state) {
    const auto found = cache.find(given.inputs);
    if (!found) return state.SkipWithError(found.error().message.c_str());
    const auto done = (*found)->run(given.inputs);
    benchmark::DoNotOptimize(done->outputs.data());
  }
  state.counters["launches"] = static_cast<double>(given.launches);
}
/// What a call at sizes that are new to it costs before anything runs.
void Bind(benchmark::State& state) {
  const auto given = ready(state.range(0));
  const auto kernels = compile_kernels(given.graph.program);
  for (auto _ : state) {
    const auto bound = bind_program(given.graph.program, *kernels, table(), given.inputs);
    if (!bound) return state.SkipWithError(bound.error().message.c_str());
    benchmark::DoNotOptimize(bound->steps.data());
  }
  state.counters["launches"] = static_cast<double>(given.launches);
}
void PlanMemory(benchmark::State& state) {
  const auto given = ready(state.range(0));
  const auto kernels = compile_kernels(given.graph.program);
  const auto bound = bind_program(given.graph.program, *kernels, table(), given.inputs);
  for (auto _ : state) benchmark::DoNotOptimize(plan_memory(*bound, {}).arena_bytes);
}
BENCHMARK(Bind)->Arg(100)->Unit(benchmark::kMicrosecond);
BENCHMARK(PlanMemory)->Arg(100)->Unit(benchmark::kMicrosecond);
BENCHMARK(Statements)->Arg(1)->Arg(10)->Arg(100);
BENCHMARK(Bound)->Arg(1)->Arg(10)->Arg(100);
BENCHMARK(HostOnly)->Arg(1)->Arg(10)->Arg(100);

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
