// SPDX-License-Identifier: MIT
// Reading a tensor after a smaller batch: its samples are the first ones on the
// batch axis, zeros the others.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr std::int64_t kTimes = 2, kBatch = 4, kSmaller = 3, kFeatures = 2;

/// y = x + x of (time, batch, features), or (batch, time, features).
struct Doubled {
  explicit Doubled(int axis) {
    Shape shape{kTimes, kBatch, kFeatures};
    if (axis == 0) shape = {kBatch, kTimes, kFeatures};
    x = Tensor({shape}, "x", axis);
    y = graph.node(
        std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add), {x, x});
  }
  Graph graph;
  Tensor x, y;
};

class SmallerReads : public ::testing::TestWithParam<int> {};

TEST_P(SmallerReads, AreTheFirstSamplesAndZeros) {
  const int axis = GetParam();
  Doubled net(axis);
  InferenceGraph g({net.graph});
  g.add_inputs({{"x", net.x}});
  g.add_outputs({{"y", net.y}});
  g.compile(test_device());
  const Floats whole(kTimes * kBatch * kFeatures, 7.0f);
  g.execute({{"x", view(whole)}}).result();
  const Floats data = random_floats(kTimes * kSmaller * kFeatures, 3);
  ExecuteOptions options;
  options.batch_size = kSmaller;
  g.execute({{"x", view(data)}}, options).result();
  Floats read(whole.size(), -1.0f);
  net.y.copy_data_from_device_memory(std::as_writable_bytes(std::span(read)));
  net.y.synchronize_data();
  EXPECT_EQ(Floats(net.y.floats().begin(), net.y.floats().end()), read);
  if (test_device().type() == DeviceType::Null) return;
  const std::int64_t rows = axis == 0 ? 1 : kTimes;
  const std::int64_t row = kFeatures * (axis == 0 ? kTimes : 1);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < kBatch * row; ++i) {
      const bool is_there = i < kSmaller * row;
      const float expected = is_there ? 2 * data[r * kSmaller * row + i] : 0;
      EXPECT_EQ(read[r * kBatch * row + i], expected) << r << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Axes, SmallerReads, ::testing::Values(0, 1));

}  // namespace
}  // namespace traingraph
