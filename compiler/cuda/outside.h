// What a kernel's values are in lanes of its reduced axes that are not meant: loads read nothing
// there and give a number of the tiler's choice, other values are made one, and what else is
// computed follows. What is the identity of a reduction there need not be masked for it.
#pragma once
#include <map>
#include <optional>

#include "compiler/program/kernel.h"
#include "compiler/program/kernel_plan.h"

namespace assay {

class OutsideValues {
 public:
  OutsideValues(const TileKernel& kernel, const KernelPlan& plan);
  /// What a value shall be there: the identity of a maximum or minimum of it. Of other values
  /// nothing is asked; loads are 0.
  [[nodiscard]] auto fill(TileId id) const -> std::optional<double>;
  /// Whether a part of a reduction may take in such lanes.
  [[nodiscard]] auto is_identity(const PlannedReduction& reduction, std::size_t part) const -> bool;
  /// Over the reduced axes.
  [[nodiscard]] auto varies(TileId id) const -> bool;

 private:
  struct Value {
    double number = 0;
    TileId of = kNoTile;  ///< whose infinity it is
  };
  [[nodiscard]] auto value(TileId id) const -> std::optional<Value>;
  [[nodiscard]] auto made(const PlannedStatement& planned) const -> std::optional<Value>;
  [[nodiscard]] auto computed(TileOp op, const TileStatement& one) const -> std::optional<Value>;
  [[nodiscard]] auto is_bare_load(const TileStatement& one) const -> bool;
  /// The load that the value is, as it is or in another dtype; else the value.
  [[nodiscard]] auto root(TileId id) const -> TileId;
  /// Whether a value is the largest or smallest element of another one, or NaN.
  [[nodiscard]] auto is_extreme_of(TileId id, TileId of) const -> bool;

  const TileKernel& kernel_;
  const KernelPlan& plan_;
  std::map<TileId, const PlannedStatement*> makers_;
  std::map<TileId, double> fills_;
  std::map<TileId, Value> values_;
};

}  // namespace assay
