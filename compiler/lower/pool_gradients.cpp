// Gradients of pools: every element sums what the windows over it give back. Windows with
// dilation, and elements under more windows than a few, stay library calls.
#include <array>

#include "compiler/lower/lowering.h"

namespace assay {
namespace {

constexpr std::int64_t kMostWindows = 16;  ///< over one element

/// A window of the last two dimensions whose numbers are known, and how often it moves.
struct Moving {
  struct Dim {
    std::int64_t kernel = 1, stride = 1, padding = 0;
    Expr size, positions;
    /// Windows over one element.
    [[nodiscard]] auto over() const -> std::int64_t { return (kernel + stride - 1) / stride; }
  };
  std::array<Dim, 2> dims;
};

/// The i-th of a list of one or two numbers.
auto entry(const Datum& list, std::size_t i) -> std::optional<std::int64_t> {
  const auto* items = list.list();
  if (items == nullptr || items->empty()) return std::nullopt;
  const auto* scalar = (*items)[std::min(i, items->size() - 1)].scalar();
  return scalar == nullptr ? std::nullopt : scalar->as_int();
}

/// Arguments: gradient, input, kernel, stride, padding; a missing stride is the kernel.
auto moving(const LoweringCall& call) -> std::optional<Moving> {
  const auto &from = call.meta(1).sizes, &to = call.meta(0).sizes;
  if (from.size() < 3 || from.size() != to.size()) return std::nullopt;
  Moving window;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto kernel = entry(call.args[2], i), padding = entry(call.args[4], i);
    const auto* strides = call.args[3].list();
    const auto stride = strides != nullptr && strides->empty() ? kernel : entry(call.args[3], i);
    if (!kernel || !padding || !stride || *stride < 1) return std::nullopt;
    const auto at = from.size() - 2 + i;
    window.dims[i] = {*kernel, *stride, *padding, from[at], to[at]};
  }
  if (window.dims[0].over() * window.dims[1].over() > kMostWindows) return std::nullopt;
  return window;
}

/// Where a window over an element stands, the `back`-th before the last of them, and whether it is
/// there and reaches the element.
struct Standing {
  Expr position, exists;
};
auto standing(const Moving::Dim& dim, const Expr& element, std::int64_t back) -> Standing {
  const auto padded = element + dim.padding;
  const auto position = floor_div(padded, Expr(dim.stride)) - back;
  return {position, logic_and(logic_and(ge(position, 0), lt(position, dim.positions)),
                              lt(padded - position * dim.stride, dim.kernel))};
}

/// The sum over the windows over an element, of `part` at their positions where they are.
auto summed(LoopBuilder& loop, const Moving& window, const Index& at, DType dtype,
            const std::function<Element(const Index&)>& part) -> Element {
  const auto rank = at.size();
  std::optional<Element> sum;
  for (std::int64_t i = 0; i < window.dims[0].over(); ++i)
    for (std::int64_t j = 0; j < window.dims[1].over(); ++j) {
      const auto row = standing(window.dims[0], at[rank - 2], i);
      const auto column = standing(window.dims[1], at[rank - 1], j);
      auto place = at;
      place[rank - 2] = row.position;
      place[rank - 1] = column.position;
      const Element given{&loop, loop.choose(
                                     loop.truth(logic_and(row.exists, column.exists)),
                                     [&] { return part(place).to(dtype).id; },
                                     [&] { return loop.constant(dtype, std::int64_t{0}); })};
      sum = sum ? *sum + given : given;
    }
  return *sum;
}

/// Arguments behind the window: dilation, ceil_mode, indices into the input's planes.
auto max_pool_backward(const LoweringCall& call, TensorDef& def) -> bool {
  const auto window = moving(call);
  if (!window || !call.tensors[7] || entry(call.args[5], 0) != 1 || entry(call.args[5], 1) != 1)
    return false;
  const auto grad = *call.tensors[0], indices = *call.tensors[7];
  def.reads = {grad, indices};
  def.cost = static_cast<int>(6 * window->dims[0].over() * window->dims[1].over());
  def.repeats = true;
  def.element = [=, window = *window, result = def.meta.dtype](LoopBuilder& loop, const Index& at) {
    const auto rank = at.size();
    const Element here{&loop, loop.number(at[rank - 2] * window.dims[1].size + at[rank - 1])};
    const auto sum = summed(loop, window, at, opmath(result), [&](const Index& place) {
      const auto from = Element{&loop, loop.value(indices, place)}.to(here.dtype());
      const Element value{&loop, loop.value(grad, place)};
      return select(apply(TileOp::eq, from, here), value, value.like(0));
    });
    return sum.to(result).id;
  };
  return true;
}

/// Arguments behind the window: ceil_mode, count_include_pad, divisor_override.
auto avg_pool_backward(const LoweringCall& call, TensorDef& def) -> bool {
  const auto window = moving(call);
  if (!window) return false;
  const bool counts_padding = call.expr(6).as_bool().value_or(true);
  const auto divisor = call.has(7) ? call.expr(7) : Expr();
  const bool has_divisor = call.has(7);
  const auto grad = *call.tensors[0];
  def.reads = {grad};
  def.cost = static_cast<int>(8 * window->dims[0].over() * window->dims[1].over());
  def.repeats = true;
  def.element = [=, window = *window, result = def.meta.dtype](LoopBuilder& loop, const Index& at) {
    const auto rank = at.size();
    const auto dtype = opmath(result);
    const auto elements = [&](const Index& place) {
      Expr count(1);
      for (std::size_t i = 0; i < 2; ++i) {
        const auto& dim = window.dims[i];
        const auto begin = place[rank - 2 + i] * dim.stride - dim.padding;
        const auto end = min(begin + dim.kernel, dim.size + (counts_padding ? dim.padding : 0));
        count = count * (end - (counts_padding ? begin : max(begin, Expr(0))));
      }
      return count;
    };
    const auto sum = summed(loop, window, at, dtype, [&](const Index& place) {
      const auto value = Element{&loop, loop.value(grad, place)}.to(dtype);
      const auto by = has_divisor ? divisor : elements(place);
      return value / Element{&loop, loop.number(by)}.to(dtype);
    });
    return sum.to(result).id;
  };
  return true;
}

/// The number of a tap in its window becomes an index into the input's plane. Arguments: taps,
/// kernel, input size, stride, padding, dilation.
auto offsets_to_indices(const LoweringCall& call, TensorDef& def) -> bool {
  if (!call.tensors[0] || def.meta.sizes.size() < 2) return false;
  std::array<std::array<std::int64_t, 4>, 2> dims = {};  // kernel, stride, padding, dilation
  for (std::size_t i = 0; i < 2; ++i) {
    constexpr std::array<std::size_t, 4> kArgs = {1, 3, 4, 5};
    for (std::size_t k = 0; k < kArgs.size(); ++k) {
      const auto value = entry(call.args[kArgs[k]], i);
      if (!value) return false;
      dims[i][k] = *value;
    }
  }
  const auto* sizes = call.args[2].list();
  if (sizes == nullptr || sizes->empty() || sizes->back().scalar() == nullptr) return false;
  const auto width = *sizes->back().scalar();
  const auto from = *call.tensors[0];
  def.reads = {from};
  def.cost = 6;
  def.element = [=, result = def.meta.dtype](LoopBuilder& loop, const Index& at) {
    const auto rank = at.size();
    const auto tap = Element{&loop, loop.value(from, at)}.to(DType::int64);
    const auto number = [&](const Expr& e) { return Element{&loop, loop.number(e)}; };
    const auto columns = tap.like(static_cast<double>(dims[1][0]));
    const std::array taps = {apply(TileOp::floor_quotient, tap, columns),
                             apply(TileOp::floor_remainder, tap, columns)};
    std::array<Element, 2> where;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto start = number(at[rank - 2 + i] * dims[i][1] - dims[i][2]);
      where[i] = start + taps[i] * static_cast<double>(dims[i][3]);
    }
    return (where[0] * number(width) + where[1]).to(result).id;
  };
  return true;
}

constexpr std::array kRows = {
    LoweringRow{"aten.max_pool2d_with_indices_backward.default", max_pool_backward},
    LoweringRow{"aten.avg_pool2d_backward.default", avg_pool_backward},
    LoweringRow{"prims._low_memory_max_pool_offsets_to_indices.default", offsets_to_indices},
};

}  // namespace

auto pool_gradient_lowerings() -> std::span<const LoweringRow> {
  return kRows;
}

}  // namespace assay
