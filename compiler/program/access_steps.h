// How the accesses of a kernel move through memory when an axis' lane or index grows by one.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compiler/program/kernel.h"

namespace assay {

class AccessSteps {
 public:
  explicit AccessSteps(const TileKernel& kernel);
  /// Elements that the index moves by; nothing where that is no constant.
  [[nodiscard]] auto step(TileId index, std::size_t axis) const -> std::optional<std::int64_t>;
  /// What makes a value; null for parameters of regions.
  [[nodiscard]] auto maker(TileId id) const -> const TileStatement*;
  /// Loads and stores in all regions.
  [[nodiscard]] auto accesses() const -> const std::vector<const TileStatement*>& {
    return accesses_;
  }
  /// Whether a store puts one value, the same for all programs, where data say: whoever is last, it
  /// stands there (`scatter` of a number).
  [[nodiscard]] auto scatters_one_value(const TileStatement& store) const -> bool;
  /// Whether what is loaded once for all lanes, in the region of a store, goes nowhere but where
  /// the store's mask takes it: other lanes may see it before or after. Inductor's kernels of
  /// several loops do so in loops over one element.
  [[nodiscard]] auto takes_numbers_alone(const TileStatement& store) const -> bool;
  /// Whether all that is written has two bytes, and is stored.
  [[nodiscard]] auto stores_halves() const -> bool;
  /// By axis: how well its lanes suit neighbouring threads. Accesses that it moves by one count,
  /// those of every element (of most axes) much more than what rows or columns share.
  [[nodiscard]] auto scores() const -> std::vector<int>;

 private:
  void visit(const TileRegion& region);
  /// Whether a value is only taken where the mask holds.
  [[nodiscard]] auto is_taken_by(TileId mask, TileId value) const -> bool;
  [[nodiscard]] auto constant(TileId id) const -> std::optional<std::int64_t>;
  /// Whether anything that goes into a value is so; `makes` is null for parameters of regions.
  [[nodiscard]] auto rests_on(TileId id, bool (*is_so)(const TileStatement* makes)) const -> bool;
  const TileKernel& kernel_;
  std::map<TileId, const TileStatement*> makers_;
  std::map<TileId, std::vector<const TileStatement*>> users_;  ///< null: a region yields it
  std::map<const TileStatement*, const TileRegion*> regions_;  ///< of accesses
  std::vector<const TileStatement*> accesses_;
};

}  // namespace assay
