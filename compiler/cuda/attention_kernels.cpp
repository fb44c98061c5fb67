#include "compiler/cuda/attention_kernels.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "compiler/cuda/kernel_words.h"

namespace assay {
namespace {

/// Of sums of nothing.
constexpr double kLowest = -std::numeric_limits<double>::infinity();

class RowsMaker : KernelWords {
 public:
  RowsMaker(std::string name, const AttentionVariant& variant, bool is_reduced,
            CallKernels& kernels)
      : variant_(variant) {
    kernel().name = std::move(name);
    kernel().heuristic = "cpp";
    exact_axis("row", TileAxis::Kind::parallel, "rows", kernels);
    exact_axis("column", is_reduced ? TileAxis::Kind::reduction : TileAxis::Kind::parallel,
               "columns", kernels);
    row_ = b_.add(TileIndex{0}, {}, DType::int64, 1);
    column_ = b_.add(TileIndex{1}, {}, DType::int64, 2);
    // Divisions of 64 bits are a hundred instructions each.
    const auto near = [&](TileId id) { return as(id, DType::int32); };
    const auto queries = near(number("queries")), heads = near(number("heads"));
    const auto outer = of(Op::quotient, near(row_), queries);
    const auto far = [&](Op op, TileId a, TileId b) { return as(of(op, a, b), DType::int64); };
    query_ = far(Op::remainder, near(row_), queries);
    batch_ = far(Op::quotient, outer, heads);
    head_ = far(Op::remainder, outer, heads);
    at_ = of(Op::add, of(Op::mul, row_, number("columns")), column_);
  }

  void weights() {
    const bool is_masked = variant_.mask != AttentionMask::none;
    const auto scaled = score();
    auto largest = b_.reduce(TileCombine::max, 1, {scaled})[0];
    auto nothing = kNoTile;
    if (is_masked) {
      nothing = of(Op::eq, largest, real(kLowest));
      largest = select(nothing, real(0.0), largest);
    }
    const auto power = b_.compute(Op::exp, {of(Op::sub, scaled, largest)});
    auto sum = b_.reduce(TileCombine::sum, 1, {power})[0];
    if (is_masked) sum = select(nothing, real(1.0), sum);
    store("weights", variant_.dtype, at_, of(Op::divide, power, sum), kNoTile);
    store("sums", DType::float32, row_of("sums"), of(Op::add, b_.compute(Op::log, {sum}), largest),
          kNoTile);
  }
  void mask() {
    const auto is_key = of(Op::lt, column_, number("keys"));
    const bool is_given = variant_.mask != AttentionMask::none;
    auto made = is_given ? given_mask(is_key) : real(0.0);
    if (variant_.is_causal) made = seen_before(made);
    made = select(is_key, made, real(kLowest));
    store("packed", variant_.dtype, of(Op::add, row_of("packed"), column_), made, kNoTile);
  }
  void nothing() {
    const auto largest = b_.reduce(TileCombine::max, 1, {given_mask(kNoTile)})[0];
    store("nothing", DType::boolean, row_, of(Op::eq, largest, real(kLowest)), kNoTile);
  }
  void unseen() {
    const auto nothing = load("nothing", DType::boolean, row_of("nothing"), kNoTile);
    store("out", variant_.dtype, of(Op::add, row_of("out"), column_), real(0.0), nothing);
    store("sums", DType::float32, row_of("sums"), real(0.0), nothing);
  }
  void share() {
    const auto product = of(Op::mul, element("gradient", kNoTile), element("out", kNoTile));
    store("share", DType::float32, row_, b_.reduce(TileCombine::sum, 1, {product})[0], kNoTile);
  }
  void slopes() {
    const auto read = [&](const char* name, TileId at) {
      return load(name, DType::float32, at, kNoTile);
    };
    const auto weight = b_.compute(Op::exp, {of(Op::sub, score(), read("sums", row_of("sums")))});
    const auto slope = of(Op::mul, weight, of(Op::sub, read("towards", at_), read("share", row_)));
    store("weights", variant_.dtype, at_, weight, kNoTile);
    store("slopes", variant_.dtype, at_, of(Op::mul, slope, real("scale")), kNoTile);
  }
  void copy() {
    const auto is_given = of(Op::lt, query_, number("given"));
    const auto made = select(is_given, element("from", is_given), real(0.0));
    store("to", variant_.dtype, of(Op::add, row_of("to"), column_), made, kNoTile);
  }

  auto finished() -> std::shared_ptr<const TileKernel> {
    return std::make_shared<TileKernel>(std::move(kernel()));
  }

