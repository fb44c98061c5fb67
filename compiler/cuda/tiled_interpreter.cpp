#include "compiler/cuda/tiled_interpreter.h"

#include <map>

#include "compiler/cuda/gpu_code.h"
#include "compiler/interpret/host_machine.h"

namespace assay {
namespace {

class TiledLauncher final : public KernelLauncher {
 public:
  explicit TiledLauncher(const CompiledKernels& kernels) : kernels_(kernels) {}
  [[nodiscard]] auto launch(const std::string&, const TileLaunch&)
      -> std::optional<Result<void>> override {
    return std::nullopt;
  }
  [[nodiscard]] auto is_checked() const -> bool override { return true; }

  [[nodiscard]] auto instead(const std::string& name, TileLaunch& launch)
      -> Result<const TileCode*> override {
    const GpuKernel gpu(kernels_.at(name).kernel());
    const auto key = gpu.key(launch);
    auto& made = made_[{name, key}];
    if (made == nullptr) {
      ASSAY_TRY(auto variant, gpu.variant(key));
      made = std::make_unique<Made>(Made{std::move(variant), {}});
      ASSAY_TRY(made->code, TileCode::compile(made->variant.kernel));
    }
    const auto& variant = made->variant;
    ASSAY_TRY(const auto shape, gpu.shape(key, variant, launch));
    launch.blocks = variant.blocks;
    launch.grid = {shape.grid[0], shape.grid[1], shape.grid[2]};
    const auto extents = std::exchange(launch.extents, {});
    launch.extents.assign(variant.kernel.axes.size(), 1);
    launch.arguments.resize(variant.kernel.params.size());
    for (std::size_t i = 0; i < variant.extents.size(); ++i)
      launch.arguments[variant.extents[i]].integer = extents[i];
    for (std::size_t i = 0; i < variant.kernel.params.size(); ++i)
      if (const auto& fixed = variant.kernel.params[i].fixed) launch.arguments[i].integer = *fixed;
    return &*made->code;
  }

 private:
  struct Made {
    GpuVariant variant;
    std::optional<TileCode> code;
  };
  const CompiledKernels& kernels_;
  std::map<std::pair<std::string, GpuVariantKey>, std::unique_ptr<Made>> made_;
};

class TiledProgram final : public CompiledProgram {
 public:
  TiledProgram(const HostProgram& program, CompiledKernels kernels, const OpTable& table)
      : program_(program), kernels_(std::move(kernels)), table_(table) {}
  [[nodiscard]] auto run(const DatumList& inputs, const ProgramRunOptions& options) const
      -> Result<ProgramRun> override {
    TiledLauncher launcher(kernels_);
    return HostMachine(program_, kernels_, table_, options, &launcher).run(inputs);
  }

 private:
  const HostProgram& program_;
  CompiledKernels kernels_;
  const OpTable& table_;
};

}  // namespace

auto TiledInterpreter::compile(const HostProgram& program) const
    -> Result<std::unique_ptr<CompiledProgram>> {
  if (program.functions.empty()) return bad_input("the program has no function");
  CompiledKernels kernels;
  for (const auto& [key, source] : program.kernels) {
    if (!source.kernel) return unsupported("kernel {}: {}", key, source.not_read);
    ASSAY_TRY(auto code, TileCode::compile(*source.kernel));
    kernels.emplace(key, std::move(code));
  }
  return std::make_unique<TiledProgram>(program, std::move(kernels), table_);
}

}  // namespace assay
