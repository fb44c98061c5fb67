#include "compiler/cuda/sort_kernels.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/cuda/kernel_words.h"

namespace assay {
namespace {

constexpr std::int64_t kLanes = 1024;  ///< of tiles of short rows
constexpr std::size_t kX = 0, kRow = 1;
constexpr AxisSet kXs = 1, kRows = 2;

/// Elements as numbers of the same width, which is all that is asked of them.
auto stored_as(DType dtype) -> DType {
  switch (size_bytes(dtype)) {
    case 1:
      return dtype == DType::int8 ? DType::int8 : DType::uint8;
    case 2:
      return DType::int16;
    case 4:
      return DType::int32;
    default:
      return DType::int64;
  }
}
/// Of keys: those of a single byte are as wide as those of two.
auto key_bytes(DType dtype) -> std::int64_t {
  return std::max(size_bytes(dtype), 2);
}
/// Bits of infinity.
auto infinity_bits(DType dtype) -> std::int64_t {
  if (dtype == DType::float16) return 0x7C00;
  if (dtype == DType::bfloat16) return 0x7F80;
  return dtype == DType::float32 ? 0x7F800000 : 0x7FF0000000000000;
}
/// The largest key of elements of so many bytes: that of NaN, and of lanes beyond a row.
auto largest(std::int64_t bytes) -> std::int64_t {
  return static_cast<std::int64_t>(std::numeric_limits<std::uint64_t>::max() >> (65 - 8 * bytes));
}

class Maker : KernelWords {
 public:
  Maker(const SortKernel& what, const Expr& programs) : what_(what) {
    kernel().name = what.name();
    kernel().grid = {programs};
  }

  auto run() -> std::shared_ptr<const TileKernel> {
    start();
    if (what_.stage == SortStage::sort) sort_tiles();
    if (what_.stage == SortStage::cut) cut_runs();
    if (what_.stage == SortStage::merge) merge_runs();
    return std::make_shared<TileKernel>(std::move(kernel()));
  }

 private:
  [[nodiscard]] auto is_short() const -> bool { return has_short_keys(what_.dtype); }
  /// Unsigned numbers that need all bits of their key.
  [[nodiscard]] auto is_shifted() const -> bool {
    return info(what_.dtype).kind == DTypeKind::unsigned_integer && size_bytes(what_.dtype) > 1;
  }
  [[nodiscard]] auto is_narrow() const -> bool { return size_bytes(what_.dtype) <= 2; }

  /// Of element `i` of the row in the operand or the results.
  auto place(const std::string& tensor, TileId i) -> TileId {
    const auto outer = number(tensor + "_outer");
    if (what_.is_dense) return of(Op::add, of(Op::mul, as(row_, DType::int64), outer), i);
    const auto inner = number("inner", DType::int32);
    const auto outer_at = as(of(Op::quotient, row_, inner), DType::int64);
    const auto inner_at = as(of(Op::remainder, row_, inner), DType::int64);
    const auto base =
        of(Op::add, of(Op::mul, outer_at, outer), of(Op::mul, inner_at, number(tensor + "_next")));
    return of(Op::add, base, of(Op::mul, i, number(tensor + "_step")));
  }

