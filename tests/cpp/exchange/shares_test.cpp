// SPDX-License-Identifier: MIT
// Optimizers that several ranks share out, beside ranks that each have all.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <numeric>

#include "compiler/optimizer_shares.h"
#include "exchange/rank_net.h"
#include "support/optimizers.h"
#include "traingraph/checkpoint.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;
using optimizers::Adam;
using optimizers::SGD;

constexpr int kSteps = 3;

/// Each rank's parameters after some updates.
std::vector<std::vector<Floats>> trained(RankOptions options, int size, Way way,
                                         bool shards) {
  options.compile.data_parallel.shards_optimizer = shards;
  options.compile.accumulates_gradients = way == Way::Added;
  const auto parts = parts_of(size, /*is_even=*/way != Way::Phases);
  ThreadGroup group(size);
  std::vector<std::vector<Floats>> values(parts.size());
  on_each_rank(size, [&](int rank) {
    RankNet net(with_rank(options, group, rank));
    for (int step = 0; step < kSteps; ++step) train(net, way, parts[rank]);
    values[rank] = net.values();
  });
  return values;
}

TEST(OptimizerShares, AreOfOneSizeAndCoverAll) {
  const std::vector<std::int64_t> sizes{100, 3, 0, 1, 4096, 17, 16};
  for (int num_ranks = 1; num_ranks <= 9; ++num_ranks) {
    std::vector<std::int64_t> covered(sizes.size(), 0);
    std::int64_t most = 0;
    for (int rank = 0; rank < num_ranks; ++rank) {
      const OptimizerShares shares(sizes, rank, num_ranks);
      std::int64_t share = 0;
      int num_cut = 0;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const ElementRange range = shares.own(i);
        EXPECT_EQ(range.empty() ? covered[i] : range.begin, covered[i]);
        if (range.empty()) continue;
        covered[i] = range.end;
        share += range.size();
        num_cut += shares.cuts(i) ? 1 : 0;
      }
      EXPECT_LE(num_cut, 2);
      most = std::max(most, share);
    }
    EXPECT_EQ(covered, sizes);
    const auto all = std::reduce(sizes.begin(), sizes.end());
    const auto grains = static_cast<std::int64_t>(sizes.size()) + 1;
    EXPECT_LE(most, all / num_ranks + grains * OptimizerShares::kGrain);
  }
}

TEST(SharedOptimizer, HasTheBitsOfWholeOnes) {
  for (const OptimizerPtr& optimizer : all_optimizers()) {
    for (int size = 1; size <= 4; ++size) {
      for (const Way way : {Way::Step, Way::Phases, Way::Added}) {
        SCOPED_TRACE(std::string(optimizer->name()) + ", " +
                     std::to_string(size) + " ranks, way " +
                     std::to_string(static_cast<int>(way)));
        const RankOptions options{.optimizer = optimizer};
        const auto expected = trained(options, size, way, /*shards=*/false);
        const auto got = trained(options, size, way, /*shards=*/true);
        // So they agree with one process as closely as those do.
        for (const auto& of_rank : got) EXPECT_EQ(of_rank, expected.front());
      }
    }
  }
}

TEST(SharedOptimizer, ClipsByValueAndTreatsGroupsAlike) {
  OptimizerDescriptor clipped{.learning_rate = 0.1f,
                              .applies_gradient_clipping = true};
  clipped.gradient_clipping_type = GradientClippingType::ByValue;
  clipped.gradient_clip_max = 0.01f;
  clipped.gradient_clip_min = -0.02f;
  clipped.regularization_type = RegularizationType::L2;
  clipped.regularization_scale = 0.1f;
  RankOptions options{.optimizer = std::make_shared<Adam>(clipped),
                      .groups = true};
  for (int size = 2; size <= 4; ++size) {
    EXPECT_EQ(trained(options, size, Way::Step, true),
              trained(options, size, Way::Step, false));
  }
}

