// What kernels over whole rows and planes (products, windows, transforms) read and write: the
// elements of a tensor in one compute type, in place where the dtype allows it.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/tensor/tensor.h"

namespace assay {

/// Calls `body` with the type that products of the dtype are computed in: float for everything up
/// to float32, int64 for integers (stored results wrap).
template <class Body>
void with_product_type(DType dtype, Body&& body) {
  if (is_complex(dtype))
    body(Complex{});
  else if (dtype == DType::float64)
    body(double{});
  else if (is_floating(dtype))
    body(float{});
  else
    body(std::int64_t{});
}

/// Does the dtype store T itself?
template <class T>
[[nodiscard]] constexpr auto is_stored_as(DType dtype) -> bool {
  if constexpr (std::is_same_v<T, float>) return dtype == DType::float32;
  if constexpr (std::is_same_v<T, double>) return dtype == DType::float64;
  if constexpr (std::is_same_v<T, Complex>) return dtype == DType::complex128;
  if constexpr (std::is_same_v<T, std::int64_t>) return dtype == DType::int64;
}

/// Reads a tensor as T: the storage itself with the tensor's strides, or a converted row-major
/// copy. The tensor must outlive it.
template <class T>
class Elements {
 public:
  explicit Elements(const Tensor& tensor) {
    if (is_stored_as<T>(tensor.dtype()) && tensor.meta.lazy == Lazy::none) {
      data_ = tensor.data<T>();
      strides_ = tensor.strides();
    } else {
      copy_from(tensor);
    }
  }
  /// The same, copying whatever is not row-major.
  [[nodiscard]] static auto row_major(const Tensor& tensor) -> Elements {
    Elements elements;
    if (is_stored_as<T>(tensor.dtype()) && tensor.is_contiguous() &&
        tensor.meta.lazy == Lazy::none) {
      elements.data_ = tensor.data<T>();
      elements.strides_ = contiguous_strides(tensor.sizes());
    } else {
      elements.copy_from(tensor);
    }
    return elements;
  }
  [[nodiscard]] auto data() const -> const T* { return data_; }
  [[nodiscard]] auto strides() const -> const Ints& { return strides_; }

 private:
  Elements() = default;
  void copy_from(const Tensor& tensor) {
    copy_ = to_vector<T>(tensor);
    data_ = copy_.data();
    strides_ = contiguous_strides(tensor.sizes());
  }
  std::vector<T> copy_;
  const T* data_ = nullptr;
  Ints strides_;
};

/// Row-major memory of T for a result, zeroed: the tensor's own if it fits, else a buffer that is
/// converted into the tensor at the end of the scope. The tensor must outlive it.
template <class T>
class Output {
 public:
  explicit Output(Tensor& tensor) : tensor_(tensor) {
    if (is_stored_as<T>(tensor.dtype()) && tensor.is_contiguous() &&
        tensor.meta.lazy == Lazy::none) {
      data_ = tensor.data<T>();
      std::fill_n(data_, tensor.numel(), T{});
    } else {
      buffer_.resize(static_cast<std::size_t>(tensor.numel()));
      data_ = buffer_.data();
    }
  }
  Output(const Output&) = delete;
  auto operator=(const Output&) -> Output& = delete;
  ~Output() {
    if (!buffer_.empty()) from_vector<T>(tensor_, buffer_);
  }
  [[nodiscard]] auto data() -> T* { return data_; }

 private:
  Tensor& tensor_;
  std::vector<T> buffer_;
  T* data_ = nullptr;
};

}  // namespace assay
