// SPDX-License-Identifier: MIT
// Ranks that see each other's memory, beside ranks that sum all gradients and
// gather parameters by the transport.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>

#include "exchange/error_text.h"
#include "exchange/rank_net.h"
#include "exchange/seen_memory.h"
#include "support/optimizers.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;
using optimizers::Adam;

RankOptions with_ranks(RankOptions options,
                       const std::shared_ptr<Collective>& ranks) {
  options.compile.data_parallel.collective = ranks;
  return options;
}

RankOptions options_of(OptimizerPtr optimizer, bool shards) {
  RankOptions options{.optimizer = std::move(optimizer)};
  options.compile.data_parallel.shards_optimizer = shards;
  return options;
}

RankOptions with_shares() {
  return options_of(std::make_shared<Adam>(0.01f), /*shards=*/true);
}

constexpr int kSteps = 3;

std::vector<Floats> after_steps(const RankOptions& options, Part part) {
  RankNet net(options);
  for (int i = 0; i < kSteps; ++i) train(net, Way::Step, part);
  train(net, Way::Phases, part);
  train(net, Way::Step, part);
  return net.values();
}

/// Compares each rank's parameters with and without memory that all see. Says
/// how often rank 0 has summed by the transport.
int expect_equal(const RankOptions& options, SeenMemory& seen, int size,
                 bool is_even = true) {
  const auto parts = parts_of(size, is_even);
  ThreadGroup plain(size);
  on_each_rank(size, [&](int rank) {
    const auto expected =
        after_steps(with_ranks(options, plain[rank]), parts[rank]);
    EXPECT_EQ(after_steps(with_ranks(options, seen[rank]), parts[rank]),
              expected);
  });
  return seen[0]->num_reduced;
}

TEST(NearRanks, HaveTheBitsOfWholeSums) {
  for (const OptimizerPtr& optimizer : all_optimizers()) {
    for (int size = 2; size <= 4; ++size) {
      for (const bool shards : {false, true}) {
        if (size == 4 && !shards) continue;  // too many to sum all
        SCOPED_TRACE(std::string(optimizer->name()) + ", " +
                     std::to_string(size) +
                     (shards ? " ranks, shards" : " ranks"));
        SeenMemory seen(size,
                        {.longest_delay = std::chrono::microseconds(200)});
        const int num_reduced =
            expect_equal(options_of(optimizer, shards), seen, size,
                         /*is_even=*/size != 3);
        // The pass in phases alone, whose gradients may be read.
        const bool reads_norms = optimizer->applies_gradient_clipping();
        EXPECT_TRUE(num_reduced == 1 || reads_norms) << num_reduced;
      }
    }
  }
}

TEST(NearRanks, NothingGoesByTheTransport) {
  SeenMemory seen(2);
  const RankOptions options = with_shares();
  on_each_rank(2, [&](int rank) {
    RankNet net(with_ranks(options, seen[rank]));
    const int before = seen[rank]->num_gathered;
    const int reduced_before = seen[rank]->num_reduced;
    for (int i = 0; i < kSteps; ++i) net.step(6 * rank, 6).wait();
    EXPECT_EQ(seen[rank]->num_gathered, before);
    EXPECT_EQ(seen[rank]->num_reduced, reduced_before);
    const MemoryReport memory = net.t->memory();
    EXPECT_EQ(memory.allocated_bytes, memory.predicted_bytes);
  });
}

TEST(NearRanks, WholeSumsThatAreReadAreMade) {
  OptimizerDescriptor clipped{.learning_rate = 0.1f,
                              .applies_gradient_clipping = true};
  clipped.maximum_clipping_norm = 0.01f;
  for (const auto type :
       {GradientClippingType::ByGlobalNorm, GradientClippingType::ByNorm}) {
    clipped.gradient_clipping_type = type;
    SeenMemory seen(4);  // so many cut a parameter, whose norm each needs
    const RankOptions options =
        options_of(std::make_shared<Adam>(clipped), /*shards=*/true);
    EXPECT_GT(expect_equal(options, seen, 4), kSteps);
  }
  SeenMemory seen(2);
  RankOptions scaled = with_shares();
  scaled.compile.precision = Precision::MixedFloat16;
  EXPECT_GT(expect_equal(scaled, seen, 2), kSteps);
}

