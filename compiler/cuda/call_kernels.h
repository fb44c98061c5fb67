// Library calls that are kernels of our own: a bound program's call becomes launches, with buffers
// of their own between them, which memory is planned for like any other.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "compiler/program/kernel.h"
#include "compiler/runtime/bound.h"

namespace assay {

/// The kernels that stand for calls, by name. They live as long as this.
class CallKernels {
 public:
  using Maker = std::function<std::shared_ptr<const TileKernel>(const Expr& programs)>;
  using IsTaken = std::function<bool(const BoundCall&)>;  ///< by a library

  /// Whose operators take the place of others.
  explicit CallKernels(const OpTable& table);
  CallKernels(const CallKernels&) = delete;
  auto operator=(const CallKernels&) -> CallKernels& = delete;
  /// What a library takes stays a call, perhaps of other arguments, and what no kernels are for
  /// (rows that lie in no order of two strides, dtypes without an order, random numbers of the
  /// CPU's generator or of float64).
  void expand(BoundProgram& bound, const IsTaken& is_taken = {});
  /// May there be kernels for calls of the operator ("aten.sort.default")?
  [[nodiscard]] auto has(std::string_view name) const -> bool;
  /// Null where none has the name.
  [[nodiscard]] auto find(const std::string& name) const -> std::shared_ptr<const TileKernel>;

  /// Made when first asked for.
  auto kernel(const std::string& name, const Maker& make) -> const TileKernel&;
  /// How many programs a grid has, in the extents of kernels.
  [[nodiscard]] auto programs() const -> const Expr& { return programs_; }
  [[nodiscard]] auto symbol(const std::string& name) -> Expr { return pool_.symbol(name); }
  [[nodiscard]] auto row(std::string_view name) const -> const OpRow* { return table_.find(name); }

 private:
  const OpTable& table_;
  ExprPool pool_;
  Expr programs_;
  std::map<std::string, std::shared_ptr<const TileKernel>> kernels_;
};

}  // namespace assay
