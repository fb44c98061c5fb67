// Selecting and writing elements by index tensors and masks.
// Rules: aten/src/ATen/native/TensorAdvancedIndexing.cpp, Embedding.cpp, IndexingUtils.h.
#include <algorithm>
#include <map>

#include "core/ops/indexing.h"
#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- index, index_put ---------------------------------------------------------------------------

auto index_rule(MetaCall& c) -> Datum {
  auto layout = indexed_layout(c, c.meta(0), c.tensors(1));
  return c.fresh(c.meta(0).dtype, std::move(layout.sizes), std::move(layout.strides));
}
auto measure_index(KernelCall& k) -> Dims {
  return measure_masks(k, 1);
}

void index_kernel(KernelCall& k) {
  const auto& self = k.in(0);
  const auto picked =
      indexed_elements(k, self.sizes(), self.strides(), self.meta.offset, k.tensors(1));
  if (!k.error()) move_elements(self, picked.offsets, k.out(), element_offsets(k.out()));
}

auto index_put_rule(MetaCall& c) -> Datum {
  const auto known = c.context().made_symbols().size();
  const auto written = indexed_layout(c, c.meta(0), c.tensors(1));
  if (c.error()) return {};
  if (c.meta(2).dtype != c.meta(0).dtype)
    return c.fail("self and values must have one dtype"), Datum{};
  // How many elements a mask selects is not known here; the real run checks the values against it.
  if (c.context().made_symbols().size() > known) return preserved_like_self(c);
  const auto together = broadcast(c, written.sizes, c.meta(2).sizes);
  if (c.error()) return {};
  for (std::size_t i = 0; i < together.size(); ++i)
    if (together.size() != written.sizes.size() ||
        !c.require(eq(together[i], written.sizes[i]), "values broadcast to the indexed shape"))
      return c.fail("values do not fit the indexed shape"), Datum{};
  return preserved_like_self(c);
}

/// dense[at[i]] += values[i], in the number type of the dtype.
void add_at(Tensor& out, std::span<const std::int64_t> at, const Tensor& values,
            std::span<const std::int64_t> values_at) {
  with_compute_type(out.dtype(), [&]<class T>(T) {
    auto dense = to_vector<T>(out);
    const auto flat = to_vector<T>(values);
    for (std::size_t i = 0; i < at.size(); ++i)
      dense[static_cast<std::size_t>(at[i])] += flat[static_cast<std::size_t>(values_at[i])];
    from_vector<T>(out, dense);
  });
}

void index_put_kernel(KernelCall& k) {
  const auto& self = k.in(0);
  const auto& values = k.in(2);
  auto& out = k.out();
  copy_bits(self, out);
  if (k.flag(3)) {
    const auto at =
        indexed_elements(k, self.sizes(), contiguous_strides(self.sizes()), 0, k.tensors(1));
    if (k.error()) return;
    Tensor flat = values;
    flat.meta.strides = contiguous_strides(values.sizes());
    return add_at(out, at.offsets, values,
                  element_offsets(at.sizes, broadcast_strides(flat, at.sizes), 0));
  }
  const auto at = indexed_elements(k, out.sizes(), out.strides(), out.meta.offset, k.tensors(1));
  if (k.error()) return;
  move_elements(values, element_offsets(expanded_view(values, at.sizes)), out, at.offsets);
}

/// _unsafe_masked_index: reads where the mask holds, `fill` elsewhere; indices there do not count.
auto unsafe_masked_index(Composer& c) -> Datum {
  DatumList clamped;
  const auto self = c.meta(0);
  const auto* indices = c.arg(2).list();
  if (!indices || indices->size() > self.sizes.size())
    return c.fail("indices must be a list of at most one per dimension"), Datum{};
  for (std::size_t i = 0; i < indices->size(); ++i) {
    const auto& index = (*indices)[i];
    clamped.push_back(index.is_none() ? index
                                      : c.call("aten.clamp.default",
                                               {index, Datum{Expr(0)}, Datum{self.sizes[i] - 1}}));
  }
  const auto picked = c.call("aten._unsafe_index.Tensor", {c.arg(0), Datum{std::move(clamped)}});
  return c.call("aten.masked_fill.Scalar",
                {picked, c.call("aten.logical_not.default", {c.arg(1)}), c.arg(3)});
}
auto unsafe_masked_put(Composer& c) -> Datum {
  DatumList clamped;
  const auto self = c.meta(0);
  const auto* indices = c.arg(2).list();
  if (!indices || indices->size() > self.sizes.size())
    return c.fail("indices must be a list of at most one per dimension"), Datum{};
  for (std::size_t i = 0; i < indices->size(); ++i) {
    const auto& index = (*indices)[i];
    clamped.push_back(index.is_none() ? index
                                      : c.call("aten.clamp.default", {index, Datum{-self.sizes[i]},
                                                                      Datum{self.sizes[i] - 1}}));
  }
  const auto masked =
      c.call("aten.masked_fill.Scalar",
             {c.arg(3), c.call("aten.logical_not.default", {c.arg(1)}), Datum{Expr(0)}});
  return c.call("aten._unsafe_index_put.default",
                {c.arg(0), Datum{std::move(clamped)}, masked, Datum{Expr::boolean(true)}});
}

