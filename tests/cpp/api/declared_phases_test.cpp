// SPDX-License-Identifier: MIT
// Gradient ops as ordinary nodes of a graph: they keep the phase that they are
// declared with, and run in it.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// y = tanh(x), and dx from a gradient that the host gives.
struct ByHand {
  ByHand() {
    y = graph.op(OpKind::Activation, kTanh, {x}, "tanh").front();
    dx = graph
             .op(OpKind::ActivationGradient, kTanh, {dy, x}, "gradient",
                 Phase::Gradient)
             .front();
  }
  TrainingGraph compiled() const {
    TrainingGraph t({graph}, nullptr, nullptr);
    t.add_inputs({{"x", x}, {"dy", dy}});
    t.add_outputs({{"y", y}, {"dx", dx}});
    t.compile(test_device());
    return t;
  }

  static inline const ActivationAttrs kTanh{ActivationType::Tanh, 1, 1};
  Graph graph;
  Tensor x{{{2, 3}}, "x"}, dy{{{2, 3}}, "dy"}, y, dx;
  Floats x_data = random_floats(6, 1), dy_data = random_floats(6, 2);
};

bool has_output(const Execution& execution, std::string_view name) {
  return std::ranges::any_of(
      execution.result().outputs(),
      [&](const OutputView& output) { return output.name == name; });
}

TEST(DeclaredPhases, EachPhaseComputesItsOwn) {
  ByHand net;
  TrainingGraph t = net.compiled();
  const Execution forward = t.execute_forward(
      {{"x", view(net.x_data)}, {"dy", view(net.dy_data)}}, {});
  EXPECT_TRUE(has_output(forward, "y"));
  EXPECT_FALSE(has_output(forward, "dx"));
  const Execution gradient = t.execute_gradient({});
  EXPECT_TRUE(has_output(gradient, "dx"));
  EXPECT_FALSE(has_output(gradient, "y"));
  if (test_device().type() == DeviceType::Null) return;
  const Floats dx = floats_of(gradient.result().output("dx"));
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double y = std::tanh(net.x_data[i]);
    EXPECT_NEAR(dx[i], net.dy_data[i] * (1 - y * y), 1e-6);
  }
}

TEST(DeclaredPhases, AStepComputesAll) {
  ByHand net;
  TrainingGraph t = net.compiled();
  const Execution step =
      t.execute({{"x", view(net.x_data)}, {"dy", view(net.dy_data)}});
  EXPECT_TRUE(has_output(step, "y"));
  EXPECT_TRUE(has_output(step, "dx"));
}

TEST(DeclaredPhases, InferenceIsTheForwardPhase) {
  ByHand net;
  TrainingGraph t = net.compiled();
  ExecuteOptions options;
  options.forward_for_inference = true;
  const Execution inference = t.execute(
      {{"x", view(net.x_data)}, {"dy", view(net.dy_data)}}, {}, {}, options);
  EXPECT_TRUE(has_output(inference, "y"));
  EXPECT_FALSE(has_output(inference, "dx"));
}

TEST(DeclaredPhases, TheLossReadsTheLastForwardResult) {
  ByHand net;
  const Tensor label{{{2, 3}}, "label"};
  TrainingGraph t({net.graph}, std::make_shared<losses::MeanSquaredError>(),
                  nullptr);
  t.add_inputs({{"x", net.x}, {"dy", net.dy}}, {{"label", label}});
  t.add_outputs({{"dx", net.dx}});
  t.compile(test_device());
  const Floats zeros(6, 0.0f);
  const Execution step =
      t.execute({{"x", view(net.x_data)}, {"dy", view(net.dy_data)}},
                {{"label", view(zeros)}});
  if (test_device().type() == DeviceType::Null) return;
  double expected = 0;
  for (const float x : net.x_data) expected += std::tanh(x) * std::tanh(x) / 6;
  EXPECT_NEAR(step.result().loss(), expected, 1e-6);
}

