// SPDX-License-Identifier: MIT
// What a session believes after executions that failed or were skipped.
#include <gtest/gtest.h>

#include "runtime/null_device.h"

namespace traingraph {
namespace {

using namespace testing;

using Failures = NullDevice;

TEST_F(Failures, AFailedStepIsNotCounted) {
  Named a("a");
  TrainingGraph t = a.train();
  const OptimizerPtr optimizer = t.optimizer();
  fail_at("matmul", "a");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(t.execute(a.net.inputs, a.net.labels).wait(), Broken);
    EXPECT_EQ(optimizer->time_step(), 1u);
  }
  set_null_hook(nullptr);
  t.execute(a.net.inputs, a.net.labels).wait();
  EXPECT_EQ(optimizer->time_step(), 2u);
}

TEST_F(Failures, ASkippedUpdateIsNotCounted) {
  Named a("a");
  TrainingGraph t = a.train();
  fail_at("activation_gradient", "a relu");
  t.execute_forward(a.net.inputs, a.net.labels);
  t.execute_gradient();
  EXPECT_THROW(t.execute_optimizer_update().wait(), Broken);
  EXPECT_EQ(t.optimizer()->time_step(), 1u);
}

TEST_F(Failures, AFailedPhaseFailsTheNextHoweverLateItIs) {
  Named a("a");
  TrainingGraph t = a.train();
  fail_at("matmul", "a");
  EXPECT_THROW(t.execute_forward(a.net.inputs, a.net.labels).wait(), Broken);
  set_null_hook(nullptr);
  EXPECT_THROW(t.execute_gradient().wait(), Broken);
  EXPECT_THROW(t.execute_optimizer_update().wait(), Broken);
  EXPECT_THROW(t.execute_gradient(), StateError);
}

TEST_F(Failures, OfAPassFailsWhatAddsToIt) {
  Named a("a");
  TrainingGraph t({a.net.graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.1f));
  t.add_inputs({{"x", a.net.x}}, {{"label", a.net.label}});
  t.compile(Device::null(), {.accumulate_gradients = true});
  const auto pass = [&] {
    t.execute_forward(a.net.inputs, a.net.labels);
    return t.execute_gradient({.accumulate = GradientAccumulation::Sum});
  };
  pass().wait();
  fail_at("activation_gradient", "a relu");
  EXPECT_THROW(pass().wait(), Broken);
  set_null_hook(nullptr);
  EXPECT_THROW(pass().wait(), Broken);  // it would be half a sum
  EXPECT_THROW(t.execute_optimizer_update().wait(), Broken);
  EXPECT_EQ(t.optimizer()->time_step(), 1u);
  pass().wait();
  pass().wait();
  t.execute_optimizer_update().wait();
  EXPECT_EQ(t.optimizer()->time_step(), 2u);
  fail_at("activation_gradient", "a relu");
  EXPECT_THROW(pass().wait(), Broken);
  set_null_hook(nullptr);
  t.execute_forward(a.net.inputs, a.net.labels);
  EXPECT_NO_THROW(t.execute_gradient().wait());  // replaces
  EXPECT_NO_THROW(pass().wait());
}

TEST_F(Failures, ResultsOfAFailedExecutionAreNotRead) {
  Named a("a");
  TrainingGraph t = a.train();
  t.execute(a.net.inputs, a.net.labels).wait();
  EXPECT_EQ(read(a.net.y), Floats(8, 0.0f));
  fail_at("loss", "mean_squared_error");
  EXPECT_THROW(t.execute(a.net.inputs, a.net.labels).wait(), Broken);
  EXPECT_THROW(read(a.net.y), Broken);
  EXPECT_THROW(a.net.y.synchronize_data(), Broken);
  set_null_hook(nullptr);
  t.execute(a.net.inputs, a.net.labels);
  EXPECT_EQ(read(a.net.y), Floats(8, 0.0f));
}

/// x -> first -> h -> second + bias -> loss, with the weight in both.
struct LinkedPair {
  LinkedPair() : first_net(4, 3, 3, 1, "a"), label_net(4, 3, 3, 1, "b") {
    const Tensor y = b.node(
        std::make_shared<layers::FullyConnected>(first_net.w()), first_net.y);
    b.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
           {y, label_net.x});
    first.emplace(std::vector{first_net.graph}, nullptr, sgd(0.1f));
    first->add_inputs({{"x", first_net.x}});
    second.emplace(std::vector{b}, std::make_shared<losses::MeanSquaredError>(),
                   sgd(0.1f));
    second->add_inputs({{"h", first_net.y}, {"x", label_net.x}},
                       {{"label", label_net.label}});
    second->add_outputs({{"x as seen", label_net.x}});
    first->compile(Device::null(), {.link_graphs = true});
    second->compile(Device::null(), {.link_graphs = true});
    first->link({*second});
  }
  Linear first_net, label_net;
  Graph b;
  std::optional<TrainingGraph> first, second;
};