TEST(NearRanks, AreSentWhereThereIsNoRoom) {
  // The board, parameters, what is sent beside gradients, and a step's arena.
  for (int refused = 0; refused < 4; ++refused) {
    SeenMemory seen(2, {}, refused);
    const RankOptions options = with_shares();
    expect_equal(options, seen, 2);
  }
}

TEST(NearRanks, ParametersThatAreAllocatedStay) {
  SeenMemory seen(2);
  const RankOptions options = with_shares();
  ThreadGroup plain(2);
  on_each_rank(2, [&](int rank) {
    const auto train_twice = [&](const std::shared_ptr<Collective>& ranks) {
      const RankOptions own = with_ranks(options, ranks);
      RankNet net(own);
      net.step(6 * rank, 6).wait();
      net.t->compile(rank_device(), own.compile);
      net.step(6 * rank, 6).wait();
      net.t->compile_optimizer(sgd(0.1f));
      net.step(6 * rank, 6).wait();
      return net.values();
    };
    EXPECT_EQ(train_twice(seen[rank]), train_twice(plain[rank]));
  });
}

TEST(NearRanks, ValuesMayBeSetBetweenSteps) {
  SeenMemory seen(2, {.longest_delay = std::chrono::microseconds(500)});
  const RankOptions options = with_shares();
  ThreadGroup plain(2);
  on_each_rank(2, [&](int rank) {
    const auto train_and_set = [&](const std::shared_ptr<Collective>& ranks) {
      RankNet net(with_ranks(options, ranks));
      for (int i = 0; i < 20; ++i) {
        net.step(6 * rank, 6);
        for (const Tensor& parameter : net.t->parameters()) {
          Floats halved = read(parameter);
          for (float& value : halved) value /= 2;
          parameter.set_data(view(halved));
        }
      }
      net.step(6 * rank, 6).wait();
      return net.values();
    };
    EXPECT_EQ(train_and_set(seen[rank]), train_and_set(plain[rank]));
  });
}

TEST(NearRanks, MoreThanThreeSumInTurns) {
  SeenMemory seen(4);
  const RankOptions options = options_of(sgd(0.1f), /*shards=*/false);
  EXPECT_GT(expect_equal(options, seen, 4), kSteps);
}

/// One layer, whose gradient lies in a step of all samples where one of fewer
/// has its inputs and results.
struct MovingGradient {
  static constexpr std::int64_t kSize = 300, kFewer = 128;

  MovingGradient(const Device& device, const std::shared_ptr<Collective>& ranks,
                 bool shards) {
    graph.node(std::make_shared<layers::FullyConnected>(weights, bias), x);
    t.emplace(std::vector{graph}, std::make_shared<losses::MeanSquaredError>(),
              sgd(0.1f));
    t->add_inputs({{"x", x}}, {{"label", label}});
    t->compile(device, {.data_parallel = {.collective = ranks,
                                          .timeout = 20,
                                          .shards_optimizer = shards}});
  }
  void step(const Floats& values, std::int64_t count) {
    const TensorData rows = SmallNet::rows(values, kSize, 0, count);
    t->execute({{"x", rows}}, {{"label", rows}}, {}, {.batch_size = count});
  }

  Tensor x{{{kSize, kSize}}, "x"}, label{{{kSize, kSize}}, "label"};
  Tensor weights{{{kSize, kSize}}, view(random_floats(kSize* kSize, 1))};
  Tensor bias{{{kSize}}, view(random_floats(kSize, 2))};
  Graph graph;
  std::optional<TrainingGraph> t;
};

TEST(NearRanks, BatchesOfOtherSizesWaitUntilSumsAreMade) {
  constexpr std::int64_t kSize = MovingGradient::kSize;
  for (const bool shards : {false, true}) {
    SeenMemory seen(2);
    ThreadGroup plain(2);
    on_each_rank(2, [&](int rank) {
      const Floats values = random_floats(kSize * kSize, 7 + rank);
      const auto train_mixed = [&](const std::shared_ptr<Collective>& ranks) {
        // One rank is long done when the other still sums.
        MovingGradient net(Device::cpu(rank == 0 ? 3 : 1), ranks, shards);
        for (int i = 0; i < 30; ++i) {
          net.step(values, kSize);
          net.step(values, MovingGradient::kFewer);
        }
        net.t->synchronize();
        return read(net.weights);
      };
      EXPECT_EQ(train_mixed(seen[rank]), train_mixed(plain[rank]));
    });
  }
}

