// How single operators become loops: one row per operator, by families. Internal to
// compiler/lower.
#pragma once
#include <span>
#include <string_view>

#include "compiler/lower/element.h"
#include "compiler/prove/normalise.h"
#include "core/ops/op_table.h"

namespace assay {

/// A call that is lowered: arguments by position in the schema, and what its rule said.
struct LoweringCall {
  const OpRow& row;
  const DatumList& args;
  const LoweredGraph& graph;
  const std::vector<std::optional<DefId>>& tensors;  ///< by argument
  const std::vector<std::vector<DefId>>& lists;      ///< of tensor lists
  const TensorMeta& result;

  [[nodiscard]] auto meta(std::size_t i) const -> const TensorMeta& {
    return graph.defs[*tensors[i]].meta;
  }
  [[nodiscard]] auto expr(std::size_t i) const -> Expr {
    const auto* scalar = args[i].scalar();
    return scalar != nullptr ? *scalar : Expr();
  }
  [[nodiscard]] auto has(std::size_t i) const -> bool { return !args[i].is_none(); }
  /// A dimension argument, which may count from the end.
  [[nodiscard]] auto dim(std::size_t i, std::size_t rank) const -> std::size_t {
    const auto value = expr(i).as_int().value_or(0);
    return static_cast<std::size_t>(value < 0 ? value + static_cast<std::int64_t>(rank) : value);
  }
};

/// Fills in `element` or `reduction`, `cost`, `reads` and `repeats` of a definition whose layout is
/// known. Says whether it could: parameters may ask for what has no loop.
using Lowering = bool (*)(const LoweringCall&, TensorDef&);
struct LoweringRow {
  std::string_view overload;
  Lowering lower;
};
[[nodiscard]] auto pointwise_lowerings() -> std::span<const LoweringRow>;
[[nodiscard]] auto arrange_lowerings() -> std::span<const LoweringRow>;
[[nodiscard]] auto pool_gradient_lowerings() -> std::span<const LoweringRow>;
[[nodiscard]] auto random_lowerings() -> std::span<const LoweringRow>;
[[nodiscard]] auto reduction_lowerings() -> std::span<const LoweringRow>;
[[nodiscard]] auto find_lowering(std::string_view overload) -> Lowering;

/// What an operator writes element by element. `from` is where it starts: what the memory holds
/// before, an element of the result. Says whether it could.
struct ScatterDef {
  Scatter scatter;  ///< `into` is filled in by whoever asked
  std::function<TileId(LoopBuilder&, const Index&)> from;
  std::vector<DefId> starts_from;  ///< tensors that `from` reads
};
using ScatterLowering = bool (*)(const LoweringCall&, DefId into, ScatterDef&);
/// Null for operators that write no single elements.
[[nodiscard]] auto find_scatter(std::string_view overload) -> ScatterLowering;

/// Position in the tensor that is viewed, of a position in the view; nothing for views that nobody
/// can follow.
using ViewMap = std::function<Index(const Index&)>;
[[nodiscard]] auto view_map(const LoweringCall& call, const TensorMeta& from, const TensorMeta& to)
    -> ViewMap;
/// Does a view repeat elements?
[[nodiscard]] auto repeats_elements(const TensorMeta& from, const TensorMeta& to) -> bool;
/// Positions among `to` sizes as positions among `from` sizes of as many elements.
[[nodiscard]] auto reshaped(const Index& position, const Dims& to, const Dims& from) -> Index;

/// The position in a tensor that is broadcast to a shape of higher or equal rank.
[[nodiscard]] auto broadcast_position(const Index& position, const Dims& shape, const Dims& sizes)
    -> Index;
/// Dtype that pointwise kernels compute in: float32 for narrower floats.
[[nodiscard]] auto opmath(DType dtype) -> DType;
/// Has a kernel value of that dtype a meaning?
[[nodiscard]] auto is_element(DType dtype) -> bool;

}  // namespace assay
