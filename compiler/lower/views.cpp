// Views as maps of positions: nothing moves.
#include <algorithm>
#include <array>

#include "compiler/lower/lowering.h"

namespace assay {
namespace {

using MapOf = ViewMap (*)(const LoweringCall&, const TensorMeta& from, const TensorMeta& to);

auto same_position(const LoweringCall&, const TensorMeta&, const TensorMeta&) -> ViewMap {
  return [](const Index& at) { return at; };
}

auto reshaping(const LoweringCall&, const TensorMeta& from, const TensorMeta& to) -> ViewMap {
  return [from = from.sizes, to = to.sizes](const Index& at) { return reshaped(at, to, from); };
}

auto permuting(const LoweringCall& call, const TensorMeta& from, const TensorMeta&) -> ViewMap {
  std::vector<std::size_t> order;
  const auto rank = from.sizes.size();
  if (const auto* dims = call.args[1].list()) {
    for (const auto& dim : *dims) {
      const auto value = dim.scalar() ? dim.scalar()->as_int().value_or(0) : 0;
      order.push_back(
          static_cast<std::size_t>(value < 0 ? value + static_cast<std::int64_t>(rank) : value));
    }
  }
  if (order.size() != rank) return {};
  return [order](const Index& at) {
    Index source(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) source[order[i]] = at[i];
    return source;
  };
}

auto swapping(std::size_t a, std::size_t b) -> ViewMap {
  return [a, b](const Index& at) {
    auto source = at;
    if (a < at.size() && b < at.size()) std::swap(source[a], source[b]);
    return source;
  };
}
auto transposing(const LoweringCall& call, const TensorMeta& from, const TensorMeta&) -> ViewMap {
  return swapping(call.dim(1, from.sizes.size()), call.dim(2, from.sizes.size()));
}
auto turning(const LoweringCall&, const TensorMeta& from, const TensorMeta&) -> ViewMap {
  return from.sizes.size() == 2 ? swapping(0, 1) : swapping(0, 0);
}

auto expanding(const LoweringCall&, const TensorMeta& from, const TensorMeta& to) -> ViewMap {
  return [from = from.sizes, to = to.sizes](const Index& at) {
    return broadcast_position(at, to, from);
  };
}

/// How far the view starts behind what it views, in steps of a dimension; nothing if that does not
/// come out even.
auto start_of(const TensorMeta& from, const TensorMeta& to, std::size_t dim)
    -> std::optional<Expr> {
  const auto difference = to.offset - from.offset;
  if (difference.is_int(0)) return Expr(0);
  const auto start = floor_div(difference, from.strides[dim]);
  if (start.is_valid() && start * from.strides[dim] == difference) return start;
  return std::nullopt;
}

auto selecting(const LoweringCall& call, const TensorMeta& from, const TensorMeta& to) -> ViewMap {
  const auto dim = call.dim(1, from.sizes.size());
  if (dim >= from.sizes.size() || to.sizes.size() + 1 != from.sizes.size()) return {};
  auto start = start_of(from, to, dim);
  if (!start) return {};
  return [dim, start = *start](const Index& at) {
    auto source = at;
    source.insert(source.begin() + static_cast<std::ptrdiff_t>(dim), start);
    return source;
  };
}

auto slicing_at(const TensorMeta& from, const TensorMeta& to, std::size_t dim) -> ViewMap {
  if (dim >= from.sizes.size() || to.sizes.size() != from.sizes.size()) return {};
  auto start = start_of(from, to, dim);
  auto step = to.strides[dim] == from.strides[dim] ? Expr(1)
                                                   : floor_div(to.strides[dim], from.strides[dim]);
  if (!start || !step.is_valid() || step * from.strides[dim] != to.strides[dim]) return {};
  return [dim, start = *start, step](const Index& at) {
    auto source = at;
    source[dim] = source[dim] * step + start;
    return source;
  };
}
auto slicing(const LoweringCall& call, const TensorMeta& from, const TensorMeta& to) -> ViewMap {
  return slicing_at(from, to, call.dim(1, from.sizes.size()));
}
auto splitting(const LoweringCall& call, const TensorMeta& from, const TensorMeta& to) -> ViewMap {
  return slicing_at(from, to, call.dim(2, from.sizes.size()));
}

/// The last dimension is a place in the window.
auto unfolding(const LoweringCall& call, const TensorMeta& from, const TensorMeta& to) -> ViewMap {
  const auto dim = call.dim(1, from.sizes.size());
  const auto* step = call.args[3].scalar();
  if (dim >= from.sizes.size() || to.sizes.size() != from.sizes.size() + 1 || step == nullptr)
    return {};
  return [dim, step = *step](const Index& at) {
    Index source(at.begin(), at.end() - 1);
    source[dim] = source[dim] * step + at.back();
    return source;
  };
}

struct ViewRow {
  std::string_view overload;
  MapOf map;
};
// clang-format off
constexpr std::array kViews = {
    ViewRow{"aten.alias.default", same_position},
    ViewRow{"aten.detach.default", same_position},
    ViewRow{"aten.view.default", reshaping},
    ViewRow{"aten.reshape.default", reshaping},
    ViewRow{"aten._unsafe_view.default", reshaping},
    ViewRow{"aten._reshape_alias.default", reshaping},
    ViewRow{"aten.flatten.using_ints", reshaping},
    ViewRow{"aten.unflatten.int", reshaping},
    ViewRow{"aten.unsqueeze.default", reshaping},
    ViewRow{"aten.squeeze.default", reshaping},
    ViewRow{"aten.squeeze.dim", reshaping},
    ViewRow{"aten.squeeze.dims", reshaping},
    ViewRow{"aten.permute.default", permuting},
    ViewRow{"aten.transpose.int", transposing},
    ViewRow{"aten.t.default", turning},
    ViewRow{"aten.expand.default", expanding},
    ViewRow{"aten.select.int", selecting},
    ViewRow{"aten.unbind.int", selecting},
    ViewRow{"aten.slice.Tensor", slicing},
    ViewRow{"aten.narrow.default", slicing},
    ViewRow{"aten.split.Tensor", splitting},
    ViewRow{"aten.split_with_sizes.default", splitting},
    ViewRow{"aten.chunk.default", splitting},
    ViewRow{"aten.unfold.default", unfolding},
};
// clang-format on

/// Elements of a group of dimensions, counted together.
auto linear(const Index& position, const Dims& sizes, std::size_t begin, std::size_t end) -> Expr {
  Expr sum(0);
  for (auto i = begin; i < end; ++i) sum = sum * sizes[i] + position[i];
  return sum;
}

void spread(const Expr& count, const Dims& sizes, std::size_t begin, std::size_t end,
            Index& result) {
  Expr inner(1);
  for (auto i = end; i-- > begin;) {
    if (sizes[i].is_int(1)) {
      result[i] = 0;
      continue;
    }
    auto part = floor_div(count, inner);
    bool is_first = true;
    for (auto k = begin; k < i; ++k) is_first = is_first && sizes[k].is_int(1);
    result[i] = is_first ? part : mod(part, sizes[i]);
    inner = inner * sizes[i];
  }
}

}  // namespace

auto reshaped(const Index& position, const Dims& to, const Dims& from) -> Index {
  Index result(from.size(), Expr(0));
  std::size_t t = 0, f = 0;
  while (t < to.size() || f < from.size()) {
    const auto t0 = t, f0 = f;
    Expr tn(1), fn(1);
    if (t < to.size()) tn = to[t++];
    if (f < from.size()) fn = from[f++];
    // Groups of dimensions with as many elements on both sides; to the end if there are none.
    while (tn != fn && (t < to.size() || f < from.size())) {
      const auto a = tn.as_int();
      const auto b = fn.as_int();
      const bool grow_to =
          f == from.size() ||
          (t < to.size() &&
           (a && b ? *a < *b : !a < !b || (!a && tn.tree_size() < fn.tree_size()) || (a && !b)));
      if (grow_to)
        tn = tn * to[t++];
      else
        fn = fn * from[f++];
    }
    spread(linear(position, to, t0, t), from, f0, f, result);
  }
  static const Ranges kNone;
  for (auto& e : result)
    if (e.op() != ExprOp::symbol && !e.is_const()) e = RangeSimplifier(kNone).apply(e);
  return result;
}

auto broadcast_position(const Index& position, const Dims& shape, const Dims& sizes) -> Index {
  Index result;
  const auto lead = shape.size() - sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i)
    result.push_back(sizes[i].is_int(1) ? Expr(0) : position[lead + i]);
  return result;
}

auto view_map(const LoweringCall& call, const TensorMeta& from, const TensorMeta& to) -> ViewMap {
  if (from.dtype != to.dtype || from.lazy != to.lazy) return {};
  const auto row = std::ranges::find(kViews, call.row.schema.overload, &ViewRow::overload);
  return row == kViews.end() ? ViewMap() : row->map(call, from, to);
}

auto repeats_elements(const TensorMeta& from, const TensorMeta& to) -> bool {
  if (to.sizes.size() < from.sizes.size()) return false;
  const auto lead = to.sizes.size() - from.sizes.size();
  for (std::size_t i = 0; i < to.sizes.size(); ++i) {
    if (!to.strides[i].is_int(0) || to.sizes[i].is_int(1)) continue;
    if (i < lead || !from.strides[i - lead].is_int(0)) return true;
  }
  return false;
}

}  // namespace assay
