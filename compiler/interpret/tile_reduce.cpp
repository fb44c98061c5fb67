// Reductions, scans, sorts and block products over the lanes of a tile. Floats are summed in
// float64 and rounded once: the device's order is its own.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "compiler/interpret/tile_machine.h"

namespace assay {
namespace {

/// Lanes along an axis: `outer` groups of `length` rows of `inner` lanes.
struct Rows {
  std::size_t outer = 1, length = 1, inner = 1;
};

/// Up to three values that are combined together.
struct Triple {
  double a = 0, b = 0, c = 0;
};

template <class T>
auto is_nan(T value) -> bool {
  return value != value;  // NOLINT(misc-redundant-expression)
}

/// State for integers and floats of type T, in a type that is wide enough.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;

// clang-format off
struct Sum { template <class T> auto operator()(T a, T b) const -> T { if constexpr (std::is_integral_v<T>) { using U = std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, char, T>>; return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); } else { return a + b; } } };
struct Product { template <class T> auto operator()(T a, T b) const -> T { if constexpr (std::is_integral_v<T>) { return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b)); } else { return a * b; } } };
struct Min { template <class T> auto operator()(T a, T b) const -> T { return a < b || is_nan(a) ? a : b; } };
struct Max { template <class T> auto operator()(T a, T b) const -> T { return a > b || is_nan(a) ? a : b; } };
struct Any { template <class T> auto operator()(T a, T b) const -> T { return static_cast<T>(a != T{0} || b != T{0}); } };
struct All { template <class T> auto operator()(T a, T b) const -> T { return static_cast<T>(a != T{0} && b != T{0}); } };
struct Xor { template <class T> auto operator()(T a, T b) const -> T { if constexpr (std::is_integral_v<T>) { return static_cast<T>(a ^ b); } else { return a; } } };
// clang-format on

template <class T, class F>
void fold(const std::byte* from, std::byte* to, const Rows& rows, bool is_scan, bool is_reverse) {
  const auto* in = reinterpret_cast<const T*>(from);
  auto* out = reinterpret_cast<T*>(to);
  for (std::size_t o = 0; o < rows.outer; ++o)
    for (std::size_t i = 0; i < rows.inner; ++i) {
      const auto at = [&](std::size_t k) {
        return (o * rows.length + (is_reverse ? rows.length - 1 - k : k)) * rows.inner + i;
      };
      auto state = static_cast<Wide<T>>(in[at(0)]);
      if (is_scan) out[at(0)] = static_cast<T>(state);
      for (std::size_t k = 1; k < rows.length; ++k) {
        state = F{}(state, static_cast<Wide<T>>(in[at(k)]));
        if (is_scan) out[at(k)] = static_cast<T>(state);
      }
      if (!is_scan) out[o * rows.inner + i] = static_cast<T>(state);
    }
}

using Fold = void (*)(const std::byte*, std::byte*, const Rows&, bool, bool);
template <class F>
auto fold_for(DType dtype) -> Fold {
  struct Row {
    DType dtype;
    Fold fold;
  };
  constexpr std::array kRows = {
      Row{DType::boolean, fold<bool, F>},       Row{DType::uint8, fold<std::uint8_t, F>},
      Row{DType::int8, fold<std::int8_t, F>},   Row{DType::uint16, fold<std::uint16_t, F>},
      Row{DType::int16, fold<std::int16_t, F>}, Row{DType::uint32, fold<std::uint32_t, F>},
      Row{DType::int32, fold<std::int32_t, F>}, Row{DType::uint64, fold<std::uint64_t, F>},
      Row{DType::int64, fold<std::int64_t, F>}, Row{DType::float32, fold<float, F>},
      Row{DType::float64, fold<double, F>}};
  for (const auto& row : kRows)
    if (row.dtype == dtype) return row.fold;
  return nullptr;
}

struct CombineRow {
  TileCombine combine;
  Fold (*find)(DType);
};
constexpr std::array kCombines = {
    CombineRow{TileCombine::sum, fold_for<Sum>},
    CombineRow{TileCombine::product, fold_for<Product>},
    CombineRow{TileCombine::min, fold_for<Min>},
    CombineRow{TileCombine::max, fold_for<Max>},
    CombineRow{TileCombine::any, fold_for<Any>},
    CombineRow{TileCombine::all, fold_for<All>},
    CombineRow{TileCombine::bit_xor, fold_for<Xor>},
};

