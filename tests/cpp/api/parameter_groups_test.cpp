// SPDX-License-Identifier: MIT
// Parameters for which the optimizer has another rate or decay.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using optimizers::Adam;
using optimizers::AdamW;
using optimizers::RMSProp;
using optimizers::SGD;

OptimizerDescriptor descriptor(float rate, float decay,
                               RegularizationType type) {
  return {.learning_rate = rate,
          .regularization_type = type,
          .regularization_scale = decay};
}

/// Optimizers of every kind with a rate and a decay.
std::vector<OptimizerPtr> optimizers_with(float rate, float decay) {
  using enum RegularizationType;
  const auto l1 = descriptor(rate, decay, L1), l2 = descriptor(rate, decay, L2);
  return {std::make_shared<SGD>(l1),
          std::make_shared<SGD>(l2, 0.9f),
          std::make_shared<SGD>(l2, 0.9f, true),
          std::make_shared<Adam>(l2),
          std::make_shared<Adam>(l2, 0.9f, 0.99f, 1e-8f, true),
          std::make_shared<AdamW>(descriptor(rate, decay, None)),
          std::make_shared<RMSProp>(l2, 0.9f, 0.9f, 1e-8f, true),
          std::make_shared<RMSProp>(l1)};
}

/// Weights and biases after some steps.
std::vector<Floats> trained(const OptimizerPtr& optimizer,
                            const std::vector<float>& scales,
                            std::optional<float> decay, bool in_phases) {
  Linear net;
  TrainingGraph t({net.graph}, std::make_shared<losses::MeanSquaredError>(),
                  optimizer);
  t.add_inputs({{"x", net.x}}, {{"label", net.label}});
  std::vector<ParameterGroup> groups;
  for (const float scale : scales) groups.push_back({{net.w()}, scale, decay});
  t.set_parameter_groups(groups);
  t.compile(test_device());
  for (int i = 0; i < 5; ++i) {
    if (in_phases) {
      t.execute_forward(net.inputs, net.labels);
      t.execute_gradient();
      t.execute_optimizer_update();
    } else {
      t.execute(net.inputs, net.labels);
    }
  }
  return {read(net.w()), read(net.b())};
}

// A layer of one group trains as all would with its rate and decay; the loss
// of a layer is stopped from mixing them by one step of a fixed gradient.
TEST(ParameterGroups, AreTheUpdatesOfOtherOptimizers) {
  constexpr float kRate = 0.02f, kDecay = 0.1f, kScale = 0.5f, kOther = 0.025f;
  const auto one_step = [](const OptimizerPtr& optimizer, auto... group) {
    Linear net;
    TrainingGraph t({net.graph}, std::make_shared<losses::MeanSquaredError>(),
                    optimizer);
    t.add_inputs({{"x", net.x}}, {{"label", net.label}});
    t.set_parameter_groups({ParameterGroup{{net.w()}, group...}});
    t.compile(test_device());
    t.execute(net.inputs, net.labels);
    return std::pair(read(net.w()), read(net.b()));
  };
  const auto plain = optimizers_with(kRate, kDecay);
  const auto other = optimizers_with(kRate * kScale, kOther);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    SCOPED_TRACE(plain[i]->name());
    const auto all = one_step(plain[i]->clone(), 1.0f, std::nullopt);
    const auto grouped = one_step(plain[i]->clone(), kScale, kOther);
    const auto expected = one_step(other[i]->clone(), 1.0f, std::nullopt);
    EXPECT_EQ(grouped.first, expected.first);  // a power of two: the same bits
    EXPECT_EQ(grouped.second, all.second);
  }
}

TEST(ParameterGroups, CountInStepsAndPhases) {
  for (const OptimizerPtr& optimizer : optimizers_with(0.05f, 0.1f)) {
    SCOPED_TRACE(optimizer->name());
    const auto none = trained(optimizer->clone(), {}, std::nullopt, false);
    const auto step = trained(optimizer->clone(), {0.25f}, 0.5f, false);
    EXPECT_EQ(step, trained(optimizer->clone(), {0.25f}, 0.5f, true));
    EXPECT_EQ(none, trained(optimizer->clone(), {1}, 0.1f, false));
    if (computes()) {
      EXPECT_NE(step, none);
    }
    // The last group counts.
    EXPECT_EQ(step, trained(optimizer->clone(), {9, 0.25f}, 0.5f, false));
    // Nothing moves without a rate.
    Linear still;
    EXPECT_EQ(trained(optimizer->clone(), {0}, 0.5f, false)[0],
              host(still.w()));
  }
}