TEST_F(Failures, DataOfASkippedExecutionArrives) {
  LinkedPair pair;
  const Floats x(12, 7.0f);
  fail_at("matmul", "a");
  pair.first->execute_forward(pair.first_net.inputs, {});
  pair.second->bind_and_write_data({{"x", view(x)}});
  pair.second->bind_and_write_data(pair.label_net.labels);
  EXPECT_THROW(pair.second->execute_forward().wait(), Broken);
  set_null_hook(nullptr);
  pair.first->execute_forward(pair.first_net.inputs, {});
  const auto result = pair.second->execute_forward().result();
  EXPECT_EQ(floats_of(result.output("x as seen")), x);
}

TEST_F(Failures, AGraphDroppedWhileItRunsBreaksTheLink) {
  LinkedPair pair;
  Gate gate("a");
  const Execution forward =
      pair.first->execute_forward(pair.first_net.inputs, {});
  gate.wait_until_reached();
  pair.first.reset();
  EXPECT_THROW(pair.second->execute_forward(pair.label_net.inputs,
                                            pair.label_net.labels),
               StateError);
  gate.open();
  forward.wait();
}

TEST_F(Failures, AnUpdateOfLinkedGraphsIsCountedWhenItRan) {
  LinkedPair pair;
  fail_at("matmul", "a");
  pair.first->execute_forward(pair.first_net.inputs, {});
  pair.second->execute_forward(pair.label_net.inputs, pair.label_net.labels);
  pair.second->execute_gradient();
  pair.first->execute_gradient();
  pair.second->execute_optimizer_update();
  EXPECT_THROW(pair.first->execute_optimizer_update().wait(), Broken);
  EXPECT_EQ(pair.first->optimizer()->time_step(), 1u);
}

/// Two graphs that share only a parameter.
struct SharedWeight {
  SharedWeight() : a(4, 3, 2, 1, "a"), b(4, 3, 2, 1, "b") {
    Graph other;
    auto layer =
        std::make_shared<layers::FullyConnected>(a.w(), b.layer->biases());
    layer->set_name("b");
    other.node(layer, b.x);
    const auto train = [](std::optional<TrainingGraph>& t, Graph graph,
                          const Linear& net) {
      t.emplace(std::vector{graph},
                std::make_shared<losses::MeanSquaredError>(), sgd(0.1f));
      t->add_inputs({{"x", net.x}}, {{"label", net.label}});
      t->compile(Device::null(), {.link_graphs = true});
    };
    train(first, a.graph, a);
    train(second, other, b);
    first->link({*second});
  }
  Linear a, b;
  std::optional<TrainingGraph> first, second;
};

TEST_F(Failures, NobodyAddsToAGradientThatFailed) {
  SharedWeight shared;
  Gate gate;
  set_null_hook([&](const std::string& op, const std::string& node) {
    if (node == "a") gate.pass();
    if (op == "loss_gradient") throw Broken(op);
  });
  shared.first->execute_forward(shared.a.inputs, shared.a.labels);
  const Execution failed = shared.first->execute_gradient();
  const Execution forward =
      shared.second->execute_forward(shared.b.inputs, shared.b.labels);
  gate.wait_until_reached();
  // Nobody knows yet: this one adds to what the first will leave.
  const Execution gradient = shared.second->execute_gradient();
  const Execution update = shared.second->execute_optimizer_update();
  gate.open();
  EXPECT_THROW(failed.wait(), Broken);
  forward.wait();
  EXPECT_THROW(gradient.wait(), Broken);
  EXPECT_EQ(gradient.exception(), failed.exception());
  EXPECT_THROW(update.wait(), Broken);
  set_null_hook(nullptr);
  // The next step starts afresh.
  shared.second->execute_forward(shared.b.inputs, shared.b.labels);
  shared.second->execute_gradient().wait();
  shared.first->execute_forward(shared.a.inputs, shared.a.labels);
  shared.first->execute_gradient().wait();
  shared.first->execute_optimizer_update().wait();
}

}  // namespace
}  // namespace traingraph
