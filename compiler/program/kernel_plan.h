// How a kernel of exact axes becomes nested loops: which axis is vectorised, which statements stand
// where, and how many passes its reductions need. Knows no LLVM.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// Reductions over several axes, one after the other, are one.
struct PlannedReduction {
  TileCombine combine = TileCombine::sum;
  std::vector<TileId> operands, results;
  int level = 0;  ///< of the pass that it is computed in
};

struct PlannedStatement {
  const TileStatement* statement = nullptr;
  std::optional<std::size_t> reduction;  ///< index; the statement is its last
  AxisSet axes = 0;                      ///< that it runs over
  int level = 0;                         ///< how many passes have to be over before it has a value
  bool is_tiled = false;                 ///< a load that is contiguous along the tile's other axis
};

struct KernelPlan {
  std::vector<std::size_t> parallel;  ///< axes in the order of their loops, outermost first
  std::vector<std::size_t> reduced;   ///< likewise, inside; also the one that is scanned
  int vector_axis = -1;               ///< the last of one of the lists; -1: nothing varies
  bool vector_is_reduced = false;
  bool is_serial = false;  ///< its writes meet: iterations run one after the other on a CPU
  bool has_tiles = false;  ///< the last two parallel axes run in square tiles; see is_tiled
  std::vector<PlannedStatement> statements;  ///< in order, without those that reductions absorbed
  std::vector<PlannedReduction> reductions;
  int levels = 1;  ///< passes over the reduced axes, at most
};

/// Functions that are long chains of operations: a processor can do several at a time, and loading
/// what was computed before is cheaper than computing it again.
[[nodiscard]] auto is_chain(const TileStatement& one) -> bool;

/// Errors: unsupported (regions, scans backwards or of several values, axes that are not exact).
[[nodiscard]] auto plan_kernel(const TileKernel& kernel) -> Result<KernelPlan>;

/// Values that a reduction rests on.
[[nodiscard]] auto needed_by_reductions(const KernelPlan& plan) -> std::set<TileId>;

}  // namespace assay
