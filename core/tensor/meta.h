// Layout of a tensor, claimed (Expr) and observed (int64), and the stride algebra on both.
// Sizes, strides and offsets are in elements, storage in bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/expr/expr.h"
#include "core/tensor/dtype.h"

namespace assay {

using Dims = std::vector<Expr>;
using Ints = std::vector<std::int64_t>;

/// "cpu", "cuda:0"; index -1 means not given.
struct Device {
  std::string type = "cpu";
  int index = -1;
  friend auto operator==(const Device&, const Device&) -> bool = default;
};
[[nodiscard]] auto to_string(const Device& device) -> std::string;
[[nodiscard]] auto device_from_string(std::string_view text) -> std::optional<Device>;

enum class Layout : std::uint8_t { strided, sparse_coo, sparse_csr, other };
enum class MemoryFormat : std::uint8_t { contiguous, preserve, channels_last, channels_last_3d };

/// What a view does to its elements when they are read or written; the storage keeps them as they
/// are (PyTorch's conjugate and negative bits).
enum class Lazy : std::uint8_t { none = 0, conjugated = 1, negated = 2, both = 3 };
[[nodiscard]] constexpr auto operator^(Lazy a, Lazy b) -> Lazy {
  return static_cast<Lazy>(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
}
[[nodiscard]] constexpr auto has(Lazy lazy, Lazy bit) -> bool {
  return (static_cast<unsigned>(lazy) & static_cast<unsigned>(bit)) != 0;
}

/// What the capture *claims* about a tensor. sizes and strides have equal length.
struct TensorMeta {
  DType dtype = DType::float32;
  Dims sizes;
  Dims strides;
  Expr offset;
  Device device;
  bool requires_grad = false;
  Lazy lazy = Lazy::none;  ///< captures do not state it: only rules set it
  [[nodiscard]] auto rank() const -> int { return static_cast<int>(sizes.size()); }
  friend auto operator==(const TensorMeta&, const TensorMeta&) -> bool = default;
};

/// What was *observed* of a tensor. Deliberately another type than TensorMeta.
struct RealMeta {
  DType dtype = DType::float32;
  Ints sizes;
  Ints strides;
  std::int64_t offset = 0;
  std::int64_t storage_bytes = 0;  ///< size of the storage under the view
  Device device;
  Lazy lazy = Lazy::none;
  [[nodiscard]] auto rank() const -> int { return static_cast<int>(sizes.size()); }
  friend auto operator==(const RealMeta&, const RealMeta&) -> bool = default;
};

/// Row-major strides; a size of 0 counts as 1, as in PyTorch.
[[nodiscard]] auto contiguous_strides(std::span<const Expr> sizes) -> Dims;
[[nodiscard]] auto contiguous_strides(std::span<const std::int64_t> sizes) -> Ints;
/// Strides with the channel dimension (1) innermost; sizes must have rank 4 or 5 (or 3).
[[nodiscard]] auto channels_last_strides(std::span<const Expr> sizes) -> Dims;
/// Product of the sizes.
[[nodiscard]] auto numel(std::span<const std::int64_t> sizes) -> std::int64_t;
[[nodiscard]] inline auto numel(const RealMeta& meta) -> std::int64_t {
  return numel(meta.sizes);
}
[[nodiscard]] inline auto numel(const TensorMeta& meta) -> Expr {
  return product(meta.sizes);
}

/// Elements of storage a view needs, counted from the start: offset + sum((size-1)*stride) + 1,
/// or 0 for an empty view whatever its offset. Errors: bad_input (overflow, negative result,
/// ranks differ). Source: at::detail::computeStorageNbytes.
[[nodiscard]] auto required_elems(std::span<const std::int64_t> sizes,
                                  std::span<const std::int64_t> strides, std::int64_t offset)
    -> Result<std::int64_t>;
/// The same as an expression, for non-empty views with non-negative strides.
[[nodiscard]] auto required_elems(const TensorMeta& meta) -> Expr;

/// True if no two indices of a non-empty view address one element (checked exactly for layouts
/// whose dims nest; a layout that does not nest is checked by enumeration up to 2^20 elements and
/// reported as overlapping beyond).
[[nodiscard]] auto has_internal_overlap(const RealMeta& meta) -> bool;
/// Do two views of one storage touch a common byte? Exact for dense views, else by extents.
[[nodiscard]] auto may_overlap(const RealMeta& a, const RealMeta& b) -> bool;

/// `f32[2, 3][3, 1]cpu`, the print_readable annotation.
[[nodiscard]] auto to_string(const TensorMeta& meta) -> std::string;
[[nodiscard]] auto to_string(const RealMeta& meta) -> std::string;
/// Constants only. Precondition: every Expr is an integer constant (checked).
[[nodiscard]] auto to_real(const TensorMeta& meta, std::int64_t storage_bytes) -> RealMeta;
[[nodiscard]] auto to_claim(const RealMeta& meta) -> TensorMeta;

}  // namespace assay
