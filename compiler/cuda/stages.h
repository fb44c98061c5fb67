// Few long rows that are read again, such as those of a batch norm whose channels are few, as one
// kernel per reduction and one for what is made of them: each reduction can be taken in parts then
// (`splitting`), and the rest has as many programs as it has elements. Scans along few long rows in
// parts.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/cuda/gpu_code.h"
#include "compiler/program/kernel.h"
#include "compiler/program/kernel_plan.h"
#include "compiler/runtime/bound.h"
#include "core/base/result.h"

namespace assay {

/// Kernels of the same axes, in order. Each takes the parameters of the kernel, then a buffer for
/// every value that is reduced, then the extents of the parallel axes as numbers.
struct StagedKernel {
  std::vector<std::shared_ptr<const TileKernel>> kernels;
  std::vector<DType> reduced;         ///< dtypes of those buffers
  std::vector<std::size_t> parallel;  ///< axes
};
/// Errors: unsupported (atomic writes, asserts, scans).
[[nodiscard]] auto stage_kernel(const TileKernel& kernel, const KernelPlan& plan)
    -> Result<StagedKernel>;

/// A scan of few long rows in parts, as three kernels: what the parts make, what all parts up to
/// each make, and the scans of all parts, each behind those before it. They have the axes of the
/// kernel, of which the scanned one is a part of it, and parts; and take its parameters, buffers of
/// totals and of what all parts up to each make, then numbers: how long a part is, the extent of
/// the axis, how many parts there are, and the extents of the parallel axes.
struct PartedScan {
  std::vector<std::shared_ptr<const TileKernel>> kernels;
  std::size_t axis = 0;
  DType dtype = DType::float32;
  std::vector<std::size_t> parallel;
};
/// Errors: unsupported (several scans, scans backwards, reductions beside them).
[[nodiscard]] auto part_scan(const TileKernel& kernel, const KernelPlan& plan)
    -> Result<PartedScan>;

/// Stages of a program's kernels, by name. They live as long as this.
class KernelStages {
 public:
  /// Launches of few blocks for many elements become launches of stages. `kernel` gives the kernel
  /// of a name.
  void expand(BoundProgram& bound,
              const std::function<const GpuKernel*(const std::string&)>& kernel);
  /// Null where none has the name.
  [[nodiscard]] auto find(const std::string& name) const -> std::shared_ptr<const TileKernel>;

 private:
  template <class T>
  auto made_of(std::map<std::string, T>& known, const GpuKernel& kernel, const std::string& name,
               Result<T> (*make)(const TileKernel&, const KernelPlan&)) -> const T*;
  static auto expand(BoundProgram& bound, const BoundLaunch& launch, const StagedKernel& staged)
      -> bool;
  static auto expand(BoundProgram& bound, const BoundLaunch& launch, const PartedScan& parted,
                     std::int64_t blocks) -> bool;
  // Without kernels: it cannot be
  std::map<std::string, StagedKernel> staged_;
  std::map<std::string, PartedScan> parted_;
  std::map<std::string, std::shared_ptr<const TileKernel>> kernels_;
};

}  // namespace assay
