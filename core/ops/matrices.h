// Tensors as batches of matrices: what the linear algebra rows share. Layouts:
// aten/src/ATen/native/LinearAlgebraUtils.h, BatchLinearAlgebra.cpp.
#pragma once
#include <algorithm>
#include <vector>

#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {

/// batched_matrix_contiguous_strides: each matrix column-major, or row-major.
inline auto matrix_strides(const Dims& sizes, bool column_major = true) -> Dims {
  auto strides = contiguous_strides(sizes);
  const auto rank = sizes.size();
  if (!column_major || rank < 2) return strides;
  strides[rank - 1] = max(sizes[rank - 2], Expr(1));
  strides[rank - 2] = 1;
  return strides;
}
inline auto column_major(MetaCall& c, DType dtype, Dims sizes) -> Datum {
  auto strides = matrix_strides(sizes);
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}
/// What a factorisation gives in place of a part that is not wanted.
inline auto no_part(MetaCall& c, DType dtype) -> Datum {
  return c.fresh(dtype, {0});
}

/// The call is an error unless the argument is a batch of matrices in a dtype that LAPACK has.
inline auto require_matrices(MetaCall& c, int arg, bool square = false) -> bool {
  const auto& a = c.meta(arg);
  if (c.error() || !c.require(a.rank() >= 2, "the argument has two dimensions or more"))
    return false;
  const auto dtype = a.dtype;
  if (!c.require(dtype == DType::float32 || dtype == DType::float64 || dtype == DType::complex64 ||
                     dtype == DType::complex128,
                 "linear algebra needs float32, float64, complex64 or complex128"))
    return false;
  const auto rank = a.sizes.size();
  return !square || c.require(eq(a.sizes[rank - 2], a.sizes[rank - 1]), "the matrices are square");
}
inline auto batch_of(const TensorMeta& a) -> Dims {
  return {a.sizes.begin(), a.sizes.end() - 2};
}
/// The batch's sizes followed by others.
inline auto batched(const TensorMeta& a, std::initializer_list<Expr> sizes) -> Dims {
  auto result = batch_of(a);
  result.insert(result.end(), sizes);
  return result;
}
struct MatrixSize {
  Expr rows, cols;
  [[nodiscard]] auto least() const -> Expr { return min(rows, cols); }
};
inline auto matrix_size(const TensorMeta& a) -> MatrixSize {
  return {a.sizes[a.sizes.size() - 2], a.sizes.back()};
}

/// Calls body with double or Complex: all factorisations compute in double precision.
template <class Body>
void with_field(DType dtype, Body&& body) {
  if (is_complex(dtype))
    body(Complex{});
  else
    body(double{});
}

/// The tensor with its last two dimensions exchanged; a view.
inline auto transposed_view(Tensor tensor) -> Tensor {
  auto& meta = tensor.meta;
  const auto rank = meta.sizes.size();
  std::swap(meta.sizes[rank - 1], meta.sizes[rank - 2]);
  std::swap(meta.strides[rank - 1], meta.strides[rank - 2]);
  return tensor;
}

