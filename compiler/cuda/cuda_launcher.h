// Launches and library calls of one run, statement by statement. Internal to compiler/cuda.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cuda/cuda_state.h"
#include "compiler/cuda/gpu_record.h"
#include "compiler/interpret/host_machine.h"

namespace assay {

/// A storage is on the host, on the GPU, or on both.
class CudaLauncher final : public KernelLauncher {
 public:
  /// `is_seeded`: random operators draw what kernels for them do not.
  CudaLauncher(CudaState& state, const std::map<std::string, LoadedKernel*>& kernels,
               const CompiledKernels& code, bool is_seeded);
  ~CudaLauncher() override;
  CudaLauncher(const CudaLauncher&) = delete;
  auto operator=(const CudaLauncher&) -> CudaLauncher& = delete;

  [[nodiscard]] auto launch(const std::string& name, const TileLaunch& launch)
      -> std::optional<Result<void>> override;
  [[nodiscard]] auto to_host(RunStorage& storage) -> Result<void> override;
  void host_wrote(RunStorage& storage) override;
  [[nodiscard]] auto calls(std::string_view name) const -> bool override;
  [[nodiscard]] auto call(const HostOp& op, const OpRow& row, const DatumList& args,
                          const Datum& result, const std::vector<RunStorage*>& storages,
                          std::size_t arg_tensors) -> Result<bool> override;
  [[nodiscard]] auto finish() -> Result<void> override { return collect(); }
  /// The statement that comes next.
  void at(const HostOp& op) { op_ = &op; }

 private:
  struct Mirror {
    cuda::Address address = 0;
    bool host_is_new = true, device_is_new = false;
  };
  /// Memory behind a buffer's parameter.
  struct Memory {
    cuda::Address address = 0;
    std::int64_t size_bytes = 0;
  };
  using Places = std::vector<cuda::Address>;

  /// With the host's contents, unless they are about to be written.
  auto on_device(RunStorage& storage, bool is_read = true) -> Result<Mirror*>;
  /// A library call, or what stands in its place, as a program of its own.
  auto steps_of(BoundCall call, const std::vector<RunStorage*>& storages) const -> BoundProgram;
  /// False where a step has neither code nor library.
  auto issue(const BoundProgram& made, const Places& places) -> Result<bool>;
  auto issue(const BoundCall& call, const Places& places) -> bool;
  auto issue(const BoundProgram& made, const BoundLaunch& launch, const Places& places)
      -> Result<bool>;
  auto run(const LoadedKernel& kernel, const GpuVariantKey& key, const GpuVariant& variant,
           const TileCode& code, const TileLaunch& launch) -> Result<void>;
  auto run(const LoadedKernel& kernel, const GpuVariantKey& key, const GpuVariant& variant,
           const TileLaunch& launch, const std::vector<Memory>& memory) -> Result<void>;
  /// What launches have left so far.
  auto collect() -> Result<void>;
  auto record_for(const TileKernel& kernel) -> Result<cuda::Address>;

  CudaState& state_;
  cuda::Driver& driver_;
  const std::map<std::string, LoadedKernel*>& kernels_;
  const CompiledKernels& code_;
  bool is_seeded_;
  std::map<RunStorage*, Mirror> mirrors_;
  std::vector<std::unique_ptr<cuda::GpuWork>> works_;  ///< issued, perhaps not over
  cuda::Address records_ = 0;
  std::vector<const TileKernel*> launched_;
  const HostOp* op_ = nullptr;
  std::int64_t number_ = 0;  ///< of launches so far
};

}  // namespace assay
