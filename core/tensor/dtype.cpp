#include "core/tensor/dtype.h"

#include <array>

#include "core/base/check.h"

namespace assay {
namespace {

using enum DTypeKind;

constexpr std::array kInfos = {
    DTypeInfo{DType::boolean, "bool", "b8", 1, boolean, 12},
    DTypeInfo{DType::uint8, "uint8", "u8", 1, unsigned_integer, 1},
    DTypeInfo{DType::int8, "int8", "i8", 1, signed_integer, 2},
    DTypeInfo{DType::uint16, "uint16", "u16", 2, unsigned_integer, 28},
    DTypeInfo{DType::int16, "int16", "i16", 2, signed_integer, 3},
    DTypeInfo{DType::uint32, "uint32", "u32", 4, unsigned_integer, 34},
    DTypeInfo{DType::int32, "int32", "i32", 4, signed_integer, 4},
    DTypeInfo{DType::uint64, "uint64", "u64", 8, unsigned_integer, 35},
    DTypeInfo{DType::int64, "int64", "i64", 8, signed_integer, 5},
    DTypeInfo{DType::float16, "float16", "f16", 2, floating, 6},
    DTypeInfo{DType::bfloat16, "bfloat16", "bf16", 2, floating, 13},
    DTypeInfo{DType::float32, "float32", "f32", 4, floating, 7},
    DTypeInfo{DType::float64, "float64", "f64", 8, floating, 8},
    DTypeInfo{DType::complex32, "complex32", "c32", 4, complex, 9},
    DTypeInfo{DType::complex64, "complex64", "c64", 8, complex, 10},
    DTypeInfo{DType::complex128, "complex128", "c128", 16, complex, 11},
    DTypeInfo{DType::float8_e4m3fn, "float8_e4m3fn", "f8e4m3fn", 1, floating, 29},
    DTypeInfo{DType::float8_e5m2, "float8_e5m2", "f8e5m2", 1, floating, 30},
    DTypeInfo{DType::float8_e4m3fnuz, "float8_e4m3fnuz", "f8e4m3fnuz", 1, floating, 31},
    DTypeInfo{DType::float8_e5m2fnuz, "float8_e5m2fnuz", "f8e5m2fnuz", 1, floating, 32},
    DTypeInfo{DType::float8_e8m0fnu, "float8_e8m0fnu", "f8e8m0fnu", 1, floating, 33},
    DTypeInfo{DType::bits8, "bits8", "bits8", 1, bits, -1},
    DTypeInfo{DType::bits16, "bits16", "b16", 2, bits, -1},
};

struct Alias {
  std::string_view alias;
  DType dtype;
};
constexpr std::array kAliases = {
    Alias{"float", DType::float32},    Alias{"double", DType::float64},
    Alias{"half", DType::float16},     Alias{"long", DType::int64},
    Alias{"int", DType::int32},        Alias{"short", DType::int16},
    Alias{"cfloat", DType::complex64}, Alias{"cdouble", DType::complex128},
    Alias{"chalf", DType::complex32},
};

struct ComplexPair {
  DType real, complex;
};
constexpr std::array kComplexPairs = {
    ComplexPair{DType::float16, DType::complex32},
    ComplexPair{DType::float32, DType::complex64},
    ComplexPair{DType::float64, DType::complex128},
};

auto is_float8(DType dtype) -> bool {
  return is_floating(dtype) && size_bytes(dtype) == 1;
}

auto promote_floats(DType a, DType b) -> DType {
  if (size_bytes(a) == 2 && size_bytes(b) == 2) return DType::float32;  // float16 with bfloat16
  return size_bytes(a) > size_bytes(b) ? a : b;
}

auto promote_integers(DType a, DType b) -> std::optional<DType> {
  const bool a_signed = info(a).kind == signed_integer;
  const bool b_signed = info(b).kind == signed_integer;
  if (a_signed == b_signed) return size_bytes(a) > size_bytes(b) ? a : b;
  const DType wide = a_signed ? a : b;
  const DType other = a_signed ? b : a;
  if (other != DType::uint8) return std::nullopt;  // barebones unsigned types do not mix
  return size_bytes(wide) > 1 ? wide : DType::int16;
}

auto promote_with_complex(DType a, DType b) -> std::optional<DType> {
  const auto parts = promote(real_of(a), real_of(b));
  if (!parts) return std::nullopt;
  if (*parts == DType::bfloat16) return DType::complex64;  // there is no complex bfloat16
  return complex_of(*parts);
}

}  // namespace

auto dtype_infos() -> std::span<const DTypeInfo> {
  return kInfos;
}

auto info(DType dtype) -> const DTypeInfo& {
  const auto& row = kInfos[static_cast<std::size_t>(dtype)];
  ASSAY_CHECK(row.dtype == dtype, "dtype table is out of order");
  return row;
}

auto dtype_from_name(std::string_view text) -> std::optional<DType> {
  if (text.starts_with("torch.")) text.remove_prefix(6);
  for (const auto& row : kInfos)
    if (row.name == text) return row.dtype;
  for (const auto& row : kAliases)
    if (row.alias == text) return row.dtype;
  return std::nullopt;
}

auto dtype_from_abbr(std::string_view text) -> std::optional<DType> {
  for (const auto& row : kInfos)
    if (row.abbr == text) return row.dtype;
  return std::nullopt;
}

auto dtype_from_pt2_code(int code) -> std::optional<DType> {
  if (code < 0) return std::nullopt;
  for (const auto& row : kInfos)
    if (row.pt2_code == code) return row.dtype;
  return std::nullopt;
}

auto is_floating(DType dtype) -> bool {
  return info(dtype).kind == floating;
}
auto is_complex(DType dtype) -> bool {
  return info(dtype).kind == complex;
}
auto is_integer(DType dtype) -> bool {
  return info(dtype).kind == signed_integer || info(dtype).kind == unsigned_integer;
}

auto real_of(DType dtype) -> DType {
  for (const auto& pair : kComplexPairs)
    if (pair.complex == dtype) return pair.real;
  return dtype;
}

auto complex_of(DType dtype) -> std::optional<DType> {
  if (is_complex(dtype)) return dtype;
  for (const auto& pair : kComplexPairs)
    if (pair.real == dtype) return pair.complex;
  return std::nullopt;
}

auto promote(DType a, DType b) -> std::optional<DType> {
  if (a == b) return a;
  if (is_float8(a) || is_float8(b) || info(a).kind == bits || info(b).kind == bits)
    return std::nullopt;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_complex(a) || is_complex(b)) {
    // An integer or bool beside a complex leaves the complex type as it is.
    if (is_integer(a)) return b;
    if (is_integer(b)) return a;
    return promote_with_complex(a, b);
  }
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  return promote_integers(a, b);
}

auto can_cast(DType from, DType to) -> bool {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && (is_integer(to) || to == DType::boolean)) return false;
  return !(from != DType::boolean && to == DType::boolean && !is_complex(from));
}

}  // namespace assay
