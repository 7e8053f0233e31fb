// SPDX-License-Identifier: MIT
// Linked graphs that ranks train on parts of a batch, beside one process that
// links the same graphs and has all of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "exchange/linked_net.h"
#include "support/optimizers.h"

namespace traingraph {
namespace {

using namespace testing;
using optimizers::Adam;
using optimizers::SGD;

constexpr int kLinkedSteps = 3;
// In another order, means of 12 samples differ by the roundings of 12 additions
// and of products of depth 4: 16 * 2^-24 of their magnitude, which is 1 here,
// is 1e-6 of a gradient. Three steps of rate 0.1 with momentum 0.9 apply it
// (1 + 1.9 + 2.71) / 10 times.
constexpr double kLinkedRounding = 1e-6;
// Adam divides by a gradient's size: 3 steps of 0.01 * 1e-6 / |g|, in both of
// its averages, where the smallest |g| of what is compared is 1.3e-3.
constexpr double kRoundingOfAdam = 5e-5;
// A normalization divides by a deviation of 0.3 or more.
constexpr double kRoundingOfNorms = 1e-5;

using Values = std::vector<Floats>;

/// Runs `train`, which returns values, as ranks 0 to size - 1; all have the
/// bits that are returned.
Values of_all(int size,
              const std::function<Values(const ThreadGroup&, int)>& train) {
  ThreadGroup group(size);
  std::vector<Values> values(static_cast<std::size_t>(size));
  on_each_rank(size, [&](int rank) { values[rank] = train(group, rank); });
  for (const Values& of_rank : values) EXPECT_EQ(of_rank, values.front());
  return values.front();
}

OptimizerPtr clipping_globally() {
  OptimizerDescriptor clipped{.learning_rate = 0.1f,
                              .applies_gradient_clipping = true};
  clipped.gradient_clipping_type = GradientClippingType::ByGlobalNorm;
  clipped.maximum_clipping_norm = 0.2f;
  return std::make_shared<SGD>(clipped, 0.9f);
}

Part part_of(int rank, int size) {
  return parts_of(size, /*is_even=*/true)[static_cast<std::size_t>(rank)];
}

Values encoded(const LinkedOptions& options, Part part, int passes = 1) {
  EncoderDecoder net(part.count / passes, options);
  for (int step = 0; step < kLinkedSteps; ++step) {
    for (int pass = 0; pass < passes; ++pass) {
      const std::int64_t count = part.count / passes;
      const auto by =
          passes > 1 ? GradientAccumulation::Sum : GradientAccumulation::None;
      net.gradients({part.begin + pass * count, count}, by);
    }
    net.update();
  }
  return net.values();
}

void expect_encoded_alike(const LinkedOptions& options,
                          double tolerance = kLinkedRounding) {
  const Values expected = encoded(options, {0, 12});
  for (int size = 1; size <= 3; ++size) {
    SCOPED_TRACE(size);
    LinkedOptions of_ranks = options;
    of_ranks.compile.data_parallel.bucket_bytes =
        size == 2 ? 32 : std::size_t{4} << 20;
    const Values got = of_all(size, [&](const ThreadGroup& group, int rank) {
      LinkedOptions own = linked_rank(of_ranks, group, rank);
      own.compile.data_parallel.synchronize_batch_norm = options.norms;
      return encoded(own, part_of(rank, size));
    });
    expect_all_near(got, expected, tolerance);
  }
}

TEST(LinkedRanks, TrainAnEncoderAndItsDecoder) {
  for (const ReductionType reduction :
       {ReductionType::Mean, ReductionType::Sum}) {
    SCOPED_TRACE(static_cast<int>(reduction));
    const bool is_mean = reduction == ReductionType::Mean;
    expect_encoded_alike(
        {.optimizer = is_mean ? nullptr : sgd(0.01f), .reduction = reduction});
  }
  expect_encoded_alike({.optimizer = std::make_shared<Adam>(0.01f)},
                       kRoundingOfAdam);
}

TEST(LinkedRanks, ClipByTheNormOfWhatAGraphUpdates) {
  expect_encoded_alike({.optimizer = clipping_globally()});
}

TEST(LinkedRanks, NormalizeByAllSamples) {
  expect_encoded_alike({.norms = true}, kRoundingOfNorms);
}

/// What the second graph passes on has its weight, what begins in the first
/// gets one.
TEST(LinkedRanks, WeighEachGradientOnce) {
  LinkedOptions options{.two_losses = true};
  options.compile.data_parallel.gradients_of_ranks = GradientAccumulation::Mean;
  expect_encoded_alike(options);
}

TEST(LinkedRanks, AddPassesUp) {
  for (const bool norms : {false, true}) {
    LinkedOptions options{.norms = norms};
    options.compile.accumulate_gradients = true;
    const Values expected = encoded(options, {0, 12}, /*passes=*/2);
    options.compile.data_parallel.synchronize_batch_norm = norms;
    // Each pass is of 6 samples of all ranks.
    const Values got = of_all(3, [&](const ThreadGroup& group, int rank) {
      EncoderDecoder net(2, linked_rank(options, group, rank));
      for (int step = 0; step < kLinkedSteps; ++step) {
        for (std::int64_t pass = 0; pass < 2; ++pass) {
          net.gradients({6 * pass + 2 * rank, 2}, GradientAccumulation::Sum);
        }
        net.update();
      }
      return net.values();
    });
    expect_all_near(got, expected, norms ? kRoundingOfNorms : kLinkedRounding);
  }
}

TEST(LinkedRanks, ShareOutOptimizers) {
  LinkedOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  for (int size = 2; size <= 4; ++size) {
    const auto train = [&](bool shards) {
      return of_all(size, [&](const ThreadGroup& group, int rank) {
        LinkedOptions own = linked_rank(options, group, rank);
        own.compile.data_parallel.shard_optimizer = shards;
        return encoded(own, part_of(rank, size));
      });
    };
    EXPECT_EQ(train(true), train(false)) << size;
  }
}

// --- graphs that share a parameter ---

/// Uneven, and other parts in each graph.
Part part_of_one(int rank, int size) {
  return parts_of(size, /*is_even=*/false)[static_cast<std::size_t>(rank)];
}
Part part_of_other(int rank, int size) {
  const Part part = part_of_one(size - 1 - rank, size);
  return size == 1 ? Part{0, 9} : Part{part.begin, part.count};
}

/// One round; `all`: the parts of one process.
void train_twins(Twins& net, Part one, Part other, bool steps) {
  if (steps) {
    net.step(*net.other, other);
    net.step(*net.one, one).wait();
    return;
  }
  net.pass(*net.one, one);
  net.pass(*net.other, other);
  net.other->execute_optimizer_update();
  net.one->execute_optimizer_update().wait();
}

TEST(LinkedRanks, TrainTwinsOnUnevenBatches) {
  for (const OptimizerPtr& optimizer : {sgd(0.1f, 0.9f), clipping_globally()}) {
    for (const bool steps : {false, true}) {
      const auto train = [&](const LinkedOptions& options, Part one,
                             Part other) {
        Twins net(options);
        net.link();
        for (int step = 0; step < kLinkedSteps; ++step) {
          train_twins(net, one, other, steps);
        }
        return net.values();
      };
      const LinkedOptions options{.optimizer = optimizer};
      const Values expected = train(options, {0, 12}, {0, 12});
      for (int size = 2; size <= 3; ++size) {
        SCOPED_TRACE(std::to_string(size) + (steps ? " steps" : " phases"));
        const Values got =
            of_all(size, [&](const ThreadGroup& group, int rank) {
              return train(linked_rank(options, group, rank),
                           part_of_one(rank, size), part_of_other(rank, size));
            });
        expect_all_near(got, expected, kLinkedRounding);
      }
    }
  }
}

/// Means of passes count all samples, whichever rank has how many.
TEST(LinkedRanks, AverageUnevenPasses) {
  RankOptions options;
  options.compile.link_graphs = true;
  options.compile.accumulate_gradients = true;
  RankNet whole(options);
  for (int step = 0; step < kLinkedSteps; ++step) whole.step(0, 12).wait();
  // Samples of each pass of two ranks.
  const std::vector<std::vector<Part>> passes{{{0, 1}, {1, 4}, {5, 2}},
                                              {{7, 3}, {10, 1}, {11, 1}}};
  const Values got = of_all(2, [&](const ThreadGroup& group, int rank) {
    RankNet net(with_rank(options, group, rank));
    for (int step = 0; step < kLinkedSteps; ++step) {
      for (const Part part : passes[static_cast<std::size_t>(rank)]) {
        net.forward(part.begin, part.count);
        net.t->execute_gradient({.accumulate = GradientAccumulation::ByLoss});
      }
      net.t->execute_optimizer_update().wait();
    }
    return net.values();
  });
  expect_all_near(got, whole.values(), kLinkedRounding);
}

/// The accumulator of `shared` is in the arena of the first graph, the others
/// in that of the second, which updates all.
TEST(LinkedRanks, SendNoMemoryBetweenArenas) {
  std::vector<std::vector<std::string>> buckets;
  std::vector<std::size_t> sizes;
  LinkedOptions options;
  options.compile.data_parallel.on_bucket = [&](const GradientBucket& bucket) {
    buckets.emplace_back(bucket.parameters.begin(), bucket.parameters.end());
    sizes.push_back(bucket.values.size());
  };
  Twins net(options, /*first_updates=*/false);
  net.link();
  net.pass(*net.one, {0, 12});
  EXPECT_TRUE(buckets.empty());
  net.pass(*net.other, {0, 12});
  net.other->execute_optimizer_update().wait();
  EXPECT_EQ(buckets, (std::vector<std::vector<std::string>>{
                         {"own", "fully_connected.biases"},
                         {"shared"},
                         {"fully_connected_2.biases"}}));
  EXPECT_EQ(sizes, (std::vector<std::size_t>{64 + 7, 49, 7}));
}

// --- a generator and its discriminator ---

/// The second graph trains through the parameters of the first, which alone
/// updates them.
class Gan : public LinkedParts {
 public:
  explicit Gan(LinkedOptions options) : LinkedParts(std::move(options)) {
    Graph judging, making;
    judging.node(dense(w2), judging.node(std::make_shared<layers::LeakyReLU>(),
                                         judging.node(dense(w1), sample)));
    const Tensor made = making.node(dense(g), noise);
    const auto frozen = [&](const Tensor& weights, const Tensor& from) {
      return making.node(dense(weights), from, {.disable_update = true});
    };
    frozen(w2, making.node(std::make_shared<layers::LeakyReLU>(),
                           frozen(w1, made)));
    judge.emplace(std::vector{judging}, loss(), optimizer());
    judge->add_inputs({{"sample", sample}}, {{"label", label}});
    maker.emplace(std::vector{making}, loss(), optimizer());
    maker->add_inputs({{"noise", noise}}, {{"label", label}});
    maker->add_outputs({{"made", made}});
    judge->compile(device_, options_.compile);
    maker->compile(device_, options_.compile);
    judge->link({*maker});
  }

