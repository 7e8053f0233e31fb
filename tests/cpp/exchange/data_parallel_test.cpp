// SPDX-License-Identifier: MIT
// Ranks that train on parts of a batch, beside one process that has it all.
#include <gtest/gtest.h>

#include "exchange/rank_net.h"
#include "support/optimizers.h"

namespace traingraph {
namespace {

using namespace testing;
using optimizers::Adam;
using optimizers::AdamW;
using optimizers::RMSProp;
using optimizers::SGD;

constexpr int kSteps = 3;
// In another order, means of 12 samples differ by the roundings of 12 additions
// and of products of depth 4: 16 * 2^-24 of their mean magnitude, 0.3, is 3e-7.
// Updates that divide by a gradient's size make rate * 3e-7 / |g| of it, in
// both of Adam's averages; the smallest |g| of three steps is 4e-4 here. So
// its parameters differ by 3 * 2 * 0.01 * 3e-7 / 4e-4 = 4.5e-5 at most.
constexpr double kRounding = 5e-5;

std::vector<Floats> alone(const RankOptions& options) {
  RankNet net(options);
  for (int step = 0; step < kSteps; ++step) net.step(0, RankNet::kSamples);
  return net.values();
}

/// Returns what each rank ends with.
std::vector<std::vector<Floats>> together(const RankOptions& options, Way way,
                                          const std::vector<Part>& parts) {
  const int size = static_cast<int>(parts.size());
  ThreadGroup group(size);
  std::vector<std::vector<Floats>> values(parts.size());
  on_each_rank(size, [&](int rank) {
    RankOptions own = with_rank(options, group, rank);
    own.compile.accumulate_gradients = way == Way::Added;
    RankNet net(own);
    for (int step = 0; step < kSteps; ++step) train(net, way, parts[rank]);
    values[rank] = net.values();
  });
  return values;
}

TEST(DataParallel, IsTheUpdateOfTheWholeBatch) {
  for (const ReductionType reduction :
       {ReductionType::Mean, ReductionType::Sum}) {
    for (const OptimizerPtr& optimizer : all_optimizers()) {
      RankOptions options{.optimizer = optimizer, .reduction = reduction};
      const auto expected = alone(options);
      for (int size = 1; size <= 4; ++size) {
        for (const Way way : {Way::Step, Way::Phases, Way::Added}) {
          SCOPED_TRACE(std::string(optimizer->name()) + ", " +
                       std::to_string(size) + " ranks, way " +
                       std::to_string(static_cast<int>(way)));
          const bool is_even = way != Way::Phases;
          options.compile.data_parallel.bucket_bytes =
              size % 2 == 0 ? 64 : std::size_t{4} << 20;
          const auto values = together(options, way, parts_of(size, is_even));
          for (const auto& of_rank : values) {
            // All ranks have the same bits.
            EXPECT_EQ(of_rank, values.front());
          }
          expect_all_near(values.front(), expected, kRounding);
        }
      }
    }
  }
}

TEST(DataParallel, RunsTwiceToTheSameBits) {
  Platform::set_rng_seed(7);
  const RankOptions options{.dropout = 0.5f};
  const auto parts = parts_of(3, /*is_even=*/false);
  const auto run = [&] {
    ThreadGroup group(3, {.longest_delay = std::chrono::microseconds(300)});
    std::vector<Floats> first;
    on_each_rank(3, [&](int rank) {
      RankNet net(with_rank(options, group, rank));
      for (int step = 0; step < 5; ++step) train(net, Way::Step, parts[rank]);
      if (rank == 0) first = net.values();
    });
    return first;
  };
  EXPECT_EQ(run(), run());
}

TEST(DataParallel, GradientsAreThoseOfAllSamples) {
  RankNet whole({});
  whole.forward(0, RankNet::kSamples);
  whole.t->execute_gradient();
  const auto expected = whole.gradients();
  const auto parts = parts_of(3, /*is_even=*/false);
  ThreadGroup group(3);
  on_each_rank(3, [&](int rank) {
    RankNet net(with_rank({}, group, rank));
    net.forward(parts[rank].begin, parts[rank].count);
    net.t->execute_gradient();
    expect_all_near(net.gradients(), expected, 3e-6);
  });
}

TEST(DataParallel, BeginsWithTheStateOfRankZero) {
  ThreadGroup group(3);
  RankNet zero({.seed = 1});
  const auto expected = zero.values();
  on_each_rank(3, [&](int rank) {
    RankOptions options{.seed = static_cast<unsigned>(rank + 1)};
    RankNet net(with_rank(options, group, rank));
    EXPECT_EQ(net.values(), expected);
  });
}

TEST(DataParallel, DropsOtherElementsInEachRank) {
  ThreadGroup group(2);
  std::vector<Floats> hidden(2);
  on_each_rank(2, [&](int rank) {
    RankNet net(with_rank({.dropout = 0.5f}, group, rank));
    const OutputView view = net.step(0, 6).result().output("hidden");
    for (float value : view.floats()) {
      hidden[rank].push_back(value == 0 ? 0 : 1);
    }
  });
  ASSERT_EQ(hidden[0].size(), 6u * 7);
  EXPECT_NE(hidden[0], hidden[1]);
}

TEST(DataParallel, StaysTogetherOverRandomBatchesAndDelays) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  ThreadGroup group(
      3, {.longest_delay = std::chrono::microseconds(500), .seed = seed});
  std::vector<std::vector<Floats>> values(3);
  on_each_rank(3, [&](int rank) {
    RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
    options.compile.data_parallel.bucket_bytes = 100;
    RankNet net(with_rank(options, group, rank));
    std::mt19937 random(seed + static_cast<unsigned>(rank));
    for (int step = 0; step < 40; ++step) {
      const auto count = static_cast<std::int64_t>(random() % 12 + 1);
      net.step(0, count);  // many are in flight
    }
    values[rank] = net.values();
  });
  EXPECT_EQ(values[1], values[0]);
  EXPECT_EQ(values[2], values[0]);
}

TEST(DataParallel, AnOutputThatIsAGradientIsARanksOwn) {
  ThreadGroup group(2);
  const std::vector<Floats> data{random_floats(6, 1), random_floats(6, 2)};
  on_each_rank(2, [&](int rank) {
    const Tensor x({{2, 3}}, "x"), label({{2, 3}}, "label");
    const Tensor w = Tensor::filled({{2, 3}}, 5, "w", std::nullopt);
    Graph graph;
    const Tensor dw =
        graph
            .op(OpKind::Activation,
                ActivationAttrs{ActivationType::Linear, 2.0f}, {x}, "dw")
            .front();
    const Tensor y =
        graph
            .op(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply},
                {x, w}, "y")
            .front();
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                    sgd(1.0f));
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.add_outputs({{"dw", dw}, {"y", y}});
    t.set_training_tensor_parameters({TensorParameter(w)});
    t.set_gradient(w, dw);
    CompileOptions options;
    options.data_parallel = {.collective = group[rank],
                             .gradients_of_ranks = GradientAccumulation::Sum,
                             .collective_timeout = 20};
    t.compile(rank_device(), options);
    const ExecutionResult result =
        t.execute({{"x", view(data[rank])}}, {{"label", view(data[rank])}})
            .result();
    const auto own = result.output("dw").floats();
    const Floats trained = read(w);
    for (std::size_t i = 0; i < trained.size(); ++i) {
      EXPECT_EQ(own[i], 2 * data[rank][i]);
      EXPECT_NEAR(trained[i], 5 - 2 * (data[0][i] + data[1][i]), 1e-6);
    }
  });
}

