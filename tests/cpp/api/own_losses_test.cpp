// SPDX-License-Identifier: MIT
// Losses of one's own: results of a graph that are what is minimized.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;  // NOLINT: helpers of these tests

struct Own {
  Own() {
    y = graph.node(std::make_shared<layers::Affine>(2.0f), x);
    const Tensor error = op(OpKind::Binary, ArithmeticOperation::Subtract, t);
    squares =
        graph.op(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply},
                 {error, error}, "squares")[0];
  }
  Tensor op(OpKind kind, ArithmeticOperation operation, const Tensor& other) {
    return graph.op(kind, ArithmeticAttrs{operation}, {y, other})[0];
  }

  ExecutionResult run(TrainingGraph g, int rows = 4) {
    g.add_inputs({{"x", x}}, {{"t", t}});
    g.compile(test_device());
    return g.execute(inputs, labels, {}, {.batch_size = rows}).result();
  }
  /// The mean of the squares of the first `rows` samples.
  float mean(int rows = 4) const {
    double sum = 0;
    for (int i = 0; i < 2 * rows; ++i) {
      const double e = 2.0 * x_data[i] - t_data[i];
      sum += e * e;
    }
    return computed(Floats{static_cast<float>(sum / (2 * rows))})[0];
  }

  Tensor x{{.shape = {4, 2}}, "x"}, t{{.shape = {4, 2}}, "t"}, y, squares;
  Graph graph;
  Floats x_data = random_floats(8, 1), t_data = random_floats(8, 2);
  std::vector<NamedData> inputs{{"x", view(std::as_const(x_data))}};
  std::vector<NamedData> labels{{"t", view(std::as_const(t_data))}};
};

TEST(OwnLosses, AreResults) {
  for (const int rows : {4, 3}) {
    Own own;
    const auto result = own.run(TrainingGraph({own.graph}, own.squares), rows);
    ASSERT_EQ(result.losses().size(), 1u);
    EXPECT_EQ(result.losses()[0].name, "loss");
    EXPECT_NEAR(result.loss(), own.mean(rows), 1e-6f);
  }
}

TEST(OwnLosses, AreListsOfResults) {
  Own own;
  const Tensor other = own.op(OpKind::Binary, ArithmeticOperation::Max, own.t);
  const auto result = own.run(TrainingGraph({own.graph}, {own.squares, other}));
  ASSERT_EQ(result.losses().size(), 2u);
  EXPECT_NEAR(result.loss("loss"), own.mean(), 1e-6f);
  EXPECT_EQ(result.losses()[1].name, "loss_2");
}

TEST(OwnLosses, AreResultsByName) {
  Own own;
  const auto result =
      own.run(TrainingGraph({own.graph}, TensorMap{{"error", own.squares}}));
  EXPECT_NEAR(result.loss("error"), own.mean(), 1e-6f);
}

TEST(OwnLosses, AreLayersOfTheLastResult) {
  Own own;
  const auto result = own.run(TrainingGraph(
      {own.graph}, std::make_shared<losses::Value>(LossDescriptor{
                       .reduction_type = ReductionType::Sum, .weight = -2})));
  EXPECT_NEAR(result.loss(), -16 * own.mean(), 1e-5f);
}

TEST(OwnLosses, NothingIsNoLoss) {
  Own own;
  for (const TrainingLosses& none :
       {TrainingLosses(), TrainingLosses(nullptr), TrainingLosses{}}) {
    EXPECT_EQ(none.layer(), nullptr);
    EXPECT_TRUE(none.results().empty());
  }
  EXPECT_THROW(own.run(TrainingGraph({own.graph}, {})), StateError);
}

TEST(OwnLosses, AreResultsOfTheseGraphs) {
  Own own, other;
  for (const Tensor& wrong : {own.x, own.t, other.squares, Tensor()}) {
    const ErrorInfo info =
        error_of<InvalidArgument>([&] { TrainingGraph({own.graph}, wrong); });
    EXPECT_EQ(info.op, "TrainingGraph");
    EXPECT_FALSE(info.expected.empty());
    EXPECT_FALSE(info.got.empty());
  }
  const Tensor index = own.graph.op(
      OpKind::Reduce, ReduceAttrs{.type = ReductionType::ArgMax, .axes = {1}},
      {own.y}, "index")[0];
  EXPECT_EQ(
      error_of<DTypeError>([&] { TrainingGraph({own.graph}, index); }).node,
      "index");
}

}  // namespace
}  // namespace traingraph
