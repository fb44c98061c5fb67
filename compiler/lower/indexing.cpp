#include "compiler/lower/indexing.h"

#include "core/expr/text.h"

namespace assay {

auto IndicesAt::add(DefId indices, const Index& at, const Expr& size, bool may_wrap) -> Expr {
  Element index = Element{&loop_, loop_.value(indices, at)}.to(DType::int64);
  const Element count{&loop_, loop_.number(size)};
  if (may_wrap) index = select(index < 0, index + count, index);
  const auto fits = apply(TileOp::bit_and, apply(TileOp::ge, index, index.like(0)), index < count);
  fits_ = fits_ == kNoTile ? fits.id : loop_.compute(TileOp::bit_and, {fits_, fits.id});
  bounds_ += fmt::format("{}0 <= {} < {}", bounds_.empty() ? "" : ", ",
                         loop_.graph().defs[indices].origin, print_expr(size));
  return loop_.data(index.id);
}

auto IndicesAt::guarded(const std::function<TileId()>& inside) -> TileId {
  if (fits_ == kNoTile) return inside();
  return loop_.asserted(fits_, "index out of range: " + bounds_, inside);
}

auto IndicesAt::value(DefId from, const Index& at) -> TileId {
  return guarded([&] { return loop_.value(from, at); });
}

auto IndexedDims::of(const LoweringCall& call) -> std::optional<IndexedDims> {
  const auto* given = call.args[1].list();
  if (given == nullptr || call.lists[1].empty()) return std::nullopt;
  IndexedDims dims;
  dims.sizes = call.meta(0).sizes;
  dims.by_dim.resize(dims.sizes.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < given->size() && i < dims.by_dim.size(); ++i) {
    if ((*given)[i].is_none()) continue;
    if (next >= call.lists[1].size()) return std::nullopt;
    dims.by_dim[i] = call.lists[1][next++];
    const auto& indices = call.graph.defs[*dims.by_dim[i]].meta;
    if (!is_index(indices.dtype)) return std::nullopt;
    dims.rank = std::max(dims.rank, indices.sizes.size());
  }
  std::size_t first = dims.by_dim.size(), last = 0, count = 0;
  for (std::size_t i = 0; i < dims.by_dim.size(); ++i)
    if (dims.by_dim[i]) first = std::min(first, i), last = i, ++count;
  dims.position = last - first + 1 == count ? first : 0;
  return dims;
}

auto IndexedDims::over(const LoweredGraph& graph) const -> Dims {
  Dims shared(rank, Expr(1));
  Dims rest;
  for (std::size_t i = 0; i < by_dim.size(); ++i) {
    if (!by_dim[i]) {
      rest.push_back(sizes[i]);
      continue;
    }
    const auto& of = graph.defs[*by_dim[i]].meta.sizes;
    for (std::size_t k = 0; k < of.size(); ++k)
      if (!of[k].is_int(1)) shared[rank - of.size() + k] = of[k];
  }
  rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(position), shared.begin(), shared.end());
  return rest;
}

auto IndexedDims::source(LoopBuilder& loop, IndicesAt& chosen, const Index& at) const -> Index {
  const auto begin = at.begin() + static_cast<std::ptrdiff_t>(position);
  const Index shared(begin, begin + static_cast<std::ptrdiff_t>(rank));
  Index source;
  std::size_t outer = 0;
  for (std::size_t i = 0; i < by_dim.size(); ++i) {
    if (!by_dim[i]) {
      if (outer == position) outer += rank;
      source.push_back(at[outer++]);
      continue;
    }
    const auto& of = loop.meta(*by_dim[i]).sizes;
    Index there(shared.end() - static_cast<std::ptrdiff_t>(of.size()), shared.end());
    for (std::size_t k = 0; k < of.size(); ++k)
      if (of[k].is_int(1)) there[k] = 0;
    source.push_back(chosen.add(*by_dim[i], there, sizes[i], true));
  }
  return source;
}

}  // namespace assay