  /// A number in the elements' order; of narrow elements an int32.
  auto key(TileId raw) -> TileId {
    const auto bytes = key_bytes(what_.dtype);
    const auto wide = bytes == 8 ? DType::int64 : DType::int32;
    auto made = as(raw, wide);
    if (is_shifted()) {
      made = with(Op::bit_xor, made, -largest(bytes) - 1);
    } else if (is_floating(what_.dtype)) {
      const auto magnitude = with(Op::bit_and, made, largest(bytes));
      const auto is_nan = with(Op::gt, magnitude, infinity_bits(what_.dtype));
      const auto is_negative = with(Op::lt, made, 0);
      const auto signed_one = select(is_negative, b_.compute(Op::negate, {magnitude}), magnitude);
      made = select(is_nan, b_.number(wide, largest(bytes)), signed_one);
    }
    return what_.is_descending ? b_.compute(Op::bit_not, {made}) : made;
  }
  /// The element of a key, as it is stored. Of floats which zero and which NaN it was is read.
  auto element(TileId key, TileId position, TileId mask) -> TileId {
    const auto bytes = key_bytes(what_.dtype);
    const auto dtype = stored_as(what_.dtype);
    auto made = what_.is_descending ? b_.compute(Op::bit_not, {key}) : key;
    if (is_shifted()) return as(with(Op::bit_xor, made, -largest(bytes) - 1), dtype);
    if (!is_floating(what_.dtype)) return as(made, dtype);
    const auto is_read = of(Op::bit_or, with(Op::eq, made, 0), with(Op::eq, made, largest(bytes)));
    const auto magnitude = b_.compute(Op::negate, {made});
    made = select(with(Op::lt, made, 0), with(Op::add, magnitude, -largest(bytes) - 1), made);
    const auto read = load("self", dtype, place("self", position), b_.both(mask, is_read));
    return select(is_read, read, as(made, dtype));
  }
  /// Elements in order: keys as they are compared, and where they were in the row.
  struct Sorted {
    TileId key = kNoTile, position = kNoTile;
  };
  /// Key and position as one number.
  auto joined(TileId key, TileId position, int bits, DType dtype) -> TileId {
    return of(Op::add, with(Op::mul, as(key, dtype), std::int64_t{1} << bits), as(position, dtype));
  }
  auto parted(TileId word) -> Sorted {
    return {as(with(Op::shift_right, word, 32), DType::int32),
            with(Op::bit_and, word, largest(4) * 2 + 1)};
  }
  auto sorted(std::vector<TileId> operands, bool is_bitonic = false) -> std::vector<TileId> {
    TileStatement one;
    one.what = TileSort{.axis = kX, .by_all = true, .is_bitonic = is_bitonic};
    for (const auto id : operands) one.results.push_back(b_.value(b_.type(id).dtype, kXs | kRows));
    one.operands = std::move(operands);
    one.operands.push_back(kNoTile);
    auto results = one.results;
    b_.append(std::move(one));
    return results;
  }
  auto sorted_elements() -> Sorted {
    auto made = key(load("self", stored_as(what_.dtype), place("self", at_), inside_));
    made = select(inside_, made, b_.number(b_.type(made).dtype, largest(key_bytes(what_.dtype))));
    const auto in_row = [&](TileId lane) { return of(Op::add, as(lane, DType::int64), first_); };
    if (!is_short()) {
      const auto all = sorted({made, lane_});
      return {all[0], in_row(all[1])};
    }
    if (is_narrow()) {
      const auto word = sorted({joined(made, lane_, 16, DType::int32)})[0];
      return {with(Op::shift_right, word, 16), in_row(with(Op::bit_and, word, 0xFFFF))};
    }
    const auto [key, lane] = parted(sorted({joined(made, lane_, 32, DType::int64)})[0]);
    return {key, in_row(lane)};
  }
  /// Keys that are read, those of lanes beyond a row behind them.
  auto read_keys(TileId at, TileId mask) -> std::vector<TileId> {
    const auto read = [&](const char* name, DType dtype) {
      const auto beyond = b_.number(dtype, largest(size_bytes(dtype)));
      return select(mask, load(name, dtype, at, mask), beyond);
    };
    std::vector<TileId> keys = {read("keys", DType::int64)};
    if (!is_short()) keys.push_back(read("places", DType::int32));
    return keys;
  }
  auto sorted_keys(std::vector<TileId> keys, bool is_bitonic) -> Sorted {
    const auto all = sorted(std::move(keys), is_bitonic);
    if (is_short()) return parted(all[0]);
    return {all[0], as(all[1], DType::int64)};
  }
  /// Writes what comes to stand at `slot`: keys, or the element and its position.
  void put(const Sorted& one, TileId slot, TileId mask) {
    if (what_.writes_keys) {
      const auto at = of(Op::add, of(Op::mul, as(row_, DType::int64), number("new_count")), slot);
      const auto word = is_short() ? joined(one.key, one.position, 32, DType::int64) : one.key;
      store("new_keys", DType::int64, at, word, mask);
      if (!is_short()) store("new_places", DType::int32, at, one.position, mask);
      return;
    }
    const auto at = place("result", slot);
    store("values", stored_as(what_.dtype), at, element(one.key, one.position, mask), mask);
    store("indices", DType::int64, at, one.position, mask);
  }

