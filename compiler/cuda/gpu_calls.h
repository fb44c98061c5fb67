// Library calls of bound programs that a library for GPUs does: products, and convolutions that are
// such, by cuBLASLt, other convolutions and attention by cuDNN, dense copies by the driver. The
// rest runs on the host.
#pragma once
#include <memory>
#include <vector>

#include "compiler/runtime/bound.h"
#include "compiler/runtime/cuda/blas.h"
#include "compiler/runtime/cuda/dnn.h"

namespace assay {

class GpuLibraries {
 public:
  using Works = std::vector<std::unique_ptr<cuda::GpuWork>>;
  /// `may_round`: convolutions of float32 may round operands to TF32.
  GpuLibraries(cuda::Driver& driver, bool may_round) : driver_(driver), may_round_(may_round) {}
  /// What does the call, one work after the other. `places` are the addresses of buffers. Errors:
  /// unsupported, missing_tool: the call has to run on the host, and why.
  [[nodiscard]] auto prepare(const BoundCall& call, const std::vector<cuda::Address>& places)
      -> Result<Works>;
  /// Is there a library for the operator ("aten.mm.default", or "aten.mm")?
  [[nodiscard]] static auto has(std::string_view name) -> bool;
  /// Whether a library is the better one for a call that kernels could stand for, and does it.
  [[nodiscard]] auto takes(const BoundCall& call) -> bool;
  [[nodiscard]] auto prepare(const BoundCopy& copy, const std::vector<cuda::Address>& places)
      -> Result<Works>;
  /// Opened when first asked for. Errors: missing_tool.
  [[nodiscard]] auto blas() -> Result<cuda::Blas*>;
  [[nodiscard]] auto dnn() -> Result<cuda::Dnn*>;
  [[nodiscard]] auto may_round() const -> bool { return may_round_; }

 private:
  cuda::Driver& driver_;
  std::unique_ptr<cuda::Blas> blas_;
  std::unique_ptr<cuda::Dnn> dnn_;
  bool may_round_;
};

}  // namespace assay
