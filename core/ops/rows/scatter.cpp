// gather and scatter with their reductions, and *_scatter: self with a view of it replaced.
// Rules: aten/src/ATen/native/TensorAdvancedIndexing.cpp, native/cpu/ScatterGatherKernel.cpp;
// the view writers: clone_preserve_strides in aten/src/ATen/FunctionalInverses.cpp.
#include <algorithm>
#include <limits>

#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- gather, scatter ----------------------------------------------------------------------------

auto require_gather_index(MetaCall& c, const TensorMeta& index) -> bool {
  return c.require(index.dtype == DType::int64 || index.dtype == DType::int32,
                   "the index must be int64");
}
auto rank_or_one(const TensorMeta& meta) -> int {
  return std::max(meta.rank(), 1);
}

/// index.size(d) <= bound.size(d) everywhere but at `except` (-1: nowhere).
auto require_within(MetaCall& c, const TensorMeta& index, const TensorMeta& bound, int except)
    -> bool {
  if (!c.require(rank_or_one(index) == rank_or_one(bound), "index and tensor have one rank"))
    return false;
  if (index.rank() != bound.rank())
    return except >= 0 || c.require(le(numel(index), numel(bound)), "the index fits the tensor");
  for (std::size_t d = 0; d < index.sizes.size(); ++d)
    if (static_cast<int>(d) != except &&
        !c.require(le(index.sizes[d], bound.sizes[d]), "the index fits the tensor"))
      return false;
  return true;
}
auto is_empty_index(MetaCall& c, const TensorMeta& index) -> bool {
  return c.decide(eq(numel(index), 0), "empty index");
}

auto gather_rule(MetaCall& c) -> Datum {
  const auto& index = c.meta(2);
  const int dim = c.dim_arg(1, c.meta(0).rank());
  if (!is_empty_index(c, index) &&
      (!require_gather_index(c, index) || !require_within(c, index, c.meta(0), dim)))
    return {};
  return c.fresh(c.meta(0).dtype, index.sizes);
}

auto scatter_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto& index = c.meta(2);
  const int dim = c.dim_arg(1, self.rank());
  const bool has_source = c.is_tensor(3);
  if (has_source && !c.require(c.meta(3).dtype == self.dtype, "self and src must have one dtype"))
    return {};
  if (is_empty_index(c, index)) return contiguous_like_self(c);
  if (!require_gather_index(c, index) || !require_within(c, index, self, dim)) return {};
  if (has_source && !require_within(c, index, c.meta(3), -1)) return {};
  return contiguous_like_self(c);
}

/// For each element of `index` (row-major): offset of the element of `tensor` it names along dim.
auto named_offsets(Call& c, const Tensor& tensor, int dim, const Tensor& index) -> Ints {
  const auto d = static_cast<std::size_t>(dim);
  const auto values = to_vector<std::int64_t>(index);
  const auto size = tensor.rank() == 0 ? 1 : tensor.sizes()[d];
  auto strides = tensor.strides();
  const auto stride = tensor.rank() == 0 ? 0 : std::exchange(strides[d], 0);
  strides.resize(index.sizes().size(), 0);
  auto offsets = element_offsets(index.sizes(), strides, tensor.meta.offset);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (values[i] < 0 || values[i] >= size)
      return c.fail(fmt::format("index {} is out of bounds for dimension {} with size {}",
                                values[i], dim, size)),
             Ints{};
    offsets[i] += values[i] * stride;
  }
  return offsets;
}

void gather_kernel(KernelCall& k) {
  const auto at = named_offsets(k, k.in(0), dim_of(k, 1, k.in(0).rank()), k.in(2));
  if (!k.error()) move_elements(k.in(0), at, k.out(), element_offsets(k.out()));
}

/// Elements of `source` at the coordinates of `index`, which may be smaller.
auto source_offsets(const Tensor& source, const Tensor& index) -> Ints {
  auto strides = source.strides();
  strides.resize(index.sizes().size(), 0);
  return element_offsets(index.sizes(), strides, source.meta.offset);
}

void scatter_kernel(KernelCall& k) {
  auto& out = k.out();
  copy_bits(k.in(0), out);
  const auto at = named_offsets(k, out, dim_of(k, 1, out.rank()), k.in(2));
  if (k.error()) return;
  if (k.is_tensor(3)) return move_elements(k.in(3), source_offsets(k.in(3), k.in(2)), out, at);
  auto value = Tensor::contiguous(out.dtype(), {});
  fill_elements(*value, k.number(3));
  move_elements(*value, Ints(at.size(), 0), out, at);
}

