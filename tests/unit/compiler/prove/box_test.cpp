#include "compiler/prove/box.h"

#include <gtest/gtest.h>

#include "compiler/prove/violation.h"

namespace assay {
namespace {

class BoxTest : public ::testing::Test {
 protected:
  ExprPool pool_;
  Expr s_ = pool_.symbol("s0"), t_ = pool_.symbol("s1"), x_ = pool_.symbol("x.0");
  Ranges ranges_ = {
      {s_, {2, Expr::infinity()}}, {t_, {2, Expr::infinity()}}, {x_, {0, Expr::infinity()}}};
};

TEST_F(BoxTest, APermutedReadStaysInside) {
  // x = i*8*s + j*8 + k with j < s, read transposed: k + 8*i + 8*t*j, i < t
  const auto k = mod(x_, 8), j = mod(floor_div(x_, 8), s_), i = floor_div(x_, 8 * s_);
  const auto index = k + 8 * i + 8 * t_ * j;
  const BoxFacts facts{ranges_, {}, {{x_, 8 * s_ * t_}}};
  EXPECT_TRUE(proves_nonnegative(8 * s_ * t_ - 1 - index, facts));
  EXPECT_TRUE(proves_nonnegative(index, facts));
  EXPECT_FALSE(proves_nonnegative(8 * s_ * t_ - 2 - index, facts)) << "one element less";
}

TEST_F(BoxTest, MasksBoundDigits) {
  // padding: read at x % (s+2) - 1 under 0 <= that < s
  const auto column = mod(x_, s_ + 2), row = floor_div(x_, s_ + 2);
  const auto index = column - 1 + s_ * row;
  BoxFacts facts{ranges_, {ge(column - 1, 0), lt(column - 1, s_)}, {{x_, (s_ + 2) * t_}}};
  EXPECT_TRUE(proves_nonnegative(s_ * t_ - 1 - index, facts));
  EXPECT_TRUE(proves_nonnegative(index, facts));
  facts.conditions.pop_back();
  EXPECT_FALSE(proves_nonnegative(s_ * t_ - 1 - index, facts)) << "without the upper mask";
}

TEST_F(BoxTest, WindowsThatDoNotOverlapStayInside) {
  // The last element of window (d, i, j) of 2 x 3 elements in s x t.
  const auto rows = floor_div(s_, 2), columns = floor_div(t_, 3);
  const BoxFacts facts{ranges_, {}, {{x_, 8 * rows * columns}}};
  const auto index = s_ * t_ * floor_div(x_, rows * columns) +
                     2 * t_ * mod(floor_div(x_, columns), rows) + 3 * mod(x_, columns) + t_ + 2;
  EXPECT_TRUE(proves_nonnegative(8 * s_ * t_ - 1 - index, facts));
  EXPECT_FALSE(proves_nonnegative(8 * s_ * t_ - 2 - index, facts)) << "one element less";
}

TEST_F(BoxTest, RoundingUpStaysBelowTheNextMultiple) {
  const auto padded = 8 * floor_div(s_ + 7, 8);
  EXPECT_TRUE(proves_nonnegative(padded - s_, {ranges_, {}, {}}));
  EXPECT_TRUE(proves_nonnegative(s_ + 7 - padded, {ranges_, {}, {}}));
  EXPECT_FALSE(proves_nonnegative(s_ - padded, {ranges_, {}, {}}));
  EXPECT_FALSE(proves_nonnegative(s_ + 6 - padded, {ranges_, {}, {}}));
}

TEST_F(BoxTest, ClaimsFollowFromSumsOfFacts) {
  // The last of three joined parts, without the first row, and the last three of five heads.
  const auto i = pool_.symbol("a0"), row = pool_.symbol("a1"), j = pool_.symbol("a2"),
             head = pool_.symbol("a3"), k = pool_.symbol("a4");
  BoxFacts facts{ranges_,
                 {ge(i + j * s_, s_), ge(i + j * s_, 2 * s_), le(row, 49), ge(row, 1),
                  ge(40 * head + k, 80), le(40 * head + k, 199)},
                 {{i, s_}, {row, Expr(50)}, {j, Expr(3)}, {head, Expr(8)}, {k, Expr(40)}}};
  const auto index = 5880 * (i + j * s_ - 2 * s_) + 120 * row + 40 * head + k - 200;
  const auto extent = 5880 * s_;
  EXPECT_TRUE(proves_nonnegative(index, facts));
  EXPECT_TRUE(proves_nonnegative(extent - 1 - index, facts));
  EXPECT_FALSE(proves_nonnegative(index - 1, facts)) << "one element before";
  EXPECT_FALSE(proves_nonnegative(extent - 2 - index, facts)) << "one element less";
  facts.conditions.pop_back();
  EXPECT_FALSE(proves_nonnegative(extent - 1 - index, facts)) << "without the last fact";
}

TEST_F(BoxTest, AGuardProvesItsMultiples) {
  const BoxFacts facts{ranges_, {le(96 * s_ * t_, 2147483647)}, {}};
  EXPECT_TRUE(proves_nonnegative(2147483647 - 32 * s_ * t_, facts));
  EXPECT_TRUE(proves_nonnegative(2147483647 - 96 * s_, facts));
  EXPECT_FALSE(proves_nonnegative(2147483647 - 97 * s_ * t_, facts));
}

/// Whatever is proved holds at every small point.
TEST_F(BoxTest, TwoAxesAreOneNumberWhereTheLowerFillsAUnitOfTheUpper) {
  // A row of s*s cells is read as j < s behind i*s, in heads of 4 rows: i < 4*s*t.
  const auto i = pool_.symbol("a0"), j = pool_.symbol("a1");
  const auto flat = j + s_ * i, cells = s_ * s_;
  const auto index = 4 * cells * floor_div(flat, 4 * cells) + 4 * mod(flat, cells) +
                     mod(floor_div(flat, cells), 4);
  BoxFacts facts{ranges_, {}, {{i, 4 * s_ * t_}, {j, s_}}};
  EXPECT_TRUE(proves_nonnegative(4 * cells * t_ - 1 - index, facts));
  EXPECT_FALSE(proves_nonnegative(4 * cells * t_ - 2 - index, facts)) << "one element less";
  facts.axes[1].count = s_ + 1;  // the last j carries into the next i
  EXPECT_FALSE(proves_nonnegative(4 * cells * t_ - 1 - index, facts));
  facts.axes[1].count = s_ - 1;
  EXPECT_TRUE(proves_nonnegative(4 * cells * t_ - 1 - index, facts));
}

TEST_F(BoxTest, PartsOfAxesAreOneNumberToo) {
  // Blocks of 2 x 2 of a square of s x s blocks, put together and taken apart by rows of 2*s.
  const auto in = pool_.symbol("a0"), block = pool_.symbol("a1");
  const auto row = 2 * floor_div(block, s_) + floor_div(in, 2);
  const auto flat = 2 * s_ * row + 2 * mod(block, s_) + mod(in, 2);
  BoxFacts facts{ranges_, {}, {{in, Expr(4)}, {block, s_ * s_}}};
  const auto index = t_ * floor_div(flat, 2 * s_) + mod(flat, 2 * s_);  // rows t apart
  facts.conditions = {ge(t_, 2 * s_)};
  const auto last = t_ * (2 * s_ - 1) + 2 * s_ - 1;
  EXPECT_TRUE(proves_nonnegative(last - index, facts));
  EXPECT_FALSE(proves_nonnegative(last - 1 - index, facts)) << "one element less";
  facts.axes[0].count = 5;  // a third row in the block
  EXPECT_FALSE(proves_nonnegative(last - index, facts));
}

TEST_F(BoxTest, ProofsOfSumsHoldByEnumeration) {
  const auto i = pool_.symbol("a0"), j = pool_.symbol("a1");
  int proofs = 0;
  for (const std::int64_t weight : {2, 3, 4, 6})
    for (const std::int64_t by : {2, 3, 4, 6, 12})
      for (const std::int64_t counts : {2, 3, 4, 5})
        for (const std::int64_t room : {-1, 0, 1}) {
          const auto flat = j + weight * i;
          const auto value = by * floor_div(flat, by) + 3 * mod(flat, by);
          std::int64_t most = 0;
          for (std::int64_t a = 0; a < 6; ++a)
            for (std::int64_t b = 0; b < counts; ++b) {
              const auto n = b + weight * a;
              most = std::max(most, by * (n / by) + 3 * (n % by));
            }
          const BoxFacts facts{ranges_, {}, {{i, Expr(6)}, {j, Expr(counts)}}};
          const bool proved = proves_nonnegative(most + room - value, facts);
          proofs += proved ? 1 : 0;
          EXPECT_FALSE(proved && room < 0) << weight << " " << by << " " << counts;
        }
  EXPECT_GT(proofs, 40);
}

TEST_F(BoxTest, ProofsHoldByEnumeration) {
  int proved = 0;
  for (const std::int64_t weight : {1, 2, 3})
    for (const std::int64_t shift : {-2, -1, 0, 1})
      for (const auto& divisor : {Expr(2), s_, 2 * s_}) {
        const auto index = weight * mod(x_, divisor) + floor_div(x_, divisor) + shift;
        const auto claim = divisor * (weight + t_) - index;
        const BoxFacts facts{ranges_, {}, {{x_, divisor * t_}}};
        if (!proves_nonnegative(claim, facts)) continue;
        ++proved;
        for (std::int64_t s = 2; s < 5; ++s)
          for (std::int64_t t = 2; t < 5; ++t) {
            Binding binding = {{s_, s}, {t_, t}};
            const auto count = evaluate_int(divisor * t_, binding);
            ASSERT_TRUE(count);
            for (std::int64_t x = 0; x < *count; ++x) {
              binding[x_] = x;
              EXPECT_GE(*evaluate_int(claim, binding), 0);
            }
          }
      }
  EXPECT_GT(proved, 10);
}

TEST_F(BoxTest, TheSearchFindsTheSmallestSizes) {
  const SearchSpace space{ranges_, {}, {}, {}};
  const auto padded = 32 * s_ - 256 * floor_div(s_ + 7, 8);
  const auto witness = find_negative(padded, space);
  ASSERT_TRUE(witness);
  EXPECT_EQ(witness->at(s_), Expr(2));
}

TEST_F(BoxTest, TheSearchBisectsLargeSizes) {
  const SearchSpace space{ranges_, {}, {}, {}};
  const auto witness = find_negative(2147483647 - 70000 * s_, space);
  ASSERT_TRUE(witness);
  EXPECT_EQ(witness->at(s_), Expr(30679));
}

TEST_F(BoxTest, TheSearchRespectsConditions) {
  const SearchSpace space{ranges_, {eq(mod(s_, 8), 0)}, {}, {}};
  EXPECT_FALSE(find_negative(32 * s_ - 256 * floor_div(s_ + 7, 8), space));
}

TEST_F(BoxTest, LanesBeyondTheExtentRunWithoutAMask) {
  const auto block = pool_.symbol("XBLOCK");
  const SearchSpace open{ranges_, {}, {{x_, 32 * s_, 4096, block}}, {}};
  EXPECT_TRUE(find_negative(32 * s_ - 1 - x_, open));
  const SearchSpace masked{ranges_, {lt(x_, 32 * s_)}, {{x_, 32 * s_, 4096, block}}, {}};
  EXPECT_FALSE(find_negative(32 * s_ - 1 - x_, masked));
}

}  // namespace
}  // namespace assay
