// Library calls that are kernels of our own: a bound program's call becomes launches, with buffers
// of their own between them, which memory is planned for like any other.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "compiler/cuda/sort_kernels.h"
#include "compiler/runtime/bound.h"

namespace assay {

/// The kernels that stand for calls, by name. They live as long as this.
class CallKernels {
 public:
  CallKernels();
  CallKernels(const CallKernels&) = delete;
  auto operator=(const CallKernels&) -> CallKernels& = delete;
  /// What no kernels are for (rows that lie in no order of two strides, dtypes without an order)
  /// stays a call.
  void expand(BoundProgram& bound);
  /// Null where none has the name.
  [[nodiscard]] auto find(const std::string& name) const -> std::shared_ptr<const TileKernel>;

 private:
  friend class CallExpander;
  auto sort_kernel(const SortKernel& what) -> const TileKernel&;

  ExprPool pool_;
  Expr programs_;  ///< how many programs tiles are sorted by
  std::map<std::string, std::shared_ptr<const TileKernel>> kernels_;
};

}  // namespace assay
