// SPDX-License-Identifier: MIT
// Batch sizes below the compiled one.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// A small CNN with all that mentions the batch: reshape, pooling, batch norm.
struct Cnn {
  explicit Cnn(std::int64_t batch) {
    x = Tensor({{batch, 1, 6, 6}}, "x");
    label = Tensor({{batch, 3}}, "label");
    conv = std::make_shared<layers::Convolution>(1, 4, 3, PaddingPolicy::Same,
                                                 weights({4, 1, 3, 3}, 1));
    fc = std::make_shared<layers::FullyConnected>(36, 3, weights({3, 36}, 2));
    Tensor h = graph.node(conv, x);
    h = graph.node(std::make_shared<layers::BatchNormalization>(4), h);
    h = graph.node(std::make_shared<layers::ReLU>(), h);
    h = graph.node(std::make_shared<layers::MaxPooling>(2), h);
    h = graph.reshape({batch, -1}, h);
    y = graph.node(fc, h);
  }
  static WeightOptions weights(Shape shape, unsigned seed) {
    const Floats values = random_floats(shape.num_elements(), seed);
    const Floats zeros(shape[0], 0.0f);
    return {.weights = Tensor({shape}, view(values)),
            .biases = Tensor({{shape[0]}}, view(zeros))};
  }
  TrainingGraph train(const CompileOptions& options = {}) {
    TrainingGraph t({graph}, std::make_shared<losses::SoftmaxCrossEntropy>(),
                    sgd(0.1f, 0.9f));
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.add_outputs({{"y", y}});
    t.compile(test_device(), options);
    return t;
  }
  Tensor x, label, y;
  Graph graph;
  std::shared_ptr<layers::Convolution> conv;
  std::shared_ptr<layers::FullyConnected> fc;
};

struct Data {
  explicit Data(std::int64_t batch, unsigned seed = 3)
      : x(random_floats(batch * 36, seed)), label(one_hot(batch, 3)) {}
  Floats x, label;
  std::vector<NamedData> inputs{{"x", view(std::as_const(x))}};
  std::vector<NamedData> labels{{"label", view(std::as_const(label))}};
};

TEST(Batch, SmallerBatchesEqualAGraphCompiledForThem) {
  Cnn large(8), small(5);
  TrainingGraph t = large.train(), r = small.train();
  EXPECT_EQ(t.compile_count(), 1);
  for (unsigned i = 0; i < 4; ++i) {
    const Data data(5, i);
    const auto got =
        t.execute(data.inputs, data.labels, {}, {.batch_size = 5}).result();
    const auto want = r.execute(data.inputs, data.labels).result();
    EXPECT_EQ(got.output("y").descriptor.shape, (Shape{5, 3}));
    EXPECT_EQ(got.loss(), want.loss());
    EXPECT_EQ(floats_of(got.output("y")), floats_of(want.output("y")));
  }
  EXPECT_EQ(t.compile_count(), 2);
  EXPECT_EQ(r.compile_count(), 1);
  EXPECT_EQ(read(large.conv->weights()), read(small.conv->weights()));
  EXPECT_EQ(read(large.fc->biases()), read(small.fc->biases()));
}

TEST(Batch, PhasesKeepTheirBatch) {
  Cnn large(8), small(3);
  TrainingGraph t = large.train(), r = small.train();
  const Data data(3);
  for (int i = 0; i < 3; ++i) {
    t.execute_forward(data.inputs, data.labels, {}, {.batch_size = 3});
    EXPECT_THROW(t.execute_gradient({.batch_size = 8}), InvalidArgument);
    t.execute_gradient();
    t.execute_optimizer_update();
    r.execute(data.inputs, data.labels);
  }
  EXPECT_EQ(read(large.fc->weights()), read(small.fc->weights()));
  const auto y = t.execute(data.inputs, {}, {},
                           {.batch_size = 3, .forward_for_inference = true})
                     .result();
  const auto z =
      r.execute(data.inputs, {}, {}, {.forward_for_inference = true}).result();
  EXPECT_EQ(floats_of(y.output("y")), floats_of(z.output("y")));
}

TEST(Batch, SizesMayAlternateWhileResultsAreHeld) {
  Cnn net(8), same(8);
  TrainingGraph t = net.train(), waits = same.train();
  const Data data(8);
  std::vector<Execution> executions;
  for (int i = 0; i < 24; ++i) {
    const ExecuteOptions options{.batch_size = 1 + (i * 5) % 8};
    executions.push_back(t.execute(data.inputs, data.labels, {}, options));
    waits.execute(data.inputs, data.labels, {}, options).wait();
  }
  EXPECT_EQ(read(net.fc->weights()), read(same.fc->weights()));
  EXPECT_EQ(t.compile_count(), 8);
  EXPECT_EQ(executions[1].result().output("y").descriptor.shape[0], 6);
}

