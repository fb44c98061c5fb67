#include "core/ops/indexing.h"

#include <algorithm>

#include "core/ops/elements.h"
#include "core/ops/layout.h"
#include "core/ops/pointwise.h"

namespace assay {
namespace {

auto is_mask(DType dtype) -> bool {
  return dtype == DType::boolean || dtype == DType::uint8;
}

/// Which dims are indexed, and where the broadcast index shape goes.
struct Placement {
  std::vector<std::size_t> before, after;  ///< dims of self around the index shape
  std::vector<std::size_t> indexed;
};

auto place(const std::vector<bool>& is_indexed) -> Placement {
  Placement p;
  for (std::size_t d = 0; d < is_indexed.size(); ++d)
    if (is_indexed[d]) p.indexed.push_back(d);
  const bool adjacent =
      p.indexed.empty() || p.indexed.back() - p.indexed.front() + 1 == p.indexed.size();
  for (std::size_t d = 0; d < is_indexed.size(); ++d) {
    if (is_indexed[d]) continue;
    const bool leads = adjacent && !p.indexed.empty() && d < p.indexed.front();
    (leads ? p.before : p.after).push_back(d);
  }
  return p;
}

/// Index tensors one per dimension of self: a mask of rank r stands for r of them.
template <class T>
struct PerDim {
  std::vector<bool> is_indexed;
  std::vector<T> items;  ///< of the indexed dims, in order
};

/// A column of nonzero(mask): `count` positions with stride 1.
auto mask_column(const Expr& count) -> TensorMeta {
  TensorMeta column;
  column.dtype = DType::int64;
  column.sizes = {count};
  column.strides = {1};
  return column;
}

auto expand_masks(MetaCall& c, const TensorMeta& self,
                  const std::vector<const FakeTensor*>& indices) -> PerDim<TensorMeta> {
  PerDim<TensorMeta> result;
  for (const auto* index : indices) {
    if (!index) {
      result.is_indexed.push_back(false);
    } else if (is_mask(index->meta.dtype)) {
      const auto first = result.is_indexed.size();
      if (first + index->meta.sizes.size() > self.sizes.size())
        return c.fail("too many indices"), result;
      for (std::size_t j = 0; j < index->meta.sizes.size(); ++j)
        if (!c.require(eq(index->meta.sizes[j], self.sizes[first + j]),
                       "the mask has self's shape"))
          return result;
      const auto count = c.context().data_dependent_size();
      for (std::size_t j = 0; j < index->meta.sizes.size(); ++j) {
        result.is_indexed.push_back(true);
        result.items.push_back(mask_column(count));
      }
    } else {
      if (index->meta.dtype != DType::int64 && index->meta.dtype != DType::int32)
        return c.fail("indices must be int64, int32, bool or uint8"), result;
      result.is_indexed.push_back(true);
      result.items.push_back(index->meta);
    }
  }
  if (!c.require(result.is_indexed.size() <= self.sizes.size(), "too many indices")) return result;
  result.is_indexed.resize(self.sizes.size(), false);
  return result;
}

/// An index seen from the result: ones around its broadcast shape (reshape_indexer).
auto reshaped_index(MetaCall& c, const TensorMeta& index, const Dims& shape, const Placement& p)
    -> TensorMeta {
  TensorMeta expanded = index;
  expanded.strides = expanded_strides(c, index, shape);
  expanded.sizes = shape;
  Dims sizes(p.before.size(), Expr(1));
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  sizes.insert(sizes.end(), p.after.size(), Expr(1));
  auto strides = view_strides(c, expanded, sizes);
  expanded.strides = strides ? *std::move(strides) : contiguous_strides(sizes);
  expanded.sizes = std::move(sizes);
  return expanded;
}

/// Positions of the true elements of a mask, one list per dimension of the mask.
auto nonzero_columns(const Tensor& mask) -> std::vector<Ints> {
  std::vector<Ints> columns(mask.sizes().size());
  const auto values = to_vector<std::int64_t>(mask);
  std::size_t at = 0;
  for_each_index(mask.sizes(), [&](const Ints& index) {
    if (values[at++] == 0) return;
    for (std::size_t d = 0; d < index.size(); ++d) columns[d].push_back(index[d]);
  });
  return columns;
}

/// One integer index with its own shape.
struct IntegerIndex {
  Ints values;
  Ints sizes;
};

auto expand_masks(const std::vector<const Tensor*>& indices, std::size_t rank)
    -> PerDim<IntegerIndex> {
  PerDim<IntegerIndex> result;
  for (const auto* index : indices) {
    if (!index) {
      result.is_indexed.push_back(false);
    } else if (is_mask(index->dtype())) {
      for (auto& column : nonzero_columns(*index)) {
        const Ints sizes{static_cast<std::int64_t>(column.size())};
        result.items.push_back({std::move(column), sizes});
        result.is_indexed.push_back(true);
      }
    } else {
      result.items.push_back({to_vector<std::int64_t>(*index), index->sizes()});
      result.is_indexed.push_back(true);
    }
  }
  result.is_indexed.resize(rank, false);
  return result;
}

/// Broadcast of the index shapes; the rule has checked that they fit.
auto index_shape(const std::vector<IntegerIndex>& indices) -> Ints {
  Ints shape;
  for (const auto& index : indices) {
    if (index.sizes.size() > shape.size())
      shape.insert(shape.begin(), index.sizes.size() - shape.size(), 1);
    const auto lead = shape.size() - index.sizes.size();
    for (std::size_t i = 0; i < index.sizes.size(); ++i)
      if (shape[lead + i] == 1) shape[lead + i] = index.sizes[i];
  }
  return shape;
}

auto picked(const Ints& values, const std::vector<std::size_t>& dims) -> Ints {
  Ints result;
  for (const auto d : dims) result.push_back(values[d]);
  return result;
}

/// For each position of the index shape: sum over the indexed dims of index * stride.
auto index_offsets(Call& c, const PerDim<IntegerIndex>& per_dim, const Placement& p,
                   const Ints& sizes, const Ints& strides, const Ints& shape) -> Ints {
  Ints offsets(static_cast<std::size_t>(numel(shape)), 0);
  for (std::size_t i = 0; i < p.indexed.size(); ++i) {
    const auto& index = per_dim.items[i];
    const auto dim = p.indexed[i];
    Ints index_strides = contiguous_strides(index.sizes);
    index_strides.insert(index_strides.begin(), shape.size() - index.sizes.size(), 0);
    const auto lead = shape.size() - index.sizes.size();
    for (std::size_t d = 0; d < index.sizes.size(); ++d)
      if (index.sizes[d] == 1) index_strides[lead + d] = 0;
    const auto at = element_offsets(shape, index_strides, 0);
    for (std::size_t e = 0; e < at.size(); ++e) {
      const auto value = index.values[static_cast<std::size_t>(at[e])];
      const auto wrapped = wrap_index(value, sizes[dim]);
      if (wrapped < 0) {
        c.fail(fmt::format("index {} is out of bounds for dimension {} with size {}", value, dim,
                           sizes[dim]));
        return offsets;
      }
      offsets[e] += wrapped * strides[dim];
    }
  }
  return offsets;
}

}  // namespace

auto indexed_layout(MetaCall& c, const TensorMeta& self,
                    const std::vector<const FakeTensor*>& indices) -> IndexedLayout {
  const auto per_dim = expand_masks(c, self, indices);
  if (c.error()) return {};
  const auto p = place(per_dim.is_indexed);
  Dims shape;
  for (const auto& index : per_dim.items) shape = broadcast(c, shape, index.sizes);
  if (c.error()) return {};
  // Self as TensorIterator sees it: the indexed dims replaced by the index shape with stride 0.
  TensorMeta restrided = self;
  restrided.sizes.clear();
  restrided.strides.clear();
  const auto append = [&](const std::vector<std::size_t>& dims) {
    for (const auto d : dims) {
      restrided.sizes.push_back(self.sizes[d]);
      restrided.strides.push_back(self.strides[d]);
    }
  };
  append(p.before);
  restrided.sizes.insert(restrided.sizes.end(), shape.begin(), shape.end());
  restrided.strides.insert(restrided.strides.end(), shape.size(), Expr(0));
  append(p.after);
  std::vector<TensorMeta> reshaped;
  for (const auto& index : per_dim.items) reshaped.push_back(reshaped_index(c, index, shape, p));
  std::vector<const TensorMeta*> operands{&restrided};
  for (const auto& index : reshaped) operands.push_back(&index);
  return {restrided.sizes, iterator_strides(c, operands, restrided.sizes)};
}

auto measure_masks(KernelCall& k, int arg) -> Dims {
  Dims counts;
  for (const auto* index : k.tensors(arg)) {
    if (!index || !is_mask(index->dtype())) continue;
    const auto values = to_vector<std::int64_t>(*index);
    counts.emplace_back(static_cast<std::int64_t>(values.size()) - std::ranges::count(values, 0));
  }
  return counts;
}

auto indexed_elements(Call& c, const Ints& sizes, const Ints& strides, std::int64_t offset,
                      const std::vector<const Tensor*>& indices) -> IndexedElements {
  const auto per_dim = expand_masks(indices, sizes.size());
  const auto p = place(per_dim.is_indexed);
  const auto shape = index_shape(per_dim.items);
  IndexedElements result;
  result.sizes = picked(sizes, p.before);
  result.sizes.insert(result.sizes.end(), shape.begin(), shape.end());
  const auto after_sizes = picked(sizes, p.after);
  result.sizes.insert(result.sizes.end(), after_sizes.begin(), after_sizes.end());
  if (numel(result.sizes) == 0) return result;
  const auto before = element_offsets(picked(sizes, p.before), picked(strides, p.before), offset);
  const auto middle = index_offsets(c, per_dim, p, sizes, strides, shape);
  const auto after = element_offsets(after_sizes, picked(strides, p.after), 0);
  result.offsets.reserve(before.size() * middle.size() * after.size());
  for (const auto b : before)
    for (const auto m : middle)
      for (const auto a : after) result.offsets.push_back(b + m + a);
  return result;
}

}  // namespace assay
