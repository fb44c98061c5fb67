// Bounds whose sizes are roundings up in several forms: -(-s // 8) // 2 and what equals it.
#include "compiler/prove/bounds_decider.h"

#include <gtest/gtest.h>

#include "compiler/prove/normalise.h"
#include "core/expr/text.h"

namespace assay {
namespace {

class RoundingUp : public ::testing::Test {
 protected:
  /// `value >= 0` for indices below their counts.
  auto decides(const Expr& value, std::vector<BoxAxis> axes) -> Answer {
    Bound bound{.value = value, .facts = {}, .guards = {}, .axes = {}, .hints = {}};
    bound.facts.ranges[s_] = {Expr(2), Expr::infinity()};
    for (const auto& axis : axes) {
      bound.facts.ranges[axis.symbol] = {Expr(0), Expr::infinity()};
      bound.axes.push_back({axis.symbol, axis.count, 1, 1});
    }
    bound.axes.push_back({s_, s_ + 1, 1, 1});
    bound.facts.axes = std::move(axes);
    return decide_bound(bound, prover_).answer;
  }
  auto proves(const Expr& value, std::vector<BoxAxis> axes) -> bool {
    return std::holds_alternative<Proved>(decides(value, std::move(axes)));
  }

  ExprPool pool_;
  Prover prover_;
  Expr s_ = pool_.symbol("s"), i_ = pool_.symbol("i"), j_ = pool_.symbol("j");
  Expr minus_ = floor_div(-floor_div(s_ + 7, 8), 2);  ///< -ceil(ceil(s / 8) / 2)
  Expr plus_ = floor_div(s_ + 15, 16);
};

TEST_F(RoundingUp, NegativeQuotientsAreRoundingsUp) {
  const Ranges ranges{{s_, {2, Expr::infinity()}}};
  RangeSimplifier simplifier(ranges);
  EXPECT_EQ(simplifier.apply(minus_), -plus_);
  EXPECT_EQ(simplifier.apply(floor_div(-i_, minus_)), floor_div(i_, plus_));
  EXPECT_EQ(simplifier.apply(mod(-i_, minus_)), -mod(i_, plus_));
  EXPECT_EQ(simplifier.apply(max(1, minus_ * minus_)), plus_ * plus_);
  const auto mixed = floor_div(i_ - s_, 2);  // of either sign: stays
  EXPECT_EQ(simplifier.apply(mixed), mixed);
}

TEST_F(RoundingUp, TheSameForEveryNumber) {
  for (std::int64_t low = -40; low <= 0; ++low)
    for (const std::int64_t k : {2, 3, 7}) {
      const Ranges ranges{{s_, {low, 0}}};
      RangeSimplifier simplifier(ranges);
      const auto simple = simplifier.apply(floor_div(s_, k));
      for (std::int64_t s = low; s <= 0; ++s)
        EXPECT_EQ(evaluate_int(simple, {{s_, Expr(s)}}).value(),
                  evaluate_int(floor_div(s_, k), {{s_, Expr(s)}}).value());
    }
}

TEST_F(RoundingUp, RowsOfSuchSizesStayInside) {
  const auto cells = minus_ * minus_;
  const std::vector<BoxAxis> axes{{i_, Expr(4)}, {j_, cells}};
  EXPECT_TRUE(proves(4 * max(1, cells) - 1 - (j_ + i_ * max(1, cells)), axes));
  EXPECT_TRUE(proves(j_ + i_ * cells, axes));
  EXPECT_FALSE(proves(4 * max(1, cells) - 2 - (j_ + i_ * max(1, cells)), axes))
      << "one element less";
}

TEST_F(RoundingUp, AnIndexTakenApartByThemIsANumber) {
  // Rows and columns of the index, with the size in its negative form, in a square of twice the
  // side: 2*row*(2*side) + 2*column + 1.
  const std::vector<BoxAxis> axes{{i_, minus_ * minus_}};
  const auto row = floor_div(-i_, minus_), column = -mod(-i_, minus_);
  const auto index = -4 * row * minus_ + 2 * column + 1;
  EXPECT_TRUE(proves(4 * minus_ * minus_ - 1 - index + 2 * minus_, axes));
  EXPECT_FALSE(proves(4 * minus_ * minus_ - 2 - index + 2 * minus_, axes)) << "one element less";
}

}  // namespace
}  // namespace assay