TEST(SharedOptimizer, WorksInPieces) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  // Pieces of 64 bytes, of 7 cache lines.
  options.compile.data_parallel.bucket_bytes = 1;
  EXPECT_EQ(trained(options, 2, Way::Step, true),
            trained(options, 2, Way::Step, false));
}

TEST(SharedOptimizer, ScalesLossesAlike) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  options.compile.precision = Precision::MixedFloat16;
  for (int size = 2; size <= 4; ++size) {
    EXPECT_EQ(trained(options, size, Way::Step, true),
              trained(options, size, Way::Step, false));
  }
}

TEST(SharedOptimizer, HasBuffersOfItsShareAlone) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  RankNet alone(options);
  options.compile.data_parallel.shards_optimizer = true;
  // 35, 7, 21 and 3 floats in grains of 16: 3 + 1 + 2 + 1.
  const std::map<int, std::vector<std::size_t>> expected{
      {1, {7}}, {2, {4, 3}}, {3, {3, 3, 1}}, {4, {2, 2, 2, 1}}};
  for (const auto& [size, grains] : expected) {
    ThreadGroup group(size);
    on_each_rank(size, [&](int rank) {
      RankNet net(with_rank(options, group, rank));
      const std::size_t bytes = 2 * 64 * grains[rank];
      EXPECT_EQ(net.t->memory().optimizer_bytes, bytes) << size << ' ' << rank;
      EXPECT_EQ(net.t->memory().parameter_bytes,
                alone.t->memory().parameter_bytes);
      net.step(0, 12).wait();
      const MemoryReport report = net.t->memory();
      EXPECT_EQ(report.optimizer_bytes, bytes);
      EXPECT_EQ(report.allocated_bytes, report.predicted_bytes);
    });
  }
}

/// Frozen layers are no part of any share.
TEST(SharedOptimizer, SharesOutWhatIsTrained) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  options.stops_at_hidden = true;
  options.compile.data_parallel.shards_optimizer = true;
  ThreadGroup group(3);
  on_each_rank(3, [&](int rank) {
    RankNet net(with_rank(options, group, rank));
    // Of 21 and 3 floats.
    EXPECT_EQ(net.t->memory().optimizer_bytes, 2u * 64);
    net.step(0, 4).wait();
  });
}

class Checkpoints : public ::testing::Test {
 protected:
  Checkpoints() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("traingraph_shares_" + std::to_string(::getpid()) + "_" +
             std::to_string(number++) + ".safetensors");
    options_.optimizer = std::make_shared<Adam>(0.01f);
    options_.compile.data_parallel.shards_optimizer = true;
  }
  ~Checkpoints() override { std::filesystem::remove(path_); }

  /// All of the state.
  static std::map<std::string, Floats> state_of(RankNet& net) {
    std::map<std::string, Floats> state;
    std::vector<NamedData> into;
    const std::vector<StateTensor> tensors =
        net.t->state_tensors(/*with_optimizer=*/true);
    for (const StateTensor& tensor : tensors) {
      Floats& values = state[tensor.name];
      values.resize(tensor.descriptor.shape.num_elements());
      into.push_back({tensor.name, view(values)});
    }
    net.t->read_state(into);
    return state;
  }

  std::filesystem::path path_;
  RankOptions options_;
};

