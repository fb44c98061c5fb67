// Whoever runs launches in place of the tile machine: machine code.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/interpret/tile_machine.h"
#include "compiler/program/program.h"
#include "core/base/result.h"
#include "core/ops/op_table.h"

namespace assay {

/// Calls `visit` for every tensor in a datum, in order.
template <class D, class F>
void visit_tensors(D& datum, const F& visit) {
  if (auto* tensor = std::get_if<Tensor>(&datum.value)) {
    visit(*tensor);
  } else if (auto* list = std::get_if<DatumList>(&datum.value)) {
    for (auto& item : *list) visit_tensors(item, visit);
  }
}

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
  /// May it do calls of the operator ("aten.mm.default", "aten.mm" for any overload)?
  [[nodiscard]] virtual auto calls(std::string_view) const -> bool { return false; }
  /// Does a library call: `storages` are those of the tensors of arguments and results, in order,
  /// `arg_tensors` of them the arguments'. False where it does not, after all. What stood where
  /// the results are does not matter.
  [[nodiscard]] virtual auto call(const HostOp&, const OpRow&, const DatumList& /*args*/,
                                  const Datum& /*result*/, const std::vector<RunStorage*>&,
                                  std::size_t /*arg_tensors*/) -> Result<bool> {
    return false;
  }
  /// The host is about to read or write the storage.
  [[nodiscard]] virtual auto to_host(RunStorage&) -> Result<void> { return {}; }
  /// The host has written it.
  virtual void host_wrote(RunStorage&) {}
  /// The program is over. Errors: what went wrong in a launch and is known only now.
  [[nodiscard]] virtual auto finish() -> Result<void> { return {}; }
};

}  // namespace assay
