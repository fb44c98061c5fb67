// Arithmetic on integers and floats. Integers wrap; what the device leaves undefined (division by
// zero, shifts past the width) gives all ones or zero here and is nothing a right kernel relies on.
#include <cmath>
#include <limits>

#include "compiler/program/lanes.h"

namespace assay {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

template <LaneInteger T>
constexpr auto divides(T a, T b) -> bool {
  if constexpr (std::is_signed_v<T>)
    if (b == -1 && a == std::numeric_limits<T>::min()) return false;
  return b != 0;
}
/// Rounds toward zero; minimum / -1 wraps.
template <LaneInteger T>
constexpr auto quotient_of(T a, T b) -> T {
  if (!divides(a, b)) return b == 0 ? static_cast<T>(-1) : a;
  return static_cast<T>(a / b);
}
template <LaneInteger T>
constexpr auto remainder_of(T a, T b) -> T {
  if (!divides(a, b)) return b == 0 ? a : T{0};
  return static_cast<T>(a % b);
}

// clang-format off
struct Add {
  auto operator()(std::floating_point auto a, decltype(a) b) const { return a + b; }
  template <LaneInteger T> auto operator()(T a, T b) const -> T { using U = Wrapping<T>; return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }
};
struct Sub {
  auto operator()(std::floating_point auto a, decltype(a) b) const { return a - b; }
  template <LaneInteger T> auto operator()(T a, T b) const -> T { using U = Wrapping<T>; return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }
};
struct Mul {
  auto operator()(std::floating_point auto a, decltype(a) b) const { return a * b; }
  template <LaneInteger T> auto operator()(T a, T b) const -> T { using U = Wrapping<T>; return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }
};
struct Quotient { template <LaneInteger T> auto operator()(T a, T b) const -> T { return quotient_of(a, b); } };
struct Remainder {
  auto operator()(std::floating_point auto a, decltype(a) b) const { return std::fmod(a, b); }
  template <LaneInteger T> auto operator()(T a, T b) const -> T { return remainder_of(a, b); }
};
struct FloorQuotient {
  auto operator()(std::floating_point auto a, decltype(a) b) const { return std::floor(a / b); }
  template <LaneInteger T> auto operator()(T a, T b) const -> T {
    const bool down = divides(a, b) && remainder_of(a, b) != 0 && (a < 0) != (b < 0);
    return static_cast<T>(quotient_of(a, b) - (down ? 1 : 0));
  }
};
struct FloorRemainder {
  auto operator()(std::floating_point auto a, decltype(a) b) const {
    const auto r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  template <LaneInteger T> auto operator()(T a, T b) const -> T {
    const auto r = remainder_of(a, b);
    return static_cast<T>(r != 0 && (r < 0) != (b < 0) ? r + b : r);
  }
};
struct HighProduct {
  template <LaneInteger T> auto operator()(T a, T b) const -> T {
    using Long = std::conditional_t<std::is_signed_v<T>, Wide, UnsignedWide>;
    return static_cast<T>((static_cast<Long>(a) * static_cast<Long>(b)) >> (8 * sizeof(T)));
  }
};
struct ShiftLeft {
  template <LaneInteger T> auto operator()(T a, T b) const -> T {
    if (b < 0 || static_cast<std::uint64_t>(b) >= 8 * sizeof(T)) return 0;
    return static_cast<T>(static_cast<Wrapping<T>>(a) << b);
  }
};
struct ShiftRight {
  template <LaneInteger T> auto operator()(T a, T b) const -> T {
    if (b < 0 || static_cast<std::uint64_t>(b) >= 8 * sizeof(T)) return a < 0 ? T(-1) : T(0);
    return static_cast<T>(a >> b);
  }
};
struct BitAnd { template <LaneBits T> auto operator()(T a, T b) const -> T { return static_cast<T>(a & b); } };
struct BitOr { template <LaneBits T> auto operator()(T a, T b) const -> T { return static_cast<T>(a | b); } };
struct BitXor { template <LaneBits T> auto operator()(T a, T b) const -> T { return static_cast<T>(a ^ b); } };
struct BitNot {
  auto operator()(std::same_as<bool> auto a) const -> bool { return !a; }
  template <LaneInteger T> auto operator()(T a) const -> T { return static_cast<T>(~a); }
};
struct Negate {
  auto operator()(std::floating_point auto a) const { return -a; }
  template <LaneInteger T> auto operator()(T a) const -> T { return static_cast<T>(Wrapping<T>{0} - static_cast<Wrapping<T>>(a)); }
};
struct Absolute {
  auto operator()(std::floating_point auto a) const { return std::abs(a); }
  template <LaneInteger T> auto operator()(T a) const -> T { return a < 0 ? Negate{}(a) : a; }
};
// clang-format on

using enum TileOp;
constexpr std::array kRows = {
    row2<Add>(add),
    row2<Sub>(sub),
    row2<Mul>(mul),
    row2<Quotient>(quotient),
    row2<Remainder>(remainder),
    row2<FloorQuotient>(floor_quotient),
    row2<FloorRemainder>(floor_remainder),
    row2<HighProduct>(high_product),
    row2<ShiftLeft>(shift_left),
    row2<ShiftRight>(shift_right),
    row2<BitAnd>(bit_and),
    row2<BitOr>(bit_or),
    row2<BitXor>(bit_xor),
    row1<BitNot>(bit_not),
    row1<Negate>(negate),
    row1<Absolute>(absolute),
};

/// Whether F on 128 bits differs from F on T anywhere.
template <class T, class F>
auto overflows(std::span<const TileLanes> operands, std::size_t count) -> bool {
  const auto* a = static_cast<const T*>(operands[0].data);
  const auto* b = static_cast<const T*>(operands[operands.size() - 1].data);
  const auto step_a = operands[0].stride;
  const auto step_b = operands[operands.size() - 1].stride;
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    any = any || F{}(a[at * step_a], b[at * step_b]);
  }
  return any;
}
// clang-format off
struct AddOverflows { template <class T> auto operator()(T a, T b) const -> bool { T r; return __builtin_add_overflow(a, b, &r); } };
struct SubOverflows { template <class T> auto operator()(T a, T b) const -> bool { T r; return __builtin_sub_overflow(a, b, &r); } };
struct MulOverflows { template <class T> auto operator()(T a, T b) const -> bool { T r; return __builtin_mul_overflow(a, b, &r); } };
struct NegateOverflows { template <class T> auto operator()(T a, T) const -> bool { T r; return __builtin_sub_overflow(T{0}, a, &r); } };
struct ShiftOverflows {
  template <class T> auto operator()(T a, T b) const -> bool {
    return b < 0 || (a != 0 && (static_cast<std::uint64_t>(b) >= 8 * sizeof(T) || ShiftRight{}(ShiftLeft{}(a, b), b) != a));
  }
};
// clang-format on

template <class F>
auto overflow_for(DType dtype) -> TileOverflow {
  if (dtype == DType::int32) return overflows<std::int32_t, F>;
  if (dtype == DType::uint32) return overflows<std::uint32_t, F>;
  if (dtype == DType::uint64) return overflows<std::uint64_t, F>;
  return dtype == DType::int64 ? overflows<std::int64_t, F> : nullptr;
}

struct OverflowRow {
  TileOp op;
  TileOverflow (*find)(DType);
};
constexpr std::array kOverflows = {OverflowRow{add, overflow_for<AddOverflows>},
                                   OverflowRow{sub, overflow_for<SubOverflows>},
                                   OverflowRow{mul, overflow_for<MulOverflows>},
                                   OverflowRow{negate, overflow_for<NegateOverflows>},
                                   OverflowRow{shift_left, overflow_for<ShiftOverflows>}};

}  // namespace

auto number_lanes() -> std::span<const LaneRow> {
  return kRows;
}

auto tile_overflow(TileOp op, DType dtype) -> TileOverflow {
  for (const auto& row : kOverflows)
    if (row.op == op) return row.find(dtype);
  return nullptr;
}

}  // namespace assay