TEST(ShardedOptimizer, LeavesRanksWithoutAShareAlone) {
  ThreadGroup group(2);
  std::vector<Floats> values(2);
  on_each_rank(2, [&](int rank) {
    const Tensor x({{2, 3}}, "x"), label({{2, 2}}, "label");
    const Tensor weights({{2, 3}}, view(random_floats(6, 1)));
    Graph graph;
    graph.node(std::make_shared<layers::FullyConnected>(weights, Tensor()), x);
    TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                    sgd(0.5f, 0.9f));
    t.add_inputs({{"x", x}}, {{"label", label}});
    CompileOptions options;
    options.data_parallel = {.collective = group[rank],
                             .gradients_of_ranks = GradientAccumulation::Sum,
                             .collective_timeout = 20,
                             .shard_optimizer = true};
    t.compile(rank_device(), options);
    const Floats inputs = random_floats(6, 2), labels = random_floats(4, 3);
    const std::vector<NamedData> in{{"x", view(inputs)}},
        out{{"label", view(labels)}};
    t.execute(in, out);
    t.execute_forward(in, out);
    t.execute_gradient();
    t.execute_optimizer_update().wait();
    values[rank] = read(weights);
  });
  EXPECT_EQ(values[0], values[1]);
  EXPECT_NE(values[0], random_floats(6, 1));
}

}  // namespace
}  // namespace traingraph
