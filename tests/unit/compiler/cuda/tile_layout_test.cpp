// Lanes of tiles are shared out among threads without gaps.
#include "compiler/cuda/tile_layout.h"

#include <gtest/gtest.h>

#include <map>

namespace assay {
namespace {

/// What a thread adds to an axis' coordinate.
auto thread_offset(const TileLayout& layout, std::size_t axis, int thread) -> std::int64_t {
  std::int64_t offset = 0;
  for (const auto& part : layout.thread_parts(axis))
    offset |= ((thread >> part.first) & ((1 << part.count) - 1)) << part.to;
  return offset;
}

/// How often each lane of the tile is held.
auto holders(const TileLayout& layout) -> std::map<std::vector<std::int64_t>, int> {
  std::map<std::vector<std::int64_t>, int> count;
  for (int thread = 0; thread < layout.threads(); ++thread)
    for (int reg = 0; reg < layout.registers(); ++reg) {
      std::vector<std::int64_t> lane;
      for (std::size_t axis = 0; axis < layout.axes.size(); ++axis)
        lane.push_back(thread_offset(layout, axis, thread) + layout.register_offset(axis, reg));
      ++count[lane];
    }
  return count;
}

TEST(TileLayout, EveryLaneIsHeldEquallyOften) {
  const std::vector<std::vector<std::int64_t>> tiles = {
      {1}, {8}, {32}, {512}, {4096}, {32768}, {4, 128}, {32, 32}, {128, 8}, {1, 1024}, {2, 2, 512}};
  for (const auto& blocks : tiles)
    for (const int contiguous : {1, 2, 4, 8})
      for (const bool is_turned : {false, true}) {
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < blocks.size(); ++i)
          order.push_back(is_turned ? blocks.size() - 1 - i : i);
        const auto layout = make_tile_layout(blocks, order, contiguous, 8);
        ASSERT_TRUE(layout) << layout.error().message;
        std::int64_t lanes = 1;
        for (const auto block : blocks) lanes *= block;
        const auto count = holders(*layout);
        ASSERT_EQ(static_cast<std::int64_t>(count.size()), lanes);
        const auto copies = layout->threads() * layout->registers() / lanes;
        EXPECT_EQ(1 << std::popcount(layout->copy_mask()), copies);
        for (const auto& [lane, times] : count) {
          ASSERT_EQ(times, copies);
          for (std::size_t axis = 0; axis < lane.size(); ++axis)
            ASSERT_LT(lane[axis], blocks[axis]);
        }
        EXPECT_GE(layout->threads(), 32);
        EXPECT_LE(layout->threads(), 1024);
      }
}

TEST(TileLayout, NeighboursOfAThreadAreNeighboursOfTheFastestAxis) {
  const auto layout = make_tile_layout({8, 512}, {1, 0}, 4, 8);
  ASSERT_TRUE(layout);
  ASSERT_EQ(layout->contiguous_bits, 2);
  for (int reg = 0; reg < 4; ++reg) {
    EXPECT_EQ(layout->register_offset(1, reg), reg);
    EXPECT_EQ(layout->register_offset(0, reg), 0);
  }
  EXPECT_EQ(layout->thread_parts(1)[0].to, 2);
}

TEST(TileLayout, AShortRowStaysInOneWarp) {
  constexpr unsigned kWarpMask = 31;
  for (const std::int64_t row : {32, 128, 256, 512}) {
    const auto layout = make_tile_layout({8, row}, {1, 0}, 4, 16);
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->thread_mask(2) & ~kWarpMask, 0U) << row;
  }
}

TEST(TileLayout, MasksAreThoseOfTheAxes) {
  const auto layout = make_tile_layout({4, 1024}, {1, 0}, 4, 8);
  ASSERT_TRUE(layout);
  const auto both = layout->register_mask(3);
  EXPECT_EQ(both, layout->register_mask(1) | layout->register_mask(2));
  EXPECT_EQ(static_cast<int>(both), layout->registers() - 1);
  EXPECT_EQ(layout->thread_mask(1) & layout->thread_mask(2), 0U);
}

TEST(TileLayout, RefusesWhatNoBlockHolds) {
  EXPECT_FALSE(make_tile_layout({65536}, {0}, 4, 8));
  EXPECT_FALSE(make_tile_layout({12}, {0}, 4, 8));
}

/// Neighbours, threads of any number, rounds: a thread's registers are the first and the last.
TEST(TileLayout, PlacedAxesHaveNoBits) {
  using enum TilePlace;
  const auto layout = placed_layout({4, 512, 8}, {bits, thread_x, bits}, 4, 512);
  EXPECT_TRUE(layout.is_placed());
  EXPECT_EQ(layout.place(1), thread_x);
  EXPECT_EQ(layout.threads(), 512);
  EXPECT_EQ(layout.registers(), 32);
  EXPECT_EQ(layout.contiguous_bits, 2);
  EXPECT_EQ(layout.register_mask(AxisSet{1} << 1), 0U);
  EXPECT_EQ(layout.register_mask(AxisSet{1} << 2), 28U);
  EXPECT_EQ(layout.copy_mask(), 0U);
  for (int i = 0; i < layout.registers(); ++i) {
    EXPECT_EQ(layout.register_offset(0, i), i % 4);
    EXPECT_EQ(layout.register_offset(1, i), 0);
    EXPECT_EQ(layout.register_offset(2, i), i / 4);
  }
  EXPECT_TRUE(layout.thread_parts(0).empty());
}

}  // namespace
}  // namespace assay
