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

template <DType kNarrow>
struct Round {
  auto operator()(std::same_as<float> auto value) const -> float {
    if constexpr (kNarrow == DType::bfloat16) return bfloat16_to_float(float_to_bfloat16(value));
    constexpr auto format = kNarrow == DType::float16           ? kFloat16
                            : kNarrow == DType::float8_e4m3fn   ? kFloat8E4M3fn
                            : kNarrow == DType::float8_e5m2     ? kFloat8E5M2
                            : kNarrow == DType::float8_e4m3fnuz ? kFloat8E4M3fnuz
                                                                : kFloat8E5M2fnuz;
    return static_cast<float>(decode_small_float(format, encode_small_float(format, value)));
  }
};
template <DType kNarrow>
constexpr TileEvaluate kRound = unary_lanes<float, Round<kNarrow>>;

}  // namespace

auto compare_lanes() -> std::span<const LaneRow> {
  return kRows;
}

auto tile_evaluate(TileOp op, DType from, DType to) -> TileEvaluate {
  const auto at = lane_index(from);
  if (at == kLaneTypes) return nullptr;
  if (op == cast || op == bitcast) {
    const auto result = lane_index(to);
    if (result == kLaneTypes) return nullptr;
    return (op == cast ? kCasts : kBitcasts)[at][result];
  }
  for (const auto rows : {number_lanes(), compare_lanes(), float_lanes()})
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
