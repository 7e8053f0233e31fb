// SPDX-License-Identifier: MIT
#include "lowering/layout_text.h"

#include <gtest/gtest.h>

namespace traingraph {
namespace {

using Sizes = Layout::Sizes;
constexpr auto kFloat = DataType::Float32;

std::string text(const Layout& layout, bool is_weights = false) {
  return layout_text(layout, is_weights);
}

std::string in_blocks(Sizes sizes, Sizes strides,
                      std::vector<Layout::Block> blocks) {
  return layout_text(Layout({.sizes = sizes,
                             .padded_sizes = sizes,
                             .strides = std::move(strides),
                             .blocks = std::move(blocks),
                             .native = nullptr}),
                     /*is_weights=*/true);
}

TEST(LayoutText, Activations) {
  const Sizes sizes{2, 32, 5, 7};
  EXPECT_EQ(text(Layout::plain({2, 32, 5, 7}, kFloat)), "plain");
  EXPECT_EQ(text(Layout::channels_last(sizes, kFloat)), "nhwc");
  EXPECT_EQ(text(Layout::channel_blocks(sizes, 16, kFloat)), "nChw16c");
  EXPECT_EQ(text(Layout::channel_blocks(sizes, 8, kFloat)), "nChw8c");
  EXPECT_EQ(text(Layout::strided({6, 7}, {1, 6}, kFloat)), "ba");
}

TEST(LayoutText, Weights) {
  EXPECT_EQ(
      in_blocks({32, 32, 3, 3}, {4608, 2304, 768, 256}, {{16, 1}, {16, 0}}),
      "OIhw16i16o");
  EXPECT_EQ(in_blocks({32, 1, 3, 3}, {144, 1, 48, 16}, {{16, 0}}), "Ohwi16o");
  EXPECT_EQ(in_blocks({2, 32, 32, 3, 3}, {9216, 2304, 576, 192, 64},
                      {{8, 2}, {8, 1}}),
            "gOIhw8i8o");
}

TEST(LayoutText, AxesOfOneElementHaveNoPlace) {
  EXPECT_EQ(text(Layout::channels_last({2, 1, 5, 7}, kFloat)), "plain");
  EXPECT_EQ(text(Layout::channels_last({1, 32, 1, 1}, kFloat)), "plain");
}

}  // namespace
}  // namespace traingraph
