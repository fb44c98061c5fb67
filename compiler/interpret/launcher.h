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
  /// Nothing where it has no code for the kernel: the tile machine runs it. Accesses are not
  /// checked.
  [[nodiscard]] virtual auto launch(const std::string& kernel, const TileLaunch& launch)
      -> std::optional<Result<void>> = 0;

  /// Code that the tile machine runs in the kernel's place, for which the launch is changed; null:
  /// the kernel itself. Errors: unsupported.
  [[nodiscard]] virtual auto instead(const std::string&, TileLaunch&) -> Result<const TileCode*> {
    return nullptr;
  }
  /// Whether the tile machine runs everything, with its checks.
  [[nodiscard]] virtual auto is_checked() const -> bool { return false; }

  // Of launchers whose memory is not the host's
  /// The host is about to read or write the storage.
  [[nodiscard]] virtual auto to_host(RunStorage&) -> Result<void> { return {}; }
  /// The host has written it.
  virtual void host_wrote(RunStorage&) {}
  /// The program is over. Errors: what went wrong in a launch and is known only now.
  [[nodiscard]] virtual auto finish() -> Result<void> { return {}; }
};

}  // namespace assay