// ---- one index tensor along one dimension -------------------------------------------------------

auto require_index_dtype(MetaCall& c, const TensorMeta& index) -> bool {
  return c.require(index.dtype == DType::int64 || index.dtype == DType::int32,
                   "the index must be int32 or int64");
}

auto index_select_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto& index = c.meta(2);
  const auto dim = static_cast<std::size_t>(c.dim_arg(1, self.rank()));
  if (!require_index_dtype(c, index) || !c.require(index.rank() <= 1, "the index is a vector"))
    return {};
  auto sizes = self.sizes;
  if (!sizes.empty())
    sizes[dim] = numel(index);
  else if (!c.require(eq(numel(index), 1), "an index to a scalar has one element"))
    return {};
  return c.fresh(self.dtype, std::move(sizes));
}

/// Offsets of the elements at `index` along `dim`, row-major in the selected shape. Indices must be
/// in [0, size), as index_select, index_copy and the like demand.
auto selected_offsets(Call& c, const Tensor& self, int dim, const Ints& index) -> Ints {
  const auto d = static_cast<std::size_t>(dim);
  const bool scalar = self.rank() == 0;
  const auto size = scalar ? 1 : self.sizes()[d];
  for (const auto value : index)
    if (value < 0 || value >= size)
      return c.fail(fmt::format("index {} is out of bounds for dimension {} with size {}", value, d,
                                size)),
             Ints{};
  if (scalar) return Ints(index.size(), self.meta.offset);
  auto sizes = self.sizes();
  sizes[d] = static_cast<std::int64_t>(index.size());
  auto strides = self.strides();
  const auto stride = std::exchange(strides[d], 0);
  auto offsets = element_offsets(sizes, strides, self.meta.offset);
  const auto inner = static_cast<std::size_t>(numel(std::span(sizes).subspan(d + 1)));
  for (std::size_t i = 0; i < offsets.size(); ++i)
    offsets[i] += index[i / inner % index.size()] * stride;
  return offsets;
}

void index_select_kernel(KernelCall& k) {
  const auto& self = k.in(0);
  const auto at =
      selected_offsets(k, self, dim_of(k, 1, self.rank()), to_vector<std::int64_t>(k.in(2)));
  if (!k.error()) move_elements(self, at, k.out(), element_offsets(k.out()));
}

auto index_source_rule(MetaCall& c) -> Datum {
  return require_index_source(c) ? contiguous_like_self(c) : Datum{};
}

void index_copy_kernel(KernelCall& k) {
  auto& out = k.out();
  copy_bits(k.in(0), out);
  const auto at =
      selected_offsets(k, out, dim_of(k, 1, out.rank()), to_vector<std::int64_t>(k.in(2)));
  if (!k.error()) move_elements(k.in(3), element_offsets(k.in(3)), out, at);
}

/// The out tensor as a row-major one: selected_offsets() then gives positions in to_vector().
auto dense_view(const Tensor& tensor) -> Tensor {
  Tensor dense = tensor;
  dense.meta.strides = contiguous_strides(tensor.sizes());
  dense.meta.offset = 0;
  return dense;
}

