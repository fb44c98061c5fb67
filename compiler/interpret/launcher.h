// Whoever runs launches in place of the tile machine: machine code.
#pragma once
#include <optional>
#include <string>

#include "compiler/interpret/tile_machine.h"
#include "core/base/result.h"

namespace assay {

class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  /// Nothing where it has no code for the kernel. Accesses are not checked.
  [[nodiscard]] virtual auto launch(const std::string& kernel, const TileLaunch& launch) const
      -> std::optional<Result<void>> = 0;
};

}  // namespace assay
