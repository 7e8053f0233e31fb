// SPDX-License-Identifier: MIT
// When a gradient may be sent, and what is beside it.
#include <gtest/gtest.h>

#include "exchange/rank_net.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

/// x (p1 + p2): both gradients are one value. The gradient of `other`, when a
/// hook clears that of `cleared`.
Floats gradient_beside(const std::string& cleared) {
  const Tensor x({{4, 3}}, "x"), label({{4, 2}}, "label");
  const Tensor p1({{3, 2}}, view(random_floats(6, 1)), "p1");
  const Tensor p2({{3, 2}}, view(random_floats(6, 2)), "p2");
  Graph graph;
  const Tensor sum =
      graph.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
                 std::vector<Tensor>{p1, p2});
  graph.node(std::make_shared<layers::MatMul>(), std::vector<Tensor>{x, sum});
  TrainingGraph t({graph},
                  std::make_shared<losses::MeanSquaredError>(
                      LossDescriptor{.reduction_type = ReductionType::Mean}),
                  sgd(0.1f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.set_training_tensor_parameters({TensorParameter(p1), TensorParameter(p2)});
  CompileOptions options;
  options.data_parallel.bucket_bytes = 1;
  options.data_parallel.on_bucket = [&](const GradientBucket& bucket) {
    if (bucket.parameters.front() != cleared) return;
    std::ranges::fill(bucket.values, 0.0f);
  };
  t.compile(rank_device(), options);
  Floats inputs = random_floats(12, 5), labels = random_floats(8, 6);
  t.execute_forward({{"x", view(inputs)}}, {{"label", view(labels)}});
  t.execute_gradient().wait();
  return t.gradient_data(cleared == "p1" ? p2 : p1);
}

TEST(ExchangedGradients, AreSentAfterAllThatReadsThem) {
  const Floats expected = gradient_beside("neither");
  EXPECT_EQ(gradient_beside("p1"), expected);
  EXPECT_EQ(gradient_beside("p2"), expected);
}

TEST(ExchangedGradients, HaveZerosBetweenThem) {
  RankOptions options;
  options.compile.data_parallel.on_bucket = [](const GradientBucket& bucket) {
    // The gradients have 21, 3, 35 and 7 floats, each rounded up to 16.
    const auto values = bucket.values;
    ASSERT_EQ(values.size(), 32u + 16 + 48 + 7);
    for (const auto& [first, last] : {std::pair(21, 32), {35, 48}, {83, 96}}) {
      for (int i = first; i < last; ++i) EXPECT_EQ(values[i], 0) << i;
    }
  };
  RankNet net(options);
  for (const std::int64_t count : {12, 1, 12, 2, 7, 1, 12}) {
    net.step(0, count).wait();
  }
}

TEST(ExchangedGradients, OfTheUserAreAveragedToo) {
  for (const bool is_step : {true, false}) {
    std::vector<Floats> values(3);
    const auto train = [&](std::shared_ptr<Collective> ranks) {
      const Tensor x({{4, 3}}, "x");
      Graph graph;
      const Tensor weights({{2, 3}}, view(random_floats(6, 1)));
      const Tensor y = graph.node(
          std::make_shared<layers::FullyConnected>(weights, Tensor()), x);
      TrainingGraph t({graph}, nullptr, sgd(0.1f));
      t.add_inputs({{"x", x}});
      Tensor given = t.allocate_user_gradient(y);
      Floats gradient = random_floats(8, 3);
      given.set_data(view(gradient));
      CompileOptions options;
      options.data_parallel.collective = std::move(ranks);
      options.data_parallel.gradients_of_ranks = GradientAccumulation::Mean;
      t.compile(rank_device(), options);
      Floats inputs = random_floats(12, 5);
      if (is_step) {
        t.execute({{"x", view(inputs)}}).wait();
      } else {
        t.execute_forward({{"x", view(inputs)}}, {});
        t.execute_gradient();
        t.execute_optimizer_update().wait();
      }
      return read(weights);
    };
    ThreadGroup group(2);
    on_each_rank(2, [&](int rank) { values[rank] = train(group[rank]); });
    // Both ranks have the same samples, so their mean is that of one.
    ThreadGroup one(1);
    expect_near(values[0], train(one[0]), 1e-6);
    EXPECT_EQ(values[0], values[1]);
  }
}

/// Each rank's is a part of the mean of all samples, as where a sum follows.
TEST(ExchangedGradients, AreWeighedWhereNothingTrains) {
  const Floats inputs = random_floats(6, 1), labels = random_floats(6, 2);
  const auto gradient = [&](std::shared_ptr<Collective> ranks, bool is_step) {
    const Tensor x({{2, 3}}, "x"), label({{2, 3}}, "label");
    Graph graph;
    graph.node(std::make_shared<layers::Tanh>(), x);
    TrainingGraph t({graph},
                    std::make_shared<losses::MeanSquaredError>(
                        LossDescriptor{.reduction_type = ReductionType::Mean}));
    t.add_inputs({{"x", x}}, {{"label", label}});
    CompileOptions options{.compute_all_gradients = true};
    options.data_parallel = {.collective = std::move(ranks),
                             .collective_timeout = 20};
    t.compile(rank_device(), options);
    if (is_step) {
      t.execute({{"x", view(inputs)}}, {{"label", view(labels)}}).wait();
    } else {
      t.execute_forward({{"x", view(inputs)}}, {{"label", view(labels)}});
      t.execute_gradient().wait();
    }
    return read(t.gradient_tensor(x));
  };
  for (const bool is_step : {true, false}) {
    const ThreadGroup one(1), two(2);
    const Floats whole = gradient(one[0], is_step);
    on_each_rank(2, [&](int rank) {
      const Floats part = gradient(two[rank], is_step);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_FLOAT_EQ(2 * part[i], whole[i]);
      }
    });
  }
}

TEST(ExchangedGradients, AreUpdatedAtTheRateOfRankZero) {
  ThreadGroup group(2);
  std::vector<std::vector<Floats>> values(2);
  on_each_rank(2, [&](int rank) {
    RankOptions options{.optimizer = sgd(rank == 0 ? 0.1f : 0.2f)};
    RankNet net(with_rank(options, group, rank));
    EXPECT_EQ(net.t->optimizer()->learning_rate(), 0.1f);
    net.step(0, 6).wait();
    values[rank] = net.values();
    // Other rates later are noticed.
    if (rank == 1) net.t->optimizer()->set_learning_rate(0.3f);
    EXPECT_THROW(net.step(0, 6).wait(), StateError);
  });
  EXPECT_EQ(values[0], values[1]);
}

}  // namespace
}  // namespace traingraph