// ---- reductions ---------------------------------------------------------------------------------

enum class Reduce { sum, prod, mean, amax, amin };

auto reduce_of(Call& c, const std::string& name) -> Reduce {
  if (name == "sum" || name == "add") return Reduce::sum;
  if (name == "prod" || name == "multiply") return Reduce::prod;
  if (name == "mean") return Reduce::mean;
  if (name == "amax") return Reduce::amax;
  if (name == "amin") return Reduce::amin;
  c.fail(fmt::format("reduce must be sum, prod, mean, amax or amin, not '{}'", name));
  return Reduce::sum;
}

/// The element that changes nothing.
template <class T>
auto neutral(Reduce reduce) -> T {
  if (reduce == Reduce::prod) return T(1);
  if constexpr (!Cplx<T>) {
    using Limits = std::numeric_limits<T>;
    const T top = Limits::has_infinity ? Limits::infinity() : Limits::max();
    const T bottom = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    if (reduce == Reduce::amax) return bottom;
    if (reduce == Reduce::amin) return top;
  }
  return T(0);
}

template <class T>
auto combine(Reduce reduce, T a, T b) -> T {
  switch (reduce) {
    case Reduce::sum:
    case Reduce::mean:
      return a + b;
    case Reduce::prod:
      return a * b;
    case Reduce::amax:
    case Reduce::amin:
      break;
  }
  if constexpr (Cplx<T>) {
    return a;
  } else {
    if (a != a || b != b) return a != a ? a : b;  // NaN wins
    return (reduce == Reduce::amax) == (a < b) ? b : a;
  }
}

template <class T>
auto average(T total, std::int64_t count) -> T {
  if constexpr (Whole<T>) {
    const auto quotient = total / count;  // floor division, as ATen
    return quotient - ((total % count != 0 && total < 0) ? 1 : 0);
  } else {
    return total / static_cast<double>(count);
  }
}

/// values[at[i]] = reduce(values[at[i]], source[i]), with or without the value that was there.
template <class T>
void reduce_at(std::vector<T>& values, const Ints& at, const std::vector<T>& source, Reduce reduce,
               bool include_self) {
  std::vector<std::int64_t> counts(values.size(), include_self ? 1 : 0);
  if (!include_self)
    for (const auto p : at) values[static_cast<std::size_t>(p)] = neutral<T>(reduce);
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto& value = values[static_cast<std::size_t>(at[i])];
    value = combine(reduce, value, source[i]);
    ++counts[static_cast<std::size_t>(at[i])];
  }
  if (reduce != Reduce::mean) return;
  for (std::size_t p = 0; p < values.size(); ++p)
    if (counts[p] > (include_self ? 1 : 0)) values[p] = average(values[p], counts[p]);
}

/// The out tensor as a row-major one, so that offsets are positions in to_vector().
auto dense_view(const Tensor& tensor) -> Tensor {
  Tensor dense = tensor;
  dense.meta.strides = contiguous_strides(tensor.sizes());
  dense.meta.offset = 0;
  return dense;
}

void reduce_into(KernelCall& k, const Ints& at, const Ints& source_at, Reduce reduce,
                 bool include_self) {
  auto& out = k.out();
  with_compute_type(out.dtype(), [&]<class T>(T) {
    auto values = to_vector<T>(out);
    std::vector<T> source(at.size());
    if (k.is_tensor(3)) {
      const auto all = to_vector<T>(k.in(3));
      for (std::size_t i = 0; i < at.size(); ++i)
        source[i] = all[static_cast<std::size_t>(source_at[i])];
    } else if constexpr (Cplx<T>) {
      std::ranges::fill(source, k.number(3));
    } else {
      std::ranges::fill(source, static_cast<T>(k.real(3)));
    }
    reduce_at<T>(values, at, source, reduce, include_self);
    from_vector<T>(out, values);
  });
}

void scatter_reduce(KernelCall& k, Reduce reduce, bool include_self) {
  auto& out = k.out();
  copy_bits(k.in(0), out);
  const auto at = named_offsets(k, dense_view(out), dim_of(k, 1, out.rank()), k.in(2));
  if (k.error()) return;
  const auto source_at = k.is_tensor(3) ? source_offsets(dense_view(k.in(3)), k.in(2)) : Ints{};
  reduce_into(k, at, source_at, reduce, include_self);
}
void scatter_add_kernel(KernelCall& k) {
  scatter_reduce(k, Reduce::sum, true);
}
void scatter_reduce_kernel(KernelCall& k) {
  const int include_self = param(k, "include_self");
  const auto reduce = reduce_of(k, k.text(param(k, "reduce")));
  if (!k.error()) scatter_reduce(k, reduce, include_self < 0 || k.flag(include_self));
}

