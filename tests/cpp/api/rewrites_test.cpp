// SPDX-License-Identifier: MIT
// What the compiler rearranges gives the same bits as the network as written,
// which it keeps where somebody reads what would change.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// x -> convolution -> ReLU -> max pooling -> fully connected -> y
struct Pooled {
  Pooled() {
    const Floats filter = random_floats(36, 1), matrix = random_floats(108, 2);
    conv = std::make_shared<layers::Convolution>(
        1, 4, 3, PaddingPolicy::Same,
        WeightOptions{.weights = Tensor({{4, 1, 3, 3}}, view(filter))});
    fc = std::make_shared<layers::FullyConnected>(
        Tensor({{3, 36}}, view(matrix)));
    r = graph.node(std::make_shared<layers::ReLU>(), graph.node(conv, x));
    const Tensor pooled =
        graph.node(std::make_shared<layers::MaxPooling>(2), r);
    y = graph.node(fc, graph.reshape({5, 36}, pooled));
    std::fill_n(x_data.begin(), 60, 0.0f);  // windows that are zeros: ties
  }
  struct Results {
    Floats y, dx, filter;
    bool operator==(const Results&) const = default;
  };
  Results train(const TensorMap& outputs, bool computes_in_phases) {
    t.emplace(std::vector{graph},
              std::make_shared<losses::SoftmaxCrossEntropy>(), sgd(0.1f));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->add_outputs({{"y", y}});
    t->add_outputs(outputs);
    t->compile(test_device(), {.compute_all_gradients = true});
    for (int i = 0; i < 3; ++i) {
      if (computes_in_phases) {
        t->execute_forward(inputs, labels);
        t->execute_gradient();
        t->execute_optimizer_update();
      } else {
        t->execute(inputs, labels);
      }
    }
    return {read(y), read(t->gradient_tensor(x)), read(conv->weights())};
  }

  Tensor x{{{5, 1, 6, 6}}, "x"}, label{{{5, 3}}, "label"}, r, y;
  Graph graph;
  std::shared_ptr<layers::Convolution> conv;
  std::shared_ptr<layers::FullyConnected> fc;
  std::optional<TrainingGraph> t;
  Floats x_data = random_floats(180, 3), label_data = one_hot(5, 3);
  std::vector<NamedData> inputs{{"x", view(std::as_const(x_data))}};
  std::vector<NamedData> labels{{"label", view(std::as_const(label_data))}};
};

TEST(Rewrites, ReluBehindMaxPooling) {
  for (bool computes_in_phases : {false, true}) {
    Pooled as_written, rearranged;
    const auto expected =
        as_written.train({{"r", as_written.r}}, computes_in_phases);
    EXPECT_EQ(rearranged.train({}, computes_in_phases), expected);
    if (!computes()) continue;
    EXPECT_NE(expected.dx, Floats(180, 0.0f));
    const Floats r = read(as_written.r);
    EXPECT_GT(std::ranges::count(r, 0.0f), 180);  // of 720
  }
}

}  // namespace
}  // namespace traingraph
