// SPDX-License-Identifier: MIT
// How tensors are cut for batch normalisation: every element once, in the lane
// of its channel, in every layout; and the totals that come of it.
#include <gtest/gtest.h>

#include <random>

#include "cpu/ops/norm_gradient_loops.h"
#include "cpu/ops/norm_loops.h"

namespace traingraph::cpu {
namespace {

/// A layout of (N, C, S), with the place of each element by a formula.
struct Sample {
  std::int64_t n, c, s;
  std::int64_t block;  // channels: 1 plain, 0 channels last

  Layout in_memory() const {
    const Layout::Sizes sizes{n, c, s};
    if (block == 0) return Layout::channels_last(sizes, DataType::Float32);
    if (block == 1) return Layout::plain({n, c, s}, DataType::Float32);
    return Layout::channel_blocks(sizes, block, DataType::Float32);
  }
  std::int64_t size() const {
    return block < 2 ? n * c * s : n * ((c + block - 1) / block * block) * s;
  }
  std::int64_t place(std::int64_t i, std::int64_t channel,
                     std::int64_t j) const {
    if (block == 0) return (i * s + j) * c + channel;
    const std::int64_t blocks = (c + block - 1) / block;
    return ((i * blocks + channel / block) * s + j) * block + channel % block;
  }
};

std::vector<Sample> layouts(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::int64_t below) {
    return 1 + static_cast<std::int64_t>(random() % below);
  };
  std::vector<Sample> layouts;
  for (std::int64_t block : {0, 1, 4, 8, 16}) {
    for (int i = 0; i < 12; ++i) {
      layouts.push_back(
          {pick(9), pick(70), pick(i % 3 == 0 ? 900 : 40), block});
    }
    layouts.push_back({1, 1, 1, block});
    layouts.push_back({1, 40, 1, block});
    layouts.push_back({33, 16, 64, block});
  }
  return layouts;
}

class NormPlanTest : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  template <class F>
  void for_each_layout(F&& f) {
    for (const Sample& layout : layouts(GetParam())) {
      SCOPED_TRACE(::testing::Message()
                   << "seed " << GetParam() << ": (" << layout.n << ", "
                   << layout.c << ", " << layout.s << "), block "
                   << layout.block);
      const auto view = ChannelView::of(layout.in_memory());
      ASSERT_TRUE(view.has_value());
      f(layout, NormPlan(*view));
    }
  }
};

TEST_P(NormPlanTest, VisitsEveryElementOnceInItsLane) {
  for_each_layout([](const Sample& layout, const NormPlan& plan) {
    std::vector<float> channels(plan.num_channels());
    for (std::size_t c = 0; c < channels.size(); ++c) channels[c] = float(c);
    std::vector<float> seen(layout.size(), -1.0f);
    std::vector<int> in_blocks(layout.size()), visits(layout.size());
    for (std::int64_t t = 0; t < plan.num_tasks(); ++t) {
      const NormTask task = plan.task(t);
      const LaneValues<1> lanes(plan, task.group, {channels.data()});
      for_each_element(plan, task, [&](std::int64_t i, std::int64_t l) {
        seen[i] = lanes[0][l];
        ++visits[i];
      });
      plan.for_each_block(task, [&](const NormBlock& block) {
        std::int64_t count = 0;
        plan.for_each_part(block, [&](std::int64_t offset, std::int64_t rows,
                                      std::int64_t width, std::int64_t stride) {
          count += rows * width;
          for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t i = 0; i < width; ++i) {
              ++in_blocks[offset + row * stride + i];
            }
          }
        });
        ASSERT_EQ(count, block.rows * block.lanes + block.tail);
      });
    }
    ASSERT_EQ(visits, std::vector<int>(layout.size(), 1));
    ASSERT_EQ(in_blocks, visits);
    for (std::int64_t i = 0; i < layout.n; ++i) {
      for (std::int64_t c = 0; c < layout.c; ++c) {
        for (std::int64_t j = 0; j < layout.s; ++j) {
          ASSERT_EQ(seen[layout.place(i, c, j)], float(c));
        }
      }
    }
  });
}