  void turn(Part part) {
    const ExecuteOptions batch{.batch_size = part.count};
    const auto ones = rows(labels, part), zeros = rows(more_labels, part);
    const auto run = maker->execute({{"noise", rows(noise_data, part)}},
                                    {{"label", ones}}, {}, batch);
    judge->execute({{"sample", rows(x_data, part)}}, {{"label", ones}}, {},
                   batch);
    const Floats fake = floats_of(run.result().output("made"));
    judge->execute({{"sample", view(fake)}}, {{"label", zeros}}, {}, batch)
        .wait();
  }
  Values values() const { return {read(w1), read(w2), read(g)}; }

  Floats noise_data = random_floats(kSamples * kWidth, 11);
  const Tensor sample{{{kSamples, kWidth}}, "sample"},
      noise{{{kSamples, kWidth}}, "noise"},
      label{{{kSamples, kWidth}}, "label"};
  const Tensor w1 = parameter({kWidth, kWidth}, 1, "w1"),
               w2 = parameter({kWidth, kWidth}, 2, "w2"),
               g = parameter({kWidth, kWidth}, 3, "g");
  std::optional<TrainingGraph> judge, maker;
};

TEST(LinkedRanks, TrainAGeneratorAndItsDiscriminator) {
  const auto train = [](const LinkedOptions& options, Part part) {
    Gan net(options);
    for (int turn = 0; turn < 5; ++turn) net.turn(part);
    return net.values();
  };
  const LinkedOptions options{.optimizer = sgd(0.05f)};
  const Values expected = train(options, {0, 12});
  for (int size = 1; size <= 3; ++size) {
    const Values got = of_all(size, [&](const ThreadGroup& group, int rank) {
      return train(linked_rank(options, group, rank), part_of_one(rank, size));
    });
    // Five turns of three steps.
    expect_all_near(got, expected, 4 * kLinkedRounding);
  }
}

TEST(LinkedRanks, GoOnFromACheckpointInAnyNumber) {
  const auto path = [](const char* name) {
    return std::filesystem::temp_directory_path() /
           ("traingraph_linked_" + std::to_string(::getpid()) + name);
  };
  const auto front = path("_front"), back = path("_back");
  LinkedOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  of_all(3, [&](const ThreadGroup& group, int rank) {
    LinkedOptions own = linked_rank(options, group, rank);
    own.compile.data_parallel.shard_optimizer = true;
    const Part part = part_of(rank, 3);
    EncoderDecoder net(part.count, own);
    net.gradients(part);
    net.update();
    net.front->save(front);
    net.back->save(back);
    net.gradients(part);  // all are still together
    net.update();
    return net.values();
  });
  const auto go_on = [&](const LinkedOptions& own, Part part) {
    EncoderDecoder net(part.count, own);
    net.front->restore(front);
    net.back->restore(back);
    net.gradients(part);
    net.update();
    return net.values();
  };
  const Values expected = go_on(options, {0, 12});
  for (const bool shards : {false, true}) {
    const Values got = of_all(2, [&](const ThreadGroup& group, int rank) {
      LinkedOptions own = linked_rank(options, group, rank);
      own.compile.data_parallel.shard_optimizer = shards;
      return go_on(own, part_of(rank, 2));
    });
    expect_all_near(got, expected, kRoundingOfAdam);
  }
  std::filesystem::remove(front);
  std::filesystem::remove(back);
}

}  // namespace
}  // namespace traingraph
