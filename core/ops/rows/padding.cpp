// Padding and its gradients, unpooling. Rules: aten/src/ATen/native/PadNd.cpp (constant, circular),
// ReflectionPad.cpp, ReplicationPadding.cpp, MaxUnpooling.cpp. In eager mode 2-d and 3-d padding
// keeps the memory format that the input suggests; fake kernels often claim contiguous results.
#include <algorithm>

#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- constant padding ---------------------------------------------------------------------------

/// Padding of dimension d: the list runs from the last dimension backwards.
struct Pad {
  Expr before, after;
};
auto pads_by_dim(MetaCall& c, const Dims& list, std::size_t rank) -> std::vector<Pad> {
  std::vector<Pad> pads(rank);
  if (!c.require(list.size() % 2 == 0 && list.size() / 2 <= rank,
                 "two pads for each padded dimension"))
    return pads;
  for (std::size_t i = 0; i < list.size() / 2; ++i)
    pads[rank - 1 - i] = {list[2 * i], list[2 * i + 1]};
  return pads;
}

auto constant_pad_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto pads = pads_by_dim(c, c.exprs(1), self.sizes.size());
  auto sizes = self.sizes;
  const auto rank = sizes.size();
  // What is row-major and loses nothing stays so whether it grows or not, unless it may be taken
  // for channels-last: nobody needs to know.
  const bool may_be_channels_last = rank == 4 || rank == 5;
  bool grows =
      !may_be_channels_last && self.strides == contiguous_strides(self.sizes) &&
      std::ranges::all_of(pads, [&](const Pad& pad) {
        return c.decide(ge(pad.before, 0), "padding") && c.decide(ge(pad.after, 0), "padding");
      });
  for (std::size_t d = 0; d < rank; ++d) {
    sizes[d] = sizes[d] + pads[d].before + pads[d].after;
    if (!c.require(ge(sizes[d], 0), "padded sizes are not negative")) return {};
    grows = grows || c.decide(gt(pads[d].before, 0), "padding") ||
            c.decide(gt(pads[d].after, 0), "padding");
  }
  if (grows) return suggested(c, self, self.dtype, std::move(sizes));
  // Nothing grows: eager narrows self and clones the view.
  TensorMeta narrowed = self;
  narrowed.sizes = sizes;
  auto strides = preserved_strides(c, narrowed);
  return c.fresh(self.dtype, std::move(sizes), std::move(strides));
}

void constant_pad_kernel(KernelCall& k) {
  const auto& self = k.in(0);
  auto& out = k.out();
  fill_elements(out, k.number(2));
  const auto list = k.integers(1);
  Tensor from = self;
  Tensor to = out;
  for (std::size_t i = 0; i < list.size() / 2; ++i) {
    const auto d = self.sizes().size() - 1 - i;
    const auto before = list[2 * i];
    const auto after = list[2 * i + 1];
    from.meta.offset += std::max<std::int64_t>(-before, 0) * from.strides()[d];
    to.meta.offset += std::max<std::int64_t>(before, 0) * to.strides()[d];
    const auto kept =
        self.sizes()[d] + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0);
    from.meta.sizes[d] = std::max<std::int64_t>(kept, 0);
    to.meta.sizes[d] = from.meta.sizes[d];
  }
  copy_bits(from, to);
}

// ---- reflection and replication -----------------------------------------------------------------

enum class Mode { reflect, replicate };

/// Sizes after padding the last `kDims` dimensions; fails where the mode cannot reach that far.
template <Mode kMode>
auto padded_sizes(MetaCall& c, const TensorMeta& input, const Dims& list, std::size_t dims)
    -> Dims {
  auto sizes = input.sizes;
  if (!c.require(sizes.size() == dims + 1 || sizes.size() == dims + 2,
                 "the input has a channel and maybe a batch dimension") ||
      !c.require(list.size() == 2 * dims, "two pads for each padded dimension"))
    return sizes;
  for (std::size_t i = 0; i < dims; ++i) {
    auto& size = sizes[sizes.size() - 1 - i];
    const auto& before = list[2 * i];
    const auto& after = list[2 * i + 1];
    if (!c.require(gt(size, 0), "padded dimensions are not empty")) return sizes;
    if (kMode == Mode::reflect && !c.require(logic_and(lt(before, size), lt(after, size)),
                                             "reflection stays inside the input"))
      return sizes;
    size = size + before + after;
    if (!c.require(ge(size, 1), "padded sizes are positive")) return sizes;
  }
  return sizes;
}

