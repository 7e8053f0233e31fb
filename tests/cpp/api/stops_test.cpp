// SPDX-License-Identifier: MIT
// stop_gradient() on values that share what computes them with others.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// h = w x with w = 2, x = 3.
struct Product {
  Product() {
    layer = std::make_shared<layers::FullyConnected>(
        Tensor::filled({{1, 1}, DataType::Float32}, 2, "w"), Tensor());
    h = graph.node(layer, x);
  }
  /// The gradient of w where the loss is the square of the last result and user
  /// gradients of 1000.
  float gradient(const std::vector<Tensor>& stopped,
                 const std::vector<Tensor>& given = {}) {
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>());
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.stop_gradient(stopped);
    TensorMap users;
    for (const Tensor& tensor : given) {
      users.emplace("user" + std::to_string(users.size()),
                    t.allocate_user_gradient(tensor));
    }
    t.compile(test_device());
    const Floats three{3}, zero{0}, thousand{1000};
    for (const auto& [name, tensor] : users) {
      t.bind_and_write_data({{name, view(thousand)}}, {{name, tensor}});
    }
    t.execute_forward({{"x", view(three)}}, {{"label", view(zero)}});
    t.execute_gradient().wait();
    return t.gradient_data(layer->weights())[0];
  }

  Tensor x{{{1, 1}}, "x"}, label{{{1, 1}}, "label"}, h;
  Graph graph;
  std::shared_ptr<layers::FullyConnected> layer;
};

Tensor sum(Graph& graph, const Tensor& a, const Tensor& b) {
  return graph.node(
      std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
      std::vector{a, b});
}

struct Stopped : ::testing::TestWithParam<int> {};

/// Bits: `same` stopped, `other` stopped, a user gradient on each.
TEST_P(Stopped, PassesNothingOn) {
  if (!computes()) GTEST_SKIP() << "gradients are zero";
  Product p;
  const Tensor same = p.graph.node(
      std::make_shared<layers::Reduction>(ReductionType::None, Shape{}), p.h);
  const Tensor other = p.graph.node(std::make_shared<layers::ReLU>(), p.h);
  const Tensor out = sum(p.graph, same, other);
  const Tensor tensors[] = {same, other};
  // A path that is never stopped, so that w is trained in all cases.
  sum(p.graph, out, p.h);  // 18: d total = 36
  std::vector<Tensor> stopped, given;
  float expected = 36;
  for (int i = 0; i < 2; ++i) {
    const bool is_stopped = (GetParam() >> i & 1) != 0;
    const bool is_given = (GetParam() >> (2 + i) & 1) != 0;
    if (is_stopped) stopped.push_back(tensors[i]);
    if (is_given) given.push_back(tensors[i]);
    if (!is_stopped) expected += is_given ? 1036 : 36;
  }
  EXPECT_EQ(p.gradient(stopped, given), 3 * expected);
}

INSTANTIATE_TEST_SUITE_P(All, Stopped, ::testing::Range(0, 16));

}  // namespace
}  // namespace traingraph