/// A batch of column-major matrices.
template <class T>
struct Matrices {
  std::vector<T> values;
  int rows = 0;
  int cols = 0;
  std::size_t count = 0;
  [[nodiscard]] auto size() const -> std::size_t {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  }
  [[nodiscard]] auto at(std::size_t i) -> T* { return values.data() + i * size(); }
  /// Element (row, col) of matrix i.
  [[nodiscard]] auto element(std::size_t i, int row, int col) -> T& {
    return values[i * size() + static_cast<std::size_t>(col) * static_cast<std::size_t>(rows) +
                  static_cast<std::size_t>(row)];
  }
};
template <class T>
auto new_matrices(std::size_t count, int rows, int cols) -> Matrices<T> {
  Matrices<T> m{{}, rows, cols, count};
  m.values.resize(count * m.size());
  return m;
}
inline auto matrix_count(const Tensor& tensor) -> std::size_t {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 2 < tensor.sizes().size(); ++i) count *= tensor.sizes()[i];
  return static_cast<std::size_t>(count);
}
template <class T>
auto load_matrices(const Tensor& tensor) -> Matrices<T> {
  const auto rank = tensor.sizes().size();
  return {to_vector<T>(transposed_view(tensor)), static_cast<int>(tensor.sizes()[rank - 2]),
          static_cast<int>(tensor.sizes()[rank - 1]), matrix_count(tensor)};
}
/// The same with the batch broadcast to `batch`.
template <class T>
auto load_matrices(const Tensor& tensor, Ints batch) -> Matrices<T> {
  const auto rank = tensor.sizes().size();
  batch.push_back(tensor.sizes()[rank - 2]);
  batch.push_back(tensor.sizes()[rank - 1]);
  return load_matrices<T>(expanded_view(tensor, batch));
}
/// Writes the upper left corner that the tensor has room for.
template <class T>
void store_matrices(Tensor& tensor, Matrices<T>& m) {
  const auto rank = tensor.sizes().size();
  const auto rows = static_cast<int>(tensor.sizes()[rank - 2]);
  const auto cols = static_cast<int>(tensor.sizes()[rank - 1]);
  auto part = new_matrices<T>(m.count, rows, cols);
  for (std::size_t i = 0; i < m.count; ++i)
    for (int col = 0; col < cols; ++col)
      for (int row = 0; row < rows; ++row) part.element(i, row, col) = m.element(i, row, col);
  auto view = transposed_view(tensor);
  from_vector<T>(view, part.values);
}
/// Zeros below (upper) or above the diagonal.
template <class T>
void keep_triangle(Matrices<T>& m, bool upper) {
  for (std::size_t i = 0; i < m.count; ++i)
    for (int col = 0; col < m.cols; ++col)
      for (int row = 0; row < m.rows; ++row)
        if (upper ? row > col : row < col) m.element(i, row, col) = T(0);
}
inline auto conjugate(double x) -> double {
  return x;
}
inline auto conjugate(const Complex& x) -> Complex {
  return std::conj(x);
}
/// Tensor batches broadcast against each other; nothing of the matrices themselves.
inline auto common_batch(MetaCall& c, const TensorMeta& a, const TensorMeta& b) -> Dims {
  return broadcast(c, batch_of(a), batch_of(b));
}
inline auto common_batch(KernelCall& k, const Tensor& a, const Tensor& b) -> Ints {
  const auto batch = [](const Tensor& t) { return Ints(t.sizes().begin(), t.sizes().end() - 2); };
  const auto sizes = common_sizes(batch(a), batch(b));
  if (!sizes) k.fail("the batches do not broadcast");
  return sizes.value_or(Ints{});
}
inline auto with_matrix(Dims batch, const Expr& rows, const Expr& cols) -> Dims {
  batch.push_back(rows);
  batch.push_back(cols);
  return batch;
}

template <class T>
auto identity(std::size_t count, int n) -> Matrices<T> {
  auto m = new_matrices<T>(count, n, n);
  for (std::size_t i = 0; i < count; ++i)
    for (int d = 0; d < n; ++d) m.element(i, d, d) = T(1);
  return m;
}
template <class T>
auto adjoint(Matrices<T>& m) -> Matrices<T> {
  auto result = new_matrices<T>(m.count, m.cols, m.rows);
  for (std::size_t i = 0; i < m.count; ++i)
    for (int col = 0; col < m.cols; ++col)
      for (int row = 0; row < m.rows; ++row)
        result.element(i, col, row) = conjugate(m.element(i, row, col));
  return result;
}
template <class T>
auto product(Matrices<T>& a, Matrices<T>& b) -> Matrices<T> {
  auto result = new_matrices<T>(a.count, a.rows, b.cols);
  for (std::size_t i = 0; i < a.count; ++i)
    for (int col = 0; col < b.cols; ++col)
      for (int inner = 0; inner < a.cols; ++inner)
        for (int row = 0; row < a.rows; ++row)
          result.element(i, row, col) += a.element(i, row, inner) * b.element(i, inner, col);
  return result;
}

inline auto matrix_batch(const Tensor& t) -> Ints {
  return {t.sizes().begin(), t.sizes().end() - 2};
}
/// The k-th result is a tensor with elements to fill.
inline auto is_wanted(KernelCall& k, int i) -> bool {
  const auto* list = k.result().list();
  return list && (*list)[static_cast<std::size_t>(i)].real() != nullptr && k.out(i).rank() > 1;
}
/// Writes one LAPACK code per matrix.
inline void store_codes(Tensor& tensor, const std::vector<std::int64_t>& codes) {
  from_vector<std::int64_t>(tensor, codes);
}

}  // namespace assay
