// Positions of elements, and moving elements byte for byte whatever their dtype.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace assay {

/// Element offsets, counted from the start of the storage, in row-major index order.
[[nodiscard]] auto element_offsets(const Ints& sizes, const Ints& strides, std::int64_t offset)
    -> Ints;
[[nodiscard]] auto element_offsets(const Tensor& tensor) -> Ints;

/// to[to_at[i]] = from[from_at[i]], bit for bit unless one of the two is lazy; both element
/// offsets. A negative source leaves the target alone. Dtypes must be of equal size (checked).
void move_elements(const Tensor& from, std::span<const std::int64_t> from_at, Tensor& to,
                   std::span<const std::int64_t> to_at);
/// Every element of `from` to the same index of `to`; sizes and dtypes must be equal (checked).
void copy_bits(const Tensor& from, Tensor& to);
/// Every element of `to` becomes `value`, rounded to the dtype.
void fill_elements(Tensor& to, Complex value);

/// Calls f(index) for every index tuple of `sizes` in row-major order.
template <class F>
void for_each_index(const Ints& sizes, F&& f) {
  for (const auto size : sizes)
    if (size == 0) return;
  Ints index(sizes.size(), 0);
  while (true) {
    f(static_cast<const Ints&>(index));
    auto dim = sizes.size();
    while (dim > 0 && ++index[dim - 1] == sizes[dim - 1]) index[--dim] = 0;
    if (dim == 0) return;
  }
}

/// Non-negative form of a possibly negative index; -1 if it is out of range.
[[nodiscard]] inline auto wrap_index(std::int64_t index, std::int64_t size) -> std::int64_t {
  if (index < -size || index >= size) return -1;
  return index < 0 ? index + size : index;
}

}  // namespace assay
