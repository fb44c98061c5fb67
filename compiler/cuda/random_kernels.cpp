#include "compiler/cuda/random_kernels.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "compiler/cuda/kernel_words.h"

namespace assay {
namespace {

constexpr std::int64_t kBlock = kThreadsPerBlock;  ///< PyTorch's threads along the first axis
constexpr std::int64_t kRows = 4;                  ///< such blocks of a program
constexpr std::int64_t kWords = 4;
constexpr std::size_t kX = 0, kY = 1;
constexpr AxisSet kXs = 1, kYs = 2;
constexpr double kUnit = 0x1p-32;

class Maker : KernelWords {
 public:
  Maker(const RandomKernel& what, const Expr& programs) : what_(what) {
    kernel().name = what.name();
    kernel().grid = {programs};
  }

  auto run() -> std::shared_ptr<const TileKernel> {
    if (what_.width == 1)
      draw_apart();
    else
      draw_neighbours();
    return std::make_shared<TileKernel>(std::move(kernel()));
  }

 private:
  auto fused(TileId a, TileId b, TileId c) -> TileId { return b_.compute(Op::fma, {a, b, c}); }
  auto program() -> TileId { return as(b_.add(TileProgram{0}, {}, DType::int32, 0), DType::int64); }
  auto lane(std::size_t axis, AxisSet axes) -> TileId {
    return as(b_.add(TileLane{axis}, {}, DType::int32, axes), DType::int64);
  }
  auto words(TileId call, TileId thread) -> std::vector<TileId> {
    TileStatement one;
    one.what = TileRandom{TileRandomKind::words};
    one.operands = {b_.number(DType::int64, 0), call, thread};
    const auto axes = b_.axes_of({call, thread});
    for (std::int64_t i = 0; i < kWords; ++i) one.results.push_back(b_.value(DType::uint32, axes));
    auto results = one.results;
    b_.append(std::move(one));
    return results;
  }

  /// Of PyTorch's launch a program has kRows blocks of threads, each of which draws four words for
  /// elements that are apart by as many as there are threads.
  void draw_apart() {
    lane_axis("x", kBlock);
    lane_axis("y", kRows);
    const auto threads = number("threads"), count = number("count");
    const auto block = of(Op::add, with(Op::mul, program(), kRows), lane(kY, kYs));
    const auto start = with(Op::mul, block, kBlock);
    const auto call = of(Op::quotient, start, threads);
    const auto thread = of(Op::add, of(Op::remainder, start, threads), lane(kX, kXs));
    const auto drawn = words(call, thread);
    const auto units = what_.is_wide ? kWords / 2 : kWords;
    const auto round = of(Op::mul, call, with(Op::mul, threads, units));
    auto at = of(Op::add, round, thread);
    for (std::int64_t i = 0; i < units; ++i) {
      if (i > 0) at = of(Op::add, at, threads);
      const auto k = static_cast<std::size_t>(what_.is_wide ? 2 * i : i);
      put(at, of(Op::lt, at, count), {drawn[k], drawn[k ^ 1U], i % 2 == 1});
      if (i % 2 == 1) pair_ = {};
    }
  }

  /// A thread's words go to neighbours, up to four at once. Groups of them are the first axis.
  void draw_neighbours() {
    const auto group = std::min(what_.width, kWords);
    const auto groups = what_.width / group;  // that a thread takes in turn
    lane_axis("x", kBlock);
    lane_axis("y", group);
    const auto first = with(Op::mul, program(), kBlock);
    const auto round = with(Op::mul, number("threads"), groups);  // a multiple of kBlock
    const auto rounds = of(Op::quotient, first, round);
    const auto place = of(Op::add, of(Op::remainder, first, round), lane(kX, kXs));
    const auto thread = with(Op::quotient, place, groups);
    // Among those of the thread.
    const auto number_of =
        of(Op::add, with(Op::mul, rounds, groups), with(Op::bit_and, place, groups - 1));
    const auto is_half = group < kWords;
    auto drawn = words(is_half ? with(Op::shift_right, number_of, 1) : number_of, thread);
    if (is_half) {  // two groups share four words
      const auto is_second = with(Op::eq, with(Op::bit_and, number_of, 1), 1);
      for (std::size_t k = 0; k < 2; ++k) drawn[k] = select(is_second, drawn[k + 2], drawn[k]);
    }
    const auto neighbour = lane(kY, kYs);
    auto word = drawn[0];
    for (std::int64_t k = 1; k < group; ++k)
      word = select(with(Op::eq, neighbour, k), drawn[static_cast<std::size_t>(k)], word);
    const auto index = of(Op::add, first, lane(kX, kXs));
    const auto at = of(Op::add, with(Op::mul, index, group), neighbour);
    put(at, of(Op::lt, at, number("count")), {word, kNoTile, false});
  }

