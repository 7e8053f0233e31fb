// SPDX-License-Identifier: MIT
// Batch sizes below the compiled one.
#include <gtest/gtest.h>

#include "api/batch_net.h"

namespace traingraph {
namespace {

using namespace testing;

TEST(Batch, SmallerBatchesEqualAGraphCompiledForThem) {
  Cnn large(8), small(5);
  TrainingGraph t = large.train(), r = small.train();
  EXPECT_EQ(t.compile_count(), 1);
  EXPECT_EQ(t.batch_size(), 8);
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
    EXPECT_THROW(t.execute_optimizer_update({.batch_size = 8}),
                 InvalidArgument);
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

TEST(Batch, LayersThatFixTheBatchSayWhichOne) {
  const Tensor x({{4, 3}}, "x");
  Graph graph;
  const auto slice =
      std::make_shared<layers::Slice>(Shape{1, 0}, Shape{3, 3}, Shape{1, 1});
  slice->set_name("middle rows");
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

/// y = f(sources) at any batch size.
struct Inference {
  Inference(Graph graph, std::map<std::string, Tensor> inputs, const Tensor& y)
      : t({std::move(graph)}) {
    t.add_inputs(std::move(inputs));
    t.add_outputs({{"y", y}});
    t.compile(test_device());
  }
  ExecutionResult run(const std::vector<NamedData>& data,
                      std::int64_t batch = 0) {
    return t.execute(data, {.batch_size = batch}).result();
  }
  InferenceGraph t;
};

LayerPtr add_layer() {
  return std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add);
}

/// x (8, 4) + sum(v (8)): equal sizes that mean different things.
Tensor add_sum(Graph& graph, const Tensor& x, const Tensor& v) {
  const Tensor sum =
      graph.node(std::make_shared<layers::Reduction>(ReductionType::Sum, 0), v);
  return graph.node(add_layer(), {x, sum});
}

TEST(Batch, ATensorThatDoesNotVaryKeepsItsSize) {
  const Tensor x({{8, 4}}, "x"), v({{8}}, "v", std::nullopt);
  EXPECT_EQ(x.batch_axis(), 0);
  EXPECT_EQ(v.batch_axis(), std::nullopt);
  Graph graph;
  const Tensor y = add_sum(graph, x, v);
  Inference net(graph, {{"x", x}, {"v", v}}, y);
  const Floats zeros(20, 0.0f), eight{0, 1, 2, 3, 4, 5, 6, 7};
  const auto result = net.run({{"x", view(zeros)}, {"v", view(eight)}}, 5);
  EXPECT_EQ(result.output("y").descriptor.shape, (Shape{5, 4}));
  EXPECT_EQ(floats_of(result.output("y")), computed(Floats(20, 28.0f)));
}

TEST(Batch, ATensorThatVariesHasFewerEntries) {
  const Tensor x({{8, 4}}, "x"), v({{8}}, "v");
  Graph graph;
  const Tensor y = add_sum(graph, x, v);
  Inference net(graph, {{"x", x}, {"v", v}}, y);
  const Floats zeros(20, 0.0f), five{0, 1, 2, 3, 4};
  const auto result = net.run({{"x", view(zeros)}, {"v", view(five)}}, 5);
  EXPECT_EQ(floats_of(result.output("y")), computed(Floats(20, 10.0f)));
}

/// Labels (batch * time, classes) beside x (batch, time, features).
struct Sequences {
  static constexpr std::int64_t kTime = 6;
  explicit Sequences(std::int64_t batch, int batch_axis = 0) {
    const Shape shape =
        batch_axis == 0 ? Shape{batch, kTime, 4} : Shape{kTime, batch, 4};
    x = Tensor({shape}, "x", batch_axis);
    label = Tensor({{batch * kTime, 3}}, "label");
    fc =
        std::make_shared<layers::FullyConnected>(4, 3, Cnn::weights({3, 4}, 2));
    y = graph.reshape({batch * kTime, 3}, graph.node(fc, x));
    t.emplace(std::vector{graph},
              std::make_shared<losses::SoftmaxCrossEntropy>(), sgd(0.1f, 0.9f));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->add_outputs({{"y", y}});
    t->compile(test_device());
  }
  Graph graph;
  Tensor x, label, y;
  std::shared_ptr<layers::FullyConnected> fc;
  std::optional<TrainingGraph> t;
};

TEST(Batch, SequencesCountTheirTimeSteps) {
  for (const int axis : {0, 1}) {
    Sequences large(16, axis), small(5, axis);
    for (unsigned i = 0; i < 3; ++i) {
      const std::int64_t rows = 5 * Sequences::kTime;
      const Floats x = random_floats(rows * 4, i), label = one_hot(rows, 3);
      const auto got = large.t
                           ->execute({{"x", view(x)}}, {{"label", view(label)}},
                                     {}, {.batch_size = 5})
                           .result();
      const auto want =
          small.t->execute({{"x", view(x)}}, {{"label", view(label)}}).result();
      EXPECT_EQ(got.output("y").descriptor.shape, (Shape{rows, 3}));
      EXPECT_EQ(floats_of(got.output("y")), floats_of(want.output("y")));
      EXPECT_EQ(got.loss(), want.loss());
    }
    EXPECT_EQ(read(large.fc->weights()), read(small.fc->weights()));
    EXPECT_EQ(large.t->report().batch_size, 16);
  }
}

TEST(Batch, BehindOtherAxesASmallerBatchIsNoLeadingPart) {
  Sequences net(4, 1);
  const Floats whole = random_floats(6 * 4 * 4, 1), label = one_hot(6 * 4, 3);
  const Floats half(whole.begin(), whole.begin() + 6 * 2 * 4);
  const ExecuteOptions two{.batch_size = 2};
  const auto run = [&](const Floats& x) {
    return net.t->execute({{"x", view(x)}}, {{"label", view(label)}}, {}, two);
  };
  run(half).wait();
  EXPECT_NE(error_of<ShapeError>([&] { run(whole); }).what.find("too long"),
            std::string::npos);
  TensorData described = view(whole);
  described.descriptor = net.x.descriptor();
  EXPECT_EQ(error_of<ShapeError>([&] {
              net.t->execute({{"x", described}}, {{"label", view(label)}}, {},
                             two);
            }).expected,
            "(6, 2, 4)");
  // What is bound for four does not begin with what two need.
  net.t->bind_and_write_data({{"x", view(whole)}, {"label", view(label)}});
  net.t->execute({}, {}).wait();
  EXPECT_EQ(
      error_of<InvalidArgument>([&] { net.t->execute({}, {}, {}, two); }).node,
      "x");
  net.t->bind_and_write_data({{"x", view(half)}}, {}, 2);
  net.t->execute({}, {}, {}, two).wait();
}

TEST(Batch, ASingleRowIsAskedAboutNotGuessed) {
  const Tensor x({{64, 10}}, "x"), row({{1, 10}}, "row");
  Graph graph;
  const Tensor y = graph.node(add_layer(), {x, row});
  Inference net(graph, {{"x", x}, {"row", row}}, y);
  const Floats zeros(640, 0.0f), ones(10, 1.0f);
  const std::vector<NamedData> data{{"x", view(zeros)}, {"row", view(ones)}};
  EXPECT_EQ(floats_of(net.run(data).output("y")), computed(Floats(640, 1.0f)));
  const auto info = error_of<InvalidArgument>([&] { net.run(data, 32); });
  EXPECT_NE(info.hint.find("\"row\" (1, 10)"), std::string::npos) << info.hint;
  EXPECT_NE(info.hint.find("batch_axis None"), std::string::npos) << info.hint;

  const Tensor same({{1, 10}}, "row", std::nullopt);
  Graph other;
  const Tensor z = other.node(add_layer(), {x, same});
  Inference fixed(other, {{"x", x}, {"row", same}}, z);
  EXPECT_EQ(floats_of(fixed.run(data, 32).output("y")),
            computed(Floats(320, 1.0f)));
}

TEST(Batch, SizesThatAreNoMultiplesRunWholeOnly) {
  const Tensor x({{6, 3}}, "x"), table({{9, 3}}, "table");
  Graph graph;
  const Tensor sum = graph.node(
      std::make_shared<layers::Reduction>(ReductionType::Sum, 0), table);
  const Tensor y = graph.node(add_layer(), {x, sum});
  Inference net(graph, {{"x", x}, {"table", table}}, y);
  const Floats zeros(18, 0.0f), ones(27, 1.0f);
  const std::vector<NamedData> data{{"x", view(zeros)}, {"table", view(ones)}};
  EXPECT_EQ(floats_of(net.run(data).output("y")), computed(Floats(18, 9.0f)));
  EXPECT_NO_THROW(net.run(data, 6));
  const auto info = error_of<UnsupportedError>([&] { net.run(data, 3); });
  EXPECT_EQ(info.node, "table");
  EXPECT_EQ(info.expected, "a multiple of 6 on axis 0");
  EXPECT_NE(info.hint.find("batch_axis"), std::string::npos);
}

TEST(Batch, UserGradientsFollowTheirTensors) {
  const auto run = [](std::int64_t declared, std::int64_t batch) {
    const Tensor x({{declared, 4}}, "x");
    Graph graph;
    const auto fc =
        std::make_shared<layers::FullyConnected>(4, 3, Cnn::weights({3, 4}, 2));
    const Tensor y = graph.transpose({1, 0}, graph.node(fc, x));
    TrainingGraph t({graph}, nullptr, sgd(0.1f));
    t.add_inputs({{"x", x}});
    const Tensor gradient = t.allocate_user_gradient(y);
    t.compile(test_device());
    EXPECT_EQ(gradient.batch_axis(), 1);
    const Floats data = random_floats(batch * 4, 1);
    const Floats dy = random_floats(batch * 3, 2);
    t.execute_forward({{"x", view(data)}}, {}, {}, {.batch_size = batch});
    t.bind_and_write_data({{"dy", view(dy)}}, {{"dy", gradient}}, batch);
    t.execute_gradient();
    t.execute_optimizer_update().wait();
    return read(fc->weights());
  };
  EXPECT_EQ(run(8, 5), run(5, 5));
}

TEST(Batch, AxesThatAreNotThereAreRefused) {
  EXPECT_EQ(Tensor({{2, 3}}, "x", -1).batch_axis(), 1);
  for (const int axis : {2, -3}) {
    const auto info =
        error_of<InvalidArgument>([&] { Tensor({{2, 3}}, "x", axis); });
    EXPECT_EQ(info.node, "x");
    EXPECT_EQ(info.got, std::to_string(axis));
  }
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
