// Kernels that sort rows of tensors, or find the first elements of their order, in the IR that all
// kernels have. A tile of a row is sorted in registers; of longer rows sorted runs are merged two
// by two, or, where few elements are wanted, those of every tile are sorted again. Merges are made
// of tiles too, which cuts say the runs' shares of (Odeh, Green, Mwassi, Shmueli, Birk: Merge Path,
// 2012): one share rises, the other one is put behind it falling, and what is bitonic is merged in
// registers.
//
// What is sorted are integers whose order is that of the elements: NaN is the largest, zeros are
// equal. Behind it stands where the element is in its row, so that no two are equal and the order
// is that of a stable sort. Elements of up to 32 bits are one int64 with that position, which
// travels alone ("keys"); wider ones have the position beside them ("places").
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "compiler/program/kernel.h"
#include "core/expr/expr.h"

namespace assay {

enum class SortStage : std::uint8_t {
  sort,   ///< a tile
  cut,    ///< where the tiles of what two runs make together begin in the left one
  merge,  ///< a tile of two runs
};

struct SortKernel {
  SortStage stage = SortStage::sort;
  DType dtype = DType::float32;
  bool is_descending = false;
  /// Elements of a row are neighbours, and rows lie one stride apart, in the operand and the
  /// results.
  bool is_dense = true;
  bool reads_keys = false;   ///< not the operand
  bool writes_keys = false;  ///< not the results
  std::int64_t block = 0;    ///< lanes of a tile, a power of two
  [[nodiscard]] auto name() const -> std::string;
  /// Rows that a program has side by side.
  [[nodiscard]] auto side() const -> std::int64_t;
};

/// Lanes of the largest tile that is sorted, of those that are merged, and of cuts.
[[nodiscard]] auto most_sorted(DType dtype) -> std::int64_t;
inline constexpr std::int64_t kMerged = 2048, kCuts = 32;
/// Is a key with its position one number?
[[nodiscard]] auto has_short_keys(DType dtype) -> bool;
/// Integers, truth values and floats of 16 bits or more.
[[nodiscard]] auto can_be_sorted(DType dtype) -> bool;

/// By parameters, of which a kernel has those it needs: `self` (elements as integers of the same
/// width), `values` likewise, `indices`; `keys` and `places` to read, `new_keys` and `new_places`
/// to write; of a row `count` elements, `new_count` keys to write, `keep` of every tile (results:
/// of every row); `rows`, `tiles` of each; `shift`: runs have 2^shift elements; `cuts`, of a row
/// `parts`. Element i of row r is at r / inner * outer + r % inner * next + i * step, where
/// self_outer, ..., result_step say so. Tile t of row group g is program g * tiles + t of
/// `programs`.
[[nodiscard]] auto make_sort_kernel(const SortKernel& what, const Expr& programs)
    -> std::shared_ptr<const TileKernel>;

}  // namespace assay
