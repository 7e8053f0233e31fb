// SPDX-License-Identifier: MIT
// Where sums over ranks stand in a program.
#include "compiler/distribution/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compiler/merge.h"
#include "graph/op_def.h"
#include "graph/verify.h"
#include "runtime/device/null_backend.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using layers::FullyConnected;

constexpr std::size_t kEachAlone = 1;
constexpr std::size_t kAllAsOne = 1 << 20;

/// Two dense layers with biases.
class Collectives : public ::testing::Test {
 protected:
  void SetUp() override {
    Graph graph;
    const Tensor h = graph.node(std::make_shared<FullyConnected>(3, 5), x);
    graph.node(std::make_shared<FullyConnected>(5, 2), h);
    d.graphs.push_back(graph.state());
    d.trains = true;
    d.loss = std::make_shared<losses::MeanSquaredError>();
    d.optimizer = std::make_shared<optimizers::SGD>(0.1f);
    d.inputs = {{"x", x}};
    d.labels = {{"label", label}};
  }

  Assembled assembled(CollectiveOptions options,
                      Timeline timeline = Timeline::OneRun) {
    const Merged merged = merge_graphs(d);
    const auto context = make_null_context();
    const auto build = [&](const CollectiveOptions& with) {
      return assemble(merged.graph, {.timeline = timeline}, merged.graph.batch,
                      context->target(), {.collectives = with});
    };
    options.order = order_of_readiness(build({}));
    Assembled a = build(options);
    verify(a.program);
    return a;
  }

  static std::vector<NodeId> nodes_of(const Program& program, OpKind kind) {
    std::vector<NodeId> found;
    for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size());
         ++id) {
      if (program.node(id).op->kind == kind) found.push_back(id);
    }
    return found;
  }

  Declaration d;
  Tensor x{{{4, 3}}, "x"}, label{{{4, 2}}, "label"};
};

TEST_F(Collectives, ThereAreNoneWithoutOthers) {
  const Assembled a = assembled({});
  for (const Node& node : a.program.nodes()) EXPECT_FALSE(node.op->is_host);
}

TEST_F(Collectives, ASumBeginsBehindWhatTouchesItsGradients) {
  const Assembled a = assembled({.bucket_bytes = kEachAlone});
  const auto starts = nodes_of(a.program, OpKind::AllReduceStart);
  ASSERT_EQ(starts.size(), 4u);
  for (const NodeId start : starts) {
    const ValueId gradient = a.program.node(start).inputs[0];
    for (NodeId id = 0; id < static_cast<NodeId>(a.program.nodes().size());
         ++id) {
      const Node& node = a.program.node(id);
      const bool touches =
          std::ranges::find(node.inputs, gradient) != node.inputs.end() ||
          std::ranges::find(node.outputs, gradient) != node.outputs.end();
      if (touches && id != start) {
        EXPECT_LT(id, start);
      }
    }
    // The sums begin at once: what follows the first ones is still the
    // gradient.
    EXPECT_EQ(a.program.node(start).phase, Phase::Gradient);
  }
  EXPECT_EQ(a.program.node(starts.front() + 1).phase, Phase::Gradient);
  EXPECT_FALSE(a.program.node(starts.front() + 2).op->is_host);
}

TEST_F(Collectives, UpdatesReadTheSumsInTheirOrder) {
  const Assembled a = assembled({.bucket_bytes = kEachAlone});
  std::vector<ValueId> read;
  for (const NodeId id : nodes_of(a.program, OpKind::SgdUpdate)) {
    const ValueId sum = a.program.node(id).inputs[1];
    const NodeId done = a.program.value(sum).producer;
    EXPECT_EQ(a.program.node(done).op->kind, OpKind::AllReduceDone);
    EXPECT_EQ(a.program.node(done).phase, Phase::Update);
    EXPECT_EQ(id, done + 1);  // nothing waits for a later sum
    read.push_back(sum);
  }
  EXPECT_TRUE(std::ranges::is_sorted(read));
  for (const Trained& trained : a.trained) {
    EXPECT_TRUE(std::ranges::count(read, trained.gradient) == 1);
  }
}

TEST_F(Collectives, PhasesEndWithTheSums) {
  const Assembled a = assembled({.bucket_bytes = kEachAlone}, Timeline::Phases);
  const auto starts = nodes_of(a.program, OpKind::AllReduceStart);
  for (const NodeId done : nodes_of(a.program, OpKind::AllReduceDone)) {
    EXPECT_EQ(a.program.node(done).phase, Phase::Gradient);
    EXPECT_GT(done, starts.back());
  }
}

TEST_F(Collectives, AccumulatedGradientsAreSummedAtTheUpdate) {
  d.accumulates_gradients = true;
  const Assembled a = assembled({.bucket_bytes = kAllAsOne}, Timeline::Phases);
  for (const OpKind kind : {OpKind::AllReduceStart, OpKind::AllReduceDone}) {
    const auto nodes = nodes_of(a.program, kind);
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(a.program.node(nodes[0]).phase, Phase::Update);
    EXPECT_EQ(a.program.node(nodes[0]).inputs.size(), 4u);
  }
}

TEST_F(Collectives, NeighboursShareABucket) {
  const Assembled a = assembled({.bucket_bytes = kAllAsOne});
  const auto starts = nodes_of(a.program, OpKind::AllReduceStart);
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(a.program.node(starts[0]).inputs.size(), 4u);
  EXPECT_NE(a.program.node(starts[0]).name.find(" ... "), std::string::npos);
}

TEST_F(Collectives, LossesAreReducedLast) {
  d.reduce_losses = true;
  const Assembled a = assembled({.bucket_bytes = kEachAlone});
  const auto done = nodes_of(a.program, OpKind::AllReduceDone);
  ASSERT_EQ(done.size(), 5u);
  EXPECT_EQ(a.program.node(done.back()).outputs, a.losses);
  EXPECT_EQ(done.back(), static_cast<NodeId>(a.program.nodes().size()) - 1);
}

}  // namespace
}  // namespace traingraph