  /// Where the tile is.
  void start() {
    const auto side = what_.side();
    lane_axis("x", what_.block);
    lane_axis("row", side);
    const auto program = b_.add(TileProgram{0}, {}, DType::int32, 0);
    const auto tiles = number("tiles", DType::int32);
    tile_ = as(of(Op::remainder, program, tiles), DType::int64);
    first_ = with(Op::mul, tile_, what_.block);
    lane_ = b_.add(TileLane{kX}, {}, DType::int32, kXs);
    lane_at_ = as(lane_, DType::int64);
    row_ = of(Op::add, with(Op::mul, of(Op::quotient, program, tiles), side),
              b_.add(TileLane{kRow}, {}, DType::int32, kRows));
    is_row_ = of(Op::lt, row_, number("rows", DType::int32));
    count_ = number("count");
    at_ = of(Op::add, first_, lane_at_);
    const auto end = what_.stage == SortStage::cut ? number("parts") : count_;
    inside_ = b_.both(of(Op::lt, at_, end), is_row_);
    row_start_ = of(Op::mul, as(row_, DType::int64), count_);
  }

  void sort_tiles() {
    const auto made = what_.reads_keys
                          ? sorted_keys(read_keys(of(Op::add, row_start_, at_), inside_), false)
                          : sorted_elements();
    const auto keep = number("keep");
    auto mask = b_.both(of(Op::lt, lane_at_, keep), is_row_);
    auto slot = lane_at_;
    if (what_.writes_keys) {
      slot = of(Op::add, of(Op::mul, tile_, keep), lane_at_);
      mask = b_.both(mask, of(Op::lt, slot, number("new_count")));
    }
    put(made, slot, mask);
  }

  /// Two runs of a row, which become one.
  struct Pair {
    TileId left, right;                ///< where they begin
    TileId left_length, right_length;  ///< the right one may be empty
    TileId before;                     ///< elements of both that stand before `at`
  };
  auto pair_at(TileId at) -> Pair {
    const auto none = b_.number(DType::int64, 0);
    const auto shift = number("shift");
    const auto length = of(Op::shift_left, b_.number(DType::int64, 1), shift);
    const auto both = with(Op::add, shift, 1);
    Pair pair{};
    const auto first = of(Op::shift_left, of(Op::shift_right, at, both), both);
    pair.before = of(Op::sub, at, first);
    pair.left = of(Op::add, row_start_, first);
    pair.right = of(Op::add, pair.left, length);
    const auto rest = of(Op::sub, count_, first);
    pair.left_length = of(Op::minimum, rest, length);
    pair.right_length = of(Op::minimum, of(Op::maximum, of(Op::sub, rest, length), none), length);
    return pair;
  }
  /// Is the key at one place before that at another one?
  auto is_before(TileId left, TileId right, TileId mask) -> TileId {
    const auto read = [&](const char* name, DType dtype, TileId at) {
      return load(name, dtype, at, mask);
    };
    const auto a = read("keys", DType::int64, left), b = read("keys", DType::int64, right);
    // Of equal keys those on the left are first.
    return of(is_short() ? Op::lt : Op::le, a, b);
  }
  /// Halving: how many of the left run are among the first `before` of both.
  void cut_runs() {
    const auto pair = pair_at(with(Op::mul, at_, kMerged));
    const auto none = b_.number(DType::int64, 0), one = b_.number(DType::int64, 1);
    const auto lowest = of(Op::maximum, of(Op::sub, pair.before, pair.right_length), none);
    const auto highest = of(Op::minimum, pair.before, pair.left_length);
    const auto axes = kXs | kRows;
    TileStatement loop;
    loop.what = TileLoop{};
    loop.operands = {none, with(Op::add, number("shift"), 1), one, lowest, highest};
    loop.results = {b_.value(DType::int64, axes), b_.value(DType::int64, axes)};
    auto& region = loop.regions.emplace_back();
    const auto low = b_.value(DType::int64, axes), high = b_.value(DType::int64, axes);
    region.params = {b_.value(DType::int64, 0), low, high};
    auto* const outside = b_.redirect(&region.body);
    const auto middle = with(Op::shift_right, of(Op::add, low, high), 1);
    const auto is_open = b_.both(of(Op::lt, low, high), inside_);
    const auto opposite = of(Op::sub, of(Op::sub, pair.before, one), middle);
    const auto less =
        is_before(of(Op::add, pair.left, middle), of(Op::add, pair.right, opposite), is_open);
    const auto goes_up = of(Op::bit_and, is_open, less);
    const auto goes_down = of(Op::bit_and, is_open, b_.compute(Op::bit_not, {less}));
    region.yields = {select(goes_up, of(Op::add, middle, one), low),
                     select(goes_down, middle, high)};
    b_.redirect(outside);
    const auto found = loop.results[0];
    b_.append(std::move(loop));
    store("cuts", DType::int32, cut_place(at_), found, inside_);
  }
  auto cut_place(TileId part) -> TileId {
    return of(Op::add, of(Op::mul, as(row_, DType::int64), number("parts")), part);
  }