auto extreme(const Triple& x, const Triple& y, bool is_max) -> Triple {
  const bool nan_x = std::isnan(x.a), nan_y = std::isnan(y.a);
  const bool better = is_max ? x.a > y.a : x.a < y.a;
  const bool equal = x.a == y.a || (nan_x && nan_y);
  return better || (nan_x && !nan_y) || (equal && x.b < y.b) ? x : y;
}
auto welford(const Triple& x, const Triple& y) -> Triple {
  const auto weight = x.c + y.c;
  const auto delta = y.a - x.a;
  const auto share = weight == 0 ? 0.0 : y.c / weight;
  return {x.a + delta * share, x.b + y.b + delta * delta * x.c * share, weight};
}
auto softmax(const Triple& x, const Triple& y) -> Triple {
  const auto largest = x.a > y.a || std::isnan(x.a) ? x.a : y.a;
  const auto scale = [&](double value) {
    return std::isinf(largest) && largest < 0 ? 1.0 : std::exp(value - largest);
  };
  return {largest, x.b * scale(x.a) + y.b * scale(y.a), 0};
}

auto combined(TileCombine combine, const Triple& x, const Triple& y) -> Triple {
  if (combine == TileCombine::welford) return welford(x, y);
  if (combine == TileCombine::online_softmax) return softmax(x, y);
  return extreme(x, y, combine == TileCombine::argmax);
}

}  // namespace

auto TileMachine::reduce(const TileStep& step, TileCombine combine, std::size_t axis, bool is_scan,
                         bool is_reverse) -> Result<void> {
  use(step.statement->operands);
  if (combine == TileCombine::region) return combine_regions(step, axis, is_scan, is_reverse);
  const auto& statement = *step.statement;
  const auto bit = AxisSet{1} << axis;
  AxisSet axes = bit;
  for (const auto id : statement.operands) axes |= type(id).axes;
  Rows rows;
  rows.length = static_cast<std::size_t>(dims_[axis]);
  rows.outer = lanes(axes & (bit - 1));
  rows.inner = lanes(axes & ~(bit - 1) & ~bit);
  if (rows.length == 0 && !is_scan)
    return of_nothing(step, combine, rows.outer * rows.inner), Result<void>();
  const auto count = lanes(axes);
  std::vector<const std::byte*> in;
  for (const auto id : statement.operands) {
    const auto size = lane_size(type(id).dtype);
    auto held = spread(id, axes);
    if (held.stride == 0 && count > 1) {
      auto* all = scratch(count * size);
      for (std::size_t i = 0; i < count; ++i) std::memcpy(all + i * size, held.data, size);
      held.data = all;
    }
    in.push_back(static_cast<const std::byte*>(held.data));
  }
  if (statement.operands.size() == 1) {
    const auto* row = std::ranges::find(kCombines, combine, &CombineRow::combine);
    const auto dtype = type(statement.operands[0]).dtype;
    const auto loop = row == kCombines.end() ? nullptr : row->find(lane_dtype(dtype));
    if (loop == nullptr)
      return unsupported("line {}: a reduction of {}", statement.line, name(dtype));
    auto* out = fresh(statement.results[0]);
    loop(in[0], out, rows, is_scan, is_reverse);
    round_lanes(dtype, out, is_scan ? count : count / rows.length);
    return {};
  }
  if (statement.operands.size() > 3)
    return unsupported("line {}: a reduction of many values", statement.line);
  // Several values at once: through float64, which holds indices exactly.
  std::vector<std::vector<double>> wide;
  for (std::size_t v = 0; v < in.size(); ++v) {
    auto& values = wide.emplace_back(count);
    const TileLanes lane{in[v], 1};
    tile_evaluate(TileOp::cast, lane_dtype(type(statement.operands[v]).dtype), DType::float64)(
        std::span(&lane, 1), values.data(), count);
  }
  const auto results = is_scan ? count : count / rows.length;
  std::vector<std::vector<double>> out(in.size(), std::vector<double>(results));
  const auto get = [&](std::size_t at) {
    return Triple{wide[0][at], wide[1][at], wide.size() > 2 ? wide[2][at] : 0};
  };
  const auto put = [&](std::size_t at, const Triple& value) {
    out[0][at] = value.a;
    out[1][at] = value.b;
    if (out.size() > 2) out[2][at] = value.c;
  };
  for (std::size_t o = 0; o < rows.outer; ++o)
    for (std::size_t i = 0; i < rows.inner; ++i) {
      const auto at = [&](std::size_t k) {
        return (o * rows.length + (is_reverse ? rows.length - 1 - k : k)) * rows.inner + i;
      };
      auto state = get(at(0));
      if (is_scan) put(at(0), state);
      for (std::size_t k = 1; k < rows.length; ++k) {
        state = combined(combine, state, get(at(k)));
        if (is_scan) put(at(k), state);
      }
      if (!is_scan) put(o * rows.inner + i, state);
    }
  for (std::size_t v = 0; v < in.size(); ++v) {
    const auto id = statement.results[v];
    auto* to = fresh(id);
    const TileLanes lane{out[v].data(), 1};
    tile_evaluate(TileOp::cast, DType::float64, lane_dtype(type(id).dtype))(std::span(&lane, 1), to,
                                                                            results);
  }
  return {};
}

