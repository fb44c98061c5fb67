// Advanced indexing as ATen does it (aten/src/ATen/native/IndexingUtils.h,
// TensorAdvancedIndexing.cpp): masks become integer indices, indices broadcast against each other,
// and the indexed dimensions stay in place if they are neighbours, else come first.
#pragma once
#include <vector>

#include "core/ops/call.h"

namespace assay {

/// Layout of self[indices], or of the part of self that self[indices] = values writes. Masks have
/// the data-dependent size that measure_masks() found.
struct IndexedLayout {
  Dims sizes;
  Dims strides;  ///< what TensorIterator gives a fresh result
};
[[nodiscard]] auto indexed_layout(MetaCall& c, const TensorMeta& self,
                                  const std::vector<const FakeTensor*>& indices) -> IndexedLayout;

/// Number of true elements of each mask among the tensors of list argument `arg`, in order.
[[nodiscard]] auto measure_masks(KernelCall& k, int arg) -> Dims;

/// The selected elements in row-major order of the result.
struct IndexedElements {
  Ints sizes;
  Ints offsets;  ///< offset + sum(index * stride) of each element
};
/// `strides` and `offset` describe where the elements of a tensor of `sizes` lie. Fails the call if
/// an index is out of range.
[[nodiscard]] auto indexed_elements(Call& c, const Ints& sizes, const Ints& strides,
                                    std::int64_t offset, const std::vector<const Tensor*>& indices)
    -> IndexedElements;

}  // namespace assay
