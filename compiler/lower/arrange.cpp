// Operators that make, join, pad and pick: elements that come from elsewhere.
#include <array>

#include "compiler/lower/indexing.h"
#include "core/expr/text.h"

namespace assay {
namespace {

auto set(TensorDef& def, std::vector<DefId> reads, int cost,
         std::function<TileId(LoopBuilder&, const Index&)> element) -> bool {
  def.reads = std::move(reads);
  def.cost = cost;
  def.element = std::move(element);
  return true;
}

/// A number as an element.
auto constant(const Expr& value, DType dtype) -> std::function<TileId(LoopBuilder&, const Index&)> {
  return [value, dtype](LoopBuilder& loop, const Index&) {
    if (const auto truth = value.as_bool()) return loop.constant(dtype, *truth ? 1.0 : 0.0);
    if (const auto whole = value.as_int()) return loop.constant(dtype, *whole);
    if (const auto real = value.as_real()) return loop.constant(dtype, *real);
    return loop.cast(loop.number(value), dtype);
  };
}

template <int kValue>
auto filled(const LoweringCall&, TensorDef& def) -> bool {
  return set(def, {}, 0, constant(Expr(kValue), def.meta.dtype));
}
template <std::size_t kArg>
auto full(const LoweringCall& call, TensorDef& def) -> bool {
  if (call.args[kArg].scalar() == nullptr) return false;
  return set(def, {}, 0, constant(call.expr(kArg), def.meta.dtype));
}

/// start + i*step, in the dtype that PyTorch counts in.
auto counting(const Expr& start, const Expr& step, TensorDef& def) -> bool {
  const auto dtype = def.meta.dtype;
  const bool is_whole =
      start.type() == ExprType::integer && step.type() == ExprType::integer && is_integer(dtype);
  if (!is_whole && !(start.is_const() && step.is_const())) return false;
  if (is_whole)
    return set(def, {}, 1, [=](LoopBuilder& loop, const Index& at) {
      return loop.cast(loop.number(start + at[0] * step), dtype);
    });
  const auto from = start.as_number().value_or(0);
  const auto by = step.as_number().value_or(1);
  return set(def, {}, 3, [=](LoopBuilder& loop, const Index& at) {
    const auto i = Element{&loop, loop.number(at[0])}.to(DType::float64);
    return (i * by + from).to(dtype).id;
  });
}
auto iota(const LoweringCall& call, TensorDef& def) -> bool {
  return counting(call.expr(1), call.expr(2), def);
}
auto arange(const LoweringCall& call, TensorDef& def) -> bool {
  const auto& name = call.row.schema.overload;
  if (name == "aten.arange.default") return counting(Expr(0), Expr(1), def);
  return counting(call.expr(0), name.ends_with("step") ? call.expr(2) : Expr(1), def);
}

/// Joined along a dimension: the part an element lies in is found from the front.
auto cat(const LoweringCall& call, TensorDef& def) -> bool {
  const auto rank = def.meta.sizes.size();
  const auto dim = call.dim(1, rank);
  struct Part {
    DefId def;
    Expr begin;
  };
  std::vector<Part> parts;
  Expr begin(0);
  for (const auto id : call.lists[0]) {
    const auto& meta = call.graph.defs[id].meta;
    if (meta.sizes.size() != rank) return false;  // an empty vector takes no part
    parts.push_back({id, begin});
    begin = begin + meta.sizes[dim];
  }
  constexpr std::size_t kMost = 16;
  if (parts.empty() || parts.size() > kMost || call.lists[0].size() != call.args[0].list()->size())
    return false;
  const auto dtype = def.meta.dtype;
  return set(def, call.lists[0], static_cast<int>(2 * parts.size()),
             [=](LoopBuilder& loop, const Index& at) {
               std::function<TileId(std::size_t)> from = [&](std::size_t i) -> TileId {
                 const auto part = [&] {
                   auto source = at;
                   source[dim] = source[dim] - parts[i].begin;
                   return loop.cast(loop.value(parts[i].def, source), dtype);
                 };
                 if (i + 1 == parts.size()) return part();
                 return loop.choose(loop.truth(lt(at[dim], parts[i + 1].begin)), part,
                                    [&] { return from(i + 1); });
               };
               return from(0);
             });
}

/// Inside of the padding the tensor, elsewhere the value.
auto pad(const LoweringCall& call, TensorDef& def) -> bool {
  const auto* pads = call.args[1].list();
  const auto& sizes = call.meta(0).sizes;
  if (pads == nullptr || pads->size() % 2 != 0) return false;
  Dims before(sizes.size(), Expr(0));
  std::vector<bool> is_padded(sizes.size(), false);
  for (std::size_t i = 0; i < pads->size() / 2; ++i) {
    const auto dim = sizes.size() - 1 - i;
    if (!(*pads)[2 * i].scalar()) return false;
    before[dim] = *(*pads)[2 * i].scalar();
    is_padded[dim] = true;
  }
  const auto from = *call.tensors[0];
  const auto value = constant(call.expr(2), def.meta.dtype);
  return set(def, {from}, 3, [=](LoopBuilder& loop, const Index& at) {
    auto source = at;
    TileId inside = kNoTile;
    const auto also = [&](const Expr& condition) {
      const auto id = loop.truth(condition);
      inside = inside == kNoTile ? id : loop.compute(TileOp::bit_and, {inside, id});
    };
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (!is_padded[i]) continue;
      source[i] = at[i] - before[i];
      if (!before[i].is_int(0)) also(ge(source[i], 0));
      also(lt(source[i], sizes[i]));
    }
    if (inside == kNoTile) return loop.value(from, source);
    return loop.choose(
        inside, [&] { return loop.value(from, source); }, [&] { return value(loop, at); });
  });
}

/// An index that may count from the end, also where only its symbols say so.
auto wrapped(const Expr& value, const Expr& size) -> Expr {
  const auto is_negative = min(max(-value, Expr(0)), Expr(1));
  return value + size * is_negative;
}

auto select_scatter(const LoweringCall& call, TensorDef& def) -> bool {
  const auto& sizes = call.meta(0).sizes;
  const auto dim = call.dim(2, sizes.size());
  const auto index = wrapped(call.expr(3), sizes[dim]);
  const auto self = *call.tensors[0], source = *call.tensors[1];
  if (def.meta.dtype != call.meta(1).dtype) return false;
  return set(def, {self, source}, 2, [=](LoopBuilder& loop, const Index& at) {
    return loop.choose(
        loop.truth(eq(at[dim], index)),
        [&] {
          auto from = at;
          from.erase(from.begin() + static_cast<std::ptrdiff_t>(dim));
          return loop.value(source, from);
        },
        [&] { return loop.value(self, at); });
  });
}

auto slice_scatter(const LoweringCall& call, TensorDef& def) -> bool {
  const auto& sizes = call.meta(0).sizes;
  const auto dim = call.dim(2, sizes.size());
  const auto step = call.expr(5).as_int();
  if (!step || *step < 1 || def.meta.dtype != call.meta(1).dtype) return false;
  const auto given = call.has(3) ? wrapped(call.expr(3), sizes[dim]) : Expr(0);
  const auto begin = max(min(given, sizes[dim]), Expr(0));
  const auto count = call.meta(1).sizes[dim];
  const auto self = *call.tensors[0], source = *call.tensors[1];
  return set(def, {self, source}, 3, [=, step = *step](LoopBuilder& loop, const Index& at) {
    auto from = at;
    const auto behind = at[dim] - begin;
    from[dim] = floor_div(behind, Expr(step));
    auto inside = loop.truth(lt(from[dim], count));
    const auto also = [&](const Expr& condition) {
      inside = loop.compute(TileOp::bit_and, {inside, loop.truth(condition)});
    };
    if (!begin.is_int(0)) also(ge(behind, 0));
    if (step > 1) also(eq(mod(behind, Expr(step)), 0));
    return loop.choose(
        inside, [&] { return loop.value(source, from); }, [&] { return loop.value(self, at); });
  });
}

auto index(const LoweringCall& call, TensorDef& def) -> bool {
  const auto picked = IndexedDims::of(call);
  if (!picked) return false;
  auto reads = call.lists[1];
  const auto self = *call.tensors[0];
  reads.push_back(self);
  def.repeats = true;
  return set(def, std::move(reads), 4, [=, picked = *picked](LoopBuilder& loop, const Index& at) {
    IndicesAt chosen(loop);
    const auto source = picked.source(loop, chosen, at);
    return chosen.value(self, source);
  });
}

auto gather(const LoweringCall& call, TensorDef& def) -> bool {
  const auto rank = def.meta.sizes.size();
  if (rank == 0 || call.meta(0).sizes.size() != rank) return false;
  const auto dim = call.dim(1, rank);
  const auto self = *call.tensors[0], indices = *call.tensors[2];
  const auto size = call.meta(0).sizes[dim];
  def.repeats = true;
  return set(def, {self, indices}, 3, [=](LoopBuilder& loop, const Index& at) {
    auto source = at;
    IndicesAt chosen(loop);
    source[dim] = chosen.add(indices, at, size, false);
    return chosen.value(self, source);
  });
}

auto index_select(const LoweringCall& call, TensorDef& def) -> bool {
  const auto rank = def.meta.sizes.size();
  if (rank == 0 || call.meta(2).sizes.size() != 1) return false;
  const auto dim = call.dim(1, rank);
  const auto self = *call.tensors[0], indices = *call.tensors[2];
  const auto size = call.meta(0).sizes[dim];
  def.repeats = true;
  return set(def, {self, indices}, 3, [=](LoopBuilder& loop, const Index& at) {
    auto source = at;
    IndicesAt chosen(loop);
    source[dim] = chosen.add(indices, {at[dim]}, size, false);
    return chosen.value(self, source);
  });
}

auto embedding(const LoweringCall& call, TensorDef& def) -> bool {
  const auto weight = *call.tensors[0], indices = *call.tensors[1];
  if (!is_index(call.meta(1).dtype)) return false;
  const auto size = call.meta(0).sizes[0];
  def.repeats = true;
  return set(def, {weight, indices}, 3, [=](LoopBuilder& loop, const Index& at) {
    const Index row(at.begin(), at.end() - 1);
    IndicesAt chosen(loop);
    const auto at_row = chosen.add(indices, row, size, false);
    return chosen.value(weight, {at_row, at.back()});
  });
}

auto repeat(const LoweringCall& call, TensorDef& def) -> bool {
  const auto from = *call.tensors[0];
  const auto sizes = call.meta(0).sizes;
  const auto to = def.meta.sizes;
  def.repeats = true;
  return set(def, {from}, 2, [=](LoopBuilder& loop, const Index& at) {
    Index source;
    const auto lead = to.size() - sizes.size();
    for (std::size_t i = 0; i < sizes.size(); ++i)
      source.push_back(sizes[i].is_int(1)         ? Expr(0)
                       : sizes[i] == to[lead + i] ? at[lead + i]
                                                  : mod(at[lead + i], sizes[i]));
    return loop.value(from, source);
  });
}

auto flip(const LoweringCall& call, TensorDef& def) -> bool {
  const auto* dims = call.args[1].list();
  const auto rank = def.meta.sizes.size();
  if (dims == nullptr) return false;
  std::vector<bool> flipped(rank, false);
  for (const auto& dim : *dims) {
    const auto value = dim.scalar() ? dim.scalar()->as_int().value_or(0) : 0;
    const auto at = value < 0 ? value + static_cast<std::int64_t>(rank) : value;
    if (at < 0 || at >= static_cast<std::int64_t>(rank)) return false;
    flipped[static_cast<std::size_t>(at)] = true;
  }
  const auto from = *call.tensors[0];
  return set(def, {from}, 1, [=, sizes = def.meta.sizes](LoopBuilder& loop, const Index& at) {
    auto source = at;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (flipped[i]) source[i] = sizes[i] - 1 - at[i];
    return loop.value(from, source);
  });
}

/// Arguments: input, shifts, dims. Without dims all elements are one line.
auto roll(const LoweringCall& call, TensorDef& def) -> bool {
  const auto *shifts = call.args[1].list(), *dims = call.args[2].list();
  const auto sizes = def.meta.sizes;
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (shifts == nullptr || dims == nullptr) return false;
  std::vector<Expr> by(sizes.size(), Expr(0));
  for (std::size_t i = 0; i < dims->size(); ++i) {
    const auto at = (*dims)[i].scalar() ? (*dims)[i].scalar()->as_int() : std::nullopt;
    if (i >= shifts->size() || !at || *at < -rank || *at >= rank) return false;
    auto& sum = by[static_cast<std::size_t>(*at < 0 ? *at + rank : *at)];
    sum = sum + *(*shifts)[i].scalar();
  }
  const auto from = *call.tensors[0];
  if (dims->empty()) {
    if (shifts->size() != 1 || rank == 0) return false;
    return set(def, {from}, 2,
               [=, shift = *(*shifts)[0].scalar()](LoopBuilder& loop, const Index& at) {
                 Expr place(0), count(1);
                 for (std::size_t i = 0; i < at.size(); ++i) place = place * sizes[i] + at[i];
                 for (const auto& size : sizes) count = count * size;
                 place = mod(place - shift, count);
                 auto source = at;
                 for (std::size_t i = at.size(); i-- > 0; place = floor_div(place, sizes[i]))
                   source[i] = i == 0 ? place : mod(place, sizes[i]);
                 return loop.value(from, source);
               });
  }
  return set(def, {from}, 1, [=](LoopBuilder& loop, const Index& at) {
    auto source = at;
    for (std::size_t i = 0; i < at.size(); ++i)
      if (!by[i].is_int(0)) source[i] = mod(at[i] - by[i], sizes[i]);
    return loop.value(from, source);
  });
}

template <bool kUpper>
auto triangle(const LoweringCall& call, TensorDef& def) -> bool {
  const auto from = *call.tensors[0];
  const auto diagonal = call.expr(1);
  if (def.meta.sizes.size() < 2) return false;
  return set(def, {from}, 2, [=, dtype = def.meta.dtype](LoopBuilder& loop, const Index& at) {
    const auto distance = at[at.size() - 1] - at[at.size() - 2];
    const auto keeps = kUpper ? ge(distance, diagonal) : le(distance, diagonal);
    return loop.choose(
        loop.truth(keeps), [&] { return loop.value(from, at); },
        [&] { return loop.constant(dtype, std::int64_t{0}); });
  });
}

// clang-format off
constexpr std::array kRows = {
    LoweringRow{"aten.zeros.default", filled<0>},
    LoweringRow{"aten.zeros_like.default", filled<0>},
    LoweringRow{"aten.new_zeros.default", filled<0>},
    LoweringRow{"aten.ones.default", filled<1>},
    LoweringRow{"aten.ones_like.default", filled<1>},
    LoweringRow{"aten.new_ones.default", filled<1>},
    LoweringRow{"aten.full.default", full<1>},
    // Contents that mean nothing: what is written over them needs no memory before.
    LoweringRow{"aten.empty.memory_format", filled<0>},
    LoweringRow{"aten.empty_strided.default", filled<0>},
    LoweringRow{"aten.empty_permuted.default", filled<0>},
    LoweringRow{"aten.empty_like.default", filled<0>},
    LoweringRow{"aten.new_empty.default", filled<0>},
    LoweringRow{"aten.new_empty_strided.default", filled<0>},
    LoweringRow{"aten.full_like.default", full<1>},
    LoweringRow{"aten.new_full.default", full<2>},
    LoweringRow{"aten.scalar_tensor.default", full<0>},
    LoweringRow{"prims.iota.default", iota},
    LoweringRow{"aten.arange.default", arange},
    LoweringRow{"aten.arange.start", arange},
    LoweringRow{"aten.arange.start_step", arange},
    LoweringRow{"aten.cat.default", cat},
    LoweringRow{"aten.constant_pad_nd.default", pad},
    LoweringRow{"aten.select_scatter.default", select_scatter},
    LoweringRow{"aten.slice_scatter.default", slice_scatter},
    LoweringRow{"aten.index.Tensor", index},
    LoweringRow{"aten._unsafe_index.Tensor", index},
    LoweringRow{"aten.gather.default", gather},
    LoweringRow{"aten.index_select.default", index_select},
    LoweringRow{"aten.embedding.default", embedding},
    LoweringRow{"aten.repeat.default", repeat},
    LoweringRow{"aten.flip.default", flip},
    LoweringRow{"aten.roll.default", roll},
    LoweringRow{"aten.tril.default", triangle<false>},
    LoweringRow{"aten.triu.default", triangle<true>},
};
// clang-format on

}  // namespace

auto arrange_lowerings() -> std::span<const LoweringRow> {
  return kRows;
}

}  // namespace assay
