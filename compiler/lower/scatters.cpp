// Operators that write elements at indices: a copy of what there was, then a kernel that goes
// through the values. Where several values go to one element their order is open, as it is in
// PyTorch on a GPU; on the host it is that of the loop.
#include <array>
#include <map>

#include "compiler/lower/indexing.h"

namespace assay {
namespace {

/// Dtypes that hardware adds in one step. Sums of narrower floats round after each.
auto has_atomic_sum(DType dtype) -> bool {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::int32 ||
         dtype == DType::int64;
}
auto has_atomic_store(DType dtype) -> bool {
  return size_bytes(dtype) == 4 || size_bytes(dtype) == 8;
}
auto combine_of(bool adds) -> std::optional<TileOp> {
  return adds ? std::optional(TileOp::add) : std::nullopt;
}

/// The element of a tensor at a position.
auto element_of(DefId from) -> std::function<TileId(LoopBuilder&, const Index&)> {
  return [from](LoopBuilder& loop, const Index& at) { return loop.value(from, at); };
}
void start_from(ScatterDef& made, DefId self) {
  made.starts_from = {self};
  made.from = element_of(self);
}

/// Arguments: self, indices, values, accumulate.
auto index_put(const LoweringCall& call, DefId into, ScatterDef& made) -> bool {
  const auto picked = IndexedDims::of(call);
  const auto accumulate = call.expr(3).as_bool();
  const auto dtype = call.result.dtype;
  if (!picked || !accumulate || !call.tensors[2]) return false;
  if (*accumulate ? !has_atomic_sum(dtype) : !has_atomic_store(dtype)) return false;
  const auto values = *call.tensors[2];
  if (call.meta(2).dtype != dtype) return false;
  start_from(made, *call.tensors[0]);
  made.scatter.over = picked->over(call.graph);
  made.scatter.write = [=, picked = *picked, over = made.scatter.over](LoopBuilder& loop,
                                                                       const Index& at) {
    IndicesAt chosen(loop);
    const auto target = picked.source(loop, chosen, at);
    (void)chosen.guarded([&] {
      const auto value = loop.value(values, broadcast_position(at, over, loop.meta(values).sizes));
      loop.write(into, target, value, combine_of(*accumulate));
      return value;
    });
  };
  return true;
}

/// Along `dim` at the position that `index` says; `value` of a position.
void along(ScatterDef& made, DefId into, std::size_t dim, DefId index, const Expr& size,
           std::function<TileId(LoopBuilder&, const Index&)> value, bool adds) {
  made.scatter.write = [=, value = std::move(value)](LoopBuilder& loop, const Index& at) {
    IndicesAt chosen(loop);
    auto target = at;
    const bool is_row = loop.meta(index).sizes.size() != at.size();  // one index for all of it
    target[dim] = chosen.add(index, is_row ? Index{at[dim]} : at, size, false);
    (void)chosen.guarded([&] {
      const auto id = value(loop, at);
      loop.write(into, target, id, combine_of(adds));
      return id;
    });
  };
}

/// Arguments: self, dim, index, src. The index may be smaller than the source.
template <bool kAdds>
auto scatter(const LoweringCall& call, DefId into, ScatterDef& made) -> bool {
  const auto rank = call.result.sizes.size();
  const auto dtype = call.result.dtype;
  if (rank == 0 || !call.tensors[2] || call.meta(2).sizes.size() != rank ||
      (kAdds ? !has_atomic_sum(dtype) : !has_atomic_store(dtype)))
    return false;
  const auto dim = call.dim(1, rank);
  start_from(made, *call.tensors[0]);
  made.scatter.over = call.meta(2).sizes;
  if (call.tensors[3]) {
    if (call.meta(3).sizes.size() != rank || call.meta(3).dtype != dtype) return false;
    along(made, into, dim, *call.tensors[2], call.result.sizes[dim], element_of(*call.tensors[3]),
          kAdds);
    return true;
  }
  const auto number = call.expr(3);
  if (!number.is_valid()) return false;
  along(
      made, into, dim, *call.tensors[2], call.result.sizes[dim],
      [number, dtype](LoopBuilder& loop, const Index&) {
        return loop.cast(loop.number(number), dtype);
      },
      kAdds);
  return true;
}

/// Arguments: self, dim, index of one dimension, source, alpha.
auto index_add(const LoweringCall& call, DefId into, ScatterDef& made) -> bool {
  const auto rank = call.result.sizes.size();
  if (rank == 0 || !call.tensors[2] || call.meta(2).sizes.size() != 1 || !call.expr(4).is_int(1) ||
      !has_atomic_sum(call.result.dtype) || call.meta(3).sizes.size() != rank ||
      call.meta(3).dtype != call.result.dtype)
    return false;
  const auto dim = call.dim(1, rank);
  start_from(made, *call.tensors[0]);
  made.scatter.over = call.meta(3).sizes;
  along(made, into, dim, *call.tensors[2], call.result.sizes[dim], element_of(*call.tensors[3]),
        true);
  return true;
}

/// Arguments: grad_output, indices, num_weights, padding_idx, scale_grad_by_freq.
auto embedding_backward(const LoweringCall& call, DefId into, ScatterDef& made) -> bool {
  const auto scales = call.expr(4).as_bool();
  const auto dtype = call.result.dtype;
  if (scales != false || !has_atomic_sum(dtype) || !is_index(call.meta(1).dtype)) return false;
  const auto grad = *call.tensors[0], indices = *call.tensors[1];
  const auto padding = call.expr(3), rows = call.result.sizes[0];
  made.from = [dtype](LoopBuilder& loop, const Index&) { return loop.constant(dtype, 0.0); };
  made.scatter.over = call.meta(0).sizes;
  made.scatter.write = [=](LoopBuilder& loop, const Index& at) {
    const Index token(at.begin(), at.end() - 1);
    IndicesAt chosen(loop);
    const auto row = chosen.add(indices, token, rows, false);
    const auto counts = loop.truth(ne(row, padding));
    (void)chosen.guarded([&] {
      return loop.choose(
          counts,
          [&] {
            const auto value = loop.value(grad, at);
            loop.write(into, {row, at.back()}, value, TileOp::add);
            return value;
          },
          [&] { return loop.constant(dtype, 0.0); });
    });
  };
  return true;
}

/// Arguments: self, src. All of `self` is written, where it is. Not from its own memory: elements
/// would be read that are written already.
auto copy_into(const LoweringCall& call, DefId into, ScatterDef& made) -> bool {
  if (!call.tensors[1] || !is_element(call.meta(1).dtype)) return false;
  const auto source = *call.tensors[1];
  if (call.graph.defs[source].storage == call.graph.defs[into].storage) return false;
  made.scatter.over = call.result.sizes;
  made.scatter.write = [=, sizes = call.result.sizes, dtype = call.result.dtype](LoopBuilder& loop,
                                                                                 const Index& at) {
    const auto value = loop.value(source, broadcast_position(at, sizes, loop.meta(source).sizes));
    loop.set(into, at, loop.cast(value, dtype));
  };
  return true;
}

struct ScatterRow {
  std::string_view overload;
  ScatterLowering lower;
};
constexpr std::array kRows = {
    ScatterRow{"aten.index_put.default", index_put},
    ScatterRow{"aten._unsafe_index_put.default", index_put},
    ScatterRow{"aten.scatter.src", scatter<false>},
    ScatterRow{"aten.scatter.value", scatter<false>},
    ScatterRow{"aten.scatter_add.default", scatter<true>},
    ScatterRow{"aten.index_add.default", index_add},
    ScatterRow{"aten.embedding_dense_backward.default", embedding_backward},
    ScatterRow{"aten.copy_.default", copy_into},
};

}  // namespace

auto find_scatter(std::string_view overload) -> ScatterLowering {
  for (const auto& row : kRows)
    if (row.overload == overload) return row.lower;
  return nullptr;
}

}  // namespace assay