 private:
  /// Where a tensor's row is.
  auto row_of(const std::string& tensor) -> TileId {
    const auto placed = [&](TileId i, const char* stride) {
      return of(Op::mul, i, number(tensor + stride));
    };
    return of(Op::add, of(Op::add, placed(batch_, "_batch"), placed(head_, "_head")),
              placed(query_, "_query"));
  }
  /// Of a tensor whose columns are neighbours.
  auto element(const std::string& tensor, TileId guard) -> TileId {
    const auto at = of(Op::add, row_of(tensor), column_);
    return as(load(tensor, variant_.dtype, at, guard), DType::float32);
  }
  /// The scaled score and what is added to it; of what is not seen the lowest there is.
  auto score() -> TileId {
    auto made = of(Op::mul, load("scores", DType::float32, at_, kNoTile), real("scale"));
    if (variant_.is_causal) made = seen_before(made);
    return variant_.mask == AttentionMask::none ? made : of(Op::add, made, given_mask(kNoTile));
  }
  auto seen_before(TileId made) -> TileId {
    return select(of(Op::le, column_, query_), made, real(kLowest));
  }
  auto given_mask(TileId guard) -> TileId {
    const bool is_apart = variant_.mask == AttentionMask::apart;
    const auto along = is_apart ? of(Op::mul, column_, number("mask_column")) : column_;
    const auto at = of(Op::add, row_of("mask"), along);
    return as(load("mask", variant_.dtype, at, guard), DType::float32);
  }
  void exact_axis(const char* name, TileAxis::Kind kind, const char* count, CallKernels& kernels) {
    const auto param = b_.scalar_param(count);
    const auto symbol = kernels.symbol(count);
    kernel().params[param].symbol = symbol;
    kernel().axes.push_back({.name = name,
                             .kind = kind,
                             .extent = symbol,
                             .block = Expr(1),
                             .max_block = 1024,
                             .exact = true});
  }

  AttentionVariant variant_;
  TileId row_ = kNoTile, column_ = kNoTile, at_ = kNoTile;
  TileId batch_ = kNoTile, head_ = kNoTile, query_ = kNoTile;
};

/// In the order of AttentionStep.
struct StepRow {
  AttentionStep step;
  std::string_view name;
  void (RowsMaker::*make)();
  bool is_reduced = false;  ///< over columns
  bool is_ordered = false;  ///< asks for causal order
  bool is_masked = false;   ///< and for the mask
};
constexpr std::array kSteps = {
    StepRow{.step = AttentionStep::weights,
            .name = "weights",
            .make = &RowsMaker::weights,
            .is_reduced = true,
            .is_ordered = true,
            .is_masked = true},
    StepRow{.step = AttentionStep::mask,
            .name = "mask",
            .make = &RowsMaker::mask,
            .is_ordered = true,
            .is_masked = true},
    StepRow{.step = AttentionStep::nothing,
            .name = "nothing",
            .make = &RowsMaker::nothing,
            .is_reduced = true,
            .is_masked = true},
    StepRow{.step = AttentionStep::unseen, .name = "unseen", .make = &RowsMaker::unseen},
    StepRow{.step = AttentionStep::share,
            .name = "share",
            .make = &RowsMaker::share,
            .is_reduced = true},
    StepRow{.step = AttentionStep::slopes,
            .name = "slopes",
            .make = &RowsMaker::slopes,
            .is_ordered = true,
            .is_masked = true},
    StepRow{.step = AttentionStep::copy, .name = "copy", .make = &RowsMaker::copy},
};
static_assert(std::ranges::all_of(kSteps, [](const StepRow& row) {
  return &row - kSteps.data() == static_cast<std::ptrdiff_t>(row.step);
}));

}  // namespace

auto attention_kernel(AttentionStep step, AttentionVariant variant, CallKernels& kernels)
    -> const TileKernel& {
  constexpr std::array kMasks = {"", "_masked", "_masked_apart"};
  const auto& row = kSteps.at(static_cast<std::size_t>(step));
  variant.is_causal = variant.is_causal && row.is_ordered;
  if (!row.is_masked) variant.mask = AttentionMask::none;
  const auto name = fmt::format("attention_{}_{}{}{}", row.name, assay::name(variant.dtype),
                                variant.is_causal ? "_causal" : "",
                                kMasks.at(static_cast<std::size_t>(variant.mask)));
  return kernels.kernel(name, [&](const Expr&) {
    RowsMaker maker(name, variant, row.is_reduced, kernels);
    (maker.*row.make)();
    return maker.finished();
  });
}

}  // namespace assay