/// y = x w, and half the gradient of w, so that autodiff's would show.
struct Halved {
  Halved() {
    y = graph.op(OpKind::Binary, kTimes, {x, w}, "y").front();
    const Tensor by_w =
        graph.op(OpKind::Binary, kTimes, {dy, x}, "by w", Phase::Gradient)
            .front();
    dw = graph
             .op(OpKind::Activation,
                 ActivationAttrs{ActivationType::Linear, 0.5f}, {by_w}, "dw",
                 Phase::Gradient)
             .front();
  }
  TrainingGraph declared() const {
    TrainingGraph t({graph}, nullptr, std::make_shared<optimizers::SGD>(1.0f));
    t.add_inputs({{"x", x}, {"dy", dy}});
    t.add_outputs({{"y", y}});
    t.set_training_tensor_parameters({TensorParameter(w)});
    return t;
  }

  static inline const ArithmeticAttrs kTimes{ArithmeticOperation::Multiply};
  Graph graph;
  Tensor x{{{2, 3}}, "x"}, dy{{{2, 3}}, "dy"};
  Tensor w = Tensor::filled({{2, 3}}, 5, "w", std::nullopt);
  Tensor y, dw;
};

TEST(DeclaredPhases, AnOptimizerTakesTheGradientThatANodeComputes) {
  for (const bool in_phases : {false, true}) {
    const Halved net;
    TrainingGraph t = net.declared();
    t.set_gradient(net.w, net.dw);
    t.compile(test_device());
    const Floats x = random_floats(6, 1), dy = random_floats(6, 2);
    const NamedData data[] = {{"x", view(x)}, {"dy", view(dy)}};
    if (in_phases) {
      t.execute_forward(data, {});
      t.execute_gradient();
      t.execute_optimizer_update();
    } else {
      t.execute(data);
    }
    t.synchronize();
    if (test_device().type() == DeviceType::Null) return;
    const Floats w = read(net.w);
    for (std::size_t i = 0; i < w.size(); ++i) {
      EXPECT_NEAR(w[i], 5 - dy[i] * x[i] / 2, 1e-6);
    }
    EXPECT_EQ(t.parameters(), std::vector{net.w});
  }
}

TEST(DeclaredPhases, AGradientFitsItsParameter) {
  Halved net;
  TrainingGraph t = net.declared();
  const auto refused = [&](const Tensor& of, const Tensor& gradient) {
    return error_of<InvalidArgument>([&] { t.set_gradient(of, gradient); })
        .node;
  };
  EXPECT_EQ(refused(net.y, net.dw), net.y.name());
  EXPECT_EQ(refused(net.w, net.x), "x");
  EXPECT_EQ(refused(Tensor(), net.dw), "");
  EXPECT_EQ(refused(net.w, Tensor()), "");
  const Tensor flat = net.graph
                          .op(OpKind::Reshape, ShapeAttrs{{6}}, {net.dw},
                              "flat", Phase::Gradient)
                          .front();
  TrainingGraph other = net.declared();
  EXPECT_EQ(error_of<ShapeError>([&] { other.set_gradient(net.w, flat); }).node,
            "w");
  other.set_gradient(net.w, net.dw);
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              other.set_gradient(net.w, net.dw);
            }).node,
            "w");
  other.compile(test_device());
  EXPECT_EQ(error_of<StateError>([&] { other.set_gradient(net.w, net.dw); }).op,
            "set_gradient");
}

TEST(DeclaredPhases, NothingReadsALaterPhase) {
  ByHand net;
  const auto read = [&](Phase phase) {
    return net.graph.op(OpKind::Activation, ByHand::kTanh, {net.dx}, "late",
                        phase);
  };
  const ErrorInfo error =
      error_of<InvalidArgument>([&] { read(Phase::Forward); });
  EXPECT_EQ(error.op, "activation");
  EXPECT_EQ(error.node, "late");
  EXPECT_EQ(error.got, "the gradient phase");
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              net.graph.node(std::make_shared<layers::ReLU>(), net.dx);
            }).got,
            "the gradient phase");
  EXPECT_EQ(read(Phase::Gradient).size(), 1u);
}

}  // namespace
}  // namespace traingraph
