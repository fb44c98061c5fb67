// PyTorch's element types as one table: a new dtype is one row in dtype.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace assay {

enum class DType : std::uint8_t {
  boolean,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
  complex32,
  complex64,
  complex128,
  float8_e4m3fn,
  float8_e5m2,
  float8_e4m3fnuz,
  float8_e5m2fnuz,
  float8_e8m0fnu,
  bits8,
  bits16,
};

enum class DTypeKind : std::uint8_t {
  boolean,
  unsigned_integer,
  signed_integer,
  floating,
  complex,
  bits
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;  ///< torch name without `torch.`: "float32"
  std::string_view abbr;  ///< print_readable abbreviation: "f32"
  int size_bytes;
  DTypeKind kind;
  int pt2_code;  ///< torch._export.serde ScalarType, -1 if it has none
};

[[nodiscard]] auto dtype_infos() -> std::span<const DTypeInfo>;
[[nodiscard]] auto info(DType dtype) -> const DTypeInfo&;
[[nodiscard]] inline auto size_bytes(DType dtype) -> int {
  return info(dtype).size_bytes;
}
[[nodiscard]] inline auto name(DType dtype) -> std::string_view {
  return info(dtype).name;
}

/// "float32" or "torch.float32"; also torch's aliases (float, long, int, half, double, bool, ...).
[[nodiscard]] auto dtype_from_name(std::string_view text) -> std::optional<DType>;
[[nodiscard]] auto dtype_from_abbr(std::string_view text) -> std::optional<DType>;
[[nodiscard]] auto dtype_from_pt2_code(int code) -> std::optional<DType>;

[[nodiscard]] auto is_floating(DType dtype) -> bool;
/// float16 or bfloat16.
[[nodiscard]] constexpr auto is_half(DType dtype) -> bool {
  return dtype == DType::float16 || dtype == DType::bfloat16;
}
[[nodiscard]] auto is_complex(DType dtype) -> bool;
/// Signed or unsigned integers, not bool.
[[nodiscard]] auto is_integer(DType dtype) -> bool;
/// complex64 -> float32 and so on; other dtypes unchanged.
[[nodiscard]] auto real_of(DType dtype) -> DType;
/// float32 -> complex64 and so on; nothing for dtypes without a complex partner.
[[nodiscard]] auto complex_of(DType dtype) -> std::optional<DType>;

/// c10::promoteTypes: the smallest dtype both convert to. Nothing where PyTorch refuses
/// (float8 with anything else, uint16/32/64 with signed integers).
[[nodiscard]] auto promote(DType a, DType b) -> std::optional<DType>;
/// c10::canCast: may a result of dtype `from` be written into `to`?
[[nodiscard]] auto can_cast(DType from, DType to) -> bool;

}  // namespace assay
