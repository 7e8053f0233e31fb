// SPDX-License-Identifier: MIT
// An optimizer that could train nothing is an error of compile(); where
// gradients come from, or go, elsewhere it is not.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

class NothingToTrain : public ::testing::Test {
 protected:
  NothingToTrain()
      : x({.shape = {4, 3}}, "x"),
        wide({.shape = {4, 2}}, "wide"),
        label({.shape = {4, 2}}, "label") {}

  TrainingGraph graph_of(const LayerPtr& layer, const Tensor& source,
                         const NodeOptions& options = {},
                         OptimizerPtr optimizer = sgd()) {
    Graph graph;
    result = graph.node(layer, source, options);
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                    std::move(optimizer));
    t.add_inputs({{source.name(), source}}, {{"label", label}});
    return t;
  }
  static std::shared_ptr<layers::FullyConnected> dense() {
    return std::make_shared<layers::FullyConnected>(3, 2);
  }
  static OptimizerPtr sgd() { return std::make_shared<optimizers::SGD>(0.1f); }
  static ErrorInfo refusal(TrainingGraph& graph) {
    try {
      graph.compile(test_device());
    } catch (const InvalidArgument& error) {
      return error.info();
    }
    ADD_FAILURE() << "it was compiled";
    return {};
  }

  Tensor x, wide, label, result;
};

TEST_F(NothingToTrain, WithoutParameters) {
  TrainingGraph t = graph_of(std::make_shared<layers::ReLU>(), wide);
  const ErrorInfo info = refusal(t);
  EXPECT_EQ(info.op, "compile");
  EXPECT_EQ(info.node, "optimizer");
  EXPECT_EQ(info.got, "layers without parameters");
  EXPECT_FALSE(t.is_compiled());
  TrainingGraph without =
      graph_of(std::make_shared<layers::ReLU>(), wide, {}, nullptr);
  EXPECT_NO_THROW(without.compile(test_device()));
  EXPECT_THROW(without.compile_optimizer(sgd()), InvalidArgument);
}

TEST_F(NothingToTrain, WithFrozenParameters) {
  TrainingGraph disabled = graph_of(dense(), x, {.disable_update = true});
  EXPECT_EQ(refusal(disabled).got, "parameters whose updates are all disabled");
  const auto frozen = dense(), half_frozen = dense();
  frozen->weights_parameter().set_updatable(false);
  frozen->biases_parameter().set_updatable(false);
  half_frozen->weights_parameter().set_updatable(false);
  TrainingGraph without = graph_of(frozen, x);
  EXPECT_EQ(refusal(without).got, "parameters whose updates are all disabled");
  EXPECT_NO_THROW(graph_of(half_frozen, x).compile(test_device()));
}

TEST_F(NothingToTrain, WhereGradientsAreStopped) {
  TrainingGraph t = graph_of(dense(), x);
  t.stop_gradient({result});
  EXPECT_EQ(refusal(t).got, "parameters that no gradient reaches");
}

TEST_F(NothingToTrain, IsNoErrorOfGraphsWithGradientsOfOthers) {
  TrainingGraph linked = graph_of(dense(), x, {.disable_update = true});
  EXPECT_NO_THROW(linked.compile(test_device(), {.link_graphs = true}));
  TrainingGraph given = graph_of(dense(), x, {.disable_update = true});
  given.allocate_user_gradient(result);
  EXPECT_NO_THROW(given.compile(test_device()));
}

TEST(EmptyExecution, SaysThatItIsOne) {
  Execution run;
  EXPECT_FALSE(run.valid());
  EXPECT_THROW(run.wait(), StateError);
  EXPECT_THROW(run.done(), StateError);
  EXPECT_THROW(run.cancel(), StateError);
  EXPECT_THROW(run.result(), StateError);
  EXPECT_THROW(run.exception(), StateError);
  EXPECT_THROW(run.add_done_callback([](const Execution&) {}), StateError);
  Linear net;
  TrainingGraph t = net.train(std::make_shared<optimizers::SGD>(0.1f));
  run = t.execute(net.inputs, net.labels);
  EXPECT_TRUE(run.valid());
  EXPECT_NO_THROW(run.wait());
}

}  // namespace
}  // namespace traingraph
