#include "compiler/cuda/tiled_interpreter.h"

#include <map>

#include "compiler/cuda/tuning.h"
#include "compiler/interpret/host_machine.h"

namespace assay {
namespace {

class TiledLauncher final : public KernelLauncher {
 public:
  TiledLauncher(const CompiledKernels& kernels, std::size_t way) : kernels_(kernels), way_(way) {}
  /// What is split runs here, all kernels in turn; all else in the machine.
  [[nodiscard]] auto launch(const std::string& name, const TileLaunch& launch)
      -> std::optional<Result<void>> override {
    if (!way_of(gpu(name), launch).is_split) return std::nullopt;
    auto split = *gpu(name).split(launch);
    split.join();
    return run(split, launch);
  }
  [[nodiscard]] auto is_checked() const -> bool override { return true; }

  [[nodiscard]] auto instead(const std::string& name, TileLaunch& launch)
      -> Result<const TileCode*> override {
    return fit(gpu(name), launch, way_of(gpu(name), launch).key);
  }

 private:
  struct Made {
    GpuVariant variant;
    TileCode code;
  };

  auto gpu(const std::string& name) -> const GpuKernel& {
    auto& known = gpus_[name];
    if (known == nullptr) known = std::make_unique<GpuKernel>(kernels_.at(name).kernel());
    return *known;
  }

  [[nodiscard]] auto way_of(const GpuKernel& gpu, const TileLaunch& launch) const -> GpuWay {
    auto ways = ways_of(gpu, launch);
    auto& way = ways[way_ < ways.size() ? way_ : 0];
    return way.is_split || gpu.variant(way.key) ? way : ways[0];
  }

  auto run(const SplitLaunch& split, const TileLaunch& launch) -> Result<void> {
    std::vector<std::unique_ptr<RunStorage>> parts;
    for (const auto bytes : split.parts_bytes)
      parts.push_back(
          std::make_unique<RunStorage>("parts", std::make_shared<Storage>(bytes), 1, false));
    const auto counters = split.counters * size_bytes(DType::int32);
    parts.push_back(
        std::make_unique<RunStorage>("arrived", std::make_shared<Storage>(counters), 1, true));
    std::ranges::fill(parts.back()->storage()->bytes(), std::byte{0});
    for (std::size_t i = 0; i < split.kernels.size(); ++i) {
      TileLaunch one = launch;
      one.extents = split.extents[i];
      for (const auto& storage : parts) one.arguments.push_back({.storage = storage.get()});
      for (const auto number : split.numbers) one.arguments.push_back({.integer = number});
      auto key = split.kernels[i]->key(one);
      // Parts end where their row does: threads of several rows loop apart, which the machine, all
      // of whose lanes loop together, does not know.
      if (key.choice.loops) key.choice.threads.z = 1;
      ASSAY_TRY(const auto* const code, fit(*split.kernels[i], one, key));
      std::string problem;
      one.report = [&](const RunFinding& finding) { problem = finding.message; };
      ASSAY_TRY_VOID(TileMachine(*code, one).run());
      if (!problem.empty()) return bad_input("{}: {}", code->kernel().name, problem);
    }
    return {};
  }

  auto fit(const GpuKernel& gpu, TileLaunch& launch, const GpuVariantKey& key)
      -> Result<const TileCode*> {
    auto& made = made_[{&gpu, key.code()}];
    if (made == nullptr) {
      ASSAY_TRY(auto variant, gpu.variant(key));
      auto fresh = std::make_unique<Made>(Made{std::move(variant), {}});
      ASSAY_TRY(fresh->code, TileCode::compile(fresh->variant.kernel()));
      made = std::move(fresh);
    }
    const auto& variant = made->variant;
    ASSAY_TRY(const auto shape, gpu.shape(key, variant, launch));
    const auto& kernel = variant.kernel();
    const bool is_placed = key.choice.is_placed();
    launch.blocks = is_placed ? tile_blocks(variant.tiled, key.choice) : variant.blocks;
    launch.grid = {shape.grid[0], shape.grid[1] / shape.ranks, shape.grid[2]};
    const auto extents = std::exchange(launch.extents, {});
    launch.extents.assign(kernel.axes.size(), 1);
    launch.arguments.resize(kernel.params.size());
    std::vector<std::uint64_t> numbers(kernel.params.size());
    variant.add_numbers(extents, shape, numbers);
    for (const auto* params : {&variant.tiled.extents, &variant.tiled.threads})
      for (const auto param : *params)
        launch.arguments[param].integer = static_cast<std::int64_t>(numbers[param]);
    for (std::size_t i = 0; i < kernel.params.size(); ++i)
      if (const auto& fixed = kernel.params[i].fixed) launch.arguments[i].integer = *fixed;
    return &made->code;
  }

  const CompiledKernels& kernels_;
  std::size_t way_;
  std::map<std::string, std::unique_ptr<GpuKernel>> gpus_;
  std::map<std::pair<const GpuKernel*, GpuVariantKey>, std::unique_ptr<Made>> made_;
};

class TiledProgram final : public CompiledProgram {
 public:
  TiledProgram(const HostProgram& program, CompiledKernels kernels, const OpTable& table,
               std::size_t way)
      : program_(program), kernels_(std::move(kernels)), table_(table), way_(way) {}
  [[nodiscard]] auto run(const DatumList& inputs, const ProgramRunOptions& options) const
      -> Result<ProgramRun> override {
    TiledLauncher launcher(kernels_, way_);
    return HostMachine(program_, kernels_, table_, options, &launcher).run(inputs);
  }

 private:
  const HostProgram& program_;
  CompiledKernels kernels_;
  const OpTable& table_;
  std::size_t way_;
};

}  // namespace

auto TiledInterpreter::compile(const HostProgram& program) const
    -> Result<std::unique_ptr<CompiledProgram>> {
  if (program.functions.empty()) return bad_input("the program has no function");
  ASSAY_TRY(auto kernels, compile_kernels(program));
  return std::make_unique<TiledProgram>(program, std::move(kernels), table_, way_);
}

}  // namespace assay
