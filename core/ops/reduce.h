// The engine behind reductions and other kernels that work along dimensions: the tensor is seen as
// `outer` rows of `inner` elements, where `inner` runs over the chosen dimensions.
#pragma once
#include <span>
#include <vector>

#include "core/ops/call.h"
#include "core/tensor/tensor.h"

namespace assay {

/// Elements of a tensor as a row-major matrix: kept dims outside, chosen dims inside, both in
/// their original order.
template <class T>
struct Rows {
  std::vector<T> values;
  std::size_t outer = 1;
  std::size_t inner = 1;
  [[nodiscard]] auto row(std::size_t i) -> std::span<T> {
    return std::span(values).subspan(i * inner, inner);
  }
};

/// The same tensor with the chosen dims moved last; a view, so writes go through.
[[nodiscard]] auto moved_last(const Tensor& tensor, const std::vector<bool>& chosen) -> Tensor;
/// One marked dimension of `rank` (none for rank 0).
[[nodiscard]] auto mark_dim(int dim, int rank) -> std::vector<bool>;
/// Real-domain counterpart of reduced_dims(): argument `arg` as dims of a tensor of that rank.
[[nodiscard]] auto chosen_dims(const Call& c, int arg, int rank) -> std::vector<bool>;

template <class T>
auto load_rows(const Tensor& tensor, const std::vector<bool>& chosen) -> Rows<T> {
  Rows<T> rows;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    (chosen[i] ? rows.inner : rows.outer) *= static_cast<std::size_t>(tensor.sizes()[i]);
  rows.values = to_vector<T>(moved_last(tensor, chosen));
  return rows;
}

/// Writes rows back into a tensor of the full shape.
template <class T>
void store_rows(Tensor& tensor, const std::vector<bool>& chosen, const Rows<T>& rows) {
  auto target = moved_last(tensor, chosen);
  from_vector<T>(target, rows.values);
}

/// out[outer] = f(row) over the chosen dims; T is the type of the elements, R of the result.
template <class T, class R, class F>
void reduce_rows(const Tensor& in, Tensor& out, const std::vector<bool>& chosen, const F& f) {
  auto rows = load_rows<T>(in, chosen);
  std::vector<R> results(rows.outer);
  for (std::size_t i = 0; i < rows.outer; ++i)
    results[i] = f(rows.inner ? rows.row(i) : std::span<T>());
  from_vector<R>(out, results);
}

}  // namespace assay
