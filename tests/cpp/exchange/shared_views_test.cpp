// SPDX-License-Identifier: MIT
// What the host sees of parameters that other ranks update.
#include <gtest/gtest.h>

#include <algorithm>

#include "exchange/rank_net.h"
#include "support/optimizers.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using namespace testing;

/// The parameter as an output, by way of a view, of one step; and afterwards.
struct Seen {
  Floats output, after;
};

Seen seen_by(const std::shared_ptr<Collective>& ranks, bool shards) {
  const Tensor x({{4, 3}}, "x"), label({{4, 8}}, "label");
  const Tensor weights({{8, 3}}, view(random_floats(24, 1)), "weights");
  Graph graph;
  const Tensor row =
      graph.op(OpKind::Reshape, ShapeAttrs{Shape{24}}, {weights}, "row")[0];
  graph.node(std::make_shared<layers::FullyConnected>(weights), x);
  TrainingGraph t({graph},
                  std::make_shared<losses::MeanSquaredError>(
                      LossDescriptor{.reduction_type = ReductionType::Mean}),
                  sgd(0.5f));
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.add_outputs({{"row", row}});
  CompileOptions options;
  options.data_parallel = {
      .collective = ranks, .collective_timeout = 20, .shard_optimizer = shards};
  t.compile(rank_device(), options);
  const Floats samples = random_floats(12, 2), labels = random_floats(32, 3);
  const Execution step =
      t.execute({{"x", view(samples)}}, {{"label", view(labels)}});
  return {floats_of(step.result().output("row")), read(weights)};
}

TEST(ShardedOptimizer, OutputsAreOfBeforeTheUpdate) {
  const Floats before = random_floats(24, 1);
  for (const bool shards : {false, true}) {
    ThreadGroup group(3);
    on_each_rank(3, [&](int rank) {
      const Seen seen = seen_by(group[rank], shards);
      EXPECT_EQ(seen.output, before) << "rank " << rank << ", " << shards;
      EXPECT_NE(seen.after, before);
    });
  }
}

TEST(ShardedOptimizer, RefusedBuffersAreNotKept) {
  ThreadGroup group(2);
  on_each_rank(2, [&](int rank) {
    RankOptions options{.optimizer = std::make_shared<optimizers::Adam>(0.01f)};
    options.compile.data_parallel.shard_optimizer = true;
    RankNet net(with_rank(options, group, rank));
    net.step(0, 6).wait();
    const Tensor parameter = net.t->parameters().front();
    const Floats sevens(
        static_cast<std::size_t>(parameter.shape().num_elements()), 7.0f);
    const std::vector<TensorData> given{view(sevens), view(sevens)};
    EXPECT_THROW(parameter.bind_optimizer_data(given), UnsupportedError);
    EXPECT_THROW(parameter.optimizer_data(), UnsupportedError);
    net.step(0, 6).wait();
  });
}

}  // namespace
}  // namespace traingraph