void index_add_kernel(KernelCall& k) {
  auto& out = k.out();
  copy_bits(k.in(0), out);
  const auto at = selected_offsets(k, dense_view(out), dim_of(k, 1, out.rank()),
                                   to_vector<std::int64_t>(k.in(2)));
  if (k.error()) return;
  with_compute_type(out.dtype(), [&]<class T>(T) {
    auto values = to_vector<T>(out);
    const auto source = to_vector<T>(k.in(3));
    T alpha{};
    if constexpr (Cplx<T>)
      alpha = k.number(4);
    else
      alpha = static_cast<T>(k.real(4));
    for (std::size_t i = 0; i < at.size(); ++i)
      values[static_cast<std::size_t>(at[i])] += alpha * source[i];
    from_vector<T>(out, values);
  });
}

auto index_fill_rule(MetaCall& c) -> Datum {
  c.dim_arg(1, c.meta(0).rank());
  if (!require_index_dtype(c, c.meta(2)) ||
      !c.require(c.meta(2).rank() <= 1, "the index is a vector"))
    return {};
  if (c.is_tensor(3) && !c.require(c.meta(3).rank() == 0, "value must have no dimensions"))
    return {};
  return preserved_like_self(c);
}
/// index_fill also takes negative indices.
void index_fill_kernel(KernelCall& k) {
  auto& out = k.out();
  copy_bits(k.in(0), out);
  const int dim = dim_of(k, 1, out.rank());
  const auto size = out.rank() == 0 ? 1 : out.sizes()[static_cast<std::size_t>(dim)];
  auto index = to_vector<std::int64_t>(k.in(2));
  for (auto& value : index) value = wrap_index(value, size);
  const auto at = selected_offsets(k, out, dim, index);
  if (k.error()) return;
  auto value = Tensor::contiguous(out.dtype(), {});
  if (k.is_tensor(3))
    copy_elems(k.in(3), *value);
  else
    fill_elements(*value, k.number(3));
  move_elements(*value, Ints(at.size(), 0), out, at);
}

// ---- flat positions: take, put ------------------------------------------------------------------

