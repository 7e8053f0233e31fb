// SPDX-License-Identifier: MIT
#include "metal/tiles.h"

#include <gtest/gtest.h>

namespace traingraph::metal {
namespace {

using Tiles = std::vector<Tile>;
constexpr std::int64_t kMax = 32766;

TEST(Tiles, SmallExtentIsOneTile) {
  EXPECT_EQ(tiles_of(1, kMax), (Tiles{{0, 1}}));
  EXPECT_EQ(tiles_of(kMax, kMax), (Tiles{{0, kMax}}));
}

TEST(Tiles, LargerExtentsAreCutEvenly) {
  EXPECT_EQ(tiles_of(kMax + 1, kMax), (Tiles{{0, 16383}, {16383, 16384}}));
}

TEST(Tiles, AnotherLimitCutsElsewhere) {
  EXPECT_EQ(tiles_of(7, 7).size(), 1u);
  EXPECT_EQ(tiles_of(7, 3), (Tiles{{0, 2}, {2, 2}, {4, 3}}));
}

TEST(Tiles, CoverEveryExtentInOrder) {
  for (std::int64_t extent : {65532, 65533, 65534, 100000, 1 << 20, 10000019}) {
    std::int64_t end = 0;
    const Tiles tiles = tiles_of(extent, kMax);
    for (const Tile& tile : tiles) {
      EXPECT_EQ(tile.start, end);
      EXPECT_GT(tile.length, 0);
      EXPECT_LE(tile.length, kMax);
      EXPECT_LE(std::abs(tile.length - tiles[0].length), 1);
      end += tile.length;
    }
    EXPECT_EQ(end, extent);
  }
}

struct Case {
  Shape x, y;
  bool transposes_x = false;
};

FoldedProduct fold(const Case& c) {
  return fold_product(c.x, c.transposes_x, c.y);
}

TEST(FoldProduct, MatricesStayAsTheyAre) {
  const FoldedProduct folded = fold({{3, 4}, {4, 5}});
  EXPECT_EQ(folded.x, (Shape{3, 4}));
  EXPECT_EQ(folded.y, (Shape{4, 5}));
  EXPECT_EQ(folded.num_matrices(), 1);
}

TEST(FoldProduct, SharedSecondMatrixJoinsTheRows) {
  const FoldedProduct folded = fold({{8, 5, 64}, {1, 64, 10}});
  EXPECT_EQ(folded.x_full, (Shape{8, 5, 64}));
  EXPECT_EQ(folded.x, (Shape{40, 64}));
  EXPECT_EQ(folded.y, (Shape{64, 10}));
}

TEST(FoldProduct, TransposedRowsCannotJoin) {
  const FoldedProduct folded = fold({{8, 64, 5}, {64, 10}, true});
  EXPECT_EQ(folded.x, (Shape{8, 64, 5}));
  EXPECT_EQ(folded.y, (Shape{1, 64, 10}));
  EXPECT_EQ(folded.num_matrices(), 8);
}

TEST(FoldProduct, TransposedSingleMatrixIsRankTwo) {
  const FoldedProduct folded = fold({{1, 1, 64, 5}, {64, 10}, true});
  EXPECT_EQ(folded.x, (Shape{64, 5}));
  EXPECT_EQ(folded.y, (Shape{64, 10}));
}

TEST(FoldProduct, SharedFirstMatrixServesAll) {
  const FoldedProduct folded = fold({{3, 4}, {2, 6, 4, 5}});
  EXPECT_EQ(folded.x_full, (Shape{3, 4}));
  EXPECT_EQ(folded.x, (Shape{1, 3, 4}));
  EXPECT_EQ(folded.y, (Shape{12, 4, 5}));
}

TEST(FoldProduct, EqualLeadingAxesJoin) {
  const FoldedProduct folded = fold({{2, 3, 7, 4, 5}, {2, 3, 7, 5, 6}});
  EXPECT_EQ(folded.x_full, (Shape{2, 3, 7, 4, 5}));
  EXPECT_EQ(folded.x, (Shape{42, 4, 5}));
  EXPECT_EQ(folded.y, (Shape{42, 5, 6}));
  EXPECT_EQ(folded.num_matrices(), 42);
}

TEST(FoldProduct, OnesInFrontNeedNoBroadcast) {
  const FoldedProduct folded = fold({{1, 6, 4, 5}, {6, 5, 2}});
  EXPECT_EQ(folded.x_full, (Shape{1, 6, 4, 5}));
  EXPECT_EQ(folded.y_full, (Shape{6, 5, 2}));
  EXPECT_EQ(folded.x, (Shape{6, 4, 5}));
}

TEST(FoldProduct, DifferentLeadingAxesAreRepeatedFirst) {
  const FoldedProduct folded = fold({{2, 1, 4, 5}, {3, 5, 6}});
  EXPECT_EQ(folded.x_full, (Shape{2, 3, 4, 5}));
  EXPECT_EQ(folded.y_full, (Shape{2, 3, 5, 6}));
  EXPECT_EQ(folded.x, (Shape{6, 4, 5}));
  EXPECT_EQ(folded.y, (Shape{6, 5, 6}));
}

TEST(FoldProduct, OnlyThePartialOperandIsRepeated) {
  const FoldedProduct folded = fold({{2, 3, 4, 5}, {3, 5, 6}});
  EXPECT_EQ(folded.x_full, (Shape{2, 3, 4, 5}));
  EXPECT_EQ(folded.y_full, (Shape{2, 3, 5, 6}));
}

}  // namespace
}  // namespace traingraph::metal