/// index_reduce: like scatter_reduce with one index per slice.
auto index_reduce_rule(MetaCall& c) -> Datum {
  return require_index_source(c) ? contiguous_like_self(c) : Datum{};
}
void index_reduce_kernel(KernelCall& k) {
  auto& out = k.out();
  copy_bits(k.in(0), out);
  const auto d = static_cast<std::size_t>(dim_of(k, 1, out.rank()));
  Tensor index = k.in(2);  // seen at the source's shape
  const auto& source = k.in(3);
  const auto stride = index.rank() == 0 ? 0 : index.strides()[0];
  index.meta.sizes = source.sizes();
  index.meta.strides.assign(source.sizes().size(), 0);
  if (d < index.meta.strides.size()) index.meta.strides[d] = stride;
  const auto at = named_offsets(k, dense_view(out), static_cast<int>(d), index);
  const auto reduce = reduce_of(k, k.text(4));
  if (k.error()) return;
  reduce_into(k, at, source_offsets(dense_view(source), index), reduce, k.flag(5));
}

// ---- self with a view of it replaced ------------------------------------------------------------

/// clone_preserve_strides: the whole storage is copied and viewed as before, offset included;
/// tensors that overlap themselves are cloned instead.
auto clone_preserving_strides(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  bool overlaps = false;
  for (std::size_t d = 0; d < self.sizes.size() && !overlaps; ++d)
    overlaps = c.decide(eq(self.strides[d], 0), "expanded dimension") &&
               c.decide(gt(self.sizes[d], 1), "expanded dimension");
  if (overlaps && !is_dense(c, self)) return preserved_like_self(c);
  auto result = c.fresh(self.dtype, self.sizes, self.strides);
  std::get<FakeTensor>(result.value).meta.offset = self.offset;
  return result;
}
/// The clone that belongs to clone_preserving_strides(), made in place of the plain allocation.
auto copy_self(KernelCall& k) -> Tensor& {
  const auto& self = k.in(0);
  auto& out = k.out();
  if (out.strides() != self.strides()) {
    copy_bits(self, out);
    return out;
  }
  out = self;
  out.storage = std::make_shared<Storage>(self.storage->size_bytes());
  std::ranges::copy(self.storage->bytes(), out.storage->bytes().begin());
  return out;
}

/// Writes argument 1 into a view of the result.
void write_view(KernelCall& k, Tensor view) {
  const auto source = expanded_view(k.in(1), view.sizes());
  if (source.dtype() == view.dtype())
    copy_bits(source, view);
  else
    copy_elems(source, view);
}

auto require_source(MetaCall& c, const Dims& sizes) -> bool {
  return require_expands(c, c.meta(1).sizes, sizes, "src has the shape of the view");
}

auto select_scatter_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(self.rank() > 0, "select needs at least one dimension")) return {};
  const auto dim = c.dim_arg(2, self.rank());
  const auto& size = self.sizes[static_cast<std::size_t>(dim)];
  const auto index = c.expr(3);
  if (!c.require(logic_and(ge(index, -size), lt(index, size)), "the index is in range")) return {};
  auto sizes = self.sizes;
  sizes.erase(sizes.begin() + dim);
  if (!require_source(c, sizes)) return {};
  return clone_preserving_strides(c);
}
void select_scatter_kernel(KernelCall& k) {
  Tensor view = copy_self(k);
  const auto dim = static_cast<std::ptrdiff_t>(dim_of(k, 2, view.rank()));
  auto& meta = view.meta;
  const auto d = static_cast<std::size_t>(dim);
  meta.offset += wrap_index(k.integer(3), meta.sizes[d]) * meta.strides[d];
  meta.sizes.erase(meta.sizes.begin() + dim);
  meta.strides.erase(meta.strides.begin() + dim);
  write_view(k, std::move(view));
}

auto slice_scatter_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).rank() > 0, "slice needs at least one dimension")) return {};
  c.dim_arg(2, c.meta(0).rank());
  if (!c.require(gt(c.expr(5), 0), "the step is positive")) return {};
  return clone_preserving_strides(c);
}
void slice_scatter_kernel(KernelCall& k) {
  Tensor view = copy_self(k);
  const auto d = static_cast<std::size_t>(dim_of(k, 2, view.rank()));
  const auto size = view.sizes()[d];
  const auto bound = [&](int arg, std::int64_t fallback) {
    const auto value = k.has(arg) ? k.integer(arg) : fallback;
    return std::clamp<std::int64_t>(value < 0 ? value + size : value, 0, size);
  };
  const auto start = bound(3, 0);
  const auto end = std::max(bound(4, size), start);
  const auto step = k.integer(5);
  view.meta.offset += start * view.strides()[d];
  view.meta.sizes[d] = end > start ? (end - start - 1) / step + 1 : 0;
  if (view.sizes()[d] > 1) view.meta.strides[d] *= step;
  if (view.sizes() != k.in(1).sizes()) {
    k.fail("src has the shape of the slice");
    return;
  }
  write_view(k, std::move(view));
}

