// Arithmetic on elements while a loop is built: reads as the formula it stands for.
#pragma once
#include "compiler/lower/loop_builder.h"

namespace assay {

/// A value of a loop; operands of one operation have one dtype.
struct Element {
  LoopBuilder* loop = nullptr;
  TileId id = kNoTile;

  [[nodiscard]] auto dtype() const -> DType { return loop->dtype(id); }
  [[nodiscard]] auto like(double value) const -> Element {
    return {loop, loop->constant(dtype(), value)};
  }
  [[nodiscard]] auto to(DType dtype) const -> Element { return {loop, loop->cast(id, dtype)}; }
  [[nodiscard]] auto apply(TileOp op) const -> Element { return {loop, loop->compute(op, {id})}; }
};
inline auto apply(TileOp op, const Element& a, const Element& b) -> Element {
  return {a.loop, a.loop->compute(op, {a.id, b.id})};
}
inline auto select(const Element& condition, const Element& a, const Element& b) -> Element {
  return {a.loop, a.loop->compute(TileOp::select, {condition.id, a.id, b.id})};
}

// clang-format off
inline auto operator+(const Element& a, const Element& b) -> Element { return apply(TileOp::add, a, b); }
inline auto operator-(const Element& a, const Element& b) -> Element { return apply(TileOp::sub, a, b); }
inline auto operator*(const Element& a, const Element& b) -> Element { return apply(TileOp::mul, a, b); }
inline auto operator/(const Element& a, const Element& b) -> Element { return apply(TileOp::divide, a, b); }
inline auto operator-(const Element& a) -> Element { return a.apply(TileOp::negate); }
inline auto operator+(const Element& a, double b) -> Element { return a + a.like(b); }
inline auto operator-(const Element& a, double b) -> Element { return a - a.like(b); }
inline auto operator-(double a, const Element& b) -> Element { return b.like(a) - b; }
inline auto operator*(const Element& a, double b) -> Element { return a * a.like(b); }
inline auto operator/(double a, const Element& b) -> Element { return b.like(a) / b; }
inline auto operator<(const Element& a, const Element& b) -> Element { return apply(TileOp::lt, a, b); }
inline auto operator>(const Element& a, const Element& b) -> Element { return apply(TileOp::gt, a, b); }
inline auto operator<(const Element& a, double b) -> Element { return a < a.like(b); }
inline auto operator>(const Element& a, double b) -> Element { return a > a.like(b); }
inline auto operator!=(const Element& a, double b) -> Element { return apply(TileOp::ne, a, a.like(b)); }
inline auto operator==(const Element& a, double b) -> Element { return apply(TileOp::eq, a, a.like(b)); }
// clang-format on

}  // namespace assay