/// 1-d padding always gives a contiguous result, as do all of CUDA's.
auto like_padded(MetaCall& c, const TensorMeta& input, Dims sizes, std::size_t dims) -> Datum {
  if (dims == 1 || on_cuda(input)) return c.fresh(input.dtype, std::move(sizes));
  return suggested(c, input, input.dtype, std::move(sizes));
}
template <Mode kMode, std::size_t kDims>
auto pad_rule(MetaCall& c) -> Datum {
  return like_padded(c, c.meta(0), padded_sizes<kMode>(c, c.meta(0), c.exprs(1), kDims), kDims);
}
/// grad_output, self, padding.
template <Mode kMode, std::size_t kDims>
auto pad_backward_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(1);
  const auto padded = padded_sizes<kMode>(c, input, c.exprs(2), kDims);
  const auto& grad = c.meta(0);
  if (!c.require(grad.rank() == input.rank(), "the gradient has the padded shape")) return {};
  for (std::size_t d = 0; d < padded.size(); ++d)
    if (!c.require(eq(grad.sizes[d], padded[d]), "the gradient has the padded shape")) return {};
  return like_padded(c, input, input.sizes, kDims);
}

/// Which input position each padded position of one dimension shows.
template <Mode kMode>
auto source_position(std::int64_t at, std::int64_t size) -> std::int64_t {
  if constexpr (kMode == Mode::replicate) return std::clamp<std::int64_t>(at, 0, size - 1);
  if (at < 0) at = -at;
  return at >= size ? 2 * (size - 1) - at : at;
}
/// For every element of the padded shape, row-major: offset of the input element it shows.
template <Mode kMode, std::size_t kDims>
auto source_offsets(const Ints& padded, const Ints& sizes, const Ints& strides, std::int64_t offset,
                    const Ints& list) -> Ints {
  Ints offsets;
  offsets.reserve(static_cast<std::size_t>(numel(padded)));
  const auto rank = sizes.size();
  for_each_index(padded, [&](const Ints& index) {
    auto at = offset;
    for (std::size_t d = 0; d < rank; ++d) {
      const auto from_end = rank - 1 - d;
      const auto position = from_end < kDims
                                ? source_position<kMode>(index[d] - list[2 * from_end], sizes[d])
                                : index[d];
      at += position * strides[d];
    }
    offsets.push_back(at);
  });
  return offsets;
}

template <Mode kMode, std::size_t kDims>
void pad_kernel(KernelCall& k) {
  const auto& self = k.in(0);
  const auto from = source_offsets<kMode, kDims>(k.out().sizes(), self.sizes(), self.strides(),
                                                 self.meta.offset, k.integers(1));
  move_elements(self, from, k.out(), element_offsets(k.out()));
}
/// Every padded position adds its gradient to the element it shows.
template <Mode kMode, std::size_t kDims>
void pad_backward_kernel(KernelCall& k) {
  const auto& grad = k.in(0);
  auto& out = k.out();
  const auto to = source_offsets<kMode, kDims>(grad.sizes(), out.sizes(),
                                               contiguous_strides(out.sizes()), 0, k.integers(2));
  with_compute_type(out.dtype(), [&]<class T>(T) {
    std::vector<T> sums(static_cast<std::size_t>(out.numel()), T(0));
    const auto values = to_vector<T>(grad);
    for (std::size_t i = 0; i < to.size(); ++i) sums[static_cast<std::size_t>(to[i])] += values[i];
    from_vector<T>(out, sums);
  });
}

// ---- pad ----------------------------------------------------------------------------------------

/// _pad_circular: a fresh contiguous tensor, self in the middle, then each border from the other
/// end, dimension by dimension.
auto circular_pad(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  auto layout = layout_call(c);
  const auto rank = meta.sizes.size();
  const auto pads = pads_by_dim(layout, c.exprs(1), rank);
  auto sizes = meta.sizes;
  for (std::size_t d = 0; d < rank; ++d) {
    layout.require(logic_and(le(pads[d].before, sizes[d]), le(pads[d].after, sizes[d])),
                   "circular padding wraps around at most once");
    sizes[d] = sizes[d] + pads[d].before + pads[d].after;
    layout.require(ge(sizes[d], 0), "padded sizes are not negative");
  }
  if (const auto& error = layout.error()) return c.fail(*error), Datum{};
  const auto out = c.call("aten.new_empty.default", {c.arg(0), int_list(sizes)});
  const auto part = [&](const Datum& tensor, std::size_t d, const Expr& start, const Expr& end) {
    return c.call("aten.slice.Tensor",
                  {tensor, Datum{Expr(static_cast<std::int64_t>(d))}, Datum{start}, Datum{end}});
  };
  Datum target = out;
  Datum source = c.arg(0);
  for (std::size_t d = 0; d < rank; ++d) {
    const auto low = max(pads[d].before, Expr(0));
    const auto high = max(pads[d].after, Expr(0));
    target = part(target, d, low, sizes[d] - high);
    source = part(source, d, max(-pads[d].before, Expr(0)),
                  meta.sizes[d] - max(-pads[d].after, Expr(0)));
  }
  c.call("aten.copy_.default", {target, source});
  for (std::size_t i = rank; i-- > 0;) {
    const auto& [before, after] = pads[i];
    if (c.decide(gt(before, 0), "padding"))
      c.call("aten.copy_.default",
             {part(out, i, 0, before), part(out, i, sizes[i] - before - max(after, Expr(0)),
                                            sizes[i] - max(after, Expr(0)))});
    if (c.decide(gt(after, 0), "padding"))
      c.call("aten.copy_.default",
             {part(out, i, sizes[i] - after, sizes[i]),
              part(out, i, max(before, Expr(0)), max(before, Expr(0)) + after)});
  }
  return out;
}

