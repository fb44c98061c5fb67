// Scalar operations of kernels: one row per operation. Reader, text form, verifier and executors
// ask the table; a new operation is one row.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/tensor/dtype.h"

namespace assay {

enum class TileOp : std::uint8_t {
  // two operands of one dtype
  add,
  sub,
  mul,
  divide,     ///< floats
  quotient,   ///< integers, toward zero as in C
  remainder,  ///< integers, sign of the dividend; floats: fmod
  floor_quotient,
  floor_remainder,
  minimum,  ///< NaN wins
  maximum,
  minimum_number,  ///< NaN loses
  maximum_number,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  high_product,  ///< upper half of the product
  power,
  atan2,
  copysign,
  hypot,
  nextafter,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  // one operand
  negate,
  bit_not,
  absolute,
  cast,
  bitcast,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sqrt,
  rsqrt,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  erfinv,
  lgamma,
  sigmoid,
  floor,
  ceil,
  trunc,
  nearest_even,
  round_away,
  is_nan,
  is_infinite,
  is_finite,
  sign_bit,
  // special functions, of the interpreter only
  digamma,
  trigamma,
  ndtr,
  log_ndtr,
  ndtri,
  bessel_j0,
  bessel_j1,
  bessel_y0,
  bessel_y1,
  bessel_j0_forward,
  bessel_j1_forward,
  bessel_y0_forward,
  bessel_y1_forward,
  i0,
  i1,
  i0e,
  i1e,
  modified_bessel_k0,
  modified_bessel_k1,
  scaled_modified_bessel_k0,
  scaled_modified_bessel_k1,
  spherical_bessel_j0,
  airy_ai,
  zeta,
  igamma,
  igammac,
  polygamma,
  chebyshev_polynomial_t,
  chebyshev_polynomial_u,
  chebyshev_polynomial_v,
  chebyshev_polynomial_w,
  shifted_chebyshev_polynomial_t,
  shifted_chebyshev_polynomial_u,
  shifted_chebyshev_polynomial_v,
  shifted_chebyshev_polynomial_w,
  hermite_polynomial_h,
  hermite_polynomial_he,
  laguerre_polynomial_l,
  legendre_polynomial_p,
  // three operands
  fma,
  select,  ///< condition, a, b
};

/// How the dtype of the result follows from the operands.
enum class TileResult : std::uint8_t {
  same,     ///< operands and result have one dtype
  boolean,  ///< operands have one dtype
  select,   ///< boolean first, the rest and the result have one dtype
  any,      ///< conversions
};

/// Operands an operation takes.
struct TileKinds {
  bool boolean = false, integer = false, floating = false;
};

/// `count` lanes; an operand that does not vary has stride 0, else 1.
struct TileLanes {
  const void* data = nullptr;
  std::ptrdiff_t stride = 1;
};
using TileEvaluate = void (*)(std::span<const TileLanes> operands, void* result, std::size_t count);

/// How the lanes of an axis become one value.
enum class TileCombine : std::uint8_t {
  sum,
  product,
  min,  ///< NaN wins, in min and max
  max,
  argmin,  ///< operands: value, index; the smaller index on ties; NaN is the smallest and largest
  argmax,
  any,
  all,
  bit_xor,
  welford,         ///< operands: mean, sum of squared differences, weight
  online_softmax,  ///< operands: maximum, sum of exp(x - maximum)
  region,          ///< as the region says: its parameters are both sides, its yields the result
};

struct TileOpRow {
  TileOp op;
  std::string_view name;  ///< in the text form
  int operands;
  TileResult result;
  TileKinds kinds;
  bool has_code = true;  ///< for CPUs and GPUs; else kernels that have it are interpreted
};

[[nodiscard]] auto tile_ops() -> std::span<const TileOpRow>;
[[nodiscard]] auto tile_op_row(TileOp op) -> const TileOpRow&;
[[nodiscard]] auto find_tile_op(std::string_view name) -> std::optional<TileOp>;

/// Dtype that lanes of this dtype are held in: itself, float32 for narrower floats. Whoever
/// computes in it rounds the result to the narrow dtype (tile_round).
[[nodiscard]] auto lane_dtype(DType dtype) -> DType;
/// The loop over lanes of values of these dtypes, which are held in their lane dtypes. Of
/// conversions `from` is the operand's and `to` the result's, else `from` is the operands' (of
/// `select` its branches'). Null where the row does not take it. A bitcast is one of what stands in
/// memory: of float16 sixteen bits, though lanes are float32.
[[nodiscard]] auto tile_evaluate(TileOp op, DType from, DType to) -> TileEvaluate;
/// Rounds float32 lanes to a narrower float; null for other dtypes.
[[nodiscard]] auto tile_round(DType dtype) -> TileEvaluate;
/// Whether an exact result would not fit: add, sub, mul, negate and shift_left on integers; null
/// for all others.
using TileOverflow = bool (*)(std::span<const TileLanes> operands, std::size_t count);
[[nodiscard]] auto tile_overflow(TileOp op, DType dtype) -> TileOverflow;

}  // namespace assay