void TileMachine::round_lanes(DType dtype, std::byte* lanes, Lanes count) {
  const auto round = tile_round(dtype);
  if (round == nullptr) return;
  const TileLanes again{lanes, 1};
  round(std::span(&again, 1), lanes, count);
}

/// Reductions of no lanes: what changes nothing when it is combined.
void TileMachine::of_nothing(const TileStep& step, TileCombine combine, Lanes results) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_least = combine == TileCombine::max || combine == TileCombine::argmax ||
                        combine == TileCombine::online_softmax;
  const bool is_most = combine == TileCombine::min || combine == TileCombine::argmin;
  const bool is_one = combine == TileCombine::product || combine == TileCombine::all;
  for (std::size_t v = 0; v < step.statement->results.size(); ++v) {
    const auto id = step.statement->results[v];
    const auto held = lane_dtype(type(id).dtype);
    double value = is_one ? 1 : 0;
    if (v == 0 && (is_least || is_most)) value = is_least ? -kInfinity : kInfinity;
    if (!is_floating(held) && std::isinf(value))
      value = is_least ? static_cast<double>(INT64_MIN) : 9.2e18;
    const TileLanes lane{&value, 0};
    tile_evaluate(TileOp::cast, DType::float64, held)(std::span(&lane, 1), fresh(id), results);
  }
}

/// Combines by running the region, one row of lanes with the next.
auto TileMachine::combine_regions(const TileStep& step, std::size_t axis, bool is_scan,
                                  bool is_reverse) -> Result<void> {
  use(step.statement->operands);
  const auto& statement = *step.statement;
  const auto& region = statement.regions[0];
  const auto bit = AxisSet{1} << axis;
  AxisSet axes = bit;
  for (const auto id : statement.operands) axes |= type(id).axes;
  const auto values = statement.operands.size();
  const auto length = static_cast<std::size_t>(dims_[axis]);
  const auto outer = lanes(axes & (bit - 1));
  const auto inner = lanes(axes) / outer / length;
  std::vector<std::vector<std::byte>> in, out;
  std::vector<std::size_t> sizes;
  for (std::size_t v = 0; v < values; ++v) {
    const auto id = statement.operands[v];
    sizes.push_back(lane_size(type(id).dtype));
    scratch_used_ = 0;
    const auto held = spread(id, axes);
    auto& data = in.emplace_back(lanes(axes) * sizes[v]);
    for (std::size_t i = 0; i < lanes(axes); ++i)
      std::memcpy(data.data() + i * sizes[v],
                  static_cast<const std::byte*>(held.data) + (held.stride == 0 ? 0 : i * sizes[v]),
                  sizes[v]);
    out.emplace_back((is_scan ? lanes(axes) : lanes(axes) / length) * sizes[v]);
  }
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i)
      for (std::size_t k = 0; k < length; ++k) {
        const auto at = (o * length + (is_reverse ? length - 1 - k : k)) * inner + i;
        if (k > 0) {
          for (std::size_t v = 0; v < values; ++v)
            std::memcpy(fresh(region.params[values + v]), in[v].data() + at * sizes[v], sizes[v]);
          ASSAY_TRY_VOID(run(step.regions[0]));
        }
        std::vector<std::vector<std::byte>> state;
        for (std::size_t v = 0; v < values; ++v) {
          const auto* from =
              k == 0 ? in[v].data() + at * sizes[v] : reg(region.yields[v]).data.data();
          state.emplace_back(from, from + sizes[v]);
        }
        for (std::size_t v = 0; v < values; ++v) {
          std::memcpy(fresh(region.params[v]), state[v].data(), sizes[v]);
          if (is_scan || k + 1 == length)
            std::memcpy(out[v].data() + (is_scan ? at : o * inner + i) * sizes[v], state[v].data(),
                        sizes[v]);
        }
      }
  for (std::size_t v = 0; v < values; ++v)
    std::memcpy(fresh(statement.results[v]), out[v].data(), out[v].size());
  return {};
}