auto take_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(1).dtype == DType::int64, "the index must be int64")) return {};
  return c.fresh(c.meta(0).dtype, c.meta(1).sizes);
}
auto flat_positions(KernelCall& k, const Tensor& self, const Tensor& index) -> Ints {
  auto at = to_vector<std::int64_t>(index);
  for (auto& value : at) {
    const auto wrapped = wrap_index(value, self.numel());
    if (wrapped < 0)
      return k.fail(fmt::format("index {} is out of range for {} elements", value, self.numel())),
             Ints{};
    value = wrapped;
  }
  return at;
}
auto offsets_at(const Tensor& tensor, const Ints& positions) -> Ints {
  const auto all = element_offsets(tensor);
  Ints offsets;
  offsets.reserve(positions.size());
  for (const auto p : positions) offsets.push_back(all[static_cast<std::size_t>(p)]);
  return offsets;
}
void take_kernel(KernelCall& k) {
  const auto at = flat_positions(k, k.in(0), k.in(1));
  if (!k.error())
    move_elements(k.in(0), offsets_at(k.in(0), at), k.out(), element_offsets(k.out()));
}
auto put_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(1).dtype == DType::int64, "the index must be int64")) return {};
  if (!c.require(c.meta(2).dtype == c.meta(0).dtype, "self and source must have one dtype"))
    return {};
  if (!c.require(eq(numel(c.meta(1)), numel(c.meta(2))), "as many indices as source elements"))
    return {};
  return preserved_like_self(c);
}
void put_kernel(KernelCall& k) {
  auto& out = k.out();
  copy_bits(k.in(0), out);
  const auto at = flat_positions(k, out, k.in(1));
  if (k.error()) return;
  if (!k.flag(3)) return move_elements(k.in(2), element_offsets(k.in(2)), out, offsets_at(out, at));
  Ints order(at.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  add_at(out, at, k.in(2), order);
}

// ---- masks --------------------------------------------------------------------------------------

auto measure_nonzero(KernelCall& k) -> Dims {
  std::int64_t count = 0;
  with_compute_type(k.in(0).dtype(), [&]<class T>(T) {
    for (const auto& value : to_vector<T>(k.in(0))) count += value != T(0) ? 1 : 0;
  });
  return {count};
}
/// ATen writes the positions column by column and returns the transpose.
auto nonzero_rule(MetaCall& c) -> Datum {
  const auto count = c.context().data_dependent_size();
  const auto column = on_cuda(c.meta(0)) ? max(count, Expr(1)) : count;
  return c.fresh(DType::int64, {count, c.meta(0).rank()}, {1, column});
}
auto nonzero_static_rule(MetaCall& c) -> Datum {
  if (!c.require(ge(c.expr(1), 0), "the size is not negative")) return {};
  const auto rank = c.meta(0).rank();
  if (!on_cuda(c.meta(0))) return c.fresh(DType::int64, {c.expr(1), rank});
  return c.fresh(DType::int64, {c.expr(1), rank}, {1, max(c.expr(1), Expr(1))});
}
/// Row-major list of the positions of elements that are not zero.
auto nonzero_positions(const Tensor& self) -> Ints {
  Ints positions;
  with_compute_type(self.dtype(), [&]<class T>(T) {
    const auto values = to_vector<T>(self);
    std::size_t at = 0;
    for_each_index(self.sizes(), [&](const Ints& index) {
      if (values[at++] != T(0)) positions.insert(positions.end(), index.begin(), index.end());
    });
  });
  return positions;
}
void nonzero_kernel(KernelCall& k) {
  from_vector<std::int64_t>(k.out(), nonzero_positions(k.in(0)));
}
void nonzero_static_kernel(KernelCall& k) {
  auto positions = nonzero_positions(k.in(0));
  positions.resize(static_cast<std::size_t>(k.out().numel()), k.integer(2));
  from_vector<std::int64_t>(k.out(), positions);
}

auto offsets_in(const Tensor& tensor, const Ints& sizes) -> Ints {
  return element_offsets(expanded_view(tensor, sizes));
}
auto mask_values(const Tensor& mask, const Ints& sizes) -> Ints {
  return to_vector<std::int64_t>(expanded_view(mask, sizes));
}

auto measure_masked_select(KernelCall& k) -> Dims {
  const auto sizes = common_sizes(k.in(0).sizes(), k.in(1).sizes());
  if (!sizes) return k.fail("self and mask do not broadcast"), Dims{0};
  const auto mask = mask_values(k.in(1), *sizes);
  return {static_cast<std::int64_t>(mask.size()) - std::ranges::count(mask, 0)};
}
auto masked_select_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(1).dtype == DType::boolean, "the mask must be bool")) return {};
  broadcast(c, c.meta(0).sizes, c.meta(1).sizes);
  return c.fresh(c.meta(0).dtype, {c.context().data_dependent_size()});
}
void masked_select_kernel(KernelCall& k) {
  const auto sizes = common_sizes(k.in(0).sizes(), k.in(1).sizes()).value_or(Ints{});
  const auto mask = mask_values(k.in(1), sizes);
  const auto at = offsets_in(k.in(0), sizes);
  Ints picked;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (mask[i] != 0) picked.push_back(at[i]);
  move_elements(k.in(0), picked, k.out(), element_offsets(k.out()));
}

auto masked_scatter_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(1).dtype == DType::boolean, "the mask must be bool")) return {};
  if (!c.require(c.meta(2).dtype == c.meta(0).dtype, "self and source must have one dtype"))
    return {};
  return c.fresh(c.meta(0).dtype, broadcast(c, c.meta(0).sizes, c.meta(1).sizes));
}
void masked_scatter_kernel(KernelCall& k) {
  auto& out = k.out();
  const auto out_at = element_offsets(out);
  move_elements(k.in(0), offsets_in(k.in(0), out.sizes()), out, out_at);
  const auto mask = mask_values(k.in(1), out.sizes());
  Ints targets;
  for (std::size_t i = 0; i < mask.size(); ++i)
    if (mask[i] != 0) targets.push_back(out_at[i]);
  auto sources = element_offsets(k.in(2));
  if (targets.size() > sources.size()) {
    k.fail(fmt::format("the mask has {} true elements, the source {}", targets.size(),
                       sources.size()));
    return;
  }
  sources.resize(targets.size());
  move_elements(k.in(2), sources, out, targets);
}

// ---- embedding ----------------------------------------------------------------------------------

