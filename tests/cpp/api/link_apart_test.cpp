// SPDX-License-Identifier: MIT
// Linked graphs that own parameters beside the shared ones, and what is left of
// a link after it has ended.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;
using layers::FullyConnected;

const CompileOptions kLinkable{.link_graphs = true};

Tensor parameter(Shape shape, unsigned seed) {
  const Floats values = random_floats(shape.num_elements(), seed);
  return Tensor({shape}, view(values));
}

/// x -> first -> tanh -> middle -> second -> loss, in two graphs or in one;
/// each layer has parameters of its own.
struct Chain {
  Chain() {
    middle = a.node(std::make_shared<layers::Tanh>(), a.node(first, x));
    y = b.node(second, middle);
  }
  Floats parameters() const {
    Floats all;
    for (const Tensor& p : {first->weights(), first->biases(),
                            second->weights(), second->biases()}) {
      const Floats values = read(p);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  Tensor x{{{4, 3}}, "x"}, label{{{4, 2}}, "label"};
  std::shared_ptr<FullyConnected> first =
      std::make_shared<FullyConnected>(parameter({3, 3}, 1), parameter({3}, 2));
  std::shared_ptr<FullyConnected> second =
      std::make_shared<FullyConnected>(parameter({2, 3}, 3), parameter({2}, 4));
  Floats x_data = random_floats(12, 5), label_data = random_floats(8, 6);
  std::vector<NamedData> inputs{{"x", view(std::as_const(x_data))}};
  std::vector<NamedData> labels{{"label", view(std::as_const(label_data))}};
  Graph a, b;
  Tensor middle, y;
};

struct WholeChain : Chain {
  explicit WholeChain(OptimizerPtr optimizer)
      : t({a, b}, std::make_shared<losses::MeanSquaredError>(),
          std::move(optimizer)) {
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.compile(test_device());
  }
  void step() { t.execute(inputs, labels).wait(); }

  TrainingGraph t;
};

struct LinkedChain : Chain {
  explicit LinkedChain(OptimizerPtr optimizer)
      : ta({a}, nullptr, optimizer),
        tb({b}, std::make_shared<losses::MeanSquaredError>(), optimizer) {
    ta.add_inputs({{"x", x}});
    user = ta.allocate_user_gradient(middle);
    tb.add_inputs({{"middle", middle}}, {{"label", label}});
    tb.add_outputs({{"y", y}});
    ta.compile(test_device(), kLinkable);
    tb.compile(test_device(), kLinkable);
    ta.link({tb});
  }
  void forward_and_gradient() {
    ta.execute_forward(inputs, {});
    tb.execute_forward({}, labels);
    tb.execute_gradient();
    ta.execute_gradient();
  }
  /// Each graph alone again.
  void part() {
    ta.link({});
    tb.link({});
  }

  TrainingGraph ta, tb;
  Tensor user;
};

TEST(LinkedOptimizer, OfGraphsThatBothOwnParametersCountsOneStep) {
  // Adam: a step counted twice or late shows in the corrected rate.
  const auto adam = [] { return std::make_shared<optimizers::Adam>(0.05f); };
  for (bool back_first : {false, true}) {
    SCOPED_TRACE(back_first);
    WholeChain whole(adam());
    const auto shared = adam();
    LinkedChain linked(shared);
    for (int i = 1; i <= 4; ++i) {
      whole.step();
      linked.forward_and_gradient();
      TrainingGraph& one = back_first ? linked.tb : linked.ta;
      TrainingGraph& other = back_first ? linked.ta : linked.tb;
      one.execute_optimizer_update().wait();
      EXPECT_EQ(shared->time_step(), static_cast<std::uint64_t>(i));
      other.execute_optimizer_update().wait();
      EXPECT_EQ(shared->time_step(), 1u + i);
      expect_near(linked.parameters(), whole.parameters());
    }
  }
}

TEST(LinkedOptimizer, AGraphThatUpdatesAgainStartsTheNextStep) {
  const auto adam = std::make_shared<optimizers::Adam>(0.05f);
  LinkedChain linked(adam);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    linked.forward_and_gradient();
    linked.tb.execute_optimizer_update().wait();
    EXPECT_EQ(adam->time_step(), step);
  }
}

/// The second graph updates its first layer alone.
TEST(LinkedOptimizer, ClipsByTheNormOfWhatItsGraphUpdates) {
  constexpr float kRate = 5, kLimit = 0.01f;
  const auto optimizer = [] {
    OptimizerDescriptor clipped{.learning_rate = kRate,
                                .applies_gradient_clipping = true};
    clipped.gradient_clipping_type = GradientClippingType::ByGlobalNorm;
    clipped.maximum_clipping_norm = kLimit;
    return std::make_shared<optimizers::SGD>(clipped);
  };
  Linear one(4, 3, 2, 1), other(4, 3, 2, 11);
  const auto own = std::make_shared<FullyConnected>(parameter({3, 3}, 21),
                                                    parameter({3}, 22));
  Graph graph;
  graph.node(std::make_shared<FullyConnected>(one.w(), one.b()),
             graph.node(own, other.x));
  TrainingGraph ta = one.train(optimizer(), kLinkable);
  TrainingGraph tb({graph}, std::make_shared<losses::MeanSquaredError>(),
                   optimizer());
  tb.add_inputs({{"x", other.x}}, {{"label", other.label}});
  tb.compile(test_device(), kLinkable);
  ta.link({tb});
  ta.execute_forward(one.inputs, one.labels);
  tb.execute_forward(other.inputs, other.labels);
  ta.execute_gradient();
  tb.execute_gradient().wait();
  const Floats w = read(own->weights());
  const Floats dw = tb.gradient_data(own->weights());
  double sum = 0;
  for (const Tensor& each : {own->weights(), own->biases()}) {
    for (const double g : tb.gradient_data(each)) sum += g * g;
  }
  EXPECT_EQ(std::sqrt(sum) > kLimit, computes());
  const double scale = computes() ? kLimit / std::sqrt(sum) : 1;
  tb.execute_optimizer_update();
  ta.execute_optimizer_update().wait();
  Doubles expected(w.begin(), w.end());
  for (std::size_t i = 0; i < w.size(); ++i)
    expected[i] -= kRate * scale * dw[i];
  expect_near(read(own->weights()), expected, 1e-6);
}

TEST(AfterALink, AnInputIsTheGraphsOwn) {
  LinkedChain linked(sgd(0.1f));
  linked.forward_and_gradient();
  linked.part();
  // What the other graph left is not ours any more.
  EXPECT_THROW(linked.tb.execute_forward({}, linked.labels), InvalidArgument);
  const Floats data = random_floats(12, 7);
  const auto run =
      linked.tb.execute_forward({{"middle", view(data)}}, linked.labels);
  const Floats w = host(linked.second->weights());
  const Floats bias = host(linked.second->biases());
  Doubles expected(8);
  for (int i = 0; i < 8; ++i) {
    expected[i] = bias[i % 2];
    for (int k = 0; k < 3; ++k) {
      expected[i] += double{data[i / 2 * 3 + k]} * w[i % 2 * 3 + k];
    }
  }
  expect_near(floats_of(run.result().output("y")),
              computed(std::move(expected)));
}

TEST(AfterALink, AUserGradientIsTheHostsAgain) {
  LinkedChain linked(sgd(0.1f));
  linked.forward_and_gradient();
  linked.part();
  const Floats g = random_floats(12, 8), data = random_floats(12, 9);
  linked.ta.execute_forward(linked.inputs, {});
  linked.ta.bind_and_write_data({{"g", view(g)}}, {{"g", linked.user}});
  // The other's gradient of its input goes elsewhere.
  linked.tb.execute_forward({{"middle", view(data)}}, linked.labels);
  linked.tb.execute_gradient().wait();
  linked.ta.execute_gradient();
  const Floats w = host(linked.first->weights());
  const Floats bias = host(linked.first->biases());
  Doubles expected(3);  // of the biases: the sum of g (1 - tanh^2)
  for (int i = 0; i < 12; ++i) {
    double h = bias[i % 3];
    for (int k = 0; k < 3; ++k) {
      h += double{linked.x_data[i / 3 * 3 + k]} * w[i % 3 * 3 + k];
    }
    expected[i % 3] += g[i] * (1 - std::tanh(h) * std::tanh(h));
  }
  expect_near(linked.ta.gradient_data(linked.first->biases()),
              computed(std::move(expected)));
}

TEST(AfterALink, GradientsOfASharedParameterAreEachGraphsOwn) {
  Linear one(4, 3, 2, 1);
  Linear other(4, 3, 2, 11);
  Graph graph;
  const auto layer = std::make_shared<FullyConnected>(one.w(), one.b());
  graph.node(layer, other.x);
  TrainingGraph ta = one.train(sgd(0.1f), kLinkable);
  TrainingGraph tb({graph}, std::make_shared<losses::MeanSquaredError>(),
                   sgd(0.1f));
  tb.add_inputs({{"x", other.x}}, {{"label", other.label}});
  tb.compile(test_device(), kLinkable);
  const Floats w = host(one.w()), b = host(one.b());
  const auto run = [&] {
    ta.execute_forward(one.inputs, one.labels);
    tb.execute_forward(other.inputs, other.labels);
    ta.execute_gradient();
    tb.execute_gradient().wait();  // the other's, which it adds to
  };
  const Doubles of_one = one.weight_gradient(w, b);
  const Doubles of_other = other.weight_gradient(w, b);
  ta.link({tb});
  run();
  Doubles sum = of_one;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_other[i];
  expect_near(ta.gradient_data(one.w()), sum);
  ta.link({});
  tb.link({});
  run();
  expect_near(ta.gradient_data(one.w()), of_one);
  expect_near(tb.gradient_data(one.w()), of_other);
}

}  // namespace
}  // namespace traingraph
