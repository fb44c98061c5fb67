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

TEST_F(RoundingUp, AnEquationOfSizesReplacesOneByTheOther) {
  // A square of s // 8 rounded up in blocks of 2 x 2: their number fits if the side is even.
  const auto side = floor_div(s_ + 7, 8), half = floor_div(s_ + 15, 16);
  Bound bound{.value = side * side - 1 - (4 * i_ + 3),
              .facts = {},
              .guards = {ge(s_, 3), eq(2 * half, side)},
              .axes = {{i_, half * half, 1, 1}, {s_, s_ + 1, 1, 1}},
              .hints = {}};
  bound.facts.ranges[s_] = {Expr(2), Expr::infinity()};
  bound.facts.ranges[i_] = {Expr(0), Expr::infinity()};
  bound.facts.axes = {{i_, half * half}};
  const auto decision = decide_bound(bound, prover_);
  const auto* proof = std::get_if<Proved>(&decision.answer);
  ASSERT_NE(proof, nullptr);
  EXPECT_EQ(proof->needed, std::vector<std::size_t>{1});

  auto smaller = bound;
  smaller.value = smaller.value - 1;
  EXPECT_FALSE(std::holds_alternative<Proved>(decide_bound(smaller, prover_).answer));
  bound.guards.pop_back();  // an odd side
  EXPECT_TRUE(std::holds_alternative<Refuted>(decide_bound(bound, prover_).answer));
}

TEST_F(RoundingUp, WhatAnEquationSaysOfOtherGuardsRestsOnIt) {
  // i < t, t == s // 4 and s // 4 <= 9: all but the first guard are needed.
  const auto t = pool_.symbol("t");
  Bound bound{.value = 8 - i_,
              .facts = {},
              .guards = {ge(s_, 3), eq(t, floor_div(s_, 4)), le(floor_div(s_, 4), 9)},
              .axes = {{i_, t, 1, 1}, {s_, s_ + 1, 1, 1}, {t, t + 1, 1, 1}},
              .hints = {}};
  for (const auto& symbol : {i_, s_, t}) bound.facts.ranges[symbol] = {Expr(0), Expr::infinity()};
  bound.facts.axes = {{i_, t}};
  const auto decision = decide_bound(bound, prover_);
  const auto* proof = std::get_if<Proved>(&decision.answer);
  ASSERT_NE(proof, nullptr);
  EXPECT_EQ(proof->needed, (std::vector<std::size_t>{1, 2}));
}

}  // namespace
}  // namespace assay