auto pad(Composer& c) -> Datum {
  const auto mode = c.text(2);
  if (mode == "constant") {
    const Datum value = c.has(3) ? c.arg(3) : Datum{Expr::real(0)};
    return c.call("aten.constant_pad_nd.default", {c.arg(0), c.arg(1), value});
  }
  if (mode == "circular") return c.call("aten._pad_circular.default", {c.arg(0), c.arg(1)});
  const auto dims = c.exprs(1).size() / 2;
  const auto family = mode == "reflect" ? "reflection" : mode == "replicate" ? "replication" : "";
  if (*family == 0 || dims < 1 || dims > 3)
    return c.fail(fmt::format("mode '{}' does not pad {} dimensions", mode, dims)), Datum{};
  return c.call(fmt::format("aten.{}_pad{}d.default", family, dims), {c.arg(0), c.arg(1)});
}

// ---- max unpooling ------------------------------------------------------------------------------

/// self, indices, output_size. In 2-d the input's format is kept, in 3-d the result is contiguous.
template <std::size_t kDims>
auto unpool_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto spatial = c.exprs(2);
  if (!c.require(spatial.size() == kDims, "one output size per spatial dimension") ||
      !c.require(self.sizes.size() == kDims + 1 || self.sizes.size() == kDims + 2,
                 "the input has a channel and maybe a batch dimension") ||
      !c.require(c.meta(1).dtype == DType::int64, "the indices must be int64") ||
      !require_same_sizes(c, c.meta(1).sizes, self.sizes, "indices have self's shape"))
    return {};
  for (const auto& size : spatial)
    if (!c.require(ge(size, 0), "sizes are not negative")) return {};
  Dims sizes(self.sizes.begin(), self.sizes.end() - static_cast<std::ptrdiff_t>(kDims));
  sizes.insert(sizes.end(), spatial.begin(), spatial.end());
  if (kDims == 2 && !on_cuda(self)) return suggested(c, self, self.dtype, std::move(sizes));
  return c.fresh(self.dtype, std::move(sizes));
}
template <std::size_t kDims>
void unpool_kernel(KernelCall& k) {
  auto& out = k.out();
  const auto index = to_vector<std::int64_t>(k.in(1));
  const auto spatial = std::span(out.sizes()).last(kDims);
  const auto area = numel(spatial);
  const auto pooled = static_cast<std::size_t>(numel(std::span(k.in(0).sizes()).last(kDims)));
  const auto all = element_offsets(out);
  Ints to(index.size());
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= area) {
      k.fail(fmt::format("index {} is outside of the output", index[i]));
      return;
    }
    to[i] = all[i / pooled * static_cast<std::size_t>(area) + static_cast<std::size_t>(index[i])];
  }
  move_elements(k.in(0), element_offsets(k.in(0)), out, to);
}

template <Mode kMode, std::size_t kDims>
void add_pair(OpTable& t, std::string_view forward, std::string_view backward) {
  t.add(
      {.schema_text = forward, .rule = pad_rule<kMode, kDims>, .kernel = pad_kernel<kMode, kDims>});
  t.add({.schema_text = backward,
         .rule = pad_backward_rule<kMode, kDims>,
         .kernel = pad_backward_kernel<kMode, kDims>});
}

}  // namespace

// clang-format off
void add_padding_rows(OpTable& t) {
  using enum Mode;
  t.add({.schema_text = "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", .rule = constant_pad_rule, .kernel = constant_pad_kernel});
  t.add({.schema_text = "aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", .decomposition = pad});
  t.add({.schema_text = "aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor", .decomposition = circular_pad});
  add_pair<reflect, 1>(t, "aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", "aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor");
  add_pair<reflect, 2>(t, "aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", "aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor");
  add_pair<reflect, 3>(t, "aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", "aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor");
  add_pair<replicate, 1>(t, "aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", "aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor");
  add_pair<replicate, 2>(t, "aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", "aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor");
  add_pair<replicate, 3>(t, "aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", "aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor");
  t.add({.schema_text = "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", .rule = unpool_rule<2>, .kernel = unpool_kernel<2>});
  t.add({.schema_text = "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor", .rule = unpool_rule<3>, .kernel = unpool_kernel<3>});
}
// clang-format on

}  // namespace assay
