// SPDX-License-Identifier: MIT
// Ranks that share out the optimizer and see each other's memory, beside ranks
// that sum all gradients and gather parameters by the transport.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "exchange/rank_net.h"
#include "exchange/seen_memory.h"
#include "support/optimizers.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;
using optimizers::Adam;

RankOptions with_shares(RankOptions options,
                        const std::shared_ptr<Collective>& ranks) {
  options.compile.data_parallel.shards_optimizer = true;
  options.compile.data_parallel.collective = ranks;
  return options;
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
        after_steps(with_shares(options, plain[rank]), parts[rank]);
    EXPECT_EQ(after_steps(with_shares(options, seen[rank]), parts[rank]),
              expected);
  });
  return seen[0]->num_reduced;
}

TEST(SharedShares, HaveTheBitsOfWholeSums) {
  for (const OptimizerPtr& optimizer : all_optimizers()) {
    for (int size = 2; size <= 4; ++size) {
      SCOPED_TRACE(std::string(optimizer->name()) + ", " +
                   std::to_string(size) + " ranks");
      SeenMemory seen(size, {.longest_delay = std::chrono::microseconds(200)});
      const int num_reduced = expect_equal({.optimizer = optimizer}, seen, size,
                                           /*is_even=*/size != 3);
      // The pass in phases alone, whose gradients may be read.
      const bool reads_norms = optimizer->applies_gradient_clipping();
      EXPECT_TRUE(num_reduced == 1 || reads_norms) << num_reduced;
    }
  }
}

TEST(SharedShares, NothingIsGatheredButHeaders) {
  SeenMemory seen(2);
  const RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  on_each_rank(2, [&](int rank) {
    RankNet net(with_shares(options, seen[rank]));
    const int before = seen[rank]->num_gathered;
    for (int i = 0; i < kSteps; ++i) net.step(6 * rank, 6).wait();
    EXPECT_EQ(seen[rank]->num_gathered - before, kSteps);
    const MemoryReport memory = net.t->memory();
    EXPECT_EQ(memory.allocated_bytes, memory.predicted_bytes);
  });
}

TEST(SharedShares, WholeSumsThatAreReadAreMade) {
  OptimizerDescriptor clipped{.learning_rate = 0.1f,
                              .applies_gradient_clipping = true};
  clipped.maximum_clipping_norm = 0.01f;
  for (const auto type :
       {GradientClippingType::ByGlobalNorm, GradientClippingType::ByNorm}) {
    clipped.gradient_clipping_type = type;
    SeenMemory seen(4);  // so many cut a parameter, whose norm each needs
    const RankOptions options{.optimizer = std::make_shared<Adam>(clipped)};
    EXPECT_GT(expect_equal(options, seen, 4), kSteps);
  }
  SeenMemory seen(2);
  RankOptions scaled{.optimizer = std::make_shared<Adam>(0.01f)};
  scaled.compile.precision = Precision::MixedFloat16;
  EXPECT_GT(expect_equal(scaled, seen, 2), kSteps);
}

TEST(SharedShares, AreSentWhereThereIsNoRoom) {
  // Parameters, what is sent beside gradients, and a step's arena.
  for (int refused = 0; refused < 4; ++refused) {
    SeenMemory seen(2, {}, refused);
    const RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
    expect_equal(options, seen, 2);
  }
}

TEST(SharedShares, ParametersThatAreAllocatedStay) {
  SeenMemory seen(2);
  const RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  ThreadGroup plain(2);
  on_each_rank(2, [&](int rank) {
    const auto train_twice = [&](const std::shared_ptr<Collective>& ranks) {
      const RankOptions own = with_shares(options, ranks);
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

TEST(SharedShares, ValuesMayBeSetBetweenSteps) {
  SeenMemory seen(2, {.longest_delay = std::chrono::microseconds(500)});
  const RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  ThreadGroup plain(2);
  on_each_rank(2, [&](int rank) {
    const auto train_and_set = [&](const std::shared_ptr<Collective>& ranks) {
      RankNet net(with_shares(options, ranks));
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

TEST(SharedShares, ARankThatDoesNotComeEndsTheOthers) {
  SeenMemory seen(2);
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  options.compile.data_parallel.timeout = 1;
  on_each_rank(2, [&](int rank) {
    RankOptions own = with_shares(options, seen[rank]);
    if (rank == 1) {
      own.compile.data_parallel.on_bucket = [](const GradientBucket&) {
        throw std::runtime_error("rank 1 is tired");
      };
    }
    RankNet net(own);
    try {
      net.step(6 * rank, 6).wait();
      ADD_FAILURE() << "rank " << rank << " has made a step";
    } catch (const DeviceError& error) {
      const std::string text = error.what();
      EXPECT_EQ(rank, 0) << text;
      EXPECT_NE(text.find("rank 0, gradients of all ranks"), std::string::npos)
          << text;
    } catch (const std::exception& error) {
      EXPECT_EQ(rank, 1) << error.what();
    }
    EXPECT_THROW(net.step(6 * rank, 6).wait(), StateError);
  });
}

TEST(SharedShares, RangesOfGradientsAreReadWhereTheyAre) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
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