TEST(Batch, RotationCompilesEachSizeOnceInOneArena) {
  Cnn net(32), same(32);
  TrainingGraph t = net.train(), alone = same.train();
  const Data data(32);
  const std::int64_t sizes[] = {32, 7, 1, 31};
  for (int i = 0; i < 1000; ++i) {
    t.execute(data.inputs, data.labels, {}, {.batch_size = sizes[i % 4]});
  }
  t.synchronize();
  EXPECT_EQ(t.compile_count(), 4);
  alone.execute(data.inputs, data.labels).wait();
  const MemoryReport memory = t.memory();
  EXPECT_EQ(memory.allocated_bytes, alone.memory().allocated_bytes);
  EXPECT_EQ(memory.allocated_bytes, memory.predicted_bytes);
  EXPECT_EQ(t.device_memory_size(), alone.device_memory_size());
}

TEST(Batch, TheCacheIsBounded) {
  constexpr std::int64_t kSizes = 100;
  Cnn net(kSizes);
  TrainingGraph t = net.train();
  const Data data(kSizes);
  const auto run = [&](std::int64_t batch) {
    t.execute(data.inputs, data.labels, {}, {.batch_size = batch}).wait();
  };
  for (std::int64_t batch = 1; batch <= kSizes; ++batch) run(batch);
  EXPECT_EQ(t.compile_count(), kSizes);
  const std::size_t bytes = t.memory().allocated_bytes;
  run(kSizes);  // the compiled size and recent ones are still there
  for (int i = 1; i <= 7; ++i) run(kSizes - i);
  EXPECT_EQ(t.compile_count(), kSizes);
  run(1);  // others are not
  run(kSizes - 8);
  EXPECT_EQ(t.compile_count(), kSizes + 2);
  run(kSizes);
  EXPECT_EQ(t.compile_count(), kSizes + 2);
  EXPECT_EQ(t.memory().allocated_bytes, bytes);
  EXPECT_EQ(t.memory().predicted_bytes, bytes);
}

TEST(Batch, LayersThatFixTheBatchSayWhichOne) {
  const Tensor x({{4, 3}}, "x");
  Graph graph;
  const auto slice =
      std::make_shared<layers::Slice>(Shape{1, 0}, Shape{3, 3}, Shape{1, 1});
  slice->set_label("middle rows");
  const Tensor y = graph.node(slice, x);
  InferenceGraph g({graph});
  g.add_inputs({{"x", x}});
  g.add_outputs({{"y", y}});
  g.compile(test_device());
  const Floats data = random_floats(12, 1);
  const auto info = error_of<UnsupportedError>(
      [&] { g.execute({{"x", view(data)}}, {.batch_size = 2}); });
  EXPECT_EQ(info.node, "middle rows");
  EXPECT_EQ(floats_of(g.execute({{"x", view(data)}}).result().output("y")),
            computed(Floats(data.begin() + 3, data.begin() + 9)));
}

TEST(Batch, ShorterDataAfterLongerDataIsNotMixedUp) {
  Cnn net(4);
  TrainingGraph t = net.train();
  const Data data(4);
  t.bind_and_write_data(data.inputs);
  t.bind_and_write_data(data.labels);
  t.execute({}, {}).wait();
  t.bind_and_write_data(data.inputs, {}, 2);
  t.bind_and_write_data(data.labels, {}, 2);
  const auto info = error_of<InvalidArgument>([&] { t.execute({}, {}); });
  EXPECT_NE(info.got.find("2"), std::string::npos);
  t.execute({}, {}, {}, {.batch_size = 2}).wait();
}

TEST(Batch, IsRefusedWhereNothingDeclaredHasOne) {
  const Floats values = random_floats(12, 1);
  const Tensor x({{4, 3}}, view(values), "x");
  Graph graph;
  const Tensor y =
      graph.node(std::make_shared<layers::FullyConnected>(3, 2), x);
  InferenceGraph inference({graph});
  inference.add_outputs({{"y", y}});
  inference.compile(test_device());
  const ErrorInfo error = error_of<InvalidArgument>(
      [&] { inference.execute({}, {.batch_size = 1}); });
  EXPECT_NE(error.expected.find("no declared tensor"), std::string::npos)
      << error.expected;
  EXPECT_NO_THROW(inference.execute({}).wait());
}

}  // namespace
}  // namespace traingraph
