// Statements of a kernel in another one that does a part of it, in the order that they have.
// Internal to compiler/cuda.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/program/kernel.h"
#include "compiler/program/kernel_builder.h"
#include "compiler/program/kernel_plan.h"

namespace assay {

class KernelCopier {
 protected:
  KernelCopier(const TileKernel& kernel, const KernelPlan& plan);
  ~KernelCopier() = default;

  /// Another kernel begins, with the parameters and axes of the first one.
  void start(KernelBuilder& b, const std::string& part);
  /// A number of the launch for each parallel axis, and the position among them all.
  auto place_of_row() -> TileId;
  auto index(std::size_t axis) -> TileId;
  void store(std::size_t param, TileId at, TileId value);

  /// The value will be wanted here, and so what it is made of.
  void need(TileId id);
  void need_operands(const TileStatement& one);
  [[nodiscard]] auto is_needed(const TileStatement& one) const -> bool;
  /// The same here; it was copied or given.
  [[nodiscard]] auto value(TileId id) const -> TileId;
  void copy(const TileStatement& one);

  /// What stands in the place of a statement's value, if it is not copied.
  virtual auto instead(const TileStatement& /*one*/) -> std::optional<TileId> { return {}; }
  /// Of a copy, before it is put into the kernel.
  virtual void guard(TileStatement& /*made*/) {}

  [[nodiscard]] auto varies(AxisSet axes) const -> bool { return (axes & reduced_) != 0; }
  [[nodiscard]] static auto is_store(const PlannedStatement& planned) -> bool {
    return !planned.reduction && std::holds_alternative<TileStore>(planned.statement->what);
  }

  const TileKernel& from_;
  const KernelPlan& plan_;
  KernelBuilder* b_ = nullptr;  ///< of the kernel that is made
  std::set<TileId> given_;      ///< values that are not made of others here
  std::set<TileId> needed_;
  std::map<TileId, TileId> values_;

 private:
  AxisSet reduced_ = 0;
  std::map<TileId, const TileStatement*> makers_;
};

}  // namespace assay