/// NaN is the largest, as in PyTorch.
void TileMachine::sort(const TileStep& step, const TileSort& what) {
  use(step.statement->operands);
  const auto& statement = *step.statement;
  const auto values = statement.results.size();
  const auto axes = type(statement.results[0]).axes;
  const auto bit = AxisSet{1} << what.axis;
  const auto length = static_cast<std::size_t>(dims_[what.axis]);
  const auto outer = lanes(axes & (bit - 1));
  const auto inner = lanes(axes) / outer / length;
  auto taking_part = length;
  if (statement.operands.size() > values && statement.operands[values] != kNoTile)
    taking_part = std::min(length, static_cast<std::size_t>(std::max<std::int64_t>(
                                       *integers(statement.operands[values], 0), 0)));
  std::vector<std::vector<std::byte>> in;
  for (std::size_t v = 0; v < values; ++v) {
    const auto id = statement.operands[v];
    const auto size = lane_size(type(id).dtype);
    const auto held = spread(id, axes);
    auto& data = in.emplace_back(lanes(axes) * size);
    for (std::size_t i = 0; i < lanes(axes); ++i)
      std::memcpy(data.data() + i * size,
                  static_cast<const std::byte*>(held.data) + (held.stride == 0 ? 0 : i * size),
                  size);
  }
  const auto compared = [&]<class T>(std::size_t v, DType as) {
    std::vector<T> keys(lanes(axes));
    const TileLanes lane{in[v].data(), 1};
    tile_evaluate(TileOp::cast, lane_dtype(type(statement.operands[v]).dtype), as)(
        std::span(&lane, 1), keys.data(), keys.size());
    return keys;
  };
  std::vector<double> reals;
  std::vector<std::vector<std::int64_t>> numbers;
  if (is_floating(type(statement.operands[0]).dtype))
    reals = compared.operator()<double>(0, DType::float64);
  else
    for (std::size_t v = 0; v < (what.by_all ? values : 1); ++v) {
      auto& keys = numbers.emplace_back(compared.operator()<std::int64_t>(v, DType::int64));
      if (type(statement.operands[v]).dtype == DType::uint64)  // in the order of int64
        for (auto& key : keys) key ^= std::numeric_limits<std::int64_t>::min();
    }
  const auto is_before = [&](std::size_t x, std::size_t y) {
    for (const auto& keys : numbers)
      if (keys[x] != keys[y]) return (keys[x] < keys[y]) != what.is_descending;
    if (reals.empty()) return false;
    const auto a = reals[x], b = reals[y];
    if (what.is_descending) return std::isnan(a) ? !std::isnan(b) : a > b;
    return std::isnan(b) ? !std::isnan(a) : a < b;
  };
  std::vector<std::byte*> out;
  for (const auto id : statement.results) out.push_back(fresh(id));
  std::vector<std::size_t> order(length);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      std::iota(order.begin(), order.end(), std::size_t{0});
      const auto place = [&](std::size_t k) { return (o * length + k) * inner + i; };
      std::stable_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(taking_part),
                       [&](std::size_t x, std::size_t y) { return is_before(place(x), place(y)); });
      for (std::size_t v = 0; v < values; ++v) {
        const auto size = lane_size(type(statement.results[v]).dtype);
        for (std::size_t k = 0; k < length; ++k)
          std::memcpy(out[v] + place(k) * size, in[v].data() + place(order[k]) * size, size);
      }
    }
}

void TileMachine::dot(const TileStep& step, const TileDot& what) {
  use(step.statement->operands);
  const auto& statement = *step.statement;
  const auto id = statement.results[0];
  const auto axes = type(id).axes;
  const auto bit = AxisSet{1} << what.axis;
  const auto all = axes | bit;
  const auto length = static_cast<std::size_t>(dims_[what.axis]);
  const auto outer = lanes(all & (bit - 1));
  const auto inner = lanes(all) / outer / length;
  const auto as_double = [&](TileId from, AxisSet over) {
    const auto held = spread(from, over);
    const auto count = lanes(over);
    std::vector<double> values(count);
    const auto one = std::array{held};
    const auto convert = tile_evaluate(TileOp::cast, lane_dtype(type(from).dtype), DType::float64);
    convert(one, values.data(), held.stride == 0 ? 1 : count);
    if (held.stride == 0) std::fill(values.begin(), values.end(), values[0]);
    return values;
  };
  const auto a = as_double(statement.operands[0], all);
  const auto b = as_double(statement.operands[1], all);
  auto sums = statement.operands[2] == kNoTile ? std::vector<double>(lanes(axes), 0)
                                               : as_double(statement.operands[2], axes);
  const bool is_single = type(id).dtype == DType::float32;
  const auto added = [&](double x, double y, double z) -> double {
    if (!is_single) return std::fma(x, y, z);
    return std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
  };
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t k = 0; k < length; ++k)
      for (std::size_t i = 0; i < inner; ++i) {
        const auto at = (o * length + k) * inner + i;
        auto& sum = sums[o * inner + i];
        sum = added(a[at], b[at], sum);
      }
  auto* out = fresh(id);
  const TileLanes lane{sums.data(), 1};
  tile_evaluate(TileOp::cast, DType::float64, lane_dtype(type(id).dtype))(std::span(&lane, 1), out,
                                                                          sums.size());
}

}  // namespace assay
