// SPDX-License-Identifier: MIT
// Tiles of one axis of a convolution: small ones against the plain definition,
// and the sizes that the limits are about.
#include "metal/convolution_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace traingraph::testing {
namespace {

using metal::ConvolutionAxis;

/// Some axis that the shape rule lets through.
ConvolutionAxis random_axis(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  ConvolutionAxis axis{.image = pick(1, 40),
                       .kernel = pick(1, 4),
                       .stride = pick(1, 5),
                       .dilation = pick(1, 3),
                       .before = pick(0, 12),
                       .after = pick(0, 12),
                       .result = 0};
  const std::int64_t all = axis.image + axis.before + axis.after;
  if (all < axis.reach()) axis.kernel = 1;
  axis.result = (all - axis.reach()) / axis.stride + 1;
  return axis;
}

std::string describe(const ConvolutionAxis& a) {
  return "image " + std::to_string(a.image) + " kernel " +
         std::to_string(a.kernel) + " stride " + std::to_string(a.stride) +
         " dilation " + std::to_string(a.dilation) + " padding " +
         std::to_string(a.before) + " " + std::to_string(a.after);
}

/// Where tap `tap` of a window looks.
std::int64_t seen(const ConvolutionAxis& axis, std::int64_t window,
                  std::int64_t tap) {
  return window * axis.stride - axis.before + tap * axis.dilation;
}

TEST(ConvolutionTiles, OfWindowsSeeWhatTheWindowsSee) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const ConvolutionAxis axis = random_axis(random);
    const std::int64_t most = 1 + static_cast<std::int64_t>(random() % 12);
    const std::int64_t longest =
        axis.reach() + static_cast<std::int64_t>(random() % 20);
    SCOPED_TRACE(describe(axis) + " most " + std::to_string(most) + " seed " +
                 std::to_string(seed));
    std::int64_t next = 0;
    for (const auto& tile : metal::window_tiles(axis, most, longest)) {
      ASSERT_EQ(tile.windows.start, next);
      next += tile.windows.length;
      ASSERT_LE(tile.windows.length, most);
      ASSERT_LE(tile.image.length, longest);
      if (tile.image.length == 0) {
        for (std::int64_t w = 0; w < tile.windows.length; ++w) {
          for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
            const auto at = seen(axis, tile.windows.start + w, tap);
            ASSERT_TRUE(at < 0 || at >= axis.image);
          }
        }
        continue;
      }
      ASSERT_GE(tile.before, 0);
      ASSERT_GE(tile.after, 0);
      // As many windows fit into the tile as are asked of it.
      const std::int64_t all = tile.image.length + tile.before + tile.after;
      ASSERT_EQ((all - axis.reach()) / axis.stride + 1, tile.windows.length);
      // The first element is the one that the first window sees first.
      ASSERT_EQ(tile.image.start - tile.before,
                seen(axis, tile.windows.start, 0));
      // Zeros stand for what lies outside of the image, nothing else.
      ASSERT_TRUE(tile.before == 0 || tile.image.start == 0);
      ASSERT_TRUE(tile.after == 0 ||
                  tile.image.start + tile.image.length == axis.image);
    }
    ASSERT_EQ(next, axis.result);
  }
}

TEST(ConvolutionTiles, OfImagesHaveAllWindowsThatReachIntoThem) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    const ConvolutionAxis axis = random_axis(random);
    const std::int64_t longest = 2 * axis.reach() + axis.stride + 1 +
                                 static_cast<std::int64_t>(random() % 20);
    SCOPED_TRACE(describe(axis) + " longest " + std::to_string(longest) +
                 " seed " + std::to_string(seed));
    ASSERT_TRUE(metal::can_tile_image(axis, longest));
    std::int64_t next = 0;
    for (const auto& tile : metal::image_tiles(axis, longest)) {
      ASSERT_EQ(tile.image.start, next);
      next += tile.image.length;
      const std::int64_t end = tile.image.start + tile.image.length;
      const std::int64_t last = tile.windows.start + tile.windows.length - 1;
      ASSERT_GE(tile.windows.start, 0);
      ASSERT_LT(last, axis.result);
      ASSERT_LE(tile.windows.length, longest);
      ASSERT_LE(tile.computed, longest);
      // There are as many windows over what is computed.
      const std::int64_t all = tile.computed + tile.before + tile.after;
      ASSERT_EQ((all - axis.reach()) / axis.stride + 1, tile.windows.length);
      ASSERT_EQ(tile.image.start - tile.skipped - tile.before,
                seen(axis, tile.windows.start, 0));
      ASSERT_GE(tile.skipped, 0);
      ASSERT_GE(tile.computed - tile.skipped, tile.image.length);
      for (std::int64_t w = 0; w < axis.result; ++w) {
        if (w >= tile.windows.start && w <= last) continue;
        for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
          const auto at = seen(axis, w, tap);
          ASSERT_TRUE(at < tile.image.start || at >= end) << "window " << w;
        }
      }
    }
    ASSERT_EQ(next, axis.image);
  }
}

TEST(ConvolutionTiles, AreOneWhereAllIsSmall) {
  const ConvolutionAxis axis{224, 3, 2, 1, 1, 1, 112};
  EXPECT_EQ(metal::window_tiles(axis, 65536, 65535),
            (std::vector<metal::WindowTile>{{{0, 112}, {0, 224}, 1, 1}}));
  EXPECT_EQ(metal::image_tiles(axis, 65535).size(), 1u);
}

TEST(ConvolutionTiles, SplitALongSignal) {
  const ConvolutionAxis axis{200'000, 5, 1, 1, 2, 2, 200'000};
  EXPECT_EQ(metal::window_tiles(axis, 65536, axis.image).size(), 4u);
  EXPECT_EQ(metal::image_tiles(axis, 65535).size(), 4u);
}

TEST(ConvolutionTiles, RefuseKernelsThatReachOverATile) {
  EXPECT_FALSE(
      metal::can_tile_image({200'000, 5, 1, 10'000, 0, 0, 160'000}, 65535));
  EXPECT_TRUE(
      metal::can_tile_image({60'000, 5, 1, 10'000, 0, 0, 20'000}, 65535));
}

}  // namespace
}  // namespace traingraph::testing
