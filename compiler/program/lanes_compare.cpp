// Comparisons, smaller and larger of two, selection, conversions.
#include <bit>
#include <cmath>
#include <limits>

#include "compiler/program/lanes.h"
#include "core/tensor/convert.h"

namespace assay {
namespace {

template <LaneAny T>
constexpr auto is_nan_lane(T a) -> bool {
  return a != a;  // NOLINT(misc-redundant-expression)
}

// clang-format off
struct Eq { template <LaneAny T> auto operator()(T a, T b) const -> bool { return a == b; } };
struct Ne { template <LaneAny T> auto operator()(T a, T b) const -> bool { return a != b; } };
struct Lt { template <LaneAny T> auto operator()(T a, T b) const -> bool { return a < b; } };
struct Le { template <LaneAny T> auto operator()(T a, T b) const -> bool { return a <= b; } };
struct Gt { template <LaneAny T> auto operator()(T a, T b) const -> bool { return a > b; } };
struct Ge { template <LaneAny T> auto operator()(T a, T b) const -> bool { return a >= b; } };
struct Minimum { template <LaneAny T> auto operator()(T a, T b) const -> T { return a < b || is_nan_lane(a) ? a : b; } };
struct Maximum { template <LaneAny T> auto operator()(T a, T b) const -> T { return a > b || is_nan_lane(a) ? a : b; } };
struct MinimumNumber { template <LaneAny T> auto operator()(T a, T b) const -> T { return a < b || is_nan_lane(b) ? a : b; } };
struct MaximumNumber { template <LaneAny T> auto operator()(T a, T b) const -> T { return a > b || is_nan_lane(b) ? a : b; } };
// clang-format on

template <class T>
void select_lanes(std::span<const TileLanes> operands, void* result, std::size_t count) {
  const auto* condition = static_cast<const bool*>(operands[0].data);
  const auto* a = static_cast<const T*>(operands[1].data);
  const auto* b = static_cast<const T*>(operands[2].data);
  auto* r = static_cast<T*>(result);
  const auto c = operands[0].stride, x = operands[1].stride, y = operands[2].stride;
  if (c == 1 && x == 1 && y == 1) {
    for (std::size_t i = 0; i < count; ++i) r[i] = condition[i] ? a[i] : b[i];
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    r[i] = condition[at * c] ? a[at * x] : b[at * y];
  }
}
template <class T>
void fma_lanes(std::span<const TileLanes> operands, void* result, std::size_t count) {
  auto* r = static_cast<T*>(result);
  const auto lane = [&](std::size_t operand, std::size_t i) {
    return static_cast<const T*>(
        operands[operand].data)[static_cast<std::ptrdiff_t>(i) * operands[operand].stride];
  };
  for (std::size_t i = 0; i < count; ++i) r[i] = std::fma(lane(0, i), lane(1, i), lane(2, i));
}

/// Floats to integers: toward zero, NaN to 0, saturated as the device's conversion does (types
/// narrower than 32 bits take the low bits of that).
template <class To, class From>
auto convert(From value) -> To {
  if constexpr (std::same_as<To, bool>) {
    return value != From{0};
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    using Wide =
        std::conditional_t<sizeof(To) >= 4, To,
                           std::conditional_t<std::is_signed_v<To>, std::int32_t, std::uint32_t>>;
    if (is_nan_lane(value)) return 0;
    const auto low = static_cast<double>(std::numeric_limits<Wide>::min());
    const auto high = static_cast<double>(std::numeric_limits<Wide>::max());
    const auto number = static_cast<double>(value);
    if (number <= low) return static_cast<To>(std::numeric_limits<Wide>::min());
    if (number >= high) return static_cast<To>(std::numeric_limits<Wide>::max());
    return static_cast<To>(static_cast<Wide>(value));
  } else {
    return static_cast<To>(value);
  }
}
template <class From, class To>
struct Cast {
  auto operator()(From value) const -> To { return convert<To>(value); }
};
template <class From, class To>
struct Bitcast {
  auto operator()(From value) const -> To
    requires(sizeof(From) == sizeof(To) && !std::same_as<To, bool>)
  {
    return std::bit_cast<To>(value);
  }
};

using Conversions = std::array<LaneLoops, kLaneTypes>;
template <template <class, class> class F, class From>
consteval auto conversions_from() -> LaneLoops {
  return []<class... To>(std::tuple<To...>*) {
    return LaneLoops{unary_loop<From, F<From, To>>()...};
  }(static_cast<LaneTypes*>(nullptr));
}
template <template <class, class> class F>
consteval auto conversions() -> Conversions {
  return []<class... From>(std::tuple<From...>*) {
    return Conversions{conversions_from<F, From>()...};
  }(static_cast<LaneTypes*>(nullptr));
}
template <template <class> class F>
consteval auto typed() -> LaneLoops {
  return []<class... T>(std::tuple<T...>*) {
    return LaneLoops{F<T>::loop...};
  }(static_cast<LaneTypes*>(nullptr));
}
template <class T>
struct Select {
  static constexpr TileEvaluate loop = select_lanes<T>;
};
template <class T>
struct Fma {
  static constexpr TileEvaluate loop = nullptr;
};
template <std::floating_point T>
struct Fma<T> {
  static constexpr TileEvaluate loop = fma_lanes<T>;
};

using enum TileOp;
constexpr std::array kRows = {
    row2<Eq>(eq),
    row2<Ne>(ne),
    row2<Lt>(lt),
    row2<Le>(le),
    row2<Gt>(gt),
    row2<Ge>(ge),
    row2<Minimum>(minimum),
    row2<Maximum>(maximum),
    row2<MinimumNumber>(minimum_number),
    row2<MaximumNumber>(maximum_number),
    LaneRow{select, typed<Select>()},
    LaneRow{fma, typed<Fma>()},
};
constexpr auto kCasts = conversions<Cast>();
constexpr auto kBitcasts = conversions<Bitcast>();

/// A narrow float's bits, and the number that bits are: lanes are float32.
template <DType kNarrow>
struct NarrowBits {
  static constexpr auto kFormat = kNarrow == DType::float16           ? kFloat16
                                  : kNarrow == DType::float8_e4m3fn   ? kFloat8E4M3fn
                                  : kNarrow == DType::float8_e5m2     ? kFloat8E5M2
                                  : kNarrow == DType::float8_e4m3fnuz ? kFloat8E4M3fnuz
                                                                      : kFloat8E5M2fnuz;
  static auto of(float value) -> std::uint32_t {
    if constexpr (kNarrow == DType::bfloat16) return float_to_bfloat16(value);
    return encode_small_float(kFormat, value);
  }
  static auto number(std::uint32_t bits) -> float {
    if constexpr (kNarrow == DType::bfloat16)
      return bfloat16_to_float(static_cast<std::uint16_t>(bits));
    return static_cast<float>(decode_small_float(kFormat, bits));
  }
};
template <DType kNarrow>
struct Round {
  auto operator()(std::same_as<float> auto value) const -> float {
    return NarrowBits<kNarrow>::number(NarrowBits<kNarrow>::of(value));
  }
};
template <DType kNarrow>
constexpr TileEvaluate kRound = unary_lanes<float, Round<kNarrow>>;

template <DType kNarrow, class Bits>
struct ToBits {
  auto operator()(std::same_as<float> auto value) const -> Bits {
    return static_cast<Bits>(NarrowBits<kNarrow>::of(value));
  }
};
template <DType kNarrow, class Bits>
struct FromBits {
  auto operator()(std::same_as<Bits> auto bits) const -> float {
    return NarrowBits<kNarrow>::number(static_cast<std::make_unsigned_t<Bits>>(bits));
  }
};
struct NarrowBitcast {
  DType number, bits;
  TileEvaluate to_bits, to_number;
};
template <DType kNarrow, class Bits>
consteval auto narrow_bitcast(DType bits) -> NarrowBitcast {
  return {kNarrow, bits, unary_lanes<float, ToBits<kNarrow, Bits>>,
          unary_lanes<Bits, FromBits<kNarrow, Bits>>};
}
template <DType kNarrow>
consteval auto narrow_bitcasts() -> std::array<NarrowBitcast, 2> {
  if constexpr (kNarrow == DType::float16 || kNarrow == DType::bfloat16)
    return {narrow_bitcast<kNarrow, std::int16_t>(DType::int16),
            narrow_bitcast<kNarrow, std::uint16_t>(DType::uint16)};
  else
    return {narrow_bitcast<kNarrow, std::int8_t>(DType::int8),
            narrow_bitcast<kNarrow, std::uint8_t>(DType::uint8)};
}
constexpr std::array kNarrowBitcasts = {
    narrow_bitcasts<DType::float16>(),         narrow_bitcasts<DType::bfloat16>(),
    narrow_bitcasts<DType::float8_e4m3fn>(),   narrow_bitcasts<DType::float8_e5m2>(),
    narrow_bitcasts<DType::float8_e4m3fnuz>(), narrow_bitcasts<DType::float8_e5m2fnuz>()};

/// Of values of these dtypes, as they are in memory.
auto evaluate_bitcast(DType from, DType to) -> TileEvaluate {
  if (size_bytes(from) != size_bytes(to)) return nullptr;
  for (const auto& rows : kNarrowBitcasts)
    for (const auto& row : rows) {
      if (row.number == from && row.bits == to) return row.to_bits;
      if (row.bits == from && row.number == to) return row.to_number;
    }
  const auto at = lane_index(from), result = lane_index(to);
  return at == kLaneTypes || result == kLaneTypes ? nullptr : kBitcasts[at][result];
}

}  // namespace

auto compare_lanes() -> std::span<const LaneRow> {
  return kRows;
}

auto tile_evaluate(TileOp op, DType from, DType to) -> TileEvaluate {
  if (op == bitcast) return evaluate_bitcast(from, to);
  const auto at = lane_index(lane_dtype(from));
  if (at == kLaneTypes) return nullptr;
  if (op == cast) {
    const auto result = lane_index(lane_dtype(to));
    return result == kLaneTypes ? nullptr : kCasts[at][result];
  }
  for (const auto rows : {number_lanes(), compare_lanes(), float_lanes(), special_lanes()})
    for (const auto& row : rows)
      if (row.op == op) return row.loops[at];
  return nullptr;
}

auto tile_round(DType dtype) -> TileEvaluate {
  struct Row {
    DType dtype;
    TileEvaluate loop;
  };
  constexpr std::array kNarrow = {Row{DType::float16, kRound<DType::float16>},
                                  Row{DType::bfloat16, kRound<DType::bfloat16>},
                                  Row{DType::float8_e4m3fn, kRound<DType::float8_e4m3fn>},
                                  Row{DType::float8_e5m2, kRound<DType::float8_e5m2>},
                                  Row{DType::float8_e4m3fnuz, kRound<DType::float8_e4m3fnuz>},
                                  Row{DType::float8_e5m2fnuz, kRound<DType::float8_e5m2fnuz>}};
  for (const auto& row : kNarrow)
    if (row.dtype == dtype) return row.loop;
  return nullptr;
}

}  // namespace assay