auto diagonal_scatter_rule(MetaCall& c) -> Datum {
  const int dim1 = c.dim_arg(3, c.meta(0).rank());
  const int dim2 = c.dim_arg(4, c.meta(0).rank());
  if (!c.require(dim1 != dim2, "the two dimensions differ")) return {};
  return clone_preserving_strides(c);
}
void diagonal_scatter_kernel(KernelCall& k) {
  Tensor view = copy_self(k);
  auto& meta = view.meta;
  const auto shift = k.integer(2);
  const auto a = static_cast<std::size_t>(dim_of(k, 3, view.rank()));
  const auto b = static_cast<std::size_t>(dim_of(k, 4, view.rank()));
  const auto length =
      std::max<std::int64_t>(0, std::min(meta.sizes[a] + std::min<std::int64_t>(shift, 0),
                                         meta.sizes[b] - std::max<std::int64_t>(shift, 0)));
  const auto stride = meta.strides[a] + meta.strides[b];
  if (length > 0) meta.offset += shift >= 0 ? shift * meta.strides[b] : -shift * meta.strides[a];
  for (const auto d : {std::max(a, b), std::min(a, b)}) {
    meta.sizes.erase(meta.sizes.begin() + static_cast<std::ptrdiff_t>(d));
    meta.strides.erase(meta.strides.begin() + static_cast<std::ptrdiff_t>(d));
  }
  meta.sizes.push_back(length);
  meta.strides.push_back(stride);
  if (meta.sizes != k.in(1).sizes()) {
    k.fail("src has the shape of the diagonal");
    return;
  }
  write_view(k, std::move(view));
}

auto as_strided_scatter_rule(MetaCall& c) -> Datum {
  auto numbers = c.exprs(2);
  const auto strides = c.exprs(3);
  if (!c.require(numbers.size() == strides.size(), "as many strides as sizes") ||
      !require_source(c, numbers))
    return {};
  numbers.insert(numbers.end(), strides.begin(), strides.end());
  if (c.has(4)) numbers.push_back(c.expr(4));
  for (const auto& number : numbers)
    if (!c.require(ge(number, 0), "sizes, strides and offset are not negative")) return {};
  return clone_preserving_strides(c);
}
void as_strided_scatter_kernel(KernelCall& k) {
  const Tensor& out = copy_self(k);
  const auto offset = k.has(4) ? k.integer(4) : k.in(0).meta.offset;
  auto view = out.view(out.dtype(), k.integers(2), k.integers(3), offset);
  if (!view)
    k.fail(view.error().message);
  else
    write_view(k, *std::move(view));
}

}  // namespace

// clang-format off
void add_scatter_rows(OpTable& t) {
  t.add({.schema_text = "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", .rule = gather_rule, .kernel = gather_kernel});
  t.add({.schema_text = "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", .rule = scatter_rule, .kernel = scatter_kernel});
  t.add({.schema_text = "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", .rule = scatter_rule, .kernel = scatter_kernel});
  t.add({.schema_text = "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", .rule = scatter_rule, .kernel = scatter_reduce_kernel});
  t.add({.schema_text = "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor", .rule = scatter_rule, .kernel = scatter_reduce_kernel});
  t.add({.schema_text = "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", .rule = scatter_rule, .kernel = scatter_add_kernel});
  t.add({.schema_text = "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", .rule = scatter_rule, .kernel = scatter_reduce_kernel});
  t.add({.schema_text = "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor", .rule = index_reduce_rule, .kernel = index_reduce_kernel});
  t.add({.schema_text = "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", .rule = select_scatter_rule, .kernel = select_scatter_kernel});
  t.add({.schema_text = "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", .rule = slice_scatter_rule, .kernel = slice_scatter_kernel});
  t.add({.schema_text = "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", .rule = diagonal_scatter_rule, .kernel = diagonal_scatter_kernel});
  t.add({.schema_text = "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", .rule = as_strided_scatter_rule, .kernel = as_strided_scatter_kernel});
}
// clang-format on

}  // namespace assay
