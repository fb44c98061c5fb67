// The executor that interprets the kernels that a GPU would run: the same tiles, blocks and loops,
// every access checked, and no GPU needed.
#pragma once
#include "compiler/program/executor.h"
#include "core/ops/op_table.h"

namespace assay {

class TiledInterpreter final : public Executor {
 public:
  /// `way`: not as launches usually are, but this one of the ways that tuning tries, where there
  /// are so many.
  explicit TiledInterpreter(const OpTable& table, std::size_t way = 0) : table_(table), way_(way) {}
  [[nodiscard]] auto name() const -> std::string_view override { return "tiles"; }
  [[nodiscard]] auto is_checked() const -> bool override { return true; }
  /// Errors: as the interpreter's. A kernel that has no tiles is an error of its launch.
  [[nodiscard]] auto compile(const HostProgram& program) const
      -> Result<std::unique_ptr<CompiledProgram>> override;

 private:
  const OpTable& table_;
  std::size_t way_;
};

}  // namespace assay
