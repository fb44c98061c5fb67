// The executor that runs kernels on an NVIDIA GPU.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "compiler/program/executor.h"
#include "compiler/runtime/code_cache.h"
#include "compiler/runtime/cuda/launch_watch.h"
#include "core/ops/op_table.h"

namespace assay {

struct CudaState;  ///< the driver and what is loaded

struct CudaOptions {
  /// Accesses outside of a buffer do not happen and are findings.
  bool is_checked = false;
  /// Convolutions of float32 may round operands to TF32, as PyTorch's do by default.
  bool may_round = false;
  /// Launches of bound programs are made the way that is fastest here: measured when a program is
  /// bound, kept in `cache`. Last bits of sums depend on it. Not of checked code.
  bool is_tuned = false;
  CodeCache* cache = nullptr;          ///< of machine code; must outlive the executor
  cuda::LaunchWatch* watch = nullptr;  ///< told of every launch; must outlive the executor
};

/// Tensors are the host's: what launches need goes to the GPU, and comes back when the host looks
/// at it. Library calls that no library takes run on the reference kernels of `table`, which must
/// outlive the executor, and kernels without code in the interpreter, on the host.
class CudaExecutor final : public Executor {
 public:
  explicit CudaExecutor(const OpTable& table, CudaOptions options = {});
  ~CudaExecutor() override;
  CudaExecutor(const CudaExecutor&) = delete;
  auto operator=(const CudaExecutor&) -> CudaExecutor& = delete;
  [[nodiscard]] auto name() const -> std::string_view override { return "cuda"; }
  [[nodiscard]] auto is_checked() const -> bool override;
  /// Errors: missing_tool where there is no driver, no GPU or no code generator.
  [[nodiscard]] auto compile(const HostProgram& program) const
      -> Result<std::unique_ptr<CompiledProgram>> override;

 private:
  const OpTable& table_;
  std::shared_ptr<CudaState> state_;
};

}  // namespace assay
