// Inductor's random numbers, which are functions of a seed and of an element's position
// (core/ops/rows/inductor_random.cpp).
#include "compiler/lower/lowering.h"

namespace assay {
namespace {

constexpr int kCost = 70;  ///< ten rounds of six operations, and what is made of the words

/// Of the tensor itself, not of how it lies.
auto linear(const Index& at, const Dims& sizes) -> Expr {
  Expr position(0);
  for (std::size_t i = 0; i < at.size(); ++i) position = position * sizes[i] + at[i];
  return position;
}

/// `low` and `high` where there are such.
auto drawn(const LoweringCall& call, TensorDef& def, TileRandomKind kind, std::size_t seed,
           std::vector<Expr> ends) -> bool {
  const auto from = *call.tensors[seed];
  const auto rank = call.meta(seed).sizes.size();
  const bool is_cpu = def.meta.device.type != "cuda";
  const auto offset = call.expr(static_cast<std::size_t>(call.row.schema.index_of("offset")));
  def.reads = {from};
  def.cost = kCost;
  def.element = [=, sizes = def.meta.sizes, dtype = def.meta.dtype, ends = std::move(ends)](
                    LoopBuilder& loop, const Index& at) {
    std::vector<TileId> operands = {loop.cast(loop.value(from, Index(rank, Expr(0))), DType::int64),
                                    loop.number(linear(at, sizes) + offset)};
    for (const auto& end : ends) operands.push_back(loop.number(end));
    return loop.random({.kind = kind, .is_cpu = is_cpu}, std::move(operands), dtype);
  };
  return true;
}

/// size, seed, mode ("rand" or "randn"), offset.
auto random(const LoweringCall& call, TensorDef& def) -> bool {
  const auto* mode = std::get_if<std::string>(&call.args[2].value);
  if (mode == nullptr || (*mode != "rand" && *mode != "randn")) return false;
  const auto kind = *mode == "rand" ? TileRandomKind::uniform : TileRandomKind::normal;
  return drawn(call, def, kind, 1, {});
}
/// low, high, size, seed, offset.
auto randint(const LoweringCall& call, TensorDef& def) -> bool {
  return drawn(call, def, TileRandomKind::integer64, 3, {call.expr(0), call.expr(1)});
}

constexpr LoweringRow kRows[] = {{"prims.inductor_random.default", random},
                                 {"prims.inductor_randint.default", randint}};

}  // namespace

auto random_lowerings() -> std::span<const LoweringRow> {
  return kRows;
}

}  // namespace assay