TEST_P(NormPlanTest, TotalsAreThoseOfTheFormulas) {
  std::mt19937 random(GetParam());
  std::normal_distribution<float> normal;
  for_each_layout([&](const Sample& layout, const NormPlan& plan) {
    std::vector<float> x(layout.size()), g(layout.size());
    const float mean = random() % 2 == 0 ? 1e3f : 0.0f;
    for (float& value : x) value = mean + normal(random);
    for (float& value : g) value = normal(random);
    const std::vector<float> center(plan.num_channels(), mean + 0.25f);
    std::vector<double> moments(num_totals(plan, 2));
    std::vector<double> products(num_totals(plan, 3));
    for (std::int64_t t = 0; t < plan.num_tasks(); ++t) {
      measure_moments(plan, plan.task(t), x.data(), moments.data());
      measure_products(plan, plan.task(t), {.gradient = g.data()}, x.data(),
                       center.data(), products.data());
    }
    const auto n = static_cast<double>(layout.n * layout.s);
    for (std::int64_t c = 0; c < layout.c; ++c) {
      double sum = 0, squares = 0, gradient = 0, product = 0;
      const auto for_each = [&](auto&& f) {
        for (std::int64_t i = 0; i < layout.n; ++i) {
          for (std::int64_t j = 0; j < layout.s; ++j) {
            f(layout.place(i, c, j));
          }
        }
      };
      for_each([&](std::int64_t i) {
        sum += x[i];
        gradient += g[i];
        product += g[i] * (double(x[i]) - center[c]);
      });
      for_each([&](std::int64_t i) {
        squares += (x[i] - sum / n) * (x[i] - sum / n);
      });
      const Moments got = merge_moments(plan, moments.data(), c);
      const Products sums = merge_products(plan, products.data(), c);
      // Sums of 16 in float32, whose terms are of size 1.
      ASSERT_NEAR(got.mean, sum / n, 1e-7);
      ASSERT_NEAR(got.variance, squares / n, 3e-7 * (1 + squares / n));
      ASSERT_NEAR(sums.gradient, gradient, 1e-6 * std::sqrt(n));
      ASSERT_NEAR(sums.product, product, 1e-6 * std::sqrt(n));
      ASSERT_NEAR(sums.difference, sum - n * center[c], 1e-6 * std::sqrt(n));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, NormPlanTest, ::testing::Values(1u, 2u, 3u));

TEST(ChannelViewOf, KnowsTheLayoutsOfImagesOnly) {
  constexpr auto kFloat = DataType::Float32;
  const auto strided = [](Layout::Sizes sizes, Layout::Sizes strides) {
    return ChannelView::of(
        Layout::strided(std::move(sizes), std::move(strides), kFloat));
  };
  const auto plain = ChannelView::of(Layout::plain({2, 20, 3, 5}, kFloat));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->inner, 15);
  EXPECT_EQ(plain->width, 1);
  const auto blocked =
      ChannelView::of(Layout::channel_blocks({2, 20, 3, 5, 7}, 16, kFloat));
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->groups, 2);
  EXPECT_EQ(blocked->width, 16);
  EXPECT_EQ(blocked->channels, 20);
  for (const Layout::Sizes& sizes :
       {Layout::Sizes{2, 20, 3, 5}, {2, 20, 3, 5, 1}, {30, 20}}) {
    const auto last = ChannelView::of(Layout::channels_last(sizes, kFloat));
    ASSERT_TRUE(last);
    EXPECT_EQ(last->inner, 30);
    EXPECT_EQ(last->width, 20);
  }
  EXPECT_FALSE(strided({2, 20, 3, 5}, {1, 30, 10, 2}));  // samples last
  const Layout::Sizes sizes{32, 32, 3, 5};
  EXPECT_FALSE(ChannelView::of(Layout({.sizes = sizes,
                                       .padded_sizes = sizes,
                                       .strides = {7680, 3840, 1280, 256},
                                       .blocks = {{16, 0}, {16, 1}},
                                       .native = nullptr})));
  EXPECT_FALSE(strided({2, 4, 6}, {48, 12, 2}));
}

}  // namespace
}  // namespace traingraph::cpu
