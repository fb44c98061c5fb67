// Elements at indices that are read from memory. Internal to compiler/lower.
#pragma once
#include "compiler/lower/lowering.h"

namespace assay {

/// Indices read from memory, which have to be those of elements.
class IndicesAt {
 public:
  explicit IndicesAt(LoopBuilder& loop) : loop_(loop) {}
  /// Those from the end are made whole if they may be given.
  auto add(DefId indices, const Index& at, const Expr& size, bool may_wrap) -> Expr;
  auto value(DefId from, const Index& at) -> TileId;
  /// `inside` where the indices are those of elements; else an error of the run.
  auto guarded(const std::function<TileId()>& inside) -> TileId;

 private:
  LoopBuilder& loop_;
  TileId fits_ = kNoTile;
  std::string bounds_;
};

[[nodiscard]] inline auto is_index(DType dtype) -> bool {
  return dtype == DType::int64 || dtype == DType::int32;
}

/// `self[i0, :, i1, ...]`: indexed dimensions broadcast together; they stand first unless they are
/// neighbours.
struct IndexedDims {
  std::vector<std::optional<DefId>> by_dim;
  std::size_t position = 0;  ///< of the dimensions that the indices have together
  std::size_t rank = 0;      ///< of these
  Dims sizes;                ///< of `self`

  /// Arguments 0 and 1; nothing for truth values.
  [[nodiscard]] static auto of(const LoweringCall& call) -> std::optional<IndexedDims>;
  /// Sizes of what is picked.
  [[nodiscard]] auto over(const LoweredGraph& graph) const -> Dims;
  /// The element of `self` behind a position of what is picked.
  [[nodiscard]] auto source(LoopBuilder& loop, IndicesAt& chosen, const Index& at) const -> Index;
};

}  // namespace assay
