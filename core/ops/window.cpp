#include "core/ops/window.h"

#include <algorithm>

namespace assay {

auto window_values(const Call& c, int arg, int rank, const Expr& absent) -> Dims {
  const auto count = static_cast<std::size_t>(rank);
  auto values = arg >= 0 ? c.exprs(arg) : Dims{};
  if (values.empty()) return Dims(count, absent);
  if (values.size() == 1) return Dims(count, values[0]);
  if (values.size() != count)
    c.fail(fmt::format("{} values for {} spatial dimensions", values.size(), rank));
  values.resize(count);
  return values;
}

auto window_dims(const Call& c, const WindowArgs& args, int rank) -> std::vector<WindowDim> {
  const auto kernel = window_values(c, args.kernel, rank, 1);
  const auto padding = window_values(c, args.padding, rank, 0);
  const auto dilation = window_values(c, args.dilation, rank, 1);
  const bool strided = args.stride >= 0 && !c.exprs(args.stride).empty();
  const auto stride = strided ? window_values(c, args.stride, rank, 1) : kernel;
  std::vector<WindowDim> dims;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    dims.push_back({kernel[i], stride[i], padding[i], dilation[i]});
  return dims;
}

auto window_count(MetaCall& c, const Expr& input, const WindowDim& dim, bool ceil_mode) -> Expr {
  const Expr last = input + 2 * dim.padding - dim.dilation * (dim.kernel - 1) - 1;
  if (!ceil_mode) return floor_div(last, dim.stride) + 1;
  const Expr count = floor_div(last + dim.stride - 1, dim.stride) + 1;
  const bool starts_outside =
      c.decide(ge((count - 1) * dim.stride, input + dim.padding), "the last window starts inside");
  return starts_outside ? count - 1 : count;
}

auto Window::inside(std::size_t dim, std::int64_t tap) const
    -> std::pair<std::int64_t, std::int64_t> {
  const auto shift = padding[dim] - tap * dilation[dim];
  // The smallest position with position * stride >= shift, and the first one past the input.
  const auto begin = shift <= 0 ? 0 : (shift + stride[dim] - 1) / stride[dim];
  const auto room = in[dim] + shift;
  const auto end = room <= 0 ? 0 : (room + stride[dim] - 1) / stride[dim];
  return {std::min(begin, out[dim]), std::max(std::min(begin, out[dim]), std::min(end, out[dim]))};
}

auto spatial_triple(const Ints& sizes, int rank) -> Triple {
  Triple triple{1, 1, 1};
  const auto count = static_cast<std::size_t>(rank);
  if (sizes.size() < count) return triple;  // an argument that is no number, which is an error
  for (std::size_t i = 0; i < count; ++i) triple[3 - count + i] = sizes[sizes.size() - count + i];
  return triple;
}

auto make_window(const Call& c, const WindowArgs& args, int rank, const Ints& in, const Ints& out)
    -> Window {
  Window window;
  window.in = spatial_triple(in, rank);
  window.out = spatial_triple(out, rank);
  const auto dims = window_dims(c, args, rank);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto at = 3 - dims.size() + i;
    window.kernel[at] = dims[i].kernel.as_int().value_or(1);
    window.stride[at] = std::max<std::int64_t>(dims[i].stride.as_int().value_or(1), 1);
    window.padding[at] = dims[i].padding.as_int().value_or(0);
    window.dilation[at] = dims[i].dilation.as_int().value_or(1);
  }
  return window;
}

}  // namespace assay
