// Layout rules shared by many operators: broadcasting, TensorIterator strides, memory formats,
// type promotion. Sources are named at each function; all run on numbers and on symbols.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ops/call.h"
#include "core/ops/schema.h"
#include "core/tensor/meta.h"

namespace assay {

/// at::infer_size: broadcast of two shapes. Fails the call if they do not broadcast.
auto broadcast(MetaCall& c, const Dims& a, const Dims& b) -> Dims;

/// Strides of `meta` broadcast to `sizes` (0 where a size of 1 grows). TensorIterator's view.
auto expanded_strides(MetaCall& c, const TensorMeta& meta, const Dims& sizes) -> Dims;

/// Strides TensorIterator gives a fresh result of shape `sizes` for these operands
/// (aten/src/ATen/TensorIterator.cpp: compute_fast_setup_type, reorder_dimensions,
/// allocate_or_resize_outputs).
auto iterator_strides(MetaCall& c, std::span<const TensorMeta* const> operands, const Dims& sizes)
    -> Dims;

/// Strides of empty_like/clone with memory_format=preserve: the input's if it is non-overlapping
/// and dense, else as TensorIterator would order a single operand (at::infer_dense_strides).
auto preserved_strides(MetaCall& c, const TensorMeta& meta) -> Dims;
/// Strides for an explicit format; preserve needs the layout to preserve.
auto format_strides(MetaCall& c, const TensorMeta& like, MemoryFormat format) -> Dims;

auto is_contiguous(MetaCall& c, const TensorMeta& meta) -> bool;
auto is_contiguous(MetaCall& c, const TensorMeta& meta, MemoryFormat format) -> bool;
auto is_dense(MetaCall& c, const TensorMeta& meta) -> bool;  ///< non-overlapping and dense
/// Tensor::suggest_memory_format: channels_last(_3d) if the strides look like it, else contiguous.
auto suggest_memory_format(MetaCall& c, const TensorMeta& meta) -> MemoryFormat;
/// Contiguous or channels-last strides of `sizes`.
auto strides_for(const Dims& sizes, MemoryFormat format) -> Dims;

/// Operands of c10 result_type: tensors of rank > 0 decide over rank 0, those over scalars.
class ResultType {
 public:
  void add_tensor(DType dtype, int rank);
  void add_scalar(const Datum& number);
  void add(MetaCall& c, int i);  ///< argument i, tensor or number; None is skipped
  /// The common dtype; nothing if PyTorch refuses to promote (then the call should fail).
  [[nodiscard]] auto get() const -> std::optional<DType>;

 private:
  std::optional<DType> dim_, zero_, wrapped_;
  bool refused_ = false;
};

/// torch.get_default_dtype(); captures are made with float32.
inline constexpr DType kDefaultFloat = DType::float32;

/// The rule of every pointwise row: promotion from the row, sizes broadcast, TensorIterator strides
/// over all tensor arguments.
auto pointwise_rule(MetaCall& c) -> Datum;
/// Indices of arguments that take part in a pointwise computation: tensors, and numbers that are
/// not keyword-only.
auto pointwise_operands(const Schema& schema) -> std::vector<int>;
/// The dtype a pointwise call computes in.
auto compute_dtype(std::span<const Datum> args, const OpRow& row) -> std::optional<DType>;

/// at::detail::computeStride: strides that view `meta` with other sizes without a copy, or nothing.
auto view_strides(MetaCall& c, const TensorMeta& meta, const Dims& sizes) -> std::optional<Dims>;
/// Replaces a single -1 by what is left; fails the call if the element counts differ.
auto infer_size(MetaCall& c, const Dims& requested, const Expr& numel) -> Dims;

/// Sorted, normalised, distinct dims of a `int[] dim` argument; all dims if empty or None.
auto reduced_dims(MetaCall& c, int arg, int rank) -> std::vector<bool>;
/// Shape after a reduction.
auto reduced_sizes(const Dims& sizes, const std::vector<bool>& reduced, bool keepdim) -> Dims;

}  // namespace assay
