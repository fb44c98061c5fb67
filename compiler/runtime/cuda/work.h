// Something that a library does on the driver's stream.
#pragma once
#include <memory>
#include <string>

#include "core/base/result.h"

namespace assay::cuda {

/// Descriptors, algorithm and addresses are chosen; it can be issued again and again, also while a
/// graph is captured.
class GpuWork {
 public:
  virtual ~GpuWork() = default;
  [[nodiscard]] virtual auto issue() -> Result<void> = 0;
  /// Works of one kind run the same code of the library, which is loaded when it is first issued;
  /// empty: no code to load.
  [[nodiscard]] virtual auto kind() const -> std::string { return {}; }
};

}  // namespace assay::cuda
