// The executor that runs kernels as machine code of this processor.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "compiler/cpu/native_code.h"
#include "compiler/program/executor.h"
#include "core/ops/op_table.h"

namespace assay {

struct CpuOptions {
  int threads = 0;          ///< 0: as many as the machine has processors
  bool is_bound = true;     ///< false: the host side is evaluated anew in every call
  bool is_checked = false;  ///< redzones and poison around temporaries; bound programs only
  bool reuse = true;        ///< temporaries stand where dead ones stood
  NativeOptions native = {};
};

/// A kernel that has no code runs in the interpreter, unchecked like the others.
struct CpuKernel {
  std::string name;
  std::string not_compiled;  ///< empty: it has code
};

/// Results do not depend on the number of threads or the width of vectors. Library calls run on
/// the reference kernels of `table`, which must outlive the executor.
class CpuExecutor final : public Executor {
 public:
  explicit CpuExecutor(const OpTable& table, CpuOptions options = {})
      : table_(table), options_(options) {}
  [[nodiscard]] auto name() const -> std::string_view override { return "cpu"; }
  /// Errors: missing_tool where code is not kept and the code generator (a library that needs LLVM)
  /// cannot be opened.
  [[nodiscard]] auto compile(const HostProgram& program) const
      -> Result<std::unique_ptr<CompiledProgram>> override;
  /// Bindings of the program that was compiled last, so far.
  [[nodiscard]] auto bindings() const -> std::size_t { return bindings_ ? bindings_->load() : 0; }
  /// Kernels of the program that was compiled last.
  [[nodiscard]] auto kernels() const -> const std::vector<CpuKernel>& { return kernels_; }

 private:
  const OpTable& table_;
  CpuOptions options_;
  mutable std::vector<CpuKernel> kernels_;
  mutable std::shared_ptr<std::atomic<std::size_t>> bindings_;
};

}  // namespace assay
