// Triton kernels that the user wrote, of a compilation's programs, for the graphs that launch them.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "compiler/program/program.h"
#include "core/ops/op_table.h"
#include "core/ops/user_kernel.h"

namespace assay {

/// Graphs name such kernels by numbers that mean something in one process alone, and leave
/// constants out. Which one a call means follows from names of parameters, dtypes and fixed
/// numbers, from the user's line and the constants in it; numbers that the graph lacks are those of
/// the programs' launches of the same grid. What several kernels fit is not run. Of a tuned kernel
/// the first configuration counts. A custom operator around a kernel has no row: graphs that still
/// have it do not run.
class UserKernels {
 public:
  explicit UserKernels(const OpTable& table) : table_(&table) {}
  /// Those of the program, once each.
  void add(const HostProgram& program);
  [[nodiscard]] auto empty() const -> bool { return kernels_.empty(); }
  /// Runs in the interpreter; its checks are the program's business. With open arguments it runs
  /// once more, on copies where these hold something else. Errors: unsupported.
  [[nodiscard]] auto launch(const UserKernelCall& call) const -> Result<bool>;

 private:
  struct Known {
    KernelSource source;
    ShapeEnv env;
    std::vector<HostArgs> launches;  ///< of the programs
  };
  [[nodiscard]] auto run(const UserKernelCall& call) const -> Result<void>;
  [[nodiscard]] auto find(const UserKernelCall& call) const -> Result<const Known*>;
  [[nodiscard]] auto named(const UserKernelCall& call, std::vector<const Known*> all) const
      -> std::vector<const Known*>;
  /// A number that the graph does not have, since it is the same at every launch.
  [[nodiscard]] static auto constant(const Known& known, const UserKernelCall& call,
                                     const TileParam& param) -> Result<Datum>;

  const OpTable* table_;
  std::vector<Known> kernels_;
};

}  // namespace assay
