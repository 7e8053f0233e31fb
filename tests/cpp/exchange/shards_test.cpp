// SPDX-License-Identifier: MIT
// Optimizers that several ranks shard, beside ranks that each have all.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <numeric>

#include "compiler/distribution/optimizer_shards.h"
#include "exchange/rank_net.h"
#include "support/optimizers.h"
#include "traingraph/checkpoint.h"
#include "traingraph/error.h"
#include "traingraph/half_types.h"

namespace traingraph {
namespace {

using namespace testing;
using optimizers::Adam;
using optimizers::SGD;

constexpr int kShardSteps = 3;

/// Each rank's parameters after some updates.
std::vector<std::vector<Floats>> trained(RankOptions options, int size, Way way,
                                         bool shards) {
  options.compile.data_parallel.shard_optimizer = shards;
  options.compile.accumulate_gradients = way == Way::Added;
  const auto parts = parts_of(size, /*is_even=*/way != Way::Phases);
  ThreadGroup group(size);
  std::vector<std::vector<Floats>> values(parts.size());
  on_each_rank(size, [&](int rank) {
    RankNet net(with_rank(options, group, rank));
    for (int step = 0; step < kShardSteps; ++step) train(net, way, parts[rank]);
    values[rank] = net.values();
  });
  return values;
}

TEST(OptimizerShards, AreOfOneSizeAndCoverAll) {
  const std::vector<std::int64_t> sizes{100, 3, 0, 1, 4096, 17, 16};
  for (int num_ranks = 1; num_ranks <= 9; ++num_ranks) {
    std::vector<std::int64_t> covered(sizes.size(), 0);
    std::int64_t most = 0;
    for (int rank = 0; rank < num_ranks; ++rank) {
      const OptimizerShards parts(sizes, rank, num_ranks);
      std::int64_t share = 0;
      int num_cut = 0;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const ElementRange range = parts.own(i);
        EXPECT_EQ(range.empty() ? covered[i] : range.begin, covered[i]);
        if (range.empty()) continue;
        covered[i] = range.end;
        share += range.size();
        num_cut += parts.cuts(i) ? 1 : 0;
      }
      EXPECT_LE(num_cut, 2);
      most = std::max(most, share);
    }
    EXPECT_EQ(covered, sizes);
    const auto all = std::reduce(sizes.begin(), sizes.end());
    const auto grains = static_cast<std::int64_t>(sizes.size()) + 1;
    EXPECT_LE(most, all / num_ranks + grains * OptimizerShards::kGrain);
  }
}

TEST(ShardedOptimizer, HasTheBitsOfWholeOnes) {
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

TEST(ShardedOptimizer, ClipsByValueAndTreatsGroupsAlike) {
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

TEST(ShardedOptimizer, WorksInPieces) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  // Pieces of 64 bytes, of 7 cache lines.
  options.compile.data_parallel.bucket_bytes = 1;
  EXPECT_EQ(trained(options, 2, Way::Step, true),
            trained(options, 2, Way::Step, false));
}

TEST(ShardedOptimizer, ScalesLossesAlike) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  options.compile.precision = Precision::MixedFloat16;
  for (int size = 2; size <= 4; ++size) {
    EXPECT_EQ(trained(options, size, Way::Step, true),
              trained(options, size, Way::Step, false));
  }
}

TEST(ShardedOptimizer, HasBuffersOfItsShareAlone) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  RankNet alone(options);
  options.compile.data_parallel.shard_optimizer = true;
  // 35, 7, 21 and 3 floats in grains of 16: 3 + 1 + 2 + 1.
  const std::map<int, std::vector<std::size_t>> expected{
      {1, {7}}, {2, {4, 3}}, {3, {3, 3, 1}}, {4, {2, 2, 2, 1}}};
  for (const auto& entry : expected) {
    const int size = entry.first;
    const std::vector<std::size_t>& grains = entry.second;
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

/// A table of nearly all elements, as `type`, in the bytes of its last values.
std::vector<std::byte> table_after(const std::shared_ptr<Collective>& ranks,
                                   DataType type, bool shards) {
  constexpr std::int64_t kRows = 300, kWidth = 5;
  const Tensor ids({{4}, DataType::Int32}, "ids"), label({{4, 2}}, "label");
  const Floats values = random_floats(kRows * kWidth, 1);
  const std::vector<bfloat16> halves(values.begin(), values.end());
  const bool is_half = type == DataType::BFloat16;
  const Tensor table({{kRows, kWidth}, type},
                     is_half ? TensorData(halves) : view(values), "table");
  Graph graph;
  const Tensor rows =
      graph.node(std::make_shared<layers::Embedding>(
                     EmbeddingDescriptor{.embedding_count = kRows,
                                         .embedding_dimension = kWidth},
                     EmbeddingOptions{.weights = table}),
                 ids);
  const Tensor wide =
      graph.op(OpKind::Cast, CastAttrs{DataType::Float32}, {rows}, "wide")[0];
  graph.node(std::make_shared<layers::FullyConnected>(
                 Tensor({{2, kWidth}}, view(random_floats(2 * kWidth, 2))),
                 Tensor({{2}}, view(random_floats(2, 3)))),
             wide);
  TrainingGraph t({graph},
                  std::make_shared<losses::MeanSquaredError>(
                      LossDescriptor{.reduction_type = ReductionType::Mean}),
                  std::make_shared<Adam>(0.05f));
  t.add_inputs({{"ids", ids}}, {{"label", label}});
  CompileOptions options;
  options.data_parallel = {
      .collective = ranks, .collective_timeout = 20, .shard_optimizer = shards};
  t.compile(rank_device(), options);
  if (shards) {
    const std::size_t all = (kRows * kWidth + 2 * kWidth + 2) * 2 * 4;
    const auto size = static_cast<std::size_t>(ranks->size());
    EXPECT_NEAR(static_cast<double>(t.memory().optimizer_bytes),
                static_cast<double>(all / size), 2 * 3 * 64);
  }
  const Floats labels = random_floats(8, 9);
  for (int step = 0; step < 3; ++step) {
    std::vector<std::int32_t> indices;
    for (int i = 0; i < 4; ++i) {
      indices.push_back((71 * step + 37 * i + 149 * ranks->rank()) % kRows);
    }
    t.execute({{"ids", TensorData(static_cast<const void*>(indices.data()),
                                  4 * sizeof(std::int32_t))}},
              {{"label", view(labels)}})
        .wait();
  }
  std::vector<std::byte> bytes(table.descriptor().size_bytes());
  table.copy_data_from_device_memory(bytes);
  return bytes;
}

TEST(ShardedOptimizer, SpreadsOneLargeTable) {
  for (const DataType type : {DataType::Float32, DataType::BFloat16}) {
    std::vector<std::vector<std::byte>> expected(3), got(3);
    for (const bool shards : {false, true}) {
      ThreadGroup group(3);
      on_each_rank(3, [&](int rank) {
        (shards ? got : expected)[rank] =
            table_after(group[rank], type, shards);
      });
    }
    for (const auto& bytes : got) EXPECT_TRUE(bytes == expected.front());
  }
}

/// Frozen layers are no part of any shard.
TEST(ShardedOptimizer, SharesOutWhatIsTrained) {
  RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
  options.stops_at_hidden = true;
  options.compile.data_parallel.shard_optimizer = true;
  ThreadGroup group(3);
  on_each_rank(3, [&](int rank) {
    RankNet net(with_rank(options, group, rank));
    // The rank has buffers of 21 and 3 floats.
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
    options_.compile.data_parallel.shard_optimizer = true;
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
    net.t->read_state_dict(into);
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
    for (int step = 0; step < kShardSteps; ++step) net.step(3 * rank, 3);
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
      SCOPED_TRACE(std::to_string(size) + (shards ? " shards" : " wholes"));
      ThreadGroup group(size);
      std::vector<std::vector<Floats>> next(static_cast<std::size_t>(size));
      on_each_rank(size, [&](int rank) {
        RankOptions options = with_rank(options_, group, rank);
        options.compile.data_parallel.shard_optimizer = shards;
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
  for (int step = 0; step < kShardSteps; ++step) alone.step(0, 12);
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
  options_.compile.data_parallel.collective_timeout = 0.5;
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

TEST(ShardedOptimizer, RefusesToShowAPart) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    RankOptions options{.optimizer = std::make_shared<Adam>(0.01f)};
    options.compile.data_parallel.shard_optimizer = true;
    RankNet net(with_rank(options, group, rank));
    net.step(0, 6).wait();
    const Tensor parameter = net.t->parameters().front();
    EXPECT_THROW(parameter.synchronize_optimizer_data(), UnsupportedError);
  });
  RankOptions alone;
  alone.compile.data_parallel.shard_optimizer = true;
  EXPECT_THROW(RankNet net(alone), InvalidArgument);
}

}  // namespace
}  // namespace traingraph