  /// What an element is drawn with.
  struct Drawn {
    TileId word = kNoTile;
    TileId other = kNoTile;  ///< of the pair
    bool is_second = false;  ///< of the pair
  };
  /// curand_uniform, in (0, 1].
  auto unit(TileId word) -> TileId {
    return fused(as(word, DType::float32), real(kUnit), real(kUnit / 2));
  }
  void put(TileId at, TileId inside, const Drawn& drawn) {
    if (what_.law == RandomLaw::dropout) return drop(at, inside, drawn.word);
    if (what_.law == RandomLaw::integer)
      return store("values", what_.dtype, at, integer(drawn), inside);
    if (what_.law == RandomLaw::bernoulli) {
      const auto is_true = what_.has_chances
                               ? of(Op::le, unit(drawn.word),
                                    as(load("chances", what_.dtype, at, inside), DType::float32))
                               : stays(drawn.word);
      return store("values", what_.dtype, at, is_true, inside);
    }
    store("values", what_.dtype, at, number_of(drawn), inside);
  }
  auto number_of(const Drawn& drawn) -> TileId {
    if (what_.law == RandomLaw::normal)
      return fused(normal(drawn), real("deviation"), real("mean"));
    const auto x = unit(drawn.word);
    if (what_.law == RandomLaw::exponential) {
      constexpr double kHalf = std::numeric_limits<float>::epsilon() / 2;
      const auto least = real(-kHalf);
      const auto logarithm = b_.compute(Op::log, {x});
      return of(Op::mul, real("factor"), select(of(Op::ge, x, real(1 - kHalf)), least, logarithm));
    }
    // (0, 1] becomes [0, 1)
    const auto value = as(fused(x, real("range"), real("low")), what_.dtype);
    const auto high = as(real("high"), what_.dtype), low = as(real("low"), what_.dtype);
    return select(of(Op::eq, value, high), low, value);
  }
  /// Of a uniform number below a probability, which numbers of 32 bits say as well.
  auto stays(TileId word) -> TileId { return of(Op::le, word, number("last_kept", DType::uint32)); }

