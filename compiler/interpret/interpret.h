// The interpreter of compiled programs: runs them on the host and checks every access.
#pragma once
#include "compiler/program/executor.h"
#include "core/ops/op_table.h"

namespace assay {

/// Kernels run tile by tile, library calls on the reference kernels of `table`, which must outlive
/// the executor.
class Interpreter final : public Executor {
 public:
  explicit Interpreter(const OpTable& table) : table_(table) {}
  [[nodiscard]] auto name() const -> std::string_view override { return "interpret"; }
  [[nodiscard]] auto is_checked() const -> bool override { return true; }
  [[nodiscard]] auto compile(const HostProgram& program) const
      -> Result<std::unique_ptr<CompiledProgram>> override;

 private:
  const OpTable& table_;
};

}  // namespace assay
