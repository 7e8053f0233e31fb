// SPDX-License-Identifier: MIT
// Names over several graph objects, and where users meet them.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;  // NOLINT: helpers of these tests

std::shared_ptr<layers::FullyConnected> dense(const std::string& label = {}) {
  auto layer = std::make_shared<layers::FullyConnected>(3, 3);
  if (!label.empty()) layer->set_name(label);
  return layer;
}

/// front -> back, in two graph objects.
struct TwoObjects {
  explicit TwoObjects(const std::string& front_label = {},
                      const std::string& back_label = {})
      : first(dense(front_label)), second(dense(back_label)) {
    h = front.node(first, x);
    y = back.node(second, h);
  }
  TrainingGraph declared() const {
    TrainingGraph g({front, back}, std::make_shared<losses::MeanSquaredError>(),
                    sgd(0.1f, 0.9f));
    g.add_inputs({{"x", x}}, {{"t", t}});
    g.add_outputs({{"y", y}});
    return g;
  }
  Tensor x{{.shape = {2, 3}}}, t{{.shape = {2, 3}}}, h, y;
  Graph front, back;
  std::shared_ptr<layers::FullyConnected> first, second;
};

TEST(Names, AreUniqueOverGraphObjects) {
  TwoObjects two;
  EXPECT_EQ(two.second->name(), "fully_connected");
  TrainingGraph g = two.declared();
  g.compile(test_device());
  EXPECT_EQ(two.first->weights().name(), "fully_connected.weights");
  EXPECT_EQ(two.second->name(), "fully_connected_2");
  EXPECT_EQ(two.second->weights().name(), "fully_connected_2.weights");
  EXPECT_EQ(two.y.name(), "fully_connected_2");
  std::vector<std::string> names;
  for (const Tensor& parameter : g.parameters()) {
    names.push_back(parameter.name());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "fully_connected.weights", "fully_connected.biases",
                "fully_connected_2.weights", "fully_connected_2.biases"}));
  // Once compiled they stand, in whatever other order.
  InferenceGraph other({two.back});
  other.add_inputs({{"h", two.h}});
  other.compile(test_device());
  EXPECT_EQ(two.second->name(), "fully_connected_2");
}

TEST(Names, TwiceInGraphObjectsAreRefusedWithBothPlaces) {
  TwoObjects two("fc", "fc");
  TrainingGraph g = two.declared();
  const ErrorInfo info =
      error_of<InvalidArgument>([&] { g.compile(test_device()); });
  EXPECT_EQ(info.op, "compile");
  EXPECT_EQ(info.got,
            "\"fc\" for graph object 0, node 0 (FullyConnected) and for graph "
            "object 1, node 0 (FullyConnected)");
}

TEST(Names, OfCompiledGraphsThatClashAreRefused) {
  TwoObjects two;
  for (const auto& [graph, input] :
       {std::pair{two.front, two.x}, std::pair{two.back, two.h}}) {
    InferenceGraph g({graph});
    g.add_inputs({{"in", input}});
    g.compile(test_device());
  }
  EXPECT_EQ(two.second->name(), "fully_connected");
  TrainingGraph g = two.declared();
  EXPECT_THROW(g.compile(test_device()), InvalidArgument);
}

TEST(Names, OfTensorsRenamedLaterAreChecked) {
  TwoObjects two;
  Tensor first = two.first->weights(), second = two.second->weights();
  first.set_name("w");
  second.set_name("w");
  TrainingGraph g = two.declared();
  const ErrorInfo info =
      error_of<InvalidArgument>([&] { g.compile(test_device()); });
  EXPECT_EQ(info.node, "w");
  second.set_name("v");
  EXPECT_NO_THROW(g.compile(test_device()));
  EXPECT_EQ(two.first->weights().name(), "w");
}

TEST(Names, OfInputsAreTheirDeclaredOnes) {
  TwoObjects two;
  TrainingGraph g = two.declared();
  EXPECT_EQ(two.x.name(), "x");
  EXPECT_EQ(two.t.name(), "t");
  TwoObjects trained;
  TrainingGraph h({trained.front});
  h.set_training_tensor_parameters({TensorParameter(trained.x)});
  EXPECT_EQ(trained.x.name(), "parameter_1");
}

TEST(Names, ReachReportsPlansAndPictures) {
  TwoObjects two("front");
  TrainingGraph g = two.declared();
  g.compile(test_device(), {.disable_layer_fusion = true});
  const Report report = g.report();
  ASSERT_GE(report.rows.size(), 3u);
  EXPECT_EQ(report.rows[0].layer, "front");
  EXPECT_EQ(report.rows[1].layer, "fully_connected");
  EXPECT_EQ(report.rows[2].layer, "mean_squared_error");
  const std::string plan = g.plan_description();
  EXPECT_NE(plan.find("\"front\""), std::string::npos) << plan;
  EXPECT_NE(plan.find("\"fully_connected.weights\""), std::string::npos)
      << plan;
  EXPECT_NE(g.summarized_dot_description().find("label=\"front\\n"),
            std::string::npos);
  const Floats x(6, 1), t(6, 1);
  const ExecutionResult result = g.execute({{"x", view(x)}}, {{"t", view(t)}},
                                           {}, {.per_layer_profiling = true})
                                     .result();
  EXPECT_EQ(result.layer_times()[1].layer, "fully_connected");
}

TEST(Names, OfPlansAreTheSameInEveryRun) {
  const auto describe = [] {
    TwoObjects two;
    TrainingGraph g = two.declared();
    g.compile(test_device());
    return g.plan_description() + g.summarized_dot_description();
  };
  const std::string first = describe();
  EXPECT_EQ(describe(), first);  // tensor and layer ids have moved on
}

TEST(Names, TensorsAreFoundByTheLabelsThatTheyHaveNow) {
  TwoObjects two("front", "back");
  TrainingGraph g = two.declared();
  g.compile(test_device());
  EXPECT_EQ(g.tensor("front.weights"), two.first->weights());
  EXPECT_EQ(g.tensor("back.weights"), two.second->weights());
  Tensor(two.first->weights()).set_name("other");
  EXPECT_EQ(g.tensor("other"), two.first->weights());
  EXPECT_THROW(g.tensor("front.weights"), InvalidArgument);
  Tensor(two.second->weights()).set_name("front.weights");
  EXPECT_EQ(g.tensor("front.weights"), two.second->weights());
  EXPECT_EQ(g.tensor("x"), two.x);  // as it was declared
  g.compile_optimizer(sgd(0.1f, 0.5f));
  EXPECT_EQ(g.tensor("other"), two.first->weights());
}

}  // namespace
}  // namespace traingraph
