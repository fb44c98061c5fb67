// Loops over lanes for functors, one instance per dtype. Internal to compiler/program.
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "compiler/program/op_table.h"

namespace assay {

/// Types of lanes; truth values are 0 or 1 in a byte.
using LaneTypes =
    std::tuple<bool, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t,
               std::int32_t, std::uint64_t, std::int64_t, float, double>;
inline constexpr std::array kLaneDTypes = {
    DType::boolean, DType::uint8,  DType::int8,  DType::uint16,  DType::int16,  DType::uint32,
    DType::int32,   DType::uint64, DType::int64, DType::float32, DType::float64};
inline constexpr std::size_t kLaneTypes = kLaneDTypes.size();
using LaneLoops = std::array<TileEvaluate, kLaneTypes>;

/// Position of a dtype among LaneTypes; kLaneTypes if it is none.
constexpr auto lane_index(DType dtype) -> std::size_t {
  for (std::size_t i = 0; i < kLaneTypes; ++i)
    if (kLaneDTypes[i] == dtype) return i;
  return kLaneTypes;
}

template <class T>
concept LaneInteger = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept LaneNumber = LaneInteger<T> || std::floating_point<T>;
template <class T>
concept LaneBits = std::integral<T>;
template <class T>
concept LaneAny = std::integral<T> || std::floating_point<T>;

/// Unsigned type in which arithmetic on T wraps without promotion to int getting in the way.
template <LaneInteger T>
using Wrapping = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<T>>;

template <class T, class F>
void unary_lanes(std::span<const TileLanes> operands, void* result, std::size_t count) {
  using Result = std::invoke_result_t<F, T>;
  const auto* a = static_cast<const T*>(operands[0].data);
  auto* r = static_cast<Result*>(result);
  if (operands[0].stride == 0)
    for (std::size_t i = 0; i < count; ++i) r[i] = F{}(a[0]);
  else
    for (std::size_t i = 0; i < count; ++i) r[i] = F{}(a[i]);
}

template <class T, class F>
void binary_lanes(std::span<const TileLanes> operands, void* result, std::size_t count) {
  using Result = std::invoke_result_t<F, T, T>;
  const auto* a = static_cast<const T*>(operands[0].data);
  const auto* b = static_cast<const T*>(operands[1].data);
  auto* r = static_cast<Result*>(result);
  const bool one_a = operands[0].stride == 0;
  const bool one_b = operands[1].stride == 0;
  if (!one_a && !one_b) {
    for (std::size_t i = 0; i < count; ++i) r[i] = F{}(a[i], b[i]);
  } else if (one_b && !one_a) {
    const auto y = b[0];
    for (std::size_t i = 0; i < count; ++i) r[i] = F{}(a[i], y);
  } else {
    const auto x = a[0];
    for (std::size_t i = 0; i < count; ++i) r[i] = F{}(x, b[one_b ? 0 : i]);
  }
}

template <class T, class F>
consteval auto unary_loop() -> TileEvaluate {
  if constexpr (std::invocable<F, T>) return unary_lanes<T, F>;
  return nullptr;
}
template <class T, class F>
consteval auto binary_loop() -> TileEvaluate {
  if constexpr (std::invocable<F, T, T>) return binary_lanes<T, F>;
  return nullptr;
}

template <class F>
consteval auto unary_loops() -> LaneLoops {
  return []<class... T>(std::tuple<T...>*) {
    return LaneLoops{unary_loop<T, F>()...};
  }(static_cast<LaneTypes*>(nullptr));
}
template <class F>
consteval auto binary_loops() -> LaneLoops {
  return []<class... T>(std::tuple<T...>*) {
    return LaneLoops{binary_loop<T, F>()...};
  }(static_cast<LaneTypes*>(nullptr));
}

/// Loops of one operation, by dtype.
struct LaneRow {
  TileOp op;
  LaneLoops loops;
};
template <class F>
constexpr auto row1(TileOp op) -> LaneRow {
  return {op, unary_loops<F>()};
}
template <class F>
constexpr auto row2(TileOp op) -> LaneRow {
  return {op, binary_loops<F>()};
}
[[nodiscard]] auto float_lanes() -> std::span<const LaneRow>;    ///< lanes_float.cpp
[[nodiscard]] auto special_lanes() -> std::span<const LaneRow>;  ///< lanes_special.cpp
[[nodiscard]] auto number_lanes() -> std::span<const LaneRow>;   ///< lanes_number.cpp
[[nodiscard]] auto compare_lanes() -> std::span<const LaneRow>;  ///< lanes_compare.cpp

}  // namespace assay
