// SPDX-License-Identifier: MIT
// Mistakes that were made once.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using layers::FullyConnected;

CompileOptions linkable() {
  CompileOptions options;
  options.link_graphs = true;
  return options;
}

TEST(Regressions, DebuggingALayerDoesNotUndoAStop) {
  Tensor x({{4, 3}}, "x"), label({{4, 2}}, "label");
  auto first = std::make_shared<FullyConnected>(3, 3);
  first->is_debugging_enabled = true;
  Graph graph;
  const Tensor h = graph.node(first, x);
  graph.node(std::make_shared<FullyConnected>(3, 2), h);
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  std::make_shared<optimizers::SGD>(0.1f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.stop_gradient({h});
  CompileOptions options;
  options.debug_layers = true;
  t.compile(test_device(), options);
  const Floats before = host(first->weights());
  const Floats data = random_floats(12, 1), target = random_floats(8, 2);
  t.execute({{"x", view(data)}}, {{"label", view(target)}}).wait();
  EXPECT_EQ(read(first->weights()), before);
}

TEST(Regressions, AStoppedParameterIsNotTrained) {
  Linear linear;
  TrainingGraph t({linear.graph}, std::make_shared<losses::MeanSquaredError>(),
                  std::make_shared<optimizers::SGD>(0.1f));
  t.add_inputs({{"x", linear.x}}, {{"label", linear.label}});
  t.stop_gradient({linear.w()});
  t.compile(test_device());
  const Floats before = host(linear.w());
  t.execute(linear.inputs, linear.labels).wait();
  EXPECT_EQ(read(linear.w()), before);
  EXPECT_EQ(t.parameters().size(), 1u);
}

TEST(Regressions, ATensorHasOneName) {
  Linear linear;
  TrainingGraph t({linear.graph});
  const ErrorInfo error = error_of<InvalidArgument>(
      [&] { t.add_inputs({{"a", linear.x}, {"b", linear.x}}); });
  EXPECT_EQ(error.op, "add_inputs");
  t.add_inputs({{"a", linear.x}});
  error_of<InvalidArgument>([&] { t.add_inputs({{"b", linear.x}}); });
}

TEST(Regressions, ParametersAreNotWrittenThroughTheGraph) {
  Linear linear;
  TrainingGraph t = linear.train(nullptr);
  const Floats values(linear.w().shape().num_elements());
  error_of<InvalidArgument>([&] {
    t.bind_and_write_data({{"w", view(values)}}, {{"w", linear.w()}});
  });
}

TEST(Regressions, UnbatchedInputsKeepTheirDataOverBatchSizes) {
  Tensor x({{4, 3}}, "x"), bias({{1, 3}}, "bias", /*batch_axis=*/std::nullopt);
  Graph graph;
  const Tensor y =
      graph.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
                 {x, bias});
  InferenceGraph t({graph});
  Tensor z({{4, 3}}, "z");
  const Tensor sum = graph.node(
      std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add), {y, z});
  t.add_inputs({{"x", x}, {"z", z}, {"bias", bias}});
  t.add_outputs({{"sum", sum}});
  t.compile(test_device());
  const Floats data = random_floats(12, 1), b{1, 2, 3}, zero(12);
  ExecuteOptions two;
  two.batch_size = 2;
  t.bind_and_write_data({{"bias", view(b)}}, {}, 2);
  t.execute({{"x", view(data)}, {"z", view(zero)}}, two).wait();
  const auto all = t.execute({{"x", view(data)}, {"z", view(zero)}}).result();
  EXPECT_FLOAT_EQ(floats_of(all.output("sum"))[11],
                  computes() ? data[11] + 3 : 0);
}

/// Both results of the first graph are sources of the second.
TEST(Regressions, LinkedGraphsShareEveryResult) {
  Tensor x({{4, 3}}, "x"), label({{4, 2}}, "label");
  Graph a, b;
  const Tensor t1 = a.node(std::make_shared<FullyConnected>(3, 2), x);
  const Tensor t2 = a.node(std::make_shared<FullyConnected>(3, 2), x);
  const Tensor sum = b.node(
      std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add), {t1, t2});
  TrainingGraph first({a});
  first.add_inputs({{"x", x}});
  first.add_outputs({{"t1", t1}, {"t2", t2}});
  TrainingGraph second({b}, std::make_shared<losses::MeanSquaredError>());
  second.add_inputs({{"t1", t1}, {"t2", t2}}, {{"label", label}});
  second.add_outputs({{"sum", sum}});
  first.compile(test_device(), linkable());
  second.compile(test_device(), linkable());
  first.link({second});
  const Floats data = random_floats(12, 1), target(8);
  const auto parts =
      first.execute_forward({{"x", view(data)}}, DataList{}).result();
  const auto whole =
      second.execute_forward(DataList{}, {{"label", view(target)}}).result();
  const Floats p = floats_of(parts.output("t1"));
  const Floats q = floats_of(parts.output("t2"));
  const Floats s = floats_of(whole.output("sum"));
  for (std::size_t i = 0; i < s.size(); ++i) EXPECT_FLOAT_EQ(s[i], p[i] + q[i]);
}

TEST(Regressions, ASharedOptimizerAdvancesWithItsOneUpdate) {
  Tensor x({{4, 3}}, "x"), label({{4, 2}}, "label");
  const auto optimizer = std::make_shared<optimizers::Adam>(1e-2f);
  const auto shared = std::make_shared<FullyConnected>(3, 2);
  const auto make = [&](LayerPtr layer) {
    Graph graph;
    graph.node(std::move(layer), x);
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                    optimizer);
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.compile(test_device(), linkable());
    return t;
  };
  TrainingGraph a = make(shared);
  TrainingGraph b = make(
      std::make_shared<FullyConnected>(shared->weights(), shared->biases()));
  a.link({b});
  const Floats data = random_floats(12, 1), target(8);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    a.execute_forward({{"x", view(data)}}, {{"label", view(target)}});
    b.execute_forward({{"x", view(data)}}, {{"label", view(target)}});
    b.execute_gradient();
    a.execute_gradient();
    a.execute_optimizer_update().wait();
    EXPECT_EQ(optimizer->time_step(), step + 1);
  }
}

TEST(Regressions, LayerTimesSurviveALink) {
  Linear linear;
  TrainingGraph t = linear.train(nullptr, linkable());
  ExecuteOptions options;
  options.per_layer_profiling = true;
  const auto result =
      t.execute(linear.inputs, linear.labels, {}, options).result();
  t.link({});
  EXPECT_FALSE(result.layer_times().empty());
}

}  // namespace
}  // namespace traingraph
