// Something that a library does on the driver's stream.
#pragma once
#include <memory>

#include "core/base/result.h"

namespace assay::cuda {

/// Descriptors, algorithm and addresses are chosen; it can be issued again and again, also while a
/// graph is captured.
class GpuWork {
 public:
  virtual ~GpuWork() = default;
  /// The first time may load code of the library, so it is no part of a capture.
  [[nodiscard]] virtual auto issue() -> Result<void> = 0;
};

}  // namespace assay::cuda