TEST(ParameterGroups, OfEmbeddingsCountForRowsThatAreLeftBehind) {
  for (const OptimizerPtr& optimizer : optimizers_with(0.05f, 0.01f)) {
    SCOPED_TRACE(optimizer->name());
    const auto table = [&](bool debugs) {
      const std::vector<std::int32_t> tokens{3, 1, 3, 7};
      const Floats labels = random_floats(4 * 4, 9);
      Tensor ids({{4}, DataType::Int32}, "ids"), label({{4, 4}}, "label");
      const auto layer = std::make_shared<layers::Embedding>(
          EmbeddingDescriptor{.embedding_count = 40, .embedding_dimension = 4},
          EmbeddingOptions{.weights =
                               Tensor({{40, 4}}, view(random_floats(160, 8)))});
      Graph graph;
      graph.node(layer, ids);
      TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                      optimizer->clone());
      t.add_inputs({{"ids", ids}}, {{"label", label}});
      t.set_parameter_groups({{{layer->weights()}, 0.3f, 0.02f}});
      // Without fusion there are no updates of rows.
      t.compile(test_device(), {.disable_layer_fusion = debugs});
      const TensorData data(static_cast<const void*>(tokens.data()), 16);
      for (int i = 0; i < 4; ++i) {
        t.execute({{"ids", data}}, {{"label", view(labels)}});
      }
      return read(layer->weights());
    };
    expect_near(table(false), table(true), 1e-6);
  }
}

TEST(ParameterGroups, StayWithAnotherOptimizer) {
  Linear a, b;
  TrainingGraph first({a.graph}, std::make_shared<losses::MeanSquaredError>(),
                      sgd(0.1f));
  first.add_inputs({{"x", a.x}}, {{"label", a.label}});
  first.set_parameter_groups({{{a.w()}, 0.0f}});
  first.compile(test_device());
  first.compile_optimizer(std::make_shared<Adam>(0.1f));
  first.execute(a.inputs, a.labels).wait();
  EXPECT_EQ(read(a.w()), host(b.w()));
  if (computes()) {
    EXPECT_NE(read(a.b()), host(b.b()));
  }
}

TEST(ParameterGroups, RefuseWhatTheyCannotMean) {
  Linear net, other;
  TrainingGraph t({net.graph}, std::make_shared<losses::MeanSquaredError>(),
                  sgd(0.1f));
  t.add_inputs({{"x", net.x}}, {{"label", net.label}});
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto refused = [&](const ParameterGroup& group) {
    return error_of<InvalidArgument>([&] { t.set_parameter_groups({group}); });
  };
  for (const float bad : {-1.0f, kNaN, kInfinity}) {
    EXPECT_EQ(refused({{net.w()}, bad}).node, "lr_scale");
    EXPECT_EQ(refused({{net.w()}, 1, bad}).node, "weight_decay");
  }
  EXPECT_NE(refused({{other.w()}}).what.find("of this graph"),
            std::string::npos);
  refused({{net.y}});
  refused({{Tensor()}});
  EXPECT_NE(refused({{net.w(), net.b(), net.w()}}).what.find("twice"),
            std::string::npos);

  t.set_parameter_groups({{{net.x}}});
  EXPECT_EQ(error_of<InvalidArgument>([&] { t.compile(test_device()); }).node,
            "x");
  t.set_parameter_groups({{{net.w()}, 1, 0.1f}});
  const ErrorInfo none =
      error_of<InvalidArgument>([&] { t.compile(test_device()); });
  EXPECT_NE(none.hint.find("L2"), none.hint.npos);
  t.set_parameter_groups({{{net.w()}, 1}});
  t.compile(test_device());
  error_of<StateError>([&] { t.set_parameter_groups({}); });
}

TEST(ParameterGroups, OfLinkedGraphsAgree) {
  const auto link = [](float front_scale, float back_scale) {
    const Tensor w({{3, 3}}, view(random_floats(9, 1)));
    Tensor x({{4, 3}}, "x"), label({{4, 3}}, "label");
    Graph a, b;
    const Tensor h = a.node(std::make_shared<layers::FullyConnected>(w), x);
    b.node(std::make_shared<layers::FullyConnected>(w), h);
    const OptimizerPtr optimizer = sgd(0.1f);
    TrainingGraph front({a}, nullptr, optimizer);
    TrainingGraph back({b}, std::make_shared<losses::MeanSquaredError>(),
                       optimizer);
    front.add_inputs({{"x", x}});
    back.add_inputs({{"h", h}}, {{"label", label}});
    front.set_parameter_groups({{{w}, front_scale}});
    back.set_parameter_groups({{{w}, back_scale}});
    for (TrainingGraph* t : {&front, &back}) {
      t->compile(test_device(), {.link_graphs = true});
    }
    front.link({back});
    const Floats data = random_floats(12, 2);
    const Floats before = read(w);
    front.execute_forward({{"x", view(data)}}, {});
    back.execute_forward({}, {{"label", view(data)}});
    back.execute_gradient();
    front.execute_gradient();
    front.execute_optimizer_update().wait();
    return read(w) == before;
  };
  EXPECT_TRUE(link(0, 0));
  EXPECT_TRUE(link(0, 1));  // the graph that updates has its way
  EXPECT_EQ(link(0.5f, 1), !computes());
  error_of<InvalidArgument>([&] { link(1, 0.5f); });
}

}  // namespace
}  // namespace traingraph