auto embedding_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).rank() == 2, "the weight is a matrix") ||
      !require_index_dtype(c, c.meta(1)))
    return {};
  auto sizes = c.meta(1).sizes;
  sizes.push_back(c.meta(0).sizes[1]);
  return c.fresh(c.meta(0).dtype, std::move(sizes));
}
void embedding_kernel(KernelCall& k) {
  const auto at = selected_offsets(k, k.in(0), 0, to_vector<std::int64_t>(k.in(1)));
  if (!k.error()) move_elements(k.in(0), at, k.out(), element_offsets(k.out()));
}

/// grad_output, indices, num_weights, padding_idx, scale_grad_by_freq.
auto embedding_backward_rule(MetaCall& c) -> Datum {
  const auto& grad = c.meta(0);
  if (!require_index_dtype(c, c.meta(1)) ||
      !c.require(ge(c.expr(2), 0), "sizes are not negative") ||
      !c.require(grad.rank() >= 1, "the gradient has a last dimension"))
    return {};
  auto rows = grad.sizes;
  const auto width = rows.back();
  rows.pop_back();
  if (!require_same_sizes(c, rows, c.meta(1).sizes, "one gradient per index")) return {};
  return c.fresh(grad.dtype, {c.expr(2), width});
}
void embedding_backward_kernel(KernelCall& k) {
  auto& out = k.out();
  const auto index = to_vector<std::int64_t>(k.in(1));
  const auto grad = to_vector<double>(k.in(0));
  const auto width = static_cast<std::size_t>(out.sizes()[1]);
  const auto padding = k.integer(3);
  std::map<std::int64_t, int> uses;
  for (const auto row : index) ++uses[row];
  std::vector<double> sums(static_cast<std::size_t>(out.numel()), 0);
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] == padding) continue;
    if (index[i] < 0 || index[i] >= out.sizes()[0]) {
      k.fail(fmt::format("index {} is out of range for {} rows", index[i], out.sizes()[0]));
      return;
    }
    const double scale = k.flag(4) ? 1.0 / uses[index[i]] : 1.0;
    for (std::size_t j = 0; j < width; ++j)
      sums[static_cast<std::size_t>(index[i]) * width + j] += scale * grad[i * width + j];
  }
  from_vector<double>(out, sums);
}

}  // namespace

// clang-format off
void add_index_rows(OpTable& t) {
  t.add({.schema_text = "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", .rule = index_rule, .kernel = index_kernel, .measure = measure_index});
  t.add({.schema_text = "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", .rule = index_rule, .kernel = index_kernel, .measure = measure_index});
  t.add({.schema_text = "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", .rule = index_put_rule, .kernel = index_put_kernel, .measure = measure_index});
  t.add({.schema_text = "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", .rule = index_put_rule, .kernel = index_put_kernel, .measure = measure_index});
  t.add({.schema_text = "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", .decomposition = unsafe_masked_index});
  t.add({.schema_text = "aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor", .decomposition = unsafe_masked_put});
  t.add({.schema_text = "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", .rule = index_select_rule, .kernel = index_select_kernel});
  t.add({.schema_text = "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", .rule = index_source_rule, .kernel = index_add_kernel});
  t.add({.schema_text = "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", .rule = index_source_rule, .kernel = index_copy_kernel});
  t.add({.schema_text = "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", .rule = index_fill_rule, .kernel = index_fill_kernel});
  t.add({.schema_text = "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", .rule = index_fill_rule, .kernel = index_fill_kernel});
  t.add({.schema_text = "aten::take(Tensor self, Tensor index) -> Tensor", .rule = take_rule, .kernel = take_kernel});
  t.add({.schema_text = "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", .rule = put_rule, .kernel = put_kernel});
  t.add({.schema_text = "aten::nonzero(Tensor self) -> Tensor", .rule = nonzero_rule, .kernel = nonzero_kernel, .measure = measure_nonzero});
  t.add({.schema_text = "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", .rule = nonzero_static_rule, .kernel = nonzero_static_kernel});
  t.add({.schema_text = "aten::masked_select(Tensor self, Tensor mask) -> Tensor", .rule = masked_select_rule, .kernel = masked_select_kernel, .measure = measure_masked_select});
  t.add({.schema_text = "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", .rule = masked_scatter_rule, .kernel = masked_scatter_kernel});
  t.add({.schema_text = "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor", .rule = embedding_rule, .kernel = embedding_kernel});
  t.add({.schema_text = "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor", .rule = embedding_backward_rule, .kernel = embedding_backward_kernel});
}
// clang-format on

}  // namespace assay
