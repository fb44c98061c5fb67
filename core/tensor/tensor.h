// Real tensors on the host: storages shared by views, and element access by dtype.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/tensor/meta.h"

namespace assay {

/// Owns the bytes of one allocation. Two tensors alias exactly if they name one Storage.
class Storage {
 public:
  /// `none`: the zeros are made when somebody looks at them, which one thread may do. For tensors
  /// whose layout is all that matters.
  enum class Memory : std::uint8_t { zeros, none };
  explicit Storage(std::int64_t size_bytes, Memory memory = Memory::zeros);
  Storage(const Storage&) = delete;
  auto operator=(const Storage&) -> Storage& = delete;
  [[nodiscard]] auto bytes() -> std::span<std::byte> {
    if (data_ == nullptr) make_zeros();
    return {data_.get(), size_};
  }
  [[nodiscard]] auto bytes() const -> std::span<const std::byte> {
    if (data_ == nullptr) make_zeros();
    return {data_.get(), size_};
  }
  [[nodiscard]] auto size_bytes() const -> std::int64_t { return static_cast<std::int64_t>(size_); }
  /// Becomes that large, with zeros behind what it held; all its views see it. Does not shrink.
  /// Spans of bytes from before are invalid.
  void grow(std::int64_t size_bytes);

 private:
  void make_zeros() const;
  std::size_t size_;
  mutable std::unique_ptr<std::byte[]> data_;
};

/// A view of a storage. Copying copies the view, not the data: all views of a storage own it
/// together, which is what aliasing means, hence shared_ptr.
struct Tensor {
  std::shared_ptr<Storage> storage;
  RealMeta meta;

  /// Fresh zero-filled storage just large enough. Errors: bad_input (size overflow, over 8 GiB).
  [[nodiscard]] static auto allocate(DType dtype, Ints sizes, Ints strides, Device device = {},
                                     Storage::Memory memory = Storage::Memory::zeros)
      -> Result<Tensor>;
  [[nodiscard]] static auto contiguous(DType dtype, Ints sizes) -> Result<Tensor>;
  /// Another view of the same storage. Errors: bad_input if it runs past the storage.
  [[nodiscard]] auto view(DType dtype, Ints sizes, Ints strides, std::int64_t offset) const
      -> Result<Tensor>;

  [[nodiscard]] auto dtype() const -> DType { return meta.dtype; }
  [[nodiscard]] auto sizes() const -> const Ints& { return meta.sizes; }
  [[nodiscard]] auto strides() const -> const Ints& { return meta.strides; }
  [[nodiscard]] auto rank() const -> int { return meta.rank(); }
  [[nodiscard]] auto numel() const -> std::int64_t { return assay::numel(meta.sizes); }
  [[nodiscard]] auto is_contiguous() const -> bool;
  /// First element of the view. Typed kernels only; T must match the dtype's size.
  template <class T>
  [[nodiscard]] auto data() const -> T* {
    return reinterpret_cast<T*>(storage->bytes().data()) + meta.offset;
  }
};

/// What kernels compute in: int64 for bool and integers, double for floats, complex<double>.
/// Storing rounds to the dtype (integers wrap, bool is != 0), as PyTorch's casts do.
using Complex = std::complex<double>;

/// Reads `count` elements at the given element addresses `base + i*stride` (elements).
template <class T>
void load_elems(const Tensor& from, std::int64_t base, std::int64_t stride, std::span<T> to);
template <class T>
void store_elems(Tensor& to, std::int64_t base, std::int64_t stride, std::span<const T> from);
extern template void load_elems(const Tensor&, std::int64_t, std::int64_t, std::span<double>);
extern template void load_elems(const Tensor&, std::int64_t, std::int64_t, std::span<std::int64_t>);
extern template void load_elems(const Tensor&, std::int64_t, std::int64_t, std::span<Complex>);
extern template void load_elems(const Tensor&, std::int64_t, std::int64_t, std::span<float>);
extern template void store_elems(Tensor&, std::int64_t, std::int64_t, std::span<const double>);
extern template void store_elems(Tensor&, std::int64_t, std::int64_t,
                                 std::span<const std::int64_t>);
extern template void store_elems(Tensor&, std::int64_t, std::int64_t, std::span<const Complex>);
extern template void store_elems(Tensor&, std::int64_t, std::int64_t, std::span<const float>);

/// All elements in row-major index order, converted. T is double, float, int64 or Complex.
template <class T>
[[nodiscard]] auto to_vector(const Tensor& tensor) -> std::vector<T>;
/// Writes elements in row-major index order. values.size() must equal numel (checked).
template <class T>
void from_vector(Tensor& tensor, std::span<const T> values);
extern template auto to_vector(const Tensor&) -> std::vector<double>;
extern template auto to_vector(const Tensor&) -> std::vector<float>;
extern template auto to_vector(const Tensor&) -> std::vector<std::int64_t>;
extern template auto to_vector(const Tensor&) -> std::vector<Complex>;
extern template void from_vector(Tensor&, std::span<const double>);
extern template void from_vector(Tensor&, std::span<const float>);
extern template void from_vector(Tensor&, std::span<const std::int64_t>);
extern template void from_vector(Tensor&, std::span<const Complex>);

/// Element-wise conversion between tensors of equal sizes (any strides, any dtypes).
void copy_elems(const Tensor& from, Tensor& to);
/// The value rounded to the dtype, integers wrapped: for scalars that meet tensors of that dtype.
/// Unchanged if the dtype is computed in another type.
[[nodiscard]] auto round_to(DType dtype, double value) -> double;
[[nodiscard]] auto round_to(DType dtype, std::int64_t value) -> std::int64_t;

/// The deterministic fill of the capture format, over the whole storage: element i is
/// lo + (hi-lo) * hash(i, seed) in [lo, hi). Defined by integer arithmetic modulo 2^32:
/// h = i*2654435761 + seed*40503 + 12345; h ^= h>>15; h *= 2246822519; h ^= h>>13; (h>>8)/2^24.
/// The parts of complex numbers are elements of their own.
struct Fill {
  std::uint32_t seed = 0;
  double lo = 0;
  double hi = 1;
};
void fill_storage(Storage& storage, DType dtype, const Fill& fill);

/// Iterates row-major over all index tuples of `sizes`, calling f(offsets) with the element offset
/// for each of `strides` (all of rank sizes.size()), innermost dimension as a run:
/// f(span offsets, run_length). Not for empty sizes of 0 elements (then f is never called).
template <class F>
void for_each_run(const Ints& sizes, std::span<const Ints* const> strides, F&& f) {
  const auto rank = sizes.size();
  for (const auto size : sizes)
    if (size == 0) return;
  std::vector<std::int64_t> offsets(strides.size(), 0);
  std::vector<std::int64_t> index(rank, 0);
  const std::int64_t run = rank == 0 ? 1 : sizes[rank - 1];
  while (true) {
    f(std::span<const std::int64_t>(offsets), run);
    if (rank <= 1) return;
    auto dim = rank - 1;
    while (dim-- > 0) {
      for (std::size_t k = 0; k < strides.size(); ++k) offsets[k] += (*strides[k])[dim];
      if (++index[dim] < sizes[dim]) break;
      for (std::size_t k = 0; k < strides.size(); ++k)
        offsets[k] -= (*strides[k])[dim] * sizes[dim];
      index[dim] = 0;
      if (dim == 0) return;
    }
  }
}

}  // namespace assay
