// Matrix products, the one place that knows BLAS.
#pragma once
#include <cstdint>

#include "core/tensor/tensor.h"

namespace assay {

/// Element (i, j) is data[i * row_stride + j * col_stride]; any strides, also 0.
template <class T>
struct MatrixView {
  const T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  [[nodiscard]] auto transposed() const -> MatrixView {
    return {data, cols, rows, col_stride, row_stride};
  }
};
/// Row-major matrix without gaps.
template <class T>
auto packed_matrix(const T* data, std::int64_t rows, std::int64_t cols) -> MatrixView<T> {
  return {data, rows, cols, cols, 1};
}

/// c += alpha * a * b, where c is row-major with rows `c_row_stride` apart and overlaps neither
/// operand. T is float, double, Complex or int64. a.cols == b.rows is the caller's business.
template <class T>
void add_product(T alpha, const MatrixView<T>& a, const MatrixView<T>& b, T* c,
                 std::int64_t c_row_stride);

/// While it lives, products of this process run on at most so many threads; small ones run on one
/// anyway.
class BlasThreads {
 public:
  explicit BlasThreads(int threads);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
  auto operator=(const BlasThreads&) -> BlasThreads& = delete;

 private:
  int before_;
};

}  // namespace assay