TEST_F(Checkpoints, AreWholeAndLoadIntoAnyNumberOfRanks) {
  std::map<std::string, Floats> saved;
  ThreadGroup four(4);
  on_each_rank(4, [&](int rank) {
    RankNet net(with_rank(options_, four, rank));
    for (int step = 0; step < kSteps; ++step) net.step(3 * rank, 3);
    net.t->save(path_);  // of all ranks
    EXPECT_TRUE(std::filesystem::exists(path_));
    auto state = state_of(net);
    if (rank == 0) saved = std::move(state);
    net.step(3 * rank, 3).wait();  // all are still together
  });
  ASSERT_EQ(saved.size(), 4u * 3);
  for (const auto& [name, values] : saved) {
    EXPECT_TRUE(std::ranges::any_of(values, [](float x) { return x != 0; }))
        << name;
  }
  for (int size = 1; size <= 3; ++size) {
    for (const bool shards : {true, false}) {
      SCOPED_TRACE(std::to_string(size) + (shards ? " shares" : " wholes"));
      ThreadGroup group(size);
      std::vector<std::vector<Floats>> next(static_cast<std::size_t>(size));
      on_each_rank(size, [&](int rank) {
        RankOptions options = with_rank(options_, group, rank);
        options.compile.data_parallel.shards_optimizer = shards;
        options.seed = 5;
        RankNet net(options);
        net.t->restore(path_);
        EXPECT_EQ(state_of(net), saved);
        net.step(0, 12).wait();
        next[rank] = net.values();
      });
      // One more step of all is that of one process.
      RankOptions options{.optimizer = options_.optimizer};
      RankNet alone(options);
      alone.t->restore(path_);
      alone.step(0, 12).wait();
      for (const auto& values : next) {
        EXPECT_EQ(values, next.front());
        expect_all_near(values, alone.values(), 1e-6);
      }
    }
  }
}

TEST_F(Checkpoints, OfOneProcessLoadIntoShares) {
  RankNet alone(RankOptions{.optimizer = options_.optimizer});
  for (int step = 0; step < kSteps; ++step) alone.step(0, 12);
  alone.t->save(path_);
  const auto saved = state_of(alone);
  ThreadGroup group(3);
  on_each_rank(3, [&](int rank) {
    RankNet net(with_rank(options_, group, rank));
    net.t->restore(path_);
    EXPECT_EQ(state_of(net), saved);
    // Another optimizer begins anew.
    net.t->compile_optimizer(std::make_shared<SGD>(
        OptimizerDescriptor{.learning_rate = 0.1f}, 0.9f));
    const auto state = state_of(net);
    EXPECT_EQ(state.size(), 4u * 2);
    for (const auto& [name, values] : state) {
      if (saved.contains(name)) continue;
      EXPECT_EQ(values, Floats(values.size(), 0.0f)) << name;
    }
  });
}

TEST_F(Checkpoints, AreACallOfAllRanks) {
  options_.compile.data_parallel.timeout = 0.5;
  {
    ThreadGroup group(2);
    on_each_rank(2, [&](int rank) {
      RankNet net(with_rank(options_, group, rank));
      net.step(0, 6).wait();
      if (rank == 1) return group.kill(1);
      EXPECT_THROW(net.t->save(path_), DeviceError);
      EXPECT_FALSE(std::filesystem::exists(path_));
    });
  }
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    RankNet net(with_rank(options_, group, rank));
    net.step(0, 6).wait();
    try {
      if (rank == 0) net.t->save(path_);
      net.step(0, 6).wait();
      FAIL();
    } catch (const StateError& error) {
      EXPECT_NE(std::string(error.what()).find("different calls"),
                std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find("save"), std::string::npos);
    }
  });
}

TEST_F(Checkpoints, FailOnAllRanksAndTrainingGoesOn) {
  ThreadGroup group(3);
  on_each_rank(3, [&](int rank) {
    RankNet net(with_rank(options_, group, rank));
    net.step(0, 4).wait();
    const std::filesystem::path nowhere = path_ / "nothing" / "here";
    if (rank == 0) {
      EXPECT_THROW(net.t->save(nowhere), FileError);
    } else {
      EXPECT_THROW(net.t->save(nowhere), StateError);
    }
    net.step(0, 4).wait();
    net.t->save(path_);
  });
}

TEST(SharedOptimizer, RefusesToShowAPart) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
    options.compile.data_parallel.shards_optimizer = true;
    RankNet net(with_rank(options, group, rank));
    net.step(0, 6).wait();
    const Tensor parameter = net.t->parameters().front();
    EXPECT_THROW(parameter.synchronize_optimizer_data(), UnsupportedError);
  });
  RankOptions alone;
  alone.compile.data_parallel.shards_optimizer = true;
  EXPECT_THROW(RankNet net(alone), InvalidArgument);
}

}  // namespace
}  // namespace traingraph