/// Sums and copies are shared out to threads, at any place.
TEST(NearRanks, SumWithSeveralThreads) {
  constexpr std::int64_t kSize = 301;
  for (const bool shards : {false, true}) {
    const auto train_wide = [&](const std::shared_ptr<Collective>& ranks) {
      const Tensor x({{2, kSize}}, "x"), label({{2, kSize}}, "label");
      const Tensor weights({{kSize, kSize}},
                           view(random_floats(kSize * kSize, 1)));
      Graph graph;
      graph.node(std::make_shared<layers::FullyConnected>(weights), x);
      TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                      std::make_shared<Adam>(0.01f));
      t.add_inputs({{"x", x}}, {{"label", label}});
      t.compile(
          Device::cpu(3),
          {.data_parallel = {.collective = ranks, .shards_optimizer = shards}});
      const Floats of_rank = random_floats(2 * kSize, 7 + ranks->rank());
      for (int i = 0; i < kSteps; ++i) {
        t.execute({{"x", view(of_rank)}}, {{"label", view(of_rank)}}).wait();
      }
      return read(weights);
    };
    SeenMemory seen(2);
    ThreadGroup plain(2);
    on_each_rank(2, [&](int rank) {
      EXPECT_EQ(train_wide(seen[rank]), train_wide(plain[rank]));
    });
    EXPECT_EQ(seen[0]->num_reduced, 0);
  }
}

TEST(NearRanks, AnErrorOfOneEndsTheOthersAtOnce) {
  SeenMemory seen(3);
  const RankOptions options = with_shares();
  on_each_rank(3, [&](int rank) {
    RankOptions own = with_ranks(options, seen[rank]);
    if (rank == 1) {
      own.compile.data_parallel.on_bucket = [](const GradientBucket&) {
        throw std::runtime_error("rank 1 is tired");
      };
    }
    RankNet net(own);
    try {
      net.step(4 * rank, 4).wait();
      ADD_FAILURE() << "rank " << rank << " has made a step";
    } catch (const DeviceError& error) {
      const std::string text = error.what();
      EXPECT_NE(rank, 1) << text;
      EXPECT_TRUE(contains(text, "gradients of all ranks")) << text;
      EXPECT_TRUE(contains(text, "rank 1 has failed")) << text;
    } catch (const std::exception& error) {
      EXPECT_EQ(rank, 1) << error.what();
    }
    EXPECT_THROW(net.step(4 * rank, 4).wait(), StateError);
  });
}

TEST(NearRanks, ARankThatDoesNotComeEndsTheOthersInTime) {
  SeenMemory seen(2);
  RankOptions options = with_shares();
  options.compile.data_parallel.timeout = 0.5;
  on_each_rank(2, [&](int rank) {
    RankNet net(with_ranks(options, seen[rank]));
    net.step(6 * rank, 6).wait();
    if (rank == 1) return;
    const std::string error =
        text_of_error<DeviceError>([&] { net.step(0, 6).wait(); });
    EXPECT_TRUE(contains(error, "rank 0, the samples of all ranks")) << error;
    EXPECT_TRUE(contains(error, "did not come")) << error;
  });
}

TEST(NearRanks, RangesOfGradientsAreReadWhereTheyAre) {
  RankOptions options = with_shares();
  options.compile.data_parallel.shards_optimizer = true;
  const auto has_copies = [&](bool fuses) {
    options.compile.disable_layer_fusion = !fuses;
    ThreadGroup group(4);
    std::atomic<int> num_ranks = 0;
    on_each_rank(4, [&](int rank) {
      const RankNet net(with_rank(options, group, rank));
      // Units, by the op of their first node.
      const std::string plan = net.t->plan_description();
      if (plan.find(" slice \"") != std::string::npos &&
          plan.find("+ slice \"") == std::string::npos) {
        ++num_ranks;
      }
    });
    return num_ranks > 0;
  };
  EXPECT_FALSE(has_copies(true));
  EXPECT_TRUE(has_copies(false));
}

}  // namespace
}  // namespace traingraph
