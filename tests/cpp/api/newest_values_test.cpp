// SPDX-License-Identifier: MIT
// Whoever reads a tensor gets its newest value, after the work enqueued so far.
#include <gtest/gtest.h>

#include <cstring>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

Floats numbers_of(const OptimizerData& slot) {
  const auto* first = reinterpret_cast<const float*>(slot.data.data());
  return {first, first + slot.data.size() / sizeof(float)};
}

Floats copy_of(const Tensor& tensor) {
  Floats values(tensor.shape().num_elements());
  tensor.copy_data(std::as_writable_bytes(std::span(values)));
  return values;
}

Floats now(const Tensor& tensor) {
  const std::span<const float> values = tensor.floats();
  return {values.begin(), values.end()};
}

TEST(NewestValues, OfParameters) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f, 0.5f));
  for (int step = 0; step < 3; ++step) {
    t.execute(net.inputs, net.labels);  // nobody waits
    const Floats w = now(net.w());
    EXPECT_EQ(w, read(net.w()));
    EXPECT_EQ(copy_of(net.w()), w);
    EXPECT_EQ(std::memcmp(net.w().data().data(), w.data(), 24), 0);
    const OptimizerData slot = net.w().optimizer_data().at(0);
    net.w().synchronize_optimizer_data();
    EXPECT_EQ(numbers_of(slot), numbers_of(net.w().optimizer_data().at(0)));
  }
}

TEST(NewestValues, OfOutputs) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  EXPECT_FALSE(net.y.has_data());
  EXPECT_TRUE(net.y.data().empty());
  error_of<StateError>([&] { copy_of(net.y); });
  t.execute(net.inputs, net.labels);
  EXPECT_TRUE(net.y.has_data());
  EXPECT_EQ(now(net.y), read(net.y));
  EXPECT_EQ(copy_of(net.y), read(net.y));
}

TEST(NewestValues, ReadingAllocatesNothingBeforeTheFirstRun) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f, 0.5f));
  const Floats w = random_floats(6, 20);
  net.w().set_data(view(w));
  EXPECT_EQ(now(net.w()), w);
  EXPECT_EQ(copy_of(net.w()), w);
  EXPECT_EQ(numbers_of(net.w().optimizer_data().at(0)), Floats(6));
  EXPECT_EQ(t.memory().allocated_bytes, 0u);
}

TEST(NewestValues, CopiesNeedRoomAndAValue) {
  const Tensor none({{6}}, "none");
  EXPECT_FALSE(none.has_data());
  error_of<StateError>([&] { copy_of(none); });
  const Tensor some = Tensor::filled({{6}}, 1, "some");
  Floats few(5);
  error_of<ShapeError>(
      [&] { some.copy_data(std::as_writable_bytes(std::span(few))); });
}

TEST(NewestValues, BuffersOfOptimizersHaveTheirShape) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f, 0.5f));
  t.execute(net.inputs, net.labels).wait();
  const Floats before = numbers_of(net.w().optimizer_data().at(0));
  const Floats ones(6, 1.0f);
  TensorData turned = view(ones);
  turned.descriptor = TensorDescriptor{{3, 2}};
  const TensorData data[] = {turned};
  error_of<ShapeError>([&] { net.w().bind_optimizer_data(data); });
  EXPECT_EQ(numbers_of(net.w().optimizer_data().at(0)), before);
}

}  // namespace
}  // namespace traingraph