  /// Box-Muller: the sine first, then the cosine.
  auto normal(const Drawn& drawn) -> TileId {
    if (!drawn.is_second) pair_ = normal_pair(drawn.word, drawn.other);
    return drawn.is_second ? pair_.second : pair_.first;
  }
  auto normal_pair(TileId first, TileId second) -> std::pair<TileId, TileId> {
    constexpr double kTurn = static_cast<float>(2 * std::numbers::pi * kUnit);
    const auto logarithm = b_.compute(Op::log, {unit(first)});
    const auto radius = b_.compute(Op::sqrt, {of(Op::mul, real(-2), logarithm)});
    const auto angle = fused(as(second, DType::float32), real(kTurn), real(kTurn / 2));
    const auto [sine, cosine] = both_of(angle);
    return {of(Op::mul, radius, sine), of(Op::mul, radius, cosine)};
  }
  /// Sine and cosine of an angle from 0 to one turn, within two units: quarters are taken away
  /// (Cody, Waite 1980), and short polynomials do for what is left (coefficients of Cephes' sinf).
  auto both_of(TileId angle) -> std::pair<TileId, TileId> {
    constexpr float kQuarter = std::numbers::pi_v<float> / 2;
    constexpr double kRest = std::numbers::pi / 2 - kQuarter;
    const auto turns =
        b_.compute(Op::nearest_even, {of(Op::mul, angle, real(2 / std::numbers::pi_v<float>))});
    auto x = fused(turns, real(-kQuarter), angle);
    x = fused(turns, real(-kRest), x);
    const auto square = of(Op::mul, x, x);
    const auto polynomial = [&](std::initializer_list<double> coefficients) {
      auto sum = kNoTile;
      for (const double one : coefficients)
        sum = sum == kNoTile ? real(one) : fused(sum, square, real(one));
      return sum;
    };
    const auto cube = of(Op::mul, x, square);
    const auto sine =
        fused(polynomial({-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}), cube, x);
    const auto cosine =
        polynomial({2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1});
    const auto quarter = as(turns, DType::int32);
    const auto is_odd = with(Op::eq, with(Op::bit_and, quarter, 1), 1);
    const auto signed_by = [&](TileId number, TileId value) {
      const auto is_negative = with(Op::eq, with(Op::bit_and, number, 2), 2);
      return select(is_negative, b_.compute(Op::negate, {value}), value);
    };
    return {signed_by(quarter, select(is_odd, cosine, sine)),
            signed_by(with(Op::add, quarter, 1), select(is_odd, sine, cosine))};
  }
  auto integer(const Drawn& drawn) -> TileId {
    auto value = drawn.word;
    if (what_.is_wide)
      value = of(Op::bit_or, with(Op::shift_left, as(drawn.word, DType::uint64), 32),
                 as(drawn.other, DType::uint64));
    if (!what_.is_whole) value = of(Op::remainder, value, number("many", b_.type(value).dtype));
    return of(Op::add, as(value, DType::int64), number("first"));
  }
  void drop(TileId at, TileId inside, TileId word) {
    const auto is_kept = stays(word);
    const auto input = as(load("input", what_.dtype, at, inside), DType::float32);
    const auto kept = of(Op::mul, input, as(is_kept, DType::float32));
    store("values", what_.dtype, at, of(Op::mul, kept, real("scale")), inside);
    store("mask", DType::boolean, at, is_kept, inside);
  }

  RandomKernel what_;
  std::pair<TileId, TileId> pair_ = {kNoTile, kNoTile};  ///< of normal numbers
};

}  // namespace

auto RandomKernel::name() const -> std::string {
  constexpr std::array kLaws = {"uniform",   "normal",  "exponential",
                                "bernoulli", "dropout", "integer"};
  return fmt::format("{}_{}{}{}{}{}", kLaws.at(static_cast<std::size_t>(law)), assay::name(dtype),
                     width > 1 ? fmt::format("_by_{}", width) : "", is_wide ? "_wide" : "",
                     is_whole ? "_whole" : "", has_chances ? "_of_each" : "");
}

auto RandomKernel::tile() const -> std::int64_t {
  if (width > 1) return kBlock * std::min(width, kWords);
  return kBlock * kRows * (is_wide ? kWords / 2 : kWords);
}

auto can_be_drawn(const RandomKernel& what) -> bool {
  const auto dtype = what.dtype;
  const auto kind = info(dtype).kind;
  const bool is_short = size_bytes(dtype) <= 2;
  if (kind == DTypeKind::complex || kind == DTypeKind::bits) return false;
  if (is_floating(dtype) && size_bytes(dtype) < 2) return false;
  if (what.law == RandomLaw::integer) return true;
  if (what.law == RandomLaw::bernoulli && !is_floating(dtype)) return is_short;
  return is_floating(dtype) && dtype != DType::float64;
}

auto make_random_kernel(const RandomKernel& what, const Expr& programs)
    -> std::shared_ptr<const TileKernel> {
  return Maker(what, programs).run();
}

}  // namespace assay