  void merge_runs() {
    const auto pair = pair_at(first_);
    const auto cut = [&](TileId part, TileId mask) {
      return as(load("cuts", DType::int32, cut_place(part), mask), DType::int64);
    };
    const auto end = of(Op::minimum, with(Op::add, pair.before, kMerged),
                        of(Op::add, pair.left_length, pair.right_length));
    const auto goes_on =
        b_.both(of(Op::lt, end, of(Op::add, pair.left_length, pair.right_length)), is_row_);
    const auto from = cut(tile_, is_row_);
    const auto to = select(goes_on, cut(with(Op::add, tile_, 1), goes_on), pair.left_length);
    const auto left = of(Op::sub, to, from);
    const auto right = of(Op::sub, of(Op::sub, end, pair.before), left);
    const auto right_from = of(Op::add, pair.right, of(Op::sub, pair.before, from));
    // The last lane is the first one of the right run.
    const auto back = of(Op::sub, b_.number(DType::int64, kMerged - 1), lane_at_);
    const auto is_left = b_.both(of(Op::lt, lane_at_, left), is_row_);
    const auto is_right = b_.both(of(Op::lt, back, right), is_row_);
    auto keys = read_keys(of(Op::add, of(Op::add, pair.left, from), lane_at_), is_left);
    const auto others = read_keys(of(Op::add, right_from, back), is_right);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = select(is_left, keys[i], others[i]);
    auto mask = inside_;
    if (!what_.writes_keys) mask = b_.both(mask, of(Op::lt, at_, number("keep")));
    put(sorted_keys(std::move(keys), true), at_, mask);
  }

  SortKernel what_;
  TileId tile_ = kNoTile, first_ = kNoTile;       ///< which one, and its first element
  TileId lane_ = kNoTile, lane_at_ = kNoTile;     ///< in the tile, in 32 and 64 bits
  TileId row_ = kNoTile, at_ = kNoTile;           ///< of an element
  TileId is_row_ = kNoTile, inside_ = kNoTile;    ///< is there such a row; such an element
  TileId count_ = kNoTile, row_start_ = kNoTile;  ///< of a row's keys
};

}  // namespace

auto SortKernel::name() const -> std::string {
  constexpr std::array kStages = {"sort", "cut", "merge"};
  return fmt::format("{}_{}_{}{}{}{}{}", kStages.at(static_cast<std::size_t>(stage)), block,
                     assay::name(dtype), is_descending ? "_descending" : "",
                     is_dense ? "" : "_apart", reads_keys ? "_again" : "",
                     writes_keys ? "_keys" : "");
}

auto SortKernel::side() const -> std::int64_t {
  return stage == SortStage::sort ? std::max<std::int64_t>(kLanes / block, 1) : 1;
}

/// Words of 64 bits take twice the registers.
auto most_sorted(DType dtype) -> std::int64_t {
  return size_bytes(dtype) <= 2 ? 8192 : 4096;
}

auto has_short_keys(DType dtype) -> bool {
  return size_bytes(dtype) <= 4;
}

auto can_be_sorted(DType dtype) -> bool {
  const auto kind = info(dtype).kind;
  return kind != DTypeKind::complex && kind != DTypeKind::bits &&
         (kind != DTypeKind::floating || size_bytes(dtype) >= 2);
}

auto make_sort_kernel(const SortKernel& what, const Expr& programs)
    -> std::shared_ptr<const TileKernel> {
  return Maker(what, programs).run();
}

}  // namespace assay
